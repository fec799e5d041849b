//===- Resize.cpp - Upsampling ----------------------------------------------===//

#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

/// By whole factors: each element becomes a block of copies.
static llvm::Error upsampleNearest(OpContext &c) {
  Value x = c.tensor(c.has("input") ? "input" : "self");
  Dims dims = dimsOf(x), want = c.resultDims(), split, wide;
  if (want.size() != dims.size() || dims.size() < 3)
    return c.wrong("an output of rank {0} from {1}", want.size(), x.getType());
  for (size_t i = 0; i < dims.size(); ++i) {
    auto factor = dims[i].isZero() ? std::nullopt : Expr::divideExactly(want[i], dims[i]);
    if (!factor || (i < 2 && !factor->isOne()))
      return c.cannot("resizing dimension {0} from {1} to {2}; this version takes whole factors", i, dims[i].str(),
                      want[i].str());
    split.push_back(dims[i]);
    wide.push_back(dims[i]);
    if (!factor->isOne()) {
      split.push_back(Expr(1));
      wide.push_back(*factor);
    }
  }
  return c.give(c.g.reshape(c.g.broadcastTo(c.g.reshape(x, split), wide), want));
}

/// Where the outputs of one dimension lie in the input: (i + 0.5) * scale - 0.5 from 0 on, or i * scale with aligned corners.
static Value sourcePlaces(OpContext &c, int64_t from, int64_t to, bool aligned, std::optional<double> factor) {
  Type f32 = c.g.b.getF32Type();
  Value i = c.g.iota({Expr(to)}, 0, f32);
  if (aligned)
    return c.g.binary<MulOp>(i, to > 1 ? double(from - 1) / double(to - 1) : 0.0);
  double scale = factor ? 1 / *factor : double(from) / double(to);
  Value at = c.g.binary<SubOp>(c.g.binary<MulOp>(c.g.binary<AddOp>(i, 0.5), scale), 0.5);
  return c.g.binary<MaxOp>(at, 0.0);
}

/// Linear interpolation along one dimension.
static Value interpolate(OpContext &c, Value x, int64_t axis, int64_t to, bool aligned, std::optional<double> factor) {
  int64_t from = *dimsOf(x)[axis].constant();
  Type index = c.g.b.getI64Type();
  Value at = sourcePlaces(c, from, to, aligned, factor);
  Value below = c.g.unary<FloorOp>(at), low = c.g.cast(below, index);
  Value high = c.g.binary<MinOp>(c.g.binary<AddOp>(low, 1), double(from - 1));
  Value a = c.g.gather(x, low, axis), b = c.g.gather(x, high, axis);
  Dims shape(typeOf(x).getRank(), Expr(1));
  shape[axis] = Expr(to);
  Value weight = c.g.broadcastTo(c.g.reshape(c.g.cast(c.g.sub(at, below), elementOf(x)), shape), dimsOf(a));
  return c.g.add(a, c.g.mul(weight, c.g.sub(b, a)));
}

static llvm::Error upsampleLinear(OpContext &c) {
  Value x = c.tensor("input");
  Dims dims = dimsOf(x), want = c.resultDims();
  if (want.size() != dims.size() || dims.size() < 3 || !llvm::isa<mlir::FloatType>(elementOf(x)))
    return c.wrong("an output of rank {0} from {1}", want.size(), x.getType());
  SmallVector<double> factors = c.reals("scale_factors");
  Value y = inFloat(c, x, [&](Value v) {
    for (size_t i = 2; i < dims.size(); ++i) {
      auto from = dims[i].constant(), to = want[i].constant();
      if (from && to && *from > 0 && *to > 0 && *from != *to)
        v = interpolate(c, v, i, *to, c.flag("align_corners"),
                        i - 2 < factors.size() ? std::optional<double>(factors[i - 2]) : std::nullopt);
    }
    return v;
  });
  for (size_t i = 0; i < dims.size(); ++i)
    if (!c.g.facts.provablyEqual(dimsOf(y)[i], want[i]))
      return c.cannot("resizing dimension {0} from {1} to {2}; this version interpolates between constant sizes", i,
                      dims[i].str(), want[i].str());
  return c.give(y);
}

llvm::ArrayRef<OpEntry> fx::resizeOps() {
  static const char *const linear = "input:T output_size:N*? align_corners:B scale_factors:F*?";
  static const OpEntry table[] = {
      {"upsample_nearest1d.vec", "input:T output_size:N*? scale_factors:F*?", upsampleNearest},
      {"upsample_nearest2d.vec", "input:T output_size:N*? scale_factors:F*?", upsampleNearest},
      {"upsample_nearest2d.default", "self:T output_size:N* scales_h:F? scales_w:F?", upsampleNearest},
      {"upsample_linear1d.vec", linear, upsampleLinear},
      {"upsample_bilinear2d.vec", linear, upsampleLinear},
  };
  return table;
}
