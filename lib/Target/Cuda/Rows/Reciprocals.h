//===- Reciprocals.h - Division of indices on a GPU -------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_RECIPROCALS_H
#define LATHE_LIB_TARGET_CUDA_RECIPROCALS_H

#include "llvm/IR/Module.h"

namespace lathe::cuda {

/// Divides unsigned integers by multiplying with reciprocals, each computed once where its divisor is: those of sizes at a kernel's begin,
/// while it waits for the one before. Integers of 64 bits are divided as ones of 32 where both turn out to fit.
/// Whether there was any division.
bool divideByReciprocals(llvm::Module &module);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_RECIPROCALS_H
