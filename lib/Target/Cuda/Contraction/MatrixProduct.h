//===- MatrixProduct.h - Products of a warp's fragments ---------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_MATRIXPRODUCT_H
#define LATHE_LIB_TARGET_CUDA_MATRIXPRODUCT_H

#include "../DeviceBuilder.h"
#include "lathe/Schedule/Machine.h"

namespace lathe::cuda {

/// 16x8 sums in f32, four of a thread, and the product of 16x16 and 16x8 halves (mma.sync): one instruction, or before 8.0 two.
Values multiplyHalves(DeviceBuilder &d, const schedule::Machine &machine, Type element, llvm::ArrayRef<Value> sums, llvm::ArrayRef<Value> x,
                      llvm::ArrayRef<Value> y);
/// Whether tensor cores multiply such elements.
inline bool multipliesHalves(const schedule::Machine &machine, Type element) {
  return element.isF16() || (element.isBF16() && machine.gpu.multiplies("bf16", 16));
}

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_MATRIXPRODUCT_H
