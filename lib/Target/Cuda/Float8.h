//===- Float8.h - Conversions of floats of 8 bits --------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_FLOAT8_H
#define LATHE_LIB_TARGET_CUDA_FLOAT8_H

#include "DeviceBuilder.h"
#include "mlir/Pass/Pass.h"

namespace lathe::cuda {

/// Elements as numbers of another type. Bytes are what `format` says: integers, signed or unsigned, or codes of floats of 8 bits.
Value asNumbers(DeviceBuilder &d, Value elements, Type as, Type format);

/// Writes out what arith converts from and to f8E4M3FN and f8E5M2: as instructions, two numbers each, where a machine has them (from 8.9 on),
/// else as arithmetic. After it there are codes, i8, and no such numbers.
std::unique_ptr<mlir::Pass> createConvertFloat8(bool hasInstructions);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_FLOAT8_H
