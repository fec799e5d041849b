//===- RowEmitter.h - Emits the loop nest of a row program -----------------===//
//
// A row program runs goals: every store, and every reduction that a store needs. A scope is a point in the loop nest with
// some axes bound. At a scope, reductions whose axes are all bound become goals of it (they are computed here, once);
// the others are left to the scopes inside. Goals without remaining axes are emitted, the others are grouped by their next
// axis into one loop per group, in the order that their dependences demand. So several reductions at several depths share
// loops where they can, and a reduction that fits nowhere is recomputed where it is used: slow, but right.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CPU_ROWEMITTER_H
#define LATHE_TARGET_CPU_ROWEMITTER_H

#include "EdgeCompares.h"
#include "RowSchedule.h"
#include "lathe/Lower/BodyEmitter.h"

namespace lathe::cpu {

/// A store, or a reduction, and the axes that are yet to be looped over.
struct Goal {
  mlir::Operation *op;
  lower::AxisSet remaining;
};

/// Points that are emitted together: one outside of the lane loop (or the neighbours of a jammed axis), the vectors of one
/// trip inside.
using Points = llvm::SmallVector<lower::BodyEmitter, 4>;

class RowEmitter {
public:
  RowEmitter(KernelFunction &f, const RowSchedule &schedule);
  /// Emits the whole function body. The first error that the body emitter met, or success.
  llvm::Error run();
  /// Bytes of scratch memory that the emitted code uses, per thread.
  shape::Expr scratchBytes() const { return scratch; }

private:
  /// Terms of a block of a long sum, and the fewest for which a block is worth its addition.
  static constexpr int64_t sumBlock = 128, shortSum = 32;
  /// The running value of a reduction: one part per vector in flight, plus a scalar for rows' ends without masks.
  struct Accumulator {
    llvm::SmallVector<mlir::Value> parts;
    mlir::Value scalar;
    bool acrossLanes;
  };
  /// A value kept in the scratch row between two passes over a row.
  struct Cached {
    mlir::Value value;
    shape::Expr offset;      ///< bytes of scratch memory
    kernel::StoreOp inResult; ///< or it lies where this op stores its own value in the pass that reads it,
    bool sometimes = false;   ///< as a run finds: where the row is long, or the only one
  };
  struct Group {
    std::vector<Goal> goals;
    std::optional<unsigned> axis;
  };

  struct Outdated {
    std::vector<mlir::Operation *> reductions;
    std::vector<Cached> cached;
  };

  // RowEmitter.cpp: scopes.
  void collectNeeds();
  void scope(Points &points, lower::AxisSet bound, std::vector<Goal> goals);
  std::vector<Goal> goalsOf(Points &points, lower::AxisSet bound, llvm::ArrayRef<Goal> given);
  std::vector<Group> groupsOf(llvm::ArrayRef<Goal> goals);
  std::set<unsigned> reachOf(mlir::Operation *op) const;
  Outdated hideOutdated(lower::AxisSet bound, unsigned axis);
  void emitLeaf(Points &points, const Goal &goal);
  void accumulate(Points &points, kernel::ReduceOp op);
  /// Half types accumulate in f32.
  static mlir::Type accumulatorType(mlir::Type element);
  static mlir::Type vectorOf(unsigned width, mlir::Type element);
  void start(Points &points, kernel::ReduceOp op);
  void finish(Points &points, kernel::ReduceOp op);
  std::optional<unsigned> nextAxis(lower::AxisSet remaining) const;

  // RowLoops.cpp: loops.
  void itemLoop(lower::BodyEmitter &outer, std::vector<Goal> goals);
  llvm::SmallVector<mlir::Value> firstItem(lower::BodyEmitter &outer, llvm::ArrayRef<mlir::Value> extents);
  void axisLoop(Points &points, lower::AxisSet bound, const Group &group);
  void tripsOf(Points &points, lower::AxisSet bound, const Group &group);
  void laneLoop(Points &outer, lower::AxisSet bound, const Group &group, Points &persistent);
  void rowOf(Points &outer, lower::AxisSet bound, const Group &group);
  /// Vectors of a trip along the lanes: fewer where this pass computes exponentials and no other function. What an earlier pass has kept
  /// is not computed.
  unsigned vectorsPerTrip(const Group &group) const;
  /// Of so many terms, a sum of which no loop carries what was before.
  bool isLongSum(kernel::ReduceOp sum, int64_t terms) const { return addsFloats(sum) && terms >= 2 * sumBlock; }
  bool addsFloats(kernel::ReduceOp sum) const {
    return sum.getKind() == kernel::Combiner::Add && mlir::isa<mlir::FloatType>(sum.getType()) && !reducesLane(sum);
  }
  std::vector<mlir::Operation *> sumsInBlocks(const Group &group) const;
  void blockOfSums(llvm::ArrayRef<mlir::Operation *> sums, llvm::function_ref<void()> body);
  mlir::Value roundedEnd(mlir::Value from, mlir::Value to, int64_t step);

  // RowCases.cpp: rows that are one of several as a whole.
  std::vector<mlir::Value> caseConditions(lower::AxisSet bound, const Group &group) const;
  void cases(Points &outer, llvm::ArrayRef<mlir::Value> conditions, llvm::function_ref<void(Points &)> row);

  // RowEdges.cpp: rows of which the ends alone need predicates.
  int64_t longestMasked() const;
  static bool excludeEachOther(llvm::ArrayRef<EdgeCompare> edges);
  bool worthPeeling(llvm::ArrayRef<EdgeCompare> edges) const;
  void maskedUpTo(int64_t longest, Points &outer, lower::AxisSet bound, const Group &group, mlir::Value from, mlir::Value to,
                  llvm::function_ref<void()> otherwise);
  void maskedOrEdged(Points &outer, lower::AxisSet bound, const Group &group, llvm::ArrayRef<EdgeCompare> edges, mlir::Value from, mlir::Value to);
  std::vector<EdgeCompare> rowEdges(lower::AxisSet bound) const;
  mlir::Value placeOf(const lower::BodyEmitter &outer, const EdgeCompare &e);
  std::pair<mlir::Value, mlir::Value> interior(lower::BodyEmitter &outer, llvm::ArrayRef<EdgeCompare> edges, mlir::Value from, mlir::Value to);
  mlir::Value wholeVectors(Points &inside, lower::AxisSet bound, const Group &group, mlir::Value begin, mlir::Value at, mlir::Value end,
                           unsigned count, unsigned width);
  void edgedLoop(Points &outer, lower::AxisSet bound, const Group &group, llvm::ArrayRef<EdgeCompare> edges, mlir::Value from, mlir::Value to);

  // RowColumns.cpp: sums down columns, several rows at a time.
  struct Region {
    kernel::ReduceOp op;
    mlir::Value total, block; ///< scratch memory for the columns of a part; the second one for sums in blocks
  };
  using Lanes = llvm::function_ref<void(Points &points, mlir::Value column)>;
  void itemsOrRows(lower::BodyEmitter &outer, llvm::ArrayRef<Goal> stores);
  mlir::Value goesByRows(lower::BodyEmitter &outer);
  void rowsOfItems(lower::BodyEmitter &outer, unsigned axis, llvm::ArrayRef<Goal> stores);
  void partOfColumns(Points &item, lower::AxisSet bound, unsigned axis, llvm::ArrayRef<Goal> stores, mlir::Value from, mlir::Value to);
  std::vector<Region> regionsFor(llvm::ArrayRef<Goal> sums, unsigned axis);
  void someRows(Points &item, lower::AxisSet bound, const Group &rows, llvm::ArrayRef<Region> regions, mlir::Value from, mlir::Value to,
                mlir::Value first, mlir::Value last);
  void acrossColumns(Points &item, mlir::Value from, mlir::Value to, unsigned vectors, Lanes body);
  void eachVector(mlir::Value from, mlir::Value to, llvm::function_ref<void(mlir::Value)> body);
  void loadSums(Points &points, const Region &region, mlir::Value memory, mlir::Value column);
  void storeSums(const Region &region, mlir::Value memory, mlir::Value column);

  // RowCopies.cpp: stretches that are copied as they are.
  kernel::LoadOp copied(const Points &outer, const Group &group) const;
  bool hasLongRows() const;
  mlir::Value copyLong(Points &outer, const Group &group, mlir::Value from, mlir::Value to, std::optional<int64_t> length);

  // RowStretches.cpp: rows without masks.
  std::optional<llvm::SmallVector<shape::Expr>> changesOf(llvm::ArrayRef<EdgeCompare> edges) const;
  void stretch(Points &outer, lower::AxisSet bound, const Group &group, mlir::Value from, mlir::Value to, std::optional<int64_t> length);
  using Stretch = llvm::function_ref<void(Points &inside, size_t number, mlir::Value from, mlir::Value to)>;
  void fromChangeToChange(Points &outer, llvm::ArrayRef<EdgeCompare> edges, llvm::ArrayRef<shape::Expr> changes, mlir::Value from, mlir::Value to, Stretch body);
  mlir::Value longestStretch(Points &outer, llvm::ArrayRef<EdgeCompare> edges, llvm::ArrayRef<shape::Expr> changes, mlir::Value to);
  void maskedStretches(Points &outer, lower::AxisSet bound, const Group &group, llvm::ArrayRef<EdgeCompare> edges, llvm::ArrayRef<shape::Expr> changes,
                       mlir::Value to);
  void stretches(Points &outer, lower::AxisSet bound, const Group &group, llvm::ArrayRef<EdgeCompare> edges, llvm::ArrayRef<shape::Expr> changes,
                 mlir::Value from, mlir::Value to);
  void maskedOrStretches(Points &outer, lower::AxisSet bound, const Group &group, llvm::ArrayRef<EdgeCompare> edges, llvm::ArrayRef<shape::Expr> changes,
                         mlir::Value from, mlir::Value to);
  bool persists() const { return schedule.persist || schedule.persistVectors; }
  void addRowOf(lower::BodyEmitter &outer, Points &persistent, int64_t length);
  void addOpenRow(lower::BodyEmitter &outer, Points &persistent);
  void persistentLanes(lower::BodyEmitter &outer, lower::AxisSet bound, const Group &group, Points &persistent);
  // RowInterleave.cpp: results of which two axes are one run.
  void storeInterleaved(llvm::MutableArrayRef<lower::BodyEmitter> neighbours, kernel::StoreOp store);
  void shareAmongJammed(llvm::MutableArrayRef<lower::BodyEmitter> neighbours, const Group &group);
  void lanePoints(Points &outer, lower::AxisSet bound, const Group &group, mlir::Value base, unsigned count,
                  unsigned width, mlir::Value mask);
  void laneTrips(Points &outer, lower::AxisSet bound, const Group &group, mlir::Value from, mlir::Value to,
                 unsigned count, unsigned width, mlir::Value limit);
  mlir::Value laneMask(mlir::Value left);
  mlir::Operation *forLoop(mlir::Value from, mlir::Value to, int64_t step, llvm::ArrayRef<Goal> goals,
                           llvm::function_ref<void(mlir::Value)> body);
  void hoist(Points &points, lower::AxisSet bound, llvm::ArrayRef<Goal> goals);

  // RowCache.cpp: values kept between passes.
  void keepInvariants(Points &points, lower::AxisSet bound, const Group &group);
  std::vector<mlir::Value> valuesToKeep(lower::AxisSet bound, const Group &now, llvm::ArrayRef<Group> later);
  void keep(llvm::ArrayRef<mlir::Value> values, llvm::ArrayRef<Group> later = {});
  bool isOneRow() const { return schedule.itemAxes.empty() && !schedule.laneBlock; }
  kernel::StoreOp resultFor(mlir::Value value, llvm::ArrayRef<Group> later) const;
  mlir::Value cachePointer(lower::BodyEmitter &point, const Cached &cached);
  void loadCached(lower::BodyEmitter &point);
  void storeCached(lower::BodyEmitter &point);
  bool isBesides(kernel::LoadOp a, kernel::LoadOp b) const;
  void requestAhead(Points &row);
  mlir::Value requestedFrom(lower::BodyEmitter &point, mlir::Value from, mlir::Value to);
  void requestShared(Points &points);
  void longTrips(Points &outer, lower::AxisSet bound, const Group &group, mlir::Value from, mlir::Value to, unsigned vectors);
  bool readsOnce() const;
  bool asksWhereShared() const;
  shape::Expr bytesRead() const;
  mlir::Value isMore(mlir::Value x, mlir::Value y);
  mlir::Value isLongOrAlone(lower::BodyEmitter &point, mlir::Value value);
  mlir::Value isAtMost(mlir::Value x, int64_t y);
  void either(mlir::Value condition, llvm::function_ref<void()> body, llvm::function_ref<void()> otherwise = nullptr);
  void requestPredicated(lower::BodyEmitter &point);
  void requestBehind(lower::BodyEmitter &point, kernel::LoadOp load, mlir::Value bytes);
  void requestRow(lower::BodyEmitter &point, int64_t rows, int64_t least = 0, int64_t most = INT64_MAX);
  /// Whether the access is a plain one, or one under a predicate, to elements side by side along the lane, and the point says all that its
  /// address needs.
  bool isRunAt(mlir::Operation *access, const lower::BodyEmitter &point, bool predicated = false) const;
  void requestResultsOf(Points &row);
  void request(mlir::Value place, bool writes);
  void requestResults(lower::BodyEmitter &point, mlir::Value when = {});
  mlir::Value rowOf(lower::BodyEmitter point, kernel::StoreOp store);
  /// Ops between the goals and what is bound: what a pass computes. Not beyond reductions that are available.
  llvm::DenseSet<mlir::Operation *> sliceOf(llvm::ArrayRef<Goal> goals, bool throughReductions) const;

  /// True when points that are emitted together have values of their own.
  bool differs(const Points &points, mlir::Value v) const {
    return points[0].variesInLanes(v) || (schedule.jam && points.size() > 1 && has(info.axesOf(v), *schedule.jam));
  }
  bool has(lower::AxisSet set, unsigned axis) const { return set >> axis & 1; }
  bool reducesLane(kernel::ReduceOp op) const {
    return schedule.lane && schedule.width > 1 && has(info.axesOf(op.getAxes()), *schedule.lane);
  }
  mlir::Value i64(int64_t v) { return lower::constantI64(b, loc, v); }

  KernelFunction &f;
  const lower::BodyInfo &info;
  RowSchedule schedule;
  mlir::OpBuilder &b;
  mlir::Location loc;
  shape::Expr scratch = 0;
  /// Reductions that an op needs directly, through elementwise ops only (positions in the body).
  llvm::DenseMap<mlir::Operation *, std::set<unsigned>> needs;
  llvm::DenseMap<mlir::Operation *, Accumulator> accumulators;
  llvm::DenseSet<mlir::Operation *> available; ///< finished reductions, valid at the current scope
  mlir::Value blockFrom, blockTo; ///< the item's part of the lane axis
  std::vector<Cached> cached;     ///< what earlier passes of the current scope left
  std::vector<mlir::Value> keeping;
  bool asking = false;          ///< in a loop that asks for what it will read
  bool underPredicates = false; ///< in a loop whose vectors may each lie partly outside of what is read
  int64_t unrolled = 1; ///< trips of enclosing loops that are written out
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_ROWEMITTER_H
