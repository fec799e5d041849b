//===- MathRounding.cpp - Rounding functions and remainders ----------------===//

#include "FloatBuilder.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace lathe::lower;

/// Rounding by a large number, for |x| below it; larger numbers are integers. The sign of zero is kept.
static Fl roundByMagic(Fl x) {
  FloatBuilder &f = *x.f;
  Fl limit = f.c(f.isDouble() ? 0x1p52 : 0x1p23), magnitude = f.abs(x);
  Fl rounded = (magnitude + limit) - limit;
  return f.copySign(f.select(magnitude < limit, rounded, magnitude), x);
}

Fl lathe::lower::roundEvenOf(Fl x) {
  FloatBuilder &f = *x.f;
  return f.options.hasRounding ? f.of(f.b.create<math::RoundEvenOp>(f.loc, x.v)) : roundByMagic(x);
}

Fl lathe::lower::floorOf(Fl x) {
  FloatBuilder &f = *x.f;
  if (f.options.hasRounding)
    return f.of(f.b.create<math::FloorOp>(f.loc, x.v));
  Fl r = roundByMagic(x);
  return f.copySign(f.select(r > x, r - 1.0, r), x);
}

Fl lathe::lower::ceilOf(Fl x) { return -floorOf(-x); }

Fl lathe::lower::truncOf(Fl x) {
  FloatBuilder &f = *x.f;
  if (f.options.hasRounding)
    return f.of(f.b.create<math::TruncOp>(f.loc, x.v));
  return f.copySign(floorOf(f.abs(x)), x);
}

/// Halves away from zero.
Fl lathe::lower::roundOf(Fl x) {
  FloatBuilder &f = *x.f;
  Fl magnitude = f.abs(x), whole = truncOf(magnitude);
  Fl up = f.compare(arith::CmpFPredicate::OGE, magnitude - whole, f.c(0.5));
  return f.copySign(f.select(up, whole + 1.0, whole), x);
}

/// What rounding took from the product p = x y, by splitting both factors in halves.
static Fl productError(Fl x, Fl y, Fl p) {
  FloatBuilder &f = *x.f;
  double splitter = f.isDouble() ? 0x1p27 + 1 : 0x1p12 + 1;
  auto high = [&](Fl v) {
    Fl t = v * splitter;
    return t - (t - v);
  };
  Fl xh = high(x), yh = high(y), xl = x - xh, yl = y - yh;
  return ((xh * yh - p) + xh * yl + xl * yh) + xl * yl;
}

/// x - q y with one rounding.
static Fl minusProduct(Fl x, Fl q, Fl y) {
  FloatBuilder &f = *x.f;
  if (f.options.hasFma)
    return f.of(f.b.create<math::FmaOp>(f.loc, (-q).v, y.v, x.v));
  Fl p = q * y;
  return (x - p) - productError(q, y, p);
}

/// The remainder of truncated division, with the sign of x (C's fmod). It is exact up to
/// quotients of 2^53; a quotient that was rounded up is repaired.
Fl lathe::lower::remOf(Fl x, Fl y) {
  FloatBuilder &f = *x.f;
  Fl ax = f.abs(x), ay = f.abs(y);
  Fl r = minusProduct(ax, truncOf(ax / ay), ay);
  r = f.select(r < 0.0, r + ay, r);
  r = f.select(f.compare(arith::CmpFPredicate::OGE, r, ay), r - ay, r);
  r = f.select((ay == f.inf()) & (ax < f.inf()), ax, r);
  return f.copySign(r, x);
}
