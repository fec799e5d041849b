//===- MathSingle.cpp - Functions of f32 in f32 ------------------------------===//
//
// Those that f64 serves in another way. Coefficients are minimax fits for the stated intervals, rounded to f32 one after the other.
//
//===----------------------------------------------------------------------===//

#include "FloatBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace lathe::lower;

namespace {
/// pi / 2 and pi as the nearest f32, and what that leaves.
constexpr double halfPi = 0x1.921fb6p+0, halfPiRest = -0x1.777a5cp-25, pi = 0x1.921fb6p+1, piRest = -0x1.777a5cp-24;
/// atan(u) = u + u^3 P(u^2) for |u| <= 1, to 2^-28.5.
constexpr double atanP[] = {-0.33333298563957214, 0.1999853104352951,   -0.14264051616191864,  0.10951175540685654,  -0.08400480449199677,
                            0.05790668725967407,  -0.031127188354730606, 0.010887479409575462, -0.0017875764751806855};
/// asin(t) = t + t^3 P(t^2) for |t| <= 1/2, to 2^-27.6.
constexpr double asinP[] = {0.16666752099990845, 0.0749531015753746, 0.045469019562006, 0.024185502901673317, 0.04215701296925545};
/// tanh(x) = x P(x^2) / Q(x^2) for |x| <= 9.02, to 2^-29; beyond, the nearest f32 is 1.
constexpr double tanhLimit = 9.02;
constexpr double tanhP[] = {1.0, 0.13679914013207095, 0.0038683264428812365, 2.8007433814912366e-05, 3.058496672277798e-08, -1.2203428457306269e-11};
constexpr double tanhQ[] = {1.0, 0.4701324607414679, 0.027245833983584624, 0.0003938628862315862, 1.2873649102617007e-06};
/// log2(1 + m) = m log2(e) + m^2 P(m) for sqrt(1/2) <= 1 + m <= sqrt(2), to 2^-27.7.
constexpr double log2P[] = {-0.7213473320007324, 0.4808981716632843,   -0.3606984317302704, 0.2885737717151642,  -0.2395811825990677,
                            0.20444843173027039, -0.19119136035442352, 0.18721748888492584, -0.11096376925706863};
constexpr double log2eLess1 = 0.4426950408889634;
/// sin(r) = r + r^3 S(r^2) to 2^-27, cos(r) = 1 + r^2 C(r^2) to 2^-24, for |r| <= pi / 4.
constexpr double sinP[] = {-0.16666653752326965, 0.008332104422152042, -0.00019507447723299265};
constexpr double cosP[] = {-0.4999987483024597, 0.041655175387859344, -0.0013583889231085777};
/// Below it, quotients with pi / 2 have 16 bits: the first product is subtracted exactly, since numbers of half types have few digits.
constexpr double largeHalf = 65536.0;
} // namespace

Fl lathe::lower::tanhSingle(Fl x) {
  FloatBuilder &f = *x.f;
  Fl inside = f.maximum(f.minimum(x, f.c(tanhLimit)), f.c(-tanhLimit)), z = inside * inside;
  Fl quotient = inside * f.poly(z, tanhP) / f.poly(z, tanhQ);
  return f.maximum(f.minimum(quotient, f.c(1.0)), f.c(-1.0));
}

Fl lathe::lower::log2Single(Fl x) {
  FloatBuilder &f = *x.f;
  auto [m, k] = splitExponent(x);
  return logEdges(x, (m + (m * m * f.poly(m, log2P) + m * log2eLess1)) + k);
}

/// Of 0 <= u <= 1.
static Fl atanPart(Fl u) {
  Fl z = u * u;
  return u + u * z * u.f->poly(z, atanP);
}

Fl lathe::lower::atanSingle(Fl x) {
  FloatBuilder &f = *x.f;
  Fl a = f.abs(x), large = a > 1.0;
  Fl v = atanPart(f.select(large, 1.0 / a, a));
  return f.copySign(f.select(large, halfPi - (v - halfPiRest), v), x);
}

/// The angle of (x, y): the smaller coordinate over the larger one, then by octants.
Fl lathe::lower::atan2Single(Fl y, Fl x) {
  FloatBuilder &f = *x.f;
  Fl ax = f.abs(x), ay = f.abs(y), steep = ay > ax;
  Fl small = f.select(steep, ax, ay), large = f.select(steep, ay, ax), one = f.c(1.0);
  // Two zeros have the angle 0, two infinities that of 1. A NaN stays: one in x is `large`, one in y is `small`.
  Fl equal = (ax == ay) & (large > 0.0);
  Fl v = atanPart(f.select(equal, one, small / f.select(large == 0.0, one, large)));
  v = f.select(steep, halfPi - (v - halfPiRest), v);
  Fl left = f.copySign(one, x) < 0.0;
  return f.copySign(f.select(left, pi - (v - piRest), v), y);
}

namespace {
/// asin |x| = t + rest, or where |x| > 1/2 the half of acos |x|, with t = sqrt((1 - |x|) / 2). NaN outside [-1, 1].
struct ShortArc {
  Fl t, rest, isHalf;
};
} // namespace

static ShortArc shortArcOf(Fl x) {
  FloatBuilder &f = *x.f;
  Fl a = f.abs(x), large = a > 0.5, half = (1.0 - a) * 0.5;
  Fl z = f.select(large, half, a * a), t = f.select(large, f.sqrt(half), a);
  return {t, t * z * f.poly(z, asinP), large};
}

Fl lathe::lower::asinSingle(Fl x) {
  FloatBuilder &f = *x.f;
  ShortArc arc = shortArcOf(x);
  Fl steep = (0.75 - arc.t * 2.0) + (0.8207963267948966 - arc.rest * 2.0); // of two parts of pi / 2, from which the first difference is exact
  return f.copySign(f.select(arc.isHalf, steep, arc.t + arc.rest), x);
}

Fl lathe::lower::acosSingle(Fl x) {
  FloatBuilder &f = *x.f;
  ShortArc arc = shortArcOf(x);
  Fl angle = arc.t + arc.rest, whole = angle * 2.0;
  Fl beyond = f.select(x < 0.0, pi - (whole - piRest), whole);
  return f.select(arc.isHalf, beyond, halfPi - (f.copySign(angle, x) - halfPiRest));
}

static Quadrant quadrantOfHalf(Fl x) {
  FloatBuilder &f = *x.f;
  auto [qf, q] = f.nearest(x * 0.63661977236758134);
  Fl r = minusProduct(minusProduct(x, qf, f.c(halfPi)), qf, f.c(halfPiRest)), z = r * r;
  return {r + r * z * f.poly(z, sinP), z * f.poly(z, cosP) + 1.0, q};
}

/// The sine of `quarters` more quarters of a turn.
static Fl sineAfter(Fl x, int64_t quarters) {
  FloatBuilder &f = *x.f;
  Quadrant k = quadrantOfHalf(x);
  Fl q = f.of(f.b.create<arith::AddIOp>(f.loc, k.q.v, f.ci(quarters).v));
  Value sign = f.b.create<arith::ShLIOp>(f.loc, (q & f.ci(2)).v, f.ci(30).v);
  return f.fromBits(f.bits(f.select(bitSet(q, 1), k.cosine, k.sine)) ^ f.of(sign));
}

/// Angles that are larger, of which f16 has infinity alone, go the way of f32.
static Fl ofHalf(Fl x, int64_t quarters, Fl (*general)(Fl)) {
  FloatBuilder &f = *x.f;
  Value large = f.any(f.compare(arith::CmpFPredicate::UGE, f.abs(x), f.c(largeHalf))), no = f.b.create<arith::ConstantOp>(f.loc, f.b.getBoolAttr(false));
  large = f.b.create<LLVM::ExpectOp>(f.loc, large, no);
  auto branch = f.b.create<scf::IfOp>(f.loc, TypeRange{x.v.getType()}, large, true, true);
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(branch.thenBlock());
  f.b.create<scf::YieldOp>(f.loc, throughDouble(x, general).v);
  f.b.setInsertionPointToStart(branch.elseBlock());
  f.b.create<scf::YieldOp>(f.loc, sineAfter(x, quarters).v);
  return f.of(branch.getResult(0));
}

Fl lathe::lower::sinOfHalf(Fl x) { return ofHalf(x, 0, sinOf); }
Fl lathe::lower::cosOfHalf(Fl x) { return ofHalf(x, 1, cosOf); }
