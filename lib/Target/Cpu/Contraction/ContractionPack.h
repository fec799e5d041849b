//===- ContractionPack.h - Panels of an operand that is not constant -------===//
#ifndef LATHE_TARGET_CPU_CONTRACTIONPACK_H
#define LATHE_TARGET_CPU_CONTRACTIONPACK_H

#include "Contraction.h"

namespace lathe::cpu {

/// Elements of scratch (of the accumulator's type) that a packed panel takes.
shape::Expr panelElements(const VectorBuilder &v, const ContractionShape &shape);
/// Copies columns first .. first + panelColumns - 1 of the second operand into `panel` as [depth][panelColumns], converted to
/// the accumulator's type. Lanes past the last column hold anything finite that was read from the operand.
/// `from`: the first of the `depth` points of the sum; null for the first of all.
void emitPackPanel(VectorBuilder &v, const ContractionShape &shape, const lower::BodyEmitter &base, mlir::Value rhs,
                   mlir::Value first, mlir::Value columns, mlir::Value depth, mlir::Value panel, mlir::Value from = {});

/// The same for a second operand that is computed: shape.rhsValue at every reduced point and column. Lanes past the last
/// column hold anything.
void emitComputePanel(VectorBuilder &v, const ContractionShape &shape, const lower::BodyEmitter &base, mlir::Value first,
                      mlir::Value columns, mlir::Value panel);

/// The reduced axes in the order of loops: the first `taps` are those that index values (predicates at borders) depend on, so that masks are
/// computed outside the loops over the others. `strides`: of each, in rows of the panel. `begin` and `end`: those points of the first axis behind the
/// taps that are walked; all of them where they are not said.
struct WindowOrder {
  llvm::SmallVector<unsigned> axes;
  llvm::SmallVector<shape::Expr> strides;
  size_t taps = 0;
  mlir::Value begin, end;
};
WindowOrder windowOrder(const ContractionShape &shape);
/// Loops over the reduced axes order.axes[from .. to); what is inside gets a point where they are bound, and the panel's row, counted from `k` on
/// in the order of these axes in the kernel.
void emitWindowLoops(VectorBuilder &v, const ContractionShape &shape, const WindowOrder &order, const lower::BodyEmitter &point, size_t from,
                     size_t to, mlir::Value k, llvm::function_ref<void(const lower::BodyEmitter &, mlir::Value)> inside);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_CONTRACTIONPACK_H
