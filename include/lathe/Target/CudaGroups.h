//===- CudaGroups.h - What is one launch on a GPU together -----------------===//
//
// A loop of the host program whose number of iterations is known before it begins, and whose body is a few kernels,
// runs in one launch: all its blocks are on the device at the same time and wait for one another between iterations.
// Loops that do not depend on one another (the two directions of a recurrence) share a launch.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CUDAGROUPS_H
#define LATHE_TARGET_CUDAGROUPS_H

#include "lathe/Dialect/Lathe/Lathe.h"
#include "lathe/Target/CudaTarget.h"

namespace lathe::cuda {

/// Buffers of the launch: the operands, then the results.
struct LaunchGroup {
  std::string name; ///< of its first kernel
  std::vector<mlir::Value> operands, results;
  std::vector<std::string> sizes;         ///< symbols
  std::vector<kernel::GenericOp> kernels; ///< that it runs
  /// Not 0 where some kernel has so much to do that it fills the device by itself: then each is launched alone.
  shape::Expr apart = shape::Expr(0);
};

/// Per loop: carried values, captured ones, the body's constants. `sizes` are without the counters.
struct LoopGroup : LaunchGroup {
  std::vector<ir::LoopOp> loops;
};

/// Per kernel: its operands.
struct KernelGroup : LaunchGroup {};

/// Those of the module. A group stands where its last op stands. `standsAlone`: kernels that are launches of their own whatever stands beside them.
std::vector<LoopGroup> loopGroups(mlir::ModuleOp module);
std::vector<KernelGroup> kernelGroups(mlir::ModuleOp module, llvm::function_ref<bool(kernel::GenericOp)> standsAlone);

/// The device function and the plan of a group.
llvm::Expected<DeviceCode> generateLoopCode(const LoopGroup &group, unsigned sm, llvm::StringRef planName = "plan");
llvm::Expected<DeviceCode> generateGroupCode(const KernelGroup &group, unsigned sm, const CudaOptions &options,
                                             llvm::StringRef planName = "plan");

} // namespace lathe::cuda

#endif // LATHE_TARGET_CUDAGROUPS_H
