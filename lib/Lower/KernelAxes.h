//===- KernelAxes.h - A kernel's axes, taken out of it to be changed -------===//
#ifndef LATHE_LIB_LOWER_KERNELAXES_H
#define LATHE_LIB_LOWER_KERNELAXES_H

#include "lathe/Dialect/Kernel/Kernel.h"

namespace lathe::lower {

struct Axis {
  std::string name;
  shape::Expr extent;
};

/// An expression over the axes and the attribute that holds it.
struct Indexing {
  mlir::Operation *op;
  llvm::StringRef key;
  shape::Expr expr;
};

/// The kernel's axes, expressions and reductions, rewritten here and written back at the end.
struct KernelAxes {
  explicit KernelAxes(kernel::GenericOp kernel);
  void writeBack();
  /// The one of this name, which there is.
  Axis &axis(const std::string &name) {
    return *llvm::find_if(axes, [&](const Axis &a) { return a.name == name; });
  }

  kernel::GenericOp kernel;
  std::vector<Axis> axes;
  std::vector<Indexing> exprs;
  std::vector<std::pair<mlir::Operation *, std::set<std::string>>>
      reductions;                ///< reduce and contract ops with the axes they sum over
  std::set<std::string> ordered; ///< axes that a scan or a sort goes along: they stay as they are
};

} // namespace lathe::lower

#endif // LATHE_LIB_LOWER_KERNELAXES_H
