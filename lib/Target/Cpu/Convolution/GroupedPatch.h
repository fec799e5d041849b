//===- GroupedPatch.h - What a block of a grouped convolution reads --------===//
#ifndef LATHE_TARGET_CPU_GROUPEDPATCH_H
#define LATHE_TARGET_CPU_GROUPEDPATCH_H

#include "GroupedConvolution.h"

namespace lathe::cpu {

/// Pixels of an item along each dimension.
struct PixelBlock {
  llvm::SmallVector<mlir::Value> first, count;
};

/// Packs the part of the image that a block reads into scratch, as [place..][channel].
class GroupedPatch {
public:
  GroupedPatch(VectorBuilder &v, const GroupedShape &shape, const lower::BodyInfo &info, mlir::Value scratch);

  /// Elements from a place to its neighbour along a dimension.
  int64_t pitch(size_t dim) const { return pitches[dim]; }
  /// Of scratch, with what vectors write past the end.
  int64_t elements() const { return total; }
  /// `channel`: the first of the block, of shape.inChannels.
  void pack(const lower::BodyEmitter &point, const PixelBlock &block, mlir::Value channel);

private:
  using Body = llvm::function_ref<void(const lower::BodyEmitter &, mlir::Value)>;
  void eachPlace(const lower::BodyEmitter &point, size_t dim, const PixelBlock &block, Body body);
  void packDim(const lower::BodyEmitter &point, size_t dim, const PixelBlock &block, mlir::Value channel, mlir::Value at);
  void packChannels(const lower::BodyEmitter &point, mlir::Value channel, mlir::Value at);
  void packRun(const lower::BodyEmitter &point, llvm::StringRef lane, mlir::Value from, mlir::Value count, mlir::Value channel,
               mlir::Value at);
  void packSquare(const lower::BodyEmitter &point, llvm::StringRef lane, mlir::Value place, mlir::Value valid,
                  mlir::Value channel, int64_t firstOfBlock, mlir::Value at);

  VectorBuilder &v;
  const GroupedShape &shape;
  const lower::BodyInfo &info;
  mlir::Value scratch;
  llvm::SmallVector<int64_t> pitches;
  int64_t total = 0, channels = 0; ///< `channels`: of all groups
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_GROUPEDPATCH_H
