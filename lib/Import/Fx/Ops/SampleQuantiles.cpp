//===- SampleQuantiles.cpp - Quantiles of samples -----------------------------===//
//
// A quantile q of n numbers stands at the place q * (n - 1) of their order, mostly between two of them (Hyndman and Fan, "Sample quantiles in
// statistical packages", 1996, definition 7). The order is that of lathe.sort, NaNs last.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

namespace {
/// What a quantile is taken of: `axis` of x, in rows of all other axes.
struct Samples {
  Value x;
  int64_t axis;
  /// x's dimensions with another number of elements along the axis.
  Dims with(const Expr &count) const {
    Dims dims = dimsOf(x);
    dims[axis] = count;
    return dims;
  }
};
} // namespace

static llvm::Expected<Samples> samplesOf(OpContext &c) {
  Value x = atLeastOneDim(c, c.tensor("self"));
  if (!c.has("dim"))
    return Samples{flattened(c, x), 0};
  LATHE_TRY(axis, c.axis("dim", c.tensor("self")));
  return Samples{x, axis};
}

/// One along the axis for each row: the place of its last element that counts.
static Value lastPlaces(OpContext &c, const Samples &s, bool ignoresNaN) {
  Type element = elementOf(s.x);
  if (!ignoresNaN)
    return c.g.cast(c.g.broadcastTo(c.g.size(dimsOf(s.x)[s.axis] - Expr(1)), s.with(Expr(1))), element);
  Value isNumber = c.g.cast(c.g.compare(CompareKind::EQ, s.x, s.x), c.g.b.getI64Type());
  return c.g.cast(c.g.binary<SubOp>(c.g.reduce(ReduceKind::Sum, isNumber, {s.axis}, true), 1), element);
}

/// The quantiles' places: one along the axis for each of `count` quantiles.
static Value placesOf(OpContext &c, const Samples &s, Value q, const Expr &count, bool ignoresNaN) {
  Dims along(dimsOf(s.x).size(), Expr(1)), dims = s.with(count);
  along[s.axis] = count;
  Value last = c.g.broadcastTo(lastPlaces(c, s, ignoresNaN), dims);
  Value places = c.g.mul(c.g.broadcastTo(c.g.reshape(q, along), dims), last);
  if (ignoresNaN) // of nothing but NaNs the first
    return c.g.binary<MaxOp>(places, 0.0);
  // A row with a NaN has no other quantile: its last element is one.
  Value nans = c.g.cast(isNan(c, s.x), c.g.b.getI64Type());
  Value any = c.g.broadcastTo(c.g.reduce(ReduceKind::Max, nans, {s.axis}, true), dims);
  return c.g.select(c.g.compare(CompareKind::NE, any, c.g.splatLike(0, any)), last, places);
}

/// Between the elements before and behind a place.
static llvm::Expected<Value> interpolated(OpContext &c, const Samples &s, Value sorted, Value places) {
  std::string way = c.text("interpolation");
  auto elementAt = [&](Value at) { return c.g.takeAlong(sorted, c.g.cast(at, c.g.b.getI64Type()), s.axis); };
  if (way == "lower")
    return elementAt(c.g.unary<FloorOp>(places));
  if (way == "higher")
    return elementAt(c.g.unary<CeilOp>(places));
  if (way == "nearest")
    return elementAt(c.g.unary<RoundOp>(places));
  if (way != "linear" && way != "midpoint")
    return c.wrong("interpolation is '{0}'; torch knows 'linear', 'lower', 'higher', 'midpoint' and 'nearest'", way);
  Value before = c.g.unary<FloorOp>(places), weight = way == "linear" ? c.g.sub(places, before) : c.g.splatLike(0.5, places);
  Value low = elementAt(before), high = elementAt(c.g.unary<CeilOp>(places));
  return c.g.add(low, c.g.mul(weight, c.g.sub(high, low)));
}

/// The quantiles, of the samples' type, in one dimension. A number outside of [0, 1] is none.
static llvm::Expected<Value> fractionsOf(OpContext &c, Type element) {
  Operand q = c.operand("q");
  if (q.tensor) {
    Value all = flattened(c, q.tensor);
    Value least = c.g.reduce(ReduceKind::Min, all, {0}, false), most = c.g.reduce(ReduceKind::Max, all, {0}, false);
    Value inside = c.g.binary<AndOp>(c.g.compare(CompareKind::GE, least, c.g.splatLike(0, least)), c.g.compare(CompareKind::LE, most, c.g.splatLike(1, most)));
    c.assertTrue(inside, "quantiles are from 0 to 1");
    return c.g.cast(all, element);
  }
  double value = q.number.value;
  if (!(value >= 0 && value <= 1))
    return c.wrong("q is {0}; quantiles are from 0 to 1", value);
  return c.g.splat(value, {Expr(1)}, element);
}

template <bool ignoresNaN> static llvm::Error sampleQuantile(OpContext &c) {
  LATHE_TRY(s, samplesOf(c));
  Expr size = dimsOf(s.x)[s.axis];
  if (llvm::Error e = needElements(c, Expr(1), size))
    return e;
  LATHE_TRY(q, fractionsOf(c, elementOf(s.x)));
  Expr count = dimsOf(q)[0];
  Value sorted = c.g.takeAlong(s.x, c.g.sort(s.x, s.axis, false, size), s.axis);
  LATHE_TRY(result, interpolated(c, s, sorted, placesOf(c, s, q, count, ignoresNaN)));
  SmallVector<int64_t> quantilesFirst{s.axis};
  for (size_t d = 0; d < dimsOf(s.x).size(); ++d)
    if (int64_t(d) != s.axis)
      quantilesFirst.push_back(int64_t(d));
  return c.give(c.g.reshape(c.g.transpose(result, quantilesFirst), c.resultDims()));
}

llvm::ArrayRef<OpEntry> fx::sampleQuantileOps() {
  static const char *const arguments = "self:T q:TS dim:I? keepdim:B=false interpolation:X=linear";
  static const OpEntry table[] = {
      {"nanquantile.default", arguments, sampleQuantile<true>},
      {"nanquantile.scalar", arguments, sampleQuantile<true>},
      {"quantile.default", arguments, sampleQuantile<false>},
      {"quantile.scalar", arguments, sampleQuantile<false>},
  };
  return table;
}
