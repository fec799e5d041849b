//===- Contraction.cpp - CPU code for contraction kernels ------------------===//

#include "Contraction.h"
#include "ContractionEpilogue.h"
#include "ContractionPack.h"
#include "ContractionProduct.h"
#include "ContractionTile.h"
#include "KernelEmitters.h"
#include "lathe/Schedule/ScheduleDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using shape::Expr;

/// Tiles that a thread takes at least where it converts their panel.
constexpr int64_t tilesPerPanel = 8;

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
  void emitTile(ContractionTile &kernels, const BodyEmitter &point, Value panel, Value tileIndex, Value firstColumn, unsigned width);
  void emitTiles(const BodyEmitter &point, Value panel, Value tileFrom, Value tileTo, Value firstColumn, unsigned width);
  void emitWidths(const BodyEmitter &point, Value panel, Value tileFrom, Value tileTo, Value firstColumn);
  void widenPanel(Value panel);

  KernelFunction &f;
  const ContractionShape &shape;
  schedule::TilesAttr asked;
  VectorBuilder v;
  BodyEmitter body;
  Type panelType;
  ContractionTile tiles;
  std::optional<ContractionTile> wideTiles; ///< for a packed panel of a half type that was converted
  ContractionEpilogue epilogue;
  Value rows, columns, depth, panels, rowTiles;
};
} // namespace

ContractionEmitter::ContractionEmitter(KernelFunction &f, const ContractionShape &shape)
    : f(f), shape(shape), asked(llvm::dyn_cast_or_null<schedule::TilesAttr>(f.schedule)), v(f.b, f.loc, f.isa, shape.accumulator),
      body(f.info, f.b, f.loc, f.sizes, f.refs, f.hooks),
      panelType(shape.packed ? shape.rhsType : shape.accumulator),
      tiles(v, shape, panelType, refOf(shape.lhsRef)), epilogue(v, shape, f.info, body, tiles.maxRows()) {
  if (asked && asked.getHeight() > 0)
    tiles.limitRows(asked.getHeight());
  rows = body.emitExpr(shape.rows.extent());
  columns = body.emitExpr(shape.columns.extent());
  depth = body.emitExpr(shape.reduced.extent());
  panels = v.ceilDiv(columns, panelColumns);
  rowTiles = v.ceilDiv(rows, tiles.maxRows());
  std::optional<int64_t> known = shape.rows.extent().constant();
  if (known)
    tiles.allowHeightsOf(*known);
  // Several tiles use a panel: it is converted once.
  if (panelType != shape.accumulator && !(known && *known <= int64_t(tiles.maxRows()))) {
    wideTiles.emplace(v, shape, shape.accumulator, refOf(shape.lhsRef));
    wideTiles->limitRows(tiles.maxRows());
    if (known)
      wideTiles->allowHeightsOf(*known);
  }
}

KernelPlan ContractionEmitter::plan() const {
  KernelPlan plan;
  Expr rowCount = shape.rows.extent(), depthCount = shape.reduced.extent();
  Expr tileCount = Expr::ceildiv(rowCount, tiles.maxRows());
  plan.items = shape.batch.extent() * Expr::ceildiv(shape.columns.extent(), panelColumns) * tileCount;
  if (wideTiles)
    plan.granularity = Expr::max(Expr(1), Expr::min(tileCount, Expr(tilesPerPanel)));
  if (!shape.packed || wideTiles)
    plan.scratchBytes = panelElements(v, shape) * int64_t(shape.accumulatorBytes);
  plan.cost = Expr(2 * panelColumns) * depthCount * Expr::ceildiv(rowCount, Expr::max(tileCount, 1));
  return plan;
}

/// Items are (batch point, panel, tile of rows), the last fastest: a group is a batch point and a panel.
void ContractionEmitter::emit() {
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
  emitWidths(point, panel, tileFrom, tileTo, firstColumn);
}

/// Where a schedule says so, the last panel is worked off in fewer columns if they are enough.
void ContractionEmitter::emitWidths(const BodyEmitter &point, Value panel, Value tileFrom, Value tileTo, Value firstColumn) {
  unsigned narrow = asked && asked.getNarrow() > 0 ? asked.getNarrow() : panelColumns;
  auto emit = [&](unsigned width) { emitTiles(point, panel, tileFrom, tileTo, firstColumn, width); };
  std::optional<int64_t> known = shape.columns.extent().constant();
  int64_t last = known ? *known % panelColumns : 1; // 0: a whole panel
  if (narrow >= panelColumns || narrow < v.lanes || last == 0 || last > int64_t(narrow))
    return emit(panelColumns);
  if (known && *known <= int64_t(narrow))
    return emit(narrow);
  v.ifThen(v.less(columns, v.add(firstColumn, narrow + 1)), [&] { emit(narrow); }, [&] { emit(panelColumns); });
}

void ContractionEmitter::emitTiles(const BodyEmitter &point, Value panel, Value tileFrom, Value tileTo, Value firstColumn,
                                   unsigned width) {
  auto each = [&](ContractionTile &kernels, Value from) {
    v.loop(tileFrom, tileTo, 1, [&](Value tile) { emitTile(kernels, point, from, tile, firstColumn, width); });
  };
  auto converted = [&] {
    widenPanel(panel);
    each(*wideTiles, f.scratch);
  };
  if (!wideTiles)
    return each(tiles, panel);
  if (shape.rows.extent().constant())
    return converted();
  v.ifThen(v.less(rows, v.i(tiles.maxRows() + 1)), [&] { each(tiles, panel); }, converted);
}

void ContractionEmitter::widenPanel(Value panel) {
  v.loop(v.i(0), v.mul(depth, panelColumns), v.lanes, [&](Value at) { v.store(v.loadConverted(panel, at, panelType), f.scratch, at); });
}

/// The rows are split exactly: the first tiles have one row more than the rest. No row is computed twice, so an epilogue
/// may update in place.
void ContractionEmitter::emitTile(ContractionTile &kernels, const BodyEmitter &point, Value panel, Value tileIndex, Value firstColumn,
                                  unsigned width) {
  Value high = v.ceilDiv(rows, rowTiles), low = v.sub(high, 1);
  Value highTiles = v.sub(rows, v.mul(rowTiles, low));
  Value row = v.add(v.mul(tileIndex, low), v.min(tileIndex, highTiles));
  Value count = v.select(v.less(tileIndex, highTiles), high, low);
  epilogue.request(point, row, count, firstColumn, width);
  if (&kernels == &tiles)
    kernels.requestNext(panel, tileIndex, depth);
  kernels.emit(point, panel, row, count, depth, epilogue.buffer(), width);
  epilogue.emit(point, row, count, firstColumn, width);
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
