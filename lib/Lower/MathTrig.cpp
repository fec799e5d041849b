//===- MathTrig.cpp - Trigonometric functions ------------------------------===//
//
// In f64, through which the sines of f32 are computed. Arcs of f32 are in MathSingle.cpp.
//
//===----------------------------------------------------------------------===//

#include "FloatBuilder.h"

using namespace mlir;
using namespace lathe::lower;

namespace {
constexpr double halfPi = 1.5707963267948966, quarterPi = 0.78539816339744831, pi = 3.1415926535897932;
/// pi / 2 in three parts of 33 bits: products with quotients up to 2^20 are exact, which angles below the limit have.
constexpr double halfPi1 = 0x1.921fb544p+0, halfPi2 = 0x1.0b4611a6p-34, halfPi3 = 0x1.3198a2e037073p-69;
constexpr double largeAngle = 0x1.9p20;
/// sin(r) = r + r^3 S(r^2), cos(r) = 1 - r^2 / 2 + r^4 C(r^2) for |r| <= pi / 4.
constexpr double sinF64[] = {-0.16666666666666667, 0.0083333333333333229, -0.0001984126984125523, 2.7557319214266057e-6,
                             -2.5052104929798642e-8, 1.6058368812154559e-10, -7.5788011863883084e-13};
constexpr double cosF64[] = {0.041666666666666602, -0.0013888888888874563, 2.4801587289720649e-5,
                             -2.7557314413674937e-7, 2.0875730826748574e-9, -1.1360006709370119e-11};
/// atan(u) = u + u^3 P(u^2) for |u| <= sqrt(2) - 1.
constexpr double atanF64[] = {-0.33333333333333328, 0.19999999999997776, -0.14285714285399181, 0.11111111088785269,
                              -0.090909081642214335, 0.076922831669883222, -0.066662323694907281, 0.058770735254814801,
                              -0.052187205653927916, 0.045047787478383573, -0.033501978757722152, 0.015222158722084753};
} // namespace

static Quadrant reduce(Fl x) {
  FloatBuilder &f = *x.f;
  auto [qf, nearby] = f.nearest(x * 0.63661977236758134);
  auto [r, q] = largeAngles(x, largeAngle, ((x - qf * halfPi1) - qf * halfPi2) - qf * halfPi3, nearby);
  Fl z = r * r;
  Fl sine = r + r * z * f.poly(z, sinF64);
  Fl cosine = (z * z * f.poly(z, cosF64) - z * 0.5) + 1.0;
  return {sine, cosine, q};
}

Fl lathe::lower::bitSet(Fl q, int64_t bit) {
  FloatBuilder &f = *q.f;
  return f.of(f.b.create<arith::CmpIOp>(f.loc, arith::CmpIPredicate::ne, (q & f.ci(bit)).v, f.ci(0).v));
}

Fl lathe::lower::sinOf(Fl x) {
  FloatBuilder &f = *x.f;
  Quadrant k = reduce(x);
  Fl v = f.select(bitSet(k.q, 1), k.cosine, k.sine);
  return f.select(x == 0.0, x, f.select(bitSet(k.q, 2), -v, v));
}

Fl lathe::lower::cosOf(Fl x) {
  FloatBuilder &f = *x.f;
  Quadrant k = reduce(x);
  Fl v = f.select(bitSet(k.q, 1), k.sine, k.cosine);
  Fl shifted = f.of(f.b.create<arith::AddIOp>(f.loc, k.q.v, f.ci(1).v)); // negative in quadrants 1 and 2
  return f.select(bitSet(shifted, 2), -v, v);
}

Fl lathe::lower::tanOf(Fl x) {
  FloatBuilder &f = *x.f;
  Quadrant k = reduce(x);
  Fl odd = bitSet(k.q, 1);
  Fl v = f.select(odd, -k.cosine, k.sine) / f.select(odd, k.sine, k.cosine);
  return f.select(x == 0.0, x, v);
}

/// The angle whose tangent is y / x, for 0 <= y <= x (or NaN), x > 0, and their sum a number.
static Fl atanUnit(Fl y, Fl x) {
  FloatBuilder &f = *x.f;
  Fl upper = y > x * 0.41421356237309505;
  Fl over = f.select(upper, y - x, y), under = f.select(upper, y + x, x);
  Fl u = over / under, z = u * u;
  return (u + u * z * f.poly(z, atanF64)) + f.select(upper, f.c(quarterPi), f.c(0.0));
}

Fl lathe::lower::atanOf(Fl x) {
  FloatBuilder &f = *x.f;
  if (!f.isDouble())
    return atanSingle(x);
  Fl a = f.abs(x), large = a > 1.0, one = f.c(1.0);
  Fl v = atanUnit(f.select(large, one, a), f.select(large, a, one));
  return f.copySign(f.select(large, halfPi - v, v), x);
}

/// The angle of (x, y): the smaller coordinate over the larger one, then by octants.
Fl lathe::lower::atan2Of(Fl y, Fl x) {
  FloatBuilder &f = *x.f;
  if (!f.isDouble())
    return atan2Single(y, x);
  Fl ax = f.abs(x), ay = f.abs(y), steep = ay > ax;
  Fl small = f.select(steep, ax, ay), large = f.select(steep, ay, ax);
  Fl equal = small == large, one = f.c(1.0); // both infinite, too
  // In f64 the sum of two numbers may be none.
  Fl part = f.select(equal, one, small / large);
  part = f.select((large == 0.0) | ((large == f.inf()) & (small < large)), f.c(0.0), part);
  part = f.select(f.isNan(x) | f.isNan(y), f.nan(), part);
  Fl v = atanUnit(part, one);
  v = f.select(steep, halfPi - v, v);
  Fl left = f.copySign(f.c(1.0), x) < 0.0;
  return f.copySign(f.select(left, pi - v, v), y);
}

namespace {
/// The smaller one of |asin x| and its complement, and whether that is the complement. NaN outside [-1, 1].
struct Arc {
  Fl angle, isComplement;
};
} // namespace

static Arc arcOf(Fl x) {
  FloatBuilder &f = *x.f;
  Fl sine = f.abs(x), cosine = f.sqrt((1.0 - x) * (x + 1.0)), steep = sine > cosine;
  Fl tangent = f.select(steep, cosine, sine) / f.select(steep, sine, cosine);
  return {atanUnit(tangent, f.c(1.0)), steep};
}

Fl lathe::lower::asinOf(Fl x) {
  FloatBuilder &f = *x.f;
  if (!f.isDouble())
    return asinSingle(x);
  Arc arc = arcOf(x);
  return f.copySign(f.select(arc.isComplement, halfPi - arc.angle, arc.angle), x);
}

Fl lathe::lower::acosOf(Fl x) {
  FloatBuilder &f = *x.f;
  if (!f.isDouble())
    return acosSingle(x);
  Arc arc = arcOf(x);
  Fl obtuse = f.select(x < 0.0, pi - arc.angle, arc.angle);
  return f.select(arc.isComplement, obtuse, halfPi - f.copySign(arc.angle, x));
}
