//===- HopperOps.h - Asynchronous copies, barriers and wgmma ---------------===//
//
// The instructions of compute capability 9.0 that warp-specialised kernels are made of. Shared memory addresses and barriers
// are i32 numbers. The emulator (tools/lathe-cuda) knows these texts.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_HOPPEROPS_H
#define LATHE_LIB_TARGET_CUDA_HOPPEROPS_H

#include "DeviceBuilder.h"
#include "DeviceHooks.h"

namespace lathe::cuda {

/// Whether so many elements are a stride that bulk copies take: a multiple of 16 bytes.
inline bool isBulkStride(const shape::Expr &elements, unsigned bytes) { return knownDivisor(elements * shape::Expr(bytes), 16) == 16; }

void initBarrier(DeviceBuilder &d, Value barrier, Value arrivals);
void fenceBarrierInit(DeviceBuilder &d);
void arrive(DeviceBuilder &d, Value barrier);
/// At the barrier that the cluster's block `rank` (i32) has where this block has `barrier`.
void arriveAt(DeviceBuilder &d, Value barrier, Value rank);
void arriveExpecting(DeviceBuilder &d, Value barrier, Value bytes);
void waitFor(DeviceBuilder &d, Value barrier, Value phase);
/// A word (i64) to the place that the cluster's block `rank` (i32) has where this block has `place`; its barrier there is told of 8 bytes.
void sendWord(DeviceBuilder &d, Value place, Value word, Value barrier, Value rank);
/// `blocks` (i32): a bit for each block of the cluster that gets the copy, to the same place, and whose barrier is told.
void loadTile(DeviceBuilder &d, Value shared, Value map, llvm::ArrayRef<Value> coordinates, Value barrier, Value blocks = {});
/// From a map for windows: `offsets` (i32, innermost first) are the distances of the taps.
void loadWindow(DeviceBuilder &d, Value shared, Value map, llvm::ArrayRef<Value> coordinates, llvm::ArrayRef<Value> offsets, Value barrier,
                Value blocks = {});
void prefetchMap(DeviceBuilder &d, Value map);

void arriveNamed(DeviceBuilder &d, Value id, unsigned threads);
void setRegisters(DeviceBuilder &d, unsigned count, bool increase);

/// One matrix product of a warpgroup: [64][k] times [k][columns], 32 bytes of k.
struct Wgmma {
  unsigned columns;
  mlir::Type left, right;       ///< bf16, f16, f32 for tf32; of bytes f8E4M3FN, f8E5M2, or i8 and ui8, of which sums are i32
  bool rightByColumns = false;  ///< the right operand lies as [k][n]
  bool leftByRows = false;      ///< the left operand lies as [k][m]; not in registers
  unsigned sums() const { return columns / 2; }
};
/// `sums` empty: the product replaces what is there.
Values multiplyShared(DeviceBuilder &d, const Wgmma &w, llvm::ArrayRef<Value> sums, Value left, Value right);
/// The left operand in registers (four i32).
Values multiplyRegisters(DeviceBuilder &d, const Wgmma &w, llvm::ArrayRef<Value> sums, llvm::ArrayRef<Value> left, Value right);
/// How mma and wgmma write an operand's type: "bf16", "e4m3", "u8".
llvm::StringRef nameOfNumbers(mlir::Type element);
void fenceProducts(DeviceBuilder &d);
void commitProducts(DeviceBuilder &d);
void waitProducts(DeviceBuilder &d, unsigned pending);
/// The same, after which the sums may be read: the instruction itself carries no data flow.
Values waitProducts(DeviceBuilder &d, unsigned pending, llvm::ArrayRef<Value> sums);

/// A matrix descriptor for the 128-byte swizzle: address (i32), and the distance in bytes between chunks of 64 lines for an
/// operand whose lines lie side by side.
Value describeTile(DeviceBuilder &d, Value address, unsigned leadingBytes = 16);
/// The descriptor `bytes` further on.
Value moveTile(DeviceBuilder &d, Value descriptor, int64_t bytes);
Value moveTile(DeviceBuilder &d, Value descriptor, Value bytes);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_HOPPEROPS_H
