//===- ContractionProduct.h - Reductions that are contractions -------------===//
#ifndef LATHE_TARGET_CPU_CONTRACTIONPRODUCT_H
#define LATHE_TARGET_CPU_CONTRACTIONPRODUCT_H

#include "WindowPanel.h"
#include "mlir/IR/OwningOpRef.h"

namespace lathe::cpu {

/// A sum of products in a kernel of class `reduction` (a convolution, a contraction with a computed operand), seen as a
/// contraction: one factor is a plain load over rows and reduced axes, the other any value over columns and reduced axes.
/// The column axes become one axis, so that a vector of columns may run on from one to the next.
struct ProductKernel {
  mlir::OwningOpRef<kernel::GenericOp> kernel; ///< a copy with the column axes joined
  std::unique_ptr<lower::BodyInfo> info;
  ContractionShape shape;
  /// Of the kernel itself, where the column axes are several that the second factor does not step through at one stride.
  std::optional<WindowLines> lines;
};

/// Nothing when the kernel has another form, or is too small for tiles to pay.
std::optional<ProductKernel> findProduct(const lower::BodyInfo &info);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_CONTRACTIONPRODUCT_H
