//===- KernelReduce.h - Values combined over axes --------------------------===//
#ifndef LATHE_LIB_INTERPRET_KERNELREDUCE_H
#define LATHE_LIB_INTERPRET_KERNELREDUCE_H

#include "KernelFrame.h"

namespace lathe::interpret {

/// A value without some of its axes: what lies along them is combined. Of no elements it is the one that changes no
/// other.
Column combineOver(kernel::Combiner kind, const Column &value, const AxisSet &removed, const KernelFrame &frame);

/// One element combined with one of another tensor.
void combineAt(kernel::Combiner kind, Tensor &to, int64_t at, const Tensor &value, int64_t i);

/// The sum over `removed` of products, at each point of the other axes of both.
Column sumOfProducts(const Column &a, const Column &b, const AxisSet &removed, mlir::Type type,
                     const KernelFrame &frame);

/// KernelOrder.cpp: along one axis, each value combined with those before it.
Column scanAlong(kernel::ScanOp op, Column value, const AxisSet &along, const KernelFrame &frame);
/// The places along an axis of the first keys in their order, at the points of the axis `to`.
Column orderAlong(kernel::SortOp op, const Column &key, const AxisSet &along, const AxisSet &to,
                  const KernelFrame &frame);

/// Transforms.cpp: the axes of a transform, one each; of `turn` none where nothing is turned.
struct TransformAxes {
  AxisSet along, to, parts, turn;
};
Column transformAlong(kernel::FftOp op, const Column &value, const TransformAxes &axes, const KernelFrame &frame);

} // namespace lathe::interpret

#endif // LATHE_LIB_INTERPRET_KERNELREDUCE_H
