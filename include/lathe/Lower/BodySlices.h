//===- BodySlices.h - Parts of a kernel's body ------------------------------===//
#ifndef LATHE_LOWER_BODYSLICES_H
#define LATHE_LOWER_BODYSLICES_H

#include "lathe/Lower/BodyInfo.h"
#include "llvm/ADT/DenseSet.h"

namespace lathe::lower {

inline AxisSet allAxes(const BodyInfo &info) {
  return info.axes.size() >= 64 ? ~AxisSet(0) : (AxisSet(1) << info.axes.size()) - 1;
}

/// The ops that a value is computed by, its own among them.
llvm::DenseSet<mlir::Operation *> opsBelow(mlir::Value v);

/// What values are computed by from a sum on: the ops below them, but neither the sum nor what is below it alone.
std::vector<mlir::Operation *> opsBehind(mlir::ValueRange values, mlir::Value sum);

/// Whether every store stands at points of the sum's result. One at each point that the sum runs over (a product beside the sum of
/// those products) is none that an epilogue could make.
bool storesFollow(kernel::ReduceOp sum, const BodyInfo &info);

/// The one reduction of a kernel, where it is a sum that all stores follow; null otherwise.
kernel::ReduceOp onlySum(const BodyInfo &info);

/// What the one sum of a kernel adds up, where that is products of bytes that were widened to 32 bits; null otherwise.
mlir::arith::MulIOp productOfBytes(const BodyInfo &info);

/// The load that a value is, without predicate and computed indices; null for anything else.
kernel::LoadOp plainLoad(mlir::Value v);

/// What an index is, where that is an expression of axes and sizes or a number; the unknown expression otherwise.
shape::Expr indexOf(mlir::Value v);

} // namespace lathe::lower

#endif // LATHE_LOWER_BODYSLICES_H
