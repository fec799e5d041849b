//===- Transform.h - Fourier transforms on a GPU ---------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_TRANSFORM_H
#define LATHE_LIB_TARGET_CUDA_TRANSFORM_H

#include "../Generator.h"

namespace lathe::cuda {

/// False when the kernel is no Fourier transform.
llvm::Expected<bool> generateTransform(Generator &g);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_TRANSFORM_H
