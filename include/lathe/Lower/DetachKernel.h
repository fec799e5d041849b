//===- DetachKernel.h - A kernel on its own, in canonical form -------------===//
#ifndef LATHE_LOWER_DETACHKERNEL_H
#define LATHE_LOWER_DETACHKERNEL_H

#include "lathe/Dialect/Kernel/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace lathe::lower {

/// A module with a copy of the kernel alone, in a form that equal kernels share: axes and size symbols renamed in their
/// order (which the renaming keeps), no name, no model nodes, no locations, no tensor shapes.
struct DetachedKernel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  kernel::GenericOp kernel;
  std::vector<std::string> sizes; ///< the size parameters: as many and in the same order as the original's
  std::string text;               ///< equal for kernels that share code
  /// The same sizes in an order that their names have no part in, by where the kernel mentions them, and the text with the sizes numbered in
  /// that order: what tuning files know a kernel by.
  std::vector<std::string> ordered;
  std::string canonical;
};
DetachedKernel detachKernel(kernel::GenericOp kernel);
/// The same without the order and the canonical text, which take as long again: for who compares texts alone.
DetachedKernel detachText(kernel::GenericOp kernel);

/// A longer axis is no window's.
constexpr int64_t longestWindow = 64;
/// How many elements an input has, also of a detached kernel that depends on it; the unknown expression of others.
shape::Expr elementsOf(kernel::GenericOp kernel, unsigned input);

/// Says it at the kernel itself, so that it follows when its sizes are rewritten.
void keepElements(kernel::GenericOp kernel);

/// Whether the load reads an input of a detached kernel through indices, and 32 bits number the elements of that.
bool hasShortPlaces(kernel::LoadOp load);

/// The kernels of the modules' functions in program order, one module's after the other's.
std::vector<kernel::GenericOp> kernelsOf(llvm::ArrayRef<mlir::ModuleOp> modules);

/// All expressions of a kernel, in their order: extents, then the body's.
std::vector<shape::Expr> exprsOf(kernel::GenericOp kernel);
/// Writes another expression for each of them.
void rewriteExprs(kernel::GenericOp kernel, llvm::function_ref<shape::Expr(const shape::Expr &)> rewrite);
/// Writes these expressions for size symbols, in extents and offsets, and simplifies.
void substituteSizes(kernel::GenericOp kernel, const std::map<std::string, shape::Expr> &with);

} // namespace lathe::lower

#endif // LATHE_LOWER_DETACHKERNEL_H
