//===- Rows.h - How a row program runs through its axes --------------------===//
#ifndef LATHE_SCHEDULE_ROWS_H
#define LATHE_SCHEDULE_ROWS_H

#include "lathe/Lower/BodyInfo.h"
#include "lathe/Schedule/Machine.h"
#include "lathe/Schedule/ScheduleDialect.h"

namespace lathe::schedule {

/// Elements that lanes may lie apart and no further: whole vectors are read then, of which shuffles take one element each so many. Not more
/// than a vector has lanes.
constexpr int64_t widestStride = 8;
/// The same under a mask, which each of the vectors has a part of.
constexpr int64_t widestMaskedStride = 4;

/// Longer bodies have enough to do at one point.
constexpr unsigned heaviestJammed = 240;

/// Bytes that are copied by the C library's memcpy at least, where they lie side by side: it writes lines that lie beyond the second-level cache
/// without reading them. Shorter copies take as long or longer by a call (Zen 5: of 4 KB up to twice, of 8 KB 0.9 to 1.05, of 24 KB 0.6 to 1.0).
constexpr int64_t leastCopied = 8192;

/// The same in elements of what a kernel stores; 0: of less than a byte.
int64_t leastElementsCopied(const lower::BodyInfo &info);

/// A sum of at most so many instructions a vector waits for its additions: it has more of them on the way at once where rows have so many vectors
/// that what is left behind whole trips is little (Sapphire Rapids, from the second-level cache: 0.92 to 0.97 of the time).
constexpr unsigned lightestSum = 4;
constexpr int64_t lightSumUnroll = 8, longLightSum = 32;

/// The decisions of one row program. Axes are numbers of BodyInfo::axes.
struct RowSchedule {
  /// Axes that the parallel items run over (without the lane axis), outermost first.
  std::vector<unsigned> itemAxes;
  lower::AxisSet itemSet() const {
    lower::AxisSet set = 0;
    for (unsigned a : itemAxes)
      set |= lower::AxisSet(1) << a;
    return set;
  }
  /// The axis that vector lanes run along; nothing: scalar code.
  std::optional<unsigned> lane;
  /// The lane axis is free of reductions: items also split it, into blocks of this many elements (0: not split).
  bool laneIsParallel = false;
  int64_t laneBlock = 0;
  /// All axes in the order in which loops nest.
  std::vector<unsigned> order;
  unsigned width = 1;      ///< lanes
  unsigned unroll = 1;     ///< vectors per trip of the main loop
  unsigned exponentialUnroll = 1; ///< the same of loops in which exponentials are the only functions
  bool wholeTrips = false; ///< rows of open length are a whole number of trips of the main loop
  bool maskedRest = false; ///< the rest of a row runs under a mask, not as scalar code
  /// Vertical reductions: an item works on this many neighbours along this axis at once, so that what is loaded along the
  /// lanes serves all of them. Divides the axis's extent.
  std::optional<unsigned> jam;
  int64_t jamFactor = 1;
  /// The results' two innermost axes are the lanes' and the jammed one, all of whose points are worked on together: their vectors are
  /// interleaved and stored as one run.
  bool interleaves = false;
  /// Whole rows stay in registers: the row's static length, else 0.
  int64_t persist = 0;
  /// The same for rows of open length: at most so many vectors, of which the first `fullVectors` are whole; 0: no such rows.
  int64_t persistVectors = 0, fullVectors = 0;
};

/// What `asked` leaves open follows from the kernel and the machine. `facts`: what holds of the sizes where the schedule serves; an error
/// says what of `asked` is not proven to be right there.
llvm::Expected<RowSchedule> scheduleRows(const lower::BodyInfo &info, const Machine &machine, RowsAttr asked, const shape::Facts &facts);

/// Lanes along one axis while results lie side by side along a shorter one, of so many places.
struct Interleaving {
  unsigned lane, inner;
  int64_t places;
};
std::optional<Interleaving> interleavingOf(const lower::BodyInfo &info, const Machine &machine);
/// Sums down the columns of a large matrix read so many rows at a time, each from left to right: as many streams, which processors follow. Down a
/// stripe of a few vectors each row is another page; they do not look ahead from one to the next, and their tables of pages span 4 to 8 MB. The
/// columns' sums wait in scratch memory, so many bytes of them that the first cache holds them. Of fewer bytes than `leastBytesOfRows` stripes are as
/// fast or faster: Zen 3 from its caches up to 1.4 times, as each group of rows begins anew.
constexpr int64_t rowsTogether = 8, bytesOfSums = 16 << 10, leastBytesOfRows = 4 << 20, fewestBlocksOfRows = 2;
/// The axis that such sums go along, if the kernel has nothing else to do.
std::optional<unsigned> summedDown(const lower::BodyInfo &info, const RowSchedule &schedule);
/// Bytes of a sum that waits: halves add up in f32.
int64_t bytesOfSum(kernel::ReduceOp op);
/// Columns whose sums wait together.
int64_t columnsTogether(const lower::BodyInfo &info, const RowSchedule &schedule);
/// Axes that every store has and no reduction loses: each of their points is a piece of work on its own.
lower::AxisSet parallelAxes(const lower::BodyInfo &info);

/// How well accesses move along an axis: contiguous ones count for it, gathers against it. Elements in reverse order are no gathers, nor are small strides where nothing
/// is reduced.
int laneScore(const lower::BodyInfo &info, unsigned axis, bool reduces = true);
/// Whether what is left of a row behind whole vectors runs under a mask, not as scalar code.
bool masksRest(const lower::BodyInfo &info, unsigned lane, const Machine &machine);
/// Whether whole vectors of the type are read and written under masks.
bool masksElements(const Machine &machine, mlir::Type type);
/// Whether lanes read with gaps between them which no whole vectors under masks bridge: each of them is a load of its own then.
bool readsWithGaps(const lower::BodyInfo &info, unsigned lane, const Machine &machine);
/// How far an access moves along an axis; nothing where that is no number.
std::optional<int64_t> stepAlong(const lower::BodyInfo &info, mlir::Operation *access, unsigned axis);
/// Instructions of one point of an op, roughly.
unsigned weightOf(mlir::Operation *op);
/// Whether it becomes a polynomial or more (exp, tanh, sin).
bool isFunction(mlir::Operation *op);
/// The type that a load or a store moves.
mlir::Type accessedType(mlir::Operation *op);

} // namespace lathe::schedule

#endif // LATHE_SCHEDULE_ROWS_H
