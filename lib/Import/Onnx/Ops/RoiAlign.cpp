//===- RoiAlign.cpp - Samples of regions of a feature map ------------------===//
//
// Each bin of a region has a grid of samples, and each sample four neighbours: four gathers over all samples of all regions, the
// channels last so that one index vector takes all of them. Where the region's size decides how many samples there are, the grid is
// that of the largest region, and what the others have too many does not count.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

using namespace lathe;
using ir::CompareKind;
using ir::ReduceKind;

namespace lathe::onnx {

namespace {

/// Along one direction: [regions, bins, samples].
struct Samples {
  Value low, high;  ///< neighbours, as numbers
  Value fraction;   ///< from low to high
  Value inside;
  Value count; ///< per region and as a number, where the regions decide; else null
};

class RoiAligner {
public:
  explicit RoiAligner(Node &n) : n(n) {}
  void build();

private:
  Value region(int64_t column);
  Value length(int64_t start);
  void countSamples();
  Samples along(int64_t start, int64_t bins, const Expr &size, const Expr &samples, Value count);
  Value weighted(const Samples &down, const Samples &right, bool isMax);
  Value spread(Value v, bool vertical);
  Value tap(Value y, Value x);

  Node &n;
  Type type;
  bool halfPixel = true;
  int64_t height = 1, width = 1;
  Expr samplesDown, samplesRight;
  Value countDown, countRight; ///< null where the model says how many
  double scale = 1;
  Expr regions, channels;
  Value x, rois, batch;
  Dims grid; ///< [regions, height, samples, width, samples]
};

/// A coordinate of every region, [regions].
Value RoiAligner::region(int64_t column) {
  Value c = n.reshape(n.g.slice(rois, 1, Expr(column), Expr(1)), {regions});
  c = n.g.binary<ir::MulOp>(c, scale);
  return halfPixel ? n.g.binary<ir::SubOp>(c, 0.5) : c;
}

/// The extent of every region.
Value RoiAligner::length(int64_t start) {
  Value v = n.g.sub(region(start + 2), region(start));
  return halfPixel ? v : n.g.binary<ir::MaxOp>(v, 1);
}

/// As many samples as a bin has elements; the host reads the largest numbers.
void RoiAligner::countSamples() {
  auto count = [&](int64_t start, int64_t bins) {
    return n.g.binary<ir::MaxOp>(n.g.unary<ir::CeilOp>(n.g.binary<ir::DivOp>(length(start), double(bins))), 0);
  };
  countDown = count(1, height);
  countRight = count(0, width);
  auto largest = [&](Value counts) { // at least one, also of no regions
    return n.g.reduce(ReduceKind::Max, n.g.concat({counts, n.g.splat(1, {Expr(1)}, type)}, 0), {0}, true);
  };
  Dims sizes = n.sizesOf(n.g.cast(n.g.concat({largest(countDown), largest(countRight)}, 0), n.g.b.getI64Type()));
  samplesDown = sizes[0];
  samplesRight = sizes[1];
}

Samples RoiAligner::along(int64_t start, int64_t bins, const Expr &size, const Expr &samples, Value count) {
  Dims dims{regions, Expr(bins), samples};
  auto wide = [&](Value v) { return n.g.broadcastTo(n.reshape(v, {regions, 1, 1}), dims); };
  Value all = count ? wide(n.g.binary<ir::MaxOp>(count, 1)) : n.g.splat(double(*samples.constant()), dims, type);
  Value bin = n.g.binary<ir::DivOp>(length(start), double(bins));
  Value part = n.g.div(n.g.binary<ir::AddOp>(n.g.iota(dims, 2, type), 0.5), all);
  Value p = n.g.add(wide(region(start)), n.g.mul(n.g.add(n.g.iota(dims, 1, type), part), wide(bin)));
  Value extent = n.g.broadcastTo(n.g.cast(n.g.size(size), type), dims), last = n.g.binary<ir::SubOp>(extent, 1);
  Samples s;
  s.count = count;
  s.inside = n.g.binary<ir::AndOp>(n.g.compare(CompareKind::GE, p, n.g.splatLike(-1, p)), n.g.compare(CompareKind::LE, p, extent));
  p = n.g.binary<ir::MinOp>(n.g.binary<ir::MaxOp>(p, 0), last);
  s.low = n.g.unary<ir::FloorOp>(p);
  s.high = n.g.binary<ir::MinOp>(n.g.binary<ir::AddOp>(s.low, 1), last);
  s.fraction = n.g.sub(p, s.low);
  return s;
}

/// [regions, bins, samples] over the grid.
Value RoiAligner::spread(Value v, bool vertical) {
  Dims d = n.dims(v);
  Dims one = vertical ? Dims{d[0], d[1], d[2], 1, 1} : Dims{d[0], 1, 1, d[1], d[2]};
  return n.g.broadcastTo(n.reshape(v, one), grid);
}

Value RoiAligner::tap(Value y, Value across) {
  auto index = [&](Value v) { return n.g.unsqueeze(n.g.cast(v, n.g.b.getI64Type()), {5}); };
  Value image = n.g.broadcastTo(n.reshape(batch, {regions, 1, 1, 1, 1}), grid);
  Value at = n.g.concat({index(image), index(spread(y, true)), index(spread(across, false))}, 5);
  Dims dims = grid;
  dims.push_back(channels);
  return n.g.b.createOrFold<ir::GatherNdOp>(n.g.loc, ir::tensorType(dims, type), x, at, 0);
}

void RoiAligner::build() {
  Value input = n.in(0);
  rois = n.in(1);
  batch = n.in(2);
  n.requireFloat(input);
  n.requireRank(input, 4);
  n.requireRank(rois, 2);
  n.requireRank(batch, 1);
  n.requireInteger(batch);
  n.requireSameElement({input, rois});
  regions = n.simplify(n.dim(batch, 0));
  n.requireEqual(n.dim(rois, 0), regions, "one image per region");
  n.requireEqual(n.dim(rois, 1), Expr(4), "the coordinates of a region");
  std::string mode = n.text("mode", "avg"), transform = n.text("coordinate_transformation_mode", "half_pixel");
  if ((mode != "avg" && mode != "max") || (transform != "half_pixel" && transform != "output_half_pixel"))
    failWrong("mode '{0}' with coordinates '{1}'", mode, transform);
  halfPixel = n.opset() >= 16 && transform == "half_pixel";
  int64_t samples = n.integer("sampling_ratio", 0);
  height = n.integer("output_height", 1);
  width = n.integer("output_width", 1);
  scale = n.real("spatial_scale", 1);
  if (samples < 0 || height < 1 || width < 1 || samples > 1024 || height > (1 << 16) || width > (1 << 16))
    failWrong("{0} x {1} bins of {2} x {2} samples", height, width, samples);
  type = n.element(n.wide(input));
  rois = n.reshape(n.g.cast(rois, type), {regions, 4});
  samplesDown = samplesRight = Expr(samples);
  if (samples == 0)
    countSamples();
  Dims d = n.dims(input);
  channels = d[1];
  x = n.g.transpose(n.wide(input), {0, 2, 3, 1});
  grid = {regions, Expr(height), samplesDown, Expr(width), samplesRight};
  bool isMax = mode == "max";
  Value y = weighted(along(1, height, d[2], samplesDown, countDown), along(0, width, d[3], samplesRight, countRight), isMax);
  n.out(n.g.cast(n.g.transpose(y, {0, 3, 1, 2}), n.element(input)));
}

/// The samples with their weights, joined over each bin: [regions, height, width, channels].
Value RoiAligner::weighted(const Samples &down, const Samples &right, bool isMax) {
  Value inside = n.g.binary<ir::AndOp>(spread(down.inside, true), spread(right.inside, false)), all;
  for (bool lower : {false, true})
    for (bool further : {false, true}) {
      auto weight = [&](const Samples &s, bool second) {
        return second ? s.fraction : n.g.sub(n.g.splatLike(1, s.fraction), s.fraction);
      };
      Value w = n.g.mul(spread(weight(down, lower), true), spread(weight(right, further), false));
      w = n.g.select(inside, w, n.g.splatLike(0, w));
      Value v = tap(lower ? down.high : down.low, further ? right.high : right.low);
      v = n.g.mul(v, n.g.broadcastTo(n.g.unsqueeze(w, {5}), n.dims(v)));
      all = !all ? v : isMax ? n.g.binary<ir::MaxOp>(all, v) : n.g.add(all, v);
    }
  Dims result{regions, Expr(height), Expr(width), channels};
  auto perRegion = [&](Value v, const Dims &dims) {
    Dims one(dims.size(), Expr(1));
    one[0] = regions;
    return n.g.broadcastTo(n.reshape(v, one), dims);
  };
  if (down.count) { // what a smaller region has too many
    Value extra = n.g.binary<ir::OrOp>(n.g.compare(CompareKind::GE, n.g.iota(grid, 2, type), perRegion(down.count, grid)),
                                       n.g.compare(CompareKind::GE, n.g.iota(grid, 4, type), perRegion(right.count, grid)));
    extra = n.g.broadcastTo(n.g.unsqueeze(extra, {5}), n.dims(all));
    all = n.g.select(extra, n.g.splatLike(isMax ? -std::numeric_limits<double>::infinity() : 0, all), all);
  }
  Value y = n.g.reduce(isMax ? ReduceKind::Max : ReduceKind::Sum, all, {2, 4}, false);
  Value number = down.count ? perRegion(n.g.mul(down.count, right.count), result)
                            : n.g.splat(double(*samplesDown.constant() * *samplesRight.constant()), result, type);
  Value none = n.g.compare(CompareKind::LT, number, n.g.splatLike(1, number));
  if (isMax)
    return n.g.select(none, n.g.splatLike(0, y), y);
  return n.g.div(y, n.g.binary<ir::MaxOp>(number, 1));
}

} // namespace

void roiAlign(Node &n) { RoiAligner(n).build(); }

} // namespace lathe::onnx
