//===- Scatter.cpp - Writing updates at computed places --------------------===//
//
// Kernels write each element once, so a scatter reads instead: every element of the result looks for the updates that name
// it. That is exact for any order and number of duplicates, and costs (elements of the data) x (updates that may meet them).
//
//===----------------------------------------------------------------------===//

#include "Node.h"

using namespace lathe;
using ir::CompareKind;
using ir::ReduceKind;
using llvm::SmallVector;

namespace lathe::onnx {

/// How updates meet the data and one another; Or stands for "the last one replaces it".
static ReduceKind reductionOf(Node &n, Value data) {
  std::string name = n.text("reduction", "none");
  if (name == "none")
    return ReduceKind::Or;
  n.requireNumber(data);
  if (name == "add")
    return ReduceKind::Sum;
  if (name == "mul")
    return ReduceKind::Prod;
  if (name == "max")
    return ReduceKind::Max;
  if (name == "min")
    return ReduceKind::Min;
  failWrong("attribute 'reduction' is '{0}', expected none, add, mul, max or min", name);
}

/// Counts from the end where negative.
static Value fromStart(Node &n, Value index, const Expr &size) {
  Value i = n.g.cast(index, n.g.b.getI64Type());
  Value end = n.g.broadcastTo(n.g.size(n.simplify(size)), n.dims(i));
  return n.g.select(n.g.compare(CompareKind::LT, i, n.g.splatLike(0, i)), n.g.add(i, end), i);
}

/// The data combined with its updates. `hit` and `updates` have the data's dims and the updates' axis at `axis`.
static Value combine(Node &n, ReduceKind kind, Value data, Value hit, Value updates, int64_t axis) {
  if (kind == ReduceKind::Sum || kind == ReduceKind::Prod) {
    bool isSum = kind == ReduceKind::Sum;
    Value all = n.g.reduce(kind, n.g.select(hit, updates, n.g.splatLike(isSum ? 0 : 1, updates)), {axis}, false);
    return isSum ? n.g.add(data, all) : n.g.mul(data, all);
  }
  // What does not hit repeats the element itself, which changes no extreme.
  Value self = n.g.broadcastTo(n.g.unsqueeze(data, {axis}), n.dims(updates));
  Value all = n.g.reduce(kind, n.g.select(hit, updates, self), {axis}, false);
  return kind == ReduceKind::Max ? n.g.binary<ir::MaxOp>(data, all) : n.g.binary<ir::MinOp>(data, all);
}

/// The place of the last hit along the axis; -1 where there is none.
static Value lastHit(Node &n, Value hit, int64_t axis) {
  Value place = n.g.iota(n.dims(hit), axis, n.g.b.getI64Type());
  return n.g.reduce(ReduceKind::Max, n.g.select(hit, place, n.g.splatLike(-1, place)), {axis}, false);
}

/// Grows a dimension of x to the size, with a value.
static Value grow(Node &n, Value x, int64_t axis, const Expr &size, Value fill) {
  Expr have = n.simplify(n.dim(x, axis)), want = n.simplify(size);
  if (have == want)
    return x;
  if (!n.g.facts.provablyLessEqual(have, want)) {
    if (n.g.facts.provablyLess(want, have))
      failWrong("the indices have {0} along axis {1}, the data only {2}", have.str(), axis, want.str());
    n.requireEqual(have, want, "a dimension of data and indices");
    return x;
  }
  Dims more = n.dims(x);
  more[axis] = n.simplify(want - have);
  return n.g.concat({x, n.g.broadcastTo(fill, more)}, axis);
}

/// With one element more where there may be none along the axis: the place of an update that nobody takes has to be one.
static Value notEmpty(Node &n, Value updates, int64_t axis) {
  if (n.g.facts.provablyPositive(n.simplify(n.dim(updates, axis))))
    return updates;
  Dims one = n.dims(updates);
  one[axis] = Expr(1);
  return n.g.concat({updates, n.g.splat(0, one, n.element(updates))}, axis);
}

void scatterElements(Node &n) {
  Value data = n.in(0), indices = n.in(1), updates = n.in(2);
  n.requireSameElement({data, updates});
  n.requireInteger(indices);
  n.requireRankAtLeast(data, 1);
  n.requireRank(indices, n.rank(data));
  n.requireRank(updates, n.rank(data));
  ReduceKind kind = reductionOf(n, data);
  int64_t rank = n.rank(data), axis = n.axis(n.integer("axis", 0), rank);
  for (int64_t d = 0; d < rank; ++d)
    n.requireEqual(n.dim(indices, d), n.dim(updates, d), "a dimension of indices and updates");
  Dims dims = n.dims(data);
  if (n.simplify(shape::product(n.dims(updates))).isZero())
    return n.out(data);
  Type i64 = n.g.b.getI64Type();
  Value given = updates, at = fromStart(n, indices, dims[axis]);
  // Beside the indices, an index that is no element's.
  for (int64_t d = 0; d < rank; ++d)
    if (d != axis) {
      at = grow(n, at, d, dims[d], n.constantInteger(-1, i64));
      given = grow(n, given, d, dims[d], n.g.scalar(0, n.element(data)));
    }
  Dims wide = dims;
  wide.insert(wide.begin() + axis, n.dim(at, axis)); // the updates' axis, then the data's
  auto widen = [&](Value v) { return n.g.broadcastTo(n.g.unsqueeze(v, {axis + 1}), wide); };
  Value hit = n.g.compare(CompareKind::EQ, widen(at), n.g.iota(wide, axis + 1, i64));
  if (kind != ReduceKind::Or)
    return n.out(combine(n, kind, data, hit, widen(given), axis));
  Value last = lastHit(n, hit, axis);
  SmallVector<Value> coordinates;
  for (int64_t d = 0; d < rank; ++d)
    coordinates.push_back(n.g.unsqueeze(d == axis ? n.g.binary<ir::MaxOp>(last, 0) : n.g.iota(dims, d, i64), {rank}));
  Value from = n.g.concat(coordinates, rank);
  given = notEmpty(n, given, axis);
  Value picked = n.g.b.createOrFold<ir::GatherNdOp>(n.g.loc, ir::tensorType(dims, n.element(data)), given, from, 0);
  n.out(n.g.select(n.g.compare(CompareKind::GE, last, n.g.splatLike(0, last)), picked, data));
}

/// The row of [P, T] that each index vector names; -1 where a coordinate is outside of the data.
static Value rowsOf(Node &n, Value indices, const Dims &dims, int64_t depth, const Expr &count) {
  Type i64 = n.g.b.getI64Type();
  Dims flat{count};
  Value row = n.g.splat(0, flat, i64), outside = n.g.splat(0, flat, n.g.b.getI1Type());
  Value vectors = n.reshape(indices, {count, Expr(depth)});
  for (int64_t d = 0; d < depth; ++d) {
    Value i = fromStart(n, n.reshape(n.g.slice(vectors, 1, Expr(d), Expr(1)), flat), dims[d]);
    Value size = n.g.broadcastTo(n.g.size(n.simplify(dims[d])), flat);
    outside = n.g.binary<ir::OrOp>(outside, n.g.compare(CompareKind::LT, i, n.g.splatLike(0, i)));
    outside = n.g.binary<ir::OrOp>(outside, n.g.compare(CompareKind::GE, i, size));
    row = n.g.add(n.g.mul(row, size), i);
  }
  return n.g.select(outside, n.g.splatLike(-1, row), row);
}

void scatterNd(Node &n) {
  Value data = n.in(0), indices = n.in(1), updates = n.in(2);
  n.requireSameElement({data, updates});
  n.requireInteger(indices);
  n.requireRankAtLeast(data, 1);
  n.requireRankAtLeast(indices, 1);
  ReduceKind kind = reductionOf(n, data);
  Dims dims = n.dims(data), at = n.dims(indices), given = n.dims(updates);
  std::optional<int64_t> depth = n.simplify(at.back()).constant();
  if (!depth)
    failUnsupported("the last dimension of the indices is {0}, expected a constant", at.back().str());
  if (*depth < 1 || *depth > n.rank(data))
    failWrong("indices {0} into {1}", describe(indices.getType()), describe(data.getType()));
  Dims expected(at.begin(), at.end() - 1);
  expected.append(dims.begin() + *depth, dims.end());
  n.requireRank(updates, expected.size());
  for (size_t d = 0; d < expected.size(); ++d)
    n.requireEqual(given[d], expected[d], "a dimension of the updates");
  auto product = [&](auto first, auto last) { return n.simplify(shape::product(Dims(first, last))); };
  Expr count = product(at.begin(), at.end() - 1), rows = product(dims.begin(), dims.begin() + *depth);
  Expr width = product(dims.begin() + *depth, dims.end());
  if (count.isZero() || rows.isZero() || width.isZero())
    return n.out(data);
  Type i64 = n.g.b.getI64Type();
  Value flat = n.reshape(data, {rows, width}), lines = n.reshape(updates, {count, width});
  Dims plane{count, rows}, cube{count, rows, width};
  Value named = n.g.broadcastTo(n.g.unsqueeze(rowsOf(n, indices, dims, *depth, count), {1}), plane);
  Value hit = n.g.compare(CompareKind::EQ, named, n.g.iota(plane, 1, i64));
  if (kind != ReduceKind::Or) {
    Value wideHit = n.g.broadcastTo(n.g.unsqueeze(hit, {2}), cube);
    Value wide = n.g.broadcastTo(n.g.unsqueeze(lines, {1}), cube);
    return n.out(n.reshape(combine(n, kind, flat, wideHit, wide, 0), dims));
  }
  Value last = lastHit(n, hit, 0), found = n.g.compare(CompareKind::GE, last, n.g.splatLike(0, last));
  Value picked = n.g.gather(notEmpty(n, lines, 0), n.g.binary<ir::MaxOp>(last, 0), 0);
  n.out(n.reshape(n.g.select(n.g.broadcastTo(n.g.unsqueeze(found, {1}), {rows, width}), picked, flat), dims));
}

} // namespace lathe::onnx
