//===- RuntimeAxes.h - Axes that an input of the model names ---------------===//
//
// Which dimension an axis is may be known only when the model runs. Its rank is not in question, so the sizes of what is left
// are sums over the dimensions, each times a flag, and the operand is read at strides that are such sums too: one graph for
// every choice of axes.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_OPS_RUNTIMEAXES_H
#define LATHE_LIB_IMPORT_ONNX_OPS_RUNTIMEAXES_H

#include "Node.h"

namespace lathe::onnx {

class RuntimeAxes {
public:
  /// `axes` are of 0 .. rank - 1; the artifact checks that none is named twice.
  RuntimeAxes(Node &n, const Dims &of, const Dims &axes);

  /// The sizes of the named dimensions, in the order of the names, and of the others, in their own.
  Dims named, others;
  /// The operand's sizes with another for the named ones.
  Dims withNamed(const Expr &size);
  Dims kept() { return withNamed(Expr(1)); }
  /// x as [others..., named...].
  Value gathered(Value x);
  /// What `gathered` gave (or the like) in the order of the operand's dimensions.
  Value restored(Value y) { return restored(y, of); }
  Value restored(Value y, const Dims &dims); ///< of these sizes (see withNamed)

private:
  Expr pick(llvm::ArrayRef<Expr> flags, llvm::ArrayRef<Expr> values);
  Value readAt(Value x, const Dims &dims, llvm::ArrayRef<Expr> strides);

  Node &n;
  Dims of;
  std::vector<Dims> isNamed, isOther; ///< per name (or remaining place) one flag per dimension
  Dims isAny;                         ///< per dimension
};

/// Whether one of the values is known only when the model runs.
bool anyUnknown(llvm::ArrayRef<Expr> values);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_OPS_RUNTIMEAXES_H
