//===- ProductEpilogue.cpp - Stores of a product's rows and columns --------===//

#include "ProductEpilogue.h"
#include "ContractionShape.h"
#include "lathe/Lower/BodySlices.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

/// As many of the innermost axes as everything behind the product goes along in even steps, as if they were one: each one less is a division
/// less for every row or group of columns.
static size_t joinedAxes(const EpilogueShape &p, const lower::BodyInfo &info, ArrayRef<unsigned> axes) {
  Values stored;
  for (kernel::StoreOp s : p.stores)
    stored.append(s->operand_begin(), s->operand_end());
  std::vector<Operation *> ops = lower::opsBehind(stored, p.result);
  ops.insert(ops.end(), p.stores.begin(), p.stores.end());
  size_t joined = axes.size();
  auto steps = [&](Operation *op) {
    if (isa<kernel::StoreOp, kernel::LoadOp, kernel::IndexOp>(op))
      return stepAlong(info, info.exprOf(op), axes.take_back(joined)).has_value();
    return !op->getNumRegions() && op->getDialect() != info.kernel->getDialect();
  };
  while (joined > 1 && !llvm::all_of(ops, steps))
    --joined;
  return joined;
}

/// Whether columns of a result lie side by side.
static bool storesRuns(const EpilogueShape &p, const lower::BodyInfo &info) {
  return !p.columnAxes.empty() && llvm::any_of(p.stores, [&](kernel::StoreOp s) {
    std::optional<Expr::Linear> linear = info.exprOf(s).linearIn(info.axes[p.columnAxes.back()]);
    return linear && linear->coefficient.isOne();
  });
}

/// The widest group of columns that lie in one run of the innermost column axes and fill 16 bytes of the widest store.
static unsigned epilogueWidth(const EpilogueShape &p, const lower::BodyInfo &info, const lower::Divisibility &known, size_t joined) {
  return storesRuns(p, info) ? known.divisorOf(extentOf(info, ArrayRef(p.columnAxes).take_back(joined)), 4) : 1;
}

ProductEpilogue::ProductEpilogue(const EpilogueShape &shape, KernelFrame &frame, DeviceHooks &hooks,
                                 lower::BodyEmitter &base)
    : shape(shape), frame(frame), hooks(hooks), base(base), joinedRows(joinedAxes(shape, frame.info, shape.rowAxes)),
      joinedColumns(joinedAxes(shape, frame.info, shape.columnAxes)),
      lanes(epilogueWidth(shape, frame.info, frame.known, joinedColumns)) {
  if (lanes > 1)
    goWide();
}

bool ProductEpilogue::storesRuns() const { return parts || ::storesRuns(shape, frame.info); }

void ProductEpilogue::goWide() {
  ArrayRef<unsigned> axes = shape.columnAxes;
  hooks.setLane(frame.info.axes[axes.back()], lanes, axes.take_back(joinedColumns).drop_back());
}

void ProductEpilogue::byWidth(llvm::function_ref<void()> store, llvm::function_ref<void()> single) {
  DeviceBuilder &d = frame.d;
  lower::Divisibility wide = frame.known;
  shape::Expr line = extentOf(frame.info, ArrayRef(shape.columnAxes).take_back(joinedColumns));
  unsigned most = lanes > 1 || parts || !wide.assume(line, 4) ? lanes : epilogueWidth(shape, frame.info, wide, joinedColumns);
  if (most == lanes)
    return store();
  auto storeWide = [&] {
    hooks.assume(wide);
    lanes = most;
    goWide();
    store();
    hooks.assume(frame.known);
    lanes = 1;
    hooks.setLane("", 1);
  };
  d.branch(d.equal(d.bitAnd(frame.size(line), 3), 0), storeWide, single);
}

/// Of the joined axes the innermost one counts for all.
Value ProductEpilogue::bind(lower::BodyEmitter &point, ArrayRef<unsigned> axes, size_t joined, Value index) {
  if (axes.empty())
    return {};
  Values extents;
  for (unsigned a : axes.drop_back(joined))
    extents.push_back(frame.size(frame.info.extents[a]));
  extents.push_back(frame.size(extentOf(frame.info, axes.take_back(joined))));
  Values indices = delinearize(frame.d, index, extents);
  for (auto [axis, i] : llvm::zip(axes, indices))
    point.bindAxis(frame.info.axes[axis], i);
  for (unsigned axis : axes.take_back(joined).drop_back())
    point.bindAxis(frame.info.axes[axis], frame.d.i64(0));
  point.bindAxis(frame.info.axes[axes.back()], indices.back());
  return indices.back();
}

ProductEpilogue::Row ProductEpilogue::atRow(Value m) {
  lower::BodyEmitter row = base;
  if (parts)
    return {row, m};
  bind(row, shape.rowAxes, joinedRows, m);
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
    return {row.point, {together(d, values)}, d.at(parts, d.add(d.mul(row.index, partColumns), n), shape.result.getType())};
  lower::BodyEmitter point = std::move(row.point);
  ArrayRef<unsigned> axes = shape.columnAxes;
  Value inner = bind(point, axes, joinedColumns, n);
  Value v = values[0];
  if (values.size() > 1) {
    point.bindLane(frame.info.axes[axes.back()], inner, values.size());
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
