//===- GroupedConvolution.cpp - CPU code for grouped convolutions ----------===//

#include "GroupedConvolution.h"
#include "GroupedPatch.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using lower::BodyInfo;
using shape::Expr;
using Values = VectorBuilder::Values;

/// Neighbouring pixels of an item at most, and bytes of its patch, about: beside the sums they stay in the nearest caches. Of an
/// open image the patch has room for rows of that many pixels, which most are shorter than.
constexpr int64_t widestBlock = 128, widestOpenBlock = 64, patchBytes = 64 << 10;
/// Taps of the innermost dimension whose elements of the filter are held at once.
constexpr int64_t tapsAtOnce = 8;

namespace {
class GroupedEmitter {
public:
  GroupedEmitter(KernelFunction &f, const GroupedShape &shape);
  void emit();
  KernelPlan plan() const;
  const std::string &error() const { return body.error(); }

private:
  /// The columns of a block that one pass computes: `vectors` vectors from `column` on.
  struct Pass {
    int64_t column, vectors;
  };
  /// Where a tile of neighbouring pixels reads.
  struct Tile {
    Value patch; ///< element of scratch of the first pixel's first tap
    int64_t width;
  };
  bool oneGroup() const { return shape.groupsPerBlock() == 1; }
  int64_t columnsOf(const Pass &pass) const {
    return std::min<int64_t>(pass.vectors * v.lanes, shape.blockColumns - pass.column);
  }
  SmallVector<Pass> passes() const;
  int64_t widestTile(const Pass &pass) const;
  Expr blocksAlong(size_t dim) const {
    return Expr::ceildiv(f.info.extents[shape.dims[dim].pixels], Expr(shape.dims[dim].block));
  }
  void emitBlock(const BodyEmitter &point, const PixelBlock &block, Value channelBlock);
  void emitRows(const BodyEmitter &point, size_t dim, const PixelBlock &block, Value channelBlock, Value patch, Value row);
  void emitRow(const BodyEmitter &point, const PixelBlock &block, Value channelBlock, Value patch, Value row);
  void emitTile(const BodyEmitter &point, const Tile &tile, const Pass &pass, Value channelBlock, Value pixel, Value resultRow);
  Values sumTaps(const Tile &tile, const Pass &pass, Value filter, size_t dim, Value patch, Values sums);
  Values sumChannels(const Tile &tile, const Pass &pass, Value filter, Value patch, Values sums);
  Values sumRow(const Tile &tile, const Pass &pass, Value filter, Value patch, Value channel, int64_t knownChannel,
                int64_t firstTap, int64_t taps, Values sums);
  Value element(const Pass &pass, int64_t vector, Value patch, int64_t place, Value channel, int64_t knownChannel);
  int64_t filterStep(unsigned axis) const;
  void writeLines(const BodyEmitter &point, const PixelBlock &block, Value channelBlock);
  void writeLines(const BodyEmitter &point, const PixelBlock &block, Value channelBlock, bool joined);
  void writeLine(const BodyEmitter &point, StringRef lane, Value from, Value count, Value channelBlock, Value row);
  bool joinsRows();

  KernelFunction &f;
  GroupedShape shape;
  VectorBuilder v;
  BodyEmitter body;
  std::unique_ptr<GroupedPatch> patch;
  int64_t resultPitch = 0; ///< elements between pixels of the block's results, in scratch behind the patch
  Value results;
};
} // namespace

/// Blocks of pixels: whole rows where they are short, and as many rows as leave the patch in the nearest caches.
static void chooseBlocks(GroupedShape &shape, const BodyInfo &info, unsigned lanes) {
  auto fit = [&](PatchDim &d, int64_t most) {
    std::optional<int64_t> extent = info.extents[d.pixels].constant();
    most = std::max<int64_t>(most, 1);
    if (!extent)
      return d.block = most, void();
    int64_t blocks = std::max<int64_t>((*extent + most - 1) / most, 1);
    d.block = std::max<int64_t>((*extent + blocks - 1) / blocks, 1);
  };
  int64_t channels = (shape.blockInputs() + lanes - 1) / lanes * lanes, places = 1;
  bool open = !info.extents[shape.dims.back().pixels].constant();
  fit(shape.dims.back(), open ? widestOpenBlock : widestBlock);
  for (size_t d = 0; d < shape.dims.size(); ++d)
    if (d + 2 != shape.dims.size())
      places *= shape.dims[d].places();
  if (shape.dims.size() < 2)
    return;
  PatchDim &rows = shape.dims[shape.dims.size() - 2];
  int64_t most = (open ? 2 : 1) * patchBytes / (4 * channels * places) - (rows.taps - 1) * rows.tapStep();
  fit(rows, std::min<int64_t>(most / rows.pixelStep(), info.extents[rows.pixels].constant() ? most : 16));
}

GroupedEmitter::GroupedEmitter(KernelFunction &f, const GroupedShape &given)
    : f(f), shape(given), v(f.b, f.loc, f.isa, cast<FloatType>(f.b.getF32Type())),
      body(f.info, f.b, f.loc, f.sizes, f.refs, f.hooks) {
  chooseBlocks(shape, f.info, v.lanes);
  patch = std::make_unique<GroupedPatch>(v, shape, f.info, f.scratch);
  resultPitch = (shape.blockColumns + v.lanes - 1) / v.lanes * v.lanes;
  results = v.at(f.scratch, v.i(patch->elements()));
}

KernelPlan GroupedEmitter::plan() const {
  KernelPlan plan;
  int64_t pixels = 1, taps = 1;
  plan.items = shape.blocks();
  for (unsigned a : shape.outer)
    plan.items = plan.items * f.info.extents[a];
  for (size_t d = 0; d < shape.dims.size(); ++d) {
    plan.items = plan.items * blocksAlong(d);
    pixels *= shape.dims[d].block;
    taps *= shape.dims[d].taps;
  }
  plan.cost = Expr(pixels * (2 * taps * shape.inPerGroup + 2) * shape.blockColumns);
  int64_t rest = shape.resultTogether ? 0 : (pixels + v.lanes) * resultPitch;
  plan.scratchBytes = Expr(4 * (patch->elements() + rest));
  return plan;
}

/// Several groups in a vector share nothing from vector to vector; one group's elements serve two.
SmallVector<GroupedEmitter::Pass> GroupedEmitter::passes() const {
  SmallVector<Pass> all;
  int64_t most = oneGroup() ? 2 : 1;
  for (int64_t column = 0; column < shape.blockColumns; column += most * v.lanes) {
    int64_t left = (shape.blockColumns - column + v.lanes - 1) / v.lanes;
    all.push_back({column, std::min(most, left)});
  }
  return all;
}

int64_t GroupedEmitter::widestTile(const Pass &pass) const {
  bool many = f.isa.registers >= 32;
  if (pass.vectors == 2)
    return many ? 12 : 5;
  // Of an open row each width has code of its own, with all channels of narrow groups.
  bool open = !f.info.extents[shape.dims.back().pixels].constant();
  return many && !(open && shape.inPerGroup * shape.dims.back().taps > tapsAtOnce) ? 12 : 8;
}

/// Items are (outer point, block of pixels along each dimension, block of channels), the last fastest.
void GroupedEmitter::emit() {
  v.loop(f.begin, f.end, 1, [&](Value item) {
    Value rest = item, channelBlock = v.takeLast(rest, v.i(shape.blocks()));
    BodyEmitter point = body;
    PixelBlock block;
    for (size_t d = shape.dims.size(); d-- > 0;) {
      const PatchDim &dim = shape.dims[d];
      Value extent = body.emitExpr(f.info.extents[dim.pixels]), first;
      if (dim.block == 1)
        first = v.takeLast(rest, v.max(extent, v.i(1)));
      else
        first = v.mul(v.takeLast(rest, v.max(body.emitExpr(blocksAlong(d)), v.i(1))), dim.block);
      block.first.insert(block.first.begin(), first);
      std::optional<int64_t> known = getConstantIntValue(extent);
      bool whole = dim.block == 1 || (known && *known % dim.block == 0);
      block.count.insert(block.count.begin(), whole ? v.i(dim.block) : v.min(v.sub(extent, first), v.i(dim.block)));
    }
    for (unsigned a : llvm::reverse(shape.outer))
      point.bindAxis(f.info.axes[a], v.takeLast(rest, v.max(body.emitExpr(f.info.extents[a]), v.i(1))));
    emitBlock(point, block, channelBlock);
  });
}

void GroupedEmitter::emitBlock(const BodyEmitter &point, const PixelBlock &block, Value channelBlock) {
  patch->pack(point, block, v.mul(channelBlock, shape.blockInputs()));
  emitRows(point, 0, block, channelBlock, v.i(0), v.i(0));
  if (!shape.resultTogether)
    writeLines(point, block, channelBlock);
}

/// Rows of pixels; `row` counts the pixels before this one in the block's results.
void GroupedEmitter::emitRows(const BodyEmitter &point, size_t dim, const PixelBlock &block, Value channelBlock, Value at,
                              Value row) {
  if (dim + 1 == shape.dims.size())
    return emitRow(point, block, channelBlock, at, row);
  const PatchDim &d = shape.dims[dim];
  v.loop(v.i(0), block.count[dim], 1, [&](Value r) {
    BodyEmitter inner = point;
    inner.bindAxis(f.info.axes[d.pixels], v.add(block.first[dim], r));
    emitRows(inner, dim + 1, block, channelBlock, v.add(at, v.mul(r, d.pixelStep() * patch->pitch(dim))),
             v.mul(v.add(row, r), block.count[dim + 1]));
  });
}

/// A row of pixels in tiles: of two nearly equal widths where its length is known, else of any
/// two such, chosen when it runs.
void GroupedEmitter::emitRow(const BodyEmitter &point, const PixelBlock &block, Value channelBlock, Value at, Value row) {
  const PatchDim &d = shape.dims.back();
  Value first = block.first.back(), count = block.count.back();
  int64_t step = d.pixelStep() * patch->pitch(shape.dims.size() - 1);
  for (const Pass &pass : passes()) {
    auto tiles = [&](Value from, Value to, int64_t width) {
      v.loop(from, to, width, [&](Value x) {
        Tile tile{v.add(at, v.mul(x, step)), width};
        emitTile(point, tile, pass, channelBlock, v.add(first, x), v.add(row, x));
      });
    };
    int64_t widest = widestTile(pass);
    if (std::optional<int64_t> known = getConstantIntValue(count)) {
      int64_t number = (*known + widest - 1) / widest, low = *known / number, high = *known % number;
      tiles(v.i(0), v.i(high * (low + 1)), low + 1);
      tiles(v.i(high * (low + 1)), v.i(*known), low);
      continue;
    }
    // One width or the next smaller one, each with code of its own.
    Value number = v.ceilDiv(count, widest), low = v.div(count, v.max(number, v.i(1))), high = v.sub(count, v.mul(low, number));
    v.loop(v.i(0), number, 1, [&](Value tile) {
      Value x = v.add(v.mul(tile, low), v.min(tile, high)), width = v.select(v.less(tile, high), v.add(low, 1), low);
      SmallVector<int64_t> cases;
      for (int64_t w = 1; w <= widest; ++w)
        cases.push_back(w);
      v.choose(width, cases, [&](int64_t w) {
        emitTile(point, {v.add(at, v.mul(x, step)), w}, pass, channelBlock, v.add(first, x), v.add(row, x));
      });
    });
  }
}

void GroupedEmitter::emitTile(const BodyEmitter &point, const Tile &tile, const Pass &pass, Value channelBlock, Value pixel,
                              Value resultRow) {
  int64_t depth = 1;
  for (unsigned a : shape.reduced)
    depth *= *f.info.extents[a].constant();
  Value pointer = f.refs[cast<BlockArgument>(shape.filter.getRef()).getArgNumber()];
  Value filter = v.at(pointer, v.add(v.mul(channelBlock, depth * shape.blockColumns), pass.column));
  Values sums = sumTaps(tile, pass, filter, 0, tile.patch, Values(tile.width * pass.vectors, v.f(0)));
  const std::string &lane = f.info.axes[shape.outChannels.carrier()];
  int64_t channels = shape.groups * shape.outPerGroup;
  for (int64_t x = 0; x < tile.width; ++x)
    for (int64_t q = 0; q < pass.vectors; ++q) {
      Value sum = sums[x * pass.vectors + q];
      int64_t column = pass.column + q * v.lanes;
      if (!shape.resultTogether) {
        v.store(sum, results, v.add(v.mul(v.add(resultRow, x), resultPitch), column));
        continue;
      }
      Value first = v.add(v.mul(channelBlock, shape.blockColumns), column), mask;
      int64_t width = std::min<int64_t>(v.lanes, shape.blockColumns - column);
      if (channels % shape.blockColumns)
        mask = v.firstLanes(v.min(v.i(width), v.sub(v.i(channels), first)));
      else if (width < v.lanes)
        mask = v.firstLanes(unsigned(width));
      BodyEmitter at = point;
      at.bindAxis(f.info.axes[shape.dims.back().pixels], v.add(pixel, x));
      shape.outChannels.bind(v, at, first, /*flat=*/true);
      at.bindLane(lane, first, v.lanes, mask);
      at.bindValue(shape.result, sum);
      for (kernel::StoreOp s : shape.stores)
        at.emitStore(s);
    }
}

/// Elements of the packed filter from one point of a summed axis to the next.
int64_t GroupedEmitter::filterStep(unsigned axis) const {
  int64_t step = shape.blockColumns;
  for (size_t i = shape.reduced.size(); i-- > 0 && shape.reduced[i] != axis;)
    step *= *f.info.extents[shape.reduced[i]].constant();
  return step;
}

/// Loops over the taps of the dimensions from `dim` on but the last.
Values GroupedEmitter::sumTaps(const Tile &tile, const Pass &pass, Value filter, size_t dim, Value at, Values sums) {
  const PatchDim &d = shape.dims[dim];
  if (dim + 1 == shape.dims.size())
    return sumChannels(tile, pass, filter, at, sums);
  if (!d.tap)
    return sumTaps(tile, pass, filter, dim + 1, at, sums);
  return v.loop(v.i(0), v.i(d.taps), 1, sums, [&](Value tap, Values state) {
    return sumTaps(tile, pass, v.at(filter, v.mul(tap, filterStep(*d.tap))), dim + 1,
                   v.add(at, v.mul(tap, d.tapStep() * patch->pitch(dim))), state);
  });
}

/// The channels of a group, and the taps of the last dimension.
Values GroupedEmitter::sumChannels(const Tile &tile, const Pass &pass, Value filter, Value at, Values sums) {
  const PatchDim &d = shape.dims.back();
  int64_t tapStep = d.tap ? filterStep(*d.tap) : 0, pitch = d.tapStep() * patch->pitch(shape.dims.size() - 1);
  auto allTaps = [&](Value channelFilter, Value channel, int64_t known, Values state) {
    int64_t whole = d.taps <= tapsAtOnce ? 0 : d.taps / tapsAtOnce;
    if (whole)
      state = v.loop(v.i(0), v.i(whole * tapsAtOnce), tapsAtOnce, state, [&](Value tap, Values inner) {
        return sumRow(tile, pass, v.at(channelFilter, v.mul(tap, tapStep)), v.add(at, v.mul(tap, pitch)), channel, known, 0,
                      tapsAtOnce, inner);
      });
    return sumRow(tile, pass, channelFilter, at, channel, known, whole * tapsAtOnce, d.taps - whole * tapsAtOnce, state);
  };
  int64_t channelStep = 0;
  for (unsigned a : shape.reduced)
    if (llvm::is_contained(shape.inChannels.axes, a))
      channelStep = filterStep(a);
  if (oneGroup() && shape.inPerGroup > 1)
    return v.loop(v.i(0), v.i(shape.inPerGroup), 1, sums,
                  [&](Value c, Values state) { return allTaps(v.at(filter, v.mul(c, channelStep)), c, -1, state); });
  for (int64_t c = 0; c < shape.inPerGroup; ++c)
    sums = allTaps(v.at(filter, v.i(c * channelStep)), v.i(c), c, sums);
  return sums;
}

/// One element of the image for each lane: that of its group.
Value GroupedEmitter::element(const Pass &pass, int64_t vector, Value at, int64_t place, Value channel, int64_t knownChannel) {
  int64_t pitch = patch->pitch(shape.dims.size() - 1);
  if (oneGroup())
    return v.broadcast(f.scratch, v.add(v.add(at, channel), place * pitch));
  int64_t first = pass.column + vector * v.lanes, from = first / shape.outPerGroup * shape.inPerGroup;
  SmallVector<int64_t> lanes;
  int64_t highest = 0;
  for (int64_t l = 0; l < v.lanes; ++l) {
    int64_t column = std::min(first + l, shape.blockColumns - 1);
    lanes.push_back(column / shape.outPerGroup * shape.inPerGroup + knownChannel - from);
    highest = std::max(highest, lanes.back());
  }
  Value start = v.add(at, place * pitch + from);
  if (llvm::all_equal(lanes))
    return v.broadcast(f.scratch, v.add(start, lanes[0]));
  Value low = v.load(f.scratch, start);
  bool inOrder = true;
  for (auto [l, lane] : llvm::enumerate(lanes))
    inOrder &= lane == int64_t(l) || first + int64_t(l) >= shape.blockColumns;
  if (inOrder)
    return low;
  if (highest < int64_t(2 * v.lanes)) {
    Value high = highest < int64_t(v.lanes) ? low : v.load(f.scratch, v.add(start, v.lanes));
    return v.shuffle(low, high, lanes);
  }
  Value spread;
  for (int64_t wanted : std::set<int64_t>(lanes.begin(), lanes.end())) {
    Value one = v.broadcast(f.scratch, v.add(start, wanted));
    SmallVector<int64_t> mask;
    for (auto [l, lane] : llvm::enumerate(lanes))
      mask.push_back(l + (lane == wanted ? v.lanes : 0));
    spread = spread ? v.shuffle(spread, one, mask) : one;
  }
  return spread;
}

Values GroupedEmitter::sumRow(const Tile &tile, const Pass &pass, Value filter, Value at, Value channel, int64_t knownChannel,
                              int64_t firstTap, int64_t taps, Values sums) {
  const PatchDim &d = shape.dims.back();
  int64_t tapStep = d.tap ? filterStep(*d.tap) : 0;
  Values weights;
  for (int64_t t = firstTap; t < firstTap + taps; ++t)
    for (int64_t q = 0; q < pass.vectors; ++q) {
      int64_t width = std::min<int64_t>(v.lanes, shape.blockColumns - pass.column - q * v.lanes);
      Value mask = width < v.lanes ? v.firstLanes(unsigned(width)) : Value();
      weights.push_back(v.loadConverted(filter, v.i(t * tapStep + q * v.lanes), v.element, mask));
    }
  std::map<int64_t, SmallVector<std::pair<int64_t, int64_t>>> uses; // of places, by pixel and tap
  for (int64_t x = 0; x < tile.width; ++x)
    for (int64_t t = 0; t < taps; ++t)
      uses[x * d.pixelStep() + (firstTap + t) * d.tapStep()].push_back({x, t});
  for (auto &[place, readers] : uses) {
    Value spread = element(pass, 0, at, place, channel, knownChannel);
    for (auto [x, t] : readers)
      for (int64_t q = 0; q < pass.vectors; ++q) {
        Value &sum = sums[x * pass.vectors + q];
        sum = v.fma(spread, weights[t * pass.vectors + q], sum);
      }
  }
  return sums;
}

//===----------------------------------------------------------------------===//
// Results with pixels side by side
//===----------------------------------------------------------------------===//

/// Do whole rows lie one behind the other in all that the epilogue reads and writes?
bool GroupedEmitter::joinsRows() {
  if (shape.dims.size() < 2)
    return false;
  const PatchDim &rows = shape.dims[shape.dims.size() - 2], &last = shape.dims.back();
  if (rows.pixels + 1 != last.pixels)
    return false;
  AxisGroup both(f.info, {rows.pixels, last.pixels});
  lower::AxisSet reduced = f.info.axesOf(shape.result.getDefiningOp<kernel::ReduceOp>().getAxes());
  return llvm::all_of(f.info.ops, [&](Operation *op) {
    bool inside = !isa<kernel::LoadOp, kernel::StoreOp, kernel::IndexOp>(op) || (f.info.domainOf(op) & reduced);
    return inside || (both.strideOf(f.info.exprOf(op)) && !(isa<kernel::IndexOp>(op) && both.isMentionedBy(f.info.exprOf(op))));
  });
}

void GroupedEmitter::writeLines(const BodyEmitter &point, const PixelBlock &block, Value channelBlock) {
  size_t last = shape.dims.size() - 1;
  Value whole =
      joinsRows() ? v.equal(block.count[last], body.emitExpr(f.info.extents[shape.dims[last].pixels])) : v.equal(v.i(0), v.i(1));
  if (std::optional<int64_t> known = getConstantIntValue(whole))
    return writeLines(point, block, channelBlock, *known != 0);
  v.ifThen(
      whole, [&] { writeLines(point, block, channelBlock, true); }, [&] { writeLines(point, block, channelBlock, false); });
}

void GroupedEmitter::writeLines(const BodyEmitter &point, const PixelBlock &block, Value channelBlock, bool joined) {
  size_t last = shape.dims.size() - 1;
  const std::string &lane = f.info.axes[shape.dims[last].pixels];
  std::function<void(const BodyEmitter &, size_t, Value)> each = [&](const BodyEmitter &at, size_t dim, Value row) {
    if (dim == last)
      return writeLine(at, lane, block.first[last], block.count[last], channelBlock, row);
    if (joined && dim + 1 == last) { // the rows after the first are pixels past its end
      BodyEmitter inner = at;
      inner.bindAxis(f.info.axes[shape.dims[dim].pixels], block.first[dim]);
      return writeLine(inner, lane, block.first[last], v.mul(block.count[dim], block.count[last]), channelBlock,
                       v.mul(row, block.count[dim + 1]));
    }
    v.loop(v.i(0), block.count[dim], 1, [&](Value r) {
      BodyEmitter inner = at;
      inner.bindAxis(f.info.axes[shape.dims[dim].pixels], v.add(block.first[dim], r));
      each(inner, dim + 1, v.mul(v.add(row, r), block.count[dim + 1]));
    });
  };
  each(point, 0, v.i(0));
}

/// Squares of pixels and channels are transposed in registers; `row`: the first pixel in the block's results.
void GroupedEmitter::writeLine(const BodyEmitter &point, StringRef lane, Value from, Value count, Value channelBlock, Value row) {
  int64_t channels = shape.groups * shape.outPerGroup;
  auto square = [&](Value x, Value mask) {
    v.loop(v.i(0), v.i(shape.blockColumns), v.lanes, [&](Value c) {
      Values rows;
      for (int64_t l = 0; l < v.lanes; ++l)
        rows.push_back(v.load(results, v.add(v.mul(v.add(v.add(row, x), l), resultPitch), c)));
      rows = v.transpose(rows);
      Value first = v.add(v.mul(channelBlock, shape.blockColumns), c);
      for (int64_t q = 0; q < v.lanes; ++q) {
        auto write = [&] {
          BodyEmitter at = point;
          shape.outChannels.bind(v, at, v.add(first, q), /*flat=*/true);
          at.bindLane(lane, v.add(from, x), v.lanes, mask);
          at.bindValue(shape.result, rows[q]);
          for (kernel::StoreOp s : shape.stores)
            at.emitStore(s);
        };
        if (channels % shape.blockColumns == 0 && shape.blockColumns % v.lanes == 0)
          write();
        else
          v.ifThen(v.less(v.add(c, q), v.min(v.i(shape.blockColumns), v.sub(v.i(channels), v.sub(first, c)))), write);
      }
    });
  };
  auto partly = [&](Value x) { square(x, v.firstLanes(v.sub(count, x))); };
  if (v.target.maskedBytes)
    return v.loop(v.i(0), count, v.lanes, partly);
  // A masked store takes a dozen cycles where masks are vectors.
  Value whole = v.roundDown(count, v.lanes);
  v.loop(v.i(0), whole, v.lanes, [&](Value x) { square(x, {}); });
  v.ifThen(v.less(whole, count), [&] { partly(whole); });
}

llvm::Expected<bool> lathe::cpu::emitGrouped(KernelFunction &f, KernelPlan &plan) {
  std::optional<GroupedShape> shape = GroupedShape::of(f.info);
  if (!shape)
    return false;
  GroupedEmitter emitter(f, *shape);
  emitter.emit();
  plan = emitter.plan();
  if (!emitter.error().empty())
    return llvm::createStringError(emitter.error());
  return true;
}
