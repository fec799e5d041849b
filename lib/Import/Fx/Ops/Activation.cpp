//===- Activation.cpp - Activation functions --------------------------------===//

#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

/// Wraps a composition on x, computed in float32 for half types.
template <Value (*compose)(OpContext &, Value)> static llvm::Error activation(OpContext &c) {
  Value x = c.g.cast(c.tensor("self"), c.resultElement());
  return c.give(inFloat(c, x, [&](Value v) { return compose(c, v); }));
}

static Value clamp(OpContext &c, Value x, double low, double high) {
  return c.g.binary<MinOp>(c.g.binary<MaxOp>(x, low), high);
}
static Value positive(OpContext &c, Value x) { return c.g.compare(CompareKind::GT, x, c.g.splatLike(0, x)); }

static Value sigmoid(OpContext &c, Value x) { return c.g.sigmoid(x); }
static Value silu(OpContext &c, Value x) { return c.g.silu(x); }
static Value relu(OpContext &c, Value x) { return c.g.relu(x); }
static Value relu6(OpContext &c, Value x) { return clamp(c, x, 0, 6); }
static Value hardtanh(OpContext &c, Value x) { return clamp(c, x, c.real("min_val"), c.real("max_val")); }
static Value hardsigmoid(OpContext &c, Value x) {
  return c.g.binary<DivOp>(clamp(c, c.g.binary<AddOp>(x, 3), 0, 6), 6);
}
static Value hardswish(OpContext &c, Value x) {
  return c.g.binary<DivOp>(c.g.mul(x, clamp(c, c.g.binary<AddOp>(x, 3), 0, 6)), 6);
}
static Value leakyRelu(OpContext &c, Value x) {
  return c.g.select(positive(c, x), x, c.g.binary<MulOp>(x, c.real("negative_slope")));
}
/// scale * x where x > 0, scale * alpha * (exp(x * inner) - 1) elsewhere.
static Value eluOf(OpContext &c, Value x, double alpha, double scale, double inner) {
  Value e = c.g.unary<Expm1Op>(inner == 1 ? x : c.g.binary<MulOp>(x, inner));
  return c.g.select(positive(c, x), scale == 1 ? x : c.g.binary<MulOp>(x, scale), c.g.binary<MulOp>(e, scale * alpha));
}
static Value elu(OpContext &c, Value x) { return eluOf(c, x, c.real("alpha"), c.real("scale"), c.real("input_scale")); }
static Value celu(OpContext &c, Value x) { return eluOf(c, x, c.real("alpha"), 1, 1 / c.real("alpha")); }
static Value selu(OpContext &c, Value x) { return eluOf(c, x, 1.6732632423543772, 1.0507009873554805, 1); }

/// log(1 + exp(x)) without overflow: max(x, 0) + log1p(exp(-|x|)).
static Value logOnePlusExp(OpContext &c, Value x) {
  Value tail = c.g.unary<Log1pOp>(c.g.unary<ExpOp>(c.g.unary<NegOp>(c.g.unary<AbsOp>(x))));
  return c.g.add(c.g.relu(x), tail);
}
static Value softplus(OpContext &c, Value x) {
  double beta = c.real("beta"), threshold = c.real("threshold");
  Value scaled = beta == 1 ? x : c.g.binary<MulOp>(x, beta);
  Value y = logOnePlusExp(c, scaled);
  if (beta != 1)
    y = c.g.binary<DivOp>(y, beta);
  return c.g.select(c.g.compare(CompareKind::GT, scaled, c.g.splatLike(threshold, x)), x, y);
}
static Value logSigmoid(OpContext &c, Value x) { return c.g.unary<NegOp>(logOnePlusExp(c, c.g.unary<NegOp>(x))); }
static Value mish(OpContext &c, Value x) { return c.g.mul(x, c.g.unary<TanhOp>(logOnePlusExp(c, x))); }
static Value threshold(OpContext &c, Value x) {
  Value above = c.g.compare(CompareKind::GT, x, c.g.splatLike(c.real("threshold"), x));
  return c.g.select(above, x, c.g.splatLike(c.real("value"), x));
}

static llvm::Error gelu(OpContext &c) {
  std::string form = c.text("approximate");
  if (form != "none" && form != "tanh")
    return c.wrong("approximate is '{0}'; torch knows 'none' and 'tanh'", form);
  return c.give(inFloat(c, c.tensor("self"), [&](Value x) { return form == "tanh" ? c.g.geluTanh(x) : c.g.gelu(x); }));
}

static llvm::Error prelu(OpContext &c) {
  Value x = c.tensor("self"), weight = c.tensor("weight");
  Dims dims(typeOf(x).getRank(), Expr(1)), given = dimsOf(weight);
  if (given.size() == 1 && dims.size() > 1)
    dims[1] = given[0];
  else if (given.size() == 1 && dims.size() == 1)
    dims[0] = given[0];
  if (given.size() == 1)
    weight = c.g.reshape(weight, dims);
  LATHE_TRY(slope, c.broadcastTo(weight, dimsOf(x)));
  return c.give(c.g.select(positive(c, x), x, c.g.mul(x, slope)));
}

static llvm::Error glu(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axis, c.axis("dim", x));
  if (typeOf(x).getRank() == 0)
    return c.wrong("the input has rank 0");
  auto half = Expr::divideExactly(dimsOf(x)[axis], Expr(2));
  if (!half)
    return c.cannot("dimension {0} is {1}, which is not provably even", axis, dimsOf(x)[axis].str());
  Value gate = c.g.slice(x, axis, *half, *half);
  Value open = inFloat(c, gate, [&](Value v) { return c.g.sigmoid(v); });
  return c.give(c.g.mul(c.g.slice(x, axis, Expr(0), *half), open));
}

llvm::ArrayRef<OpEntry> fx::activationOps() {
  static const OpEntry table[] = {
      {"sigmoid.default", "self:T", activation<sigmoid>},
      {"silu.default", "self:T", activation<silu>},
      {"relu.default", "self:T", activation<relu>},
      {"relu6.default", "self:T", activation<relu6>},
      {"gelu.default", "self:T approximate:X=none", gelu},
      {"hardtanh.default", "self:T min_val:F=-1 max_val:F=1", activation<hardtanh>},
      {"hardsigmoid.default", "self:T", activation<hardsigmoid>},
      {"hardswish.default", "self:T", activation<hardswish>},
      {"leaky_relu.default", "self:T negative_slope:F=0.01", activation<leakyRelu>},
      {"elu.default", "self:T alpha:F=1 scale:F=1 input_scale:F=1", activation<elu>},
      {"celu.default", "self:T alpha:F=1", activation<celu>},
      {"selu.default", "self:T", activation<selu>},
      {"softplus.default", "self:T beta:F=1 threshold:F=20", activation<softplus>},
      {"log_sigmoid.default", "self:T", activation<logSigmoid>},
      {"mish.default", "self:T", activation<mish>},
      {"threshold.default", "self:T threshold:F value:F", activation<threshold>},
      {"prelu.default", "self:T weight:T", prelu},
      {"_prelu_kernel.default", "self:T weight:T", prelu},
      {"glu.default", "self:T dim:I=-1", glu},
  };
  return table;
}
