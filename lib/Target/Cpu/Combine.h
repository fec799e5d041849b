//===- Combine.h - The combining functions of reductions -------------------===//
#ifndef LATHE_TARGET_CPU_COMBINE_H
#define LATHE_TARGET_CPU_COMBINE_H

#include "lathe/Lower/Combine.h"

namespace lathe::cpu {

using lower::identityOf;
using lower::combine;
/// Of a reduction, which may pass over NaNs.
mlir::Value combine(mlir::OpBuilder &b, mlir::Location loc, kernel::ReduceOp op, mlir::Value x, mlir::Value y);
/// Combines the lanes of a vector (a scalar is its own result).
mlir::Value combineLanes(mlir::OpBuilder &b, mlir::Location loc, kernel::Combiner kind, mlir::Value v);
mlir::Value combineLanes(mlir::OpBuilder &b, mlir::Location loc, kernel::ReduceOp op, mlir::Value v);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_COMBINE_H
