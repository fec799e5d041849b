//===- Resampler.cpp - Values between the elements of a dimension ----------===//
//
// A dimension is gathered at the neighbours of the positions that the result's elements have in the operand, and the
// neighbours are weighted. Positions are computed in f64.
//
//===----------------------------------------------------------------------===//

#include "lathe/Dialect/Lathe/Resampler.h"
#include <cmath>

using namespace lathe;
using namespace lathe::ir;
using llvm::SmallVector;
using mlir::Type;
using mlir::Value;
using shape::Expr;

/// A polynomial, its highest coefficient first.
static Value polynomial(GraphBuilder &g, Value t, double c3, double c2, double c1, double c0) {
  Value r = g.binary<MulOp>(t, c3);
  for (double c : {c2, c1})
    r = g.mul(g.binary<AddOp>(r, c), t);
  return g.binary<AddOp>(r, c0);
}

/// Keys' cubic convolution at distances up to 1.
static Value cubicNear(GraphBuilder &g, Value t, double a) { return polynomial(g, t, a + 2, -(a + 3), 0, 1); }
/// The same at distances from 1 to 2.
static Value cubicFar(GraphBuilder &g, Value t, double a) { return polynomial(g, t, a, -5 * a, 8 * a, -4 * a); }

SmallVector<Value> ir::cubicWeights(GraphBuilder &g, Value f, double a) {
  Value rest = g.sub(g.splatLike(1, f), f);
  return {cubicFar(g, g.binary<AddOp>(f, 1), a), cubicNear(g, f, a), cubicNear(g, rest, a),
          cubicFar(g, g.binary<AddOp>(rest, 1), a)};
}

namespace {

class Resampler {
public:
  Resampler(GraphBuilder &g, const Resampling &settings, std::string &why) : g(g), s(settings), why(why) {}
  Value along(Value x, const ResizedAxis &axis);

private:
  Value number(double v) { return g.splat(v, {out}, f64()); }
  Value whole(const Expr &e) { return g.broadcastTo(g.cast(g.size(g.facts.simplify(e)), f64()), {out}); }
  Type f64() { return g.b.getF64Type(); }
  Value scaleOf(const ResizedAxis &axis);
  Value unscaled(Value at, const ResizedAxis &axis);
  Value positions(const ResizedAxis &axis);
  Value nearest(Value position, const ResizedAxis &axis);
  Value clampedIndex(Value floored);
  Value weighted(Value x, const ResizedAxis &axis, llvm::ArrayRef<Value> floored, llvm::ArrayRef<Value> weights);
  std::optional<Expr> marginOf(const ResizedAxis &axis);
  Value smooth(Value x, const ResizedAxis &axis, Value position);
  Value smoothByMatrix(Value x, const ResizedAxis &axis, Value position, const Expr &margin);
  Value smoothByNeighbours(Value x, const ResizedAxis &axis, Value position, const Expr &reach);
  Value kernel(Value distance);
  Value outsideToValue(Value y, const ResizedAxis &axis, Value position);

  Value fail(const std::string &reason) {
    why = reason;
    return {};
  }

  GraphBuilder &g;
  const Resampling &s;
  std::string &why;
  Expr in, out;
};

Value Resampler::scaleOf(const ResizedAxis &axis) {
  if (axis.givenScale)
    return g.broadcastTo(axis.givenScale, {out});
  return axis.scale ? number(*axis.scale) : g.div(whole(out), whole(in));
}

/// A scale of the model's is an f32. Divided in it, places come out whole where they are meant to (2 / 0.8 is 2.5), and
/// which element is the nearest depends on that. Powers of two divide exactly.
Value Resampler::unscaled(Value at, const ResizedAxis &axis) {
  Value p = g.div(at, scaleOf(axis));
  int exponent;
  bool isExact = axis.scale ? std::frexp(*axis.scale, &exponent) == 0.5 : !axis.givenScale;
  if (s.mode != "nearest" || isExact)
    return p;
  return g.cast(g.cast(p, g.b.getF32Type()), f64());
}

/// Where each result element lies in the operand.
Value Resampler::positions(const ResizedAxis &axis) {
  Value i = g.iota({out}, 0, f64()), scale = scaleOf(axis);
  Value half = g.binary<SubOp>(unscaled(g.binary<AddOp>(i, 0.5), axis), 0.5);
  Value isOne = g.compare(CompareKind::LE, whole(out), number(1));
  if (s.coordinates == "half_pixel")
    return half;
  if (s.coordinates == "tf_half_pixel_for_nn") // of operator set 11 alone
    return unscaled(g.binary<AddOp>(i, 0.5), axis);
  if (s.coordinates == "asymmetric")
    return unscaled(i, axis);
  if (s.coordinates == "pytorch_half_pixel")
    return g.select(isOne, number(0), half);
  if (s.coordinates == "align_corners") {
    Value steps = g.select(isOne, number(1), g.binary<SubOp>(whole(out), 1));
    return g.select(isOne, number(0), g.div(g.mul(i, g.binary<SubOp>(whole(in), 1)), steps));
  }
  if (s.coordinates == "half_pixel_symmetric") {
    // What rounding took from the result is cut off symmetrically.
    Value exact = g.mul(whole(in), scale), center = g.binary<DivOp>(whole(in), 2);
    Value offset = g.mul(center, g.sub(number(1), g.div(whole(out), exact)));
    return g.add(offset, half);
  }
  if (s.coordinates == "tf_crop_and_resize") {
    Value start = axis.givenStart ? g.broadcastTo(axis.givenStart, {out}) : number(axis.start);
    Value end = axis.givenEnd ? g.broadcastTo(axis.givenEnd, {out}) : number(axis.end);
    Value last = g.binary<SubOp>(whole(in), 1), extent = g.mul(g.sub(end, start), last);
    Value steps = g.select(isOne, number(1), g.binary<SubOp>(whole(out), 1));
    Value middle = g.binary<MulOp>(extent, 0.5);
    return g.add(g.mul(last, start), g.select(isOne, middle, g.div(g.mul(i, extent), steps)));
  }
  return fail("coordinates are '" + s.coordinates + "'");
}

Value Resampler::nearest(Value p, const ResizedAxis &axis) {
  if (s.rounding == "opset 10") // the next element where the result is smaller, the one before where it is larger
    return g.select(g.compare(CompareKind::LT, scaleOf(axis), number(1)), g.unary<CeilOp>(p), g.unary<FloorOp>(p));
  if (s.rounding == "floor")
    return g.unary<FloorOp>(p);
  if (s.rounding == "ceil")
    return g.unary<CeilOp>(p);
  if (s.rounding == "round_prefer_ceil")
    return g.unary<FloorOp>(g.binary<AddOp>(p, 0.5));
  if (s.rounding == "round_prefer_floor")
    return g.unary<CeilOp>(g.binary<SubOp>(p, 0.5));
  return fail("positions are rounded by '" + s.rounding + "'");
}

Value Resampler::clampedIndex(Value floored) {
  Value inside = g.binary<MinOp>(g.binary<MaxOp>(floored, number(0)), g.binary<SubOp>(whole(in), 1));
  return g.cast(inside, g.b.getI64Type());
}

Value Resampler::weighted(Value x, const ResizedAxis &axis, llvm::ArrayRef<Value> floored, llvm::ArrayRef<Value> weights) {
  Value r;
  for (auto [at, weight] : llvm::zip(floored, weights)) {
    Value part = g.gather(x, clampedIndex(at), axis.dim);
    Dims vector(typeOf(part).getRank(), Expr(1));
    vector[axis.dim] = out;
    part = g.mul(part, g.broadcastTo(g.reshape(g.cast(weight, elementOf(x)), vector), dimsOf(part)));
    r = r ? g.add(r, part) : part;
  }
  return r;
}

/// The weight at a distance: a triangle, or Keys' cubic convolution.
Value Resampler::kernel(Value distance) {
  Value t = g.unary<AbsOp>(distance);
  auto splat = [&](double v) { return g.splatLike(v, t); };
  if (s.mode == "linear")
    return g.binary<MaxOp>(g.sub(splat(1), t), 0);
  Value far = g.select(g.compare(CompareKind::LT, t, splat(2)), cubicFar(g, t, s.cubic), splat(0));
  return g.select(g.compare(CompareKind::LE, t, splat(1)), cubicNear(g, t, s.cubic), far);
}

/// As many neighbours on each side as the stretched kernel may reach outside of the operand.
std::optional<Expr> Resampler::marginOf(const ResizedAxis &axis) {
  const int64_t reach = s.mode == "linear" ? 1 : 2;
  std::optional<int64_t> size = in.constant(), result = out.constant();
  if (axis.scale || (size && result && !axis.givenScale)) {
    double scale = std::min(1.0, axis.scale ? *axis.scale : double(*result) / double(*size));
    double margin = std::ceil(reach / scale) + 1;
    if (!(margin <= 4096)) {
      fail("smoothing with a kernel of " + std::to_string(int64_t(std::min(margin, 1e18))) + " elements");
      return std::nullopt;
    }
    return Expr(int64_t(margin));
  }
  // A scale and the sizes agree but for a rounding of the result's, which at most doubles what it is.
  int64_t factor = axis.givenScale ? 2 * reach : reach;
  return g.facts.simplify(Expr(factor) * (Expr::floordiv(in, out) + Expr(1)) + Expr(1));
}

/// Along a dimension that shrinks, the kernel is stretched. Few neighbours are gathered; where they are a good part of all elements, a product
/// with the matrix of their weights is faster. Where sizes are open the matrix would grow with the product of both sizes.
Value Resampler::smooth(Value x, const ResizedAxis &axis, Value position) {
  std::optional<Expr> margin = marginOf(axis);
  if (!margin && !s.dropsOutside)
    return {};
  constexpr int64_t fewest = 3;
  if (margin) {
    Expr reach = *margin - Expr(1);
    std::optional<int64_t> part = (Expr(2 * fewest) * reach - in).constant();
    if (part.value_or(-1) < 0)
      return smoothByNeighbours(x, axis, position, reach);
  }
  // Neighbours outside of the operand repeat its ends, unless they do not count.
  return smoothByMatrix(x, axis, position, s.dropsOutside ? Expr(0) : *margin);
}

/// The elements at less than `reach` before and behind a position are summed, weighted.
Value Resampler::smoothByNeighbours(Value x, const ResizedAxis &axis, Value position, const Expr &reach) {
  Dims table{g.facts.simplify(reach + reach), out};
  auto spread = [&](const Expr &e) { return g.broadcastTo(g.cast(g.size(g.facts.simplify(e)), f64()), table); };
  Value center = g.broadcastTo(position, table), scale = g.broadcastTo(g.binary<MinOp>(scaleOf(axis), 1), table);
  Value place = g.add(g.unary<FloorOp>(center), g.sub(g.iota(table, 0, f64()), spread(reach - Expr(1))));
  Value zero = g.splatLike(0, place), last = spread(in - Expr(1)), w = kernel(g.mul(g.sub(place, center), scale));
  if (s.dropsOutside)
    w = g.select(g.binary<AndOp>(g.compare(CompareKind::GE, place, zero), g.compare(CompareKind::LE, place, last)), w, zero);
  w = g.div(w, g.broadcastTo(g.reduce(ReduceKind::Sum, w, {0}, true), table));
  Value index = g.cast(g.binary<MinOp>(g.binary<MaxOp>(place, zero), last), g.b.getI64Type());
  Type element = elementOf(x), type = element.isIntOrFloat() && element.getIntOrFloatBitWidth() < 32 ? g.b.getF32Type() : element;
  Value neighbours = g.cast(g.gather(x, index, axis.dim), type);
  Dims aligned(typeOf(neighbours).getRank(), Expr(1));
  aligned[axis.dim] = table[0];
  aligned[axis.dim + 1] = out;
  Value weights = g.broadcastTo(g.reshape(g.cast(w, type), aligned), dimsOf(neighbours));
  return g.cast(g.reduce(ReduceKind::Sum, g.mul(neighbours, weights), {axis.dim}, false), element);
}

Value Resampler::smoothByMatrix(Value x, const ResizedAxis &axis, Value position, const Expr &margin) {
  Dims wide{g.facts.simplify(in + margin + margin), out}, table{in, out};
  auto spread = [&](const Expr &e) { return g.broadcastTo(g.cast(g.size(g.facts.simplify(e)), f64()), wide); };
  Value scale = g.broadcastTo(g.binary<MinOp>(scaleOf(axis), 1), wide);
  Value place = g.sub(g.iota(wide, 0, f64()), spread(margin));
  Value all = kernel(g.mul(g.sub(place, g.broadcastTo(position, wide)), scale));
  Value w = g.slice(all, 0, margin, in);
  for (bool atEnd : {false, true}) {
    if (margin.isZero())
      break;
    Expr from = atEnd ? g.facts.simplify(in + margin) : Expr(0);
    Value outside = g.reduce(ReduceKind::Sum, g.slice(all, 0, from, margin), {0}, true);
    Value row = g.iota(table, 0, f64()), end = g.splatLike(0, row);
    if (atEnd)
      end = g.broadcastTo(g.cast(g.size(g.facts.simplify(in - Expr(1))), f64()), table);
    Value isEnd = g.compare(CompareKind::EQ, row, end);
    w = g.add(w, g.select(isEnd, g.broadcastTo(outside, table), g.splatLike(0, w)));
  }
  Value sum = g.broadcastTo(g.reduce(ReduceKind::Sum, all, {0}, false), table);
  Value y = g.contract(x, g.cast(g.div(w, sum), elementOf(x)), {}, {}, {axis.dim}, {0});
  SmallVector<int64_t> perm;
  for (int64_t d = 0; d + 1 < typeOf(x).getRank(); ++d)
    perm.push_back(d);
  perm.insert(perm.begin() + axis.dim, typeOf(x).getRank() - 1);
  return g.transpose(y, perm);
}

/// With tf_crop_and_resize, what lies outside of the operand is a value.
Value Resampler::outsideToValue(Value y, const ResizedAxis &axis, Value p) {
  if (s.coordinates != "tf_crop_and_resize")
    return y;
  Value outside = g.binary<OrOp>(g.compare(CompareKind::LT, p, number(0)),
                                       g.compare(CompareKind::GT, p, g.binary<SubOp>(whole(in), 1)));
  Dims vector(typeOf(y).getRank(), Expr(1));
  vector[axis.dim] = out;
  return g.select(g.broadcastTo(g.reshape(outside, vector), dimsOf(y)), g.splatLike(s.outsideValue, y), y);
}

Value Resampler::along(Value x, const ResizedAxis &axis) {
  in = axis.in;
  out = axis.out;
  Value p = positions(axis);
  if (!p)
    return {};
  if (s.mode == "nearest") {
    Value at = nearest(p, axis);
    return at ? outsideToValue(g.gather(x, clampedIndex(at), axis.dim), axis, p) : Value();
  }
  if (s.antialias && !g.facts.provablyLessEqual(in, out)) {
    Value y = smooth(x, axis, p);
    return y ? outsideToValue(y, axis, p) : Value();
  }
  Value floored = g.unary<FloorOp>(p), fraction = g.sub(p, floored);
  auto moved = [&](double by) { return g.binary<AddOp>(floored, by); };
  if (s.mode == "linear")
    return outsideToValue(weighted(x, axis, {floored, moved(1)}, {g.sub(number(1), fraction), fraction}), axis, p);
  SmallVector<Value> at{moved(-1), floored, moved(1), moved(2)}, weights = cubicWeights(g, fraction, s.cubic);
  if (s.dropsOutside) {
    Value sum;
    for (auto [place, w] : llvm::zip(at, weights)) {
      Value inside = g.binary<AndOp>(g.compare(CompareKind::GE, place, number(0)),
                                           g.compare(CompareKind::LT, place, whole(in)));
      w = g.select(inside, w, number(0));
      sum = sum ? g.add(sum, w) : w;
    }
    for (Value &w : weights)
      w = g.div(w, sum);
  }
  return outsideToValue(weighted(x, axis, at, weights), axis, p);
}

} // namespace

Value ir::resample(GraphBuilder &g, const Resampling &how, Value x, const ResizedAxis &axis, std::string &why) {
  return Resampler(g, how, why).along(x, axis);
}
