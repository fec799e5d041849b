//===- RoiAlign.cpp - Samples of regions of a feature map ------------------===//
//
// Each bin of a region has a grid of samples, and each sample four neighbours: four gathers over all samples of all regions, the
// channels last so that one index vector takes all of them.
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
};

class RoiAligner {
public:
  explicit RoiAligner(Node &n) : n(n) {}
  void build();

private:
  Value region(int64_t column);
  Samples along(int64_t start, int64_t bins, const Expr &size);
  Value spread(Value v, bool vertical);
  Value tap(Value y, Value x);

  Node &n;
  Type type;
  bool halfPixel = true;
  int64_t samples = 0, height = 1, width = 1;
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

Samples RoiAligner::along(int64_t start, int64_t bins, const Expr &size) {
  Dims dims{regions, Expr(bins), Expr(samples)};
  Value first = region(start), length = n.g.sub(region(start + 2), first);
  if (!halfPixel)
    length = n.g.binary<ir::MaxOp>(length, 1);
  Value bin = n.g.binary<ir::DivOp>(length, double(bins));
  auto wide = [&](Value v) { return n.g.broadcastTo(n.reshape(v, {regions, 1, 1}), dims); };
  Value part = n.g.binary<ir::DivOp>(n.g.binary<ir::AddOp>(n.g.iota(dims, 2, type), 0.5), double(samples));
  Value p = n.g.add(wide(first), n.g.mul(n.g.add(n.g.iota(dims, 1, type), part), wide(bin)));
  Value extent = n.g.broadcastTo(n.g.cast(n.g.size(size), type), dims), last = n.g.binary<ir::SubOp>(extent, 1);
  Samples s;
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
  samples = n.integer("sampling_ratio", 0);
  height = n.integer("output_height", 1);
  width = n.integer("output_width", 1);
  scale = n.real("spatial_scale", 1);
  if (samples < 0 || height < 1 || width < 1 || samples > 1024 || height > (1 << 16) || width > (1 << 16))
    failWrong("{0} x {1} bins of {2} x {2} samples", height, width, samples);
  if (samples == 0)
    failUnsupported("sampling_ratio 0 (as many samples as the size of a region asks for)");
  type = n.element(n.wide(input));
  rois = n.reshape(n.g.cast(rois, type), {regions, 4});
  Dims d = n.dims(input);
  channels = d[1];
  x = n.g.transpose(n.wide(input), {0, 2, 3, 1});
  grid = {regions, Expr(height), Expr(samples), Expr(width), Expr(samples)};
  Samples down = along(1, height, d[2]), right = along(0, width, d[3]);
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
      all = !all ? v : mode == "max" ? n.g.binary<ir::MaxOp>(all, v) : n.g.add(all, v);
    }
  bool isMax = mode == "max";
  Value y = n.g.reduce(isMax ? ReduceKind::Max : ReduceKind::Sum, all, {2, 4}, false);
  if (!isMax)
    y = n.g.binary<ir::DivOp>(y, double(samples * samples));
  n.out(n.g.cast(n.g.transpose(y, {0, 3, 1, 2}), n.element(input)));
}

} // namespace

void roiAlign(Node &n) { RoiAligner(n).build(); }

} // namespace lathe::onnx
