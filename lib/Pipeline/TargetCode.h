//===- TargetCode.h - Kernels to machine code in an artifact ---------------===//
#ifndef LATHE_LIB_PIPELINE_TARGETCODE_H
#define LATHE_LIB_PIPELINE_TARGETCODE_H

#include "lathe/Artifact/ArtifactBuilder.h"
#include "lathe/Pipeline/Compile.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace lathe::pipeline {

/// Kernels of all entry points -> objects and steps for the CPU. `report`: the target's part of --report, which learns how each kernel runs.
llvm::Error addCpu(artifact::ArtifactBuilder &builder, llvm::ArrayRef<mlir::ModuleOp> modules, const TargetSpec &target,
                   const CompileOptions &options, llvm::json::Value &report);
/// Kernels of all entry points -> cubins, their launch plans and steps for the GPU.
llvm::Error addCuda(artifact::ArtifactBuilder &builder, llvm::ArrayRef<mlir::ModuleOp> modules, const TargetSpec &target,
                    const CompileOptions &options, llvm::json::Value &report);

/// The code of all kernels as text (or one object's bytes), for --emit.
llvm::Expected<std::string> cpuText(mlir::ModuleOp module, const TargetSpec &target, const CompileOptions &options);
llvm::Expected<std::string> cudaText(mlir::ModuleOp module, const TargetSpec &target, const CompileOptions &options);

} // namespace lathe::pipeline

#endif // LATHE_LIB_PIPELINE_TARGETCODE_H
