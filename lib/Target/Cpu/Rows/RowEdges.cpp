//===- RowEdges.cpp - The interior of a row, and its ends ------------------===//
//
// Padding makes every load of a window a predicated one, though nearly all of a row lies where no predicate fails.
// There the row is computed without them, and its ends as they are.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"
#include "lathe/Lower/BodySlices.h"
#include "lathe/Schedule/Rows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::AxisSet;
using lower::BodyEmitter;
using shape::Expr;

/// Neighbours that are worked on together differ in their places.
std::vector<EdgeCompare> RowEmitter::rowEdges(AxisSet bound) const {
  std::vector<EdgeCompare> edges = edgeCompares(info, *schedule.lane, bound);
  llvm::erase_if(edges, [&](const EdgeCompare &e) { return schedule.jam && has(info.axesOf(e.op->getResult(0)), *schedule.jam); });
  return edges;
}

/// The first place of the row where it holds (a low one), or fails (a high one).
Value RowEmitter::placeOf(const BodyEmitter &outer, const EdgeCompare &e) {
  BodyEmitter point = outer;
  Value limit = point.emit(e.op->getOperand(1)), rest = point.emitExpr(e.rest);
  return b.create<arith::CeilDivSIOp>(loc, b.create<arith::SubIOp>(loc, limit, rest), i64(e.step));
}

/// Where all of them hold, [begin, end) of the row: there nothing of the lane is asked any more.
std::pair<Value, Value> RowEmitter::interior(BodyEmitter &outer, ArrayRef<EdgeCompare> edges, Value from, Value to) {
  Value begin = from, end = to;
  for (const EdgeCompare &e : edges) {
    Value place = placeOf(outer, e);
    if (e.low)
      begin = b.create<arith::MaxSIOp>(loc, begin, place);
    else
      end = b.create<arith::MinSIOp>(loc, end, place);
  }
  begin = b.create<arith::MinSIOp>(loc, begin, to);
  return {begin, b.create<arith::MaxSIOp>(loc, begin, end)};
}

/// Do windows step along the lane? A mask is split then for the vectors that each load reads, which takes longer than the loads.
static bool splitsMasks(const lower::BodyInfo &info, unsigned lane) {
  return llvm::any_of(info.ops, [&](Operation *op) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    return load && load.getPredicate() && schedule::stepAlong(info, op, lane).value_or(1) > 1;
  });
}

/// The longest row that runs under masks as a whole: two ends under masks are more than a few vectors that all have some. 0: no row does.
int64_t RowEmitter::longestMasked() const {
  int64_t mostVectors = splitsMasks(info, *schedule.lane) ? 2 : 4;
  return schedule.maskedRest && !schedule::readsWithGaps(info, *schedule.lane, f.isa) ? mostVectors * schedule.width : 0;
}

/// Places that exclude each other, as those of a concatenation do.
bool RowEmitter::excludeEachOther(ArrayRef<EdgeCompare> edges) {
  for (const EdgeCompare &low : edges)
    for (const EdgeCompare &high : edges)
      if (low.low && !high.low && low.step == high.step &&
          (high.limit - high.rest - low.limit + low.rest).constant().value_or(1) <= 0)
        return true;
  return false;
}

/// Few loads under predicates are not worth the code, nor is a row that no vector fits into, nor places that exclude
/// each other, as those of a concatenation do.
bool RowEmitter::worthPeeling(ArrayRef<EdgeCompare> edges) const {
  auto predicated = llvm::count_if(info.ops, [](Operation *op) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    return load && load.getPredicate();
  });
  int64_t length = info.extents[*schedule.lane].constant().value_or(INT64_MAX);
  return !edges.empty() && predicated >= 2 && length > std::max<int64_t>(schedule.width, longestMasked()) && !excludeEachOther(edges);
}

/// Whole vectors from `at` on, and one that ends where they do for what they leave over (computing an element again gives the same).
/// Where they end.
Value RowEmitter::wholeVectors(Points &inside, AxisSet bound, const Group &group, Value begin, Value at, Value end, unsigned count,
                               unsigned width) {
  for (; count; count = count > 1 ? 1 : 0) {
    Value next = roundedEnd(at, end, width * count);
    laneTrips(inside, bound, group, at, next, count, width, {});
    at = next;
  }
  if (f.kernel->hasAttr("in_place"))
    return at;
  Value left = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, at, end);
  Value room = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, b.create<arith::SubIOp>(loc, end, begin), i64(width));
  Value overlaps = b.create<arith::AndIOp>(loc, left, room);
  Value first = b.create<arith::SelectOp>(loc, overlaps, b.create<arith::SubIOp>(loc, end, i64(width)), end);
  laneTrips(inside, bound, group, first, end, 1, width, {});
  return b.create<arith::SelectOp>(loc, overlaps, end, at);
}

/// A row of open length, which may be short.
void RowEmitter::maskedOrEdged(Points &outer, AxisSet bound, const Group &group, ArrayRef<EdgeCompare> edges, Value from, Value to) {
  int64_t longest = longestMasked();
  if (!longest || info.extents[*schedule.lane].constant())
    return edgedLoop(outer, bound, group, edges, from, to);
  maskedUpTo(longest, outer, bound, group, from, to, [&] { edgedLoop(outer, bound, group, edges, from, to); });
}

/// A row of at most so many elements runs under masks, a longer one as `otherwise` says.
void RowEmitter::maskedUpTo(int64_t longest, Points &outer, AxisSet bound, const Group &group, Value from, Value to,
                            llvm::function_ref<void()> otherwise) {
  either(isAtMost(b.create<arith::SubIOp>(loc, to, from), longest), [&] { laneTrips(outer, bound, group, from, to, 1, schedule.width, to); }, otherwise);
}

/// Both ends of the row, where some of the comparisons may fail, and between them what they all hold for. A row that is too short
/// for a vector there is tried with shorter ones.
void RowEmitter::edgedLoop(Points &outer, AxisSet bound, const Group &group, ArrayRef<EdgeCompare> edges, Value from,
                           Value to) {
  bool gaps = schedule::readsWithGaps(info, *schedule.lane, f.isa), masked = schedule.maskedRest && !gaps;
  auto edge = [&](Value first, Value last) {
    laneTrips(outer, bound, group, first, last, 1, masked ? schedule.width : 1, masked ? last : Value());
  };
  auto [begin, end] = interior(outer[0], edges, from, to);
  edge(from, begin);
  Points inside(outer);
  Value yes = b.create<arith::ConstantOp>(loc, b.getBoolAttr(true));
  for (BodyEmitter &point : inside)
    for (const EdgeCompare &e : edges)
      point.bindValue(e.op->getResult(0), yes);
  Value at = copyLong(inside, group, begin, end, std::nullopt);
  at = wholeVectors(inside, bound, group, begin, at, end, vectorsPerTrip(group), schedule.width);
  constexpr unsigned shortest = 4;
  for (unsigned width = schedule.width / 2; gaps && width >= shortest; width /= 2)
    at = wholeVectors(inside, bound, group, begin, at, end, 1, width);
  edge(at, to);
}
