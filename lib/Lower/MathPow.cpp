//===- MathPow.cpp - Powers --------------------------------------------------===//
//
// exp(y log |x|). An error of the logarithm is multiplied by up to 745 = log(2^1074): for a result in f64, the
// logarithm has some ten digits more than f64.
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

/// With the special cases of C's pow. Meant for f64; f32 is computed through it.
Fl lathe::lower::powOf(Fl x, Fl y) {
  FloatBuilder &f = *x.f;
  Fl a = f.abs(x), magnitude = f.widened ? expOf(y * logOf(a)) : preciseMagnitude(a, y);
  magnitude = f.select((a == 1.0) & (f.abs(y) == f.inf()), f.c(1.0), magnitude);
  Fl whole = truncOf(y) == y, half = y * 0.5;
  Fl odd = whole & (f.compare(arith::CmpFPredicate::UNE, truncOf(half), half));
  Fl negative = f.copySign(f.c(1.0), x) < 0.0;
  Fl result = f.select(odd & negative, -magnitude, magnitude);
  Fl undefined = (x < 0.0) & (x > -f.inf()) & f.compare(arith::CmpFPredicate::UNE, truncOf(y), y);
  result = f.select(undefined, f.nan(), result);
  return f.select((y == 0.0) | (x == 1.0), f.c(1.0), result);
}
