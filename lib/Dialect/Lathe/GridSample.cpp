//===- GridSample.cpp - Sampling an image at given positions ---------------===//
//
// Each sample is a weighted sum of the operand's elements around its position: one gather per neighbour. The channels go last
// for the gathers, so that one index vector takes all of them.
//
//===----------------------------------------------------------------------===//

#include "lathe/Dialect/Lathe/GridSample.h"
#include "lathe/Dialect/Lathe/Resampler.h"

using namespace lathe;
using namespace lathe::ir;
using llvm::SmallVector;
using mlir::Type;
using mlir::Value;
using shape::Expr;

namespace {

class GridSampler {
public:
  GridSampler(GraphBuilder &g, const GridSampling &how) : g(g), mode(how.mode), padding(how.padding), corners(how.corners) {}
  Value build(Value input, Value grid);

private:
  Value size(int64_t d) { return g.broadcastTo(g.cast(g.size(dims[d + 2]), type), samples); }
  Value reflect(Value p, int64_t d);
  Value bounded(Value p, int64_t d);
  Value position(Value grid, int64_t d);
  Value tap(llvm::ArrayRef<Value> at);
  SmallVector<std::pair<Value, Value>> neighbours(Value p, int64_t d);
  Value blend(SmallVector<Value> at, int64_t d, Value weight);

  GraphBuilder &g;
  const std::string &mode, &padding;
  bool corners;
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
  Value low = g.splatLike(corners ? 0 : -0.5, p);
  Value span = corners ? g.binary<SubOp>(length, 1) : length;
  Value safe = g.binary<MaxOp>(span, corners ? 1 : 0.5);
  Value offset = g.unary<AbsOp>(g.sub(p, low)), twice = g.binary<MulOp>(safe, 2);
  Value phase = g.sub(offset, g.mul(g.unary<FloorOp>(g.div(offset, twice)), twice));
  Value inside = g.binary<MinOp>(phase, g.sub(twice, phase));
  Value zero = g.splatLike(0, p), degenerate = g.compare(CompareKind::LE, span, zero);
  return g.select(degenerate, zero, g.add(inside, low));
}

Value GridSampler::bounded(Value p, int64_t d) {
  if (padding == "reflection")
    p = reflect(p, d);
  if (padding == "zeros")
    return p;
  return g.binary<MinOp>(g.binary<MaxOp>(p, g.splatLike(0, p)), g.binary<SubOp>(size(d), 1));
}

/// From [-1, 1] to elements.
Value GridSampler::position(Value grid, int64_t d) {
  int64_t last = spatial - 1 - d; // the grid's last dimension is x, y, z
  Value c = g.reshape(g.slice(grid, spatial + 1, Expr(last), Expr(1)), samples);
  Value moved = g.binary<AddOp>(c, 1);
  if (corners)
    return g.mul(g.binary<MulOp>(moved, 0.5), g.binary<SubOp>(size(d), 1));
  return g.binary<MulOp>(g.binary<SubOp>(g.mul(moved, size(d)), 1), 0.5);
}

/// The elements at whole positions; zero outside, where the padding is.
Value GridSampler::tap(llvm::ArrayRef<Value> at) {
  Type i64 = g.b.getI64Type();
  SmallVector<Value> coordinates;
  Value inside;
  for (auto [d, p] : llvm::enumerate(at)) {
    Value q = mode == "cubic" && padding != "zeros" ? bounded(p, d) : p;
    Value last = g.binary<SubOp>(size(d), 1), zero = g.splatLike(0, p);
    Value in = g.binary<AndOp>(g.compare(CompareKind::GE, q, zero), g.compare(CompareKind::LE, q, last));
    inside = inside ? g.binary<AndOp>(inside, in) : in;
    Value clamped = g.binary<MinOp>(g.binary<MaxOp>(q, zero), last);
    coordinates.push_back(g.unsqueeze(g.cast(clamped, i64), {spatial + 1}));
  }
  Dims result = samples;
  result.push_back(dims[1]);
  Value v = g.b.createOrFold<GatherNdOp>(g.loc, tensorType(result, type), x, g.concat(coordinates, spatial + 1), 1);
  if (padding != "zeros")
    return v;
  Value mask = g.broadcastTo(g.unsqueeze(inside, {spatial + 1}), result);
  return g.select(mask, v, g.splatLike(0, v));
}

/// The whole positions around p in one dimension, with their weights.
SmallVector<std::pair<Value, Value>> GridSampler::neighbours(Value p, int64_t d) {
  if (mode == "nearest")
    return {{g.unary<RoundOp>(p), {}}};
  Value base = g.unary<FloorOp>(p), f = g.sub(p, base);
  auto moved = [&](double by) { return g.binary<AddOp>(base, by); };
  if (mode == "linear")
    return {{base, g.sub(g.splatLike(1, f), f)}, {moved(1), f}};
  SmallVector<Value> w = cubicWeights(g, f, -0.75);
  return {{moved(-1), w[0]}, {base, w[1]}, {moved(1), w[2]}, {moved(2), w[3]}};
}

Value GridSampler::blend(SmallVector<Value> at, int64_t d, Value weight) {
  if (d == spatial) {
    Value v = tap(at);
    return weight ? g.mul(v, g.broadcastTo(g.unsqueeze(weight, {spatial + 1}), dimsOf(v))) : v;
  }
  Value sum;
  for (auto [place, w] : neighbours(positions[d], d)) {
    SmallVector<Value> next = at;
    next.push_back(place);
    Value part = blend(next, d + 1, !w ? weight : weight ? g.mul(weight, w) : w);
    sum = sum ? g.add(sum, part) : part;
  }
  return sum;
}

Value GridSampler::build(Value input, Value grid) {
  dims = dimsOf(input);
  Dims shape = dimsOf(grid);
  spatial = int64_t(dims.size()) - 2;
  samples.assign(shape.begin(), shape.end() - 1);
  SmallVector<int64_t> channelsLast{0}, channelsSecond{0, spatial + 1};
  for (int64_t d = 0; d < spatial; ++d) {
    channelsLast.push_back(d + 2);
    channelsSecond.push_back(d + 1);
  }
  channelsLast.push_back(1);
  type = elementOf(input);
  x = g.transpose(input, channelsLast);
  grid = g.cast(grid, type);
  for (int64_t d = 0; d < spatial; ++d) {
    Value p = position(grid, d);
    positions.push_back(mode == "cubic" ? p : bounded(mode == "nearest" ? g.unary<RoundOp>(p) : p, d));
  }
  return g.transpose(blend({}, 0, {}), channelsSecond);
}

} // namespace

Value ir::gridSample(GraphBuilder &g, const GridSampling &how, Value x, Value grid) { return GridSampler(g, how).build(x, grid); }

Value ir::affineGrid(GraphBuilder &g, Value theta, llvm::ArrayRef<Expr> pixels, bool corners, double lone) {
  Type given = elementOf(theta), element = given.getIntOrFloatBitWidth() < 32 ? g.b.getF32Type() : given;
  theta = g.cast(theta, element);
  int64_t spatial = pixels.size();
  Dims dims{dimsOf(theta)[0]};
  dims.append(pixels.begin(), pixels.end());
  dims.push_back(Expr(spatial));
  // A column of the transformations, at all points.
  auto factor = [&](int64_t column) {
    Dims each(dims.size(), Expr(1));
    each.front() = dims.front();
    each.back() = Expr(spatial);
    return g.broadcastTo(g.reshape(g.slice(theta, 2, Expr(column), Expr(1)), each), dims);
  };
  Value sum = factor(spatial);
  for (int64_t d = spatial - 1; d >= 0; --d) {
    Dims line{pixels[d]};
    Value i = g.iota(line, 0, element), length = g.broadcastTo(g.cast(g.size(pixels[d]), element), line);
    Value doubled = g.binary<MulOp>(i, 2), v;
    if (corners) {
      Value steps = g.binary<MaxOp>(g.binary<SubOp>(length, 1), 1);
      v = g.binary<SubOp>(g.div(doubled, steps), 1);
      if (lone != -1 && !g.facts.provablyLess(Expr(1), pixels[d]))
        v = g.select(g.compare(CompareKind::LT, g.splatLike(1, length), length), v, g.splatLike(lone, v));
    } else {
      v = g.binary<SubOp>(g.div(g.binary<AddOp>(doubled, 1), length), 1);
    }
    Dims along(dims.size(), Expr(1));
    along[d + 1] = pixels[d];
    sum = g.add(sum, g.mul(factor(spatial - 1 - d), g.broadcastTo(g.reshape(v, along), dims))); // x is the last dimension
  }
  return g.cast(sum, given);
}
