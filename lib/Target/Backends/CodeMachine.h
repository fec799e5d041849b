//===- CodeMachine.h - The machine that a pass makes code for ---------------===//
#ifndef LATHE_LIB_TARGET_BACKENDS_CODEMACHINE_H
#define LATHE_LIB_TARGET_BACKENDS_CODEMACHINE_H

#include "lathe/Schedule/Machine.h"
#include "lathe/Target/Backend.h"
#include "mlir/IR/BuiltinOps.h"

namespace lathe::target {

struct CodeMachine {
  const schedule::Machine *machine = nullptr;
  const Backend *backend = nullptr;
};

/// The row of the table with the name and the backend that makes its code; said at `op` where there is none.
mlir::FailureOr<CodeMachine> codeMachine(mlir::Operation *op, llvm::StringRef name);

/// The dialects of code before and after lowering.
void registerCodeDialects(mlir::DialectRegistry &registry);

/// Which part of a kernel's code a module is, where it has several.
constexpr llvm::StringLiteral partName = "lathe.part";

} // namespace lathe::target

#endif // LATHE_LIB_TARGET_BACKENDS_CODEMACHINE_H
