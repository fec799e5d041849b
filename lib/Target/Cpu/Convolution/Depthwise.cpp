//===- Depthwise.cpp - CPU code for depthwise convolutions -----------------===//
//
// Channels lie in the lanes. A tile is a few neighbouring pixels of the result: a filter's row is loaded once for all of
// them, and where windows overlap, so is the image. Rows of the filter outside of the image are skipped. Only tiles at the
// image's sides ask for each column whether it is inside.
//
//===----------------------------------------------------------------------===//

#include "RowOrder.h"
#include "../VectorBuilder.h"
#include "lathe/Lower/BodySlices.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::AxisSet;
using lower::BodyEmitter;
using lower::BodyInfo;
using shape::Expr;
using Values = VectorBuilder::Values;

/// Sums that hide the latency of a multiply-add, and so many that their columns stay near one another.
constexpr int64_t usualTile = 8, widestTile = 14;
/// Registers beside the sums and a filter's row: two elements of the image.
constexpr int64_t spareRegisters = 2;
/// Vectors of channels of one item.
constexpr int64_t mostVectors = 8, fewestVectors = 2;
/// Elements of a filter that is worth requesting, and of one that the second-level cache keeps beside the image.
constexpr int64_t fewestRequested = 1 << 12, mostRequested = 1 << 16;

namespace {
struct DepthwiseShape {
  kernel::ReduceOp sum;
  kernel::LoadOp image, filter;
  std::vector<unsigned> rows, taps; ///< axes; the last ones are neighbours
  Value result;
  unsigned channel = 0;
  int64_t channels = 0, tapsInRow = 1;
  std::vector<Value> rowConditions, columnConditions; ///< of the image's predicate: by the last axes or not
  /// Elements of the image that lie at one place are inside for the same columns: the conditions go by the place. Not so where
  /// the last axis of pixels is no axis of the window's (a batch of images one pixel wide), or all taps read one place (a pixel that is
  /// spread over the window).
  bool conditionsGoByPlace = true;

  static std::optional<DepthwiseShape> of(const BodyInfo &info);
};
} // namespace

static std::optional<int64_t> strideAlong(const BodyInfo &info, Operation *op, unsigned axis) {
  std::optional<Expr::Linear> linear = info.exprOf(op).linearIn(info.axes[axis]);
  return linear ? linear->coefficient.constant() : std::nullopt;
}

/// The factors: a plain load of one channel axis and the summed ones, and one with zeros around the image.
static bool findFactors(DepthwiseShape &s, const BodyInfo &info) {
  s.sum = lower::onlySum(info);
  if (!s.sum || !s.sum.getType().isF32())
    return false;
  s.result = s.sum.getResult();
  auto mul = s.sum.getValue().getDefiningOp<arith::MulFOp>();
  AxisSet reduced = info.axesOf(s.sum.getAxes());
  for (unsigned side = 0; mul && side < 2; ++side) {
    s.filter = mul->getOperand(side).getDefiningOp<kernel::LoadOp>();
    s.image = mul->getOperand(1 - side).getDefiningOp<kernel::LoadOp>();
    if (!s.filter || !s.image || s.filter.getPredicate() || !s.filter.getIndices().empty() || !s.image.getIndices().empty())
      continue;
    AxisSet channel = info.axesOf(s.filter.getResult()) & ~reduced;
    if (llvm::popcount(channel) != 1 || (info.axesOf(s.filter.getResult()) & reduced) != reduced)
      continue;
    s.channel = llvm::countr_zero(channel);
    AxisSet all = (AxisSet(1) << info.axes.size()) - 1;
    if (info.axesOf(s.image.getResult()) == all)
      return true;
  }
  return false;
}

/// The predicate as conditions that do not depend on the channel.
static bool splitConditions(DepthwiseShape &s, const BodyInfo &info) {
  AxisSet last = AxisSet(1) << s.rows.back() | AxisSet(1) << s.taps.back();
  SmallVector<Value> work;
  if (s.image.getPredicate())
    work.push_back(s.image.getPredicate());
  while (!work.empty()) {
    Value v = work.pop_back_val();
    if (auto both = v.getDefiningOp<arith::AndIOp>()) {
      work.append({both.getRhs(), both.getLhs()});
      continue;
    }
    if (info.axesOf(v) >> s.channel & 1)
      return false;
    bool column = info.axesOf(v) & last;
    auto compare = v.getDefiningOp<arith::CmpIOp>();
    auto index = compare ? compare.getLhs().getDefiningOp<kernel::IndexOp>() : kernel::IndexOp();
    if (column && (!index || !index.getIndices().empty()))
      return false; // at the ends of a tile, a linear comparison holds for what is between
    (column ? s.columnConditions : s.rowConditions).push_back(v);
  }
  std::optional<int64_t> pixelStep = strideAlong(info, s.image, s.rows.back()), tapStep = strideAlong(info, s.image, s.taps.back());
  for (Value v : s.columnConditions) {
    Operation *index = v.getDefiningOp<arith::CmpIOp>().getLhs().getDefiningOp();
    std::optional<int64_t> byPixel = strideAlong(info, index, s.rows.back()), byTap = strideAlong(info, index, s.taps.back());
    s.conditionsGoByPlace &= byPixel && byTap && pixelStep && tapStep && *byPixel * *tapStep == *byTap * *pixelStep;
  }
  return !s.image.getFill() || matchPattern(s.image.getFill(), m_AnyZeroFloat());
}

std::optional<DepthwiseShape> DepthwiseShape::of(const BodyInfo &info) {
  DepthwiseShape s;
  if (info.axes.size() >= 63 || !findFactors(s, info))
    return std::nullopt;
  AxisSet reduced = info.axesOf(s.sum.getAxes());
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (a != s.channel)
      (reduced >> a & 1 ? s.taps : s.rows).push_back(a);
  std::optional<int64_t> channels = info.extents[s.channel].constant();
  if (s.rows.empty() || !channels || strideAlong(info, s.image, s.channel) != 1 || strideAlong(info, s.filter, s.channel) != 1)
    return std::nullopt;
  s.channels = *channels;
  for (Operation *op : info.ops)
    if (isa<kernel::StoreOp>(op) && (strideAlong(info, op, s.channel) != 1 || (info.domainOf(op) & reduced)))
      return std::nullopt;
  for (unsigned a : s.taps)
    if (!info.extents[a].constant() || !strideAlong(info, s.filter, a))
      return std::nullopt;
  if (!strideAlong(info, s.image, s.rows.back()) || !strideAlong(info, s.image, s.taps.back()))
    return std::nullopt;
  s.tapsInRow = *info.extents[s.taps.back()].constant();
  if (s.tapsInRow > 16 || !splitConditions(s, info))
    return std::nullopt;
  return s;
}

namespace {
class DepthwiseEmitter {
public:
  DepthwiseEmitter(KernelFunction &f, const DepthwiseShape &shape);
  void emit();
  KernelPlan plan() const;
  const std::string &error() const { return body.error(); }

private:
  /// A tile: pixels first .. first + width - 1 along the last axis, at a point with all other rows bound.
  struct Tile {
    BodyEmitter point;
    Value first;
    int64_t width;
  };
  struct Item {
    Value line, tile, chunk;
  };
  Value refOf(kernel::LoadOp load) { return f.refs[cast<BlockArgument>(load.getRef()).getArgNumber()]; }
  StringRef pixelAxis() const { return f.info.axes[shape.rows.back()]; }
  StringRef tapAxis() const { return f.info.axes[shape.taps.back()]; }
  Expr tileCount() const { return Expr::ceildiv(f.info.extents[shape.rows.back()], Expr(tileWidth)); }
  int64_t chunks() const { return (shape.channels + vectors * v.lanes - 1) / (vectors * v.lanes); }
  void chooseOrder();
  Item itemAt(Value item, Value tiles);
  Value conditionAt(const BodyEmitter &point, Value pixel, int64_t tap, ArrayRef<Value> conditions);
  Value isInside(const Tile &tile);
  void requestFilter();
  bool isRequested() const;
  void requestNextLine(const Tile &tile, Value channel);
  void emitTile(const Tile &tile, Value chunk);
  void emitKnown(const BodyEmitter &point, Value tile, Value chunk, int64_t extent);
  bool onlyEndsLeave(const BodyEmitter &point, int64_t extent);
  void emitChannels(const Tile &tile, Value chunk, bool inside);
  void emitVectors(const Tile &tile, ArrayRef<Value> channels, Value mask, bool inside);
  Values sumRows(const Tile &tile, BodyEmitter point, size_t level, ArrayRef<Value> channels, Value mask, bool inside, Values sums);
  Values sumRow(const Tile &tile, BodyEmitter point, ArrayRef<Value> channels, Value mask, bool inside, Values sums);
  void addRow(const Tile &tile, BodyEmitter point, Value channel, Value mask, bool inside, MutableArrayRef<Value> sums);

  KernelFunction &f;
  const DepthwiseShape &shape;
  VectorBuilder v;
  BodyEmitter body;
  int64_t tileWidth, vectors = mostVectors; ///< pixels; vectors of channels of an item
  bool inPairs = false;                     ///< two vectors of channels at a time
  bool byChunks = false;                    ///< all lines of an image with some of its channels, then the next ones
  SmallVector<kernel::StoreOp> stores;
};
} // namespace

/// The narrowest tile that hides the latency and leaves the least over: more pixels share no more than what already suffices, and lie further apart
/// in memory.
static int64_t chooseTile(const Expr &extent, int64_t taps, const Isa &isa) {
  int64_t fit = int64_t(isa.registers) - spareRegisters - taps, usual = fit >= usualTile ? usualTile : usualTile / 2;
  int64_t widest = std::clamp(fit, usual, widestTile);
  std::optional<int64_t> known = extent.constant();
  if (!known)
    return usual;
  if (*known <= widest)
    return std::max<int64_t>(*known, 1);
  int64_t best = usual;
  auto computed = [&](int64_t width) { return (*known + width - 1) / width * width; };
  for (int64_t width = usual; width <= widest; ++width)
    if (computed(width) < computed(best))
      best = width;
  return best;
}

DepthwiseEmitter::DepthwiseEmitter(KernelFunction &f, const DepthwiseShape &shape)
    : f(f), shape(shape), v(f.b, f.loc, f.isa, cast<FloatType>(f.b.getF32Type())),
      body(f.info, f.b, f.loc, f.sizes, f.refs, f.hooks), tileWidth(chooseTile(f.info.extents[shape.rows.back()], shape.tapsInRow, f.isa)) {
  for (Operation *op : f.info.ops)
    if (auto s = dyn_cast<kernel::StoreOp>(op))
      stores.push_back(s);
  chooseOrder();
  // A narrow tile has too few sums to hide the latency of their multiply-adds and of what follows them.
  int64_t pair = 2 * (tileWidth + shape.tapsInRow) + spareRegisters;
  inPairs = tileWidth < usualTile && pair <= int64_t(f.isa.registers) && shape.channels % (2 * v.lanes) == 0 && vectors > 1;
  vectors -= inPairs ? vectors % 2 : 0;
}

/// Lines of the image are read again for the next line of results. Where the first-level cache holds those of a window and the filter for a few vectors of
/// channels, an item has as many, and all lines of an image go by before the next channels. An image that the second-level cache does not hold beside some of the result is
/// read in order.
void DepthwiseEmitter::chooseOrder() {
  if (std::min(shape.rows.size(), shape.taps.size()) < 2)
    return;
  unsigned line = shape.rows.end()[-2], pixel = shape.rows.back();
  std::optional<int64_t> height = f.info.extents[line].constant(), width = f.info.extents[pixel].constant();
  std::optional<int64_t> lineStep = strideAlong(f.info, shape.image, line), tapStep = strideAlong(f.info, shape.image, shape.taps.back());
  if (!height || !width || lineStep.value_or(0) < 1 || tapStep.value_or(0) < 1)
    return;
  int64_t apart = std::max<int64_t>(1, *strideAlong(f.info, shape.image, pixel) / *tapStep), taps = 1;
  for (unsigned a : shape.taps)
    taps *= *f.info.extents[a].constant();
  int64_t ofWindow = taps / shape.tapsInRow * (*width * apart + shape.tapsInRow) + taps, fit = f.isa.costs.firstCache / (f.isa.vectorBytes * ofWindow);
  if (fit < fewestVectors || 4 * *height * *lineStep > int64_t(f.isa.costs.secondCache / 4 * 3))
    return;
  byChunks = true;
  vectors = std::min(fit, mostVectors);
}

KernelPlan DepthwiseEmitter::plan() const {
  KernelPlan plan;
  Expr taps(1), lines(1);
  for (unsigned a : shape.taps)
    taps = taps * f.info.extents[a];
  for (unsigned a : ArrayRef(shape.rows).drop_back())
    lines = lines * f.info.extents[a];
  plan.items = lines * tileCount() * Expr(chunks());
  plan.cost = (taps * 4 + Expr(4)) * Expr(tileWidth * std::min(shape.channels, vectors * v.lanes));
  AxisGroup rows(f.info, shape.rows);
  std::optional<StagePlan> stage = byChunks ? std::nullopt : stageOfRows(f, rows, tileCount() * Expr(chunks()));
  if (stage) {
    addOperandOfWindows(*stage, f.info, shape.image, rows, AxisGroup(f.info, shape.taps));
    plan.stage = *stage;
  }
  return plan;
}

/// A row of the result reads some rows of taps, each of them a line of channels far from the next one: nothing looks ahead of these, and each vector of
/// channels would wait for its taps. So the filter is requested as a whole, one line after the other.
void DepthwiseEmitter::requestFilter() {
  constexpr int64_t perLine = 16;
  int64_t elements = shape.channels;
  for (unsigned a : shape.taps)
    elements *= *f.info.extents[a].constant();
  if (elements < fewestRequested || elements > mostRequested)
    return;
  Value filter = refOf(shape.filter);
  v.loop(v.i(0), v.i(elements), perLine, [&](Value at) { v.prefetch(filter, at, v.b.getF32Type(), 2); });
}

/// Whether lines come from beyond the second-level cache: those of an image that it does not hold.
bool DepthwiseEmitter::isRequested() const {
  if (byChunks || std::min(shape.rows.size(), shape.taps.size()) < 2)
    return false;
  unsigned line = shape.rows.end()[-2];
  std::optional<int64_t> height = f.info.extents[line].constant(), step = strideAlong(f.info, shape.image, line), tapStep = strideAlong(f.info, shape.image, shape.taps.end()[-2]);
  return height && step && tapStep && *step >= *tapStep && *tapStep > 0 && 4 * *height * *step > int64_t(f.isa.costs.secondCache);
}

/// What the next line of results reads first of all. A tile's pixels lie a line of channels apart, where nothing looks ahead.
void DepthwiseEmitter::requestNextLine(const Tile &tile, Value channel) {
  constexpr int64_t perCacheLine = 16;
  unsigned line = shape.rows.end()[-2], tapLine = shape.taps.end()[-2];
  int64_t step = *strideAlong(f.info, shape.image, line), tapStep = *strideAlong(f.info, shape.image, tapLine), taps = *f.info.extents[tapLine].constant();
  int64_t pixel = *strideAlong(f.info, shape.image, shape.rows.back()), tap = *strideAlong(f.info, shape.image, shape.taps.back());
  int64_t apart = std::max<int64_t>(1, pixel / std::max<int64_t>(1, tap)), share = std::max<int64_t>(1, perCacheLine / v.lanes);
  BodyEmitter point = tile.point;
  point.bindAxis(pixelAxis(), tile.first);
  for (unsigned a : shape.taps)
    point.bindAxis(f.info.axes[a], v.i(0));
  point.bindAxis(f.info.axes[shape.channel], channel);
  Value image = v.at(refOf(shape.image), point.emitExpr(f.info.exprOf(shape.image)));
  // Vectors of one line of the cache share its pixels.
  Value mine = share > 1 ? v.mul(v.rem(v.div(channel, v.i(v.lanes)), v.i(share)), pixel / apart) : v.i(0);
  for (int64_t t = std::max<int64_t>(0, taps - step / tapStep); t < taps; ++t)
    for (int64_t x = 0; x < tile.width * apart; x += share)
      v.prefetch(image, v.add(mine, step + t * tapStep + x * (pixel / apart)), v.b.getF32Type(), 2);
}

/// Items are (row, tile, chunk of channels), the last fastest, or (image, chunk of channels, line, tile).
DepthwiseEmitter::Item DepthwiseEmitter::itemAt(Value item, Value tiles) {
  auto split = [&](Value all, Value by) {
    Value quotient = v.div(all, by);
    return std::pair(quotient, v.sub(all, v.mul(quotient, by)));
  };
  if (!byChunks) {
    auto [place, chunk] = split(item, v.i(chunks()));
    auto [line, tile] = split(place, tiles);
    return {line, tile, chunk};
  }
  Value lines = v.max(body.emitExpr(f.info.extents[shape.rows.end()[-2]]), v.i(1));
  auto [above, tile] = split(item, tiles);
  auto [group, line] = split(above, lines);
  auto [image, chunk] = split(group, v.i(chunks()));
  return {v.add(v.mul(image, lines), line), tile, chunk};
}

void DepthwiseEmitter::emit() {
  Value extent = body.emitExpr(f.info.extents[shape.rows.back()]), tiles = v.max(body.emitExpr(tileCount()), v.i(1));
  requestFilter();
  v.loop(f.begin, f.end, 1, [&](Value item) {
    auto [line, tile, chunk] = itemAt(item, tiles);
    BodyEmitter point = body;
    for (size_t k = shape.rows.size() - 1; k-- > 0;) {
      Value size = v.max(body.emitExpr(f.info.extents[shape.rows[k]]), v.i(1)), outer = v.div(line, size);
      point.bindAxis(f.info.axes[shape.rows[k]], k ? v.sub(line, v.mul(outer, size)) : line);
      line = outer;
    }
    std::optional<int64_t> known = getConstantIntValue(extent);
    if (known)
      return emitKnown(point, tile, chunk, *known);
    auto at = [&](Value first, int64_t width) { emitTile({point, first, width}, chunk); };
    Value start = v.mul(tile, tileWidth);
    // A row that is shorter than a tile is two halves of one that overlap, or single pixels.
    int64_t half = tileWidth / 2;
    auto halves = [&] { v.loop(v.i(0), extent, half, [&](Value x) { at(v.min(x, v.sub(extent, half)), half); }); };
    auto pixels = [&] { v.loop(v.i(0), extent, 1, [&](Value x) { at(x, 1); }); };
    v.ifThen(
        v.less(extent, v.i(tileWidth)), [&] { v.ifThen(v.less(extent, v.i(half)), pixels, halves); },
        [&] { at(v.min(start, v.sub(extent, tileWidth)), tileWidth); });
  });
}

/// Tiles of a row whose length is known. The last one is moved back to end with the row: what it shares with the one before is computed twice,
/// equally. Where only the first and the last one reach beyond the image, each is code of its own, which knows the columns that do.
void DepthwiseEmitter::emitKnown(const BodyEmitter &point, Value tile, Value chunk, int64_t extent) {
  if (extent == tileWidth)
    return emitTile({point, v.i(0), tileWidth}, chunk);
  int64_t last = extent - tileWidth;
  Tile any{point, v.min(v.mul(tile, tileWidth), v.i(last)), tileWidth};
  if (shape.columnConditions.empty() || !onlyEndsLeave(point, extent))
    return emitTile(any, chunk);
  auto between = [&] { emitChannels(any, chunk, true); };
  auto behindFirst = [&] { v.ifThen(v.equal(any.first, v.i(last)), [&] { emitTile({point, v.i(last), tileWidth}, chunk); }, between); };
  v.ifThen(v.equal(any.first, v.i(0)), [&] { emitTile({point, v.i(0), tileWidth}, chunk); }, behindFirst);
}

/// Is every tile but the first and the last one inside of the image, as is known here?
bool DepthwiseEmitter::onlyEndsLeave(const BodyEmitter &point, int64_t extent) {
  for (int64_t first = tileWidth; first < extent - tileWidth; first += tileWidth)
    if (getConstantIntValue(isInside({point, v.i(first), tileWidth})) != std::optional<int64_t>(1))
      return false;
  return true;
}

/// One tile, of which nothing or all may be known to lie inside.
void DepthwiseEmitter::emitTile(const Tile &tile, Value chunk) {
  if (shape.columnConditions.empty())
    return emitChannels(tile, chunk, true);
  Value inside = isInside(tile);
  if (std::optional<int64_t> known = getConstantIntValue(inside))
    return emitChannels(tile, chunk, *known);
  v.ifThen(inside, [&] { emitChannels(tile, chunk, true); }, [&] { emitChannels(tile, chunk, false); });
}

/// All of the conditions at a pixel and a tap of the last axes; nothing when they hold for certain.
Value DepthwiseEmitter::conditionAt(const BodyEmitter &point, Value pixel, int64_t tap, ArrayRef<Value> conditions) {
  BodyEmitter at = point;
  at.bindAxis(pixelAxis(), pixel);
  at.bindAxis(tapAxis(), v.i(tap));
  Value all;
  for (Value c : conditions) {
    Value one = at.emit(c);
    std::optional<int64_t> known = getConstantIntValue(one);
    if (known && *known)
      continue;
    all = all ? v.b.createOrFold<arith::AndIOp>(v.loc, all, one) : one;
  }
  return all;
}

/// Do the conditions hold for every column that the tile reads? They are linear, so its corners say so.
Value DepthwiseEmitter::isInside(const Tile &tile) {
  Value all = v.b.create<arith::ConstantOp>(v.loc, v.b.getBoolAttr(true));
  for (Value pixel : {tile.first, v.add(tile.first, tile.width - 1)})
    for (int64_t tap : {int64_t(0), shape.tapsInRow - 1})
      if (Value one = conditionAt(tile.point, pixel, tap, shape.columnConditions))
        all = v.b.createOrFold<arith::AndIOp>(v.loc, all, one);
  return all;
}

void DepthwiseEmitter::emitChannels(const Tile &tile, Value chunk, bool inside) {
  int64_t whole = shape.channels - shape.channels % v.lanes, perItem = vectors * v.lanes;
  Value from = v.mul(chunk, perItem), to = v.min(v.add(from, perItem), v.i(shape.channels));
  if (inPairs)
    return v.loop(from, to, 2 * v.lanes, [&](Value c) { emitVectors(tile, {c, v.add(c, v.lanes)}, {}, inside); });
  if (whole)
    v.loop(from, v.min(to, v.i(whole)), v.lanes, [&](Value c) { emitVectors(tile, c, {}, inside); });
  if (whole == shape.channels)
    return;
  auto last = [&] { emitVectors(tile, v.i(whole), v.firstLanes(unsigned(shape.channels - whole)), inside); };
  if (chunks() == 1)
    return last();
  v.ifThen(v.equal(to, v.i(shape.channels)), last);
}

/// Sums and what follows them, of a vector of channels or of several.
void DepthwiseEmitter::emitVectors(const Tile &tile, ArrayRef<Value> channels, Value mask, bool inside) {
  Values sums(tile.width * channels.size(), v.f(0));
  BodyEmitter point = tile.point;
  point.bindAxis(pixelAxis(), tile.first);
  if (isRequested())
    requestNextLine(tile, channels[0]);
  sums = sumRows(tile, point, 0, channels, mask, inside, sums);
  for (size_t i = 0; i < sums.size(); ++i) {
    BodyEmitter at = tile.point;
    at.bindAxis(pixelAxis(), v.add(tile.first, int64_t(i) % tile.width));
    at.bindLane(f.info.axes[shape.channel], channels[i / tile.width], v.lanes, mask);
    at.bindValue(shape.result, sums[i]);
    for (kernel::StoreOp s : stores)
      at.emitStore(s);
  }
}

/// Loops over the taps' axes from `level` on; a row of taps whose conditions do not hold adds nothing.
Values DepthwiseEmitter::sumRows(const Tile &tile, BodyEmitter point, size_t level, ArrayRef<Value> channels, Value mask, bool inside,
                                 Values sums) {
  if (level + 1 < shape.taps.size()) {
    unsigned axis = shape.taps[level];
    return v.loop(v.i(0), point.emitExpr(f.info.extents[axis]), 1, sums, [&](Value tap, Values state) {
      BodyEmitter at = point;
      at.bindAxis(f.info.axes[axis], tap);
      return sumRows(tile, at, level + 1, channels, mask, inside, state);
    });
  }
  auto row = [&] { return sumRow(tile, point, channels, mask, inside, sums); };
  Value condition = shape.rowConditions.empty() ? Value() : conditionAt(point, tile.first, 0, shape.rowConditions);
  return condition ? v.ifValues(condition, row, [&] { return sums; }) : row();
}

Values DepthwiseEmitter::sumRow(const Tile &tile, BodyEmitter point, ArrayRef<Value> channels, Value mask, bool inside, Values sums) {
  for (auto [i, channel] : llvm::enumerate(channels))
    addRow(tile, point, channel, mask, inside, MutableArrayRef(sums).slice(i * tile.width, tile.width));
  return sums;
}

void DepthwiseEmitter::addRow(const Tile &tile, BodyEmitter point, Value channel, Value mask, bool inside, MutableArrayRef<Value> sums) {
  const BodyInfo &info = f.info;
  point.bindAxis(tapAxis(), v.i(0));
  point.bindAxis(info.axes[shape.channel], channel);
  Type f32 = v.b.getF32Type();
  Value image = v.at(refOf(shape.image), point.emitExpr(info.exprOf(shape.image)));
  Value filter = v.at(refOf(shape.filter), point.emitExpr(info.exprOf(shape.filter)));
  int64_t pixelStep = *strideAlong(info, shape.image, shape.rows.back()), tapStep = *strideAlong(info, shape.image, shape.taps.back());
  int64_t filterStep = *strideAlong(info, shape.filter, shape.taps.back());
  Values weights;
  for (int64_t k = 0; k < shape.tapsInRow; ++k)
    weights.push_back(v.loadConverted(filter, v.i(k * filterStep), f32, mask));
  std::map<std::pair<int64_t, int64_t>, Value> columns; // by distance from the first, and by pixel and tap where the conditions do
  for (int64_t x = 0; x < tile.width; ++x)
    for (int64_t k = 0; k < shape.tapsInRow; ++k) {
      int64_t distance = x * pixelStep + k * tapStep;
      bool shared = inside || shape.conditionsGoByPlace;
      auto [it, fresh] = columns.try_emplace({distance, shared ? 0 : x * shape.tapsInRow + k});
      if (fresh) {
        Value active = mask;
        Value condition = inside ? Value() : conditionAt(tile.point, v.add(tile.first, x), k, shape.columnConditions);
        if (condition && getConstantIntValue(condition) == std::optional<int64_t>(0))
          continue; // outside for certain: the null value in the map says so
        auto load = [&] { return v.loadConverted(image, v.i(distance), f32, active); };
        it->second = condition ? v.ifValues(condition, [&] { return Values{load()}; }, [&] { return Values{v.f(0)}; })[0] : load();
      }
      if (it->second)
        sums[x] = v.fma(it->second, weights[k], sums[x]);
    }
}

llvm::Expected<bool> lathe::cpu::emitDepthwise(KernelFunction &f, KernelPlan &plan) {
  std::optional<DepthwiseShape> shape = DepthwiseShape::of(f.info);
  if (!shape)
    return false;
  DepthwiseEmitter emitter(f, *shape);
  emitter.emit();
  plan = emitter.plan();
  if (!emitter.error().empty())
    return llvm::createStringError(emitter.error());
  return true;
}
