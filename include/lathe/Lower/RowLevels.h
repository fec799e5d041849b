//===- RowLevels.h - In which order a row's values are computed ------------===//
#ifndef LATHE_LOWER_ROWLEVELS_H
#define LATHE_LOWER_ROWLEVELS_H

#include "lathe/Lower/BodyInfo.h"

namespace lathe::lower {

/// Axes by which rows are told apart, and those that reductions remove.
struct RowAxes {
  AxisSet rows = 0, reduced = 0;
};

/// Roots over one set of rows.
struct RowSection {
  RowAxes axes;
  std::vector<mlir::Operation *> roots;
};
/// All roots in one section where there are reductions; else each store stands for itself, and those over the same axes share their rows.
std::vector<RowSection> rowSections(const BodyInfo &info);

/// The product of the extents of the set's axes.
shape::Expr extentOf(const BodyInfo &info, AxisSet axes);
inline bool contains(AxisSet set, int axis) { return axis >= 0 && (set >> axis & 1); }

/// Roots that share a loop.
struct RowPass {
  AxisSet inner; ///< the axes below the row that its roots run over
  std::vector<mlir::Operation *> roots;
};

/// A reduction whose result is one value per row.
bool isRowReduction(const BodyInfo &info, RowAxes axes, mlir::Operation *root);

/// The reductions of rows, and the stores, each level after those that it depends on.
std::vector<std::vector<RowPass>> rowLevels(const BodyInfo &info, RowAxes axes, llvm::ArrayRef<mlir::Operation *> roots);

/// Adds what the op needs, not by way of a reduction of rows.
void addNeeded(const BodyInfo &info, RowAxes axes, mlir::Operation *op, llvm::SmallPtrSetImpl<mlir::Operation *> &seen);

/// What passes of several levels read along a row. Nothing where their loops differ, or where something is computed in loops of its own.
llvm::SmallVector<kernel::LoadOp> readAgain(const BodyInfo &info, RowAxes axes, llvm::ArrayRef<mlir::Operation *> roots);
/// Bytes that an access of so many lanes moves.
unsigned bytesOfAccess(kernel::LoadOp load, unsigned width);

} // namespace lathe::lower

#endif // LATHE_LOWER_ROWLEVELS_H
