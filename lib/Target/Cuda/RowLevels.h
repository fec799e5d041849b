//===- RowLevels.h - In which order a row's values are computed ------------===//
#ifndef LATHE_LIB_TARGET_CUDA_ROWLEVELS_H
#define LATHE_LIB_TARGET_CUDA_ROWLEVELS_H

#include "RowSchedule.h"

namespace lathe::cuda {

/// Roots that share a loop.
struct RowPass {
  AxisSet inner; ///< the axes below the row that its roots run over
  std::vector<mlir::Operation *> roots;
};

/// A reduction whose result is one value per row.
bool isRowReduction(const lower::BodyInfo &info, RowAxes axes, mlir::Operation *root);

/// The reductions of rows, and the stores, each level after those that it depends on.
std::vector<std::vector<RowPass>> rowLevels(const lower::BodyInfo &info, RowAxes axes, llvm::ArrayRef<mlir::Operation *> roots);

/// Adds what the op needs, not by way of a reduction of rows.
void addRowLoads(const lower::BodyInfo &info, RowAxes axes, mlir::Operation *op, llvm::SmallPtrSetImpl<mlir::Operation *> &seen);

/// What passes of several levels read along a row. Nothing where their loops differ, or where something is computed in loops of its own.
llvm::SmallVector<kernel::LoadOp> readAgain(const lower::BodyInfo &info, RowAxes axes, llvm::ArrayRef<mlir::Operation *> roots);
/// Bytes that an access of so many lanes moves.
unsigned bytesOfAccess(kernel::LoadOp load, unsigned width);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_ROWLEVELS_H
