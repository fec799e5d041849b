//===- HostProgram.h - The steps of @main as an artifact's program ---------===//
#ifndef LATHE_LIB_PIPELINE_HOSTPROGRAM_H
#define LATHE_LIB_PIPELINE_HOSTPROGRAM_H

#include "lathe/Artifact/ArtifactBuilder.h"
#include "lathe/Dialect/Kernel/Kernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe::pipeline {

/// Symbols, relations, inputs and outputs of the model. Once per artifact.
llvm::Error addSignature(artifact::ArtifactBuilder &builder, mlir::ModuleOp module);

/// @main's kernels as steps of the program for the device; `kernelIds`: one per kernel.generic, in program order.
llvm::Error addProgram(artifact::ArtifactBuilder &builder, uint32_t deviceType, mlir::ModuleOp module,
                       llvm::ArrayRef<artifact::KernelId> kernelIds);

/// All kernels of the module, in the order of kernelIds.
std::vector<kernel::GenericOp> kernelsOf(mlir::ModuleOp module);

/// The model: the function @main.
mlir::func::FuncOp mainOf(mlir::ModuleOp module);

} // namespace lathe::pipeline

#endif // LATHE_LIB_PIPELINE_HOSTPROGRAM_H
