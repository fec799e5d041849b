//===- RowProgram.h - Loop and reduction kernels on a GPU ------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_ROWPROGRAM_H
#define LATHE_LIB_TARGET_CUDA_ROWPROGRAM_H

#include "Generator.h"

namespace lathe::cuda {

/// Takes every kernel: contractions and attentions that no other generator wants become loops of single threads.
llvm::Error generateRowProgram(Generator &g);

/// False when the kernel is no scan.
llvm::Expected<bool> generateScan(Generator &g);
/// False when the kernel is no sort.
llvm::Expected<bool> generateSort(Generator &g);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_ROWPROGRAM_H
