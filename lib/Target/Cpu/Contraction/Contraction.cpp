//===- Contraction.cpp - CPU code for contraction kernels ------------------===//

#include "Contraction.h"
#include "ContractionEpilogue.h"
#include "ContractionPack.h"
#include "ContractionProduct.h"
#include "ContractionTile.h"
#include "HalfPairs.h"
#include "../KernelEmitters.h"
#include "lathe/Artifact/Format.h"
#include "lathe/Schedule/Rows.h"
#include "lathe/Schedule/ScheduleDialect.h"
#include "lathe/Schedule/Tiles.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using schedule::RowAccess;
using shape::Expr;

/// Tiles that a thread takes at least where it converts their panel.
constexpr int64_t tilesPerPanel = 8;

/// What tiles read lies half of the second-level cache at most; the rest is for what passes by. No cache is smaller than this.
constexpr int64_t smallestHalf = 128 << 10;
/// So many panels are no more than one that is half empty.
constexpr int64_t mostPanels = 32;
/// Rows of a tile where columns are no more than half a panel.
constexpr int64_t narrowHeight = 8;
/// Panels that are put together at most where more would be held, the part of the third-level cache that they may take, and the part of it up to which
/// rows need none of this.
constexpr int64_t mostTogether = 16, partOfShared = 8, partForRows = 4;
/// Points of a sum that takes no longer than storing it, and second-level caches that its results are more than.
constexpr int64_t mostStreamedPoints = 64, streamedCaches = 4;
/// Tiles of rows that go through the parts of a long sum of the matrix unit together.
constexpr int64_t tilesOfParts = 8;
/// Items that each thread has at least, where panels are put together.
constexpr int64_t itemsPerThread = 4;
/// Of rows that are read part by part: bytes of a part, what stays in the first-level cache, beside a panel's, or near it; its points, beside which a
/// tile's sums are little, and panels that are put together then.
constexpr int64_t partBytes = 24 << 10, fewestPartPoints = 64, mostPartPoints = 256, mostPartPanels = 8;

namespace {
class ContractionEmitter {
public:
  ContractionEmitter(KernelFunction &f, const ContractionShape &shape);
  /// The second factor is computed line by line, over another body's axes.
  void computeLines(const WindowLines &of, const BodyEmitter &over) {
    lines = &of;
    lineBody.emplace(over);
  }
  void emit();
  KernelPlan plan() const;
  const std::string &error() const { return lineBody && body.error().empty() ? lineBody->error() : body.error(); }

private:
  /// A tile of rows: its number, its first row, and how many rows it has.
  struct Tile {
    Value index, row, count;
  };
  Value refOf(Value ref) { return f.refs[cast<BlockArgument>(ref).getArgNumber()]; }
  Expr tileCount() const { return Expr::ceildiv(shape.rows.extent(), mostOfTile()); }
  Expr mostOfTile() const;
  Expr panelCount() const { return Expr::ceildiv(shape.columns.extent(), panelColumns); }
  Expr panelsTogether() const;
  Expr streamedPanels(const Expr &cache) const;
  Expr panelPitch() const;
  Expr panelScratch() const;
  void emitGroups();
  void emitGroup(Value group, Value tileFrom, Value tileTo);
  void emitSingleRow(unsigned streams);
  void emitStreams(const BodyEmitter &point, Value panelIndex, unsigned panels);
  Value packedPanel(Value panelIndex);
  void packPanel(const BodyEmitter &point, Value batch, Value firstColumn, Value to);
  void emitTiles(ContractionTile &kernels, const BodyEmitter &point, Value tileFrom, Value tileTo, Value firstPanel, Value count);
  void eachTile(ContractionTile &kernels, Value from, Value to, llvm::function_ref<void(const Tile &)> body);
  /// `takes`: the epilogue takes sums as they leave their registers.
  void emitTile(ContractionTile &kernels, const BodyEmitter &point, const Tile &tile, Value firstPanel, Value p, unsigned width, bool takes);
  /// Of a group. One alone needs no loop: without columns there are no items.
  void eachPanel(Value from, Value to, llvm::function_ref<void(Value)> body) {
    getConstantIntValue(together) == 1 ? body(from) : v.loop(from, to, 1, body);
  }
  int64_t partPoints() const;
  RowAccess rowAccess() const;
  bool sumsInParts() const { return access == RowAccess::Parts; }
  bool packsTiles() const { return access == RowAccess::Blocks; }
  bool packsRows() const { return access == RowAccess::Once; }
  void emitParts(const BodyEmitter &point, Value tileFrom, Value tileTo, Value firstPanel, Value count);
  void emitPairedParts(const BodyEmitter &point, Value tileFrom, Value tileTo, Value firstPanel, Value count);
  void clearSums(Value sums, Value count);
  Value partialSums(const Tile &tile, Value p);
  int64_t tilePitch() const { return (tiles.maxRows() + v.lanes - 1) / v.lanes * v.lanes; }
  /// Rows of some 48 elements, three lines of f32; a power of two.
  int64_t tilesPerBlock() const { return llvm::bit_floor(std::max(1u, 48 / tiles.maxRows())); }
  Value packedTile(Value number) { return v.at(f.scratch, v.add(f.emitExpr(panelScratch()), v.mul(number, v.mul(depth, tilePitch())))); }
  void packTiles(const BodyEmitter &point, Value first, Value tileTo);
  /// Elements of a tile of rows that were packed for all panels.
  Value tileElements() { return v.mul(depth, tiles.maxRows()); }
  void packRows(Value tileFrom, Value tileTo);
  Tile tileAt(Value index);
  Value scratchPanel(Value number) { return v.at(f.scratch, v.mul(number, scratchElements)); }
  void emitPart(const BodyEmitter &point, const Tile &tile, Value panel, Value p, Value firstColumn, unsigned width);
  void convertPanel(const BodyEmitter &point, Value panelIndex, Value to);
  /// Rows that the unit multiplies together, where it does: a panel that no first cache holds is read for each tile.
  std::optional<unsigned> mostUnitRows() const {
    if (!HalfPairs::fit(shape, f.isa) || !HalfPairs::fitTiles(shape, f.isa))
      return std::nullopt;
    int64_t most = MatrixUnit::groupRows;
    return unsigned(asked && asked.getHeight() > 0 ? std::min<int64_t>(asked.getHeight(), most) : most);
  }
  /// Rows of a tile register: half of the tallest tile's.
  Value unitRows() { return v.max(v.ceilDiv(high, MatrixUnit::tilesOfGroup), v.i(1)); }
  bool multipliesPairs(const ContractionTile &kernels) const { return pairs && &kernels != &tiles; }
  unsigned mostPairedRows() const { return mostUnitRows().value_or(tiles.maxRows()); }
  /// The tile's rows as pairs, behind the panels, and behind them the sums of parts.
  Value pairedRows() { return v.at(f.scratch, f.emitExpr(panelScratch())); }
  /// Of a tile's partial sums; registers of the unit have the same height.
  unsigned sumRows() const { return pairs ? llvm::alignTo(mostPairedRows(), MatrixUnit::tilesOfGroup) : tiles.maxRows(); }
  int64_t pairedElements() const { return (mostPairedRows() + 1) * pairs->pitch(); }
  Expr pairedSums() const { return panelsTogether() * (pairs->parts() > 1 ? tilesOfParts * int64_t(sumRows()) * panelColumns : 0); }

  KernelFunction &f;
  const ContractionShape &shape;
  schedule::TilesAttr asked;
  VectorBuilder v;
  BodyEmitter body;
  Type panelType;
  ContractionTile tiles;
  std::optional<ContractionTile> wideTiles; ///< for a panel of a half type that was converted
  std::optional<HalfPairs> pairs;           ///< and of one that is multiplied as such
  std::optional<MatrixUnit> unit;           ///< in tile registers
  ContractionEpilogue epilogue;
  const WindowLines *lines = nullptr;
  std::optional<BodyEmitter> lineBody;
  RowAccess access = RowAccess::InPlace;
  Value rows, columns, depth, panels, rowTiles, together, groups, scratchElements;
  Value high, lowTiles; ///< rows of the last tiles; the first ones, of this number, have one row less
  /// Some points of the sum, whose tiles add to those of the part before; the last one's are results.
  struct Part {
    Value first, count, isLast;
    Value sums, firstTile; ///< [tile][panel of the group][row][column], from a tile on
  };
  std::optional<Part> part;
};
} // namespace

ContractionEmitter::ContractionEmitter(KernelFunction &f, const ContractionShape &shape)
    : f(f), shape(shape), asked(llvm::dyn_cast_or_null<schedule::TilesAttr>(f.schedule)), v(f.b, f.loc, f.isa, shape.accumulator),
      body(f.info, f.b, f.loc, f.sizes, f.refs, f.hooks),
      panelType(shape.packed ? shape.rhsType : shape.accumulator),
      tiles(v, shape, panelType, refOf(shape.lhsRef)), epilogue(v, shape, f.info, body, mostUnitRows().value_or(tiles.maxRows())) {
  if (asked && asked.getHeight() > 0)
    tiles.limitRows(asked.getHeight());
  else if (f.isa.registers >= 32 && shape.columns.extent().constant().value_or(panelColumns) <= panelColumns / 2)
    tiles.limitRows(narrowHeight);
  std::optional<int64_t> known = shape.rows.extent().constant();
  bool several = !known || *known > int64_t(tiles.maxRows());
  if (several && HalfPairs::fit(shape, f.isa) && !HalfPairs::pays(shape).isZero()) {
    if (mostUnitRows())
      unit.emplace(v);
    pairs.emplace(v, shape, unit.has_value());
  }
  access = rowAccess();
  rows = body.emitExpr(shape.rows.extent());
  columns = body.emitExpr(shape.columns.extent());
  depth = body.emitExpr(shape.reduced.extent());
  panels = v.ceilDiv(columns, panelColumns);
  rowTiles = v.ceilDiv(rows, body.emitExpr(mostOfTile()));
  high = v.ceilDiv(rows, v.max(rowTiles, v.i(1)));
  lowTiles = v.sub(v.mul(rowTiles, high), rows);
  together = f.emitExpr(panelsTogether());
  groups = v.max(v.ceilDiv(panels, together), v.i(1));
  scratchElements = body.emitExpr(panelPitch());
  if (known) {
    tiles.allowHeightsOf(*known);
    tiles.setReaders(*tileCount().constant(), *tileCount().constant());
  }
  // Several tiles use a panel: it is converted once.
  if ((panelType != shape.accumulator || pairs) && several) {
    wideTiles.emplace(v, shape, shape.accumulator, refOf(shape.lhsRef));
    wideTiles->limitRows(tiles.maxRows());
    if (known)
      wideTiles->allowHeightsOf(*known);
    if (pairs)
      wideTiles->setPairs(pairedRows(), pairs->pitch());
  }
}

/// Rows of a tile at most. Where half a panel is all there is, a tile's rows are what is read: eight are as many sums as multiply-adds are on their way, and
/// fewer streams from memory than twelve (4096x4096x16 on a Zen 5: 0.87 of the time).
Expr ContractionEmitter::mostOfTile() const {
  int64_t most = tiles.maxRows();
  if (unit)
    return Expr(most) + HalfPairs::pays(shape) * Expr(*mostUnitRows() - most);
  bool open = !shape.rows.extent().constant() && !shape.columns.extent().constant(), free = !asked || asked.getHeight() <= 0;
  if (f.isa.registers < 32 || !open || !free || most <= narrowHeight)
    return Expr(most);
  Expr half = Expr::min(Expr(1), Expr::floordiv(Expr(int64_t(panelColumns / 2)), Expr::max(Expr(1), shape.columns.extent())));
  return Expr(most) - half * Expr(most - narrowHeight);
}

/// Panels that tiles pass by together. Where the rows do not stay in the second-level cache while one panel after the other passes
/// by, each tile of rows is read once for as many panels as that cache holds, or a part of the next one: what lies there one behind the other comes
/// in time, while a tile's rows are as many streams. Panels that the first cache holds are put together wherever there are several, so that a
/// tile stores longer stretches of its rows.
Expr ContractionEmitter::panelsTogether() const {
  Expr all = Expr::max(Expr(1), panelCount());
  if (asked && asked.getPanels() > 0)
    return Expr::min(Expr(asked.getPanels()), all);
  int64_t lhsBytes = std::max(1u, shape.lhsType.getIntOrFloatBitWidth() / 8);
  Expr rowBytes = shape.rows.extent() * shape.reduced.extent() * lhsBytes;
  Expr panelBytes = Expr::max(Expr(1), (pairs ? Expr(pairs->words()) : shape.reduced.extent()) * int64_t(panelColumns * shape.accumulatorBytes));
  auto atMost = [](const Expr &count) { return Expr::min(Expr(mostTogether), count); };
  Expr near = atMost(Expr::floordiv(Expr(int64_t(f.isa.costs.firstCache / 2)), panelBytes));
  std::optional<int64_t> known = rowBytes.constant();
  bool stay = known && *known <= smallestHalf && !pairs, parts = sumsInParts();
  if (f.run.empty() || (stay && near.constant().value_or(2) <= 1))
    return Expr(1);
  auto fact = [](unsigned number) { return Expr::symbol(runFacts[number]); };
  Expr threads = Expr::max(Expr(1), fact(LATHE_FACT_THREADS)),
       half = Expr::max(Expr(smallestHalf), Expr::floordiv(fact(LATHE_FACT_CACHE), Expr(2)));
  // Rows that are rounded are written again for each group, too.
  // Rows of which the third-level cache holds several times as many come in time, too.
  Expr shared = fact(LATHE_FACT_SHARED), far = Expr::min(Expr(1), Expr::floordiv(rowBytes, Expr::max(Expr(1), Expr::floordiv(shared, Expr(partForRows)))));
  Expr held = Expr::max(Expr::floordiv(half, panelBytes), far * atMost(Expr::floordiv(shared, panelBytes * partOfShared)));
  Expr streamed = Expr::max(near, streamedPanels(fact(LATHE_FACT_CACHE)));
  Expr passes = pairs ? all : stay ? streamed : Expr::max(streamed, Expr(1) + all * Expr::floordiv(rowBytes, half));
  Expr balanced = Expr::floordiv(shape.batch.extent() * all * tileCount(), threads * itemsPerThread);
  if (parts)
    return Expr::max(Expr(1), Expr::min(Expr::min(Expr(mostPartPanels), all), balanced));
  // Who takes some tiles of a group converts its panels. Where there are no more tiles, threads have as many groups each, of nearly one size.
  if (pairs) {
    Expr enough = Expr::min(Expr(1), Expr::floordiv(shape.batch.extent() * tileCount(), threads * tilesPerPanel)), shares = threads - enough * (threads - Expr(1));
    held = Expr::ceildiv(all, shares * Expr::ceildiv(all, shares * Expr::max(Expr(1), held)));
  }
  return Expr::max(Expr(1), Expr::min(Expr::min(held, balanced), Expr::min(all, passes)));
}

/// Of a short sum whose results are many times what a core's cache holds, storing them is what takes time: all panels, so that rows are written from end
/// to end (Zen 5, sums of 16, 4096x4096: 0.81 of the time of stretches of 12 panels).
Expr ContractionEmitter::streamedPanels(const Expr &cache) const {
  Expr results = shape.batch.extent() * shape.rows.extent() * shape.columns.extent() * int64_t(shape.accumulatorBytes);
  auto atMostOne = [](const Expr &e) { return Expr::min(Expr(1), e); };
  return panelCount() * atMostOne(Expr::floordiv(results, Expr::max(Expr(1), cache * streamedCaches))) *
         atMostOne(Expr::floordiv(Expr(mostStreamedPoints), Expr::max(Expr(1), shape.reduced.extent())));
}

/// As the schedule says, where that is possible. What has no schedule, a product whose panels are computed, goes by what is known of sizes, and a sum of
/// unknown length is taken to be long.
RowAccess ContractionEmitter::rowAccess() const {
  constexpr int64_t manyPoints = 1024;
  std::optional<Expr> reduced = shape.reduced.strideOf(shape.lhs);
  Expr points = shape.reduced.extent();
  schedule::FirstOperand o{shape.rows.extent(), points.constant() ? points : Expr(manyPoints), panelCount(), shape.rows.strideOf(shape.lhs), reduced};
  o.plain = shape.lhsType == shape.accumulator && panelType == shape.accumulator && !pairs;
  o.shared = llvm::none_of(shape.batch.axes, [&](unsigned a) { return shape.lhs.mentions(shape.batch.info->axes[a]); });
  o.packed = bool(shape.packed);
  o.parts = !shape.rhsValue && !lines && (shape.packed || shape.reduced.strideOf(shape.rhs));
  o.bytes = shape.accumulatorBytes;
  for (auto &[way, when] : schedule::rowAccesses(o, f.isa)) {
    std::optional<schedule::Predicate> open = when.unknown();
    if (asked && asked.getRows() >= 0 ? asked.getRows() == int64_t(way) : open && open->always())
      return way;
  }
  return RowAccess::InPlace;
}

int64_t ContractionEmitter::partPoints() const {
  int64_t rows = std::max<int64_t>(1, shape.rows.extent().constant().value_or(INT16_MAX)), points = partBytes / (rows * int64_t(shape.accumulatorBytes));
  return std::clamp(points - points % fewestPartPoints, fewestPartPoints, mostPartPoints);
}

/// Elements of a panel in scratch memory: of a part of the sum, or of all.
Expr ContractionEmitter::panelPitch() const {
  if (pairs && shape.packed)
    return Expr((pairs->words() + v.lanes) * panelColumns);
  return sumsInParts() ? Expr((partPoints() + v.lanes) * panelColumns) : panelElements(v, shape);
}

/// Of the group's panels, which tiles of rows follow.
Expr ContractionEmitter::panelScratch() const { return shape.packed && !wideTiles ? Expr(0) : panelsTogether() * panelPitch(); }

/// Of few rows that lie side by side, point after point, some points are as much as the first-level cache holds: all tiles read them from there as they lie,
/// and none is copied. Their sums go on in the next part. The panels, too, are packed part by part. An empty sum has a part, too.
void ContractionEmitter::emitParts(const BodyEmitter &point, Value tileFrom, Value tileTo, Value firstPanel, Value count) {
  Value sums = v.at(f.scratch, f.emitExpr(panelScratch()));
  clearSums(sums, v.sub(tileTo, tileFrom));
  BodyEmitter origin = point;
  Value step = origin.emitExpr(*shape.reduced.strideOf(shape.lhs));
  v.loop(v.i(0), v.max(depth, v.i(1)), partPoints(), [&](Value first) {
    Value points = v.min(v.sub(depth, first), v.i(partPoints()));
    part = Part{first, points, v.less(v.sub(depth, v.i(1)), v.add(first, partPoints())), sums, tileFrom};
    if (!shape.packed)
      eachPanel(v.i(0), count, [&](Value p) {
        Value column = v.mul(v.add(firstPanel, p), panelColumns);
        emitPackPanel(v, shape, point, refOf(shape.rhsRef), column, columns, points, scratchPanel(p), first);
      });
    tiles.setRows(v.at(refOf(shape.lhsRef), v.mul(first, step), shape.lhsType));
    emitTiles(tiles, point, tileFrom, tileTo, firstPanel, count);
  });
  part.reset();
}

void ContractionEmitter::clearSums(Value sums, Value count) {
  v.loop(v.i(0), v.mul(v.mul(count, together), sumRows() * panelColumns), v.lanes, [&](Value at) { v.store(v.f(0), sums, at); });
}

/// Long sums of the matrix unit: words of a part of the panels and of a tile's rows are as many as near caches hold. Some tiles at a time go
/// through all parts, so that their sums do, too.
void ContractionEmitter::emitPairedParts(const BodyEmitter &point, Value tileFrom, Value tileTo, Value firstPanel, Value count) {
  Value sums = v.at(pairedRows(), v.i(pairedElements()));
  v.loop(tileFrom, tileTo, tilesOfParts, [&](Value from) {
    Value to = v.min(v.add(from, tilesOfParts), tileTo);
    clearSums(sums, v.sub(to, from));
    v.loop(v.i(0), v.i(pairs->parts()), 1, [&](Value index) {
      Value first = v.mul(index, pairs->points());
      part = Part{first, v.i(pairs->points()), v.equal(index, v.i(pairs->parts() - 1)), sums, from};
      eachPanel(v.i(0), count, [&](Value p) { convertPanel(point, v.add(firstPanel, p), scratchPanel(p)); });
      emitTiles(*wideTiles, point, from, to, firstPanel, count);
    });
  });
  part.reset();
}

Value ContractionEmitter::partialSums(const Tile &tile, Value p) {
  Value number = v.add(v.mul(v.sub(tile.index, part->firstTile), together), p);
  return v.at(part->sums, v.mul(number, sumRows() * panelColumns));
}

/// Copies the tiles from `first` on, as many as whole lines are worth reading for, each as [depth][tilePitch].
void ContractionEmitter::packTiles(const BodyEmitter &base, Value first, Value tileTo) {
  struct Source {
    Value from, to;
    SmallVector<Value> masks;
  };
  Value step;
  SmallVector<Source> sources;
  for (int64_t t = 0; t < tilesPerBlock(); ++t) {
    Tile tile = tileAt(v.min(v.add(first, t), v.sub(tileTo, 1)));
    BodyEmitter point = base;
    shape.reduced.bindFirst(v, point);
    shape.rows.bind(v, point, tile.row, /*flat=*/true);
    step = step ? step : point.emitExpr(*shape.reduced.strideOf(shape.lhs));
    sources.push_back({v.at(refOf(shape.lhsRef), point.emitExpr(shape.lhs), shape.lhsType), packedTile(v.i(t)), {}});
    for (int64_t q = 0; q < tilePitch(); q += v.lanes)
      sources.back().masks.push_back(v.firstLanes(v.sub(tile.count, q)));
  }
  v.loop(v.i(0), depth, 1, [&](Value k) {
    Value from = v.mul(k, step), to = v.mul(k, tilePitch());
    for (const Source &s : sources)
      for (auto [i, mask] : llvm::enumerate(s.masks))
        v.store(v.loadConverted(s.from, v.add(from, i * v.lanes), shape.lhsType, mask), s.to, v.add(to, i * v.lanes));
  });
}

/// Rows that many panels pass by, the elements of a tile for a point of the sum side by side. Squares of a tile's rows and as many points as lanes are
/// transposed in registers. What lies behind the tile's rows, and behind the last point, is written over by the next one.
void ContractionEmitter::packRows(Value tileFrom, Value tileTo) {
  Value last = v.sub(rows, 1), to = v.at(f.scratch, f.emitExpr(panelScratch()));
  v.loop(tileFrom, tileTo, 1, [&](Value index) {
    Tile tile = tileAt(index);
    VectorBuilder::Values starts;
    for (unsigned r = 0; r < tiles.maxRows(); ++r) {
      BodyEmitter point = body;
      shape.reduced.bindFirst(v, point);
      shape.rows.bind(v, point, v.min(v.add(tile.row, r), last), /*flat=*/true);
      starts.push_back(point.emitExpr(shape.lhs));
    }
    Value packed = v.at(to, v.mul(index, tileElements()));
    bool whole = shape.reduced.extent().constant().value_or(1) % v.lanes == 0;
    v.loop(v.i(0), depth, v.lanes, [&](Value k) {
      VectorBuilder::Values square;
      Value inside = whole ? Value() : v.firstLanes(v.sub(depth, k));
      for (unsigned r = 0; r < v.lanes; ++r)
        square.push_back(r < starts.size() ? v.loadConverted(refOf(shape.lhsRef), v.add(starts[r], k), shape.lhsType, inside) : v.f(0));
      for (auto [i, points] : llvm::enumerate(v.transpose(square)))
        v.store(points, packed, v.mul(v.add(k, i), tiles.maxRows()));
    });
  });
}

KernelPlan ContractionEmitter::plan() const {
  KernelPlan plan;
  Expr rowCount = shape.rows.extent(), group = panelsTogether();
  plan.items = shape.batch.extent() * Expr::ceildiv(panelCount(), group) * tileCount();
  if (wideTiles)
    plan.granularity = Expr::max(Expr(1), Expr::min(tileCount(), Expr(tilesPerPanel)));
  plan.scratchBytes = panelScratch() * int64_t(shape.accumulatorBytes);
  if (pairs) // a row more: tiles of one height
    plan.scratchBytes = plan.scratchBytes + (Expr(pairedElements()) + pairedSums()) * int64_t(shape.accumulatorBytes);
  if (sumsInParts())
    plan.scratchBytes = (panelScratch() + tileCount() * group * Expr(int64_t(tiles.maxRows()) * panelColumns)) * int64_t(shape.accumulatorBytes);
  if (packsTiles())
    plan.scratchBytes = plan.scratchBytes + shape.reduced.extent() * (tilesPerBlock() * tilePitch() * int64_t(shape.accumulatorBytes));
  if (packsRows()) {
    Expr threads = f.run.empty() ? Expr(1) : Expr::max(Expr(1), Expr::symbol(runFacts[LATHE_FACT_THREADS]));
    plan.scratchBytes = plan.scratchBytes + (tileCount() * shape.reduced.extent() * tiles.maxRows() + v.lanes * v.lanes) * int64_t(shape.accumulatorBytes);
    plan.granularity = Expr::max(Expr(1), Expr::ceildiv(plan.items, threads)); // each thread packs its own
  }
  plan.cost = Expr(2 * panelColumns) * shape.reduced.extent() * Expr::ceildiv(rowCount, Expr::max(tileCount(), 1)) * group;
  return plan;
}

void ContractionEmitter::emit() {
  std::optional<unsigned> streams = tiles.streams();
  if (!streams)
    return emitGroups();
  if (shape.rows.extent().isOne())
    return emitSingleRow(*streams);
  v.ifThen(v.equal(rows, v.i(1)), [&] { emitSingleRow(*streams); }, [&] { emitGroups(); });
}

/// A single row is an item for each group of panels: those of a batch point lie one behind the other, and go by some at a time.
void ContractionEmitter::emitSingleRow(unsigned streams) {
  v.loop(v.div(f.begin, groups), v.ceilDiv(f.end, groups), 1, [&](Value batch) {
    BodyEmitter point = body;
    shape.batch.bind(v, point, batch, shape.batchFlat);
    Value start = v.mul(batch, groups), to = v.min(v.mul(v.sub(f.end, start), together), panels);
    Value from = v.mul(v.max(v.sub(f.begin, start), v.i(0)), together), whole = v.max(v.min(to, v.div(columns, v.i(panelColumns))), from);
    Value several = v.add(from, v.roundDown(v.sub(whole, from), streams));
    v.loop(from, several, streams, [&](Value p) { emitStreams(point, p, streams); });
    v.loop(several, to, 1, [&](Value p) { emitStreams(point, p, 1); });
  });
}

void ContractionEmitter::emitStreams(const BodyEmitter &point, Value panelIndex, unsigned count) {
  Value sums = epilogue.buffer(), column = v.mul(panelIndex, panelColumns);
  v.loop(v.i(0), v.i(count), 1, [&](Value p) { epilogue.request(point, v.i(0), v.i(1), v.add(column, v.mul(p, panelColumns))); });
  tiles.emitStreams(point, packedPanel(panelIndex), depth, count, sums);
  v.loop(v.i(0), v.i(count), 1, [&](Value p) {
    epilogue.setBuffer(v.at(sums, v.mul(p, panelColumns)));
    epilogue.emit(point, v.i(0), v.i(1), v.add(column, v.mul(p, panelColumns)));
  });
  epilogue.setBuffer(sums);
}

/// Items are (batch point, group of panels, tile of rows), the last fastest.
void ContractionEmitter::emitGroups() {
  Value perGroup = v.max(rowTiles, v.i(1));
  Value firstGroup = v.div(f.begin, perGroup), lastGroup = v.ceilDiv(f.end, perGroup);
  if (packsRows()) {
    Value several = v.less(v.add(firstGroup, 1), lastGroup), start = v.mul(firstGroup, perGroup);
    packRows(v.select(several, v.i(0), v.sub(f.begin, start)), v.select(several, rowTiles, v.sub(f.end, start)));
  }
  if (unit)
    unit->configure(unitRows(), v.i(pairs->step()));
  v.loop(firstGroup, lastGroup, 1, [&](Value group) {
    Value start = v.mul(group, perGroup);
    emitGroup(group, v.max(v.sub(f.begin, start), v.i(0)), v.min(v.sub(f.end, start), rowTiles));
  });
  if (unit)
    unit->release();
}

void ContractionEmitter::emitGroup(Value group, Value tileFrom, Value tileTo) {
  Value batch = v.div(group, groups);
  Value firstPanel = v.mul(v.sub(group, v.mul(batch, groups)), together);
  Value count = v.min(together, v.sub(panels, firstPanel));
  BodyEmitter point = body;
  shape.batch.bind(v, point, batch, shape.batchFlat);
  if (sumsInParts())
    return emitParts(point, tileFrom, tileTo, firstPanel, count);
  auto asTheyAre = [&] {
    if (!shape.packed)
      eachPanel(v.i(0), count, [&](Value p) { packPanel(point, batch, v.mul(v.add(firstPanel, p), panelColumns), scratchPanel(p)); });
    emitTiles(tiles, point, tileFrom, tileTo, firstPanel, count);
  };
  if (!wideTiles)
    return asTheyAre();
  auto converted = [&] {
    if (pairs && pairs->parts() > 1)
      return emitPairedParts(point, tileFrom, tileTo, firstPanel, count);
    eachPanel(v.i(0), count, [&](Value p) { convertPanel(point, v.add(firstPanel, p), scratchPanel(p)); });
    emitTiles(*wideTiles, point, tileFrom, tileTo, firstPanel, count);
  };
  Expr pays = pairs ? HalfPairs::pays(shape) : Expr(1);
  if (!pays.constant())
    return v.ifThen(v.less(f.emitExpr(pays), v.i(1)), asTheyAre, converted);
  if (shape.rows.extent().constant())
    return converted();
  v.ifThen(v.less(rows, v.i(tiles.maxRows() + 1)), asTheyAre, converted);
}

Value ContractionEmitter::packedPanel(Value panelIndex) {
  return v.at(refOf(shape.rhsRef), v.mul(v.mul(panelIndex, depth), panelColumns), panelType);
}

void ContractionEmitter::packPanel(const BodyEmitter &point, Value batch, Value firstColumn, Value to) {
  if (lines) {
    BodyEmitter line = *lineBody;
    shape.batch.bind(v, line, batch, shape.batchFlat);
    emitWindowPanel(v, shape, *lines, point, line, firstColumn, columns, to, f.isa.costs.firstCache);
  } else if (shape.rhsValue)
    emitComputePanel(v, shape, point, firstColumn, columns, to);
  else
    emitPackPanel(v, shape, point, refOf(shape.rhsRef), firstColumn, columns, depth, to);
}

/// Is half of the last panel enough, and a part of all that counts? What has no schedule is a product whose panels are computed.
static bool lessWork(int64_t columns) {
  int64_t last = columns % panelColumns;
  return last > 0 && last <= panelColumns / 2 && columns < mostPanels * panelColumns;
}

/// Where a schedule says so, the last panel is worked off in fewer columns if they are enough: behind the others, so that these
/// ask nothing.
void ContractionEmitter::emitTiles(ContractionTile &kernels, const BodyEmitter &point, Value tileFrom, Value tileTo,
                                   Value firstPanel, Value count) {
  std::optional<int64_t> known = shape.columns.extent().constant();
  unsigned narrow = asked && asked.getNarrow() > 0 ? asked.getNarrow() : known && lessWork(*known) ? panelColumns / 2 : panelColumns;
  int64_t last = known ? *known % panelColumns : 1; // 0: a whole panel
  bool paired = multipliesPairs(kernels);
  bool whole = paired || // or the rows would be converted for the last panel again
                narrow >= panelColumns || narrow < v.lanes || last == 0 || last > int64_t(narrow);
  bool direct = asked && asked.getDirect() >= 0 ? asked.getDirect() == 1 : known && epilogue.takesSums(shape.reduced.extent().constant());
  bool takes = direct && epilogue.canTakeSums() && !part && !(unit && paired);
  auto each = [&](Value from, Value to, unsigned width, bool all) {
    eachTile(kernels, tileFrom, tileTo, [&](const Tile &tile) {
      if (packsTiles()) {
        Value number = v.sub(tile.index, tileFrom), place = v.sub(number, v.roundDown(number, tilesPerBlock()));
        v.ifThen(v.equal(place, v.i(0)), [&] { packTiles(point, tile.index, tileTo); });
        kernels.setTileOfRows(packedTile(place), tilePitch());
      }
      if (packsRows())
        kernels.setTileOfRows(v.at(f.scratch, v.add(f.emitExpr(panelScratch()), v.mul(tile.index, tileElements()))), tiles.maxRows());
      if (paired)
        pairs->packRows(point, refOf(shape.lhsRef), tile.row, tile.count, part ? part->first : v.i(0), pairedRows());
      eachPanel(from, to, [&](Value p) { emitTile(kernels, point, tile, firstPanel, p, width, takes && all); });
    });
  };
  unsigned lastWidth = whole ? panelColumns : narrow;
  bool one = known && *known <= int64_t(lastWidth), filled = known && last % int64_t(lastWidth) == 0;
  if (one || (whole && (filled || !takes)))
    return each(v.i(0), count, lastWidth, filled);
  // Sums are taken from panels that are full; otherwise a panel that is more than half full is worked off as one.
  bool leavesWide = takes && !whole && !known;
  Value lastPanel = v.sub(count, 1), firstOfLast = v.mul(v.add(firstPanel, lastPanel), panelColumns);
  Value isLast = v.less(columns, v.add(firstOfLast, whole || takes ? panelColumns : narrow + 1));
  Value wholes = v.select(isLast, lastPanel, count);
  v.ifThen(v.less(v.i(0), wholes), [&] { each(v.i(0), wholes, panelColumns, true); });
  auto atMost = [&](unsigned width) { return v.less(columns, v.add(firstOfLast, width + 1)); };
  auto lastOnes = [&] { each(lastPanel, count, lastWidth, filled); };
  auto wideOrLast = [&] {
    leavesWide ? v.ifThen(atMost(narrow), lastOnes, [&] { each(lastPanel, count, panelColumns, false); }) : lastOnes();
  };
  if (known || narrow != 2 * v.lanes)
    return v.ifThen(isLast, wideOrLast);
  // Rows at an open distance have a register each, and a single vector of columns takes five sixths of the time of two. At a known one it takes more.
  v.ifThen(isLast, [&] { v.ifThen(atMost(v.lanes), [&] { each(lastPanel, count, v.lanes, false); }, wideOrLast); });
}

/// The rows are split exactly: the last tiles have one row more than the first ones. No row is computed twice, so an epilogue may update
/// in place. Of an open number of rows the highest tiles have a loop of their own, in which no panel asks for the height, nor where each row lies.
/// The others come before them: they are few, and request what all of them read.
void ContractionEmitter::eachTile(ContractionTile &kernels, Value from, Value to, llvm::function_ref<void(const Tile &)> body) {
  auto asTheyCome = [&](Value index) { body(tileAt(index)); };
  unsigned most = kernels.maxRows();
  if (shape.rows.extent().constant() || part || pairs || most < 2)
    return v.loop(from, to, 1, asTheyCome);
  Value firstHighest = v.select(v.less(high, v.i(most)), rowTiles, lowTiles);
  kernels.setWhich(ContractionTile::Which::Lower);
  v.loop(from, v.min(to, firstHighest), 1, asTheyCome);
  kernels.setWhich(ContractionTile::Which::Highest);
  v.loop(v.max(from, firstHighest), to, 1, [&](Value index) { body({index, v.sub(v.mul(index, most), lowTiles), v.i(most)}); });
  kernels.setWhich(ContractionTile::Which::Allowed);
}

ContractionEmitter::Tile ContractionEmitter::tileAt(Value index) {
  Value low = v.sub(high, 1), row = v.add(v.mul(index, low), v.max(v.sub(index, lowTiles), v.i(0)));
  return {index, row, v.select(v.less(index, lowTiles), low, high)};
}

void ContractionEmitter::emitTile(ContractionTile &kernels, const BodyEmitter &point, const Tile &tile, Value firstPanel, Value p,
                                  unsigned width, bool takes) {
  Value panelIndex = v.add(firstPanel, p), firstColumn = v.mul(panelIndex, panelColumns);
  bool inPlace = shape.packed && &kernels == &tiles;
  Value panel = inPlace ? packedPanel(panelIndex) : scratchPanel(p);
  epilogue.request(point, tile.row, tile.count, firstColumn, width);
  if (&kernels == &tiles)
    kernels.requestNext(panel, tile.index, depth, rowTiles);
  bool paired = multipliesPairs(kernels);
  kernels.setTaker(!takes ? ContractionTile::Taker() : [&](unsigned r, Value column, Value sums) {
    epilogue.emitSums(point, v.add(tile.row, r), v.add(firstColumn, column), sums);
  });
  if (part)
    return emitPart(point, tile, panel, p, firstColumn, width);
  if (paired && unit)
    pairs->multiply(*unit, pairedRows(), panel, width, unitRows(), {}, epilogue.buffer());
  else
    kernels.emit(point, panel, paired ? v.i(0) : tile.row, tile.count, paired ? v.i(pairs->words()) : depth, epilogue.buffer(), width);
  if (!takes)
    epilogue.emit(point, tile.row, tile.count, firstColumn, width);
}

void ContractionEmitter::emitPart(const BodyEmitter &point, const Tile &tile, Value panel, Value p, Value firstColumn, unsigned width) {
  Value before = partialSums(tile, p), to = v.select(part->isLast, epilogue.buffer(), before);
  auto finish = [&] { v.ifThen(part->isLast, [&] { epilogue.emit(point, tile.row, tile.count, firstColumn, width); }); };
  if (unit) {
    pairs->multiply(*unit, pairedRows(), panel, width, unitRows(), before, to);
    return finish();
  }
  Value from = shape.packed ? v.at(panel, v.mul(part->first, panelColumns), panelType) : panel;
  tiles.setSumsBefore(before);
  tiles.emit(point, from, tile.row, tile.count, part->count, to, width);
  finish();
}

/// A panel as tiles that are not of its type read it: as f32, or the points of a part as words.
void ContractionEmitter::convertPanel(const BodyEmitter &point, Value panelIndex, Value to) {
  if (!pairs)
    return v.loop(v.i(0), v.mul(depth, panelColumns), v.lanes,
                  [&](Value at) { v.store(v.loadConverted(packedPanel(panelIndex), at, panelType), to, at); });
  Value first = part ? part->first : v.i(0), count = v.min(v.sub(depth, first), v.i(pairs->points()));
  if (shape.packed)
    return pairs->packPanel(v.at(packedPanel(panelIndex), v.mul(first, panelColumns), panelType), panelType, count, to);
  emitPackPanel(v, shape, point, refOf(shape.rhsRef), v.mul(panelIndex, panelColumns), columns, count, to, first);
  pairs->packPanel(to, shape.accumulator, count, to);
}

static llvm::Expected<bool> emitShape(KernelFunction &f, const ContractionShape &shape, KernelPlan &plan, const WindowLines *lines = nullptr,
                                      const BodyEmitter *over = nullptr) {
  ContractionEmitter emitter(f, shape);
  if (lines)
    emitter.computeLines(*lines, *over);
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
  // Columns that are fewer than lanes and lie side by side: a row program has its lanes along the rows of all of them, a tile's would lie idle.
  std::optional<schedule::Interleaving> interleaving = schedule::interleavingOf(f.info, f.isa);
  if (interleaving && interleaving->places < int64_t(f.isa.lanes()))
    return false;
  std::optional<ProductKernel> product = findProduct(f.info);
  if (!product)
    return false;
  KernelFunction joined{*product->kernel, *product->info, f.isa, f.hooks, f.b, f.loc, f.refs, {}, f.begin, f.end, f.scratch};
  joined.run = f.run;
  for (const std::string &s : product->info->sizes) {
    auto it = llvm::find(f.info.sizes, s);
    if (it == f.info.sizes.end())
      return false;
    joined.sizes.push_back(f.sizes[it - f.info.sizes.begin()]);
  }
  BodyEmitter over(f.info, f.b, f.loc, f.sizes, f.refs, f.hooks);
  return emitShape(joined, product->shape, plan, product->lines ? &*product->lines : nullptr, &over);
}
