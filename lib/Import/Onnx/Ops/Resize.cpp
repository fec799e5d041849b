//===- Resize.cpp - Resampling along dimensions ----------------------------===//
//
// Resampling is separable: what is here says which dimensions get which sizes, scales and regions, in all versions of the
// operators; the Resampler does one dimension at a time.
//
//===----------------------------------------------------------------------===//

#include "Constants.h"
#include "Node.h"
#include "lathe/Dialect/Lathe/Resampler.h"
#include <cmath>
#include <numeric>

using namespace lathe;
using llvm::SmallVector;

namespace lathe::onnx {

using ir::Resampling;
using ir::ResizedAxis;

namespace {

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
SmallVector<ResizedAxis> scaledByKernel(Node &n, Value scales, llvm::ArrayRef<int64_t> dims) {
  Type f32 = n.g.b.getF32Type();
  SmallVector<ResizedAxis> axes;
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

SmallVector<ResizedAxis> scaledAxes(Node &n, Value scales, llvm::ArrayRef<int64_t> dims) {
  std::optional<SmallVector<double>> known = constantNumbers(scales);
  if (!known)
    return scaledByKernel(n, scales, dims);
  if (known->size() != dims.size())
    failWrong("{0} scales for {1} dimensions", known->size(), dims.size());
  SmallVector<ResizedAxis> axes, byKernel;
  for (auto [i, d] : llvm::enumerate(dims)) {
    Expr in = n.simplify(n.dim(n.in(0), d));
    if (std::optional<Expr> out = scaledSize(in, (*known)[i])) {
      axes.push_back({d, in, n.simplify(*out), (*known)[i]});
      continue;
    }
    if (byKernel.empty())
      byKernel = scaledByKernel(n, scales, dims);
    axes.push_back(byKernel[i]); // the size alone; the scale is known
    axes.back().scale = (*known)[i];
    axes.back().givenScale = {};
  }
  return axes;
}

/// Where corners are aligned, a scale has a meaning only if it gives a whole size. The format's text, ONNX Runtime and PyTorch take
/// the positions from the size of the result; the operator's author and ONNX's tests, from the size before it is rounded down
/// (https://github.com/onnx/onnx/issues/2462).
void requireWholeSizes(Node &n, llvm::ArrayRef<ResizedAxis> axes) {
  static constexpr const char *kAdvice = "where the size is not whole, the format's text and its tests disagree; give 'sizes' instead";
  for (const ResizedAxis &axis : axes) {
    auto fraction = axis.scale ? fractionOf(*axis.scale) : std::nullopt;
    std::optional<int64_t> in = axis.in.constant();
    float exact = in && axis.scale ? float(*in) * float(*axis.scale) : 0;
    if (!axis.scale || (!in && !fraction))
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
static std::optional<Expr> repeatsOf(const Resampling &s, const ResizedAxis &axis) {
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
static Value repeatElements(Node &n, const Resampling &s, Value x, SmallVector<ResizedAxis> &axes) {
  Dims split, wide, merged;
  SmallVector<std::optional<Expr>> factors(n.rank(x));
  for (const ResizedAxis &axis : axes)
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
  llvm::erase_if(axes, [&](const ResizedAxis &axis) { return factors[axis.dim].has_value(); });
  return n.reshape(n.g.broadcastTo(n.reshape(x, split), wide), merged);
}

/// What is interpolated in: integers up to 16 bits fit in f32.
static Value interpolable(Node &n, Value x) {
  if (n.isFloat(x))
    return n.wide(x);
  return n.g.cast(x, n.element(x).getIntOrFloatBitWidth() <= 16 ? n.g.b.getF32Type() : n.g.b.getF64Type());
}

/// Integers are the nearest ones, as in the format's reference implementation, halves to even; its text does not say. (ONNX Runtime cuts off
/// the fractions of linearly interpolated ones.)
static Value rounded(Node &n, const Resampling &s, Value y, Type element) {
  if (s.mode != "nearest" && !llvm::isa<mlir::FloatType>(element))
    y = n.g.unary<ir::RoundOp>(y);
  return n.g.cast(y, element);
}

static void resizeAxes(Node &n, const Resampling &s, SmallVector<ResizedAxis> axes) {
  Value x = n.in(0);
  if (s.mode != "nearest")
    n.requireNumber(x);
  Value y = repeatElements(n, s, s.mode == "nearest" ? x : interpolable(n, x), axes);
  for (const ResizedAxis &axis : axes) {
    if (n.g.facts.provablyEqual(axis.in, axis.out) && axis.start == 0 && axis.end == 1 && !axis.givenStart)
      continue;
    if (axis.in.isZero() || (axis.out.constant() && *axis.out.constant() < 0))
      failWrong("dimension {0} cannot be resized from {1} to {2}", axis.dim, axis.in.str(), axis.out.str());
    std::string why;
    if (s.antialias && s.mode != "nearest")
      n.requireAtLeast(axis.out, 1, "a dimension that is resized with the attribute 'antialias'");
    y = ir::resample(n.g, s, y, axis, why);
    if (!y)
      failUnsupported("{0}", why);
  }
  n.out(rounded(n, s, y, n.element(x)));
}

/// The same in symbols: halves are rounded up, before or after the smallest is taken.
static void keepUnknownRatio(Node &n, SmallVector<ResizedAxis> &axes, bool isSmallest) {
  Type f64 = n.g.b.getF64Type();
  auto number = [&](const Expr &e) { return n.g.cast(n.g.size(n.simplify(e)), f64); };
  Value scale;
  for (const ResizedAxis &axis : axes) {
    n.requireAtLeast(axis.in, 1, "a dimension that is resized");
    Value own = n.g.div(number(axis.out), number(axis.in));
    scale = !scale ? own : isSmallest ? n.g.binary<ir::MinOp>(scale, own) : n.g.binary<ir::MaxOp>(scale, own);
  }
  Dims sizes;
  for (const ResizedAxis &axis : axes) {
    std::optional<Expr> size;
    for (const ResizedAxis &other : axes) {
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
static void keepAspectRatio(Node &n, SmallVector<ResizedAxis> &axes) {
  std::string policy = n.text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch")
    return;
  if (policy != "not_larger" && policy != "not_smaller")
    failWrong("attribute 'keep_aspect_ratio_policy' is '{0}', expected stretch, not_larger or not_smaller", policy);
  std::optional<double> scale;
  for (const ResizedAxis &axis : axes)
    if (!axis.in.constant() || !axis.out.constant())
      return keepUnknownRatio(n, axes, policy == "not_larger");
  for (const ResizedAxis &axis : axes) {
    if (axis.in.isZero())
      failUnsupported("attribute 'keep_aspect_ratio_policy' with the sizes {0} and {1}", axis.in.str(), axis.out.str());
    double own = double(*axis.out.constant()) / double(*axis.in.constant());
    scale = !scale ? own : policy == "not_larger" ? std::min(*scale, own) : std::max(*scale, own);
  }
  for (ResizedAxis &axis : axes) {
    axis.scale = *scale;
    axis.out = Expr(int64_t(*scale * double(*axis.in.constant()) + 0.5));
  }
}

static SmallVector<ResizedAxis> sizedAxes(Node &n, const Dims &sizes, llvm::ArrayRef<int64_t> dims) {
  if (sizes.size() != dims.size())
    failWrong("{0} sizes for {1} dimensions", sizes.size(), dims.size());
  SmallVector<ResizedAxis> axes;
  for (auto [d, size] : llvm::zip(dims, sizes))
    axes.push_back({d, n.simplify(n.dim(n.in(0), d)), size, std::nullopt});
  keepAspectRatio(n, axes);
  return axes;
}

/// The starts, then the ends of the region, as parts of the dimensions.
static void readRegion(Node &n, SmallVector<ResizedAxis> &axes) {
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
  Resampling s;
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
  SmallVector<ResizedAxis> axes = modern && n.has(3) ? sizedAxes(n, n.sizes(3), dims) : scaledAxes(n, n.in(modern ? 2 : 1), dims);
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
  Resampling s;
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
