//===- Reduce.cpp - Reductions ----------------------------------------------===//

#include "Convert.h"
#include "Linalg.h"
#include <cmath>
#include <limits>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

/// Over "dim" (an integer, a list, or absent for all), keeping dimensions as "keepdim" says, in the result's type.
template <ReduceKind kind> static llvm::Error reduce(OpContext &c) {
  Value x = convertedTo(c, c.tensor("self"), c.resultElement());
  LATHE_TRY(axes, c.axes("dim", x));
  if (!c.resultElement().isInteger(1))
    return c.give(c.g.reduce(kind, x, axes, c.flag("keepdim")));
  ReduceKind onBool = kind == ReduceKind::Sum || kind == ReduceKind::Max   ? ReduceKind::Or
                      : kind == ReduceKind::Prod || kind == ReduceKind::Min ? ReduceKind::And
                                                                            : kind;
  return c.give(c.g.reduce(onBool, x, axes, c.flag("keepdim")));
}

/// any and all: of x != 0. On uint8 the result has its type.
template <ReduceKind kind> static llvm::Error logical(OpContext &c) {
  Value x = c.g.cast(c.tensor("self"), c.g.b.getI1Type());
  LATHE_TRY(axes, c.axes("dim", x));
  return c.give(c.g.cast(c.g.reduce(kind, x, axes, c.flag("keepdim")), c.resultElement()));
}

static llvm::Error mean(OpContext &c) {
  Value x = c.g.cast(c.tensor("self"), c.resultElement());
  LATHE_TRY(axes, c.axes("dim", x));
  return c.give(inFloat(c, x, [&](Value v) { return c.g.mean(v, axes, c.flag("keepdim")); }));
}

//===----------------------------------------------------------------------===//
// Variance
//===----------------------------------------------------------------------===//

/// sum((x - mean)^2) / max(0, count - correction)
static Value variance(OpContext &c, Value x, llvm::ArrayRef<int64_t> axes, bool keep, double correction) {
  Value centered = c.g.sub(x, c.g.broadcastTo(c.g.mean(x, axes, true), dimsOf(x)));
  Value sum = c.g.reduce(ReduceKind::Sum, c.g.mul(centered, centered), axes, keep);
  Expr count(1);
  for (int64_t a : axes)
    count = count * dimsOf(x)[a];
  Type element = elementOf(x);
  Value divisor = c.g.cast(c.g.size(c.g.facts.simplify(count)), element);
  if (auto n = count.constant())
    divisor = c.g.scalar(std::max(0.0, double(*n) - correction), element);
  else if (correction != 0)
    divisor = c.g.binary<MaxOp>(c.g.binary<SubOp>(divisor, correction), 0.0);
  return c.g.div(sum, c.g.broadcastTo(divisor, dimsOf(sum)));
}

/// Two overload families: `unbiased` is a correction of 1 or 0.
static double correctionOf(OpContext &c) {
  if (auto n = c.optionalNumber("correction"))
    return n->value;
  if (auto n = c.optionalNumber("unbiased"))
    return n->value;
  return 1;
}

template <bool root, bool withMean> static llvm::Error spread(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axes, c.axes("dim", x));
  bool keep = c.flag("keepdim");
  (void)c.give(inFloat(c, x, [&](Value v) {
    Value result = variance(c, v, axes, keep, correctionOf(c));
    return root ? c.g.unary<SqrtOp>(result) : result;
  }));
  if (withMean)
    (void)c.give(inFloat(c, x, [&](Value v) { return c.g.mean(v, axes, keep); }));
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Norms and log-sums
//===----------------------------------------------------------------------===//

Value linalg::vectorNorm(OpContext &c, Value x, llvm::ArrayRef<int64_t> axes, bool keep, double p) {
  if (p == 2)
    return c.g.unary<SqrtOp>(c.g.reduce(ReduceKind::Sum, c.g.mul(x, x), axes, keep));
  if (p == 0) {
    Value nonZero = c.g.compare(CompareKind::NE, x, c.g.splatLike(0, x));
    return c.g.reduce(ReduceKind::Sum, c.g.cast(nonZero, elementOf(x)), axes, keep);
  }
  Value magnitude = c.g.unary<AbsOp>(x);
  if (std::isinf(p))
    return c.g.reduce(p > 0 ? ReduceKind::Max : ReduceKind::Min, magnitude, axes, keep);
  if (p == 1)
    return c.g.reduce(ReduceKind::Sum, magnitude, axes, keep);
  Value sum = c.g.reduce(ReduceKind::Sum, c.g.binary<PowOp>(magnitude, p), axes, keep);
  return c.g.binary<PowOp>(sum, 1 / p);
}

static llvm::Error norm(OpContext &c) {
  Value x = c.g.cast(c.tensor("self"), c.resultElement());
  LATHE_TRY(axes, c.axes("dim", x));
  double p = c.has("ord") ? c.real("ord") : c.has("p") ? c.real("p") : 2;
  return c.give(inFloat(c, x, [&](Value v) { return linalg::vectorNorm(c, v, axes, c.flag("keepdim"), p); }));
}

Value fx::logSumExp(OpContext &c, Value v, llvm::ArrayRef<int64_t> axes, bool keep) {
  Value m = c.g.reduce(ReduceKind::Max, v, axes, true);
  // A row of infinities has none to subtract: inf - inf would be NaN.
  Value infinite = c.g.compare(CompareKind::EQ, c.g.unary<AbsOp>(m), c.g.splatLike(INFINITY, m));
  m = c.g.select(infinite, c.g.splatLike(0, m), m);
  Value e = c.g.unary<ExpOp>(c.g.sub(v, c.g.broadcastTo(m, dimsOf(v))));
  Value s = c.g.add(c.g.unary<LogOp>(c.g.reduce(ReduceKind::Sum, e, axes, true)), m);
  return keep ? s : c.g.squeeze(s, axes);
}

static llvm::Error logSumExpOp(OpContext &c) {
  Value x = c.g.cast(c.tensor("self"), c.resultElement());
  LATHE_TRY(axes, c.axes("dim", x));
  return c.give(inFloat(c, x, [&](Value v) { return logSumExp(c, v, axes, c.flag("keepdim")); }));
}

//===----------------------------------------------------------------------===//
// Positions of extrema
//===----------------------------------------------------------------------===//

/// The first index along the axis where x is the extremum; NaN counts as one, as torch has it.
static Value position(OpContext &c, Value x, Value extremum, int64_t axis, bool keep) {
  Dims dims = dimsOf(x);
  Value hit = c.g.compare(CompareKind::EQ, x, c.g.broadcastTo(extremum, dims));
  if (llvm::isa<mlir::FloatType>(elementOf(x)))
    hit = c.g.binary<OrOp>(hit, c.g.compare(CompareKind::NE, x, x));
  Value index = c.g.iota(dims, axis, c.g.b.getI64Type());
  Value none = c.g.broadcastTo(c.g.size(dims[axis]), dims);
  return c.g.reduce(ReduceKind::Min, c.g.select(hit, index, none), {axis}, keep);
}

template <ReduceKind kind> static llvm::Error extremumWithIndex(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axis, c.axis("dim", x));
  if (typeOf(x).getRank() == 0) {
    (void)c.give(x);
    return c.give(c.g.scalar(0, c.g.b.getI64Type()));
  }
  Type element = elementOf(x);
  if (element.isInteger(1))
    x = c.g.cast(x, c.g.b.getI8Type());
  bool keep = c.flag("keepdim");
  Value extremum = c.g.reduce(kind, x, {axis}, true);
  (void)c.give(c.g.cast(keep ? extremum : c.g.squeeze(extremum, {axis}), element));
  return c.give(position(c, x, extremum, axis, keep));
}

template <ReduceKind kind> static llvm::Error argExtremum(OpContext &c) {
  Value x = c.tensor("self");
  bool whole = !c.has("dim");
  if (whole) // of the flattened tensor
    x = flattened(c, x);
  LATHE_TRY(axis, c.axisOf(whole ? 0 : c.integer("dim"), typeOf(x).getRank()));
  if (typeOf(x).getRank() == 0)
    return c.give(c.g.scalar(0, c.resultElement()));
  if (elementOf(x).isInteger(1))
    x = c.g.cast(x, c.g.b.getI8Type());
  bool keep = c.flag("keepdim");
  Value at = position(c, x, c.g.reduce(kind, x, {axis}, true), axis, keep && !whole);
  return c.give(whole && keep ? c.g.reshape(at, Dims(c.resultDims().size(), Expr(1))) : at);
}

llvm::ArrayRef<OpEntry> fx::reduceOps() {
  static const char *const all = "self:T dtype:D?";
  static const char *const some = "self:T dim:I*? keepdim:B=false dtype:D?";
  static const char *const one = "self:T dim:I keepdim:B=false";
  static const char *const corrected = "self:T dim:I*? correction:F? keepdim:B=false";
  static const char *const unbiased = "self:T dim:I*? unbiased:B=true keepdim:B=false";
  static const OpEntry table[] = {
      {"sum.default", all, reduce<ReduceKind::Sum>},
      {"sum.dim_IntList", some, reduce<ReduceKind::Sum>},
      {"prod.default", all, reduce<ReduceKind::Prod>},
      {"prod.dim_int", some, reduce<ReduceKind::Prod>},
      {"amax.default", some, reduce<ReduceKind::Max>},
      {"amin.default", some, reduce<ReduceKind::Min>},
      {"max.default", all, reduce<ReduceKind::Max>},
      {"min.default", all, reduce<ReduceKind::Min>},
      {"max.dim", one, extremumWithIndex<ReduceKind::Max>},
      {"min.dim", one, extremumWithIndex<ReduceKind::Min>},
      {"argmax.default", "self:T dim:I? keepdim:B=false", argExtremum<ReduceKind::Max>},
      {"argmin.default", "self:T dim:I? keepdim:B=false", argExtremum<ReduceKind::Min>},
      {"any.default", all, logical<ReduceKind::Or>},
      {"_is_any_true.default", "self:T", logical<ReduceKind::Or>},
      {"any.dim", some, logical<ReduceKind::Or>},
      {"any.dims", some, logical<ReduceKind::Or>},
      {"all.default", all, logical<ReduceKind::And>},
      {"_is_all_true.default", "self:T", logical<ReduceKind::And>},
      {"all.dim", some, logical<ReduceKind::And>},
      {"all.dims", some, logical<ReduceKind::And>},
      {"mean.default", all, mean},
      {"mean.dim", some, mean},
      {"var.correction", corrected, spread<false, false>},
      {"var.dim", unbiased, spread<false, false>},
      {"var.default", unbiased, spread<false, false>},
      {"std.correction", corrected, spread<true, false>},
      {"std.dim", unbiased, spread<true, false>},
      {"std.default", unbiased, spread<true, false>},
      {"var_mean.correction", corrected, spread<false, true>},
      {"var_mean.default", unbiased, spread<false, true>},
      {"std_mean.default", unbiased, spread<true, true>},
      {"std_mean.dim", unbiased, spread<true, true>},
      {"var_mean.dim", unbiased, spread<false, true>},
      {"std_mean.correction", corrected, spread<true, true>},
      {"linalg_vector_norm.default", "self:T ord:F=2 dim:I*? keepdim:B=false dtype:D?", norm},
      {"norm.ScalarOpt_dim", "self:T p:F? dim:I*? keepdim:B=false", norm},
      {"norm.Scalar", "self:T p:F=2", norm},
      {"logsumexp.default", some, logSumExpOp},
  };
  return table;
}
