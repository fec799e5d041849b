//===- GemmHopper.h - Contractions on sm_90a's tensor cores ----------------===//
//
// One warpgroup brings tiles into a ring of shared memory buffers. Two others multiply: they take turns, one multiplying while
// the other runs its epilogue, or share large tiles, for products that the machine takes in one go. The grid is as large as
// the machine and walks over tiles, in groups of rows for the sake of the L2 cache. A deep product of few tiles is cut in depth:
// each part leaves its sums in scratch memory, and a launch that follows adds them up in order.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_GEMMHOPPER_H
#define LATHE_LIB_TARGET_CUDA_GEMMHOPPER_H

#include "BulkProblem.h"
#include "FragmentEpilogue.h"
#include "lathe/Schedule/ProductTiles.h"

namespace lathe::cuda {

/// A consumer multiplies (64 * blocks) x columns; where both share a tile, it has twice the rows.
struct HopperTile : schedule::ProductTile {
  explicit HopperTile(const schedule::ProductTile &t, bool inParts = false) : ProductTile(t), inParts(inParts), brought(t.columns) {}
  /// Where threads have sums more than once, two blocks are too many: consumers share them.
  static HopperTile ofFewSums(const schedule::ProductTile &t) {
    HopperTile tile(t);
    if (t.blocks == 2)
      tile.blocks = 1, tile.sharers = 2;
    return tile;
  }
  /// With as many columns as make all tiles of so many columns equal: a result of 784 is seven times 112, where 128 would leave an eighth of the
  /// products to nobody. What lies by columns is brought in chunks of `chunk` columns.
  HopperTile fitted(int64_t columns, int64_t chunk) const;
  bool inParts; ///< of the depth
  bool isFitted = false;
  unsigned brought; ///< columns of the right operand: those of the next tile, too, where they come in chunks
  /// Blocks may bring the right operand together, which comes in whole chunks of so many columns.
  bool mayCluster(int64_t chunk) const { return !inParts && !isFitted && cluster > 1 && columns / cluster % chunk == 0; }
  bool isShared() const { return sharers > 1; }
  std::string entry() const { return std::string(name) + (inParts ? "_parts" : isFitted ? "_by_" + std::to_string(columns) : ""); }
};

/// Its first group asks for copies; the other two multiply.
class HopperGemm : public EntryEmitter {
public:
  static constexpr unsigned threads = 384;
  static constexpr int64_t linesOfChunk = 64; ///< of halves that lie side by side: 128 bytes, for each of a step's depths
  /// `weights`: no launch writes the right operand.
  HopperGemm(const BulkProblem &bulk, KernelFrame &frame, const HopperTile &tile, bool weights)
      : EntryEmitter(frame), p(bulk.p), tile(tile), mapA(bulk.a), mapB(bulk.b), weights(weights) {
    bytes = p.lhs.type.getIntOrFloatBitWidth() / 8;
    depth = 128 / bytes;
    aBytes = tile.rows * 128;
    bBytes = tile.brought * 128;
  }
  void emit();
  static unsigned sharedBytes(const HopperTile &t) {
    return t.stages * (t.rows + t.brought) * 128 + 8 * epilogueBytesPerWarp + 16 * t.stages + 1024;
  }

private:
  struct Tile {
    Value batch, m, n; ///< batch flattened; the first row and column
    Value part;        ///< of the depth, where it is cut
  };
  struct Position {
    Value stage, phase;
  };
  void prepare();
  Value ownColumns();
  Tile tileAt(Value t);
  Position next(Position at);
  Value fullBarrier(Value stage) { return d.add(barriers, d.mul(stage, 8)); }
  Value emptyBarrier(Value stage) { return d.add(barriers, d.add(d.mul(stage, 8), 8 * tile.stages)); }
  void produce();
  enum Operand { Left = 1, Right = 2, Both = 3 };
  void loadStage(const Tile &t, Value k, Position at, Operand what);
  Position loadAhead();
  void consume();
  Values multiplyTile(Value counted);
  Values addStages(Position from, unsigned together);
  llvm::SmallVector<Values> finish(Values multiplied);
  void multiplyStage(Position at, llvm::SmallVector<Values> &sums);
  Values startStage(Position at);
  void addStage(Values &sums, const Values &started, unsigned pending, Value stage);
  void release(Value stage);
  void storeTile(const Tile &t, llvm::ArrayRef<Values> sums);

  const GemmProblem &p;
  HopperTile tile;
  const OperandMap &mapA, &mapB;
  bool weights;
  unsigned bytes, depth, aBytes, bBytes;
  Value shared, barriers, tid, warp, lane, group, mine, m, n, tilesM, tilesN, perBatch, total, depthTiles, first, step;
  Value ofPart; ///< tiles of a part
  Value together, rank; ///< blocks of the cluster, and which of them this one is; null: no cluster
  Value stageBytes; ///< that copies bring
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_GEMMHOPPER_H
