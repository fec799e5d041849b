//===- HostProgram.h - The steps of @main as an artifact's program ---------===//
#ifndef LATHE_LIB_PIPELINE_HOSTPROGRAM_H
#define LATHE_LIB_PIPELINE_HOSTPROGRAM_H

#include "lathe/Artifact/ArtifactBuilder.h"
#include "lathe/Dialect/Kernel/Kernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe::pipeline {

/// Symbols, relations, inputs and outputs of the model. Once per artifact.
llvm::Error addSignature(artifact::ArtifactBuilder &builder, mlir::ModuleOp module);

/// Loops or kernels that are one launch: a kernel of these buffers, which stands where the last of them does. Kernels that are so where their sizes are
/// small have steps of their own, too: `apart` is 0 where these are left out.
struct LaunchedTogether {
  std::vector<mlir::Operation *> ops;
  std::vector<mlir::Value> operands; ///< also constants of the bodies
  std::vector<mlir::Value> results;
  std::vector<std::string> sizes;
  artifact::KernelId id;
  shape::Expr apart = shape::Expr(0);
};

/// @main's kernels as steps of the program for the device.
llvm::Error addProgram(artifact::ArtifactBuilder &builder, uint32_t deviceType, mlir::ModuleOp module,
                       llvm::DenseMap<mlir::Operation *, artifact::KernelId> kernelIds, std::vector<LaunchedTogether> together = {});

/// The model: the function @main.
mlir::func::FuncOp mainOf(mlir::ModuleOp module);

} // namespace lathe::pipeline

#endif // LATHE_LIB_PIPELINE_HOSTPROGRAM_H
