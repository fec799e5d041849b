//===- Activations.cpp - Elementwise functions of networks -----------------===//
//
// Compositions compute half-precision values in f32 and round once, at the end.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

using namespace lathe;
using ir::CompareKind;

namespace lathe::onnx {

/// Runs f on the (widened) floating-point operand and rounds to its type.
static void onFloat(Node &n, llvm::function_ref<Value(Value)> f) {
  Value x = n.in(0);
  n.requireFloat(x);
  n.out(n.g.cast(f(n.wide(x)), n.element(x)));
}

static Value less(Node &n, Value x, double y) { return n.g.compare(CompareKind::LT, x, n.g.splatLike(y, x)); }
static Value greater(Node &n, Value x, double y) { return n.g.compare(CompareKind::GT, x, n.g.splatLike(y, x)); }
static Value times(Node &n, Value x, double y) { return n.g.binary<ir::MulOp>(x, y); }
static Value plus(Node &n, Value x, double y) { return n.g.binary<ir::AddOp>(x, y); }
static Value clamp01(Node &n, Value x) { return n.g.binary<ir::MinOp>(n.g.binary<ir::MaxOp>(x, 0), 1); }

void relu(Node &n) {
  n.requireNumber(n.in(0));
  n.out(n.g.relu(n.in(0)));
}

void leakyRelu(Node &n) {
  double alpha = n.real("alpha", 0.01f);
  onFloat(n, [&](Value x) { return n.g.select(less(n, x, 0), times(n, x, alpha), x); });
}

void thresholdedRelu(Node &n) {
  double alpha = n.real("alpha", 1);
  onFloat(n, [&](Value x) { return n.g.select(greater(n, x, alpha), x, n.g.splatLike(0, x)); });
}

void elu(Node &n) {
  double alpha = n.real("alpha", 1);
  onFloat(n, [&](Value x) { return n.g.select(less(n, x, 0), times(n, n.g.unary<ir::Expm1Op>(x), alpha), x); });
}

void selu(Node &n) {
  double alpha = n.real("alpha", 1.67326319217681884765625f), gamma = n.real("gamma", 1.05070102214813232421875f);
  onFloat(n, [&](Value x) {
    return times(n, n.g.select(greater(n, x, 0), x, times(n, n.g.unary<ir::Expm1Op>(x), alpha)), gamma);
  });
}

void celu(Node &n) {
  double alpha = n.real("alpha", 1);
  onFloat(n, [&](Value x) {
    Value below = times(n, n.g.unary<ir::Expm1Op>(n.g.binary<ir::DivOp>(x, alpha)), alpha);
    return n.g.add(n.g.binary<ir::MaxOp>(x, 0), n.g.binary<ir::MinOp>(below, 0));
  });
}

void sigmoid(Node &n) {
  onFloat(n, [&](Value x) { return n.g.sigmoid(x); });
}

void hardSigmoid(Node &n) {
  double alpha = n.real("alpha", 0.2f), beta = n.real("beta", 0.5f);
  onFloat(n, [&](Value x) { return clamp01(n, plus(n, times(n, x, alpha), beta)); });
}

void hardSwish(Node &n) {
  onFloat(n, [&](Value x) { return n.g.mul(x, clamp01(n, plus(n, times(n, x, 1.0 / 6), 0.5))); });
}

void swish(Node &n) {
  double alpha = n.real("alpha", 1);
  onFloat(n, [&](Value x) { return n.g.mul(x, n.g.sigmoid(alpha == 1 ? x : times(n, x, alpha))); });
}

/// log(1 + exp(x)) in the form that does not overflow.
static Value softplusOf(Node &n, Value x) {
  Value tail = n.g.unary<ir::Log1pOp>(n.g.unary<ir::ExpOp>(n.g.unary<ir::NegOp>(n.g.unary<ir::AbsOp>(x))));
  return n.g.add(n.g.binary<ir::MaxOp>(x, 0), tail);
}

void softplus(Node &n) {
  onFloat(n, [&](Value x) { return softplusOf(n, x); });
}

void softsign(Node &n) {
  onFloat(n, [&](Value x) { return n.g.div(x, plus(n, n.g.unary<ir::AbsOp>(x), 1)); });
}

void mish(Node &n) {
  onFloat(n, [&](Value x) { return n.g.mul(x, n.g.unary<ir::TanhOp>(softplusOf(n, x))); });
}

void gelu(Node &n) {
  std::string approximate = n.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    failWrong("attribute 'approximate' is '{0}', expected none or tanh", approximate);
  onFloat(n, [&](Value x) { return approximate == "tanh" ? n.g.geluTanh(x) : n.g.gelu(x); });
}

void shrink(Node &n) {
  double lambda = n.real("lambd", 0.5), bias = n.real("bias", 0);
  Value x = n.in(0);
  n.requireNumber(x);
  Type element = n.element(x);
  // Integers are compared with the threshold as floats, which need not be whole.
  Value w = n.isFloat(x) ? n.wide(x) : n.g.cast(x, n.g.b.getF64Type());
  Value above = n.g.select(greater(n, w, lambda), plus(n, w, -bias), n.g.splatLike(0, w));
  n.out(n.g.cast(n.g.select(less(n, w, -lambda), plus(n, w, bias), above), element));
}

} // namespace lathe::onnx
