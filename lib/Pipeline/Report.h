//===- Report.h - What --report says of the kernels ------------------------===//
#ifndef LATHE_LIB_PIPELINE_REPORT_H
#define LATHE_LIB_PIPELINE_REPORT_H

#include "lathe/Dialect/Kernel/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace lathe::pipeline {

/// Kernels of all functions in program order, once they have the target's form: class, domain, model nodes, FLOPs and bytes as expressions, unfused edges with their reasons.
llvm::json::Value reportOf(mlir::ModuleOp module, llvm::StringRef target);

} // namespace lathe::pipeline

#endif // LATHE_LIB_PIPELINE_REPORT_H
