//===- TopK.cpp - The largest or smallest elements -------------------------===//

#include "Node.h"

using namespace lathe;
using ir::CompareKind;
using ir::ReduceKind;

namespace lathe::onnx {

static Value either(Node &n, Value a, Value b) { return n.g.binary<ir::OrOp>(a, b); }

/// Whether a comes before b by value: a NaN counts as larger than every number.
static Value before(Node &n, Value a, Value b, bool largest) {
  Value less = n.g.compare(largest ? CompareKind::GT : CompareKind::LT, a, b);
  if (!n.isFloat(a))
    return less;
  Value high = largest ? a : b, low = largest ? b : a;
  Value onlyNan = n.g.binary<ir::AndOp>(n.g.compare(CompareKind::NE, high, high), n.g.compare(CompareKind::EQ, low, low));
  return either(n, less, onlyNan);
}

/// Each element's rank is the number of those before it (among equals, those of a smaller index); result p is the element of
/// rank p. Ranks are a permutation, so this is exact, and costs the square of the axis.
void topK(Node &n) {
  Value x = n.in(0);
  n.requireNumber(x);
  n.requireRankAtLeast(x, 1);
  int64_t rank = n.rank(x), axis = n.axis(n.integer("axis", -1), rank);
  bool largest = n.flag("largest", true);
  Dims dims = n.dims(x), result = dims;
  Expr size = n.simplify(dims[axis]), count = n.simplify(n.opset() < 10 ? Expr(n.requiredInteger("k")) : n.sizeScalar(1));
  if (n.g.facts.provablyLess(size, count) || n.g.facts.provablyLess(count, Expr(0)))
    failWrong("k is {0}, axis {1} has {2} elements", count.str(), axis, size.str());
  if (!n.g.facts.provablyLessEqual(count, size))
    n.require(count, "le", size, llvm::formatv("k = {0} is at most the {1} elements of axis {2}", count.str(), size.str(), axis).str());
  Type i64 = n.g.b.getI64Type();
  Dims wide = dims; // the ranked index at `axis`, those that it is compared with after it
  wide.insert(wide.begin() + axis, size);
  Value self = n.g.broadcastTo(n.g.unsqueeze(x, {axis + 1}), wide), other = n.g.broadcastTo(n.g.unsqueeze(x, {axis}), wide);
  Value earlier = n.g.compare(CompareKind::LT, n.g.iota(wide, axis + 1, i64), n.g.iota(wide, axis, i64));
  Value tie = n.g.binary<ir::AndOp>(earlier, n.g.unary<ir::NotOp>(before(n, self, other, largest)));
  Value ahead = n.g.cast(either(n, before(n, other, self, largest), tie), i64);
  Value ranks = n.g.reduce(ReduceKind::Sum, ahead, {axis + 1}, false);
  result[axis] = count;
  Dims match = result; // the place at `axis`, the index that may stand there after it
  match.insert(match.begin() + axis + 1, size);
  Value hit = n.g.compare(CompareKind::EQ, n.g.broadcastTo(n.g.unsqueeze(ranks, {axis}), match), n.g.iota(match, axis, i64));
  Value index = n.g.iota(match, axis + 1, i64);
  Value indices = n.g.reduce(ReduceKind::Max, n.g.select(hit, index, n.g.splatLike(0, index)), {axis + 1}, false);
  llvm::SmallVector<Value> coordinates;
  for (int64_t d = 0; d < rank; ++d)
    coordinates.push_back(n.g.unsqueeze(d == axis ? indices : n.g.iota(result, d, i64), {rank}));
  Value from = n.g.concat(coordinates, rank);
  n.out(0, n.g.b.createOrFold<ir::GatherNdOp>(n.g.loc, ir::tensorType(result, n.element(x)), x, from, 0));
  if (n.numOutputs() > 1)
    n.out(1, indices);
}

} // namespace lathe::onnx
