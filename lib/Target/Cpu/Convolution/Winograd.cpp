//===- Winograd.cpp - Convolutions with fewer products ---------------------===//

#include "Winograd.h"
#include "../Contraction/ContractionEpilogue.h"
#include "../Contraction/ContractionTile.h"
#include "../KernelEmitters.h"
#include "../Contraction/PanelItems.h"
#include "WinogradTransform.h"
#include "lathe/Artifact/Format.h"
#include "lathe/Lower/BodySlices.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using kernel::Winograd;
using lower::BodyEmitter;
using shape::Expr;
using Values = VectorBuilder::Values;

/// Of a block's transformed images: a part of the second-level cache.
constexpr int64_t blockBytes = 512 << 10;
/// A block has at least as many tiles as use what is loaded of a panel often enough, and at most as many as leave several blocks to
/// the threads.
constexpr int64_t fewestBlockTiles = 24, mostBlockTiles = 96;

namespace {
class WinogradEmitter {
public:
  WinogradEmitter(KernelFunction &f, const WinogradShape &shape);
  void emit();
  KernelPlan plan() const;
  const std::string &error() const { return body.error(); }

private:
  /// Tiles of one line of tiles: `count` from tile `from` on, which is the block's tile `local`.
  struct Run {
    Value line, from, count, local;
  };
  const lower::SlidingWindow::Dim &pixels() const { return shape.window.dims.back(); }
  Expr extentOf(unsigned axis) const { return f.info.extents[axis]; }
  Expr linesOfTiles() const;
  Expr tileCount() const { return linesOfTiles() * Expr::ceildiv(extentOf(pixels().place), Expr(shape.wide.results)); }
  Expr blockCount() const;
  void eachRun(Value first, Value count, llvm::function_ref<void(const Run &)> body);
  void bindDim(BodyEmitter &point, size_t dim, Value at);
  std::pair<Value, Value> splitLine(Value line);
  void transformRun(const Run &run);
  void transformDepth(const BodyEmitter &point, size_t level, const Run &run, Value top, Value at);
  void transformVector(const BodyEmitter &point, const Run &run, Value top, Value channel, Value mask, Value at);
  Value imageAt(BodyEmitter point, Value line, Value column, Value channel, Value mask);
  Value lineAt(Value row, Value column) { return v.add(v.mul(v.add(v.mul(row, imagePitch), column), v.lanes), linesAt); }
  void copyLines(const BodyEmitter &point, Value first, Value columns, Value top, Value channel);
  Value pixelsAt(const BodyEmitter &point, Value column);
  void emitPanel(Value panel, Value first, Value count);
  Value packedPlace(Value place);
  void emitProducts(Value panel, Value count, unsigned width);
  void emitResults(const Run &run, Value firstColumn, unsigned width);
  void transformTile(const Run &run, Value tile, Value column);

  KernelFunction &f;
  const WinogradShape &shape;
  const ContractionShape &product;
  VectorBuilder v;
  BodyEmitter body;
  ContractionTile tiles;
  ContractionEpilogue epilogue;
  PanelItems panels;
  int64_t blockTiles, pitch, rowPitch, linePitch;  ///< tiles of a block, with and without room; elements of a tile; pixels of a line
  int64_t productsAt, resultsAt, columnsAt, linesAt, scratch; ///< elements of scratch
  int64_t imagePitch; ///< columns of a line of the image, where its lines are copied
  Value high, wide, tilesHigh, tilesWide;
};
} // namespace

static int64_t roundUp(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

WinogradEmitter::WinogradEmitter(KernelFunction &f, const WinogradShape &shape)
    : f(f), shape(shape), product(shape.direct.product), v(f.b, f.loc, f.isa, product.accumulator),
      body(f.info, f.b, f.loc, f.sizes, f.refs, f.hooks), tiles(v, product, product.rhsType, f.scratch),
      epilogue(v, product, f.info, body, 0), panels(v, shape.direct.columns, tiles.takesHalves()) {
  int64_t fit = blockBytes / (4 * shape.places() * shape.depth);
  blockTiles = std::clamp(fit, fewestBlockTiles, mostBlockTiles);
  std::optional<int64_t> all = tileCount().constant(), blocks = blockCount().constant();
  int64_t most = all && blocks ? (*all + *blocks - 1) / *blocks : blockTiles + blockTiles / 2 + 1;
  // Places lie at odd distances, so that a tile's do not meet in one set of the cache.
  pitch = most | 1;
  int64_t innermost = *extentOf(shape.window.depth.back()).constant(); // its last vector runs past the tile's elements
  rowPitch = roundUp(shape.depth - innermost + roundUp(innermost, v.lanes), v.lanes);
  rowPitch += rowPitch % 256 ? 0 : 16;
  linePitch = shape.wide.results * most + v.lanes;
  productsAt = shape.places() * pitch * rowPitch;
  resultsAt = productsAt + shape.places() * pitch * panelColumns;
  columnsAt = resultsAt + shape.high.results * linePitch * panelColumns;
  imagePitch = shape.wide.results * most + shape.wide.places() + v.lanes;
  linesAt = columnsAt + imagePitch * shape.high.places() * v.lanes;
  scratch = linesAt + (shape.channelsTogether ? 0 : imagePitch * shape.high.places() * v.lanes);
  tiles.setPackedRows(f.scratch, rowPitch);
  tiles.setReaders(most / tiles.maxRows(), llvm::divideCeil(all ? most : fewestBlockTiles, tiles.maxRows()));
  panels.allowHeights(tiles, RowGroups(v.target, tiles.maxRows(), false), tileCount(), blockCount());
  high = shape.window.dims.size() > 1 ? body.emitExpr(extentOf(shape.window.dims[0].place)) : v.i(1);
  wide = body.emitExpr(extentOf(pixels().place));
  tilesHigh = v.ceilDiv(high, shape.high.results);
  tilesWide = v.ceilDiv(wide, shape.wide.results);
}

Expr WinogradEmitter::linesOfTiles() const {
  Expr lines(1);
  for (unsigned a : shape.window.outer)
    lines = lines * extentOf(a);
  if (shape.window.dims.size() > 1)
    lines = lines * Expr::ceildiv(extentOf(shape.window.dims[0].place), Expr(shape.high.results));
  return lines;
}

/// Blocks are rounded to the nearest number.
Expr WinogradEmitter::blockCount() const {
  Expr count = tileCount(), blocks = Expr::max(Expr::floordiv(count + Expr(blockTiles / 2), Expr(blockTiles)), Expr(1));
  return panels.blocksFor(count, blocks, fewestBlockTiles);
}

KernelPlan WinogradEmitter::plan() const {
  KernelPlan plan;
  Expr count = tileCount(), blocks = blockCount();
  plan.items = Expr::min(count, Expr(1)) * blocks * Expr(panels.count());
  plan.cost = Expr(2 * panelColumns * shape.depth * shape.places()) * Expr::ceildiv(count, blocks);
  plan.scratchBytes = Expr(4 * scratch);
  // Each thread transforms the blocks that it takes panels of.
  Expr threads = f.run.empty() ? Expr(1) : Expr::max(Expr(1), Expr::symbol(runFacts[LATHE_FACT_THREADS]));
  plan.granularity = Expr::max(Expr(1), Expr::min(Expr(panels.count()), Expr::ceildiv(plan.items, threads)));
  return plan;
}

void WinogradEmitter::emit() {
  Value count = body.emitExpr(tileCount()), blocks = body.emitExpr(blockCount());
  auto transform = [&](Value first, Value mine) { eachRun(first, mine, [&](const Run &run) { transformRun(run); }); };
  panels.emit(f, count, blocks, transform, [&](Value panel, Value first, Value mine) { emitPanel(panel, first, mine); });
}

void WinogradEmitter::eachRun(Value first, Value count, llvm::function_ref<void(const Run &)> body) {
  Value length = v.max(tilesWide, v.i(1)), end = v.add(first, count);
  v.loop(v.div(first, length), v.ceilDiv(end, length), 1, [&](Value line) {
    Value start = v.mul(line, length);
    Value from = v.max(v.sub(first, start), v.i(0)), to = v.min(v.sub(end, start), length);
    body({line, from, v.sub(to, from), v.sub(v.add(start, from), first)});
  });
}

/// The point of the outer axes and the first line of results of a line of tiles.
std::pair<Value, Value> WinogradEmitter::splitLine(Value line) {
  if (shape.window.dims.size() < 2)
    return {line, v.i(0)};
  Value outer = v.div(line, v.max(tilesHigh, v.i(1)));
  return {outer, v.mul(v.sub(line, v.mul(outer, tilesHigh)), shape.high.results)};
}

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

/// The element `at` of the image along a dimension. Behind the last one that any result reads it stands in for those behind it: what
/// is made of them is dropped.
void WinogradEmitter::bindDim(BodyEmitter &point, size_t dim, Value at) {
  const lower::SlidingWindow::Dim &d = shape.window.dims[dim];
  Value last = v.sub(dim + 1 == shape.window.dims.size() ? wide : high, 1), place = v.min(at, last);
  point.bindAxis(f.info.axes[d.place], place);
  if (d.taps)
    point.bindAxis(f.info.axes[*d.taps], v.min(v.sub(at, place), v.i(kernel::winogradTaps - 1)));
}

void WinogradEmitter::transformRun(const Run &run) {
  auto [outer, top] = splitLine(run.line);
  BodyEmitter point = body;
  AxisGroup(f.info, shape.window.outer).bind(v, point, outer, /*flat=*/false);
  transformDepth(point, 0, run, top, v.i(0));
}

/// The summed axes from `level` on, at element `at` of a tile; the last axis in the lanes. A vector past the axis's end is overwritten
/// by what comes next.
void WinogradEmitter::transformDepth(const BodyEmitter &point, size_t level, const Run &run, Value top, Value at) {
  const std::vector<unsigned> &depth = shape.window.depth;
  int64_t extent = *extentOf(depth[level]).constant(), stride = 1;
  for (size_t l = level + 1; l < depth.size(); ++l)
    stride *= *extentOf(depth[l]).constant();
  if (level + 1 < depth.size())
    return v.loop(v.i(0), v.i(extent), 1, [&](Value x) {
      BodyEmitter inner = point;
      inner.bindAxis(f.info.axes[depth[level]], x);
      transformDepth(inner, level + 1, run, top, v.add(at, v.mul(x, stride)));
    });
  int64_t whole = extent - extent % v.lanes;
  if (whole)
    v.loop(v.i(0), v.i(whole), v.lanes, [&](Value x) { transformVector(point, run, top, x, {}, v.add(at, x)); });
  if (whole < extent)
    transformVector(point, run, top, v.i(whole), v.firstLanes(unsigned(extent - whole)), v.add(at, whole));
}

/// A vector of channels: along the columns of the run first, which neighbouring tiles share.
void WinogradEmitter::transformVector(const BodyEmitter &point, const Run &run, Value top, Value channel, Value mask, Value at) {
  const Winograd &high = shape.high, &wide = shape.wide;
  Value first = v.mul(run.from, wide.results);
  Value columns = v.add(v.mul(run.count, wide.results), wide.places() - wide.results);
  auto column = [&](Value c, int64_t row) { return v.add(v.mul(c, high.places() * v.lanes), columnsAt + row * v.lanes); };
  if (!shape.channelsTogether)
    copyLines(point, first, columns, top, channel);
  v.loop(v.i(0), columns, 1, [&](Value c) {
    Values image;
    for (int64_t row = 0; row < high.places(); ++row)
      image.push_back(shape.channelsTogether ? imageAt(point, v.add(top, row), v.add(first, c), channel, mask)
                                             : v.load(f.scratch, lineAt(v.i(row), c)));
    for (auto [row, value] : llvm::enumerate(transformImage(v, high, image)))
      v.store(value, f.scratch, column(c, row));
  });
  v.loop(v.i(0), run.count, 1, [&](Value tile) {
    Value row = v.add(v.mul(v.add(run.local, tile), rowPitch), at);
    for (int64_t i = 0; i < high.places(); ++i) {
      Values image;
      for (int64_t k = 0; k < wide.places(); ++k)
        image.push_back(v.load(f.scratch, column(v.add(v.mul(tile, wide.results), k), i)));
      for (auto [k, value] : llvm::enumerate(transformImage(v, wide, image)))
        v.store(value, f.scratch, v.add(row, (i * wide.places() + int64_t(k)) * pitch * rowPitch));
    }
  });
}

Value WinogradEmitter::imageAt(BodyEmitter point, Value line, Value column, Value channel, Value mask) {
  size_t last = shape.window.dims.size() - 1;
  if (last)
    bindDim(point, 0, line);
  bindDim(point, last, column);
  point.bindLane(f.info.axes[shape.window.depth.back()], channel, v.lanes, mask);
  return point.emitLanes(shape.direct.image);
}

/// Of an image with its pixels together: the lines that the run reads, a vector of channels for each column. Squares of pixels and
/// channels are transposed in registers.
void WinogradEmitter::copyLines(const BodyEmitter &point, Value first, Value columns, Value top, Value channel) {
  const std::string &channels = f.info.axes[shape.window.depth.back()];
  int64_t lastChannel = *extentOf(shape.window.depth.back()).constant() - 1;
  v.loop(v.i(0), v.i(shape.high.places()), 1, [&](Value row) {
    BodyEmitter line = point;
    if (shape.window.dims.size() > 1)
      bindDim(line, 0, v.add(top, row));
    v.loop(v.i(0), columns, v.lanes, [&](Value c) {
      Values pixels;
      for (unsigned l = 0; l < v.lanes; ++l) {
        BodyEmitter place = line;
        place.bindAxis(channels, v.min(v.add(channel, l), v.i(lastChannel)));
        pixels.push_back(pixelsAt(place, v.add(first, c)));
      }
      for (auto [l, value] : llvm::enumerate(v.transpose(pixels)))
        v.store(value, f.scratch, lineAt(row, v.add(c, l)));
    });
  });
}

/// Elements column .. column + lanes - 1 of a line: by the first tap, those behind the last place by the other taps of that place. What
/// lies behind them no result reads.
Value WinogradEmitter::pixelsAt(const BodyEmitter &point, Value column) {
  const lower::SlidingWindow::Dim &d = pixels();
  auto read = [&](int64_t tap, Value mask) {
    BodyEmitter place = point;
    if (d.taps)
      place.bindAxis(f.info.axes[*d.taps], v.i(tap));
    place.bindLane(f.info.axes[d.place], v.sub(column, tap), v.lanes, mask);
    return place.emitLanes(shape.direct.image);
  };
  auto edge = [&] {
    Value seen = v.firstLanes(v.sub(wide, column)), all = v.select(seen, read(0, seen), v.f(0));
    for (int64_t tap = 1; d.taps && tap < kernel::winogradTaps; ++tap) {
      Value next = v.firstLanes(v.sub(v.add(wide, tap), column)), one = v.b.create<arith::XOrIOp>(v.loc, next, seen);
      all = v.select(one, read(tap, one), all);
      seen = next;
    }
    return Values{all};
  };
  return v.ifValues(v.less(v.add(column, v.lanes - 1), wide), [&] { return Values{read(0, {})}; }, edge)[0];
}

//===----------------------------------------------------------------------===//
// Products and results
//===----------------------------------------------------------------------===//

void WinogradEmitter::emitPanel(Value panelIndex, Value first, Value count) {
  Value firstColumn = v.mul(panelIndex, panelColumns);
  Value panel = v.at(f.refs[shape.filter], v.mul(panelIndex, shape.packedPlaces() * shape.depth * panelColumns), product.rhsType);
  panels.inWidth(panelIndex, [&](unsigned width) {
    emitProducts(panel, count, width);
    eachRun(first, count, [&](const Run &run) { emitResults(run, firstColumn, llvm::alignTo(width, v.lanes)); });
  });
}

/// Where a filter with more places than there are products has one of these; behind the last one, where the next panel begins.
Value WinogradEmitter::packedPlace(Value place) {
  auto along = [&](const Winograd &w, Value at) {
    int64_t last = w.places() - 1, packed = w.packedPlaces() - 1;
    return last == packed ? at : v.select(v.less(at, v.i(last)), at, v.i(packed));
  };
  if (shape.places() == shape.packedPlaces())
    return place;
  Value row = v.div(place, v.i(shape.wide.places())), column = v.sub(place, v.mul(row, shape.wide.places()));
  Value at = v.add(v.mul(along(shape.high, row), shape.wide.packedPlaces()), along(shape.wide, column));
  return v.select(v.less(place, v.i(shape.places())), at, v.i(shape.packedPlaces()));
}

void WinogradEmitter::emitProducts(Value panel, Value count, unsigned width) {
  PanelItems::Split split = panels.split(count, tiles.maxRows());
  v.loop(v.i(0), v.i(shape.places()), 1, [&](Value place) {
    auto filterAt = [&](Value p) { return v.at(panel, v.mul(packedPlace(p), shape.depth * panelColumns), product.rhsType); };
    Value filter = filterAt(place), next = filterAt(v.add(place, 1));
    panels.eachTile(split, v.mul(place, pitch), [&](Value tile, Value, Value row, Value rows) {
      tiles.request(next, tile);
      tiles.emit(body, filter, row, rows, v.i(shape.depth), v.at(f.scratch, v.add(v.mul(row, panelColumns), productsAt)), width);
    });
  });
}

void WinogradEmitter::emitResults(const Run &run, Value firstColumn, unsigned width) {
  auto [outer, top] = splitLine(run.line);
  v.loop(v.i(0), run.count, 1, [&](Value tile) {
    v.loop(v.i(0), v.i(width), v.lanes, [&](Value column) { transformTile(run, tile, column); });
  });
  Value left = v.mul(run.from, shape.wide.results);
  Value pixels = v.min(v.mul(run.count, shape.wide.results), v.sub(wide, left));
  Value lines = v.min(v.sub(high, top), v.i(shape.high.results));
  v.loop(v.i(0), lines, 1, [&, outer = outer, top = top](Value line) {
    Value row = v.add(v.mul(v.add(v.mul(outer, high), v.add(top, line)), wide), left);
    epilogue.setBuffer(v.at(f.scratch, v.add(v.mul(line, linePitch * panelColumns), resultsAt)));
    epilogue.emit(body, row, pixels, firstColumn, width);
  });
}

/// The results of one tile, of a vector of columns, to their places in the run's lines.
void WinogradEmitter::transformTile(const Run &run, Value tile, Value column) {
  const Winograd &high = shape.high, &wide = shape.wide;
  Value from = v.add(v.add(v.mul(v.add(run.local, tile), panelColumns), column), productsAt);
  Values lines[4]; // of each the places along it
  for (int64_t k = 0; k < wide.places(); ++k) {
    Values products;
    for (int64_t i = 0; i < high.places(); ++i)
      products.push_back(v.load(f.scratch, v.add(from, (i * wide.places() + k) * pitch * panelColumns)));
    for (auto [line, value] : llvm::enumerate(transformProducts(v, high, products)))
      lines[line].push_back(value);
  }
  Value to = v.add(v.add(v.mul(tile, wide.results * panelColumns), column), resultsAt);
  for (int64_t line = 0; line < high.results; ++line)
    for (auto [pixel, value] : llvm::enumerate(transformProducts(v, wide, lines[line])))
      v.store(value, f.scratch, v.add(to, (line * linePitch + int64_t(pixel)) * panelColumns));
}

//===----------------------------------------------------------------------===//

std::optional<WinogradShape> WinogradShape::of(const lower::BodyInfo &info, schedule::WinogradAttr schedule) {
  kernel::LoadOp filter;
  for (Operation *op : info.ops)
    if (isa<kernel::LoadOp>(op) && op->hasAttr(kernel::winogradName))
      filter = cast<kernel::LoadOp>(op);
  std::optional<ConvolutionShape> direct = filter ? ConvolutionShape::of(info) : std::nullopt;
  if (!direct)
    return std::nullopt;
  auto packed = filter->getAttrOfType<DenseI64ArrayAttr>(kernel::winogradName).asArrayRef();
  SmallVector<int64_t> results = schedule ? SmallVector<int64_t>(llvm::ArrayRef<int64_t>(schedule.results())) : llvm::to_vector(packed);
  if (packed.size() != 2 || !Winograd::serves(packed[0], results[0]) || !Winograd::serves(packed[1], results[1]))
    return std::nullopt;
  std::optional<lower::SlidingWindow> window = lower::SlidingWindow::of(
      info, direct->image, direct->product.rows.set(), direct->product.reduced.set(), kernel::winogradTaps);
  std::optional<lower::SlidingWindow> tiled = window ? window->inTiles(info, results) : std::nullopt;
  if (!tiled)
    return std::nullopt;
  WinogradShape s{*direct, *tiled, Winograd(results[0], packed[0]), Winograd(results[1], packed[1])};
  s.depth = s.window.depthOf(info);
  auto other = filter->getAttrOfType<IntegerAttr>(kernel::winogradFilterName);
  s.both = bool(other);
  s.channelsTogether = lower::liesTogether(info, direct->image, s.window.depth.back());
  s.filter = other ? unsigned(other.getInt()) : cast<BlockArgument>(filter.getRef()).getArgNumber();
  return s;
}

llvm::Expected<bool> lathe::cpu::emitWinograd(KernelFunction &f, KernelPlan &plan) {
  auto tiles = llvm::dyn_cast_or_null<schedule::WinogradAttr>(f.schedule);
  std::optional<WinogradShape> shape = WinogradShape::of(f.info, tiles);
  if (!shape || (shape->both && !tiles))
    return false;
  WinogradEmitter emitter(f, *shape);
  emitter.emit();
  plan = emitter.plan();
  if (!emitter.error().empty())
    return llvm::createStringError(emitter.error());
  return true;
}
