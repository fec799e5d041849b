//===- CudaKernels.h - Kernels of a model as a GPU would run them ----------===//
#ifndef LATHE_TEST_FUZZ_CUDAKERNELS_H
#define LATHE_TEST_FUZZ_CUDAKERNELS_H

#include "lathe/Interpret/Interpret.h"

namespace lathe::fuzz {

/// Generates the code of each kernel for compute capability `sm`, runs it in the emulator (tools/lathe-cuda) and ends the run
/// where `compare` finds a difference from what the kernel means.
interpret::KernelObserver
checkCudaKernels(unsigned sm, std::function<llvm::Error(const std::vector<interpret::Tensor> &got, llvm::ArrayRef<interpret::Tensor> want)> compare);

} // namespace lathe::fuzz

#endif // LATHE_TEST_FUZZ_CUDAKERNELS_H
