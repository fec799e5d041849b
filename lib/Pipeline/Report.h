//===- Report.h - What --report says of the kernels ------------------------===//
#ifndef LATHE_LIB_PIPELINE_REPORT_H
#define LATHE_LIB_PIPELINE_REPORT_H

#include "lathe/Dialect/Kernel/Kernel.h"
#include "lathe/Pipeline/Compile.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace lathe::pipeline {

/// Kernels of all functions in program order, once they have the target's form: class, domain, model nodes, FLOPs and bytes as expressions, unfused edges with their reasons.
/// Of several entry points each kernel says whose it is.
llvm::json::Value reportOf(llvm::ArrayRef<mlir::ModuleOp> modules, llvm::StringRef target, const CompileOptions &options);

} // namespace lathe::pipeline

#endif // LATHE_LIB_PIPELINE_REPORT_H
