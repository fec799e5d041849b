//===- Reductions.cpp - Sums, means, extremes and their places -------------===//

#include "RuntimeAxes.h"

using namespace lathe;
using ir::CompareKind;
using ir::ReduceKind;
using llvm::SmallVector;

namespace lathe::onnx {

namespace {
struct Reduction {
  Value x;
  SmallVector<int64_t> axes;
  bool keep;
  Dims kept; ///< of a result that keeps axes known only when the model runs; x has those last then
};
} // namespace

static Reduction reductionOf(Node &n) {
  Reduction r;
  r.x = n.in(0);
  r.keep = n.flag("keepdims", true);
  if (Dims runtime = n.has(1) ? n.axisValues(1, n.rank(r.x)) : Dims(); anyUnknown(runtime)) {
    RuntimeAxes split(n, n.dims(r.x), runtime);
    if (r.keep)
      r.kept = split.kept();
    r.keep = false;
    r.x = split.gathered(r.x);
    for (size_t i = 0; i < runtime.size(); ++i)
      r.axes.push_back(int64_t(split.others.size() + i));
    return r;
  }
  r.axes = n.axes(n.attributeOrInput("axes", 1), n.rank(r.x));
  if (r.axes.empty() && !n.flag("noop_with_empty_axes", false))
    for (int64_t d = 0; d < n.rank(r.x); ++d)
      r.axes.push_back(d);
  return r;
}

/// The result, where the kept axes are known only when the model runs with ones at their places: as many elements as there are, which does not
/// follow from the sizes.
static void finish(Node &n, const Reduction &r, Value y) { n.out(r.kept.empty() ? y : n.g.reshape(y, r.kept)); }

static Value reduce(Node &n, const Reduction &r, ReduceKind kind, Value x) { return n.g.reduce(kind, x, r.axes, r.keep); }

void reduceSum(Node &n) {
  Reduction r = reductionOf(n);
  n.requireNumber(r.x);
  finish(n, r, reduce(n, r, ReduceKind::Sum, r.x));
}

void reduceProd(Node &n) {
  Reduction r = reductionOf(n);
  n.requireNumber(r.x);
  finish(n, r, reduce(n, r, ReduceKind::Prod, r.x));
}

void reduceMax(Node &n) {
  Reduction r = reductionOf(n);
  finish(n, r, reduce(n, r, n.isBool(r.x) ? ReduceKind::Or : ReduceKind::Max, r.x));
}

void reduceMin(Node &n) {
  Reduction r = reductionOf(n);
  finish(n, r, reduce(n, r, n.isBool(r.x) ? ReduceKind::And : ReduceKind::Min, r.x));
}

void reduceMean(Node &n) {
  Reduction r = reductionOf(n);
  n.requireNumber(r.x);
  Value x = n.wide(r.x);
  finish(n, r, n.g.cast(n.g.mean(x, r.axes, r.keep), n.element(r.x)));
}

void reduceL1(Node &n) {
  Reduction r = reductionOf(n);
  n.requireNumber(r.x);
  finish(n, r, reduce(n, r, ReduceKind::Sum, n.g.unary<ir::AbsOp>(r.x)));
}

void reduceSumSquare(Node &n) {
  Reduction r = reductionOf(n);
  n.requireNumber(r.x);
  finish(n, r, reduce(n, r, ReduceKind::Sum, n.g.mul(r.x, r.x)));
}

/// Roots and logarithms of integers go through f64, which holds every 32-bit value.
static Value inFloat(Node &n, Value x) { return n.isFloat(x) ? n.wide(x) : n.g.cast(x, n.g.b.getF64Type()); }

void reduceL2(Node &n) {
  Reduction r = reductionOf(n);
  n.requireNumber(r.x);
  Value x = inFloat(n, r.x);
  finish(n, r, n.g.cast(n.g.unary<ir::SqrtOp>(reduce(n, r, ReduceKind::Sum, n.g.mul(x, x))), n.element(r.x)));
}

void reduceLogSum(Node &n) {
  Reduction r = reductionOf(n);
  n.requireNumber(r.x);
  Value sum = reduce(n, r, ReduceKind::Sum, inFloat(n, r.x));
  finish(n, r, n.g.cast(n.g.unary<ir::LogOp>(sum), n.element(r.x)));
}

/// max + log(sum(exp(x - max))); an infinite maximum is left out of the difference, which would be NaN.
void reduceLogSumExp(Node &n) {
  Reduction r = reductionOf(n);
  n.requireNumber(r.x);
  Value x = inFloat(n, r.x);
  Value max = n.g.reduce(ReduceKind::Max, x, r.axes, /*keepDims=*/true);
  Value inf = n.g.splatLike(std::numeric_limits<double>::infinity(), max);
  Value finite = n.g.compare(CompareKind::LT, n.g.unary<ir::AbsOp>(max), inf);
  max = n.g.select(finite, max, n.g.splatLike(0, max));
  Value sum = n.g.reduce(ReduceKind::Sum, n.g.unary<ir::ExpOp>(n.g.sub(x, n.g.broadcastTo(max, n.dims(x)))), r.axes, true);
  Value y = n.g.add(n.g.unary<ir::LogOp>(sum), max);
  finish(n, r, n.g.cast(r.keep ? y : n.g.squeeze(y, r.axes), n.element(r.x)));
}

/// The place of the extreme is the smallest (or largest) index at which it stands; a NaN is an extreme.
static void argExtreme(Node &n, ReduceKind kind) {
  Value x = n.in(0);
  n.requireNumber(x);
  n.requireRankAtLeast(x, 1);
  int64_t axis = n.axis(n.integer("axis", 0), n.rank(x));
  bool last = n.flag("select_last_index", false);
  Dims dims = n.dims(x);
  if (n.simplify(dims[axis]).isZero())
    failWrong("{0} has no elements along axis {1}", describe(x.getType()), axis);
  Value extreme = n.g.broadcastTo(n.g.reduce(kind, x, {axis}, true), dims);
  Value hit = n.g.compare(CompareKind::EQ, x, extreme);
  if (n.isFloat(x))
    hit = n.g.binary<ir::OrOp>(hit, n.g.compare(CompareKind::NE, x, x));
  Type i64 = n.g.b.getI64Type();
  Value index = n.g.iota(dims, axis, i64);
  Value none = last ? n.g.splat(-1, dims, i64) : n.g.broadcastTo(n.g.size(dims[axis]), dims);
  n.out(n.g.reduce(last ? ReduceKind::Max : ReduceKind::Min, n.g.select(hit, index, none), {axis}, n.flag("keepdims", true)));
}

void argMax(Node &n) { argExtreme(n, ReduceKind::Max); }
void argMin(Node &n) { argExtreme(n, ReduceKind::Min); }

static void cumulate(Node &n, ir::ScanKind kind) {
  Value x = n.in(0);
  n.requireNumber(x);
  n.requireRankAtLeast(x, 1);
  Dims given = n.axisValues(1, n.rank(x));
  if (given.size() != 1)
    failWrong("operand 1 has {0} elements, expected 1", given.size());
  std::optional<RuntimeAxes> split;
  if (anyUnknown(given)) {
    split.emplace(n, n.dims(x), given);
    x = split->gathered(x);
  }
  int64_t axis = split ? n.rank(x) - 1 : *given[0].constant();
  Value y = n.g.scan(kind, x, axis, n.flag("exclusive", false), n.flag("reverse", false));
  n.out(split ? split->restored(y) : y);
}

void cumSum(Node &n) { cumulate(n, ir::ScanKind::Sum); }
void cumProd(Node &n) { cumulate(n, ir::ScanKind::Prod); }

/// Over everything after the channels.
static void globalPool(Node &n, llvm::function_ref<Value(Value, llvm::ArrayRef<int64_t>)> f) {
  Value x = n.in(0);
  n.requireFloat(x);
  n.requireRankAtLeast(x, 2);
  SmallVector<int64_t> axes;
  for (int64_t d = 2; d < n.rank(x); ++d)
    axes.push_back(d);
  n.out(n.g.cast(f(n.wide(x), axes), n.element(x)));
}

void globalAveragePool(Node &n) {
  globalPool(n, [&](Value x, llvm::ArrayRef<int64_t> axes) { return n.g.mean(x, axes, true); });
}
void globalMaxPool(Node &n) {
  globalPool(n, [&](Value x, llvm::ArrayRef<int64_t> axes) { return n.g.reduce(ReduceKind::Max, x, axes, true); });
}
void globalLpPool(Node &n) {
  double p = double(n.integer("p", 2));
  globalPool(n, [&](Value x, llvm::ArrayRef<int64_t> axes) {
    Value powers = n.g.binary<ir::PowOp>(n.g.unary<ir::AbsOp>(x), p);
    return n.g.binary<ir::PowOp>(n.g.reduce(ReduceKind::Sum, powers, axes, true), 1 / p);
  });
}

} // namespace lathe::onnx
