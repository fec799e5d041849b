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

/// Columns that 16 bytes hold of what the only store takes, where that is made of sums and of what belongs to a row or a column alone. Pairs of
/// columns, as threads have them, would read anything else in pieces of four bytes.
static unsigned columnsOfRounded(const EpilogueShape &p, const lower::BodyInfo &info) {
  kernel::StoreOp store = p.stores.front();
  if (p.stores.size() != 1 || store.getPredicate() || !store.getIndices().empty() || !storesRuns(p, info))
    return 0;
  Type type = store.getValue().getType();
  if (!type.isBF16() && !type.isF16() && !type.isInteger(8))
    return 0;
  for (Operation *op : lower::opsBehind(store.getValue(), p.result)) {
    if (op->getNumRegions() || (op->getDialect() == info.kernel->getDialect() && !isa<kernel::LoadOp, kernel::IndexOp>(op)))
      return 0;
    auto load = dyn_cast<kernel::LoadOp>(op);
    auto variesAlong = [&](unsigned axis) { return info.domainOf(load) >> axis & 1; };
    if (load && (!load.getIndices().empty() || (llvm::any_of(p.rowAxes, variesAlong) && llvm::any_of(p.columnAxes, variesAlong))))
      return 0;
  }
  return 128 / type.getIntOrFloatBitWidth();
}

/// That, where such groups lie in one run.
static unsigned roundedColumns(const EpilogueShape &p, const lower::BodyInfo &info, const lower::Divisibility &known, size_t joined) {
  unsigned columns = columnsOfRounded(p, info);
  Expr line = extentOf(info, ArrayRef(p.columnAxes).take_back(joined));
  return columns && known.divisorOf(line, columns) == columns ? columns : 0;
}

ProductEpilogue::ProductEpilogue(const EpilogueShape &shape, KernelFrame &frame, DeviceHooks &hooks,
                                 lower::BodyEmitter &base)
    : shape(shape), frame(frame), hooks(hooks), base(base), joinedRows(joinedAxes(shape, frame.info, shape.rowAxes)),
      joinedColumns(joinedAxes(shape, frame.info, shape.columnAxes)),
      lanes(epilogueWidth(shape, frame.info, frame.known, joinedColumns)),
      rounded(roundedColumns(shape, frame.info, frame.known, joinedColumns)) {
  if (lanes > 1)
    goWide(lanes);
}

bool ProductEpilogue::storesRuns() const { return parts || ::storesRuns(shape, frame.info); }

void ProductEpilogue::goWide(unsigned of) {
  ArrayRef<unsigned> axes = shape.columnAxes;
  hooks.setLane(frame.info.axes[axes.back()], of, axes.take_back(joinedColumns).drop_back());
}

void ProductEpilogue::byWidth(llvm::function_ref<void()> store, llvm::function_ref<void()> single) {
  DeviceBuilder &d = frame.d;
  lower::Divisibility wide = frame.known;
  shape::Expr line = extentOf(frame.info, ArrayRef(shape.columnAxes).take_back(joinedColumns));
  unsigned group = std::max(4u, columnsOfRounded(shape, frame.info));
  if (lanes > 1 || parts || !wide.assume(line, group) || epilogueWidth(shape, frame.info, wide, joinedColumns) == lanes)
    return store();
  auto storeWide = [&] {
    hooks.assume(wide);
    lanes = epilogueWidth(shape, frame.info, wide, joinedColumns);
    rounded = roundedColumns(shape, frame.info, wide, joinedColumns);
    goWide(lanes);
    store();
    hooks.assume(frame.known);
    lanes = 1;
    rounded = 0;
    hooks.setLane("", 1);
  };
  d.branch(d.equal(d.bitAnd(frame.size(line), group - 1), 0), storeWide, single);
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

lower::BodyEmitter ProductEpilogue::atColumns(Row row, Value n, unsigned lanes) {
  ArrayRef<unsigned> axes = shape.columnAxes;
  Value inner = bind(row.point, axes, joinedColumns, n);
  if (lanes > 1)
    row.point.bindLane(frame.info.axes[axes.back()], inner, lanes);
  return std::move(row.point);
}

ProductEpilogue::Pending ProductEpilogue::compute(Row row, Value n, ArrayRef<Value> values) {
  DeviceBuilder &d = frame.d;
  if (parts)
    return {row.point, {together(d, values)}, d.at(parts, d.add(d.mul(row.index, partColumns), n), shape.result.getType())};
  lower::BodyEmitter point = atColumns(std::move(row), n, values.size());
  Value v = values.size() > 1 ? together(d, values) : values[0];
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

Value ProductEpilogue::computePair(Row row, Value n, ArrayRef<Value> values) {
  goWide(2);
  lower::BodyEmitter point = atColumns(std::move(row), n, 2);
  point.bindValue(shape.result, together(frame.d, values));
  return point.emit(shape.stores[0].getValue());
}

void ProductEpilogue::storeGroup(Row row, Value n, Value group) {
  goWide(rounded);
  atColumns(std::move(row), n, rounded).emitStoreOf(shape.stores[0], group);
  goWide(lanes);
}
