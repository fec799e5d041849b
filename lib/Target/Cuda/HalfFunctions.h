//===- HalfFunctions.h - Functions between numbers of 16 bits --------------===//
//
// A kernel whose floating-point numbers all have 16 bits in memory (`halvesAttr`) computes in f32, of whose last digits nothing is left in what
// it stores. Functions that spend instructions on them have shorter forms there; docs/Rationale/Functions.md says what they keep.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_HALFFUNCTIONS_H
#define LATHE_LIB_TARGET_CUDA_HALFFUNCTIONS_H

#include "mlir/IR/PatternMatch.h"

namespace lathe::cuda {

void populateHalfFunctions(mlir::RewritePatternSet &patterns);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_HALFFUNCTIONS_H
