//===- RunPasses.h - Passes, and what is left where one fails --------------===//
#ifndef LATHE_LIB_PIPELINE_RUNPASSES_H
#define LATHE_LIB_PIPELINE_RUNPASSES_H

#include "lathe/Pipeline/Observer.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"

namespace lathe::pipeline {

/// The module as text, without its large constants.
std::string textOf(mlir::ModuleOp module);

/// Runs passes; a failure is our bug, not the user's. The error holds the module as it was in front of the pass that
/// failed. `observer`, which may be null, is told of the passes.
llvm::Error runPasses(mlir::ModuleOp module, llvm::StringRef stage, Observer *observer,
                      llvm::function_ref<void(mlir::OpPassManager &)> build);

/// Writes the form that a bug holds to a file beside `output`, and names it in the message.
llvm::Error writeReproducer(llvm::Error error, llvm::StringRef output);

} // namespace lathe::pipeline

#endif // LATHE_LIB_PIPELINE_RUNPASSES_H
