//===- RowProgram.h - Loop and reduction kernels on a GPU ------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_ROWPROGRAM_H
#define LATHE_LIB_TARGET_CUDA_ROWPROGRAM_H

#include "KernelFrame.h"

namespace lathe::cuda {

/// What a generator makes of a kernel.
struct Generator {
  const lower::BodyInfo &info;
  mlir::ModuleOp device;
  PlanFunction &plan;
  unsigned sm;
  bool dependentLaunch;
  Dependent dependent(bool later = false) const {
    return !dependentLaunch ? Dependent::No : later ? Dependent::WaitsLater : Dependent::Waits;
  }
  std::vector<std::string> entries;
};

/// Takes every kernel: contractions and attentions that no other generator wants become loops of single threads.
llvm::Error generateRowProgram(Generator &g);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_ROWPROGRAM_H
