//===- Stages.h - The compiler's stages one by one -------------------------===//
//
// What lathe::compile runs between reading a model and its end, for programs that look at what is between the stages.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_PIPELINE_STAGES_H
#define LATHE_PIPELINE_STAGES_H

#include "lathe/Fuse/Passes.h"
#include "lathe/Optimize/Passes.h"
#include "lathe/Pipeline/Compile.h"
#include "mlir/IR/BuiltinOps.h"

namespace lathe::pipeline {

/// lathe -> lathe.
llvm::Error optimize(mlir::ModuleOp module, Observer *observer = nullptr, const opt::PipelineOptions &options = {});
/// lathe -> kernels.
llvm::Error formKernels(mlir::ModuleOp module, Observer *observer = nullptr, const fuse::FormKernelsOptions &options = {});
/// Kernels in the form that the target's code generators want: layouts of images and constants, results in place, and what
/// the options say that concerns kernels (--precision).
llvm::Error prepare(mlir::ModuleOp module, const TargetSpec &target, const CompileOptions &options = {});
/// Kernels, of no target yet -> the shared object or the relocatable one; the modules, one for each of the options'
/// entry points, stay as they are.
llvm::Error writeArtifact(llvm::ArrayRef<mlir::ModuleOp> modules, const CompileOptions &options);

} // namespace lathe::pipeline

#endif // LATHE_PIPELINE_STAGES_H
