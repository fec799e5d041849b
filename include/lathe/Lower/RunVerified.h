//===- RunVerified.h - Lowerings of many passes ----------------------------===//
#ifndef LATHE_LOWER_RUNVERIFIED_H
#define LATHE_LOWER_RUNVERIFIED_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

namespace lathe::lower {

/// Runs the passes and verifies what they leave. Behind each one of them in debug builds alone: over the dozen passes from a
/// kernel's code to LLVM's dialect that takes 7 % of a compile.
inline mlir::LogicalResult runVerified(mlir::PassManager &pm, mlir::ModuleOp module) {
#ifdef NDEBUG
  pm.enableVerifier(false);
#else
  pm.enableVerifier(true);
#endif
  return failed(pm.run(module)) ? mlir::failure() : mlir::verify(module);
}

} // namespace lathe::lower

#endif // LATHE_LOWER_RUNVERIFIED_H
