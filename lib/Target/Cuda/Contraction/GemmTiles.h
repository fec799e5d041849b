//===- GemmTiles.h - Contractions by tiles of any layout -------------------===//
//
// What the ordinary cores and the tensor cores of single warps share: one block per tile of the product, operands by way of a
// TileLoader, the next tile's loads in flight while this one is multiplied, two tiles in shared memory by turns.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_GEMMTILES_H
#define LATHE_LIB_TARGET_CUDA_GEMMTILES_H

#include "Gemm.h"
#include "ProductChoice.h"
#include "TileLoader.h"

namespace lathe::cuda {

struct GemmTile {
  explicit GemmTile(const schedule::ProductTile &t) : name(t.name), m(t.rows), n(t.columns), k(t.depth) {}
  const char *name; ///< of the entry point
  unsigned m, n, k;
};

/// What tensor cores multiply by warps (mma.sync): the operands' type, but for floats of 8 bits where there is no product of them. Those are f16
/// in shared memory, which holds all of their numbers.
Type fragmentType(const GemmProblem &p, unsigned sm);

class TiledGemm : public EntryEmitter {
public:
  /// `fragments`: where in shared memory (i32) tiles for matrix loads begin, the left operand's first; without it they are of the sum's type.
  /// `stages` tiles of each operand lie in shared memory.
  TiledGemm(const GemmProblem &p, KernelFrame &frame, const GemmTile &tile, unsigned stages, Value fragments = {});

  /// Copies bring both operands: no registers hold what is on its way.
  bool isPipelined() const { return a.isAsynchronous() && b.isAsynchronous(); }
  virtual ~TiledGemm() = default;

protected:
  /// Which tile of which batch is this block's; `inParts`: and of which part of the depth, of which there are as many as the grid has tiles.
  void locate(bool inParts = false);
  /// Sums go where those of the part go.
  void storeInParts(ProductEpilogue &epilogue);
  /// Sums over the whole depth, from 0; `multiply` adds the products of one pair of tiles in shared memory.
  Values sumOverDepth(unsigned numSums, llvm::function_ref<Values(llvm::ArrayRef<Value>)> multiply);

  /// The same where tiles are copied: by steps of the depth (i64), all stages but one ahead of the products.
  virtual Values sumCopies(const Values &zeros, llvm::function_ref<Values(llvm::ArrayRef<Value>)> multiply);
  /// Starts the copies of the first steps; returns the first one and the end of all.
  std::pair<Value, Value> startCopies();
  void copyStep(Value step);
  /// The same one operand's tile after the other, which may be apart; then endCopies().
  void copyTile(TileLoader &o, Value step);
  void endCopies();
  /// Waits until all threads have the next step's tiles, and are done with those before that of the last step.
  void meetStep();
  /// The tiles that are copied and read from here on.
  void useStep(Value step);
  Value stageOf(Value step);

  const GemmProblem &p;
  Value m0, n0; ///< the tile's first row and column (i64)
  Type fragment;
  TileLoader a, b;
  unsigned stages;

private:
  /// The first and the last depth, the latter for all parts.
  std::pair<Value, Value> depths();
  Values sumTiles(const Values &zeros, llvm::function_ref<Values(llvm::ArrayRef<Value>)> multiply);
  GemmTile tile;
  Value batch, part, parts; ///< i64; without parts: null
};

/// Threads and bytes of dynamic shared memory.
struct TileLaunch {
  schedule::ProductTile tile;
  unsigned threads;
  unsigned shared = 0;
};
/// The tile with the least time for the multiprocessor that takes most of them, of those that schedules leave; its entry point is as far
/// behind `first`.
GemmLaunch planTiles(Generator &g, const GemmProblem &p, unsigned first, llvm::ArrayRef<TileLaunch> tiles);
/// Few tiles of a long depth: parts of it make them more. Adds the entry point of a part and that of the sum, and says where they run instead of `whole`,
/// which `wide` sizes are for.
llvm::Expected<GemmLaunch> planParts(Generator &g, const GemmProblem &p, const lower::Divisibility &wide, const GemmLaunch &whole);
/// The name of an entry point: those that take any sizes stand beside those that take what a plan has looked at.
std::string entryName(const Generator &g, const GemmTile &tile);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_GEMMTILES_H
