//===- FloatBuilder.cpp - Arithmetic on floats and their bits --------------===//

#include "FloatBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe::lower;
using arith::CmpFPredicate;

FloatBuilder::FloatBuilder(OpBuilder &b, Location loc, Type type, const ExpandMathOptions &options)
    : b(b), loc(loc), options(options), element(getElementTypeOrSelf(type)) {
  if (auto v = dyn_cast<VectorType>(type))
    shape.assign(v.getShape().begin(), v.getShape().end());
  mantissa = isDouble() ? 52 : 23;
  exponent = isDouble() ? 11 : 8;
}

Type FloatBuilder::shaped(Type e) const { return shape.empty() ? e : VectorType::get(shape, e); }

static Value constant(FloatBuilder &f, TypedAttr a) {
  if (!f.shape.empty())
    a = DenseElementsAttr::get(cast<ShapedType>(f.shaped(a.getType())), Attribute(a));
  return f.b.create<arith::ConstantOp>(f.loc, a);
}

Fl FloatBuilder::c(double v) { return of(constant(*this, b.getFloatAttr(element, v))); }
Fl FloatBuilder::ci(int64_t v) {
  return of(constant(*this, b.getIntegerAttr(b.getIntegerType(isDouble() ? 64 : 32), v)));
}
Fl FloatBuilder::bits(Fl x) {
  return of(b.create<arith::BitcastOp>(loc, shaped(b.getIntegerType(isDouble() ? 64 : 32)), x.v));
}
Fl FloatBuilder::fromBits(Fl x) { return of(b.create<arith::BitcastOp>(loc, floatType(), x.v)); }
Fl FloatBuilder::compare(CmpFPredicate p, Fl x, Fl y) { return of(b.create<arith::CmpFOp>(loc, p, x.v, y.v)); }
Fl FloatBuilder::select(Fl c, Fl x, Fl y) { return of(b.create<arith::SelectOp>(loc, c.v, x.v, y.v)); }
Fl FloatBuilder::abs(Fl x) { return of(b.create<math::AbsFOp>(loc, x.v)); }
Fl FloatBuilder::sqrt(Fl x) { return of(b.create<math::SqrtOp>(loc, x.v)); }
Fl FloatBuilder::copySign(Fl m, Fl s) { return of(b.create<math::CopySignOp>(loc, m.v, s.v)); }
Fl FloatBuilder::withSignOf(Fl x, Fl s) {
  int64_t signBit = isDouble() ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min();
  return fromBits(bits(x) | (bits(s) & ci(signBit)));
}
Fl FloatBuilder::isNan(Fl x) { return compare(CmpFPredicate::UNO, x, x); }
Value FloatBuilder::any(Fl truth) {
  return shape.empty() ? truth.v : b.create<vector::ReductionOp>(loc, vector::CombiningKind::OR, truth.v).getResult();
}
Fl FloatBuilder::minimum(Fl x, Fl y) { return select(compare(CmpFPredicate::OGT, x, y), y, x); }
Fl FloatBuilder::maximum(Fl x, Fl y) { return select(compare(CmpFPredicate::OLT, x, y), y, x); }

Fl FloatBuilder::poly(Fl x, ArrayRef<double> coefficients) {
  Fl sum = c(coefficients.back());
  for (double k : llvm::reverse(coefficients.drop_back()))
    sum = sum * x + c(k);
  return sum;
}

Fl FloatBuilder::balanced(Fl x, ArrayRef<double> coefficients) {
  SmallVector<Fl> parts;
  for (size_t i = 0; i < coefficients.size(); i += 2)
    parts.push_back(i + 1 < coefficients.size() ? x * coefficients[i + 1] + coefficients[i] : c(coefficients[i]));
  for (Fl power = x * x; parts.size() > 1; power = power * power) {
    SmallVector<Fl> joined;
    for (size_t i = 0; i < parts.size(); i += 2)
      joined.push_back(i + 1 < parts.size() ? parts[i + 1] * power + parts[i] : parts[i]);
    parts = joined;
  }
  return parts[0];
}

Fl FloatBuilder::widened(Fl x) { return of(b.create<arith::ExtFOp>(loc, floatType(), x.v)); }
Fl FloatBuilder::narrowed(Fl x) { return of(b.create<arith::TruncFOp>(loc, floatType(), x.v)); }

Fl lathe::lower::throughDouble(Fl x, Fl (*function)(Fl)) {
  FloatBuilder &f = *x.f;
  FloatBuilder wide(f.b, f.loc, f.shaped(f.b.getF64Type()), f.options);
  return f.narrowed(function(wide.widened(x)));
}

/// Adding 1.5 * 2^mantissa pushes the fraction out; what is left in the low bits is the integer.
std::pair<Fl, Fl> FloatBuilder::nearest(Fl x, int64_t bias) {
  double magic = (isDouble() ? 0x1.8p52 : 0x1.8p23) + static_cast<double>(bias);
  Fl shifted = x + magic;
  return {shifted - magic, bits(shifted)};
}

Fl FloatBuilder::pow2(Fl n) {
  Fl biased = of(b.create<arith::AddIOp>(loc, n.v, ci(exponentBias()).v));
  return fromBits(of(b.create<arith::ShLIOp>(loc, biased.v, ci(mantissa).v)));
}

std::pair<Fl, Fl> FloatBuilder::nearestSixteenth(Fl x) {
  constexpr double magic = 0x1.8p19;
  Fl shifted = x + magic;
  return {shifted - magic, bits(shifted)};
}

Fl FloatBuilder::lookUp(ArrayRef<float> table, Fl index) {
  Value entries = b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(cast<ShapedType>(floatType()), table));
  StringAttr name = b.getStringAttr("llvm.x86.avx512.permvar.sf.512");
  return of(b.create<LLVM::CallIntrinsicOp>(loc, floatType(), name, ValueRange{entries, index.v}).getResult(0));
}

Fl FloatBuilder::scaleByFloor(Fl x, Fl n) {
  Value all = b.create<arith::ConstantOp>(loc, b.getI16IntegerAttr(-1));
  Value current = b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(4)); // the rounding mode in force
  StringAttr name = b.getStringAttr("llvm.x86.avx512.mask.scalef.ps.512");
  return of(b.create<LLVM::CallIntrinsicOp>(loc, floatType(), name, ValueRange{x.v, n.v, x.v, all, current}).getResult(0));
}

Fl FloatBuilder::scale(Fl x, Fl n, Fl nf) {
  if (hasTables())
    return scaleByFloor(x, nf);
  auto [first, second] = powersOf2(n);
  return x * first * second;
}

std::pair<Fl, Fl> FloatBuilder::powersOf2(Fl n) {
  // Only the bits that land in the exponent matter, so the shift to the right needs no sign (which AVX2 has not for 64 bits).
  Fl one = bits(c(1.0));
  auto inExponent = [&](Value v) -> Value { return b.create<arith::ShLIOp>(loc, v, ci(mantissa).v); };
  auto power = [&](Value v) { return fromBits(of(b.create<arith::AddIOp>(loc, v, one.v))); };
  Value half = inExponent(b.create<arith::ShRUIOp>(loc, n.v, ci(1).v));
  Value rest = b.create<arith::SubIOp>(loc, inExponent(n.v), half);
  return {power(half), power(rest)};
}

Fl lathe::lower::operator+(Fl x, Fl y) { return x.f->of(x.f->b.create<arith::AddFOp>(x.f->loc, x.v, y.v)); }
Fl lathe::lower::operator-(Fl x, Fl y) { return x.f->of(x.f->b.create<arith::SubFOp>(x.f->loc, x.v, y.v)); }
Fl lathe::lower::operator*(Fl x, Fl y) { return x.f->of(x.f->b.create<arith::MulFOp>(x.f->loc, x.v, y.v)); }
Fl lathe::lower::operator/(Fl x, Fl y) { return x.f->of(x.f->b.create<arith::DivFOp>(x.f->loc, x.v, y.v)); }
Fl lathe::lower::operator-(Fl x) { return x.f->of(x.f->b.create<arith::NegFOp>(x.f->loc, x.v)); }
Fl lathe::lower::operator<(Fl x, Fl y) { return x.f->compare(CmpFPredicate::OLT, x, y); }
Fl lathe::lower::operator>(Fl x, Fl y) { return x.f->compare(CmpFPredicate::OGT, x, y); }
Fl lathe::lower::operator>=(Fl x, Fl y) { return x.f->compare(CmpFPredicate::OGE, x, y); }
Fl lathe::lower::operator==(Fl x, Fl y) { return x.f->compare(CmpFPredicate::OEQ, x, y); }
Fl lathe::lower::operator&(Fl x, Fl y) { return x.f->of(x.f->b.create<arith::AndIOp>(x.f->loc, x.v, y.v)); }
Fl lathe::lower::operator|(Fl x, Fl y) { return x.f->of(x.f->b.create<arith::OrIOp>(x.f->loc, x.v, y.v)); }
Fl lathe::lower::operator^(Fl x, Fl y) { return x.f->of(x.f->b.create<arith::XOrIOp>(x.f->loc, x.v, y.v)); }
