//===- SortedSearch.cpp - Places in sorted lists ---------------------------===//

#include "lathe/Dialect/Lathe/SortedSearch.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;
using shape::Expr;

/// Whether an element of a sorted list lies before the value (not behind it, on the right side). Every element lies before a NaN.
static Value liesBefore(GraphBuilder &g, Value element, Value v, bool right) {
  Value below = g.compare(right ? CompareKind::LE : CompareKind::LT, element, v);
  return isa<FloatType>(elementOf(v)) ? g.binary<OrOp>(below, g.compare(CompareKind::NE, v, v)) : below;
}

/// Each value beside each element of its row: for short lists.
static Value countBefore(GraphBuilder &g, Value sorted, Value values, bool right) {
  int64_t last = typeOf(values).getRank();
  Dims dims = dimsOf(values);
  dims.push_back(dimsOf(sorted).back());
  Value v = g.broadcastTo(g.unsqueeze(values, {last}), dims), s = sorted;
  if (typeOf(sorted).getRank() > 1)
    s = g.unsqueeze(sorted, {typeOf(sorted).getRank() - 1});
  Value before = liesBefore(g, g.broadcastTo(s, dims), v, right);
  return g.reduce(ReduceKind::Sum, g.cast(before, g.b.getI64Type()), {last}, false);
}

/// Where the row of each value begins among all elements of the sorted rows.
static Value beginsOfRows(GraphBuilder &g, Value sorted, ArrayRef<Expr> dims) {
  Value begin;
  Expr step(1);
  for (size_t d = dims.size(); d-- > 0; step = g.facts.simplify(step * dimsOf(sorted)[d])) {
    if (d + 1 == dims.size())
      continue;
    Value at = g.mul(g.iota(dims, d, g.b.getI64Type()), g.broadcastTo(g.size(step), dims));
    begin = begin ? g.add(begin, at) : at;
  }
  return begin;
}

Value ir::placeInSorted(GraphBuilder &g, Value sorted, Value values, bool right) {
  constexpr int64_t shortList = 16, longest = int64_t(1) << 40; // more do not fit into memory
  Expr count = dimsOf(sorted).back();
  if (count.constant().value_or(longest) <= shortList)
    return countBefore(g, sorted, values, right);
  int64_t row = typeOf(sorted).getRank() - 1;
  if (!g.facts.provablyLessEqual(Expr(1), count)) { // something to look at
    Dims one = dimsOf(sorted);
    one.back() = Expr(1);
    sorted = g.concat({sorted, g.splat(0, one, elementOf(sorted))}, row);
  }
  Type i64 = g.b.getI64Type();
  Dims dims = dimsOf(values);
  Value end = g.broadcastTo(g.size(count), dims), place = g.splat(0, dims, i64), begin = row ? beginsOfRows(g, sorted, dims) : Value();
  Value flat = g.reshape(sorted, {g.facts.simplify(shape::product(dimsOf(sorted)))});
  int64_t step = 1;
  while (step <= count.constant().value_or(longest) / 2)
    step *= 2;
  for (; step; step /= 2) {
    Value next = g.binary<AddOp>(place, double(step));
    Value at = g.binary<MaxOp>(g.binary<SubOp>(g.binary<MinOp>(next, end), 1), 0);
    Value element = g.gather(flat, begin ? g.add(at, begin) : at, 0);
    Value goesOn = g.binary<AndOp>(g.compare(CompareKind::LE, next, end), liesBefore(g, element, values, right));
    place = g.select(goesOn, next, place);
  }
  return place;
}
