//===- Special.cpp - Special functions ---------------------------------------===//
//
// Bessel and Airy functions, the scaled error function and the normal distribution's, zeta and polygamma: in float64,
// by Chebyshev series (SpecialTables.h) on the side where a function is smooth and by its asymptotic form with a series
// in 1 / x on the other.
//
//===----------------------------------------------------------------------===//

#include "Special.h"
#include "SpecialTables.h"
#include <cmath>
#include <limits>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::fx::special;
using namespace lathe::ir;

constexpr double infinity = std::numeric_limits<double>::infinity();
using Table = llvm::ArrayRef<double>;

static Value is(OpContext &c, CompareKind kind, Value x, double y) { return c.g.compare(kind, x, c.g.splatLike(y, x)); }
static Value times(OpContext &c, Value x, double k) { return c.g.binary<MulOp>(x, k); }
static Value plus(OpContext &c, Value x, double k) { return c.g.binary<AddOp>(x, k); }
static Value over(OpContext &c, double k, Value x) { return c.g.div(c.g.splatLike(k, x), x); }
static Value exponential(OpContext &c, Value x) { return c.g.unary<ExpOp>(x); }
static Value logarithm(OpContext &c, Value x) { return c.g.unary<LogOp>(x); }
static Value root(OpContext &c, Value x) { return c.g.unary<SqrtOp>(x); }
static Value square(OpContext &c, Value x) { return c.g.mul(x, x); }

/// Clenshaw's sum of a Chebyshev series at t.
static Value series(OpContext &c, Table table, Value t) {
  Value twice = times(c, t, 2), b1 = c.g.splatLike(table[0], t), b2 = c.g.splatLike(0, t);
  for (double k : table.slice(1, table.size() - 2)) {
    Value next = plus(c, c.g.sub(c.g.mul(twice, b1), b2), k);
    b2 = b1;
    b1 = next;
  }
  return plus(c, c.g.sub(c.g.mul(t, b1), b2), table.back());
}

/// A series in 2 x^2 / high^2 - 1 or 2 low / x - 1 and the like, and x where it would leave the side on which that one
/// holds.
static Value ofSquare(OpContext &c, Table table, Value x, double high) {
  return series(c, table, plus(c, times(c, square(c, x), 2 / (high * high)), -1));
}
static Value ofInverse(OpContext &c, Table table, Value x, double low) {
  return series(c, table, plus(c, over(c, 2 * low, x), -1));
}
static Value ofInverseSquare(OpContext &c, Table table, Value x, double low) {
  return series(c, table, plus(c, over(c, 2 * low * low, square(c, x)), -1));
}
static Value atMost(OpContext &c, Value x, double k) { return c.g.binary<MinOp>(x, k); }
static Value atLeast(OpContext &c, Value x, double k) { return c.g.binary<MaxOp>(x, k); }

//===----------------------------------------------------------------------===//
// Modified Bessel functions
//===----------------------------------------------------------------------===//

/// exp(-|x|) I0(x)
static Value scaledI0(OpContext &c, Value x) {
  Value a = c.g.unary<AbsOp>(x), far = atLeast(c, a, 8);
  Value near = series(c, i0Near, plus(c, times(c, atMost(c, a, 8), 0.25), -1));
  return c.g.select(is(c, CompareKind::LE, a, 8), near, c.g.div(ofInverse(c, i0Far, far, 8), root(c, far)));
}

/// exp(-|x|) I1(x)
static Value scaledI1(OpContext &c, Value x) {
  Value a = c.g.unary<AbsOp>(x), far = atLeast(c, a, 8), inside = atMost(c, a, 8);
  Value near = c.g.mul(inside, series(c, i1Near, plus(c, times(c, inside, 0.25), -1)));
  Value y = c.g.select(is(c, CompareKind::LE, a, 8), near, c.g.div(ofInverse(c, i1Far, far, 8), root(c, far)));
  return c.g.select(is(c, CompareKind::LT, x, 0), c.g.unary<NegOp>(y), y);
}

static Value withScale(OpContext &c, Value x, Value scaled) {
  Value y = c.g.mul(scaled, exponential(c, c.g.unary<AbsOp>(x)));
  return c.g.select(isNan(c, x), x, y);
}
static Value besselI0(OpContext &c, Value x) { return withScale(c, x, scaledI0(c, x)); }
static Value besselI1(OpContext &c, Value x) { return withScale(c, x, scaledI1(c, x)); }

/// exp(x) K(x) or K(x); infinite at 0, not there below.
template <int order, bool scaled> static Value besselK(OpContext &c, Value x) {
  Value inside = atMost(c, x, 2), far = atLeast(c, x, 2), log = logarithm(c, times(c, inside, 0.5));
  Value near = order == 0 ? c.g.sub(ofSquare(c, k0Near, inside, 2), c.g.mul(log, besselI0(c, inside)))
                          : c.g.add(c.g.div(ofSquare(c, k1Near, inside, 2), inside), c.g.mul(log, besselI1(c, inside)));
  if (scaled)
    near = c.g.mul(near, exponential(c, inside));
  Value away = c.g.div(ofInverse(c, order == 0 ? Table(k0Far) : Table(k1Far), far, 2), root(c, far));
  if (!scaled)
    away = c.g.mul(away, exponential(c, c.g.unary<NegOp>(far)));
  Value y = c.g.select(is(c, CompareKind::LE, x, 2), near, away);
  y = c.g.select(is(c, CompareKind::EQ, x, 0), c.g.splatLike(infinity, x), y);
  return c.g.select(is(c, CompareKind::LT, x, 0), c.g.splatLike(NAN, x), y);
}

//===----------------------------------------------------------------------===//
// Bessel functions
//===----------------------------------------------------------------------===//

/// For x from 8 on: J, or Y, in terms of a cosine and a sine.
template <int order, bool second> static Value largeBessel(OpContext &c, Value a) {
  Value p = ofInverseSquare(c, order == 0 ? Table(bessel0Cosine) : Table(bessel1Cosine), a, 8);
  Value q = c.g.div(ofInverseSquare(c, order == 0 ? Table(bessel0Sine) : Table(bessel1Sine), a, 8), a);
  Value angle = plus(c, a, -(2 * order + 1) * M_PI / 4), cosine = c.g.unary<CosOp>(angle),
        sine = c.g.unary<SinOp>(angle);
  Value sum = second ? c.g.add(c.g.mul(p, sine), c.g.mul(q, cosine)) : c.g.sub(c.g.mul(p, cosine), c.g.mul(q, sine));
  return c.g.mul(sum, root(c, over(c, M_2_PI, a)));
}

template <int order> static Value besselJ(OpContext &c, Value x) {
  Value a = c.g.unary<AbsOp>(x), inside = atMost(c, a, 8);
  Value near = ofSquare(c, order == 0 ? Table(j0Near) : Table(j1Near), inside, 8);
  if (order == 1)
    near = c.g.mul(inside, near);
  Value y = c.g.select(is(c, CompareKind::LE, a, 8), near, largeBessel<order, false>(c, atLeast(c, a, 8)));
  y = c.g.select(is(c, CompareKind::EQ, a, infinity), c.g.splatLike(0, x), y);
  return order == 0 ? y : c.g.select(is(c, CompareKind::LT, x, 0), c.g.unary<NegOp>(y), y);
}

/// -infinity at 0, not there below.
template <int order> static Value besselY(OpContext &c, Value x) {
  Value inside = atMost(c, x, 8), log = times(c, logarithm(c, inside), M_2_PI), near;
  if (order == 0)
    near = c.g.add(ofSquare(c, y0Near, inside, 8), c.g.mul(log, besselJ<0>(c, inside)));
  else
    near = c.g.sub(c.g.add(c.g.mul(inside, ofSquare(c, y1Near, inside, 8)), c.g.mul(log, besselJ<1>(c, inside))),
                   over(c, M_2_PI, inside));
  Value y = c.g.select(is(c, CompareKind::LE, x, 8), near, largeBessel<order, true>(c, atLeast(c, x, 8)));
  y = c.g.select(is(c, CompareKind::EQ, x, infinity), c.g.splatLike(0, x), y);
  y = c.g.select(is(c, CompareKind::EQ, x, 0), c.g.splatLike(-infinity, x), y);
  return c.g.select(is(c, CompareKind::LT, x, 0), c.g.splatLike(NAN, x), y);
}

/// sin(x) / x
static Value sphericalBesselJ0(OpContext &c, Value x) {
  Value flat = is(c, CompareKind::EQ, x, 0), endless = is(c, CompareKind::EQ, c.g.unary<AbsOp>(x), infinity),
        one = c.g.splatLike(1, x);
  Value y = c.g.div(c.g.unary<SinOp>(c.g.select(endless, one, x)), c.g.select(flat, one, x));
  return c.g.select(endless, c.g.splatLike(0, x), c.g.select(flat, one, y));
}

/// x^(1/4)
static Value fourthRoot(OpContext &c, Value x) { return root(c, root(c, x)); }

/// torch has no value at infinity.
static Value airyAi(OpContext &c, Value x) {
  const double low = -std::pow(7.5, 2.0 / 3), high = std::pow(3.0, 2.0 / 3);
  Value near = series(c, airyNear, times(c, atMost(c, atLeast(c, x, low), high), 0.25));
  auto powerOf = [&](Value a) { return times(c, c.g.mul(a, root(c, a)), 2.0 / 3); };
  Value up = atLeast(c, x, high), z = powerOf(up);
  Value falling = c.g.mul(ofInverse(c, airyFalling, z, 2), exponential(c, c.g.unary<NegOp>(z)));
  falling = c.g.div(falling, times(c, fourthRoot(c, up), 2 * std::sqrt(M_PI)));
  Value down = atLeast(c, c.g.unary<NegOp>(x), -low), w = powerOf(down), angle = plus(c, w, M_PI_4);
  Value f = ofInverseSquare(c, airySine, w, 5), g = c.g.div(ofInverseSquare(c, airyCosine, w, 5), w);
  Value waves = c.g.sub(c.g.mul(f, c.g.unary<SinOp>(angle)), c.g.mul(g, c.g.unary<CosOp>(angle)));
  waves = c.g.div(waves, times(c, fourthRoot(c, down), std::sqrt(M_PI)));
  Value y =
      c.g.select(is(c, CompareKind::GT, x, high), falling, c.g.select(is(c, CompareKind::LT, x, low), waves, near));
  y = c.g.select(is(c, CompareKind::GT, x, 104), c.g.splatLike(0, x), y);
  return c.g.select(is(c, CompareKind::EQ, c.g.unary<AbsOp>(x), infinity), c.g.splatLike(NAN, x), y);
}

//===----------------------------------------------------------------------===//
// The error function and the normal distribution
//===----------------------------------------------------------------------===//

/// exp(x^2) erfc(x); below 0 it is 2 exp(x^2) - erfcx(-x).
static Value erfcx(OpContext &c, Value x) {
  Value a = c.g.unary<AbsOp>(x), most = atMost(c, a, 1e300);
  Value t = c.g.div(plus(c, most, -4), plus(c, most, 4));
  Value y = c.g.div(series(c, erfcxNear, t), plus(c, times(c, a, 2), 1));
  Value below = c.g.sub(times(c, exponential(c, square(c, x)), 2), y);
  return c.g.select(isNan(c, x), x, c.g.select(is(c, CompareKind::LT, x, 0), below, y));
}

/// The logarithm of the normal distribution's integral.
Value special::logNdtr(OpContext &c, Value x) {
  Value down = atMost(c, x, -1), up = atLeast(c, x, -1);
  Value far =
      c.g.sub(logarithm(c, times(c, erfcx(c, times(c, down, -M_SQRT1_2)), 0.5)), times(c, square(c, down), 0.5));
  Value rest = c.g.sub(c.g.splatLike(1, x), c.g.unary<ErfOp>(times(c, up, M_SQRT1_2)));
  // Where 1 - erf has no digits left, erfc(y) is erfcx(y) exp(-y^2).
  Value y = times(c, atLeast(c, up, 0), M_SQRT1_2);
  rest = c.g.select(is(c, CompareKind::GT, up, 0), c.g.mul(erfcx(c, y), exponential(c, c.g.unary<NegOp>(square(c, y)))),
                    rest);
  Value near = c.g.unary<Log1pOp>(times(c, rest, -0.5));
  return c.g.select(isNan(c, x), x, c.g.select(is(c, CompareKind::LT, x, -1), far, near));
}

//===----------------------------------------------------------------------===//
// Zeta and polygamma
//===----------------------------------------------------------------------===//

/// The sum over k of (q + k)^-x for q > 0 and x > 1, by Euler and Maclaurin from q + 10 on.
static Value zetaSum(OpContext &c, Value x, Value q) {
  static const double bernoulli[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                     5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};
  constexpr int terms = 10;
  Value minus = c.g.unary<NegOp>(x), sum;
  for (int k = 0; k < terms; ++k) {
    Value term = c.g.binary<PowOp>(plus(c, q, k), minus);
    sum = sum ? c.g.add(sum, term) : term;
  }
  Value w = plus(c, q, terms), power = c.g.binary<PowOp>(w, minus);
  sum = c.g.add(sum, c.g.add(c.g.div(c.g.mul(power, w), plus(c, x, -1)), times(c, power, 0.5)));
  Value factor = c.g.div(c.g.mul(power, x), w); // x (x + 1) .. (x + 2j - 2) w^(-x - 2j + 1)
  double factorial = 2;
  for (int j = 1; j <= int(std::size(bernoulli)); ++j) {
    sum = c.g.add(sum, times(c, factor, bernoulli[j - 1] / factorial));
    factor = c.g.div(c.g.mul(factor, c.g.mul(plus(c, x, 2 * j - 1), plus(c, x, 2 * j))), square(c, w));
    factorial *= (2 * j + 1) * (2 * j + 2);
  }
  return c.g.select(is(c, CompareKind::EQ, q, infinity), c.g.splatLike(0, q), sum);
}

/// Below 0 the terms of q + k < 0, k < m, are those of two other sums: with r = q + m in (0, 1], they are
/// (-1)^x (zeta(x, 1 - r) - zeta(x, 1 - q)).
static Value zetaOf(OpContext &c, Value x, Value q) {
  Value negative = is(c, CompareKind::LE, q, 0), whole = c.g.unary<FloorOp>(q), r = c.g.sub(q, whole);
  Value pole = c.g.binary<AndOp>(negative, c.g.compare(CompareKind::EQ, q, whole)), one = c.g.splatLike(1, q);
  Value up = zetaSum(c, x, c.g.select(negative, c.g.select(pole, one, r), q));
  Value low = c.g.select(negative, c.g.sub(one, c.g.select(pole, c.g.splatLike(0, q), r)), one);
  Value far = c.g.select(negative, c.g.sub(one, q), one);
  Value down = c.g.sub(zetaSum(c, x, low), zetaSum(c, x, far)), half = times(c, x, 0.5);
  Value odd = c.g.compare(CompareKind::NE, half, c.g.unary<FloorOp>(half));
  Value y = c.g.select(negative, c.g.add(up, c.g.select(odd, c.g.unary<NegOp>(down), down)), up);
  Value between = c.g.binary<AndOp>(negative, c.g.compare(CompareKind::NE, x, c.g.unary<FloorOp>(x)));
  y = c.g.select(between, c.g.splatLike(NAN, q), y);
  y = c.g.select(pole, c.g.splatLike(infinity, q), y);
  y = c.g.select(is(c, CompareKind::LT, x, 1), c.g.splatLike(NAN, q), y);
  return c.g.select(is(c, CompareKind::EQ, x, 1), c.g.splatLike(infinity, q), y);
}

static llvm::Error zeta(OpContext &c) {
  LATHE_TRY(xq, c.pair(c.operand("self"), c.operand("other"), c.g.b.getF64Type()));
  Value nan = c.g.binary<OrOp>(isNan(c, xq.first), isNan(c, xq.second));
  Value y = c.g.select(nan, c.g.splatLike(NAN, xq.first), zetaOf(c, xq.first, xq.second));
  return c.give(c.g.cast(y, c.resultElement()));
}

/// The n-th derivative of digamma: (-1)^(n + 1) n! zeta(n + 1, x).
static llvm::Error polygamma(OpContext &c) {
  int64_t n = c.integer("n");
  if (n < 0 || n > 100)
    return c.cannot("an order of {0}; this version takes 0 to 100", n);
  Value x = c.g.cast(c.tensor("self"), c.g.b.getF64Type());
  if (n == 0)
    return c.give(c.g.cast(digamma(c, x), c.resultElement()));
  Value y = times(c, zetaOf(c, c.g.splatLike(double(n + 1), x), x), (n % 2 ? 1 : -1) * std::tgamma(double(n + 1)));
  return c.give(c.g.cast(c.g.select(isNan(c, x), x, y), c.resultElement()));
}

/// log(pi) p (p - 1) / 4 plus the sum of lgamma(x - j / 2), j < p.
static llvm::Error multivariateLogGamma(OpContext &c) {
  int64_t p = c.integer("p");
  if (p < 1 || p > 100)
    return c.cannot("{0} dimensions; this version takes 1 to 100", p);
  Value x = c.g.cast(c.tensor("self"), c.g.b.getF64Type()),
        sum = c.g.splatLike(std::log(M_PI) * double(p) * double(p - 1) / 4, x);
  for (int64_t j = 0; j < p; ++j)
    sum = c.g.add(sum, logGamma(c, plus(c, x, -double(j) / 2)));
  return c.give(c.g.cast(sum, c.resultElement()));
}

using Function = Value (*)(OpContext &, Value);
static llvm::Error giveOf(OpContext &c, Function compose, const char *argument) {
  Value x = c.g.cast(c.tensor(argument), c.g.b.getF64Type());
  return c.give(c.g.cast(compose(c, x), c.resultElement()));
}
template <Function compose> static llvm::Error function(OpContext &c) { return giveOf(c, compose, "self"); }
template <Function compose> static llvm::Error functionOfX(OpContext &c) { return giveOf(c, compose, "x"); }

llvm::ArrayRef<OpEntry> fx::specialOps() {
  static const char *const two = "self:TS other:TS";
  static const OpEntry table[] = {
      {"i0.default", "self:T", function<besselI0>},
      {"special_i0.default", "self:T", function<besselI0>},
      {"special_i0e.default", "self:T", function<scaledI0>},
      {"special_i1.default", "self:T", function<besselI1>},
      {"special_i1e.default", "self:T", function<scaledI1>},
      {"special_modified_bessel_i0.default", "self:T", function<besselI0>},
      {"special_modified_bessel_i1.default", "self:T", function<besselI1>},
      {"special_modified_bessel_k0.default", "self:T", function<besselK<0, false>>},
      {"special_modified_bessel_k1.default", "self:T", function<besselK<1, false>>},
      {"special_scaled_modified_bessel_k0.default", "x:T", functionOfX<besselK<0, true>>},
      {"special_scaled_modified_bessel_k1.default", "x:T", functionOfX<besselK<1, true>>},
      {"special_spherical_bessel_j0.default", "x:T", functionOfX<sphericalBesselJ0>},
      {"special_airy_ai.default", "x:T", functionOfX<airyAi>},
      {"special_bessel_j0.default", "self:T", function<besselJ<0>>},
      {"special_bessel_j1.default", "self:T", function<besselJ<1>>},
      {"special_bessel_y0.default", "self:T", function<besselY<0>>},
      {"special_bessel_y1.default", "self:T", function<besselY<1>>},
      {"special_erfcx.default", "self:T", function<erfcx>},
      {"special_log_ndtr.default", "self:T", function<special::logNdtr>},
      {"special_zeta.default", two, zeta},
      {"special_zeta.self_scalar", two, zeta},
      {"special_zeta.other_scalar", two, zeta},
      {"polygamma.default", "n:I self:T", polygamma},
      {"special_polygamma.default", "n:I self:T", polygamma},
      {"mvlgamma.default", "self:T p:I", multivariateLogGamma},
      {"special_multigammaln.default", "self:T p:I", multivariateLogGamma},
  };
  return table;
}
