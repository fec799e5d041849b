//===- BodyInfo.h - What a kernel's body depends on ------------------------===//
//
// Axes of every value of a body, positions of its ops and the expressions of its accesses, computed once. Bodies are DAGs
// with shared values: everything here is one pass in block order, never a recursion over operands.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LOWER_BODYINFO_H
#define LATHE_LOWER_BODYINFO_H

#include "lathe/Dialect/Kernel/Kernel.h"
#include "llvm/ADT/DenseMap.h"

namespace lathe::lower {

/// A set of a kernel's axes: bit i is axis i.
using AxisSet = uint64_t;
/// A kernel with more axes is refused before anybody asks for sets of them.
constexpr unsigned maxAxes = 63;
llvm::Error checkAxes(llvm::ArrayRef<kernel::GenericOp> kernels);

class BodyInfo {
public:
  explicit BodyInfo(kernel::GenericOp kernel);

  kernel::GenericOp kernel;
  std::vector<std::string> axes;    ///< names, outermost first
  std::vector<shape::Expr> extents; ///< one per axis
  std::vector<std::string> sizes;   ///< size parameters, sorted
  /// Every op of the body in an order in which operands come first; the ops of an attention's score region come before it.
  std::vector<mlir::Operation *> ops;

  std::optional<unsigned> axisIndex(llvm::StringRef name) const;
  /// Axes that the value is computed at.
  AxisSet axesOf(mlir::Value value) const { return valueAxes.lookup(value); }
  /// Axes that the expression mentions.
  AxisSet axesOf(const shape::Expr &e) const;
  /// Axes at which the op runs: a store's offset and operands, a reduction's value, anything else's result.
  AxisSet domainOf(mlir::Operation *op) const;
  /// Axes named by the attribute.
  AxisSet axesOf(mlir::ArrayAttr names) const;
  unsigned position(mlir::Operation *op) const { return positions.lookup(op); }
  /// The offset of a load or a store, the expression of an index op (parsed once).
  const shape::Expr &exprOf(mlir::Operation *op) const;

private:
  void visit(mlir::Operation *op);
  llvm::DenseMap<mlir::Value, AxisSet> valueAxes;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
  llvm::DenseMap<mlir::Operation *, shape::Expr> exprs;
};

/// True for a value that the scheduler computes in a loop of its own: a reduction, a contraction, an attention, a
/// scan, a sort.
bool isRootValue(mlir::Value value);

} // namespace lathe::lower

#endif // LATHE_LOWER_BODYINFO_H
