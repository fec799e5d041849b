//===- Permutation.h - Elements that are read in another order than written -===//
#ifndef LATHE_LIB_TARGET_CUDA_PERMUTATION_H
#define LATHE_LIB_TARGET_CUDA_PERMUTATION_H

#include "../Generator.h"

namespace lathe::cuda {

/// Loops that read along one axis and write along another (transposes, layouts, what is computed beside them). False
/// when the kernel is no such loop.
llvm::Expected<bool> generatePermutation(Generator &g);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_PERMUTATION_H
