//===- RowStretches.cpp - Rows in stretches of whole vectors ----------------===//
//
// Where a machine has no masks for a kernel's types (bytes with AVX2), a row whose elements are asked one by one which operand they come
// from, and what a row's last vector leaves over, would be scalar code. Instead a row is cut where the answers change. A concatenation and
// the border of a padding become stretches of plain copies. A masked store of AVX2 takes as long as a dozen others, so the rest of a plain row
// is a vector that overlaps the last one there as well.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"
#include "lathe/Lower/EmitExpr.h"
#include "lathe/Lower/JoinPieces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::AxisSet;
using lower::BodyEmitter;
using shape::Expr;

/// Fewer elements are no vector.
constexpr int64_t narrowest = 4;

/// Whole vectors, the last of which ends where the stretch does; narrower ones where it is shorter than that. Where masks have registers of their own,
/// a stretch of open length ends under one instead: what would ask for each width takes longer than a row of a few vectors.
void RowEmitter::stretch(Points &outer, AxisSet bound, const Group &group, Value from, Value to, std::optional<int64_t> length) {
  int64_t width = schedule.width, count = std::clamp<int64_t>(length.value_or(INT64_MAX) / width, 1, vectorsPerTrip(group));
  Value at = copyLong(outer, group, from, to, length);
  if (!length && schedule.maskedRest && f.isa.maskedBytes) {
    for (; count; count = count > 1 ? 1 : 0) {
      Value next = roundedEnd(at, to, width * count);
      laneTrips(outer, bound, group, at, next, count, width, {});
      at = next;
    }
    return laneTrips(outer, bound, group, at, to, 1, width, to);
  }
  for (; width >= narrowest; width /= 2, count = 1)
    if (length.value_or(width) >= width) {
      at = wholeVectors(outer, bound, group, from, at, to, count, width);
      if (length && (*length % width == 0 || !f.kernel->hasAttr("in_place")))
        return;
    }
  laneTrips(outer, bound, group, at, to, 1, 1, {});
}

/// Does a place come no later than another, whatever the sizes are?
static bool isOrdered(const Expr &first, const Expr &second) { return lower::isNonNegative(second - first); }

/// The places where the comparisons change, in order; nothing where that is not known, or where they are too many for the code.
std::optional<SmallVector<Expr>> RowEmitter::changesOf(ArrayRef<EdgeCompare> edges) const {
  SmallVector<Expr> places;
  for (const EdgeCompare &e : edges)
    if (Expr place = e.place(); !llvm::is_contained(places, place))
      places.push_back(place);
  if (!lower::canCutAt(places) || info.ops.size() > lower::largestCutBody)
    return std::nullopt;
  llvm::sort(places, [](const Expr &x, const Expr &y) { return x != y && isOrdered(x, y); });
  return places;
}

/// The row from change to change: between two of them no comparison is asked. A change may lie outside the row: what is asked of a border that a
/// slice has cut away.
void RowEmitter::fromChangeToChange(Points &outer, ArrayRef<EdgeCompare> edges, ArrayRef<Expr> changes, Value from, Value to, Stretch body) {
  Value at = from;
  for (size_t i = 0; i <= changes.size(); ++i) {
    Points inside(outer);
    Value next = to;
    for (const EdgeCompare &e : edges) {
      size_t change = llvm::find(changes, e.place()) - changes.begin();
      Value known = b.create<arith::ConstantOp>(loc, b.getBoolAttr((change < i) == e.low));
      for (BodyEmitter &point : inside)
        point.bindValue(e.op->getResult(0), known);
      if (change == i)
        next = b.create<arith::MinSIOp>(loc, b.create<arith::MaxSIOp>(loc, placeOf(outer[0], e), at), to);
    }
    body(inside, i, at, next);
    at = next;
  }
}

void RowEmitter::stretches(Points &outer, AxisSet bound, const Group &group, ArrayRef<EdgeCompare> edges, ArrayRef<Expr> changes, Value from,
                           Value to) {
  std::optional<int64_t> extent = schedule.laneBlock ? std::nullopt : info.extents[*schedule.lane].constant(), start = 0;
  auto within = [&](std::optional<int64_t> place) { return extent && place ? std::optional(std::clamp<int64_t>(*place, 0, *extent)) : std::nullopt; };
  fromChangeToChange(outer, edges, changes, from, to, [&](Points &inside, size_t i, Value at, Value next) {
    Expr first = i ? changes[i - 1] : Expr(0), behind = i < changes.size() ? changes[i] : info.extents[*schedule.lane];
    std::optional<int64_t> end = within(behind.constant());
    if ((behind - first).constant().value_or(narrowest) < narrowest) // of a border, whose sizes may be open: nothing is gathered
      laneTrips(inside, bound, group, at, next, 1, 1, {});
    else
      stretch(inside, bound, group, at, next, start && end ? std::optional(*end - *start) : std::nullopt);
    start = end;
  });
}

/// The longest stretch of a row, which is the same one in all of them.
Value RowEmitter::longestStretch(Points &outer, ArrayRef<EdgeCompare> edges, ArrayRef<Expr> changes, Value to) {
  Value longest = i64(0);
  fromChangeToChange(outer, edges, changes, i64(0), to, [&](Points &, size_t, Value at, Value next) {
    longest = b.create<arith::MaxSIOp>(loc, longest, b.create<arith::SubIOp>(loc, next, at));
  });
  return longest;
}

/// Rows whose stretches have at most a vector each: each under a mask, without a loop. The masks are the same in all rows, where a loop asks for each
/// stretch whether it has whole vectors, several of them, and a rest. (Of two vectors each, 17 and 16 elements took 1.11 of the time.)
void RowEmitter::maskedStretches(Points &outer, AxisSet bound, const Group &group, ArrayRef<EdgeCompare> edges, ArrayRef<Expr> changes, Value to) {
  fromChangeToChange(outer, edges, changes, i64(0), to, [&](Points &inside, size_t, Value at, Value next) {
    lanePoints(inside, bound, group, at, 1, schedule.width, laneMask(b.create<arith::SubIOp>(loc, next, at)));
  });
}

/// Stretches of open length may be shorter than what is asked to begin and end them, and end under masks, where there are. Where masks are vectors, it is so
/// for rows of one vector as a whole. (Of four vectors, rows of 50 in two pieces took 1.4 of the time, of 132 bytes 2.8.)
void RowEmitter::maskedOrStretches(Points &outer, AxisSet bound, const Group &group, ArrayRef<EdgeCompare> edges, ArrayRef<Expr> changes,
                                   Value from, Value to) {
  bool known = (changes.size() != 1 || changes[0].constant()) &&
               llvm::all_of(changes, [&](const Expr &place) { return (place - changes[0]).constant().has_value(); });
  auto loops = [&] { stretches(outer, bound, group, edges, changes, from, to); };
  if (known || !schedule.maskedRest)
    return loops();
  if (!f.isa.maskedBytes || !schedule.laneIsParallel)
    return maskedUpTo(schedule.width, outer, bound, group, from, to, loops);
  // A row in blocks is one block where its stretches are short.
  Value end = outer[0].emitExpr(info.extents[*schedule.lane]), longest = longestStretch(outer, edges, changes, end);
  either(isAtMost(longest, schedule.width), [&] { maskedStretches(outer, bound, group, edges, changes, end); }, loops);
}
