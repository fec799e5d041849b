//===- Positions.h - Where a mask is true -----------------------------------===//
#ifndef LATHE_DIALECT_LATHE_POSITIONS_H
#define LATHE_DIALECT_LATHE_POSITIONS_H

#include "lathe/Dialect/Lathe/GraphBuilder.h"

namespace lathe::ir {

/// The positions of the true elements of a list of booleans, in order: [count] numbers of 64 bits. `count` is how many there are. On the host a function
/// of the runtime lists them in one go; a device counts up to each and stores those that are true.
mlir::Value positionsOfTrue(GraphBuilder &g, mlir::Value mask, const shape::Expr &count, bool onHost);

/// Their coordinates in a mask of rank 1 or more: [rank, count].
mlir::Value coordinatesOfTrue(GraphBuilder &g, mlir::Value mask, const shape::Expr &count, bool onHost);

} // namespace lathe::ir

#endif // LATHE_DIALECT_LATHE_POSITIONS_H
