//===- RunKernel.h - A kernel's CUDA code, emulated -------------------------===//
#ifndef LATHE_TOOLS_LATHE_CUDA_RUNKERNEL_H
#define LATHE_TOOLS_LATHE_CUDA_RUNKERNEL_H

#include "lathe/Target/CudaTarget.h"
#include <set>

namespace lathe::emulator {

/// The multiprocessors that plans are told of: an H100's.
constexpr int64_t usualProcessors = 132;

/// The words of the launch plan (lathe/Artifact/Format.h) for these sizes.
llvm::Expected<std::vector<int64_t>> planOf(cuda::DeviceCode &code, const std::vector<int64_t> &sizes,
                                            int64_t processors = usualProcessors);

/// The entry points that a plan calls.
std::set<std::string> calledBy(const cuda::DeviceCode &code, const std::vector<int64_t> &plan);

/// Drops the others from the device module: what nothing calls is not compiled for nothing.
void keepEntries(mlir::ModuleOp device, const std::set<std::string> &wanted);

/// Code that is made together with what is run.
struct Beside {
  llvm::function_ref<std::set<std::string>(const std::vector<int64_t> &plan)> entries;
  llvm::function_ref<llvm::Error(const llvm::Module &)> take; ///< the module of these entry points and of those that the plan calls
};

/// Plans the launch and runs the code as compute capability `sm` would: a pointer for each operand and result, in order.
/// Uses the code up.
llvm::Error runKernel(cuda::DeviceCode &code, unsigned sm, const std::vector<int64_t> &sizes,
                      const std::vector<char *> &buffers, const cuda::CudaOptions &options,
                      int64_t processors = usualProcessors, std::optional<Beside> beside = std::nullopt);

} // namespace lathe::emulator

#endif // LATHE_TOOLS_LATHE_CUDA_RUNKERNEL_H
