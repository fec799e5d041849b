//===- TargetCode.h - Kernels to machine code in an artifact ---------------===//
#ifndef LATHE_LIB_PIPELINE_TARGETCODE_H
#define LATHE_LIB_PIPELINE_TARGETCODE_H

#include "lathe/Artifact/ArtifactBuilder.h"
#include "lathe/Pipeline/Compile.h"
#include "lathe/Target/Backend.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace lathe::pipeline {

/// The backend of a target that parseTargets gave.
const target::Backend &backendOf(const TargetSpec &target);

/// What the options say of one target's code.
target::CodeOptions codeOptions(const TargetSpec &target, const CompileOptions &options);

/// The architecture that the artifact's host code is for.
std::string hostArchOf(llvm::ArrayRef<TargetSpec> targets);

/// Kernels of all entry points, in the form that the target wants -> their code, and the steps of each entry point's
/// program. `report`: the target's part of --report, which learns how each kernel runs.
llvm::Error addCode(artifact::ArtifactBuilder &builder, llvm::ArrayRef<mlir::ModuleOp> modules, const TargetSpec &target,
                    const CompileOptions &options, llvm::json::Value &report);

} // namespace lathe::pipeline

#endif // LATHE_LIB_PIPELINE_TARGETCODE_H
