//===- TileLoader.h - Tiles of any layout into shared memory ---------------===//
#ifndef LATHE_LIB_TARGET_CUDA_TILELOADER_H
#define LATHE_LIB_TARGET_CUDA_TILELOADER_H

#include "DeviceHooks.h"
#include "KernelFrame.h"

namespace lathe::cuda {

/// Brings tiles of an operand into shared memory as f32, [depth][line], each element from the kernel's own offset: `lines`
/// are rows or columns of a product, `depth` is what a product sums over. Lines past the end repeat the last one, depths past
/// the end are 0.
struct TileSource {
  Value ref; ///< of the body
  shape::Expr offset;
  std::vector<unsigned> lineAxes, depthAxes;
  shape::Expr lines, depth; ///< how many there are
  unsigned tileLines, tileDepth;
  std::string name;
};

class TileLoader {
public:
  TileLoader(KernelFrame &frame, const TileSource &source);
  /// The tile's lines begin at `first` (i64); `base` has all other axes of the offset but the depth's bound.
  void locate(const lower::BodyEmitter &base, Value first);
  unsigned count() const { return slots.size(); }
  /// The thread's part of the tile from depth k0 (i64) on.
  Values load(Value k0);
  void put(llvm::ArrayRef<Value> values);
  /// Four lines of one depth, from a line that is a multiple of 4.
  Value four(Value depth, Value line);

private:
  struct Slot {
    Value line, depth; ///< in the tile, i32
    lower::BodyEmitter point;
  };
  Values extents(llvm::ArrayRef<unsigned> axes);
  unsigned pitch() const { return source.tileLines + 4; }
  KernelFrame &frame;
  DeviceBuilder &d;
  TileSource source;
  Type element;
  Value buffer, shared;
  bool alongDepth;    ///< neighbours in memory are neighbours in depth
  unsigned width = 1; ///< elements of one access
  std::vector<Slot> slots;
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_TILELOADER_H
