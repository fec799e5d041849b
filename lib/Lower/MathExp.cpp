//===- MathExp.cpp - Exponentials, logarithms and their relatives ----------===//
//
// Coefficients are minimax fits for the stated intervals. Products followed by sums contract to FMA where there is one;
// every formula is also right without.
//
//===----------------------------------------------------------------------===//

#include "FloatBuilder.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace lathe::lower;

namespace {
constexpr double log2e = 1.4426950408889634;
/// ln 2 in two parts; the product of the first with an exponent is exact.
constexpr double ln2HighF32 = 0x1.62e4p-1, ln2LowF32 = 1.4286068203094172e-06;
constexpr double ln2HighF64 = 0x1.62e42fefap-1, ln2LowF64 = 1.6465949582897082e-12;

/// expm1(r) = r + r^2 P(r) for |r| <= ln(2) / 2; exp(r) is one more.
constexpr double expF32[] = {0.50000000952374046, 0.16666518931184925, 0.041666205394422943, 0.0083688809585796053,
                             0.0013950521477631228};
constexpr double expF64[] = {0.5, 0.16666666666666684, 0.041666666666666724, 0.0083333333333167826,
                             0.0013888888888858732, 0.00019841269896968779, 2.4801587373284937e-5,
                             2.7557234313921487e-6, 2.7557233686957056e-7, 2.5112216265574232e-8,
                             2.0926855393984679e-9};
/// exp(r) = 1 + r + r^2 (c + d r) for |r| <= ln(2) / 32, to 2^-29, and the powers 2^(i / 16).
constexpr double expShort[] = {0.50001619, 0.16666718};
constexpr float sixteenths[] = {0x1.000000p0f, 0x1.0b5586p0f, 0x1.172b84p0f, 0x1.2387a6p0f, 0x1.306fe0p0f, 0x1.3dea64p0f, 0x1.4bfdaep0f, 0x1.5ab07ep0f,
                                     0x1.6a09e6p0f, 0x1.7a1148p0f, 0x1.8ace54p0f, 0x1.9c4918p0f, 0x1.ae89fap0f, 0x1.c199bep0f, 0x1.d5818ep0f, 0x1.ea4afap0f};
/// log(1 + f) = f - f^2 / 2 + f^3 P(f) for sqrt(1/2) <= 1 + f <= sqrt(2).
constexpr double logF32[] = {0.33333316733762344, -0.25000807990638819, 0.20002285663383877, -0.16624626176015995,
                             0.14181231470138826, -0.13128157306293026, 0.1288122311864306, -0.078606132061476289};
/// atanh(s) = s + s^3 P(s^2) for the same range, s = f / (2 + f).
constexpr double atanhF64[] = {0.33333333333333331, 0.20000000000003074, 0.14285714284555368, 0.11111111321837212,
                               0.090908879405041551, 0.076935412173453852, 0.066251434331869124, 0.066249652434052011};
/// erf(x) = x P(x^2) / Q(x^2), where erf differs from 1.
constexpr double erfPF32[] = {1.12837914731, 0.190358575604, 0.0527397718618, 0.00376294203301, 0.00028470831856,
                              2.0488518416e-6};
constexpr double erfPF64[] = {1.1283791670955126, 0.22017886357826158, 0.06612274142342202, 0.006889921917522027,
                              0.0008556948737398782, 5.6948118889753874e-05,
                              3.900669431438328e-06, 1.6949777359713943e-07,
                              6.760410134283464e-09, 1.7199697913901568e-10,
                              3.3364500927446616e-12, 2.2264774802365276e-14,
                              1.570858456924849e-17};
constexpr double erfQF64[] = {1.0, 0.5284617706519759, 0.1347536773848786, 0.02198727352335407, 0.002564856754658949,
                              0.00022610823085751126, 1.5499728407400283e-05,
                              8.350923134776175e-07, 3.5158647310968043e-08,
                              1.1246742195079884e-09, 2.5495887998771492e-11,
                              3.3188368765386267e-13, 8.848882193446493e-16};
constexpr double erfQF32[] = {1.0, 0.502033662431, 0.114086943074, 0.0149638395468, 0.00116168269774, 3.80700773437e-5};
} // namespace

/// x = n ln 2 + r: n as an integer and as a float, and r.
namespace {
struct Reduced {
  Fl n, nf, r;
};
} // namespace

/// x - n ln 2, of which the first product is exact.
static Fl restOf(Fl x, Fl nf) {
  return x.f->isDouble() ? (x - nf * ln2HighF64) - nf * ln2LowF64 : (x - nf * ln2HighF32) - nf * ln2LowF32;
}

static Reduced reduceExp(Fl x) {
  FloatBuilder &f = *x.f;
  auto [nf, n] = f.nearest(x * log2e);
  return {n, nf, restOf(x, nf)};
}

static Fl expPoly(Fl r) { return r.f->isDouble() ? r.f->poly(r, expF64) : r.f->poly(r, expF32); }
static Fl expm1OfRest(Fl r) { return expPoly(r) * (r * r) + r; }
/// With fused multiply-adds 1 + r (1 + r P) takes a step less than expm1 and 1, and rounds less; without, one rounding more is next to the last.
static Fl expOfRest(Fl r) {
  return r.f->options.hasFma ? (expPoly(r) * r + 1.0) * r + 1.0 : expm1OfRest(r) + 1.0;
}

/// exp(r) times a power of two: p + p expm1(r), which takes no more steps than their product, and no constant 1. Sixteen registers hold
/// few constants.
static Fl expOfRestTimes(Fl r, Fl power) {
  if (!r.f->options.hasFma)
    return expOfRest(r) * power;
  Fl less = expPoly(r) * r * r + r;
  return less * power + power;
}

/// Arguments beyond these give infinity and zero.
static Fl clampExp(Fl x) {
  FloatBuilder &f = *x.f;
  return f.isDouble() ? f.maximum(f.minimum(x, f.c(710.0)), f.c(-746.0))
                      : f.maximum(f.minimum(x, f.c(89.0)), f.c(-104.0));
}

/// What is not negated; the sign that takes its place.
static std::pair<Fl, double> withoutSign(Fl x) {
  auto negated = x.v.getDefiningOp<arith::NegFOp>();
  return negated ? std::pair(x.f->of(negated.getOperand()), -1.0) : std::pair(x, 1.0);
}

/// exp(r) 2^n for a short rest and a multiple of a sixteenth, of which `index` has the last four bits: two products less than with whole n,
/// beside which the look-up does not count, since products are what all of it waits for. `sign`: exp(-r) instead.
static Fl expOfShortRest(Fl r, double sign, Fl n, Fl index) {
  Fl power = r.f->lookUp(sixteenths, index);
  Fl less = ((r * (sign * expShort[1]) + expShort[0]) * r + sign) * r;
  return r.f->scaleByFloor(power * less + power, n);
}

/// exp(x) where vectors have look-ups; `brief`: ln 2 is subtracted in one part.
static Fl expByTable(Fl x, bool brief) {
  FloatBuilder &f = *x.f;
  auto [y, sign] = withoutSign(x);
  Fl limited = sign > 0 ? f.maximum(f.minimum(y, f.c(89.0)), f.c(-104.0)) : f.minimum(f.maximum(y, f.c(-89.0)), f.c(104.0));
  auto [n, index] = f.nearestSixteenth(limited * (sign * log2e));
  Fl r = brief ? limited - n * (sign * 0.69314718055994531) : (limited - n * (sign * ln2HighF32)) - n * (sign * ln2LowF32);
  return expOfShortRest(r, sign, n, index);
}

Fl lathe::lower::expOf(Fl x) {
  FloatBuilder &f = *x.f;
  if (f.hasTables())
    return expByTable(x, /*brief=*/false);
  Reduced e = reduceExp(clampExp(x));
  if (f.options.hasScalef)
    return f.scale(expOfRest(e.r), e.n, e.nf);
  auto [first, second] = f.powersOf2(e.n);
  return expOfRestTimes(e.r, first) * second;
}

/// The float whose exponent has these bits, and whose fraction is 0.
static Fl exponentField(Fl biased) {
  FloatBuilder &f = *biased.f;
  return f.fromBits(f.of(f.b.create<arith::ShLIOp>(f.loc, biased.v, f.ci(f.mantissa).v)));
}

Fl lathe::lower::expUpToOne(Fl x) {
  FloatBuilder &f = *x.f;
  if (f.options.hasScalef)
    return expOf(x);
  // The limit's exponent is one less than that of the smallest normal number: as the power's bits, all of them zero.
  Reduced e = reduceExp(f.maximum(x, f.c(f.isDouble() ? -709.0 : -88.0)));
  return expOfRest(e.r) * f.pow2(e.n);
}

Fl lathe::lower::expBesideOne(Fl x) {
  FloatBuilder &f = *x.f;
  if (f.options.hasScalef)
    return f.hasTables() ? expByTable(x, /*brief=*/true) : expOf(x);
  // Half of it is a number where all of it is just beyond the largest one.
  Fl limited = f.maximum(f.minimum(x, f.c(f.isDouble() ? 710.0 : 89.0)), f.c(f.isDouble() ? -708.0 : -87.0));
  auto [nf, n] = f.nearest(limited * log2e, f.exponentBias() - 1);
  // Where the product is not rounded, ln 2 as the nearest f32 is off by n 1.9e-9: less than a unit of results above 1e-9, 4 units of the smallest ones.
  Fl r = !f.isDouble() && f.options.hasFma ? limited - nf * 0.69314718055994531 : restOf(limited, nf);
  return expOfRest(r) * exponentField(n) * 2.0;
}

Fl lathe::lower::expOfSum(Fl x, Fl low) {
  FloatBuilder &f = *x.f;
  auto [nf, n] = f.nearest(clampExp(x) * log2e);
  Fl r = (clampExp(x) - nf * ln2HighF64) - nf * ln2LowF64;
  return f.scale(expOfRest(r + low), n, nf);
}

Fl lathe::lower::exp2Of(Fl x) {
  FloatBuilder &f = *x.f;
  Fl clamped = f.isDouble() ? f.maximum(f.minimum(x, f.c(1025.0)), f.c(-1080.0))
                            : f.maximum(f.minimum(x, f.c(129.0)), f.c(-152.0));
  if (f.hasTables()) {
    auto [sixteenth, index] = f.nearestSixteenth(clamped);
    return expOfShortRest((clamped - sixteenth) * 0.69314718055994531, 1.0, sixteenth, index);
  }
  auto [nf, n] = f.nearest(clamped);
  return f.scale(expOfRest((clamped - nf) * 0.69314718055994531), n, nf);
}

/// 2^n expm1(r) + (2^n - 1), without cancellation; n is limited so that 2^n is a normal number.
static Fl expm1Limited(Fl x) {
  Reduced e = reduceExp(x);
  Fl two = x.f->pow2(e.n);
  return two * expm1OfRest(e.r) + (two - 1.0);
}

Fl lathe::lower::expm1Of(Fl x) {
  FloatBuilder &f = *x.f;
  double limit = f.isDouble() ? 40.0 : 18.0;
  Fl small = expm1Limited(f.maximum(f.minimum(x, f.c(limit)), f.c(-limit)));
  Fl result = f.select(x > limit, expOf(x), small);
  return f.select(x == 0.0, x, result); // keeps -0
}

std::pair<Fl, Fl> lathe::lower::splitExponent(Fl x) {
  FloatBuilder &f = *x.f;
  Fl tiny = x < (f.isDouble() ? 0x1p-1022 : 0x1p-126);
  Fl normal = f.select(tiny, x * (f.isDouble() ? 0x1p54 : 0x1p25), x);
  Fl bias = f.select(tiny, f.c(f.isDouble() ? 54 : 25), f.c(0));
  // Shifted by the bits of sqrt(1/2), the exponent field says k.
  Fl offset = f.bits(f.c(0.70710678118654752));
  Fl shifted = f.of(f.b.create<arith::SubIOp>(f.loc, f.bits(normal).v, offset.v));
  Fl k = f.of(f.b.create<arith::ShRSIOp>(f.loc, shifted.v, f.ci(f.mantissa).v));
  Fl low = shifted & f.ci((int64_t(1) << f.mantissa) - 1);
  Fl m = f.fromBits(f.of(f.b.create<arith::AddIOp>(f.loc, low.v, offset.v)));
  // k as a float without a conversion, which not all vector units have: into the low bits of a large number.
  double magic = f.isDouble() ? 0x1.8p52 : 0x1.8p23;
  Fl kf = f.fromBits(f.of(f.b.create<arith::AddIOp>(f.loc, f.bits(f.c(magic)).v, k.v))) - magic;
  return {m - 1.0, kf - bias};
}

Fl lathe::lower::logEdges(Fl x, Fl result) {
  FloatBuilder &f = *x.f;
  result = f.select(x < f.inf(), result, x); // infinity and NaN
  result = f.select(x == 0.0, -f.inf(), result);
  return f.select(x < 0.0, f.nan(), result);
}

Fl lathe::lower::logOf(Fl x) {
  FloatBuilder &f = *x.f;
  auto [m, k] = splitExponent(x);
  Fl result;
  if (f.isDouble()) {
    Fl s = m / (m + 2.0), z = s * s, half = m * m * 0.5;
    Fl rest = s * (half + z * 2.0 * f.poly(z, atanhF64)); // log(1 + m) = m - (half - rest)
    result = k * ln2HighF64 - ((half - (rest + k * ln2LowF64)) - m);
  } else {
    Fl z = m * m;
    Fl y = f.poly(m, logF32) * m * z + k * ln2LowF32;
    result = (m + (y - z * 0.5)) + k * ln2HighF32;
  }
  return logEdges(x, result);
}

Fl lathe::lower::log1pOf(Fl x) {
  FloatBuilder &f = *x.f;
  Fl u = x + 1.0;
  Fl lost = x - (u - 1.0); // what the sum rounded away
  Fl fits = (u > 0.0) & (u < f.inf());
  Fl corrected = logOf(u) + f.select(fits, lost / u, f.c(0.0));
  return f.select(x == 0.0, x, corrected);
}

Fl lathe::lower::tanhOf(Fl x) {
  FloatBuilder &f = *x.f;
  if (!f.isDouble())
    return tanhSingle(x);
  Fl e = expm1Limited(f.maximum(f.minimum(x, f.c(20.0)), f.c(-20.0)) * 2.0);
  return f.withSignOf(e / (e + 2.0), x);
}

/// exp(x) / 2, which overflows later than exp(x).
static Fl halfExp(Fl x) {
  FloatBuilder &f = *x.f;
  Reduced e = reduceExp(f.minimum(x, f.c(f.isDouble() ? 711.0 : 90.0)));
  Fl n = f.of(f.b.create<arith::SubIOp>(f.loc, e.n.v, f.ci(1).v));
  return f.scale(expOfRest(e.r), n, e.nf - 1.0);
}

Fl lathe::lower::sinhOf(Fl x) {
  FloatBuilder &f = *x.f;
  Fl magnitude = f.abs(x), half = halfExp(magnitude);
  Fl e = expm1Limited(f.minimum(magnitude, f.c(1.0))); // no cancellation
  Fl small = (e + e / (e + 1.0)) * 0.5;
  return f.copySign(f.select(magnitude < 1.0, small, half - 0.25 / half), x);
}

Fl lathe::lower::coshOf(Fl x) {
  Fl half = halfExp(x.f->abs(x));
  return half + 0.25 / half;
}

Fl lathe::lower::asinhOf(Fl x) {
  FloatBuilder &f = *x.f;
  Fl a = f.abs(x), square = a * a;
  Fl moderate = log1pOf(a + square / (f.sqrt(square + 1.0) + 1.0));
  Fl large = logOf(a) + 0.69314718055994531;
  return f.copySign(f.select(a < 1e9, moderate, large), x);
}

Fl lathe::lower::acoshOf(Fl x) {
  FloatBuilder &f = *x.f;
  Fl t = x - 1.0;
  Fl moderate = log1pOf(t + f.sqrt(t * 2.0 + t * t));
  Fl result = f.select(x < 1e9, moderate, logOf(x) + 0.69314718055994531);
  return f.select(x < 1.0, f.nan(), result);
}

Fl lathe::lower::atanhOf(Fl x) {
  FloatBuilder &f = *x.f;
  Fl a = f.abs(x);
  return f.copySign(log1pOf(a * 2.0 / (1.0 - a)) * 0.5, x);
}

Fl lathe::lower::erfOf(Fl x) {
  FloatBuilder &f = *x.f;
  Fl a = f.minimum(f.abs(x), f.c(f.isDouble() ? 5.93 : 3.92)), z = a * a;
  Fl quotient = f.isDouble() ? a * f.poly(z, erfPF64) / f.poly(z, erfQF64) : a * f.poly(z, erfPF32) / f.poly(z, erfQF32);
  return f.copySign(f.minimum(quotient, f.c(1.0)), x);
}
