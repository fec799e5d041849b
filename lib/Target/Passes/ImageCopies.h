//===- ImageCopies.h - Images rearranged in front of a convolution ---------===//
#ifndef LATHE_LIB_TARGET_PASSES_IMAGECOPIES_H
#define LATHE_LIB_TARGET_PASSES_IMAGECOPIES_H

#include "Filters.h"
#include "lathe/Dialect/Lathe/Lathe.h"

namespace lathe::target {

/// Copies of images that a window reads many times, each between an image and the convolutions that read it. Who chooses
/// layouts finds in a copy a result that is free to have its channels last, where the image itself is not: an input of the
/// model, what another kernel wants in its own order. A copy that changes no order goes again.
class ImageCopies {
public:
  /// Makes the copies of a function; its convolutions read them.
  void insert(mlir::func::FuncOp func, bool halves, bool bytes);
  bool contains(mlir::Operation *op) const { return copies.contains(op); }
  /// Behind the choice: `isLast` says which results have their channels last.
  void removeIdle(llvm::function_ref<bool(mlir::Value)> isLast);

private:
  llvm::SetVector<mlir::Operation *> copies;
};

} // namespace lathe::target

#endif // LATHE_LIB_TARGET_PASSES_IMAGECOPIES_H
