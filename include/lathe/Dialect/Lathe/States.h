//===- States.h - Tensors that live from run to run -------------------------===//
//
// A state of the model is an argument and a result of @main with the attribute `lathe.state`, its name: the value
// before a run and the one behind it. Both lie in one place, the context's. `lathe.initial` on the argument is what it
// holds at first; without it, zeros.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_DIALECT_LATHE_STATES_H
#define LATHE_DIALECT_LATHE_STATES_H

#include "lathe/Dialect/Lathe/Lathe.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe::ir {

inline constexpr llvm::StringLiteral stateAttr = "lathe.state", initialAttr = "lathe.initial";

/// The state that an argument or a result of the function is; null where it is none.
mlir::StringAttr stateOfArgument(mlir::func::FuncOp function, unsigned argument);
mlir::StringAttr stateOfResult(mlir::func::FuncOp function, unsigned result);
/// Whether the value is what a state holds before the run.
bool isStateBefore(mlir::Value v);

/// Whether every element is 0, all bits of it.
bool isZeros(mlir::ElementsAttr value);

} // namespace lathe::ir

#endif // LATHE_DIALECT_LATHE_STATES_H
