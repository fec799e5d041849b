//===- FragmentEpilogue.h - Sums of matrix instructions to memory ------------===//
#ifndef LATHE_LIB_TARGET_CUDA_FRAGMENTEPILOGUE_H
#define LATHE_LIB_TARGET_CUDA_FRAGMENTEPILOGUE_H

#include "ProductEpilogue.h"

namespace lathe::cuda {

/// Bytes of shared memory that each warp needs for it, 16-byte aligned.
constexpr unsigned epilogueColumns = 32, epiloguePitch = 40; ///< f32 or i32 elements
constexpr unsigned epilogueBytesPerWarp = 16 * epiloguePitch * 4;

/// Where a warp's 16 rows of the product go.
struct FragmentRows {
  Value buffer;         ///< i32 address of the warp's shared memory
  Value lane;
  Value row, rowLimit;  ///< the warp's first row, and how many rows there are (i32)
  Value column, columnLimit;
  /// Of each 16 rows or columns the first 8 that the instruction takes are every second one (TileLoader::interleaves).
  bool interleavedRows = false, interleavedColumns = false;
};

/// `sums` as wgmma and mma.sync leave them: pairs of columns of two rows per thread. They turn through shared memory, a few columns at a
/// time, so that the epilogue reads and writes runs of columns.
void storeFragmentRows(KernelFrame &frame, ProductEpilogue &epilogue, const FragmentRows &rows, llvm::ArrayRef<Value> sums);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_FRAGMENTEPILOGUE_H
