//===- Activations.cpp - Elementwise functions of networks -----------------===//
//
// Compositions compute half-precision values in f32 and round once, at the end.
//
//===----------------------------------------------------------------------===//

#include "Activations.h"

using namespace lathe;
using ir::CompareKind;
using ir::GraphBuilder;

namespace lathe::onnx {

/// Runs f on the (widened) floating-point operand and rounds to its type.
static void onFloat(Node &n, llvm::function_ref<Value(Value)> f) {
  Value x = n.in(0);
  n.requireFloat(x);
  n.out(n.g.cast(f(n.wide(x)), n.element(x)));
}

static Value less(GraphBuilder &g, Value x, double y) { return g.compare(CompareKind::LT, x, g.splatLike(y, x)); }
static Value greater(GraphBuilder &g, Value x, double y) { return g.compare(CompareKind::GT, x, g.splatLike(y, x)); }
static Value times(GraphBuilder &g, Value x, double y) { return g.binary<ir::MulOp>(x, y); }
static Value plus(GraphBuilder &g, Value x, double y) { return g.binary<ir::AddOp>(x, y); }
static Value clamp01(GraphBuilder &g, Value x) { return g.binary<ir::MinOp>(g.binary<ir::MaxOp>(x, 0), 1); }

/// log(1 + exp(x)) in the form that does not overflow.
static Value softplusOf(GraphBuilder &g, Value x) {
  Value tail = g.unary<ir::Log1pOp>(g.unary<ir::ExpOp>(g.unary<ir::NegOp>(g.unary<ir::AbsOp>(x))));
  return g.add(g.binary<ir::MaxOp>(x, 0), tail);
}

llvm::ArrayRef<Activation> activationTable() {
  static const Activation table[] = {
      {"Affine", 1, 0, true, true, [](GraphBuilder &g, Value x, double a, double b) { return plus(g, times(g, x, a), b); }},
      {"Elu", 1, 0, true, false,
       [](GraphBuilder &g, Value x, double a, double) { return g.select(less(g, x, 0), times(g, g.unary<ir::Expm1Op>(x), a), x); }},
      {"HardSigmoid", 0.2f, 0.5f, true, true,
       [](GraphBuilder &g, Value x, double a, double b) { return clamp01(g, plus(g, times(g, x, a), b)); }},
      {"LeakyRelu", 0.01f, 0, true, false,
       [](GraphBuilder &g, Value x, double a, double) { return g.select(less(g, x, 0), times(g, x, a), x); }},
      {"Relu", 0, 0, false, false, [](GraphBuilder &g, Value x, double, double) { return g.relu(x); }},
      {"ScaledTanh", 1, 1, true, true,
       [](GraphBuilder &g, Value x, double a, double b) { return times(g, g.unary<ir::TanhOp>(times(g, x, b)), a); }},
      {"Sigmoid", 0, 0, false, false, [](GraphBuilder &g, Value x, double, double) { return g.sigmoid(x); }},
      {"Softplus", 0, 0, false, false, [](GraphBuilder &g, Value x, double, double) { return softplusOf(g, x); }},
      {"Softsign", 0, 0, false, false,
       [](GraphBuilder &g, Value x, double, double) { return g.div(x, plus(g, g.unary<ir::AbsOp>(x), 1)); }},
      {"Tanh", 0, 0, false, false, [](GraphBuilder &g, Value x, double, double) { return g.unary<ir::TanhOp>(x); }},
      {"ThresholdedRelu", 1, 0, true, false,
       [](GraphBuilder &g, Value x, double a, double) { return g.select(greater(g, x, a), x, g.splatLike(0, x)); }},
  };
  return table;
}

const Activation *findActivation(llvm::StringRef name) {
  const Activation *it = llvm::find_if(activationTable(), [&](const Activation &a) { return name.equals_insensitive(a.name); });
  return it == activationTable().end() ? nullptr : it;
}

/// An operator that is one of the table, with its attributes.
static void fromTable(Node &n, llvm::StringRef name) {
  const Activation &f = *findActivation(name);
  double alpha = f.hasAlpha ? n.real("alpha", f.alpha) : 0, beta = f.hasBeta ? n.real("beta", f.beta) : 0;
  onFloat(n, [&](Value x) { return f.build(n.g, x, alpha, beta); });
}

void relu(Node &n) {
  n.requireNumber(n.in(0));
  n.out(n.g.relu(n.in(0)));
}

void leakyRelu(Node &n) { fromTable(n, "LeakyRelu"); }
void thresholdedRelu(Node &n) { fromTable(n, "ThresholdedRelu"); }
void elu(Node &n) { fromTable(n, "Elu"); }
void sigmoid(Node &n) { fromTable(n, "Sigmoid"); }
void hardSigmoid(Node &n) { fromTable(n, "HardSigmoid"); }
void softplus(Node &n) { fromTable(n, "Softplus"); }
void softsign(Node &n) { fromTable(n, "Softsign"); }

void selu(Node &n) {
  double alpha = n.real("alpha", 1.67326319217681884765625f), gamma = n.real("gamma", 1.05070102214813232421875f);
  onFloat(n, [&](Value x) {
    return times(n.g, n.g.select(greater(n.g, x, 0), x, times(n.g, n.g.unary<ir::Expm1Op>(x), alpha)), gamma);
  });
}

void celu(Node &n) {
  double alpha = n.real("alpha", 1);
  onFloat(n, [&](Value x) {
    Value below = times(n.g, n.g.unary<ir::Expm1Op>(n.g.binary<ir::DivOp>(x, alpha)), alpha);
    return n.g.add(n.g.binary<ir::MaxOp>(x, 0), n.g.binary<ir::MinOp>(below, 0));
  });
}

void hardSwish(Node &n) {
  onFloat(n, [&](Value x) { return n.g.mul(x, clamp01(n.g, plus(n.g, times(n.g, x, 1.0 / 6), 0.5))); });
}

void swish(Node &n) {
  double alpha = n.real("alpha", 1);
  onFloat(n, [&](Value x) { return n.g.mul(x, n.g.sigmoid(alpha == 1 ? x : times(n.g, x, alpha))); });
}

void mish(Node &n) {
  onFloat(n, [&](Value x) { return n.g.mul(x, n.g.unary<ir::TanhOp>(softplusOf(n.g, x))); });
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
  Value above = n.g.select(greater(n.g, w, lambda), plus(n.g, w, -bias), n.g.splatLike(0, w));
  n.out(n.g.cast(n.g.select(less(n.g, w, -lambda), plus(n.g, w, bias), above), element));
}

} // namespace lathe::onnx
