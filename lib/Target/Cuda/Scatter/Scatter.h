//===- Scatter.h - Updates at computed places on a GPU ---------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_SCATTER_H
#define LATHE_LIB_TARGET_CUDA_SCATTER_H

#include "../Generator.h"

namespace lathe::cuda {

/// Kernels of class scatter whose result lies where its data lie.
llvm::Expected<bool> generateScatter(Generator &g);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_SCATTER_H
