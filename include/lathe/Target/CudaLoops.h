//===- CudaLoops.h - Loops that are one launch on a GPU --------------------===//
//
// A loop of the host program whose number of iterations is known before it begins, and whose body is a few kernels,
// runs in one launch: all its blocks are on the device at the same time and wait for one another between iterations.
// Loops that do not depend on one another (the two directions of a recurrence) share a launch.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CUDALOOPS_H
#define LATHE_TARGET_CUDALOOPS_H

#include "lathe/Dialect/Lathe/Lathe.h"
#include "lathe/Target/CudaTarget.h"

namespace lathe::cuda {

struct LoopGroup {
  std::vector<ir::LoopOp> loops;
  std::string name;                       ///< of its first kernel
  std::vector<mlir::Value> operands;      ///< per loop: carried, captured, the body's constants
  std::vector<mlir::Value> results;       ///< per loop
  std::vector<std::string> sizes;         ///< symbols, without the loops' counters
  std::vector<kernel::GenericOp> kernels; ///< of the bodies
};

/// Those of the module. A group stands where its last loop stands.
std::vector<LoopGroup> loopGroups(mlir::ModuleOp module);

/// The device function and the plan of a group; its buffers are the operands, then the results.
llvm::Expected<DeviceCode> generateLoopCode(const LoopGroup &group, unsigned sm, llvm::StringRef planName = "plan");

} // namespace lathe::cuda

#endif // LATHE_TARGET_CUDALOOPS_H
