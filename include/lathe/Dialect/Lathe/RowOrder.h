//===- RowOrder.h - The order of rows ---------------------------------------===//
#ifndef LATHE_DIALECT_LATHE_ROWORDER_H
#define LATHE_DIALECT_LATHE_ROWORDER_H

#include "lathe/Dialect/Lathe/GraphBuilder.h"

namespace lathe::ir {

/// The indices of rows [E, K] in their lexicographic order, equal rows in the order of their indices. NaNs are equal and come last.
mlir::Value orderOfRows(GraphBuilder &g, mlir::Value rows);

/// Where rows [E, K] differ from the one before them; the first one does. A NaN differs from itself.
mlir::Value startsOfRows(GraphBuilder &g, mlir::Value rows);

} // namespace lathe::ir

#endif // LATHE_DIALECT_LATHE_ROWORDER_H
