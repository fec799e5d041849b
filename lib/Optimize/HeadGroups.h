//===- HeadGroups.h - Keys and values behind repetition and scaling --------===//
//
// Private to lib/Optimize.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_OPTIMIZE_HEADGROUPS_H
#define LATHE_LIB_OPTIMIZE_HEADGROUPS_H

#include "ViewIndex.h"
#include "lathe/Dialect/Lathe/GraphBuilder.h"

namespace lathe::opt {

/// x is [B, H, rows, columns], each group of heads repeated from one: the [B, G, rows, columns] that it repeats. Null when x is
/// no such repetition.
mlir::Value unrepeatHeads(mlir::Value x, ir::GraphBuilder &g);

/// x = y * factor for a constant: y, with the factor multiplied into `factor`; looks through views. x itself otherwise.
mlir::Value stripFactor(mlir::Value x, double &factor, ir::GraphBuilder &g);

} // namespace lathe::opt

#endif // LATHE_LIB_OPTIMIZE_HEADGROUPS_H
