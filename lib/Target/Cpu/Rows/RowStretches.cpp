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

/// The row from change to change: between two of them no comparison is asked.
void RowEmitter::stretches(Points &outer, AxisSet bound, const Group &group, ArrayRef<EdgeCompare> edges, ArrayRef<Expr> changes, Value from,
                           Value to) {
  std::optional<int64_t> extent = schedule.laneBlock ? std::nullopt : info.extents[*schedule.lane].constant(), start = 0;
  // A change may lie outside the row: what is asked of a border that a slice has cut away.
  auto within = [&](std::optional<int64_t> place) { return extent && place ? std::optional(std::clamp<int64_t>(*place, 0, *extent)) : std::nullopt; };
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
    Expr first = i ? changes[i - 1] : Expr(0), behind = i < changes.size() ? changes[i] : info.extents[*schedule.lane];
    std::optional<int64_t> end = within(behind.constant());
    if ((behind - first).constant().value_or(narrowest) < narrowest) // of a border, whose sizes may be open: nothing is gathered
      laneTrips(inside, bound, group, at, next, 1, 1, {});
    else
      stretch(inside, bound, group, at, next, start && end ? std::optional(*end - *start) : std::nullopt);
    start = end;
    at = next;
  }
}

/// Stretches of open length may be shorter than what is asked to begin and end them: a row of one vector runs under masks, where there are. (Of four
/// vectors, rows of 50 in two pieces took 1.4 of the time, of 132 bytes 2.8.)
void RowEmitter::maskedOrStretches(Points &outer, AxisSet bound, const Group &group, ArrayRef<EdgeCompare> edges, ArrayRef<Expr> changes,
                                   Value from, Value to) {
  constexpr int64_t mostVectors = 1;
  bool known = (changes.size() != 1 || changes[0].constant()) &&
               llvm::all_of(changes, [&](const Expr &place) { return (place - changes[0]).constant().has_value(); });
  if (known || !schedule.maskedRest)
    return stretches(outer, bound, group, edges, changes, from, to);
  maskedUpTo(mostVectors * schedule.width, outer, bound, group, from, to, [&] { stretches(outer, bound, group, edges, changes, from, to); });
}
