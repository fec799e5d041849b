//===- LogAddExp.h - log(exp(x) + exp(y)) ----------------------------------===//
#ifndef LATHE_LOWER_LOGADDEXP_H
#define LATHE_LOWER_LOGADDEXP_H

#include "mlir/IR/Builders.h"

namespace lathe::lower {

/// Of floats (scalars or vectors) of which `most` is the larger, NaN when one is: an infinite one is the result.
mlir::Value logAddExp(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Value y, mlir::Value most);

} // namespace lathe::lower

#endif // LATHE_LOWER_LOGADDEXP_H
