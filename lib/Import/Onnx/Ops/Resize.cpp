//===- Resize.cpp - Resampling along dimensions ----------------------------===//
//
// Resampling is separable: each resized dimension is gathered at the neighbours of the positions that its result elements
// have in the operand, and the neighbours are weighted. Positions are computed in f64.
//
//===----------------------------------------------------------------------===//

#include "Constants.h"
#include <cmath>
#include <numeric>

using namespace lathe;
using ir::CompareKind;
using llvm::SmallVector;

namespace lathe::onnx {

namespace {

struct Settings {
  std::string mode = "nearest", coordinates = "half_pixel", rounding = "round_prefer_floor";
  double cubic = -0.75, outsideValue = 0;
  bool dropsOutside = false; ///< weights outside of the operand do not count
  bool antialias = false;    ///< a smaller result reads as many more neighbours
};

/// One dimension of the resize.
struct Axis {
  int64_t dim;
  Expr in, out;
  std::optional<double> scale; ///< none: out / in
  double start = 0, end = 1;   ///< the region, for tf_crop_and_resize
  /// f64, rank 0: what is known only when the model runs.
  Value givenScale = {}, givenStart = {}, givenEnd = {};
};

class Resampler {
public:
  Resampler(Node &n, const Settings &settings) : n(n), s(settings) {}
  Value along(Value x, const Axis &axis);

private:
  Value number(double v) { return n.g.splat(v, {out}, f64()); }
  Value whole(const Expr &e) { return n.g.broadcastTo(n.g.cast(n.g.size(n.simplify(e)), f64()), {out}); }
  Type f64() { return n.g.b.getF64Type(); }
  Value scaleOf(const Axis &axis);
  Value unscaled(Value at, const Axis &axis);
  Value positions(const Axis &axis);
  Value nearest(Value position, const Axis &axis);
  Value clampedIndex(Value floored);
  Value weighted(Value x, const Axis &axis, llvm::ArrayRef<Value> floored, llvm::ArrayRef<Value> weights);
  SmallVector<Value> cubicWeights(Value fraction);
  Expr marginOf(const Axis &axis);
  Value smooth(Value x, const Axis &axis, Value position);
  Value kernel(Value distance);
  Value outsideToValue(Value y, const Axis &axis, Value position);

  Node &n;
  const Settings &s;
  Expr in, out;
};

Value Resampler::scaleOf(const Axis &axis) {
  if (axis.givenScale)
    return n.g.broadcastTo(axis.givenScale, {out});
  return axis.scale ? number(*axis.scale) : n.g.div(whole(out), whole(in));
}

/// A scale of the model's is an f32. Divided in it, places come out whole where they are meant to (2 / 0.8 is 2.5), and
/// which element is the nearest depends on that. Powers of two divide exactly.
Value Resampler::unscaled(Value at, const Axis &axis) {
  Value p = n.g.div(at, scaleOf(axis));
  int exponent;
  bool isExact = axis.scale ? std::frexp(*axis.scale, &exponent) == 0.5 : !axis.givenScale;
  if (s.mode != "nearest" || isExact)
    return p;
  return n.g.cast(n.g.cast(p, n.g.b.getF32Type()), f64());
}

/// Where each result element lies in the operand.
Value Resampler::positions(const Axis &axis) {
  Value i = n.g.iota({out}, 0, f64()), scale = scaleOf(axis);
  Value half = n.g.binary<ir::SubOp>(unscaled(n.g.binary<ir::AddOp>(i, 0.5), axis), 0.5);
  Value isOne = n.g.compare(CompareKind::LE, whole(out), number(1));
  if (s.coordinates == "half_pixel")
    return half;
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

Value Resampler::nearest(Value p, const Axis &axis) {
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

Value Resampler::weighted(Value x, const Axis &axis, llvm::ArrayRef<Value> floored, llvm::ArrayRef<Value> weights) {
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

/// The weights of the four neighbours at -1, 0, 1, 2 (Keys' cubic convolution).
SmallVector<Value> Resampler::cubicWeights(Value f) {
  const double a = s.cubic;
  auto poly = [&](Value t, double c3, double c2, double c1, double c0) {
    Value r = n.g.binary<ir::MulOp>(t, c3);
    for (double c : {c2, c1})
      r = n.g.mul(n.g.binary<ir::AddOp>(r, c), t);
    return n.g.binary<ir::AddOp>(r, c0);
  };
  auto near = [&](Value t) { return poly(t, a + 2, -(a + 3), 0, 1); };
  auto far = [&](Value t) { return poly(t, a, -5 * a, 8 * a, -4 * a); };
  Value g = n.g.sub(number(1), f);
  return {far(n.g.binary<ir::AddOp>(f, 1)), near(f), near(g), far(n.g.binary<ir::AddOp>(g, 1))};
}

/// The weight at a distance: a triangle, or Keys' cubic convolution.
Value Resampler::kernel(Value distance) {
  Value t = n.g.unary<ir::AbsOp>(distance);
  auto splat = [&](double v) { return n.g.splatLike(v, t); };
  if (s.mode == "linear")
    return n.g.binary<ir::MaxOp>(n.g.sub(splat(1), t), 0);
  const double a = s.cubic;
  auto poly = [&](double c3, double c2, double c1, double c0) {
    Value r = n.g.binary<ir::MulOp>(t, c3);
    for (double c : {c2, c1})
      r = n.g.mul(n.g.binary<ir::AddOp>(r, c), t);
    return n.g.binary<ir::AddOp>(r, c0);
  };
  Value far = n.g.select(n.g.compare(CompareKind::LT, t, splat(2)), poly(a, -5 * a, 8 * a, -4 * a), splat(0));
  return n.g.select(n.g.compare(CompareKind::LE, t, splat(1)), poly(a + 2, -(a + 3), 0, 1), far);
}

/// As many neighbours on each side as the stretched kernel may reach outside of the operand.
Expr Resampler::marginOf(const Axis &axis) {
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
Value Resampler::smooth(Value x, const Axis &axis, Value position) {
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
Value Resampler::outsideToValue(Value y, const Axis &axis, Value p) {
  if (s.coordinates != "tf_crop_and_resize")
    return y;
  Value outside = n.g.binary<ir::OrOp>(n.g.compare(CompareKind::LT, p, number(0)),
                                       n.g.compare(CompareKind::GT, p, n.g.binary<ir::SubOp>(whole(in), 1)));
  Dims vector(n.rank(y), Expr(1));
  vector[axis.dim] = out;
  return n.g.select(n.g.broadcastTo(n.reshape(outside, vector), n.dims(y)), n.g.splatLike(s.outsideValue, y), y);
}

Value Resampler::along(Value x, const Axis &axis) {
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
  SmallVector<Value> at{moved(-1), floored, moved(1), moved(2)}, weights = cubicWeights(fraction);
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

void requireScale(double scale) {
  if (!(scale > 0) || scale > (1 << 20))
    failWrong("a scale of {0}", scale);
}

/// The scale as a fraction of whole numbers, for scales that are short in binary, as those of models mostly are.
std::optional<std::pair<int64_t, int64_t>> fractionOf(double scale) {
  for (int64_t denominator = 1; denominator <= (1 << 20); denominator *= 2)
    if (scale * double(denominator) == std::floor(scale * double(denominator)))
      return std::pair(int64_t(scale * double(denominator)), denominator);
  return std::nullopt;
}

/// floor(size * scale), of an f32 product: 0.7 times 10 is 7, as the format's shape inference has it. Nothing for a symbolic size
/// and a scale that is no short fraction.
std::optional<Expr> scaledSize(const Expr &size, double scale) {
  requireScale(scale);
  if (std::optional<int64_t> c = size.constant())
    return Expr(int64_t(std::floor(float(*c) * float(scale))));
  auto fraction = fractionOf(scale);
  return fraction ? std::optional<Expr>(Expr::floordiv(size * Expr(fraction->first), Expr(fraction->second))) : std::nullopt;
}

/// The sizes are computed by a kernel and read by the host, for scales that are known only when the model runs, and symbolic sizes
/// times scales that are no short fractions.
SmallVector<Axis> scaledByKernel(Node &n, Value scales, llvm::ArrayRef<int64_t> dims) {
  Type f32 = n.g.b.getF32Type();
  SmallVector<Axis> axes;
  n.requireRank(scales, 1);
  n.requireEqual(n.dim(scales, 0), Expr(int64_t(dims.size())), "one scale per dimension");
  Dims list{Expr(int64_t(dims.size()))}, from;
  for (int64_t d : dims)
    from.push_back(n.simplify(n.dim(n.in(0), d)));
  Value given = n.g.cast(n.reshape(scales, list), f32), sizes = n.g.cast(n.g.sizes(from), f32);
  Value out = n.g.cast(n.g.unary<ir::FloorOp>(n.g.mul(sizes, given)), n.g.b.getI64Type());
  Value wide = n.g.cast(given, n.g.b.getF64Type());
  Dims to = n.sizesOf(out);
  for (auto [i, d] : llvm::enumerate(dims))
    axes.push_back({d, from[i], to[i], std::nullopt, 0, 1, n.reshape(n.g.slice(wide, 0, Expr(int64_t(i)), Expr(1)), {})});
  return axes;
}

SmallVector<Axis> scaledAxes(Node &n, Value scales, llvm::ArrayRef<int64_t> dims) {
  std::optional<SmallVector<double>> known = constantNumbers(scales);
  if (!known)
    return scaledByKernel(n, scales, dims);
  if (known->size() != dims.size())
    failWrong("{0} scales for {1} dimensions", known->size(), dims.size());
  SmallVector<Axis> axes, byKernel;
  for (auto [i, d] : llvm::enumerate(dims)) {
    Expr in = n.simplify(n.dim(n.in(0), d));
    if (std::optional<Expr> out = scaledSize(in, (*known)[i])) {
      axes.push_back({d, in, n.simplify(*out), (*known)[i]});
      continue;
    }
    if (byKernel.empty())
      byKernel = scaledByKernel(n, scales, dims);
    axes.push_back(byKernel[i]);
  }
  return axes;
}

/// Where corners are aligned, a scale has a meaning only if it gives a whole size. The format's text, ONNX Runtime and PyTorch take
/// the positions from the size of the result; the operator's author and ONNX's tests, from the size before it is rounded down
/// (https://github.com/onnx/onnx/issues/2462).
void requireWholeSizes(Node &n, llvm::ArrayRef<Axis> axes) {
  static constexpr const char *kAdvice = "where the size is not whole, the format's text and its tests disagree; give 'sizes' instead";
  for (const Axis &axis : axes) {
    auto fraction = axis.scale ? fractionOf(*axis.scale) : std::nullopt;
    std::optional<int64_t> in = axis.in.constant();
    float exact = in && axis.scale ? float(*in) * float(*axis.scale) : 0;
    if (!axis.scale)
      failUnsupported("aligned corners, and scales or sizes that are known only when the model runs: {0}", kAdvice);
    if (exact != std::floor(exact))
      failUnsupported("aligned corners, and a scale of {0} that makes {1} elements of {2}: {3}", *axis.scale, exact, *in, kAdvice);
    if (!in)
      n.requireEqual(axis.in * Expr(fraction->first), axis.out * Expr(fraction->second), "aligned corners: the scale gives a whole size");
  }
}

} // namespace

/// How often each element of the operand stands in the result, where that is the same for all of them: the nearest elements by
/// a whole factor.
static std::optional<Expr> repeatsOf(const Settings &s, const Axis &axis) {
  bool floors = s.coordinates == "asymmetric" && (s.rounding == "floor" || s.rounding == "opset 10");
  bool rounds = s.coordinates == "half_pixel" && (s.rounding == "round_prefer_floor" || s.rounding == "round_prefer_ceil");
  if (s.mode != "nearest" || !(floors || rounds) || axis.givenScale || axis.in.isZero())
    return std::nullopt;
  std::optional<Expr> factor = Expr::divideExactly(axis.out, axis.in);
  std::optional<int64_t> count = factor ? factor->constant() : std::nullopt;
  if (!count || *count < 2 || (axis.scale && *axis.scale != double(*count)))
    return std::nullopt;
  return factor;
}

/// Repeats elements along the axes that allow it; the others are left.
static Value repeatElements(Node &n, const Settings &s, Value x, SmallVector<Axis> &axes) {
  Dims split, wide, merged;
  SmallVector<std::optional<Expr>> factors(n.rank(x));
  for (const Axis &axis : axes)
    factors[axis.dim] = repeatsOf(s, axis);
  for (auto [dim, factor] : llvm::zip(n.dims(x), factors)) {
    split.push_back(dim);
    wide.push_back(dim);
    merged.push_back(factor ? dim * *factor : dim);
    if (factor) {
      split.push_back(Expr(1));
      wide.push_back(*factor);
    }
  }
  if (split.size() == merged.size())
    return x;
  llvm::erase_if(axes, [&](const Axis &axis) { return factors[axis.dim].has_value(); });
  return n.reshape(n.g.broadcastTo(n.reshape(x, split), wide), merged);
}

static void resizeAxes(Node &n, const Settings &s, SmallVector<Axis> axes) {
  Value x = n.in(0);
  if (s.mode != "nearest" && !n.isFloat(x))
    failUnsupported("attribute 'mode' is '{0}' with {1}: the format does not say how integers are rounded", s.mode, describe(x.getType()));
  if (s.mode != "nearest")
    n.requireFloat(x);
  Value y = repeatElements(n, s, s.mode == "nearest" ? x : n.wide(x), axes);
  for (const Axis &axis : axes) {
    if (n.g.facts.provablyEqual(axis.in, axis.out) && axis.start == 0 && axis.end == 1 && !axis.givenStart)
      continue;
    if (axis.in.isZero() || (axis.out.constant() && *axis.out.constant() < 0))
      failWrong("dimension {0} cannot be resized from {1} to {2}", axis.dim, axis.in.str(), axis.out.str());
    y = Resampler(n, s).along(y, axis);
  }
  n.out(n.g.cast(y, n.element(x)));
}

/// The same in symbols: halves are rounded up, before or after the smallest is taken.
static void keepUnknownRatio(Node &n, SmallVector<Axis> &axes, bool isSmallest) {
  Type f64 = n.g.b.getF64Type();
  auto number = [&](const Expr &e) { return n.g.cast(n.g.size(n.simplify(e)), f64); };
  Value scale;
  for (const Axis &axis : axes) {
    n.requireAtLeast(axis.in, 1, "a dimension that is resized");
    Value own = n.g.div(number(axis.out), number(axis.in));
    scale = !scale ? own : isSmallest ? n.g.binary<ir::MinOp>(scale, own) : n.g.binary<ir::MaxOp>(scale, own);
  }
  Dims sizes;
  for (const Axis &axis : axes) {
    std::optional<Expr> size;
    for (const Axis &other : axes) {
      Expr asked = Expr::floordiv(Expr(2) * other.out * axis.in + other.in, Expr(2) * other.in);
      size = !size ? asked : isSmallest ? Expr::min(*size, asked) : Expr::max(*size, asked);
    }
    sizes.push_back(n.define("size", *size));
  }
  for (auto [axis, size] : llvm::zip(axes, sizes)) {
    axis.givenScale = scale;
    axis.out = size;
  }
}

/// One scale for all dimensions, the smallest or the largest that the sizes ask for.
static void keepAspectRatio(Node &n, SmallVector<Axis> &axes) {
  std::string policy = n.text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch")
    return;
  if (policy != "not_larger" && policy != "not_smaller")
    failWrong("attribute 'keep_aspect_ratio_policy' is '{0}', expected stretch, not_larger or not_smaller", policy);
  std::optional<double> scale;
  for (const Axis &axis : axes)
    if (!axis.in.constant() || !axis.out.constant())
      return keepUnknownRatio(n, axes, policy == "not_larger");
  for (const Axis &axis : axes) {
    if (axis.in.isZero())
      failUnsupported("attribute 'keep_aspect_ratio_policy' with the sizes {0} and {1}", axis.in.str(), axis.out.str());
    double own = double(*axis.out.constant()) / double(*axis.in.constant());
    scale = !scale ? own : policy == "not_larger" ? std::min(*scale, own) : std::max(*scale, own);
  }
  for (Axis &axis : axes) {
    axis.scale = *scale;
    axis.out = Expr(int64_t(*scale * double(*axis.in.constant()) + 0.5));
  }
}

static SmallVector<Axis> sizedAxes(Node &n, const Dims &sizes, llvm::ArrayRef<int64_t> dims) {
  if (sizes.size() != dims.size())
    failWrong("{0} sizes for {1} dimensions", sizes.size(), dims.size());
  SmallVector<Axis> axes;
  for (auto [d, size] : llvm::zip(dims, sizes))
    axes.push_back({d, n.simplify(n.dim(n.in(0), d)), size, std::nullopt});
  keepAspectRatio(n, axes);
  return axes;
}

/// The starts, then the ends of the region, as parts of the dimensions.
static void readRegion(Node &n, SmallVector<Axis> &axes) {
  Value given = n.in(1);
  if (!constantNumbers(given)) {
    n.requireFloat(given);
    n.requireRank(given, 1);
    n.requireEqual(n.dims(given)[0], Expr(int64_t(2 * axes.size())), "the numbers of the region");
    Value wide = n.g.cast(given, n.g.b.getF64Type());
    auto part = [&](size_t i) { return n.reshape(n.g.slice(wide, 0, Expr(int64_t(i)), Expr(1)), {}); };
    for (auto [i, axis] : llvm::enumerate(axes)) {
      axis.givenStart = part(i);
      axis.givenEnd = part(axes.size() + i);
    }
    return;
  }
  SmallVector<double> region = *constantNumbers(given);
  if (region.size() != 2 * axes.size())
    failWrong("a region of {0} numbers for {1} dimensions", region.size(), axes.size());
  for (auto [i, axis] : llvm::enumerate(axes)) {
    axis.start = region[i];
    axis.end = region[axes.size() + i];
  }
}

void resize(Node &n) {
  Value x = n.in(0);
  Settings s;
  s.mode = n.text("mode", "nearest");
  if (s.mode != "nearest" && s.mode != "linear" && s.mode != "cubic")
    failWrong("attribute 'mode' is '{0}', expected nearest, linear or cubic", s.mode);
  bool modern = n.opset() >= 11;
  s.coordinates = modern ? n.text("coordinate_transformation_mode", "half_pixel") : "asymmetric";
  s.rounding = modern ? n.text("nearest_mode", "round_prefer_floor") : "opset 10";
  s.cubic = n.real("cubic_coeff_a", -0.75);
  s.dropsOutside = n.flag("exclude_outside", false);
  s.antialias = n.flag("antialias", false);
  s.outsideValue = n.real("extrapolation_value", 0);
  SmallVector<int64_t> dims;
  for (int64_t a : n.integers("axes"))
    dims.push_back(n.axis(a, n.rank(x)));
  if (dims.empty())
    for (int64_t d = 0; d < n.rank(x); ++d)
      dims.push_back(d);
  n.axes(dims, n.rank(x));
  // An empty tensor of scales stands for none where sizes are given.
  SmallVector<Axis> axes = modern && n.has(3) ? sizedAxes(n, n.sizes(3), dims) : scaledAxes(n, n.in(modern ? 2 : 1), dims);
  if (s.coordinates == "tf_crop_and_resize") {
    if (!n.has(3))
      failUnsupported("attribute 'coordinate_transformation_mode' is 'tf_crop_and_resize' with scales: whether the size of the result is "
                      "that of the whole operand or of the region differs from runtime to runtime; give 'sizes' instead");
    readRegion(n, axes);
  }
  if (s.coordinates == "align_corners" && !n.has(3))
    requireWholeSizes(n, axes);
  resizeAxes(n, s, axes);
}

/// The predecessor of Resize: scales from the attribute or, since opset 9, an operand.
void upsample(Node &n) {
  Value x = n.in(0);
  Settings s;
  s.mode = n.text("mode", "nearest");
  if (s.mode != "nearest" && s.mode != "linear" && s.mode != "bilinear")
    failWrong("attribute 'mode' is '{0}', expected nearest or linear", s.mode);
  s.mode = s.mode == "nearest" ? "nearest" : "linear";
  s.coordinates = "asymmetric";
  s.rounding = "floor";
  SmallVector<int64_t> dims(n.rank(x));
  std::iota(dims.begin(), dims.end(), 0);
  if (n.opset() >= 9)
    return resizeAxes(n, s, scaledAxes(n, n.in(1), dims));
  SmallVector<float> scales;
  if (const AttributeProto *a = n.attribute("scales"))
    scales.assign(a->floats().begin(), a->floats().end());
  Value operand = n.constant(mlir::DenseElementsAttr::get(RankedTensorType::get({int64_t(scales.size())}, n.g.b.getF32Type()),
                                                          llvm::ArrayRef<float>(scales)));
  resizeAxes(n, s, scaledAxes(n, operand, dims));
}

} // namespace lathe::onnx
