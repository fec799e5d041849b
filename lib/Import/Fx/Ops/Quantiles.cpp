//===- Quantiles.cpp - Inverses of the error function and of the normal distribution -===//
//
// erfinv(x) / x is smooth in w = -log(1 - x^2), and far out in sqrt(w) (Giles, "Approximating the erfinv function", 2010). The minimax fits
// below have the digits of float32; float64 takes one step of Halley's method more, which triples them.
//
//===----------------------------------------------------------------------===//

#include "Special.h"
#include <cmath>
#include <limits>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

/// Of w - 1 for w <= 5, of sqrt(w) - 3 for w <= 17, of sqrt(w) - 7 for w <= 106: the highest power first.
static const double nearSeries[] = {-8.242851734507894e-09, 1.3553250255426974e-07, -5.001857061870396e-07, -4.425025053933496e-06,
                                    3.817306424025446e-05, 0.00010038082837127149, -0.0023764120414853096, 0.004250562749803066,
                                    0.24783287942409515, 1.1273744106292725};
static const double farSeries[] = {0.00011009929585270584, -0.0003043631440959871, -4.8675472498871386e-05, 0.0014786511892452836,
                                   -0.0036016409285366535, 0.005689405836164951,   -0.007636391092091799,   0.009445007890462875,
                                   1.0016748905181885,     2.832976818084717};
static const double fartherSeries[] = {1.3748607585739592e-08, -9.299123604478154e-08,  2.733736153004429e-07,
                                       -1.3138161421011318e-06, 6.207390015333658e-06,  5.43994246982038e-06,
                                       -0.0005129040800966322,  1.0085961818695068,     6.869019508361816};

static Value is(OpContext &c, CompareKind kind, Value x, double y) { return c.g.compare(kind, x, c.g.splatLike(y, x)); }

static Value polynomial(OpContext &c, Value x, llvm::ArrayRef<double> coefficients) {
  Value y = c.g.splatLike(coefficients[0], x);
  for (double k : coefficients.drop_front())
    y = c.g.binary<AddOp>(c.g.mul(y, x), k);
  return y;
}

/// erfinv(x) / x, given 1 - x^2; `tails`: for one below 1e-7, too.
static Value inverseErfRatio(OpContext &c, Value rest, bool tails) {
  Value w = c.g.unary<NegOp>(c.g.unary<LogOp>(rest)), root = c.g.unary<SqrtOp>(w);
  Value near = polynomial(c, c.g.binary<SubOp>(w, 1), nearSeries), far = polynomial(c, c.g.binary<SubOp>(root, 3), farSeries);
  if (tails)
    far = c.g.select(is(c, CompareKind::LT, w, 17), far, polynomial(c, c.g.binary<SubOp>(root, 7), fartherSeries));
  return c.g.select(is(c, CompareKind::LT, w, 5), near, far);
}

/// y less what one step of Halley's method takes off, `error` being Newton's and `bend` the second derivative over twice the first.
static Value refined(OpContext &c, Value y, Value error, Value bend) {
  Value turned = c.g.binary<AddOp>(c.g.mul(error, bend), 1);
  return c.g.sub(y, c.g.div(error, turned));
}

static Value inverseErf(OpContext &c, Value x) {
  bool wide = elementOf(x).isF64();
  Value one = c.g.splatLike(1, x), rest = c.g.mul(c.g.sub(one, x), c.g.add(one, x));
  Value y = c.g.mul(inverseErfRatio(c, rest, wide), x); // infinite at 1 and -1, NaN beyond
  if (!wide)
    return y;
  Value slope = c.g.binary<MulOp>(c.g.unary<ExpOp>(c.g.unary<NegOp>(c.g.mul(y, y))), M_2_SQRTPI);
  Value better = refined(c, y, c.g.div(c.g.sub(c.g.unary<ErfOp>(y), x), slope), y);
  return c.g.select(is(c, CompareKind::EQ, c.g.unary<AbsOp>(x), 1), y, better);
}

/// The quantile of f64, of the smaller tail: a start that is right to three digits (Hastings, "Approximations for digital computers", 1955), then
/// Halley's method for the logarithm.
static Value wideQuantile(OpContext &c, Value tail) {
  Value log = c.g.unary<LogOp>(tail), t = c.g.unary<SqrtOp>(c.g.binary<MulOp>(log, -2));
  Value above = polynomial(c, t, {0.010328, 0.802853, 2.515517}), below = polynomial(c, t, {0.001308, 0.189269, 1.432788, 1});
  Value x = c.g.sub(c.g.div(above, below), t);
  for (int step = 0; step < 2; ++step) {
    Value now = special::logNdtr(c, x);
    Value slope = c.g.unary<ExpOp>(c.g.sub(c.g.binary<MulOp>(c.g.mul(x, x), -0.5), now));
    slope = c.g.binary<MulOp>(slope, 1 / std::sqrt(2 * M_PI));
    x = refined(c, x, c.g.div(c.g.sub(now, log), slope), c.g.binary<MulOp>(c.g.add(x, slope), 0.5));
  }
  return x;
}

/// sqrt(2) erfinv(2 p - 1).
static Value normalQuantile(OpContext &c, Value p) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Value one = c.g.splatLike(1, p), other = c.g.sub(one, p), y;
  if (elementOf(p).isF64()) {
    Value low = is(c, CompareKind::LT, p, 0.5), x = wideQuantile(c, c.g.binary<MaxOp>(c.g.select(low, p, other), 1e-300));
    y = c.g.select(low, x, c.g.unary<NegOp>(x));
  } else {
    Value centred = c.g.sub(c.g.add(p, p), one), rest = c.g.binary<MulOp>(c.g.mul(p, other), 4);
    y = c.g.binary<MulOp>(c.g.mul(inverseErfRatio(c, rest, true), centred), M_SQRT2);
  }
  y = c.g.select(is(c, CompareKind::EQ, p, 0), c.g.splatLike(-infinity, p), y);
  y = c.g.select(is(c, CompareKind::EQ, p, 1), c.g.splatLike(infinity, p), y);
  Value outside = c.g.binary<OrOp>(is(c, CompareKind::LT, p, 0), is(c, CompareKind::GT, p, 1));
  return c.g.select(outside, c.g.splatLike(NAN, p), y);
}

template <Value (*compose)(OpContext &, Value)> static llvm::Error quantile(OpContext &c) {
  Value x = c.g.cast(c.tensor("self"), c.resultElement());
  return c.give(inFloat(c, x, [&](Value v) { return compose(c, v); }));
}

llvm::ArrayRef<OpEntry> fx::quantileOps() {
  static const OpEntry table[] = {
      {"erfinv.default", "self:T", quantile<inverseErf>},
      {"special_ndtri.default", "self:T", quantile<normalQuantile>},
  };
  return table;
}
