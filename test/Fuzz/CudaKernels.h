//===- CudaKernels.h - Kernels of a model as a GPU would run them ----------===//
#ifndef LATHE_TEST_FUZZ_CUDAKERNELS_H
#define LATHE_TEST_FUZZ_CUDAKERNELS_H

#include "lathe/Interpret/Interpret.h"

namespace lathe::fuzz {

/// Generates the code of a kernel for compute capability `sm` and runs it in the emulator (tools/lathe-cuda).
interpret::KernelRunner cudaRunner(unsigned sm);

} // namespace lathe::fuzz

#endif // LATHE_TEST_FUZZ_CUDAKERNELS_H
