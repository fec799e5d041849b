//===- Resampler.cpp - Values between the elements of a dimension ----------===//
//
// A dimension is gathered at the neighbours of the positions that the result's elements have in the operand, and the
// neighbours are weighted. Positions are computed in f64.
//
//===----------------------------------------------------------------------===//

#include "Resampler.h"
#include <cmath>

using namespace lathe;
using ir::CompareKind;
using llvm::SmallVector;

namespace lathe::onnx {

/// A polynomial, its highest coefficient first.
static Value polynomial(ir::GraphBuilder &g, Value t, double c3, double c2, double c1, double c0) {
  Value r = g.binary<ir::MulOp>(t, c3);
  for (double c : {c2, c1})
    r = g.mul(g.binary<ir::AddOp>(r, c), t);
  return g.binary<ir::AddOp>(r, c0);
}

/// Keys' cubic convolution at distances up to 1.
static Value cubicNear(ir::GraphBuilder &g, Value t, double a) { return polynomial(g, t, a + 2, -(a + 3), 0, 1); }
/// The same at distances from 1 to 2.
static Value cubicFar(ir::GraphBuilder &g, Value t, double a) { return polynomial(g, t, a, -5 * a, 8 * a, -4 * a); }

SmallVector<Value> cubicWeights(ir::GraphBuilder &g, Value f, double a) {
  Value rest = g.sub(g.splatLike(1, f), f);
  return {cubicFar(g, g.binary<ir::AddOp>(f, 1), a), cubicNear(g, f, a), cubicNear(g, rest, a),
          cubicFar(g, g.binary<ir::AddOp>(rest, 1), a)};
}

namespace {

class Resampler {
public:
  Resampler(Node &n, const Resampling &settings) : n(n), s(settings) {}
  Value along(Value x, const ResizedAxis &axis);

private:
  Value number(double v) { return n.g.splat(v, {out}, f64()); }
  Value whole(const Expr &e) { return n.g.broadcastTo(n.g.cast(n.g.size(n.simplify(e)), f64()), {out}); }
  Type f64() { return n.g.b.getF64Type(); }
  Value scaleOf(const ResizedAxis &axis);
  Value unscaled(Value at, const ResizedAxis &axis);
  Value positions(const ResizedAxis &axis);
  Value nearest(Value position, const ResizedAxis &axis);
  Value clampedIndex(Value floored);
  Value weighted(Value x, const ResizedAxis &axis, llvm::ArrayRef<Value> floored, llvm::ArrayRef<Value> weights);
  Expr marginOf(const ResizedAxis &axis);
  Value smooth(Value x, const ResizedAxis &axis, Value position);
  Value kernel(Value distance);
  Value outsideToValue(Value y, const ResizedAxis &axis, Value position);

  Node &n;
  const Resampling &s;
  Expr in, out;
};

Value Resampler::scaleOf(const ResizedAxis &axis) {
  if (axis.givenScale)
    return n.g.broadcastTo(axis.givenScale, {out});
  return axis.scale ? number(*axis.scale) : n.g.div(whole(out), whole(in));
}

/// A scale of the model's is an f32. Divided in it, places come out whole where they are meant to (2 / 0.8 is 2.5), and
/// which element is the nearest depends on that. Powers of two divide exactly.
Value Resampler::unscaled(Value at, const ResizedAxis &axis) {
  Value p = n.g.div(at, scaleOf(axis));
  int exponent;
  bool isExact = axis.scale ? std::frexp(*axis.scale, &exponent) == 0.5 : !axis.givenScale;
  if (s.mode != "nearest" || isExact)
    return p;
  return n.g.cast(n.g.cast(p, n.g.b.getF32Type()), f64());
}

/// Where each result element lies in the operand.
Value Resampler::positions(const ResizedAxis &axis) {
  Value i = n.g.iota({out}, 0, f64()), scale = scaleOf(axis);
  Value half = n.g.binary<ir::SubOp>(unscaled(n.g.binary<ir::AddOp>(i, 0.5), axis), 0.5);
  Value isOne = n.g.compare(CompareKind::LE, whole(out), number(1));
  if (s.coordinates == "half_pixel")
    return half;
  if (s.coordinates == "tf_half_pixel_for_nn") // of operator set 11 alone
    return unscaled(n.g.binary<ir::AddOp>(i, 0.5), axis);
  if (s.coordinates == "asymmetric")
    return unscaled(i, axis);
  if (s.coordinates == "pytorch_half_pixel")
    return n.g.select(isOne, number(0), half);
  if (s.coordinates == "align_corners") {
    Value steps = n.g.select(isOne, number(1), n.g.binary<ir::SubOp>(whole(out), 1));
    return n.g.select(isOne, number(0), n.g.div(n.g.mul(i, n.g.binary<ir::SubOp>(whole(in), 1)), steps));
  }
  if (s.coordinates == "half_pixel_symmetric") {
    // What rounding took from the result is cut off symmetrically.
    Value exact = n.g.mul(whole(in), scale), center = n.g.binary<ir::DivOp>(whole(in), 2);
    Value offset = n.g.mul(center, n.g.sub(number(1), n.g.div(whole(out), exact)));
    return n.g.add(offset, half);
  }
  if (s.coordinates == "tf_crop_and_resize") {
    Value start = axis.givenStart ? n.g.broadcastTo(axis.givenStart, {out}) : number(axis.start);
    Value end = axis.givenEnd ? n.g.broadcastTo(axis.givenEnd, {out}) : number(axis.end);
    Value last = n.g.binary<ir::SubOp>(whole(in), 1), extent = n.g.mul(n.g.sub(end, start), last);
    Value steps = n.g.select(isOne, number(1), n.g.binary<ir::SubOp>(whole(out), 1));
    Value middle = n.g.binary<ir::MulOp>(extent, 0.5);
    return n.g.add(n.g.mul(last, start), n.g.select(isOne, middle, n.g.div(n.g.mul(i, extent), steps)));
  }
  failUnsupported("attribute 'coordinate_transformation_mode' is '{0}'", s.coordinates);
}

Value Resampler::nearest(Value p, const ResizedAxis &axis) {
  if (s.rounding == "opset 10") // the next element where the result is smaller, the one before where it is larger
    return n.g.select(n.g.compare(CompareKind::LT, scaleOf(axis), number(1)), n.g.unary<ir::CeilOp>(p), n.g.unary<ir::FloorOp>(p));
  if (s.rounding == "floor")
    return n.g.unary<ir::FloorOp>(p);
  if (s.rounding == "ceil")
    return n.g.unary<ir::CeilOp>(p);
  if (s.rounding == "round_prefer_ceil")
    return n.g.unary<ir::FloorOp>(n.g.binary<ir::AddOp>(p, 0.5));
  if (s.rounding == "round_prefer_floor")
    return n.g.unary<ir::CeilOp>(n.g.binary<ir::SubOp>(p, 0.5));
  failWrong("attribute 'nearest_mode' is '{0}'", s.rounding);
}

Value Resampler::clampedIndex(Value floored) {
  Value inside = n.g.binary<ir::MinOp>(n.g.binary<ir::MaxOp>(floored, number(0)), n.g.binary<ir::SubOp>(whole(in), 1));
  return n.g.cast(inside, n.g.b.getI64Type());
}

Value Resampler::weighted(Value x, const ResizedAxis &axis, llvm::ArrayRef<Value> floored, llvm::ArrayRef<Value> weights) {
  Value r;
  for (auto [at, weight] : llvm::zip(floored, weights)) {
    Value part = n.g.gather(x, clampedIndex(at), axis.dim);
    Dims vector(n.rank(part), Expr(1));
    vector[axis.dim] = out;
    part = n.g.mul(part, n.g.broadcastTo(n.reshape(n.g.cast(weight, n.element(x)), vector), n.dims(part)));
    r = r ? n.g.add(r, part) : part;
  }
  return r;
}

/// The weight at a distance: a triangle, or Keys' cubic convolution.
Value Resampler::kernel(Value distance) {
  Value t = n.g.unary<ir::AbsOp>(distance);
  auto splat = [&](double v) { return n.g.splatLike(v, t); };
  if (s.mode == "linear")
    return n.g.binary<ir::MaxOp>(n.g.sub(splat(1), t), 0);
  Value far = n.g.select(n.g.compare(CompareKind::LT, t, splat(2)), cubicFar(n.g, t, s.cubic), splat(0));
  return n.g.select(n.g.compare(CompareKind::LE, t, splat(1)), cubicNear(n.g, t, s.cubic), far);
}

/// As many neighbours on each side as the stretched kernel may reach outside of the operand.
Expr Resampler::marginOf(const ResizedAxis &axis) {
  const int64_t reach = s.mode == "linear" ? 1 : 2;
  std::optional<int64_t> size = in.constant(), result = out.constant();
  if (axis.scale || (size && result && !axis.givenScale)) {
    double scale = std::min(1.0, axis.scale ? *axis.scale : double(*result) / double(*size));
    double margin = std::ceil(reach / scale) + 1;
    if (!(margin <= 4096))
      failUnsupported("attribute 'antialias' with a kernel of {0} elements", margin);
    return Expr(int64_t(margin));
  }
  n.requireAtLeast(out, 1, "a dimension that is resized with the attribute 'antialias'");
  // A scale and the sizes agree but for a rounding of the result's, which at most doubles what it is.
  int64_t factor = axis.givenScale ? 2 * reach : reach;
  return n.simplify(Expr(factor) * (Expr::floordiv(in, out) + Expr(1)) + Expr(1));
}

/// Along a dimension that shrinks, the kernel is stretched: a product with the matrix of its weights.
Value Resampler::smooth(Value x, const ResizedAxis &axis, Value position) {
  // Neighbours outside of the operand repeat its ends, unless they do not count.
  Expr margin = s.dropsOutside ? Expr(0) : marginOf(axis);
  Dims wide{n.simplify(in + margin + margin), out}, table{in, out};
  auto spread = [&](const Expr &e) { return n.g.broadcastTo(n.g.cast(n.g.size(n.simplify(e)), f64()), wide); };
  Value scale = n.g.broadcastTo(n.g.binary<ir::MinOp>(scaleOf(axis), 1), wide);
  Value place = n.g.sub(n.g.iota(wide, 0, f64()), spread(margin));
  Value all = kernel(n.g.mul(n.g.sub(place, n.g.broadcastTo(position, wide)), scale));
  Value w = n.g.slice(all, 0, margin, in);
  for (bool atEnd : {false, true}) {
    if (margin.isZero())
      break;
    Expr from = atEnd ? n.simplify(in + margin) : Expr(0);
    Value outside = n.g.reduce(ir::ReduceKind::Sum, n.g.slice(all, 0, from, margin), {0}, true);
    Value row = n.g.iota(table, 0, f64()), end = n.g.splatLike(0, row);
    if (atEnd)
      end = n.g.broadcastTo(n.g.cast(n.g.size(n.simplify(in - Expr(1))), f64()), table);
    Value isEnd = n.g.compare(CompareKind::EQ, row, end);
    w = n.g.add(w, n.g.select(isEnd, n.g.broadcastTo(outside, table), n.g.splatLike(0, w)));
  }
  Value sum = n.g.broadcastTo(n.g.reduce(ir::ReduceKind::Sum, all, {0}, false), table);
  Value y = n.g.contract(x, n.g.cast(n.g.div(w, sum), n.element(x)), {}, {}, {axis.dim}, {0});
  SmallVector<int64_t> perm;
  for (int64_t d = 0; d + 1 < n.rank(x); ++d)
    perm.push_back(d);
  perm.insert(perm.begin() + axis.dim, n.rank(x) - 1);
  return n.g.transpose(y, perm);
}

/// With tf_crop_and_resize, what lies outside of the operand is a value.
Value Resampler::outsideToValue(Value y, const ResizedAxis &axis, Value p) {
  if (s.coordinates != "tf_crop_and_resize")
    return y;
  Value outside = n.g.binary<ir::OrOp>(n.g.compare(CompareKind::LT, p, number(0)),
                                       n.g.compare(CompareKind::GT, p, n.g.binary<ir::SubOp>(whole(in), 1)));
  Dims vector(n.rank(y), Expr(1));
  vector[axis.dim] = out;
  return n.g.select(n.g.broadcastTo(n.reshape(outside, vector), n.dims(y)), n.g.splatLike(s.outsideValue, y), y);
}

Value Resampler::along(Value x, const ResizedAxis &axis) {
  in = axis.in;
  out = axis.out;
  Value p = positions(axis);
  if (s.mode == "nearest")
    return outsideToValue(n.g.gather(x, clampedIndex(nearest(p, axis)), axis.dim), axis, p);
  if (s.antialias && !n.g.facts.provablyLessEqual(in, out))
    return outsideToValue(smooth(x, axis, p), axis, p);
  Value floored = n.g.unary<ir::FloorOp>(p), fraction = n.g.sub(p, floored);
  auto moved = [&](double by) { return n.g.binary<ir::AddOp>(floored, by); };
  if (s.mode == "linear")
    return outsideToValue(weighted(x, axis, {floored, moved(1)}, {n.g.sub(number(1), fraction), fraction}), axis, p);
  SmallVector<Value> at{moved(-1), floored, moved(1), moved(2)}, weights = cubicWeights(n.g, fraction, s.cubic);
  if (s.dropsOutside) {
    Value sum;
    for (auto [place, w] : llvm::zip(at, weights)) {
      Value inside = n.g.binary<ir::AndOp>(n.g.compare(CompareKind::GE, place, number(0)),
                                           n.g.compare(CompareKind::LT, place, whole(in)));
      w = n.g.select(inside, w, number(0));
      sum = sum ? n.g.add(sum, w) : w;
    }
    for (Value &w : weights)
      w = n.g.div(w, sum);
  }
  return outsideToValue(weighted(x, axis, at, weights), axis, p);
}

} // namespace

Value resample(Node &n, const Resampling &how, Value x, const ResizedAxis &axis) { return Resampler(n, how).along(x, axis); }

} // namespace lathe::onnx
