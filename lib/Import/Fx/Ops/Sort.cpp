//===- Sort.cpp - Sorting and selecting -------------------------------------===//

#include "../Condition.h"
#include "Families.h"
#include <functional>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

llvm::Error fx::needElements(OpContext &c, const Expr &count, const Expr &size) {
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

/// The place of the element of rank `rank`, counted from the smallest: from the end that fewer elements lie before, where it is known.
static Value placeOf(OpContext &c, Value x, int64_t axis, const Expr &rank) {
  Expr fromLargest = c.g.facts.simplify(dimsOf(x)[axis] - Expr(1) - rank);
  if (c.g.facts.provablyLess(fromLargest, rank))
    return c.g.slice(c.g.sort(x, axis, true, c.g.facts.simplify(fromLargest + Expr(1))), axis, fromLargest, Expr(1));
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

using Place = llvm::Expected<Value> (*)(OpContext &, Value, int64_t);

/// Of all elements.
static llvm::Error medianOfAll(OpContext &c) {
  Value x = flattened(c, c.tensor("self"));
  LATHE_TRY(at, medianPlace(c, x, 0));
  return c.give(asResult(c, c.g.takeAlong(x, at, 0), 0));
}

template <Place place> static llvm::Error medianAlong(OpContext &c) {
  LATHE_TRY(axis, c.axis("dim", c.tensor("self")));
  Value x = atLeastOneDim(c, c.tensor("self"));
  LATHE_TRY(at, place(c, x, axis));
  return giveTaken(c, x, at, axis);
}

static llvm::Error firstSorted(OpContext &c) {
  Value x = c.tensor("self");
  if (typeOf(x).getRank() == 0)
    return c.give(x);
  if (llvm::Error e = needElements(c, dimsOf(x)[0], dimsOf(x)[0]))
    return e;
  return c.give(c.g.takeAlong(x, c.g.sort(x, 0, false, dimsOf(x)[0]), 0));
}

/// Of sorted numbers the place of the middle one: those that are none come last. Of nothing but NaNs it is the first.
static Value middleOfNumbers(OpContext &c, Value x, int64_t axis) {
  Value isNumber = c.g.cast(c.g.compare(CompareKind::EQ, x, x), c.g.b.getI64Type());
  Value count = c.g.reduce(ReduceKind::Sum, isNumber, {axis}, true);
  return c.g.binary<MaxOp>(c.g.binary<DivOp>(c.g.binary<SubOp>(count, 1), 2), 0.0);
}

static llvm::Expected<Value> middleNumber(OpContext &c, Value x, int64_t axis) {
  Expr size = dimsOf(x)[axis];
  if (llvm::Error e = needElements(c, Expr(1), size))
    return std::move(e);
  return c.g.takeAlong(c.g.sort(x, axis, false, size), middleOfNumbers(c, x, axis), axis);
}

static llvm::Error middleOfAll(OpContext &c) {
  Value x = flattened(c, c.tensor("self"));
  Expr size = dimsOf(x)[0];
  if (llvm::Error e = needElements(c, Expr(1), size))
    return e;
  Value sorted = c.g.takeAlong(x, c.g.sort(x, 0, false, size), 0);
  return c.give(asResult(c, c.g.takeAlong(sorted, middleOfNumbers(c, x, 0), 0), 0));
}

/// Where, in sorted elements, the run of equal ones begins that each is of. Places of an order have 32 bits (needElements).
static Value beginsOfRuns(OpContext &c, Value sorted, Value at, int64_t axis, const Expr &rest) {
  auto &b = c.g.b;
  Value next = c.g.slice(sorted, axis, Expr(1), rest), before = c.g.slice(sorted, axis, Expr(0), rest);
  Value begins = c.g.compare(CompareKind::NE, next, before);
  SmallVector<Expr> low(typeOf(sorted).getRank(), Expr(0)), high = low;
  low[axis] = Expr(1);
  begins = b.create<PadOp>(c.g.loc, tensorType(dimsOf(sorted), elementOf(begins)), begins, c.g.scalar(0, elementOf(begins)), exprArray(b, low),
                           exprArray(b, high));
  return c.g.scan(ScanKind::Max, c.g.select(begins, at, c.g.splatLike(0, at)), axis);
}

/// The last place of a value along the axis; the first place of all where none equals it, as no NaN does.
static Value lastPlace(OpContext &c, Value x, Value value, int64_t axis) {
  Value at = c.g.iota(dimsOf(x), axis, c.g.b.getI64Type()), isThere = c.g.compare(CompareKind::EQ, x, c.g.broadcastTo(value, dimsOf(x)));
  return c.g.reduce(ReduceKind::Max, c.g.select(isThere, at, c.g.splatLike(0, at)), {axis}, true);
}

/// The smallest of the values that occur most often, and where it stands last: how far, among sorted values, each run of equal ones has come. Of nothing but NaNs
/// it is the first.
static llvm::Error mode(OpContext &c) {
  LATHE_TRY(axis, c.axis("dim", c.tensor("self")));
  Value x = atLeastOneDim(c, c.tensor("self"));
  Expr size = dimsOf(x)[axis], rest = c.g.facts.simplify(size - Expr(1));
  if (llvm::Error e = needElements(c, Expr(1), size))
    return e;
  Value sorted = c.g.takeAlong(x, c.g.sort(x, axis, false, size), axis), at = c.g.iota(dimsOf(x), axis, c.g.b.getIntegerType(32, /*isSigned=*/false));
  Value length = rest.isZero() ? at : c.g.sub(at, beginsOfRuns(c, sorted, at, axis, rest));
  Value most = c.g.broadcastTo(c.g.reduce(ReduceKind::Max, length, {axis}, true), dimsOf(x)), none = c.g.splatLike(UINT32_MAX, at);
  Value place = c.g.reduce(ReduceKind::Min, c.g.select(c.g.compare(CompareKind::EQ, length, most), at, none), {axis}, true);
  Value value = c.g.takeAlong(sorted, c.g.cast(place, c.g.b.getI64Type()), axis);
  return giveTaken(c, x, lastPlace(c, x, value, axis), axis);
}

/// All choices of r elements, in the order of their places.
static llvm::Error combinations(OpContext &c) {
  Value x = c.tensor("self");
  int64_t r = c.integer("r"), again = c.flag("with_replacement") ? 0 : 1;
  auto n = typeOf(x).getRank() == 1 ? dimsOf(x)[0].constant() : std::nullopt;
  if (!n || r < 0 || r > 16 || c.resultDims().empty())
    return c.cannot("choices of {0} of {1}", r, x.getType());
  if (r == 0)
    return c.give(c.g.splat(0, {Expr(0)}, elementOf(x)));
  SmallVector<int64_t> all, places(r);
  std::function<bool(int64_t, int64_t)> choose = [&](int64_t i, int64_t from) {
    if (i == r) {
      llvm::append_range(all, places);
      return all.size() < (size_t(1) << 20);
    }
    for (int64_t v = from; v < *n; ++v) {
      places[i] = v;
      if (!choose(i + 1, v + again))
        return false;
    }
    return true;
  };
  if (!choose(0, 0))
    return c.cannot("more than {0} numbers", all.size());
  Expr count(int64_t(all.size()) / r), named = c.resultDims()[0];
  Dims dims{count, Expr(r)};
  if (all.empty())
    return c.give(c.g.splat(0, c.resultDims(), elementOf(x)));
  Value rows = c.g.reshape(c.g.gather(x, c.g.integers(all), 0), dims);
  if (named.constant())
    return c.give(rows);
  // The file has a symbol for how many they are.
  if (llvm::Error e = c.bindSize(named, c.g.size(count)))
    return e;
  return c.give(c.g.gather(rows, c.g.iota({named}, 0, c.g.b.getI64Type()), 0));
}

llvm::ArrayRef<OpEntry> fx::sortOps() {
  static const OpEntry table[] = {
      {"sort.default", "self:T dim:I=-1 descending:B=false", sort},
      {"sort.stable", "self:T stable:B? dim:I=-1 descending:B=false", sort},
      {"argsort.default", "self:T dim:I=-1 descending:B=false", argsort},
      {"argsort.stable", "self:T stable:B? dim:I=-1 descending:B=false", argsort},
      {"topk.default", "self:T k:N dim:I=-1 largest:B=true sorted:B=true", topk},
      {"kthvalue.default", "self:T k:N dim:I=-1 keepdim:B=false", kthvalue},
      {"median.default", "self:T", medianOfAll},
      {"msort.default", "self:T", firstSorted},
      {"nanmedian.default", "self:T", middleOfAll},
      {"nanmedian.dim", "self:T dim:I keepdim:B=false", medianAlong<middleNumber>},
      {"mode.default", "self:T dim:I=-1 keepdim:B=false", mode},
      {"combinations.default", "self:T r:I=2 with_replacement:B=false", combinations},
      {"median.dim", "self:T dim:I keepdim:B=false", medianAlong<medianPlace>},
  };
  return table;
}
