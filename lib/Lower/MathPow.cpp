//===- MathPow.cpp - Powers --------------------------------------------------===//
//
// exp(y log |x|). An error of the logarithm is multiplied by up to 745 = log(2^1074): for a result in f64, the
// logarithm has some ten digits more than f64. f32 is computed in f64, its special cases in f32, of which a vector holds twice as many.
//
//===----------------------------------------------------------------------===//

#include "FloatBuilder.h"

using namespace mlir;
using namespace lathe::lower;

namespace {
/// ln 2 in two parts; the product of the first with an exponent is exact.
constexpr double ln2High = 0x1.62e42fefap-1, ln2Low = 1.6465949582897082e-12;
/// atanh(s) = s + s^3 / 3 + s^5 P(s^2) for |s| <= 3 - 2 sqrt(2).
constexpr double atanhTail[] = {0.2,
                                0.14285714285714685,
                                0.11111111110827476,
                                0.09090909167791589,
                                0.07692297472009584,
                                0.06667402808206997,
                                0.058531067645760056,
                                0.05861700079466879};
/// log2(1 + m) = s P(s^2) for the same s, to 2^-45, and 2^r = P(r) for |r| <= 1/2, to 2^-34.
constexpr double log2Series[] = {2.8853900817778504,  0.9617966941130632, 0.5770779423976389,
                                 0.4122092517429444, 0.3199056543529329, 0.2829014369957193};
constexpr double exp2Series[] = {1.0, 0.6931471807045372,   0.24022651066567538,  0.055504103659783297, 0.009618038131328681,
                                 0.0013333935063890683, 0.00015466756514283586, 1.5196155009274711e-05};

/// An unevaluated sum; the second part is below the last place of the first.
struct Sum {
  Fl high, low;
};
} // namespace

static Sum product(Fl x, Fl y) {
  Fl p = x * y;
  return {p, -minusProduct(p, x, y)};
}

/// x + y for |x| >= |y|.
static Sum sumOf(Fl x, Fl y) {
  Fl high = x + y;
  return {high, y - (high - x)};
}

/// log(1 + m) = 2 atanh(s) = 2 s + 2/3 s^3 + ... with s = m / (2 + m), whose first two terms are exact sums.
static Sum logOfSplit(Fl m, Fl k) {
  Fl d = m + 2.0, s = m / d;
  Fl sLow = (minusProduct(m, s, d) - s * (m - (d - 2.0))) / d;
  Sum square = product(s, s);
  square.low = square.low + s * sLow * 2.0;
  Sum cube = product(s, square.high);
  cube.low = cube.low + s * square.low + sLow * square.high;
  constexpr double third = 0.33333333333333331, thirdLow = 1.8503717077085941e-17;
  Sum cubic = product(cube.high, m.f->c(third));
  cubic.low = cubic.low + cube.low * third + cube.high * thirdLow;
  Fl tail = cube.high * square.high * m.f->poly(square.high, atanhTail);
  Sum first = sumOf(k * ln2High, s * 2.0), second = sumOf(first.high, cubic.high * 2.0);
  Fl low = (sLow + cubic.low + tail) * 2.0 + k * ln2Low;
  return sumOf(second.high, first.low + second.low + low);
}

/// |x|^y in f64, to about the last digit.
static Fl preciseMagnitude(Fl a, Fl y) {
  FloatBuilder &f = *a.f;
  auto [m, k] = splitExponent(a);
  Sum log = logOfSplit(m, k);
  Fl regular = (a > 0.0) & (a < f.inf());
  Fl high = f.select(regular, log.high, f.select(a == 0.0, -f.inf(), a)); // infinities and NaN
  Sum power = product(y, high);
  Fl low = power.low + y * log.low;
  Fl finite = regular & (f.abs(power.high) < 1000.0);
  return expOfSum(power.high, f.select(finite, low, f.c(0.0)));
}

/// log2(a) for positive numbers of f32, to 2^-43 of itself; NaN for infinity and NaN. `wide` builds f64 of the same shape.
static Fl wideLog2(Fl a, FloatBuilder &wide) {
  auto [m, k] = splitExponent(a);
  Fl mantissa = wide.widened(m), exponent = wide.widened(a * 0.0 + k);
  Fl s = mantissa / (mantissa + 2.0);
  return s * wide.balanced(s * s, log2Series) + exponent;
}

/// 2^p for |p| < 1000 (or NaN), to 2^-34 of itself.
static Fl wideExp2(Fl p) {
  FloatBuilder &f = *p.f;
  auto [nf, n] = f.nearest(p);
  Fl r = p - nf, unit = f.balanced(r, exp2Series);
  Value shifted = f.b.create<arith::ShLIOp>(f.loc, n.v, f.ci(f.mantissa).v);
  return f.fromBits(f.of(f.b.create<arith::AddIOp>(f.loc, f.bits(unit).v, shifted)));
}

/// |x|^y in f32 by way of f64, which has the digits that a logarithm loses to its exponent. Every result beyond f32's range is far within f64's.
static Fl singleMagnitude(Fl a, Fl y) {
  FloatBuilder &f = *a.f;
  FloatBuilder wide(f.b, f.loc, f.shaped(f.b.getF64Type()), f.options);
  constexpr double largest = std::numeric_limits<float>::max();
  Fl exponent = f.maximum(f.minimum(y, f.c(largest)), f.c(-largest)); // 1 to an infinite power is 1
  Fl power = wide.widened(exponent) * wideLog2(a, wide);
  Fl result = f.narrowed(wideExp2(wide.maximum(wide.minimum(power, wide.c(130.0)), wide.c(-160.0))));
  // Of 0 and of infinity: by the exponent's sign.
  Fl away = f.maximum(f.select(a > 1.0, y, -y) * f.inf(), f.c(0.0));
  return f.select((a == 0.0) | (a == f.inf()), away, result);
}

/// With the special cases of C's pow.
Fl lathe::lower::powOf(Fl x, Fl y) {
  FloatBuilder &f = *x.f;
  Fl a = f.abs(x), magnitude;
  if (f.isDouble())
    magnitude = f.select((a == 1.0) & (f.abs(y) == f.inf()), f.c(1.0), preciseMagnitude(a, y));
  else
    magnitude = singleMagnitude(a, y);
  Fl whole = truncOf(y) == y, half = y * 0.5;
  Fl odd = whole & (f.compare(arith::CmpFPredicate::UNE, truncOf(half), half));
  Fl result = f.select(odd, f.copySign(magnitude, x), magnitude);
  Fl undefined = (x < 0.0) & (x > -f.inf()) & f.compare(arith::CmpFPredicate::UNE, truncOf(y), y);
  result = f.select(undefined, f.nan(), result);
  return f.select((y == 0.0) | (x == 1.0), f.c(1.0), result);
}

Fl lathe::lower::simplePower(Fl x, double exponent) {
  FloatBuilder &f = *x.f;
  if (exponent == 1.0)
    return x;
  if (exponent == 2.0)
    return x * x;
  if (exponent == 3.0)
    return x * x * x;
  if (exponent == -1.0)
    return 1.0 / x;
  if (exponent == 0.5) // of -0 it is 0, of -infinity infinity
    return f.select(x == -f.inf(), f.inf(), f.abs(f.sqrt(x)));
  return {};
}
