//===- ProductEpilogue.cpp - Stores of a product's rows and columns --------===//

#include "ProductEpilogue.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;

/// The widest group of columns that lie in one run of the innermost column axis and fill 16 bytes of the widest store.
static unsigned epilogueWidth(const EpilogueShape &p, const lower::BodyInfo &info, const lower::Divisibility &known) {
  if (p.columnAxes.empty())
    return 1;
  unsigned inner = p.columnAxes.back();
  unsigned contiguous = 0;
  for (kernel::StoreOp s : p.stores)
    if (auto linear = info.exprOf(s).linearIn(info.axes[inner]))
      contiguous += linear->coefficient.isOne();
  return contiguous ? known.divisorOf(info.extents[inner], 4) : 1;
}

ProductEpilogue::ProductEpilogue(const EpilogueShape &shape, KernelFrame &frame, DeviceHooks &hooks,
                                 lower::BodyEmitter &base)
    : shape(shape), frame(frame), base(base), lanes(epilogueWidth(shape, frame.info, frame.known)) {
  if (lanes > 1)
    hooks.setLane(frame.info.axes[shape.columnAxes.back()], lanes);
}

static Values extentsOf(KernelFrame &frame, ArrayRef<unsigned> axes) {
  Values out;
  for (unsigned a : axes)
    out.push_back(frame.size(frame.info.extents[a]));
  return out;
}

ProductEpilogue::Row ProductEpilogue::atRow(Value m) {
  lower::BodyEmitter row = base;
  if (parts)
    return {row, m};
  ArrayRef<unsigned> axes = shape.rowAxes;
  for (auto [axis, i] : llvm::zip(axes, delinearize(frame.d, m, extentsOf(frame, axes))))
    row.bindAxis(frame.info.axes[axis], i);
  return {row, m};
}

static Value together(DeviceBuilder &d, ArrayRef<Value> values) {
  Value v = d.splat(values[0], values.size());
  for (size_t i = 1; i < values.size(); ++i)
    v = d.insert(v, values[i], i);
  return v;
}

ProductEpilogue::Pending ProductEpilogue::compute(Row row, Value n, ArrayRef<Value> values) {
  DeviceBuilder &d = frame.d;
  if (parts)
    return {row.point, {together(d, values)}, d.at(parts, d.add(d.mul(row.index, partColumns), n), d.f32Type())};
  lower::BodyEmitter point = std::move(row.point);
  ArrayRef<unsigned> axes = shape.columnAxes;
  Values indices = delinearize(d, n, extentsOf(frame, axes));
  for (auto [axis, i] : llvm::zip(axes, indices))
    point.bindAxis(frame.info.axes[axis], i);
  Value v = values[0];
  if (values.size() > 1) {
    point.bindLane(frame.info.axes[axes.back()], indices.back(), values.size());
    v = together(d, values);
  }
  point.bindValue(shape.result, v);
  Values stored;
  for (kernel::StoreOp s : shape.stores)
    stored.push_back(point.emit(s.getValue()));
  return {std::move(point), std::move(stored), {}};
}

void ProductEpilogue::store(Pending &pending) {
  if (pending.part)
    return frame.d.store(pending.stored[0], pending.part, 4 * lanes);
  for (auto [s, v] : llvm::zip(shape.stores, pending.stored))
    pending.point.emitStoreOf(s, v);
}
