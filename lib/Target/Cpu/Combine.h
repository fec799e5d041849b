//===- Combine.h - The combining functions of reductions -------------------===//
#ifndef LATHE_TARGET_CPU_COMBINE_H
#define LATHE_TARGET_CPU_COMBINE_H

#include "lathe/Dialect/Kernel/Kernel.h"
#include "mlir/IR/Builders.h"

namespace lathe::cpu {

/// The neutral element as a constant of the type (scalar or vector).
mlir::Value identityOf(mlir::OpBuilder &b, mlir::Location loc, kernel::Combiner kind, mlir::Type type);
/// Combines two values of one type, lane by lane.
mlir::Value combine(mlir::OpBuilder &b, mlir::Location loc, kernel::Combiner kind, mlir::Value x, mlir::Value y);
/// Combines the lanes of a vector (a scalar is its own result).
mlir::Value combineLanes(mlir::OpBuilder &b, mlir::Location loc, kernel::Combiner kind, mlir::Value v);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_COMBINE_H
