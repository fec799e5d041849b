//===- CopyKernel.h - Kernels that copy or convert a tensor ----------------===//
#ifndef LATHE_LIB_TARGET_PASSES_COPYKERNEL_H
#define LATHE_LIB_TARGET_PASSES_COPYKERNEL_H

#include "lathe/Dialect/Lathe/Lathe.h"

namespace lathe::target {

/// The result of a kernel of its own, behind `source`, that writes the elements in their order as `element`: the float type that they
/// have, a wider or a narrower one. The kernel's axes have these extents, outermost first, whose product is the number of elements.
mlir::Value copyOf(mlir::Value source, llvm::StringRef name, mlir::Type element, llvm::ArrayRef<shape::Expr> extents);

} // namespace lathe::target

#endif // LATHE_LIB_TARGET_PASSES_COPYKERNEL_H
