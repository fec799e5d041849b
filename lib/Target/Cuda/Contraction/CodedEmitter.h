//===- CodedEmitter.h - Device code of products with codes --------------------===//
//
// Tensor cores multiply 16 columns of weights with 8 rows: the weights are the left operand, straight from the words as they come from memory,
// so that few rows fill an instruction. A thread reads a word of each of four columns in one piece. The sum of a block of codes is multiplied
// with the block's scale, in f32; no weight is rounded. Warps of a block share the depth, and their sums meet in shared memory.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_CODEDEMITTER_H
#define LATHE_LIB_TARGET_CUDA_CODEDEMITTER_H

#include "CodedFragments.h"
#include "CodedWeights.h"
#include "lathe/Schedule/CodedTiles.h"

namespace lathe::cuda {

class CodedEmitter : public EntryEmitter {
public:
  CodedEmitter(const CodedProblem &p, const schedule::CodedTile &tile, KernelFrame &frame);
  void emit();
  std::string error() const { return weights.error().empty() ? EntryEmitter::error() : weights.error(); }
  /// The type in which tensor cores multiply with elements of the first factor.
  static Type halfOf(Type lhs) { return lhs.isF16() ? lhs : Type(mlir::BFloat16Type::get(lhs.getContext())); }
  static unsigned sharedBytes(const schedule::CodedTile &tile);

private:
  static constexpr unsigned pitch = 36; ///< of a row of sums in shared memory: rows of a warp meet all banks
  static constexpr unsigned lines = CodedWeights::lines;
  /// The scales and zero points of a thread's columns; null: 1, the middle.
  struct OfBlock {
    Value scale, zero;
  };
  using Products = llvm::SmallVector<Values>; ///< four sums each, by 8 rows, then by pairs of columns; then those of the first factor alone

  void locate();
  Value rowStart(unsigned ofTile);
  Values loadAhead(Value group, unsigned count);
  llvm::SmallVector<Values> loadElements(unsigned ofTile, Value group, Value own);
  /// Of words that are there together one or two blocks, or several of which are one.
  unsigned groupsOfBlock() const { return std::max<int64_t>(1, p.block / p.groupDepth()); }
  unsigned blocksOfGroup() const { return std::max<int64_t>(1, p.groupDepth() / p.block); }
  OfBlock takeBlock(llvm::ArrayRef<Value> &loaded) const;
  Values multiply(Value group, unsigned count, llvm::ArrayRef<Value> loaded, Values sums);
  void multiplyGroup(Value group, Value word, Value own, Products &products);
  Values scaled(const OfBlock &of, const Products &products, Values sums);
  Values sumOverDepth();
  void meet(llvm::ArrayRef<Value> sums);
  void store(Value item);
  Value placeOf(Value number, Value ofPanels, Value row, Value column);

  const CodedProblem &p;
  const schedule::CodedTile &tile;
  CodedWeights weights;
  std::optional<CodedWeights::Panel> panel; ///< the warp's
  CodedFragments fragments;
  ProductEpilogue epilogue;
  Value quad, inQuad, number, ofPanels, rows, firstRow, firstPanel, lhs, sumsAt;
  Values rowStarts;
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_CODEDEMITTER_H
