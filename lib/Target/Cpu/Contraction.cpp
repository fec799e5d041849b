//===- Contraction.cpp - CPU code for contraction kernels ------------------===//

#include "Contraction.h"
#include "ContractionPack.h"
#include "ContractionProduct.h"
#include "ContractionTile.h"
#include "KernelEmitters.h"
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
  ContractionEmitter(KernelFunction &f, const ContractionShape &shape);
  void emit();
  KernelPlan plan() const;
  const std::string &error() const { return body.error(); }

private:
  Value refOf(Value ref) { return f.refs[cast<BlockArgument>(ref).getArgNumber()]; }
  void emitPanel(Value group, Value tileFrom, Value tileTo);
  void emitTile(const BodyEmitter &point, Value panel, Value tileIndex, Value firstColumn);
  void emitEpilogue(const BodyEmitter &point, Value row, Value rows, Value firstColumn);
  void emitRowColumns(const BodyEmitter &point, Value tileRow, Value firstColumn, bool partial);
  void emitVector(BodyEmitter point, Value tileOffset, Value column, Value mask);
  bool lanesStayInAxis() const;

  KernelFunction &f;
  const ContractionShape &shape;
  VectorBuilder v;
  BodyEmitter body;
  Type panelType;
  ContractionTile tiles;
  Value rows, columns, depth, panels, rowTiles, tileBuffer;
  SmallVector<kernel::StoreOp> stores;
};
} // namespace

ContractionEmitter::ContractionEmitter(KernelFunction &f, const ContractionShape &shape)
    : f(f), shape(shape), v(f.b, f.loc, f.isa, shape.accumulator),
      body(f.info, f.b, f.loc, f.sizes, f.refs, f.hooks),
      panelType(shape.packed ? shape.rhsType : shape.accumulator),
      tiles(v, shape, panelType, refOf(shape.lhsRef)) {
  rows = body.emitExpr(shape.rows.extent());
  columns = body.emitExpr(shape.columns.extent());
  depth = body.emitExpr(shape.reduced.extent());
  panels = v.ceilDiv(columns, panelColumns);
  rowTiles = v.ceilDiv(rows, tiles.maxRows());
  for (Operation *op : f.info.ops)
    if (auto s = dyn_cast<kernel::StoreOp>(op))
      stores.push_back(s);
}

KernelPlan ContractionEmitter::plan() const {
  KernelPlan plan;
  Expr rowCount = shape.rows.extent(), depthCount = shape.reduced.extent();
  Expr tileCount = Expr::ceildiv(rowCount, tiles.maxRows());
  plan.items = shape.batch.extent() * Expr::ceildiv(shape.columns.extent(), panelColumns) * tileCount;
  if (!shape.packed)
    plan.scratchBytes = panelElements(v, shape) * int64_t(shape.accumulatorBytes);
  plan.cost = Expr(2 * panelColumns) * depthCount * Expr::ceildiv(rowCount, Expr::max(tileCount, 1));
  return plan;
}

/// Items are (batch point, panel, tile of rows), the last fastest: a group is a batch point and a panel.
void ContractionEmitter::emit() {
  tileBuffer = v.b.create<LLVM::AllocaOp>(f.loc, LLVM::LLVMPointerType::get(v.b.getContext()), shape.accumulator,
                                          v.i(tiles.maxRows() * panelColumns), 64);
  Value perGroup = v.max(rowTiles, v.i(1));
  Value firstGroup = v.div(f.begin, perGroup), lastGroup = v.ceilDiv(f.end, perGroup);
  v.loop(firstGroup, lastGroup, 1, [&](Value group) {
    Value start = v.mul(group, perGroup);
    emitPanel(group, v.max(v.sub(f.begin, start), v.i(0)), v.min(v.sub(f.end, start), rowTiles));
  });
}

void ContractionEmitter::emitPanel(Value group, Value tileFrom, Value tileTo) {
  Value panelCount = v.max(panels, v.i(1));
  Value batch = v.div(group, panelCount);
  Value panelIndex = v.sub(group, v.mul(batch, panelCount));
  BodyEmitter point = body;
  shape.batch.bind(v, point, batch, shape.batchFlat);
  Value firstColumn = v.mul(panelIndex, panelColumns);
  Value panel = f.scratch;
  if (shape.packed)
    panel = v.at(refOf(shape.rhsRef), v.mul(v.mul(panelIndex, depth), panelColumns), panelType);
  else if (shape.rhsValue)
    emitComputePanel(v, shape, point, firstColumn, columns, panel);
  else
    emitPackPanel(v, shape, point, refOf(shape.rhsRef), firstColumn, columns, depth, panel);
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
  point.bindValue(shape.result, sum);
  for (kernel::StoreOp s : stores)
    point.emitStore(s);
}

static llvm::Expected<bool> emitShape(KernelFunction &f, const ContractionShape &shape, KernelPlan &plan) {
  ContractionEmitter emitter(f, shape);
  emitter.emit();
  plan = emitter.plan();
  if (!emitter.error().empty())
    return llvm::createStringError(emitter.error());
  return true;
}

llvm::Expected<bool> lathe::cpu::emitContraction(KernelFunction &f, KernelPlan &plan) {
  std::optional<ContractionShape> shape = ContractionShape::of(f.info);
  if (!shape)
    return false;
  return emitShape(f, *shape, plan);
}

llvm::Expected<bool> lathe::cpu::emitProduct(KernelFunction &f, KernelPlan &plan) {
  std::optional<ProductKernel> product = findProduct(f.info);
  if (!product)
    return false;
  KernelFunction joined{*product->kernel, *product->info, f.isa, f.hooks, f.b, f.loc, f.refs, {}, f.begin, f.end, f.scratch};
  for (const std::string &s : product->info->sizes) {
    auto it = llvm::find(f.info.sizes, s);
    if (it == f.info.sizes.end())
      return false;
    joined.sizes.push_back(f.sizes[it - f.info.sizes.begin()]);
  }
  return emitShape(joined, product->shape, plan);
}
