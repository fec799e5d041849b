//===- RowEmitter.h - The body of a row program ----------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_ROWEMITTER_H
#define LATHE_LIB_TARGET_CUDA_ROWEMITTER_H

#include "../Generator.h"
#include "Cluster.h"
#include "lathe/Schedule/ThreadRows.h"

namespace lathe::cuda {

using lower::AxisSet;

/// Binds the axes of a set, flattened with the lane axis fastest, to what an index (i64) says.
void bindFlattened(lower::BodyEmitter &point, KernelFrame &frame, const schedule::ThreadRows &s, AxisSet set, Value index);

/// Emits one section of a row program: stores (and the reductions they need) over one set of rows.
///
/// Reductions whose result is one value per row are computed by the row's unit together, in levels: those of a level share
/// their loops, and so do the stores that need nothing later. Every other root value (a reduction to inner axes, a
/// contraction, an attention) is computed by the thread that needs it, where it needs it.
class RowEmitter : public EntryEmitter {
public:
  RowEmitter(KernelFrame &frame, const schedule::ThreadRows &schedule, lower::RowAxes axes, llvm::ArrayRef<mlir::Operation *> roots);
  void emit();

private:
  struct Chunk {
    lower::BodyEmitter point;
    Value ok;         ///< null: in range
    Value index = {}; ///< i64, of rows that are kept
  };
  /// A reduction that is done, of the points of some axes: what the thread's elements come to, and all.
  struct Found {
    Value own, all;
    AxisSet inner;
    bool back; ///< the pass began at the end
  };

  void emitLoop();
  void emitRest();
  Value bindThread();
  void bindRow(Value row);
  void emitPasses(const std::vector<std::vector<lower::RowPass>> &levels);
  void emitKept();
  void emitPass(const lower::RowPass &pass);
  void addOpenChunks(AxisSet inner, std::vector<Chunk> &points);
  void persistentPass(const lower::RowPass &pass, std::vector<Values> &partials);
  void beginKept();
  bool comesByItself(kernel::LoadOp load);
  void request(kernel::LoadOp load, lower::BodyEmitter &point, Value slot);
  void requestRow();
  void requestNext(const lower::RowPass &pass, llvm::ArrayRef<Chunk> points, Value slot);
  void awaitKept();
  llvm::SmallPtrSet<mlir::Operation *, 16> neededBy(const lower::RowPass &pass);
  void findLastReads(const std::vector<std::vector<lower::RowPass>> &levels);
  Values keptPass(const lower::RowPass &pass, Values sums);
  void visitKept(const lower::RowPass &pass, const llvm::SmallPtrSetImpl<mlir::Operation *> &needed, llvm::MutableArrayRef<Chunk> points, Value slot,
                 Values &sums);
  Value placeOf(unsigned load, Value slot);
  Value hasExtremum(const Found &extremum);
  Value comesAgain(const lower::RowPass &pass, Values &sums, bool &turned);
  void loopedPass(const lower::RowPass &pass, std::vector<Values> &partials);
  lower::BodyEmitter pointAt(AxisSet inner, Value chunk) { return pointOf(base, inner, chunk); }
  lower::BodyEmitter pointOf(const lower::BodyEmitter &row, AxisSet inner, Value chunk);
  void emitRoot(mlir::Operation *root, lower::BodyEmitter &point, Value ok, Value *accumulator);
  void storeAtRow(llvm::ArrayRef<mlir::Operation *> stores);
  void storeAt(kernel::StoreOp store, Value v, const lower::BodyEmitter &point, Value ok);
  Value finish(kernel::ReduceOp reduce, Value partial);
  Value meetingPlace(Type stored, unsigned count);
  Value behindKept(unsigned words);
  Value combineInBlock(kernel::Combiner kind, Value partial);
  Value combineInCluster(kernel::Combiner kind, Value own);
  Value combineInGrid(kernel::ReduceOp reduce, Value partial);
  Value inColumns(kernel::Combiner kind, Value partial);
  void eachValue(unsigned values, llvm::function_ref<void(Value)> f);
  void columnsOfCluster(kernel::Combiner kind, Type element, Value array, unsigned values);
  Values walk(const lower::RowPass &pass, Value from, Value step, Values sums, unsigned ahead);

  void bindRoots(lower::BodyEmitter &point, mlir::Operation *user, unsigned depth = 0);
  Value serial(lower::BodyEmitter &point, mlir::Operation *root, unsigned depth);
  Value serialLoop(lower::BodyEmitter &point, AxisSet axes, Value init,
                   llvm::function_ref<Value(lower::BodyEmitter &, Value)> body);
  Value serialContract(lower::BodyEmitter &point, kernel::ContractOp op);
  Value serialAttention(lower::BodyEmitter &point, kernel::AttentionOp op, unsigned depth);
  Value loadAt(lower::BodyEmitter &point, Value ref, const shape::Expr &offset);
  lower::BodyEmitter atResult(lower::BodyEmitter &point, mlir::Value result);

  Value chunksOf(AxisSet inner); ///< i64
  bool laneIn(AxisSet set) const { return lower::contains(set, s.lane); }
  Type accumulatorType(kernel::ReduceOp op, AxisSet inner);

  schedule::ThreadRows s;
  lower::RowAxes axes;
  std::vector<mlir::Operation *> roots;
  Value inUnit, rowInBlock, rowOk;
  Value inBlock, sharers, unit; ///< i32: the thread's number among those of a row in its block; blocks that share a row, by way of memory or in a cluster; i64: their threads
  int64_t waits = 0;            ///< for other blocks, so far
  Value place;                  ///< in shared memory, of blocks that share rows
  std::map<AxisSet, std::vector<Chunk>> chunks; ///< persistent points, by their axes
  llvm::DenseMap<mlir::Operation *, Found> found; ///< where each pass goes through memory
  bool back = false; ///< this pass begins at the end
  unsigned sharedSlots = 0, clusterWords = 0;
  std::optional<ClusterExchange> exchange; ///< of blocks that share a row
  Value keptBase, keptSlots;             ///< shared memory for what rows keep; i32: of how many accesses
  llvm::SmallVector<kernel::LoadOp> kept; ///< what that is
  llvm::DenseSet<mlir::Operation *> isKept; ///< what of it is there by now
  llvm::DenseMap<mlir::Operation *, const lower::RowPass *> lastRead; ///< of what comes by itself: behind that pass its places are free
  std::optional<lower::BodyEmitter> next; ///< the block's next row
  Value hasNext;
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_ROWEMITTER_H
