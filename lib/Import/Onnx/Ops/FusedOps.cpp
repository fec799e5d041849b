//===- FusedOps.cpp - What ONNX Runtime's optimiser puts into one node -----===//
//
// Models that ONNX Runtime has optimised and saved have its own operators in the place of pairs and triples of the format's; here
// they are pairs and triples again. Source: ONNX Runtime, docs/ContribOperators.md.
//
//===----------------------------------------------------------------------===//

#include "Activations.h"
#include "Contractions.h"
#include "Windows.h"

using namespace lathe;
using llvm::SmallVector;

namespace lathe::onnx {

/// x and, where there is one, a bias along its last dimension, in the type that compositions compute in.
static Value biased(Node &n) {
  Value x = n.in(0);
  n.requireFloat(x);
  if (Value bias = n.maybe(1)) {
    n.requireSameElement({x, bias});
    return n.g.add(n.wide(x), n.broadcastTo(n.wide(bias), n.dims(x)));
  }
  return n.wide(x);
}

void biasGelu(Node &n) { n.out(n.g.cast(n.g.gelu(biased(n)), n.element(n.in(0)))); }
void fastGelu(Node &n) { n.out(n.g.cast(n.g.geluTanh(biased(n)), n.element(n.in(0)))); }

void quickGelu(Node &n) {
  Value x = n.in(0);
  n.requireFloat(x);
  Value w = n.wide(x);
  n.out(n.g.cast(n.g.mul(w, n.g.sigmoid(n.g.binary<ir::MulOp>(w, n.real("alpha", 1.702f)))), n.element(x)));
}

/// A function that is computed behind a product: `parameters` in the order in which the format lists them.
static Value activated(Node &n, Value x, llvm::StringRef name, llvm::ArrayRef<double> parameters) {
  if (name.empty())
    return x;
  auto parameter = [&](size_t i, double otherwise) { return i < parameters.size() ? parameters[i] : otherwise; };
  if (name == "Clip") {
    constexpr double any = std::numeric_limits<double>::infinity();
    return n.g.binary<ir::MinOp>(n.g.binary<ir::MaxOp>(x, parameter(0, -any)), parameter(1, any));
  }
  if (name == "HardSwish") {
    Value gate = findActivation("HardSigmoid")->build(n.g, x, parameter(0, 1 / 6.0), parameter(1, 0.5));
    return n.g.mul(x, gate);
  }
  const Activation *f = findActivation(name);
  if (!f)
    failUnsupported("the activation '{0}'", name);
  return f->build(n.g, x, parameter(0, f->alpha), parameter(1, f->beta));
}

/// Conv, plus another operand of the result's sizes, and a function of the sum.
void fusedConv(Node &n) {
  Value y = convolution(n);
  if (Value other = n.maybe(3)) {
    n.requireSameElement({y, other});
    y = n.g.add(y, n.broadcastTo(other, n.dims(y)));
  }
  SmallVector<double> parameters;
  if (const AttributeProto *a = n.attribute("activation_params"))
    parameters.assign(a->floats().begin(), a->floats().end());
  n.out(activated(n, y, n.text("activation", ""), parameters));
}

void fusedGemm(Node &n) {
  SmallVector<double> parameters;
  for (const char *name : {"activation_alpha", "activation_beta"})
    if (n.hasAttribute(name))
      parameters.push_back(n.real(name, 0));
  n.out(activated(n, gemmOf(n), n.text("activation", ""), parameters));
}

/// The operand with its first dimension behind the others' (`transBatch`), and then the last two exchanged (`trans`).
static Value turned(Node &n, Value x, bool trans, bool transBatch) {
  int64_t rank = n.rank(x);
  SmallVector<int64_t> order;
  for (int64_t d = 0; d < rank; ++d)
    order.push_back(d);
  if (transBatch && rank > 2)
    std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  if (trans && rank > 1)
    std::swap(order[rank - 2], order[rank - 1]);
  return n.g.transpose(x, order);
}

void fusedMatMul(Node &n) {
  Value a = n.in(0), b = n.in(1);
  n.requireSameElement({a, b});
  n.requireFloat(a);
  a = turned(n, a, n.flag("transA", false), n.flag("transBatchA", false));
  b = turned(n, b, n.flag("transB", false), n.flag("transBatchB", false));
  Value y = matrixProduct(n, a, b);
  double alpha = n.real("alpha", 1);
  n.out(alpha == 1 ? y : n.g.binary<ir::MulOp>(y, alpha));
}

} // namespace lathe::onnx
