//===- RoiAlign.cpp - Samples of regions of a feature map -------------------===//
//
// Each bin of a region has a grid of samples, and each sample four neighbours: four gathers over all samples of all regions, the
// channels last so that one index takes all of them. Rows and columns of the grid have their places and weights apart, which are added and
// multiplied at each sample. Where the region's size decides how many samples there are, the grid is that of the largest region, and what
// the others have too many does not count.
//
//===----------------------------------------------------------------------===//

#include "lathe/Dialect/Lathe/RoiAlign.h"

using namespace lathe;
using namespace lathe::ir;
using mlir::Type;
using mlir::Value;
using shape::Expr;

namespace {

/// Along one direction: [regions, bins, samples].
struct Samples {
  Value places[2];  ///< of the two neighbours, as integers
  Value weights[2]; ///< theirs; 0 outside of the map
  Value count;      ///< per region and as a number, where the regions decide; else null
};

class RoiAligner {
public:
  RoiAligner(GraphBuilder &g, const RoiAlignment &how, Value rois, llvm::function_ref<Dims(Value)> readSizes)
      : g(g), how(how), readSizes(readSizes), rois(rois) {}
  Value build(Value input, Value images);

private:
  Value region(int64_t column);
  Value length(int64_t start);
  void countSamples();
  Samples along(int64_t start, int64_t bins, const Expr &size, const Expr &samples, Value count);
  Value weighted(const Samples &down, const Samples &right);
  Value spread(Value v, bool vertical);
  Value neighbour(const Samples &down, const Samples &right, bool lower, bool further);

  GraphBuilder &g;
  const RoiAlignment &how;
  llvm::function_ref<Dims(Value)> readSizes;
  Type type;
  Expr samplesDown, samplesRight;
  Value countDown, countRight; ///< null where the model says how many
  Expr regions, channels;
  Value rois, x;
  Dims grid; ///< [regions, height, samples, width, samples]
};

/// A coordinate of every region, [regions].
Value RoiAligner::region(int64_t column) {
  Value c = g.reshape(g.slice(rois, 1, Expr(column), Expr(1)), {regions});
  c = g.binary<MulOp>(c, how.scale);
  return how.halfPixel ? g.binary<SubOp>(c, 0.5) : c;
}

/// The extent of every region.
Value RoiAligner::length(int64_t start) {
  Value v = g.sub(region(start + 2), region(start));
  return how.halfPixel ? v : g.binary<MaxOp>(v, 1);
}

/// As many samples as a bin has elements; the host reads the largest numbers.
void RoiAligner::countSamples() {
  auto count = [&](int64_t start, int64_t bins) {
    return g.binary<MaxOp>(g.unary<CeilOp>(g.binary<DivOp>(length(start), double(bins))), 0);
  };
  countDown = count(1, how.height);
  countRight = count(0, how.width);
  auto largest = [&](Value counts) { // at least one, also of no regions
    return g.reduce(ReduceKind::Max, g.concat({counts, g.splat(1, {Expr(1)}, type)}, 0), {0}, true);
  };
  Dims sizes = readSizes(g.cast(g.concat({largest(countDown), largest(countRight)}, 0), g.b.getI64Type()));
  samplesDown = sizes[0];
  samplesRight = sizes[1];
}

Samples RoiAligner::along(int64_t start, int64_t bins, const Expr &size, const Expr &samples, Value count) {
  Dims dims{regions, Expr(bins), samples};
  auto wide = [&](Value v) { return g.broadcastTo(g.reshape(v, {regions, 1, 1}), dims); };
  Value all = count ? wide(g.binary<MaxOp>(count, 1)) : g.splat(double(*samples.constant()), dims, type);
  Value bin = g.binary<DivOp>(length(start), double(bins));
  Value part = g.div(g.binary<AddOp>(g.iota(dims, 2, type), 0.5), all);
  Value p = g.add(wide(region(start)), g.mul(g.add(g.iota(dims, 1, type), part), wide(bin)));
  Value extent = g.broadcastTo(g.cast(g.size(size), type), dims), last = g.binary<SubOp>(extent, 1);
  Value inside = g.binary<AndOp>(g.compare(CompareKind::GE, p, g.splatLike(-1, p)), g.compare(CompareKind::LE, p, extent));
  p = g.binary<MinOp>(g.binary<MaxOp>(p, 0), last);
  Value low = g.unary<FloorOp>(p), high = g.binary<MinOp>(g.binary<AddOp>(low, 1), last), fraction = g.sub(p, low);
  auto place = [&](Value v) { return g.cast(v, g.b.getI64Type()); };
  auto weight = [&](Value w) { return g.select(inside, w, g.splatLike(0, w)); };
  return {{place(low), place(high)}, {weight(g.sub(g.splatLike(1, fraction), fraction)), weight(fraction)}, count};
}

/// [regions, bins, samples] over the grid.
Value RoiAligner::spread(Value v, bool vertical) {
  Dims d = dimsOf(v);
  Dims one = vertical ? Dims{d[0], d[1], d[2], 1, 1} : Dims{d[0], 1, 1, d[1], d[2]};
  return g.broadcastTo(g.reshape(v, one), grid);
}

/// A neighbour of each sample with its weight, [grid.., channels].
Value RoiAligner::neighbour(const Samples &down, const Samples &right, bool lower, bool further) {
  Value place = g.unsqueeze(g.add(spread(down.places[lower], true), spread(right.places[further], false)), {5});
  Dims dims = grid;
  dims.push_back(channels);
  Value v = g.b.createOrFold<GatherNdOp>(g.loc, tensorType(dims, type), x, place, 0);
  Value w = g.mul(spread(down.weights[lower], true), spread(right.weights[further], false));
  return g.mul(v, g.broadcastTo(g.unsqueeze(w, {5}), dims));
}

Value RoiAligner::build(Value input, Value images) {
  type = elementOf(input);
  regions = dimsOf(rois)[0];
  samplesDown = samplesRight = Expr(how.samples);
  if (how.samples == 0)
    countSamples();
  Dims d = dimsOf(input);
  channels = d[1];
  x = g.reshape(g.transpose(input, {0, 2, 3, 1}), {d[0] * d[2] * d[3], channels});
  grid = {regions, Expr(how.height), samplesDown, Expr(how.width), samplesRight};
  Samples down = along(1, how.height, d[2], samplesDown, countDown), right = along(0, how.width, d[3], samplesRight, countRight);
  for (Value &rows : down.places) { // of rows of the image that the region lies in
    auto wide = [&](Value v) { return g.broadcastTo(v, dimsOf(rows)); };
    Value above = g.mul(g.reshape(g.cast(images, g.b.getI64Type()), {regions, 1, 1}), g.broadcastTo(g.size(d[2]), {regions, 1, 1}));
    rows = g.mul(g.add(rows, wide(above)), wide(g.size(d[3])));
  }
  Value y = weighted(down, right);
  return g.transpose(y, {0, 3, 1, 2});
}

/// The samples with their weights, joined over each bin: [regions, height, width, channels].
Value RoiAligner::weighted(const Samples &down, const Samples &right) {
  bool isMax = how.isMax;
  Value all;
  for (bool lower : {false, true})
    for (bool further : {false, true}) {
      Value v = neighbour(down, right, lower, further);
      all = !all ? v : isMax ? g.binary<MaxOp>(all, v) : g.add(all, v);
    }
  Dims result{regions, Expr(how.height), Expr(how.width), channels};
  auto perRegion = [&](Value v, const Dims &dims) {
    Dims one(dims.size(), Expr(1));
    one[0] = regions;
    return g.broadcastTo(g.reshape(v, one), dims);
  };
  if (down.count) { // what a smaller region has too many
    Value extra = g.binary<OrOp>(g.compare(CompareKind::GE, g.iota(grid, 2, type), perRegion(down.count, grid)),
                                       g.compare(CompareKind::GE, g.iota(grid, 4, type), perRegion(right.count, grid)));
    extra = g.broadcastTo(g.unsqueeze(extra, {5}), dimsOf(all));
    all = g.select(extra, g.splatLike(isMax ? -std::numeric_limits<double>::infinity() : 0, all), all);
  }
  Value y = g.reduce(isMax ? ReduceKind::Max : ReduceKind::Sum, all, {2, 4}, false);
  Value number = down.count ? perRegion(g.mul(down.count, right.count), result)
                            : g.splat(double(*samplesDown.constant() * *samplesRight.constant()), result, type);
  Value none = g.compare(CompareKind::LT, number, g.splatLike(1, number));
  if (isMax)
    return g.select(none, g.splatLike(0, y), y);
  return g.div(y, g.binary<MaxOp>(number, 1));
}

} // namespace

Value ir::roiAlign(GraphBuilder &g, const RoiAlignment &how, Value x, Value regions, Value images, llvm::function_ref<Dims(Value)> readSizes) {
  return RoiAligner(g, how, regions, readSizes).build(x, images);
}
