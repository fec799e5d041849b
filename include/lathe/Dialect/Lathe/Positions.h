//===- Positions.h - Where a mask is true -----------------------------------===//
#ifndef LATHE_DIALECT_LATHE_POSITIONS_H
#define LATHE_DIALECT_LATHE_POSITIONS_H

#include "lathe/Dialect/Lathe/GraphBuilder.h"

namespace lathe::ir {

/// The positions of the true elements of a list of booleans, in order: [size] numbers of 64 bits. `count` is how many there are, as it was read: what
/// mentions it runs behind the checks of what is known of it, among them that it is `size`. On the host a function of the runtime lists them in one
/// go; a device has kernels for it (`lathe.compact`).
mlir::Value positionsOfTrue(GraphBuilder &g, mlir::Value mask, const shape::Expr &count, const shape::Expr &size, bool onHost);

/// The elements of a list where another one is true: [size].
mlir::Value elementsWhereTrue(GraphBuilder &g, mlir::Value x, mlir::Value mask, const shape::Expr &count, const shape::Expr &size, bool onHost);

/// Their coordinates in a mask of rank 1 or more: [rank, size].
mlir::Value coordinatesOfTrue(GraphBuilder &g, mlir::Value mask, const shape::Expr &count, const shape::Expr &size, bool onHost);

} // namespace lathe::ir

#endif // LATHE_DIALECT_LATHE_POSITIONS_H
