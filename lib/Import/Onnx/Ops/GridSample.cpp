//===- GridSample.cpp - Sampling an image at given positions ---------------===//
//
// Each sample is a weighted sum of the operand's elements around its position: one gather per neighbour. The channels go last
// for the gathers, so that one index vector takes all of them.
//
//===----------------------------------------------------------------------===//

#include "Resampler.h"

using namespace lathe;
using ir::CompareKind;
using llvm::SmallVector;

namespace lathe::onnx {

namespace {

class GridSampler {
public:
  explicit GridSampler(Node &n) : n(n) {}
  Value build();

private:
  Value size(int64_t d) { return n.g.broadcastTo(n.g.cast(n.g.size(dims[d + 2]), type), samples); }
  Value reflect(Value p, int64_t d);
  Value bounded(Value p, int64_t d);
  Value position(Value grid, int64_t d);
  Value tap(llvm::ArrayRef<Value> at);
  SmallVector<std::pair<Value, Value>> neighbours(Value p, int64_t d);
  Value blend(SmallVector<Value> at, int64_t d, Value weight);

  Node &n;
  std::string mode, padding;
  bool corners = false;
  Value x;        ///< [N, spatial..., C]
  Dims dims;      ///< of the operand [N, C, spatial...]
  Dims samples;   ///< [N, the grid's spatial...]
  Type type;
  int64_t spatial = 0;
  SmallVector<Value> positions;
};

/// Mirrored at the border (the outer elements' centres, or their outer edges) until it is inside.
Value GridSampler::reflect(Value p, int64_t d) {
  Value length = size(d);
  Value low = n.g.splatLike(corners ? 0 : -0.5, p);
  Value span = corners ? n.g.binary<ir::SubOp>(length, 1) : length;
  Value safe = n.g.binary<ir::MaxOp>(span, corners ? 1 : 0.5);
  Value offset = n.g.unary<ir::AbsOp>(n.g.sub(p, low)), twice = n.g.binary<ir::MulOp>(safe, 2);
  Value phase = n.g.sub(offset, n.g.mul(n.g.unary<ir::FloorOp>(n.g.div(offset, twice)), twice));
  Value inside = n.g.binary<ir::MinOp>(phase, n.g.sub(twice, phase));
  Value zero = n.g.splatLike(0, p), degenerate = n.g.compare(CompareKind::LE, span, zero);
  return n.g.select(degenerate, zero, n.g.add(inside, low));
}

Value GridSampler::bounded(Value p, int64_t d) {
  if (padding == "reflection")
    p = reflect(p, d);
  if (padding == "zeros")
    return p;
  return n.g.binary<ir::MinOp>(n.g.binary<ir::MaxOp>(p, n.g.splatLike(0, p)), n.g.binary<ir::SubOp>(size(d), 1));
}

/// From [-1, 1] to elements.
Value GridSampler::position(Value grid, int64_t d) {
  int64_t last = spatial - 1 - d; // the grid's last dimension is x, y, z
  Value c = n.reshape(n.g.slice(grid, spatial + 1, Expr(last), Expr(1)), samples);
  Value moved = n.g.binary<ir::AddOp>(c, 1);
  if (corners)
    return n.g.mul(n.g.binary<ir::MulOp>(moved, 0.5), n.g.binary<ir::SubOp>(size(d), 1));
  return n.g.binary<ir::MulOp>(n.g.binary<ir::SubOp>(n.g.mul(moved, size(d)), 1), 0.5);
}

/// The elements at whole positions; zero outside, where the padding is.
Value GridSampler::tap(llvm::ArrayRef<Value> at) {
  Type i64 = n.g.b.getI64Type();
  SmallVector<Value> coordinates;
  Value inside;
  for (auto [d, p] : llvm::enumerate(at)) {
    Value q = mode == "cubic" && padding != "zeros" ? bounded(p, d) : p;
    Value last = n.g.binary<ir::SubOp>(size(d), 1), zero = n.g.splatLike(0, p);
    Value in = n.g.binary<ir::AndOp>(n.g.compare(CompareKind::GE, q, zero), n.g.compare(CompareKind::LE, q, last));
    inside = inside ? n.g.binary<ir::AndOp>(inside, in) : in;
    Value clamped = n.g.binary<ir::MinOp>(n.g.binary<ir::MaxOp>(q, zero), last);
    coordinates.push_back(n.g.unsqueeze(n.g.cast(clamped, i64), {spatial + 1}));
  }
  Dims result = samples;
  result.push_back(dims[1]);
  Value v = n.g.b.createOrFold<ir::GatherNdOp>(n.g.loc, ir::tensorType(result, type), x, n.g.concat(coordinates, spatial + 1), 1);
  if (padding != "zeros")
    return v;
  Value mask = n.g.broadcastTo(n.g.unsqueeze(inside, {spatial + 1}), result);
  return n.g.select(mask, v, n.g.splatLike(0, v));
}

/// The whole positions around p in one dimension, with their weights.
SmallVector<std::pair<Value, Value>> GridSampler::neighbours(Value p, int64_t d) {
  if (mode == "nearest")
    return {{n.g.unary<ir::RoundOp>(p), {}}};
  Value base = n.g.unary<ir::FloorOp>(p), f = n.g.sub(p, base);
  auto moved = [&](double by) { return n.g.binary<ir::AddOp>(base, by); };
  if (mode == "linear")
    return {{base, n.g.sub(n.g.splatLike(1, f), f)}, {moved(1), f}};
  SmallVector<Value> w = cubicWeights(n.g, f, -0.75);
  return {{moved(-1), w[0]}, {base, w[1]}, {moved(1), w[2]}, {moved(2), w[3]}};
}

Value GridSampler::blend(SmallVector<Value> at, int64_t d, Value weight) {
  if (d == spatial) {
    Value v = tap(at);
    return weight ? n.g.mul(v, n.g.broadcastTo(n.g.unsqueeze(weight, {spatial + 1}), n.dims(v))) : v;
  }
  Value sum;
  for (auto [place, w] : neighbours(positions[d], d)) {
    SmallVector<Value> next = at;
    next.push_back(place);
    Value part = blend(next, d + 1, !w ? weight : weight ? n.g.mul(weight, w) : w);
    sum = sum ? n.g.add(sum, part) : part;
  }
  return sum;
}

Value GridSampler::build() {
  Value input = n.in(0), grid = n.in(1);
  if (!n.isFloat(input))
    failUnsupported("samples of {0}: the format does not say how integers are rounded", describe(input.getType()));
  n.requireFloat(input);
  n.requireFloat(grid);
  n.requireRankAtLeast(input, 3);
  spatial = n.rank(input) - 2;
  if (spatial > 3)
    failUnsupported("{0} spatial dimensions", spatial);
  n.requireRank(grid, n.rank(input));
  mode = n.text("mode", n.opset() >= 20 ? "linear" : "bilinear");
  mode = mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode;
  padding = n.text("padding_mode", "zeros");
  corners = n.flag("align_corners", false);
  if ((mode != "linear" && mode != "nearest" && mode != "cubic") ||
      (padding != "zeros" && padding != "border" && padding != "reflection"))
    failWrong("mode '{0}' with padding '{1}'", mode, padding);
  dims = n.dims(input);
  Dims shape = n.dims(grid);
  n.requireEqual(shape[0], dims[0], "the batch of the operand and of the grid");
  n.requireEqual(shape.back(), Expr(spatial), "the coordinates of a grid position");
  shape[0] = dims[0];
  samples.assign(shape.begin(), shape.end() - 1);
  SmallVector<int64_t> channelsLast{0}, channelsSecond{0, spatial + 1};
  for (int64_t d = 0; d < spatial; ++d) {
    channelsLast.push_back(d + 2);
    channelsSecond.push_back(d + 1);
  }
  channelsLast.push_back(1);
  Value wide = n.wide(input);
  type = n.element(wide);
  x = n.g.transpose(wide, channelsLast);
  grid = n.reshape(n.g.cast(grid, type), shape);
  for (int64_t d = 0; d < spatial; ++d) {
    Value p = position(grid, d);
    positions.push_back(mode == "cubic" ? p : bounded(mode == "nearest" ? n.g.unary<ir::RoundOp>(p) : p, d));
  }
  return n.g.cast(n.g.transpose(blend({}, 0, {}), channelsSecond), n.element(input));
}

} // namespace

void gridSample(Node &n) { n.out(GridSampler(n).build()); }

} // namespace lathe::onnx
