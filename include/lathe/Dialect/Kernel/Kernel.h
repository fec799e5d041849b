//===- Kernel.h - The kernel dialect ---------------------------------------===//
#ifndef LATHE_DIALECT_KERNEL_KERNEL_H
#define LATHE_DIALECT_KERNEL_KERNEL_H

#include "lathe/Shape/Expr.h"
#include "lathe/Shape/Facts.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "lathe/Dialect/Kernel/KernelEnums.h.inc"

#include "lathe/Dialect/Kernel/KernelDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "lathe/Dialect/Kernel/KernelTypes.h.inc"

#define GET_OP_CLASSES
#include "lathe/Dialect/Kernel/KernelOps.h.inc"

namespace lathe::kernel {

/// Axes that each value is computed at: those mentioned by loads, indices and contractions it depends on, without reduced ones.
using ValueAxes = llvm::DenseMap<mlir::Value, std::set<std::string>>;
ValueAxes axesOfValues(GenericOp kernel);

} // namespace lathe::kernel

#endif // LATHE_DIALECT_KERNEL_KERNEL_H
