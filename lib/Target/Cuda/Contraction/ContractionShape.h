//===- ContractionShape.h - How a contraction's operands lie along its axes ----===//
#ifndef LATHE_LIB_TARGET_CUDA_CONTRACTIONSHAPE_H
#define LATHE_LIB_TARGET_CUDA_CONTRACTIONSHAPE_H

#include "lathe/Lower/ContractionRoles.h"

namespace lathe::cuda {

/// Points along the flattened axes.
shape::Expr extentOf(const lower::BodyInfo &info, llvm::ArrayRef<unsigned> axes);
/// When the offset steps evenly along the flattened axes (outermost first): the step. Nothing when it does not.
std::optional<shape::Expr> stepAlong(const lower::BodyInfo &info, const shape::Expr &offset, llvm::ArrayRef<unsigned> axes);

/// The offset where the axes are 0.
shape::Expr atZero(const lower::BodyInfo &info, const shape::Expr &offset, llvm::ArrayRef<unsigned> axes);
/// Accesses may run along the flattened axes or, where these do not lie in one run, along the innermost one: how many elements
/// lie side by side, nothing when neighbours lie apart.
std::optional<shape::Expr> runAlong(const lower::BodyInfo &info, const shape::Expr &offset, llvm::ArrayRef<unsigned> axes);
/// How many of the innermost axes the run goes along: all, one, or none.
size_t runLength(const lower::BodyInfo &info, const shape::Expr &offset, llvm::ArrayRef<unsigned> axes);
/// The offset of a run's first element.
shape::Expr startOf(const lower::BodyInfo &info, const shape::Expr &offset, llvm::ArrayRef<unsigned> axes);

/// A contraction's axes by their roles, and its operands' offsets as they lie in memory (a packed operand's offset is that
/// of the packed array; a computed operand has none).
struct ContractionShape {
  ContractionShape(const lower::BodyInfo &info, kernel::ContractOp op);
  ContractionShape(const lower::BodyInfo &info, const lower::ContractionRoles &roles);
  const lower::BodyInfo &info;
  lower::AxisSet contracted, batch, rows, columns;
  std::vector<unsigned> batchAxes, rowAxes, columnAxes, depthAxes; ///< outermost first
  shape::Expr lhs, rhs;
  shape::Expr extent(llvm::ArrayRef<unsigned> axes) const { return extentOf(info, axes); }
  /// The index of a point among flattened axes, as an expression over them.
  shape::Expr flatIndex(llvm::ArrayRef<unsigned> axes) const;
  std::optional<shape::Expr> stepAlong(const shape::Expr &offset, llvm::ArrayRef<unsigned> axes) const {
    return cuda::stepAlong(info, offset, axes);
  }
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_CONTRACTIONSHAPE_H
