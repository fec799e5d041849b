//===- Strips.h - Neighbours along a line whose windows overlap ------------===//
//
// A pool or a depthwise convolution reads an element once for each place of the window that finds it. A thread that computes several
// neighbours along a line, a strip, reads it once: what its points read lies at distances that are known, whatever the place of the strip, so
// an element is named by its distance, and elements side by side are read together.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_SCHEDULE_STRIPS_H
#define LATHE_SCHEDULE_STRIPS_H

#include "lathe/Lower/Divisibility.h"
#include "lathe/Lower/RowLevels.h"
#include "lathe/Schedule/Predicate.h"

namespace lathe::schedule {

using lower::AxisSet;

/// Threads that fill a device: with fewer, what one thread takes counts.
constexpr int64_t stripThreadsOfDevice = 1 << 16;

struct Strip {
  unsigned axis = 0;   ///< of the rows
  unsigned points = 0; ///< 0: no strip
  AxisSet written = 0; ///< axes of the window that are written out; the others are loops
  explicit operator bool() const { return points != 0; }
};

/// Elements of an operand that the points of a strip read: their distances from `base`, in which the strip's axis stands for its number, and axes that are
/// written out are 0.
struct StripRun {
  unsigned operand = 0;
  shape::Expr base;
  llvm::SmallVector<mlir::Value> indices; ///< computed ones in `base`, the same at all points
  std::set<int64_t> places;
  std::vector<std::set<int64_t>> ofPoint; ///< those of each point; one set where points read the same
  bool guarded = false; ///< some load is of a predicate: its element may lie outside
};

/// Elements side by side that one access reads.
struct StripPiece {
  int64_t first;
  unsigned width;
};

/// What the points of a strip read at known distances.
class StripReads {
public:
  /// `lane`: the axis along which accesses are `width` wide, if they are.
  StripReads(const lower::BodyInfo &info, const Strip &strip, const lower::Divisibility &known, int lane, unsigned width);

  const std::vector<StripRun> &all() const { return runs; }
  /// The run that the load is of; nothing where it is read as any other.
  std::optional<unsigned> runOf(mlir::Operation *load) const;
  /// Where a load reads at a point of the strip and these places along the axes (of which those that are written out count).
  int64_t placeOf(mlir::Operation *load, unsigned point, llvm::ArrayRef<int64_t> taps) const;
  /// The accesses that bring a run's elements: of lanes, one for each place, else of as many neighbours as are wanted together.
  std::vector<StripPiece> piecesOf(const StripRun &run) const;
  /// How often an element is read that another point of the strip reads, too.
  int64_t readAgain() const { return again; }

private:
  struct Distances {
    unsigned run;
    int64_t first, apart;            ///< at the first point and taps; from point to point
    std::vector<int64_t> steps;      ///< along each axis that is written out
  };
  void add(kernel::LoadOp load);
  const lower::BodyInfo &info;
  Strip strip;
  const lower::Divisibility &known;
  int lane;
  unsigned width;
  int64_t again = 0;
  std::vector<StripRun> runs;
  llvm::DenseMap<mlir::Operation *, Distances> loads;
};

/// The offset of an access where the axis of strips stands for a strip's number, and axes that are written out are 0.
shape::Expr offsetInStrip(const lower::BodyInfo &info, mlir::Operation *access, const Strip &strip);
/// How far an access goes from one place along the axis to the next; nothing where that is no number.
std::optional<int64_t> stepAlong(const lower::BodyInfo &info, const shape::Expr &offset, unsigned axis);
/// An expression without its constant, and the constant.
std::pair<shape::Expr, int64_t> splitConstant(const shape::Expr &e);
/// All places along the axes that are written out, the last axis fastest: a number for each axis of the kernel.
std::vector<llvm::SmallVector<int64_t>> tapsOf(const lower::BodyInfo &info, const Strip &strip);
/// How many strips a line has.
shape::Expr stripsAlong(const lower::BodyInfo &info, const Strip &strip);

/// The strip that takes the least time, or the one of so many points; none where windows do not overlap, or rows are no such windows.
Strip chooseStrip(const lower::BodyInfo &info, const lower::RowSection &section, const lower::Divisibility &known, int lane, unsigned width,
                  int64_t asked);
/// Whether points along the axis find elements side by side at a place that is computed, in the same way for all of them.
bool gathersAlong(const lower::BodyInfo &info, unsigned axis);
/// What has to hold of sizes for strips along the axis: no operand that is read at known distances is empty, and these fit into 32 bits.
Predicate needsOfStrip(const lower::BodyInfo &info, unsigned axis);

} // namespace lathe::schedule

#endif // LATHE_SCHEDULE_STRIPS_H
