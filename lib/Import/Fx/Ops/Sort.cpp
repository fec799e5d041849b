//===- Sort.cpp - Sorting and selecting -------------------------------------===//

#include "../Condition.h"
#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

/// Relies on the axis being long enough, and on its elements having numbers of 32 bits.
static llvm::Error needElements(OpContext &c, const Expr &count, const Expr &size) {
  if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, count, size)))
    return e;
  return c.need(Condition::compare(Condition::Kind::LessEqual, size, Expr(int64_t(1) << 32)));
}

/// Without the dimensions of one element that the file's result does not have.
static Value asResult(OpContext &c, Value x, size_t i) {
  bool fits = c.g.facts.provablyEqual(shape::product(dimsOf(x)), shape::product(c.resultDims(i)));
  return fits ? c.g.reshape(x, c.resultDims(i)) : x;
}

/// The elements at the places along the axis, and the places.
static llvm::Error giveTaken(OpContext &c, Value x, Value places, int64_t axis) {
  (void)c.give(asResult(c, c.g.takeAlong(x, places, axis), 0));
  return c.give(asResult(c, places, 1));
}

static llvm::Error sort(OpContext &c) {
  LATHE_TRY(axis, c.axis("dim", c.tensor("self")));
  Value x = atLeastOneDim(c, c.tensor("self"));
  Expr size = dimsOf(x)[axis];
  if (llvm::Error e = needElements(c, size, size))
    return e;
  return giveTaken(c, x, c.g.sort(x, axis, c.flag("descending"), size), axis);
}

static llvm::Error argsort(OpContext &c) {
  LATHE_TRY(axis, c.axis("dim", c.tensor("self")));
  Value x = atLeastOneDim(c, c.tensor("self"));
  Expr size = dimsOf(x)[axis];
  if (llvm::Error e = needElements(c, size, size))
    return e;
  return c.give(asResult(c, c.g.sort(x, axis, c.flag("descending"), size), 0));
}

static llvm::Error topk(OpContext &c) {
  LATHE_TRY(axis, c.axis("dim", c.tensor("self")));
  Value x = atLeastOneDim(c, c.tensor("self"));
  Expr count = c.size("k");
  if (llvm::Error e = needElements(c, count, dimsOf(x)[axis]))
    return e;
  return giveTaken(c, x, c.g.sort(x, axis, c.flag("largest"), count), axis);
}

/// The place of the element of rank `rank`, counted from the smallest.
static Value placeOf(OpContext &c, Value x, int64_t axis, const Expr &rank) {
  return c.g.slice(c.g.sort(x, axis, false, c.g.facts.simplify(rank + Expr(1))), axis, rank, Expr(1));
}

static llvm::Error kthvalue(OpContext &c) {
  LATHE_TRY(axis, c.axis("dim", c.tensor("self")));
  Value x = atLeastOneDim(c, c.tensor("self"));
  Expr k = c.size("k");
  if (llvm::Error e = needElements(c, k, dimsOf(x)[axis]))
    return e;
  if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, Expr(1), k)))
    return e;
  return giveTaken(c, x, placeOf(c, x, axis, c.g.facts.simplify(k - Expr(1))), axis);
}

/// Where the lower of the middle elements stands; where there are NaNs, the first of them.
static llvm::Expected<Value> medianPlace(OpContext &c, Value x, int64_t axis) {
  Expr size = dimsOf(x)[axis];
  if (llvm::Error e = needElements(c, Expr(1), size))
    return std::move(e);
  Value place = placeOf(c, x, axis, c.g.facts.simplify(Expr::floordiv(size - Expr(1), Expr(2))));
  if (!llvm::isa<mlir::FloatType>(elementOf(x)))
    return place;
  Value largest = c.g.sort(x, axis, true, Expr(1)), top = c.g.takeAlong(x, largest, axis);
  return c.g.select(c.g.compare(CompareKind::NE, top, top), largest, place);
}

static llvm::Error median(OpContext &c) {
  Value x = c.g.reshape(c.tensor("self"), {c.g.facts.simplify(shape::product(dimsOf(c.tensor("self"))))});
  LATHE_TRY(place, medianPlace(c, x, 0));
  return c.give(asResult(c, c.g.takeAlong(x, place, 0), 0));
}

static llvm::Error medianAlong(OpContext &c) {
  LATHE_TRY(axis, c.axis("dim", c.tensor("self")));
  Value x = atLeastOneDim(c, c.tensor("self"));
  LATHE_TRY(place, medianPlace(c, x, axis));
  return giveTaken(c, x, place, axis);
}

llvm::ArrayRef<OpEntry> fx::sortOps() {
  static const OpEntry table[] = {
      {"sort.default", "self:T dim:I=-1 descending:B=false", sort},
      {"sort.stable", "self:T stable:B? dim:I=-1 descending:B=false", sort},
      {"argsort.default", "self:T dim:I=-1 descending:B=false", argsort},
      {"argsort.stable", "self:T stable:B? dim:I=-1 descending:B=false", argsort},
      {"topk.default", "self:T k:N dim:I=-1 largest:B=true sorted:B=true", topk},
      {"kthvalue.default", "self:T k:N dim:I=-1 keepdim:B=false", kthvalue},
      {"median.default", "self:T", median},
      {"median.dim", "self:T dim:I keepdim:B=false", medianAlong},
  };
  return table;
}
