//===- Det.cpp - Determinants ----------------------------------------------===//
//
// Gaussian elimination with the largest element of a column as its pivot, all matrices of a batch at once: rows are exchanged by
// selects, so that no step depends on a value.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

using namespace lathe;
using ir::CompareKind;
using ir::ReduceKind;

namespace lathe::onnx {

/// Larger matrices would make graphs that nobody wants to compile.
static constexpr int64_t kMaxSize = 32;

/// a [batch, s, s] without its first column and the pivot's row; multiplies det by the pivot with its sign.
static Value eliminate(Node &n, Value a, int64_t s, Value &det) {
  Dims d = n.dims(a), column{d[0], Expr(s)}, rest{d[0], Expr(s), Expr(s - 1)};
  Type i64 = n.g.b.getI64Type();
  Value first = n.reshape(n.g.slice(a, 2, Expr(0), Expr(1)), column), size = n.g.unary<ir::AbsOp>(first);
  Value most = n.g.broadcastTo(n.g.reduce(ReduceKind::Max, size, {1}, true), column);
  Value row = n.g.iota(column, 1, i64);
  Value isMost = n.g.compare(CompareKind::EQ, size, most);
  Value at = n.g.reduce(ReduceKind::Min, n.g.select(isMost, row, n.g.splatLike(double(s - 1), row)), {1}, true);
  Value isPivot = n.g.compare(CompareKind::EQ, row, n.g.broadcastTo(at, column));
  auto ofPivot = [&](Value v, Value mask, bool keep) {
    return n.g.reduce(ReduceKind::Sum, n.g.select(mask, v, n.g.splatLike(0, v)), {1}, keep);
  };
  Value pivot = ofPivot(first, isPivot, false), odd = n.g.binary<ir::ModOp>(n.reshape(at, {d[0]}), 2);
  Value sign = n.g.select(n.g.compare(CompareKind::EQ, odd, n.g.splatLike(1, odd)), n.g.splatLike(-1, pivot), n.g.splatLike(1, pivot));
  det = n.g.mul(det, n.g.mul(pivot, sign));
  Value others = n.g.slice(a, 2, Expr(1), Expr(s - 1)); // [batch, s, s - 1]
  Value pivotRow = ofPivot(others, n.g.broadcastTo(n.g.unsqueeze(isPivot, {2}), rest), true);
  Value zero = n.g.splatLike(0, pivot), safe = n.g.select(n.g.compare(CompareKind::EQ, pivot, zero), n.g.splatLike(1, pivot), pivot);
  Value factor = n.g.div(first, n.g.broadcastTo(n.g.unsqueeze(safe, {1}), column));
  Value reduced = n.g.sub(others, n.g.mul(n.g.broadcastTo(n.g.unsqueeze(factor, {2}), rest), n.g.broadcastTo(pivotRow, rest)));
  // The rows above the pivot stay, those below move up.
  Dims square{d[0], Expr(s - 1), Expr(s - 1)};
  Value above = n.g.compare(CompareKind::LT, n.g.iota(square, 1, i64), n.g.broadcastTo(n.g.unsqueeze(at, {2}), square));
  return n.g.select(above, n.g.slice(reduced, 1, Expr(0), Expr(s - 1)), n.g.slice(reduced, 1, Expr(1), Expr(s - 1)));
}

void det(Node &n) {
  Value x = n.in(0);
  n.requireFloat(x);
  n.requireRankAtLeast(x, 2);
  Dims d = n.dims(x), outer(d.begin(), d.end() - 2);
  n.requireEqual(d.back(), d[d.size() - 2], "rows and columns");
  std::optional<int64_t> size = n.simplify(d.back()).constant();
  if (!size || *size > kMaxSize)
    failUnsupported("determinants of {0} rows, expected a constant up to {1}", d.back().str(), kMaxSize);
  Expr batch = n.simplify(shape::product(outer));
  Value a = n.reshape(n.wide(x), {batch, Expr(*size), Expr(*size)}), r = n.g.splat(1, {batch}, n.element(a));
  for (int64_t s = *size; s > 0; --s) {
    if (s == 1)
      r = n.g.mul(r, n.reshape(a, {batch}));
    else
      a = eliminate(n, a, s, r);
  }
  n.out(n.g.cast(n.reshape(r, outer), n.element(x)));
}

} // namespace lathe::onnx
