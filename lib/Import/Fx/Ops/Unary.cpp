//===- Unary.cpp - Elementwise functions of one tensor ----------------------===//

#include "Families.h"
#include <cmath>
#include <limits>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

template <typename OpT> static llvm::Error unary(OpContext &c) {
  return c.give(c.g.unary<OpT>(c.g.cast(c.tensor("self"), c.resultElement())));
}

/// Rounding leaves integers as they are.
template <typename OpT> static llvm::Error rounding(OpContext &c) {
  Value x = c.tensor("self");
  return c.give(llvm::isa<mlir::FloatType>(elementOf(x)) ? c.g.unary<OpT>(x) : x);
}

/// torch's sign of NaN is 0.
static llvm::Error sign(OpContext &c) {
  Value x = c.tensor("self");
  if (elementOf(x).isInteger(1))
    return c.give(x);
  Value y = c.g.unary<SignOp>(x);
  if (llvm::isa<mlir::FloatType>(elementOf(x)))
    y = c.g.select(c.g.compare(CompareKind::NE, x, x), c.g.splatLike(0, y), y);
  return c.give(y);
}

static llvm::Error absolute(OpContext &c) {
  Value x = c.tensor("self");
  return c.give(elementOf(x).isInteger(1) || elementOf(x).isUnsignedInteger() ? x : c.g.unary<AbsOp>(x));
}

static llvm::Error log10(OpContext &c) {
  Value x = c.g.cast(c.tensor("self"), c.resultElement());
  return c.give(inFloat(c, x, [&](Value v) { return c.g.binary<MulOp>(c.g.unary<LogOp>(v), M_LOG10E); }));
}

static llvm::Error reciprocal(OpContext &c) {
  Value x = c.g.cast(c.tensor("self"), c.resultElement());
  return c.give(c.g.div(c.g.splatLike(1.0, x), x));
}

static llvm::Error erfc(OpContext &c) {
  Value x = c.g.cast(c.tensor("self"), c.resultElement());
  return c.give(inFloat(c, x, [&](Value v) { return c.g.sub(c.g.splatLike(1.0, v), c.g.unary<ErfOp>(v)); }));
}

static llvm::Error square(OpContext &c) {
  Value x = c.g.cast(c.tensor("self"), c.resultElement());
  return c.give(c.g.mul(x, x));
}

static llvm::Error frac(OpContext &c) {
  Value x = c.tensor("self");
  return c.give(c.g.sub(x, c.g.unary<TruncOp>(x)));
}

static llvm::Error logicalNot(OpContext &c) {
  return c.give(c.g.unary<NotOp>(c.g.cast(c.tensor("self"), c.g.b.getI1Type())));
}

static llvm::Error notANumber(OpContext &c) {
  Value x = c.tensor("self");
  if (!llvm::isa<mlir::FloatType>(elementOf(x)))
    return c.give(c.g.splat(0, dimsOf(x), c.g.b.getI1Type()));
  return c.give(isNan(c, x));
}

static llvm::Error isInf(OpContext &c) {
  Value x = c.tensor("self");
  if (!llvm::isa<mlir::FloatType>(elementOf(x)))
    return c.give(c.g.splat(0, dimsOf(x), c.g.b.getI1Type()));
  Value infinity = c.g.splatLike(std::numeric_limits<double>::infinity(), x);
  return c.give(c.g.compare(CompareKind::EQ, c.g.unary<AbsOp>(x), infinity));
}

static llvm::Error isFinite(OpContext &c) {
  Value x = c.tensor("self");
  if (!llvm::isa<mlir::FloatType>(elementOf(x)))
    return c.give(c.g.splat(1, dimsOf(x), c.g.b.getI1Type()));
  // False on NaN too.
  Value infinity = c.g.splatLike(std::numeric_limits<double>::infinity(), x);
  return c.give(c.g.compare(CompareKind::LT, c.g.unary<AbsOp>(x), infinity));
}

static llvm::Error nanToNum(OpContext &c) {
  Value x = c.tensor("self");
  auto type = llvm::dyn_cast<mlir::FloatType>(elementOf(x));
  if (!type)
    return c.give(x);
  double largest = llvm::APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
  auto replace = [&](Value mask, const char *name, double otherwise) {
    auto n = c.optionalNumber(name);
    x = c.g.select(mask, c.g.splatLike(n ? n->value : otherwise, x), x);
  };
  Value original = x;
  double infinity = std::numeric_limits<double>::infinity();
  replace(c.g.compare(CompareKind::NE, original, original), "nan", 0);
  replace(c.g.compare(CompareKind::EQ, original, c.g.splatLike(infinity, x)), "posinf", largest);
  replace(c.g.compare(CompareKind::EQ, original, c.g.splatLike(-infinity, x)), "neginf", -largest);
  return c.give(x);
}

llvm::ArrayRef<OpEntry> fx::unaryOps() {
  static const OpEntry table[] = {
      {"neg.default", "self:T", unary<NegOp>},
      {"abs.default", "self:T", absolute},
      {"sign.default", "self:T", sign},
      {"sgn.default", "self:T", sign},
      {"exp.default", "self:T", unary<ExpOp>},
      {"exp2.default", "self:T", unary<Exp2Op>},
      {"expm1.default", "self:T", unary<Expm1Op>},
      {"log.default", "self:T", unary<LogOp>},
      {"log1p.default", "self:T", unary<Log1pOp>},
      {"log2.default", "self:T", unary<Log2Op>},
      {"log10.default", "self:T", log10},
      {"sqrt.default", "self:T", unary<SqrtOp>},
      {"rsqrt.default", "self:T", unary<RsqrtOp>},
      {"sin.default", "self:T", unary<SinOp>},
      {"cos.default", "self:T", unary<CosOp>},
      {"tan.default", "self:T", unary<TanOp>},
      {"asin.default", "self:T", unary<AsinOp>},
      {"acos.default", "self:T", unary<AcosOp>},
      {"atan.default", "self:T", unary<AtanOp>},
      {"sinh.default", "self:T", unary<SinhOp>},
      {"cosh.default", "self:T", unary<CoshOp>},
      {"tanh.default", "self:T", unary<TanhOp>},
      {"asinh.default", "self:T", unary<AsinhOp>},
      {"acosh.default", "self:T", unary<AcoshOp>},
      {"atanh.default", "self:T", unary<AtanhOp>},
      {"erf.default", "self:T", unary<ErfOp>},
      {"erfc.default", "self:T", erfc},
      {"floor.default", "self:T", rounding<FloorOp>},
      {"ceil.default", "self:T", rounding<CeilOp>},
      {"round.default", "self:T", rounding<RoundOp>},
      {"trunc.default", "self:T", rounding<TruncOp>},
      {"frac.default", "self:T", frac},
      {"reciprocal.default", "self:T", reciprocal},
      {"square.default", "self:T", square},
      {"bitwise_not.default", "self:T", unary<NotOp>},
      {"logical_not.default", "self:T", logicalNot},
      {"isnan.default", "self:T", notANumber},
      {"isinf.default", "self:T", isInf},
      {"isfinite.default", "self:T", isFinite},
      {"nan_to_num.default", "self:T nan:F? posinf:F? neginf:F?", nanToNum},
  };
  return table;
}
