//===- Histogram.cpp - Counts by ranges of values ---------------------------===//
//
// Along each of several dimensions of the data there are edges of bins; an element counts where the last edge that is not above it
// begins, and the last edge belongs to the last bin.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "lathe/Dialect/Lathe/Scatter.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

constexpr int64_t mostBins = 1 << 24;

static int64_t binsOf(Value edges) { return dimsOf(edges)[0].constant().value_or(1) - 1; }

/// Of so many bins between two numbers of rank 0, exact at both.
static Value edgesBetween(OpContext &c, Value from, Value to, int64_t bins) {
  Dims dims{Expr(bins + 1)};
  auto wide = [&](Value v) { return c.g.broadcastTo(v, dims); };
  Value i = c.g.iota(dims, 0, elementOf(from)), step = wide(c.g.binary<DivOp>(c.g.sub(to, from), double(bins)));
  Value early = c.g.add(wide(from), c.g.mul(step, i)),
        late = c.g.sub(wide(to), c.g.mul(step, c.g.sub(c.g.splatLike(double(bins), i), i)));
  return c.g.select(c.g.compare(CompareKind::LT, i, c.g.splatLike(double((bins + 1) / 2), i)), early, late);
}

/// By the argument `range`, or the data's own.
static llvm::Expected<Value> evenEdges(OpContext &c, Value column, int64_t bins, size_t dim) {
  SmallVector<double> range = c.reals("range");
  if (bins < 1 || bins > mostBins || (!range.empty() && range.size() < 2 * dim + 2))
    return c.wrong("{0} bins between {1} numbers", bins, range.size());
  Type element = elementOf(column);
  Value least, most;
  if (!range.empty()) {
    least = c.g.splat(range[2 * dim], {}, element);
    most = c.g.splat(range[2 * dim + 1], {}, element);
  } else {
    if (llvm::Error e = c.need(Condition::compare(Condition::Kind::Less, Expr(0), dimsOf(column)[0])))
      return std::move(e);
    least = c.g.reduce(ReduceKind::Min, column, {0}, false);
    most = c.g.reduce(ReduceKind::Max, column, {0}, false);
  }
  Value flat = c.g.compare(CompareKind::EQ, least, most);
  return edgesBetween(c, c.g.select(flat, c.g.binary<SubOp>(least, 0.5), least), c.g.select(flat, c.g.binary<AddOp>(most, 0.5), most), bins);
}

/// Each element's bin, and whether it is in one.
static std::pair<Value, Value> binsAt(OpContext &c, Value column, Value edges) {
  Dims table = dimsOf(column), count = dimsOf(edges);
  table.push_back(count[0]);
  Type i64 = c.g.b.getI64Type();
  auto edge = [&](int64_t i) {
    return c.g.broadcastTo(c.g.squeeze(c.g.slice(edges, 0, Expr(i), Expr(1)), {0}), dimsOf(column));
  };
  int64_t bins = binsOf(edges);
  Value passed = c.g.compare(CompareKind::LE, c.g.broadcastTo(edges, table), c.g.broadcastTo(c.g.unsqueeze(column, {1}), table));
  Value place = c.g.binary<SubOp>(c.g.reduce(ReduceKind::Sum, c.g.cast(passed, i64), {1}, false), 1.0);
  Value inside = c.g.binary<AndOp>(c.g.compare(CompareKind::GE, column, edge(0)), c.g.compare(CompareKind::LE, column, edge(bins)));
  return {c.g.binary<MinOp>(place, double(bins - 1)), inside};
}

/// Divided by the sum of all counts and by the bin's width along each dimension.
static Value density(OpContext &c, Value counts, llvm::ArrayRef<Value> edges) {
  SmallVector<int64_t> axes;
  for (int64_t d = 0; d < typeOf(counts).getRank(); ++d)
    axes.push_back(d);
  Dims dims = dimsOf(counts);
  counts = c.g.div(counts, c.g.broadcastTo(c.g.reduce(ReduceKind::Sum, counts, axes, false), dims));
  for (auto [d, e] : llvm::enumerate(edges)) {
    Expr bins(binsOf(e));
    Dims along(dims.size(), Expr(1));
    along[d] = bins;
    Value width = c.g.sub(c.g.slice(e, 0, Expr(1), bins), c.g.slice(e, 0, Expr(0), bins));
    counts = c.g.div(counts, c.g.broadcastTo(c.g.reshape(width, along), dims));
  }
  return counts;
}

/// x: [elements, dimensions].
static llvm::Error giveCounts(OpContext &c, Value x, llvm::ArrayRef<Value> edges) {
  Dims shape;
  int64_t total = 1;
  Type i64 = c.g.b.getI64Type();
  Value place, inside;
  for (auto [d, e] : llvm::enumerate(edges)) {
    int64_t bins = binsOf(e);
    if (bins < 1 || __builtin_mul_overflow(total, bins, &total) || total > mostBins)
      return c.cannot("a histogram of {0} bins", total);
    auto [at, in] = binsAt(c, c.g.squeeze(c.g.slice(x, 1, Expr(int64_t(d)), Expr(1)), {1}), e);
    place = place ? c.g.add(c.g.binary<MulOp>(place, double(bins)), at) : at;
    inside = inside ? c.g.binary<AndOp>(inside, in) : in;
    shape.push_back(Expr(bins));
  }
  Dims list = dimsOf(place);
  place = c.g.select(inside, place, c.g.splat(double(total), list, i64)); // beyond the end: nowhere
  Value each = c.g.splat(1, list, elementOf(x));
  if (Value weight = c.tensor("weight")) {
    if (llvm::Error e = c.needEqual(shape::product(dimsOf(weight)), list[0]))
      return e;
    each = c.g.reshape(c.g.cast(weight, elementOf(x)), list);
  }
  Value counts = c.g.reshape(scatterAlong(c.g, ScatterKind::Add, c.g.splat(0, {Expr(total)}, elementOf(x)), place, each, 0), shape);
  (void)c.give(c.flag("density") ? density(c, counts, edges) : counts);
  for (Value e : edges)
    (void)c.give(e);
  return llvm::Error::success();
}

/// Edges that are given, or numbers of bins: one per dimension, or one for all.
static llvm::Error histogram(OpContext &c, Value x, bool given, SmallVector<Value> edges) {
  if (!llvm::isa<mlir::FloatType>(elementOf(x)))
    return c.wrong("a histogram of {0}", x.getType());
  std::optional<int64_t> dimensions = dimsOf(x)[1].constant();
  if (!dimensions || *dimensions < 1 || (given && int64_t(edges.size()) != *dimensions))
    return c.wrong("edges along {0} dimensions of {1}", edges.size(), x.getType());
  for (Value &e : edges)
    if (typeOf(e).getRank() != 1 || !dimsOf(e)[0].constant() || binsOf(e) < 1 || elementOf(e) != elementOf(x))
      return c.wrong("edges of {0} for {1}", e.getType(), x.getType());
  SmallVector<int64_t> bins = given ? SmallVector<int64_t>() : c.integers("bins");
  if (bins.size() == 1)
    bins.resize(*dimensions, bins[0]);
  if (!given && int64_t(bins.size()) != *dimensions)
    return c.wrong("bins along {0} dimensions of {1}", bins.size(), x.getType());
  for (auto [d, count] : llvm::enumerate(bins)) {
    LATHE_TRY(e, evenEdges(c, c.g.squeeze(c.g.slice(x, 1, Expr(int64_t(d)), Expr(1)), {1}), count, d));
    edges.push_back(e);
  }
  return giveCounts(c, x, edges);
}

/// Of all elements.
template <bool given> static llvm::Error ofNumbers(OpContext &c) {
  Value x = c.tensor("self");
  x = c.g.reshape(x, {c.g.facts.simplify(shape::product(dimsOf(x))), Expr(1)});
  return histogram(c, x, given, given ? SmallVector<Value>{c.tensor("bins")} : SmallVector<Value>());
}

/// Of points along the last dimension.
template <bool given> static llvm::Error ofPoints(OpContext &c) {
  Value x = c.tensor("self");
  Dims dims = dimsOf(x);
  if (dims.size() < 2)
    return c.wrong("points of {0}", x.getType());
  Expr last = dims.pop_back_val();
  x = c.g.reshape(x, {c.g.facts.simplify(shape::product(dims)), last});
  return histogram(c, x, given, given ? c.tensors("bins") : SmallVector<Value>());
}

llvm::ArrayRef<OpEntry> fx::histogramOps() {
  static const OpEntry table[] = {
      {"histogram.bins_tensor", "self:T bins:T weight:T? density:B=false", ofNumbers<true>},
      {"histogram.bin_ct", "self:T bins:I=100 range:F*? weight:T? density:B=false", ofNumbers<false>},
      {"histogramdd.default", "self:T bins:I* range:F*? weight:T? density:B=false", ofPoints<false>},
      {"histogramdd.int_bins", "self:T bins:I range:F*? weight:T? density:B=false", ofPoints<false>},
      {"histogramdd.TensorList_bins", "self:T bins:T* range:F*? weight:T? density:B=false", ofPoints<true>},
  };
  return table;
}
