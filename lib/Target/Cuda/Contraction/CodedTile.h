//===- CodedTile.h - Codes unpacked on their way into shared memory -----------===//
//
// Groups of warps multiply what lies in shared memory. A group of four warps reads a tile's words, makes halves of the codes, computed in f32 and
// rounded once, and lays them down as bulk copies would: a column's 64 depths in a line of 128 bytes, in the order of the 128-byte swizzle.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_CODEDTILE_H
#define LATHE_LIB_TARGET_CUDA_CODEDTILE_H

#include "CodedWeights.h"

namespace lathe::cuda {

class CodedTile {
public:
  static constexpr int64_t stepDepth = 64;
  /// `thread` (i32): of the group.
  CodedTile(const CodedProblem &p, KernelFrame &frame, Value thread, unsigned columns);
  /// Whether a group's warps share such a tile evenly.
  static bool divides(const CodedProblem &p, unsigned columns) { return groupsOf(p, columns) % warps == 0; }
  /// Starts what the thread reads of a step (i32) of the tile from a column (i32) on. Past the end of the depth, where the other operand is 0, and
  /// behind the last column, which nobody stores, it is what is there before.
  Values load(Value column, Value step);
  /// Lays it down in a tile of shared memory (i32).
  void store(llvm::ArrayRef<Value> loaded, Value tile);
  const std::string &error() const { return weights.error(); }

private:
  static constexpr unsigned warps = 4;
  static int64_t groupsOf(const CodedProblem &p, unsigned columns) { return columns / p.panelColumns * (stepDepth / p.groupDepth()); }
  Values halves(Value word, Value scale, Value offset);
  const CodedProblem &p;
  DeviceBuilder &d;
  CodedWeights weights;
  unsigned groups;         ///< of words, of a warp
  Value warp;
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_CODEDTILE_H
