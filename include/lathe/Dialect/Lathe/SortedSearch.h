//===- SortedSearch.h - Places in sorted lists -----------------------------===//
#ifndef LATHE_DIALECT_LATHE_SORTEDSEARCH_H
#define LATHE_DIALECT_LATHE_SORTEDSEARCH_H

#include "lathe/Dialect/Lathe/GraphBuilder.h"

namespace lathe::ir {

/// How many of the sorted elements of its row lie before each value, or (`right`) not behind it; all of them before a NaN. `sorted` is one list for
/// all, or has the values' dims up to the last. The place grows by powers of two, from the largest on, while the element in front of it still does.
mlir::Value placeInSorted(GraphBuilder &g, mlir::Value sorted, mlir::Value values, bool right);

} // namespace lathe::ir

#endif // LATHE_DIALECT_LATHE_SORTEDSEARCH_H
