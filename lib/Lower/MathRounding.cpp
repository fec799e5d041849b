//===- MathRounding.cpp - Rounding functions and remainders ----------------===//

#include "FloatBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <cmath>

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

/// The halves' products are exact. So are all steps for whole numbers q < 2^48 and results below 2 y.
Fl lathe::lower::minusProduct(Fl x, Fl q, Fl y) {
  FloatBuilder &f = *x.f;
  if (f.options.hasFma)
    return f.of(f.b.create<math::FmaOp>(f.loc, (-q).v, y.v, x.v));
  auto upperHalf = [&](Fl v) { return f.fromBits(f.bits(v) & f.ci(-(int64_t(1) << (f.mantissa / 2 + 1)))); };
  Fl qh = upperHalf(q), ql = q - qh, yh = upperHalf(y), yl = y - yh;
  return (((x - qh * yh) - qh * yl) - ql * yh) - ql * yl;
}

/// Quotients below 2^(mantissa - 4) leave minusProduct its bits.
static int64_t quotientBits(FloatBuilder &f) { return f.mantissa - 4; }

/// Takes multiples y 2^n from x, for numbers with large quotients: x / y gets 2^47 times smaller (f64).
static Fl reduceQuotient(Fl x, Fl y) {
  FloatBuilder &f = *x.f;
  // Quotients may lie beyond the largest number, by the mantissa and twice the exponent's range.
  double step = f.isDouble() ? 0x1p600 : 0x1p70;
  Fl z = y;
  for (int i = 0; i < 3; ++i)
    z = f.select(f.compare(arith::CmpFPredicate::OGE, x / z, f.c(step)), z * step, z);
  Fl exponent = f.of(f.b.create<arith::ShRUIOp>(f.loc, f.bits(x / z).v, f.ci(f.mantissa).v));
  int64_t bias = (int64_t(1) << (f.exponent - 1)) - 1;
  Fl power = f.of(f.b.create<arith::SubIOp>(f.loc, exponent.v, f.ci(bias + quotientBits(f) - 1).v));
  power = f.of(f.b.create<arith::MaxSIOp>(f.loc, power.v, f.ci(0).v));
  z = z * f.pow2(power);
  Fl r = minusProduct(x, truncOf(x / z), z);
  return f.select(r < 0.0, r + z, r);
}

/// Repeats reduceQuotient until no lane has a large quotient.
static Fl withoutLargeQuotients(Fl x, Fl y, double limit) {
  FloatBuilder &f = *x.f;
  auto isLarge = [&](Value v) { return f.compare(arith::CmpFPredicate::OGE, f.of(v) / y, f.c(limit)); };
  auto loop = f.b.create<scf::WhileOp>(
      f.loc, TypeRange{x.v.getType()}, ValueRange{x.v},
      [&](OpBuilder &, Location loc, ValueRange v) { f.b.create<scf::ConditionOp>(loc, f.any(isLarge(v[0])), v); },
      [&](OpBuilder &, Location loc, ValueRange v) {
        Fl reduced = f.select(f.of(isLarge(v[0]).v), reduceQuotient(f.of(v[0]), y), f.of(v[0]));
        f.b.create<scf::YieldOp>(loc, reduced.v);
      });
  return f.of(loop.getResult(0));
}

/// A number with the remainder of x, and its quotient, which is not large: they are x and x / y but where some lane's is.
static std::pair<Fl, Fl> restAndQuotient(Fl x, Fl y) {
  FloatBuilder &f = *x.f;
  double limit = std::ldexp(1.0, static_cast<int>(quotientBits(f)));
  Fl quotient = x / y;
  Value no = f.b.create<arith::ConstantOp>(f.loc, f.b.getBoolAttr(false));
  Value any = f.b.create<LLVM::ExpectOp>(f.loc, f.any(f.compare(arith::CmpFPredicate::OGE, quotient, f.c(limit))), no);
  auto branch = f.b.create<scf::IfOp>(f.loc, TypeRange{x.v.getType(), x.v.getType()}, any, true, true);
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(branch.thenBlock());
  Fl rest = withoutLargeQuotients(x, y, limit);
  f.b.create<scf::YieldOp>(f.loc, ValueRange{rest.v, (rest / y).v});
  f.b.setInsertionPointToStart(branch.elseBlock());
  f.b.create<scf::YieldOp>(f.loc, ValueRange{x.v, quotient.v});
  return {f.of(branch.getResult(0)), f.of(branch.getResult(1))};
}

/// The remainder of truncated division, with the sign of x (C's fmod): exact. The last quotient may be rounded up,
/// which is repaired.
Fl lathe::lower::remOf(Fl x, Fl y) {
  FloatBuilder &f = *x.f;
  Fl ax = f.abs(x), ay = f.abs(y);
  Fl regular = (ax < f.inf()) & (ay < f.inf()) & (ay > 0.0);
  Fl divisor = f.select(regular, ay, f.c(1.0));
  auto [rest, quotient] = restAndQuotient(f.select(regular, ax, f.c(0.0)), divisor);
  Fl r = minusProduct(rest, truncOf(quotient), divisor);
  r = f.select(r < 0.0, r + divisor, r);
  Fl kept = f.select((ay == f.inf()) & (ax < f.inf()), ax, f.nan()); // x rem infinity
  return f.copySign(f.select(regular, r, kept), x);
}
