//===- Contraction.cpp - CPU code for contraction kernels ------------------===//

#include "Contraction.h"
#include "ContractionPack.h"
#include "ContractionTile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using shape::Expr;

namespace {
class ContractionEmitter {
public:
  ContractionEmitter(const KernelSite &site, const ContractionShape &shape);
  void emit();
  void plan(KernelPlan &plan);
  const std::string &error() const { return body.error(); }

private:
  Value refOf(Value ref) { return site.refs[cast<BlockArgument>(ref).getArgNumber()]; }
  void emitPanel(Value group, Value tileFrom, Value tileTo);
  void emitTile(const BodyEmitter &point, Value panel, Value tileIndex, Value firstColumn);
  void emitEpilogue(const BodyEmitter &point, Value row, Value rows, Value firstColumn);
  void emitRowColumns(const BodyEmitter &point, Value tileRow, Value firstColumn, bool partial);
  void emitVector(BodyEmitter point, Value tileOffset, Value column, Value mask);
  bool lanesStayInAxis() const;

  const KernelSite &site;
  const ContractionShape &shape;
  VectorBuilder v;
  BodyEmitter body;
  Type panelType;
  ContractionTile tiles;
  Value rows, columns, depth, panels, rowTiles, tileBuffer;
  SmallVector<kernel::StoreOp> stores;
};
} // namespace

ContractionEmitter::ContractionEmitter(const KernelSite &site, const ContractionShape &shape)
    : site(site), shape(shape), v(site.b, site.loc, site.isa, shape.accumulator),
      body(site.info, site.b, site.loc, site.sizes, site.refs, site.hooks),
      panelType(shape.packed ? shape.rhsType : shape.accumulator),
      tiles(v, shape, panelType, site.refs.empty() ? Value() : refOf(shape.op.getLhs())) {
  rows = body.emitExpr(shape.rows.extent());
  columns = body.emitExpr(shape.columns.extent());
  depth = body.emitExpr(shape.reduced.extent());
  panels = v.ceilDiv(columns, panelColumns);
  rowTiles = v.ceilDiv(rows, tiles.maxRows());
  for (Operation *op : site.info.ops)
    if (auto s = dyn_cast<kernel::StoreOp>(op))
      stores.push_back(s);
}

void ContractionEmitter::plan(KernelPlan &plan) {
  plan.items = v.mul(v.mul(body.emitExpr(shape.batch.extent()), panels), rowTiles);
  plan.scratchBytes =
      shape.packed ? v.i(0) : v.mul(panelElements(v, depth), shape.accumulator.getWidth() / 8);
  Value perTile = v.ceilDiv(rows, v.max(rowTiles, v.i(1)));
  plan.itemCost = v.mul(v.mul(depth, perTile), 2 * panelColumns);
  plan.granularity = v.i(1);
}

/// Items are (batch point, panel, tile of rows), the last fastest: a group is a batch point and a panel.
void ContractionEmitter::emit() {
  tileBuffer = v.b.create<LLVM::AllocaOp>(site.loc, LLVM::LLVMPointerType::get(v.b.getContext()), shape.accumulator,
                                          v.i(tiles.maxRows() * panelColumns), 64);
  Value perGroup = v.max(rowTiles, v.i(1));
  Value firstGroup = v.div(site.begin, perGroup), lastGroup = v.ceilDiv(site.end, perGroup);
  v.loop(firstGroup, lastGroup, 1, [&](Value group) {
    Value start = v.mul(group, perGroup);
    emitPanel(group, v.max(v.sub(site.begin, start), v.i(0)), v.min(v.sub(site.end, start), rowTiles));
  });
}

void ContractionEmitter::emitPanel(Value group, Value tileFrom, Value tileTo) {
  Value panelCount = v.max(panels, v.i(1));
  Value batch = v.div(group, panelCount);
  Value panelIndex = v.sub(group, v.mul(batch, panelCount));
  BodyEmitter point = body;
  shape.batch.bind(v, point, batch, shape.batchFlat);
  Value firstColumn = v.mul(panelIndex, panelColumns);
  Value panel = site.scratch;
  if (shape.packed)
    panel = v.at(refOf(shape.op.getRhs()), v.mul(v.mul(panelIndex, depth), panelColumns), panelType);
  else
    emitPackPanel(v, shape, point, refOf(shape.op.getRhs()), firstColumn, columns, depth, panel);
  v.loop(tileFrom, tileTo, 1, [&](Value tile) { emitTile(point, panel, tile, firstColumn); });
}

/// The rows are split exactly: the first tiles have one row more than the rest. No row is computed twice, so an epilogue
/// may update in place.
void ContractionEmitter::emitTile(const BodyEmitter &point, Value panel, Value tileIndex, Value firstColumn) {
  Value high = v.ceilDiv(rows, rowTiles), low = v.sub(high, 1);
  Value highTiles = v.sub(rows, v.mul(rowTiles, low));
  Value row = v.add(v.mul(tileIndex, low), v.min(tileIndex, highTiles));
  Value count = v.select(v.less(tileIndex, highTiles), high, low);
  tiles.emit(point, panel, row, count, depth, tileBuffer);
  emitEpilogue(point, row, count, firstColumn);
}

void ContractionEmitter::emitEpilogue(const BodyEmitter &point, Value row, Value count, Value firstColumn) {
  auto allRows = [&](bool partial) {
    v.loop(v.i(0), count, 1, [&](Value r) {
      BodyEmitter at = point;
      shape.rows.bind(v, at, v.add(row, r), shape.rowsFlat);
      emitRowColumns(at, v.mul(r, panelColumns), firstColumn, partial);
    });
  };
  std::optional<int64_t> known = getConstantIntValue(columns);
  if (known && *known % panelColumns == 0)
    return allRows(false);
  Value whole = v.less(v.add(firstColumn, panelColumns - 1), columns);
  v.ifThen(whole, [&] { allRows(false); }, [&] { allRows(true); });
}

/// True when a vector of columns never straddles two points of an outer column axis.
bool ContractionEmitter::lanesStayInAxis() const {
  if (shape.columns.empty() || shape.columnsFlat)
    return true;
  std::optional<int64_t> inner = shape.columns.info->extents[shape.columns.carrier()].constant();
  return inner && *inner % v.lanes == 0;
}

void ContractionEmitter::emitRowColumns(const BodyEmitter &point, Value tileRow, Value firstColumn, bool partial) {
  bool vectors = lanesStayInAxis();
  unsigned width = vectors ? v.lanes : 1;
  auto one = [&](Value c) {
    Value column = v.add(firstColumn, c), offset = v.add(tileRow, c);
    if (vectors) {
      emitVector(point, offset, column, partial ? v.firstLanes(v.sub(columns, column)) : Value());
      return;
    }
    auto scalar = [&] { emitVector(point, offset, column, {}); };
    if (partial)
      v.ifThen(v.less(column, columns), scalar);
    else
      scalar();
  };
  if (panelColumns <= 2 * width) {
    for (unsigned c = 0; c < panelColumns; c += width)
      one(v.i(c));
    return;
  }
  v.loop(v.i(0), v.i(panelColumns), width, one);
}

/// The epilogue of one vector of columns (or of one column), at a row.
void ContractionEmitter::emitVector(BodyEmitter point, Value tileOffset, Value column, Value mask) {
  bool vectors = lanesStayInAxis();
  if (!shape.columns.empty()) {
    shape.columns.bind(v, point, column, shape.columnsFlat);
    if (vectors) {
      const std::string &lane = shape.columns.info->axes[shape.columns.carrier()];
      point.bindLane(lane, point.axisValue(lane), v.lanes, mask);
    }
  }
  bool asVector = vectors && !shape.columns.empty();
  Value sum = asVector ? v.load(tileBuffer, tileOffset) : v.loadScalar(tileBuffer, tileOffset);
  point.bindValue(shape.op.getResult(), sum);
  for (kernel::StoreOp s : stores)
    point.emitStore(s);
}

bool lathe::cpu::emitContraction(const KernelSite &site, std::string &error) {
  std::optional<ContractionShape> shape = ContractionShape::of(site.info);
  if (!shape)
    return false;
  ContractionEmitter emitter(site, *shape);
  emitter.emit();
  error = emitter.error();
  return true;
}

bool lathe::cpu::planContraction(const KernelSite &site, KernelPlan &plan) {
  std::optional<ContractionShape> shape = ContractionShape::of(site.info);
  if (!shape)
    return false;
  ContractionEmitter(site, *shape).plan(plan);
  return true;
}
