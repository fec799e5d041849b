//===- KernelOrder.cpp - Scans and sorts along an axis ---------------------===//

#include "KernelReduce.h"
#include "lathe/Dialect/Lathe/ElementWalk.h"
#include "lathe/Dialect/Lathe/Evaluate.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::interpret;

/// Calls f(first, place) for each row along the axis: where it starts, and its number in a tensor of the other axes.
static void forEachRow(const AxisSet &all, const AxisSet &along, const KernelFrame &frame,
                       llvm::function_ref<void(int64_t, ArrayRef<int64_t>)> f) {
  AxisSet rows = without(all, along);
  SmallVector<int64_t> strides = stridesIn(all, rows, frame);
  ir::forEach(frame.shapeOf(rows), [&](int64_t, ArrayRef<int64_t> at) {
    int64_t first = 0;
    for (size_t d = 0; d < at.size(); ++d)
      first += at[d] * strides[d];
    f(first, at);
  });
}

static ir::ScanKind kindOf(kernel::Combiner kind) {
  using K = kernel::Combiner;
  switch (kind) {
  case K::Mul:
    return ir::ScanKind::Prod;
  case K::Max:
  case K::UMax:
    return ir::ScanKind::Max;
  case K::Min:
  case K::UMin:
    return ir::ScanKind::Min;
  case K::LogAddExp:
    return ir::ScanKind::LogAddExp;
  default:
    return ir::ScanKind::Sum;
  }
}

Column interpret::scanAlong(kernel::ScanOp op, Column value, const AxisSet &along, const KernelFrame &frame) {
  int64_t step = stridesIn(value.axes, along, frame)[0], size = frame.axes[along[0]].size;
  bool isUnsigned = op.getKind() == kernel::Combiner::UMax || op.getKind() == kernel::Combiner::UMin;
  forEachRow(value.axes, along, frame, [&](int64_t first, ArrayRef<int64_t>) {
    ir::scanRow(kindOf(op.getKind()), value.tensor, {first, step, size}, op.getExclusive(), op.getReverse(),
                isUnsigned);
  });
  return value;
}

Column interpret::orderAlong(kernel::SortOp op, const Column &key, const AxisSet &along, const AxisSet &to,
                             const KernelFrame &frame) {
  AxisSet rows = without(key.axes, along), results = unite(rows, to);
  Column out{results, Tensor(RankedTensorType::get(frame.shapeOf(results), op.getType()))};
  SmallVector<int64_t> strides = stridesIn(results, rows, frame);
  int64_t step = stridesIn(key.axes, along, frame)[0], size = frame.axes[along[0]].size;
  int64_t toStep = stridesIn(results, to, frame)[0], count = frame.axes[to[0]].size;
  forEachRow(key.axes, along, frame, [&](int64_t first, ArrayRef<int64_t> at) {
    int64_t start = 0;
    for (size_t d = 0; d < at.size(); ++d)
      start += at[d] * strides[d];
    std::vector<int64_t> order =
        ir::orderOfRow(key.tensor, {first, step, size}, op.getDescending(), op.getUnsignedKeys());
    for (int64_t i = 0; i < count; ++i)
      out.tensor.ints[start + i * toStep] = order[i];
  });
  return out;
}
