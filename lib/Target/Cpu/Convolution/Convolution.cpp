//===- Convolution.cpp - CPU code for sums of products with a packed filter ===//

#include "Convolution.h"
#include "LineRows.h"
#include "RowOrder.h"
#include "../Contraction/ContractionEpilogue.h"
#include "../Contraction/ContractionTile.h"
#include "../Contraction/HalfPairs.h"
#include "../Rows/EdgeCompares.h"
#include "../KernelEmitters.h"
#include "../MatrixUnit.h"
#include "../Contraction/PanelItems.h"
#include "lathe/Dialect/Kernel/FilterSpans.h"
#include "lathe/Dialect/Kernel/Winograd.h"
#include "lathe/Lower/BodySlices.h"
#include "lathe/Lower/WindowEdges.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using shape::Expr;

/// Of a block of rows: a part of the second-level cache.
constexpr int64_t blockBytes = 256 << 10;
/// A block has at least as many rows as hide the traffic of a panel from memory, and at most as many as leave several blocks to
/// the threads.
constexpr int64_t fewestBlockRows = 48, mostBlockRows = 240;
/// A part of the first-level cache for a tile's rows.
constexpr int64_t tileBytes = 32 << 10;
/// Panels that a thread takes at least where rows are packed: each thread packs its own.
constexpr int64_t panelsPerPacking = 4;

/// Pixels at the end of a line that are worth a square.
constexpr int64_t fewestPixels = 4;

namespace {
class ConvolutionEmitter {
public:
  ConvolutionEmitter(KernelFunction &f, const ConvolutionShape &shape);
  void emit();
  KernelPlan plan() const;
  const std::string &error() const { return body.error(); }

private:
  Value refOf(Value ref) { return f.refs[cast<BlockArgument>(ref).getArgNumber()]; }
  Expr blockCount() const;
  void packRows(Value first, Value count);
  void packRow(const BodyEmitter &point, size_t level, Value at);
  void packLines(Value first, Value count);
  void packPixels(const BodyEmitter &point, size_t level, Value place, Value valid, Value at);
  void packBlock(const BodyEmitter &point, Value place, Value channel, Value valid, Value at);
  void packTaps(const BodyEmitter &point, size_t level, Value place, Value valid, Value at);
  void chooseBlockRows();
  int64_t mostRows() const;
  int64_t strideOf(size_t level) const;
  /// Elements of a row of the block, and bytes of one.
  int64_t rowPitch() const { return rounds ? llvm::alignTo(shape.depth, 2 * v.lanes) + 2 * v.lanes : shape.depth; }
  int64_t elementBytes() const { return rounds ? 2 : 4; }
  /// Rows of a panel that so many points of the sum are.
  int64_t panelRows(int64_t points) const { return shape.inPairs ? points / 2 : points; }
  void put(Value vector, Value at);
  /// Points of the sum.
  struct Span {
    Value first, count;
  };
  Span spanOf(Value panel);
  void findEdges();
  Span linesInside(Value row, Value count);
  Span within(const Span &span, Value row, Value count);
  void eachPoint(size_t level, llvm::function_ref<void(Value)> body);
  void emitPanel(Value panel, Value first, Value count);
  void multiplyTiles(Value panel, Value first, const Span &points, unsigned width, Value height);
  /// Rows of a register of the unit, of a block of so many.
  Value unitRows(Value count) { return v.ceilDiv(v.ceilDiv(count, v.max(v.ceilDiv(count, MatrixUnit::groupRows), v.i(1))), MatrixUnit::tilesOfGroup); }

  KernelFunction &f;
  const ConvolutionShape &shape;
  const ContractionShape &product;
  VectorBuilder v;
  BodyEmitter body;
  const bool rounds; ///< rows to bf16, as the filter is
  const bool direct; ///< rows are read as they lie
  const std::optional<int64_t> unitStep; ///< of words that the matrix unit multiplies, where it does
  ContractionTile tiles;
  ContractionEpilogue epilogue;
  std::optional<MatrixUnit> unit;
  PanelItems panels;
  int64_t blockRows;
  bool byPixels = false; ///< the block is packed from vectors of pixels, which are transposed
  bool byPoints = false; ///< they are not: the block lies as [point of the sum][row], `pitch` elements apart
  int64_t pitch = 0;
  std::optional<LineRows> byLines; ///< nor copied for each point of the sum: the block lies as lines of the image
  Interior interior; ///< of lines of pixels
  std::optional<Span> linesOfBlock;        ///< of the window that the block being packed reads
  std::optional<lower::WindowEdges> edges; ///< where a tile's rows leave out lines of the window
};
} // namespace

/// Blocks are rounded to the nearest number, where they are more than a tile: a block has up to one and a half times the rows.
Expr ConvolutionEmitter::blockCount() const {
  Expr slack(blockRows < fewestBlockRows ? blockRows - 1 : blockRows / 2), rows = product.rows.extent();
  if (byLines)
    return Expr::max(Expr::divideExactly(rows, byLines->rows()).value_or(Expr::floordiv(rows, byLines->rows())), Expr(1));
  Expr blocks = Expr::max(Expr::floordiv(rows + slack, Expr(blockRows)), Expr(1));
  return blockRows <= fewestBlockRows ? blocks : panels.blocksFor(rows, blocks, fewestBlockRows);
}

ConvolutionEmitter::ConvolutionEmitter(KernelFunction &f, const ConvolutionShape &shape)
    : f(f), shape(shape), product(shape.product), v(f.b, f.loc, f.isa, product.accumulator),
      body(f.info, f.b, f.loc, f.sizes, f.refs, f.hooks),
      rounds(shape.inPairs && f.isa.dotsHalves()), direct(shape.direct && !rounds),
      unitStep(f.isa.multipliesHalfTiles() ? shape.unitStep() : std::nullopt),
      tiles(v, product, shape.panelType(), direct ? refOf(product.lhsRef) : f.scratch),
      epilogue(v, product, f.info, body, unitStep ? MatrixUnit::groupRows : tiles.maxRows(), /*grouped=*/true), panels(v, shape.columns, !rounds && tiles.takesHalves()) {
  if (shape.inPairs)
    tiles.setPairedPanel(rounds);
  if (unitStep)
    unit.emplace(v);
  if (!direct && !shape.inPairs)
    byLines = LineRows::of(f.info, shape, v.lanes);
  if (!direct && !byLines && shape.pixelsTogether) {
    int64_t innermost = *f.info.extents[product.reduced.axes.back()].constant();
    bool isShort = innermost < v.lanes;
    byPoints = isShort && (v.target.maskedBytes || 2 * innermost <= v.lanes); // at the edges of an image pixels are gathered where masks have no registers
    byPixels = !isShort && !shape.pointsTogether;
  }
  chooseBlockRows();
  findEdges();
  pitch = llvm::alignTo(mostRows() + v.lanes, v.lanes); // a vector ends behind the last row
  lower::AxisSet unasked = byPoints ? 0 : lower::AxisSet(1) << product.reduced.axes.back();
  if (byPoints || byPixels)
    interior = Interior(f.info, shape.image, product.rows.axes.back(), allAxes(f.info) & ~unasked);
  panels.allowHeights(tiles, epilogue.rowGroups(), product.rows.extent(), blockCount());
  tiles.setReaders(mostRows() / tiles.maxRows(), llvm::divideCeil(mostRows(), tiles.maxRows()));
}

void ConvolutionEmitter::chooseBlockRows() {
  if (byLines) {
    blockRows = byLines->rows().constant().value_or(mostBlockRows);
    return;
  }
  int64_t fit = blockBytes / (elementBytes() * std::max<int64_t>(shape.depth, 1));
  blockRows = std::clamp(fit, fewestBlockRows, mostBlockRows);
  // Packed rows that never leave the first-level cache, where all panels stay in the second. Rows of neighbouring pixels are packed in whole
  // vectors of them, and more rows have fewer ends.
  int64_t tile = tiles.maxRows();
  if (!direct && !unit && tile * shape.depth * 4 <= tileBytes && shape.depth * shape.columns * 4 <= 2 * blockBytes)
    blockRows = byPixels ? std::clamp(2 * tileBytes / (4 * shape.depth), fewestBlockRows, mostBlockRows) : tile;
  if (!byPoints)
    return;
  blockRows = std::clamp(tileBytes / (4 * shape.depth), fewestBlockRows, mostBlockRows);
  // Whole lines of pixels, or equal parts of one, begin and end with whole vectors.
  int64_t line = f.info.extents[product.rows.axes.back()].constant().value_or(1), parts = std::max<int64_t>(1, (line + blockRows / 2) / blockRows);
  if (line <= blockRows)
    blockRows -= blockRows % line;
  else if (line % (parts * v.lanes) == 0 || line % (parts * v.lanes) * 2 == v.lanes)
    blockRows = line / parts;
}

/// Of a block.
int64_t ConvolutionEmitter::mostRows() const {
  std::optional<int64_t> rows = product.rows.extent().constant(), blocks = blockCount().constant();
  return rows && blocks ? (*rows + *blocks - 1) / std::max<int64_t>(*blocks, 1) : blockRows + blockRows / 2 + 2;
}

KernelPlan ConvolutionEmitter::plan() const {
  KernelPlan plan;
  Expr rows = product.rows.extent(), blocks = blockCount();
  plan.items = Expr::min(rows, Expr(1)) * blocks * Expr(panels.count());
  plan.cost = Expr(2 * panelColumns * shape.depth) * Expr::ceildiv(rows, blocks);
  if (!direct) {
    int64_t rows = mostRows() + (unit ? 1 : 0); // registers of one height may have one more
    int64_t elements = byPoints ? pitch * shape.depth : rows * rowPitch() + v.lanes;
    plan.scratchBytes = Expr(elementBytes()) * (byLines ? byLines->elements() : Expr(elements));
    plan.granularity = Expr(std::min(panels.count(), panelsPerPacking));
  }
  if (std::optional<StagePlan> stage = stageOfRows(f, product.rows, Expr(panels.count()))) {
    if (shape.direct)
      addOperandOfRows(*stage, f.info, shape.image.getDefiningOp<kernel::LoadOp>(), product.rows);
    plan.stage = *stage;
  }
  return plan;
}

void ConvolutionEmitter::emit() {
  Value rows = body.emitExpr(product.rows.extent()), blocks = body.emitExpr(blockCount());
  auto pack = [&](Value first, Value count) {
    if (!direct)
      packRows(first, count);
    if (unit)
      unit->configure(v.max(unitRows(count), v.i(1)), v.i(*unitStep));
  };
  panels.emit(f, rows, blocks, pack, [&](Value panel, Value first, Value count) { emitPanel(panel, first, count); });
  if (unit)
    unit->release();
}

/// Those that a panel of the filter has.
ConvolutionEmitter::Span ConvolutionEmitter::spanOf(Value panel) {
  Span span{v.i(0), v.i(panelRows(shape.depth))};
  ArrayRef<int64_t> runs = direct ? ArrayRef<int64_t>() : shape.spans;
  int64_t end = panels.count();
  for (; !runs.empty(); runs = runs.drop_back(3)) { // the last run first
    Value first = v.i(runs[runs.size() - 2]), count = v.i(runs.back());
    bool isLast = end == panels.count();
    Value within = isLast ? Value() : v.less(panel, v.i(end));
    span = isLast ? Span{first, count} : Span{v.select(within, first, span.first), v.select(within, count, span.count)};
    end -= runs[runs.size() - 3];
  }
  return span;
}

/// Lines of the window are the outermost points of the sum. Tiles are asked for them where enough of them lie outside of the image, as far as its size is known, or
/// where a sum is so long that asking is nothing and large images have no form of their own.
void ConvolutionEmitter::findEdges() {
  constexpr double worth = 1.0 / 32;
  constexpr int64_t longSum = 512;
  if (direct || (byLines && !byLines->hasLinesOfWindow()) || product.reduced.axes.size() < 2 || strideOf(0) * *f.info.extents[product.reduced.axes[0]].constant() != shape.depth)
    return;
  edges = lower::WindowEdges::of(f.info, shape.image, product.rows.set(), product.reduced.axes[0]);
  std::optional<double> outside = edges ? edges->outside(f.info) : std::nullopt;
  bool hasTiles = llvm::any_of(f.info.ops, [](Operation *op) { return op->hasAttr(kernel::winogradFilterName); });
  if (outside ? *outside < worth : shape.depth < longSum || hasTiles)
    edges.reset();
}

/// Lines of the window that lie inside of the image for some of `count` rows. Rows of two images take all.
ConvolutionEmitter::Span ConvolutionEmitter::linesInside(Value row, Value count) {
  Expr inner(1);
  bool several = false, behind = false;
  for (unsigned a : product.rows.axes) {
    inner = behind ? inner * f.info.extents[a] : inner;
    several |= !behind && a != edges->place && !f.info.extents[a].isOne();
    behind |= a == edges->place;
  }
  Value length = v.max(body.emitExpr(inner), v.i(1)), places = v.max(body.emitExpr(f.info.extents[edges->place]), v.i(1));
  Value first = v.div(row, length), last = v.div(v.sub(v.add(row, count), 1), length);
  Value whole;
  if (several) {
    Value image = v.div(first, places), start = v.mul(image, places);
    whole = v.less(v.add(start, v.sub(places, 1)), last);
    first = v.sub(first, start), last = v.sub(last, start);
  }
  int64_t taps = *f.info.extents[edges->tap].constant();
  Value from = v.i(0), to = v.i(taps);
  for (const lower::WindowEdges::Edge &e : edges->edges) {
    BodyEmitter point = body;
    Value place = v.mul(e.low ? last : first, e.apart), left = v.sub(v.sub(point.emitExpr(e.limit), point.emitExpr(e.rest)), place);
    Value tap = v.ceilDiv(v.max(left, v.i(0)), e.step);
    (e.low ? from : to) = e.low ? v.max(from, tap) : v.min(to, tap);
  }
  if (whole)
    from = v.select(whole, v.i(0), from), to = v.select(whole, v.i(taps), to);
  return {from, v.max(v.sub(to, from), v.i(0))};
}

/// Of the points those of such lines.
ConvolutionEmitter::Span ConvolutionEmitter::within(const Span &span, Value row, Value count) {
  if (!edges)
    return span;
  Span inside = linesInside(row, count);
  int64_t line = panelRows(strideOf(0));
  Value first = v.mul(inside.first, line), end = v.add(first, v.mul(inside.count, line));
  Value from = v.max(span.first, first), to = v.min(v.add(span.first, span.count), end);
  return {from, v.max(v.sub(to, from), v.i(0))};
}

void ConvolutionEmitter::emitPanel(Value panelIndex, Value first, Value count) {
  Value panel = v.at(refOf(product.rhsRef), v.mul(panelIndex, panelRows(shape.depth) * panelColumns), shape.panelType());
  Value firstColumn = v.mul(panelIndex, panelColumns);
  Span span = spanOf(panelIndex);
  const RowGroups &groups = epilogue.rowGroups();
  panels.inWidth(panelIndex, [&](unsigned width) {
    int64_t rest = shape.columns % panelColumns;
    bool isLast = width < panelColumns || panels.count() == 1;
    bool filled = rest == 0 || (isLast ? rest == width && width % v.lanes == 0 : panels.lastWidth() < panelColumns);
    bool takes = (filled || v.target.maskedBytes) && epilogue.takesSums(shape.depth);
    groups.each(v, count, [&](const RowGroups::Part &group) {
      Value from = direct ? v.add(first, group.first) : group.first, row = v.add(first, group.first);
      epilogue.request(body, row, group.count, firstColumn, width);
      if (unit) {
        multiplyTiles(panel, group.first, within(span, row, group.count), width, unitRows(count));
        return epilogue.emit(body, row, group.count, firstColumn, llvm::alignTo(width, v.lanes));
      }
      groups.eachTile(v, group, [&](const RowGroups::Part &tile) {
        tiles.requestNext(panel, tile.number, v.i(panelRows(shape.depth)));
        Span points = within(span, v.add(row, tile.first), tile.count);
        int64_t elements = shape.inPairs && !rounds ? 2 : 1; // of scratch, for each row of the panel
        if (!direct)
          tiles.setPackedRows(v.at(f.scratch, v.mul(points.first, elements)), rounds ? panelRows(rowPitch()) : rowPitch());
        if (byPoints)
          tiles.setTileOfRows(v.at(f.scratch, v.add(v.mul(points.first, pitch), v.add(from, tile.first))), pitch);
        if (byLines)
          tiles.setLines(byLines->tileAt(v, body, f.scratch, v.add(from, tile.first), v.div(points.first, v.i(strideOf(0)))));
        tiles.setTaker(!takes ? ContractionTile::Taker() : [&](unsigned r, Value column, Value sums) {
          bool whole = filled || (isLast && *getConstantIntValue(column) + int64_t(v.lanes) <= rest);
          epilogue.emitSums(body, v.add(v.add(row, tile.first), r), v.add(firstColumn, column), sums, whole);
        });
        Value filter = v.at(panel, v.mul(points.first, panelColumns), shape.panelType());
        tiles.emit(body, filter, v.add(from, tile.first), tile.count, points.count, epilogue.bufferAt(tile.first), width);
      });
      if (!takes)
        epilogue.emit(body, row, group.count, firstColumn, llvm::alignTo(width, v.lanes)); // whole vectors of sums
    });
  });
}

/// Rows of the block from `first` on, two registers of them, by the words of a panel, into the epilogue's buffer.
void ConvolutionEmitter::multiplyTiles(Value panel, Value first, const Span &points, unsigned width, Value height) {
  int64_t pitch = panelRows(rowPitch());
  Value rows = v.at(f.scratch, v.add(v.mul(first, pitch), points.first)), columns = v.at(panel, v.mul(points.first, panelColumns));
  unit->multiply({rows, columns, v.div(points.count, v.i(*unitStep)), pitch, *unitStep}, width, epilogue.buffer(), height);
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// A vector of a row's elements at one of scratch.
void ConvolutionEmitter::put(Value vector, Value at) {
  rounds ? HalfPairs::storeRounded(v, vector, f.scratch, at) : v.store(vector, f.scratch, at);
}

/// Elements of a packed row from one point of a summed axis to the next.
int64_t ConvolutionEmitter::strideOf(size_t level) const {
  int64_t stride = 1;
  for (size_t l = level + 1; l < product.reduced.axes.size(); ++l)
    stride *= *f.info.extents[product.reduced.axes[l]].constant();
  return stride;
}

/// Of a summed axis. Lines of the window that no row of the block reads are not packed.
void ConvolutionEmitter::eachPoint(size_t level, llvm::function_ref<void(Value)> body) {
  bool some = level == 0 && linesOfBlock;
  Value first = some ? linesOfBlock->first : v.i(0), count = some ? linesOfBlock->count : v.i(*f.info.extents[product.reduced.axes[level]].constant());
  v.loop(first, v.add(first, count), 1, body);
}

void ConvolutionEmitter::packRows(Value first, Value count) {
  if (edges)
    linesOfBlock = linesInside(first, count);
  if (byLines) {
    Span all{v.i(0), v.i(*f.info.extents[product.reduced.axes[0]].constant())}, read = linesOfBlock.value_or(all);
    return byLines->pack(v, body, first, read.first, v.add(read.first, read.count), f.scratch);
  }
  if (byPixels || byPoints)
    return packLines(first, count);
  v.loop(v.i(0), count, 1, [&](Value r) {
    BodyEmitter point = body;
    product.rows.bind(v, point, v.add(first, r), /*flat=*/false);
    packRow(point, 0, v.mul(r, rowPitch()));
  });
}

/// The summed axes from `level` on, at element `at` of scratch; the last axis in the lanes. A vector past the axis's end is
/// overwritten by what comes next.
void ConvolutionEmitter::packRow(const BodyEmitter &point, size_t level, Value at) {
  const lower::BodyInfo &info = f.info;
  unsigned axis = product.reduced.axes[level];
  int64_t extent = *info.extents[axis].constant(), stride = strideOf(level);
  if (level + 1 < product.reduced.axes.size()) {
    eachPoint(level, [&](Value x) {
      BodyEmitter inner = point;
      inner.bindAxis(info.axes[axis], x);
      packRow(inner, level + 1, v.add(at, v.mul(x, stride)));
    });
    return;
  }
  auto vector = [&](Value x, Value mask) {
    BodyEmitter inner = point;
    inner.bindLane(info.axes[axis], x, v.lanes, mask);
    put(inner.emitLanes(shape.image), v.add(at, x));
  };
  int64_t whole = extent - extent % v.lanes;
  if (whole)
    v.loop(v.i(0), v.i(whole), v.lanes, [&](Value x) { vector(x, {}); });
  if (whole < extent)
    vector(v.i(whole), v.firstLanes(unsigned(extent - whole)));
}

/// Rows of neighbouring pixels: squares of pixels and channels are transposed in registers. Of few channels vectors of pixels are stored as they
/// are: a tile's product takes a row's elements one by one, and as well from lines of a block.
void ConvolutionEmitter::packLines(Value first, Value count) {
  unsigned axis = product.rows.axes.back();
  std::vector<unsigned> outerAxes(product.rows.axes.begin(), product.rows.axes.end() - 1);
  AxisGroup outer(f.info, outerAxes);
  int64_t rest = f.info.extents[axis].constant().value_or(0) % v.lanes;
  bool endsInFew = rest > 0 && rest < fewestPixels;
  Value length = v.max(body.emitExpr(f.info.extents[axis]), v.i(1)), end = v.add(first, count);
  v.loop(v.div(first, length), v.ceilDiv(end, length), 1, [&](Value line) {
    BodyEmitter point = body;
    outer.bind(v, point, line, /*flat=*/false);
    Value start = v.mul(line, length);
    Value from = v.max(v.sub(first, start), v.i(0)), to = v.min(v.sub(end, start), length);
    v.loop(from, to, v.lanes, [&](Value place) {
      Value row = v.sub(v.add(start, place), first), left = v.sub(to, place);
      if (byPoints)
        return packTaps(point, 0, place, left, row);
      auto singly = [&] {
        v.loop(v.i(0), left, 1, [&](Value p) {
          BodyEmitter pixel = point;
          pixel.bindAxis(f.info.axes[axis], v.add(place, p));
          packRow(pixel, 0, v.mul(v.add(row, p), rowPitch()));
        });
      };
      auto squares = [&] { packPixels(point, 0, place, left, v.mul(row, rowPitch())); };
      endsInFew ? v.ifThen(v.less(v.i(fewestPixels - 1), left), squares, singly) : squares();
    });
  });
}

/// The pixels from `place` on, `valid` of them or a whole vector.
void ConvolutionEmitter::packPixels(const BodyEmitter &point, size_t level, Value place, Value valid, Value at) {
  unsigned axis = product.reduced.axes[level];
  int64_t extent = *f.info.extents[axis].constant(), stride = strideOf(level);
  if (level + 1 < product.reduced.axes.size())
    return eachPoint(level, [&](Value x) {
      BodyEmitter inner = point;
      inner.bindAxis(f.info.axes[axis], x);
      packPixels(inner, level + 1, place, valid, v.add(at, v.mul(x, stride)));
    });
  // Inside of the image and of its line nothing is masked: pixels that lie apart are whole vectors there, of which a shuffle takes some.
  Value inside = v.b.create<arith::AndIOp>(v.loc, v.less(v.i(v.lanes - 1), valid), interior.holds(v, point, place, v.lanes));
  auto blocks = [&](const BodyEmitter &from, Value some) {
    int64_t whole = extent - extent % v.lanes;
    v.loop(v.i(0), v.i(whole), v.lanes, [&](Value channel) { packBlock(from, place, channel, some, v.add(at, channel)); });
    if (whole < extent) // shares channels with the one before
      packBlock(from, place, v.i(extent - v.lanes), some, v.add(at, extent - v.lanes));
  };
  BodyEmitter within = point;
  interior.assume(v, within);
  v.ifThen(inside, [&] { blocks(within, {}); }, [&] { blocks(point, valid); });
}

/// The same where each point of the sum is a line of the block, of which `at` is a place. What lies behind the last valid pixel is overwritten by
/// what comes next.
void ConvolutionEmitter::packTaps(const BodyEmitter &point, size_t level, Value place, Value valid, Value at) {
  unsigned axis = product.reduced.axes[level];
  const std::string &name = f.info.axes[axis], &pixels = f.info.axes[product.rows.axes.back()];
  int64_t extent = *f.info.extents[axis].constant(), step = strideOf(level) * pitch;
  if (level + 1 < product.reduced.axes.size())
    return eachPoint(level, [&](Value x) {
      BodyEmitter inner = point;
      inner.bindAxis(name, x);
      packTaps(inner, level + 1, place, valid, v.add(at, v.mul(x, step)));
    });
  auto taps = [&](const BodyEmitter &from, Value mask) {
    for (int64_t x = 0; x < extent; ++x) {
      BodyEmitter inner = from;
      inner.bindAxis(name, v.i(x));
      inner.bindLane(pixels, place, v.lanes, mask);
      v.store(inner.emitLanes(shape.image), f.scratch, v.add(at, x * step));
    }
  };
  auto masked = [&] { taps(point, v.firstLanes(valid)); };
  if (!interior.isLinearIn(name))
    return masked();
  // What is linear and holds at the first and the last one holds between them.
  Value inside = v.less(v.i(v.lanes - 1), valid);
  for (int64_t x : {int64_t(0), extent - 1}) {
    BodyEmitter end = point;
    end.bindAxis(name, v.i(x));
    inside = v.b.create<arith::AndIOp>(v.loc, inside, interior.holds(v, end, place, v.lanes));
  }
  BodyEmitter within = point;
  interior.assume(v, within);
  auto whole = [&] {
    BodyEmitter first = within;
    first.bindAxis(name, v.i(0));
    first.bindAxis(pixels, place);
    requestLine(v, shape, first, v.lanes);
    taps(within, {});
  };
  v.ifThen(inside, whole, masked);
}

/// A square of pixels and channels; `valid` pixels, or all.
void ConvolutionEmitter::packBlock(const BodyEmitter &point, Value place, Value channel, Value valid, Value at) {
  const std::string &pixels = f.info.axes[product.rows.axes.back()], &channels = f.info.axes[product.reduced.axes.back()];
  VectorBuilder::Values rows;
  Value mask = valid ? v.firstLanes(valid) : Value();
  for (unsigned l = 0; l < v.lanes; ++l) {
    BodyEmitter inner = point;
    inner.bindAxis(channels, v.add(channel, l));
    inner.bindLane(pixels, place, v.lanes, mask);
    rows.push_back(inner.emitLanes(shape.image));
  }
  for (auto [l, row] : llvm::enumerate(v.transpose(rows))) {
    auto store = [&, l = l, row = row] { put(row, v.add(at, int64_t(l) * rowPitch())); };
    valid ? v.ifThen(v.less(v.i(l), valid), store) : store();
  }
}

llvm::Expected<bool> lathe::cpu::emitConvolution(KernelFunction &f, KernelPlan &plan) {
  std::optional<ConvolutionShape> shape = ConvolutionShape::of(f.info);
  auto isOtherForms = [](Operation *op) {
    bool both = op->hasAttr("packed") && op->hasAttr(kernel::winogradFilterName);
    return op->hasAttr(kernel::winogradName) && !both;
  };
  if (!shape || llvm::any_of(f.info.ops, isOtherForms))
    return false;
  ConvolutionEmitter emitter(f, *shape);
  emitter.emit();
  plan = emitter.plan();
  if (!emitter.error().empty())
    return llvm::createStringError(emitter.error());
  return true;
}
