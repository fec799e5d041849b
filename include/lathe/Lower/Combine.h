//===- Combine.h - The combining functions of kernels -----------------------===//
#ifndef LATHE_LOWER_COMBINE_H
#define LATHE_LOWER_COMBINE_H

#include "lathe/Dialect/Kernel/Kernel.h"
#include "mlir/IR/Builders.h"

namespace lathe::lower {

/// The value that changes nothing, as a constant of the type (scalar or vector).
mlir::Value identityOf(mlir::OpBuilder &b, mlir::Location loc, kernel::Combiner kind, mlir::Type type);
/// Combines two values of one type, lane by lane. The larger or smaller of two floats is NaN when either is.
mlir::Value combine(mlir::OpBuilder &b, mlir::Location loc, kernel::Combiner kind, mlir::Value x, mlir::Value y);

} // namespace lathe::lower

#endif // LATHE_LOWER_COMBINE_H
