//===- Resize.cpp - Upsampling ----------------------------------------------===//

#include "Families.h"
#include "lathe/Dialect/Lathe/GridSample.h"
#include "lathe/Dialect/Lathe/Resampler.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

/// The factor that the program gives for a dimension (of the result's), or none: what the sizes say.
static std::optional<double> factorOf(OpContext &c, size_t dim) {
  static const char *const names[3] = {"scales_d", "scales_h", "scales_w"};
  SmallVector<double> factors = c.reals("scale_factors");
  if (dim - 2 < factors.size())
    return factors[dim - 2];
  size_t rank = c.resultDims().size();
  if (rank == 3 && c.has("scales"))
    return c.real("scales");
  const char *name = names[std::min<size_t>(3 - (rank - dim), 2)];
  return c.has(name) ? std::optional<double>(c.real(name)) : std::nullopt;
}

/// The operand and the sizes of the result, the first two of which stay.
static llvm::Expected<Value> resizedOperand(OpContext &c) {
  Value x = c.tensor(c.has("input") ? "input" : "self");
  Dims dims = dimsOf(x), want = c.resultDims();
  if (want.size() != dims.size() || dims.size() < 3 || dims.size() > 5)
    return c.wrong("an output of rank {0} from {1}", want.size(), x.getType());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i < 2 && !c.g.facts.provablyEqual(dims[i], want[i]))
      return c.wrong("dimension {0} becomes {1} from {2}", i, want[i].str(), dims[i].str());
    if (i >= 2)
      for (const Expr &e : {dims[i], want[i]})
        if (llvm::Error error = c.need(Condition::compare(Condition::Kind::Less, Expr(0), e)))
          return std::move(error);
    if (auto factor = i < 2 ? std::nullopt : factorOf(c, i); factor && !(*factor > 0))
      return c.wrong("a factor of {0}", *factor);
  }
  return x;
}

/// By whole factors: each element becomes a block of copies. Null where a factor is none.
static Value repeatElements(OpContext &c, Value x) {
  Dims dims = dimsOf(x), want = c.resultDims(), split, wide;
  for (size_t i = 0; i < dims.size(); ++i) {
    auto factor = Expr::divideExactly(want[i], dims[i]);
    bool differs = factor && i >= 2 && factorOf(c, i) && factor->constant() && double(*factor->constant()) != *factorOf(c, i);
    if (!factor || differs)
      return {};
    split.push_back(dims[i]);
    wide.push_back(dims[i]);
    if (!factor->isOne()) {
      split.push_back(Expr(1));
      wide.push_back(*factor);
    }
  }
  return c.g.reshape(c.g.broadcastTo(c.g.reshape(x, split), wide), want);
}

/// The element at floor((i + shift) * scale), computed in float32 as torch does.
template <bool exact> static llvm::Error upsampleNearest(OpContext &c) {
  LATHE_TRY(x, resizedOperand(c));
  if (Value whole = repeatElements(c, x))
    return c.give(whole);
  Type f32 = c.g.b.getF32Type();
  Dims want = c.resultDims();
  for (size_t d = 2; d < want.size(); ++d) {
    Expr in = dimsOf(x)[d], out = want[d];
    std::optional<double> factor = factorOf(c, d);
    if (c.g.facts.provablyEqual(in, out) && !factor)
      continue;
    auto number = [&](const Expr &e) { return c.g.broadcastTo(c.g.cast(c.g.size(c.g.facts.simplify(e)), f32), {out}); };
    Value scale = factor ? c.g.splat(double(float(1.0 / *factor)), {out}, f32) : c.g.div(number(in), number(out));
    Value i = c.g.iota({out}, 0, f32);
    Value at = c.g.unary<FloorOp>(c.g.mul(exact ? c.g.binary<AddOp>(i, 0.5) : i, scale));
    at = c.g.binary<MinOp>(at, number(in - Expr(1)));
    x = c.g.gather(x, c.g.cast(at, c.g.b.getI64Type()), d);
  }
  return c.give(x);
}

/// The factor with which the first and the last elements' centers, counted from the first one's edge, are as far apart as they are
/// in the operand. None where a dimension has one element.
static llvm::Expected<std::optional<double>> factorBetweenEnds(OpContext &c, const Expr &in, const Expr &out) {
  auto from = in.constant(), to = out.constant();
  if (!from || !to)
    return c.cannot("smoothing with aligned corners from the open size {0} to {1}", in.str(), out.str());
  return *from < 2 || *to < 2 ? std::optional<double>() : double(*to - 1) / double(*from - 1);
}

static llvm::Error interpolate(OpContext &c, const Resampling &how, bool betweenEnds = false) {
  LATHE_TRY(x, resizedOperand(c));
  if (!llvm::isa<mlir::FloatType>(elementOf(x)))
    return c.cannot("an interpolation of {0}", x.getType());
  Dims dims = dimsOf(x), want = c.resultDims();
  SmallVector<std::optional<double>> factors(dims.size());
  for (size_t d = 2; d < dims.size(); ++d) {
    factors[d] = factorOf(c, d);
    if (betweenEnds) {
      LATHE_TRY(factor, factorBetweenEnds(c, dims[d], want[d]));
      if (!factor && !c.g.facts.provablyEqual(dims[d], want[d]))
        return c.cannot("smoothing with aligned corners from {0} to {1}", dims[d].str(), want[d].str());
      factors[d] = factor;
    }
  }
  std::string why;
  Value y = inFloat(c, x, [&](Value v) {
    for (size_t d = 2; d < dims.size() && v; ++d)
      if (!c.g.facts.provablyEqual(dims[d], want[d]) || factors[d].value_or(1) != 1)
        v = resample(c.g, how, v, {int64_t(d), dims[d], want[d], factors[d]}, why);
    return v ? v : x;
  });
  return why.empty() ? c.give(y) : c.cannot("{0}", why);
}

static Resampling resampling(OpContext &c, const char *mode) {
  Resampling how;
  how.mode = mode;
  how.coordinates = c.flag("align_corners") ? "align_corners" : "half_pixel";
  return how;
}

static llvm::Error linear(OpContext &c) { return interpolate(c, resampling(c, "linear")); }
static llvm::Error cubic(OpContext &c) { return interpolate(c, resampling(c, "cubic")); }

/// Smoothed where it becomes smaller; the kernel's part outside of the image does not count.
static llvm::Error smooth(OpContext &c, const char *mode) {
  Resampling how;
  how.mode = mode;
  how.antialias = how.dropsOutside = true;
  how.cubic = -0.5;
  return interpolate(c, how, c.flag("align_corners"));
}
static llvm::Error smoothLinear(OpContext &c) { return smooth(c, "linear"); }
static llvm::Error smoothCubic(OpContext &c) { return smooth(c, "cubic"); }

//===----------------------------------------------------------------------===//
// At positions of a grid
//===----------------------------------------------------------------------===//

static llvm::Error gridSampler(OpContext &c) {
  static const char *const modes[] = {"linear", "nearest", "cubic"}, *const paddings[] = {"zeros", "border", "reflection"};
  Value x = c.tensor("input"), grid = c.tensor("grid");
  int64_t mode = c.integer("interpolation_mode"), padding = c.integer("padding_mode"), rank = typeOf(x).getRank();
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2 || rank < 4 || rank > 5 || typeOf(grid).getRank() != rank)
    return c.wrong("mode {0} with padding {1} of {2} at {3}", mode, padding, x.getType(), grid.getType());
  if (!llvm::isa<mlir::FloatType>(elementOf(x)) || !llvm::isa<mlir::FloatType>(elementOf(grid)))
    return c.wrong("samples of {0} at {1}", x.getType(), grid.getType());
  if (mode == 2 && rank != 4)
    return c.cannot("cubic samples of {0}", x.getType());
  Dims shape = dimsOf(grid);
  if (llvm::Error e = c.needEqual(shape[0], dimsOf(x)[0]))
    return e;
  if (shape.back().constant() != std::optional<int64_t>(rank - 2))
    return c.wrong("a grid of {0}", grid.getType());
  shape[0] = dimsOf(x)[0];
  GridSampling how{modes[mode], paddings[padding], c.flag("align_corners")};
  return c.give(inFloat(c, x, [&](Value v) { return gridSample(c.g, how, v, c.g.reshape(c.g.cast(grid, elementOf(v)), shape)); }));
}

/// With corners an axis of one pixel has it in the middle.
static llvm::Error gridOfAffine(OpContext &c) {
  Value theta = c.tensor("theta");
  Dims size = c.sizes("size"), own = dimsOf(theta);
  int64_t spatial = int64_t(size.size()) - 2;
  if ((spatial != 2 && spatial != 3) || own.size() != 3 || own[1].constant() != std::optional<int64_t>(spatial) ||
      own[2].constant() != std::optional<int64_t>(spatial + 1))
    return c.wrong("a transformation of {0} for {1} sizes", theta.getType(), size.size());
  if (llvm::Error e = c.needEqual(own[0], size[0]))
    return e;
  return c.give(c.g.cast(inFloat(c, theta, [&](Value v) { return affineGrid(c.g, v, llvm::ArrayRef<Expr>(size).drop_front(2), c.flag("align_corners"), /*lone=*/0); }), c.resultElement()));
}

llvm::ArrayRef<OpEntry> fx::resizeOps() {
  static const char *const byVector = "input:T output_size:N*? scale_factors:F*?";
  static const char *const aligned = "input:T output_size:N*? align_corners:B scale_factors:F*?";
  static const char *const one = "self:T output_size:N* scales:F?";
  static const char *const two = "self:T output_size:N* scales_h:F? scales_w:F?";
  static const char *const three = "self:T output_size:N* scales_d:F? scales_h:F? scales_w:F?";
  static const char *const alignedOne = "self:T output_size:N* align_corners:B scales:F?";
  static const char *const alignedTwo = "self:T output_size:N* align_corners:B scales_h:F? scales_w:F?";
  static const char *const alignedThree = "self:T output_size:N* align_corners:B scales_d:F? scales_h:F? scales_w:F?";
  static const char *const grid = "input:T grid:T interpolation_mode:I padding_mode:I align_corners:B";
  static const OpEntry table[] = {
      {"upsample_nearest1d.vec", byVector, upsampleNearest<false>},
      {"upsample_nearest2d.vec", byVector, upsampleNearest<false>},
      {"upsample_nearest3d.vec", byVector, upsampleNearest<false>},
      {"upsample_nearest1d.default", one, upsampleNearest<false>},
      {"upsample_nearest2d.default", two, upsampleNearest<false>},
      {"upsample_nearest3d.default", three, upsampleNearest<false>},
      {"_upsample_nearest_exact1d.vec", byVector, upsampleNearest<true>},
      {"_upsample_nearest_exact2d.vec", byVector, upsampleNearest<true>},
      {"_upsample_nearest_exact3d.vec", byVector, upsampleNearest<true>},
      {"_upsample_nearest_exact1d.default", one, upsampleNearest<true>},
      {"_upsample_nearest_exact2d.default", two, upsampleNearest<true>},
      {"_upsample_nearest_exact3d.default", three, upsampleNearest<true>},
      {"upsample_linear1d.vec", aligned, linear},
      {"upsample_bilinear2d.vec", aligned, linear},
      {"upsample_trilinear3d.vec", aligned, linear},
      {"upsample_bicubic2d.vec", aligned, cubic},
      {"upsample_linear1d.default", alignedOne, linear},
      {"upsample_bilinear2d.default", alignedTwo, linear},
      {"upsample_trilinear3d.default", alignedThree, linear},
      {"upsample_bicubic2d.default", alignedTwo, cubic},
      {"_upsample_bilinear2d_aa.vec", aligned, smoothLinear},
      {"_upsample_bilinear2d_aa.default", alignedTwo, smoothLinear},
      {"_upsample_bicubic2d_aa.vec", aligned, smoothCubic},
      {"_upsample_bicubic2d_aa.default", alignedTwo, smoothCubic},
      {"grid_sampler.default", grid, gridSampler},
      {"grid_sampler_2d.default", grid, gridSampler},
      {"grid_sampler_3d.default", grid, gridSampler},
      {"affine_grid_generator.default", "theta:T size:N* align_corners:B", gridOfAffine},
  };
  return table;
}
