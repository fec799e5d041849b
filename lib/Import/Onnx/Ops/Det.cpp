//===- Det.cpp - Determinants ----------------------------------------------===//
//
// Gaussian elimination with the largest element of a column as its pivot, all matrices of a batch at once: rows are exchanged by
// selects, so that no step depends on a value. Small matrices are written out step by step; others, and those of open size, are a
// loop.
//
//===----------------------------------------------------------------------===//

#include "Loops.h"

using namespace lathe;
using ir::CompareKind;
using ir::ReduceKind;

namespace lathe::onnx {

static constexpr int64_t kWrittenOut = 8;

namespace {

/// The matrices [batch, size, size] so far, and the products of their pivots [batch].
struct Elimination {
  Value rest, det;
};

} // namespace

/// Step k brings the pivot of column k into row k and clears the column below it. Whole matrices are computed, so that all steps
/// have the same sizes; what is above row k is not looked at any more.
static Elimination eliminate(Node &n, const Elimination &before, const Expr &k) {
  ir::GraphBuilder &g = n.g;
  Value a = before.rest, zeros = g.splatLike(0, a);
  Dims whole = n.dims(a), column{whole[0], whole[1], Expr(1)}, one{whole[0], Expr(1), Expr(1)};
  auto inAll = [&](Value v) { return g.broadcastTo(v, whole); };
  Type i64 = g.b.getI64Type();
  Value row = g.iota(column, 1, i64), step = g.broadcastTo(g.size(k), column), first = g.slice(a, 2, k, Expr(1));
  Value size = g.select(g.compare(CompareKind::LT, row, step), g.splatLike(-1, first), g.unary<ir::AbsOp>(first));
  Value isMost = g.compare(CompareKind::EQ, size, g.broadcastTo(g.reduce(ReduceKind::Max, size, {1}, true), column));
  Value last = g.broadcastTo(g.size(n.simplify(whole[1] - Expr(1))), column); // where NaN is the largest
  Value at = g.reduce(ReduceKind::Min, g.select(isMost, row, last), {1}, true);
  Value isPivot = g.compare(CompareKind::EQ, row, g.broadcastTo(at, column)), isStep = g.compare(CompareKind::EQ, row, step);
  Value pivotRow = g.reduce(ReduceKind::Sum, g.select(inAll(isPivot), a, zeros), {1}, true);
  Value exchanged = g.select(inAll(isPivot), inAll(g.slice(a, 1, k, Expr(1))), a); // row k itself is done with
  Value pivot = g.slice(pivotRow, 2, k, Expr(1)), zero = g.splatLike(0, pivot), unit = g.splatLike(1, pivot);
  Value divisor = g.select(g.compare(CompareKind::EQ, pivot, zero), unit, pivot);
  Value factor = g.div(g.slice(exchanged, 2, k, Expr(1)), g.broadcastTo(divisor, column));
  Value reduced = g.sub(exchanged, g.mul(inAll(factor), inAll(pivotRow)));
  Value stays = g.compare(CompareKind::EQ, at, g.broadcastTo(g.size(k), one));
  Value sign = g.select(stays, unit, g.splatLike(-1, pivot));
  return {g.select(inAll(isStep), inAll(pivotRow), reduced), g.mul(before.det, n.reshape(g.mul(pivot, sign), {whole[0]}))};
}

static Value loopOver(Node &n, const Elimination &start, const Expr &size) {
  LoopSpec spec;
  spec.limit = size;
  spec.carried = {start.rest, start.det};
  spec.body = [&](llvm::ArrayRef<Value> carried, const Expr &k) -> std::vector<Value> {
    Elimination next = eliminate(n, {carried[0], carried[1]}, k);
    return {next.rest, next.det};
  };
  return buildLoop(n, spec)[1];
}

void det(Node &n) {
  Value x = n.in(0);
  n.requireFloat(x);
  n.requireRankAtLeast(x, 2);
  Dims d = n.dims(x), outer(d.begin(), d.end() - 2);
  n.requireEqual(d.back(), d[d.size() - 2], "rows and columns");
  Expr batch = n.simplify(shape::product(outer)), size = n.simplify(d.back());
  Value a = n.reshape(n.wide(x), {batch, size, size});
  Elimination e{a, n.g.splat(1, {batch}, n.element(a))};
  std::optional<int64_t> known = size.constant();
  if (known && *known <= kWrittenOut)
    for (int64_t k = 0; k < *known; ++k)
      e = eliminate(n, e, Expr(k));
  else
    e.det = loopOver(n, e, size);
  n.out(n.g.cast(n.reshape(e.det, outer), n.element(x)));
}

} // namespace lathe::onnx
