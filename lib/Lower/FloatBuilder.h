//===- FloatBuilder.h - Arithmetic on floats and their bits ----------------===//
//
// Builds arithmetic on values of one type: f32 or f64, scalar or vector. `Fl` is a value with operators, so that formulas
// look like formulas.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LOWER_FLOATBUILDER_H
#define LATHE_LOWER_FLOATBUILDER_H

#include "lathe/Lower/ExpandMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include <limits>

namespace lathe::lower {

class FloatBuilder;

/// A float or integer value, or a truth value, of the builder's shape.
struct Fl {
  FloatBuilder *f = nullptr;
  mlir::Value v;
};

class FloatBuilder {
public:
  FloatBuilder(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, const ExpandMathOptions &options);
  Fl of(mlir::Value v) { return {this, v}; }
  bool isDouble() const { return element.isF64(); }
  mlir::Type floatType() const { return shaped(element); }
  /// The same shape with another element type.
  mlir::Type shaped(mlir::Type e) const;

  Fl c(double v);            ///< float constant
  Fl ci(int64_t v);          ///< integer constant of the float's width
  Fl bits(Fl x);             ///< float -> integer
  Fl fromBits(Fl x);         ///< integer -> float
  Fl compare(mlir::arith::CmpFPredicate p, Fl x, Fl y);
  Fl select(Fl c, Fl x, Fl y);
  Fl poly(Fl x, llvm::ArrayRef<double> coefficients); ///< c0 + c1 x + c2 x^2 ...
  /// The same as a tree, which takes a logarithm of the steps and a few products more: for long chains, of which a processor has few in flight.
  Fl balanced(Fl x, llvm::ArrayRef<double> coefficients);
  Fl abs(Fl x);
  Fl sqrt(Fl x);
  Fl copySign(Fl magnitude, Fl sign);
  Fl withSignOf(Fl x, Fl sign); ///< x, which has that sign already or is 0
  Fl isNan(Fl x);
  mlir::Value any(Fl truth); ///< i1: whether it holds in some lane
  Fl minimum(Fl x, Fl y); ///< y when x is NaN does not happen: NaN in x stays
  Fl maximum(Fl x, Fl y);
  Fl inf() { return c(std::numeric_limits<double>::infinity()); }
  Fl nan() { return c(std::numeric_limits<double>::quiet_NaN()); }
  Fl widened(Fl x);  ///< an f32 of the same shape as this builder's f64
  Fl narrowed(Fl x); ///< an f64 of the same shape as this builder's f32
  /// The nearest integer of |x| < 2^(mantissa - 2), as a float, and as an integer modulo 2^(mantissa - 1), to which `bias` is added: other bits may lie
  /// above.
  std::pair<Fl, Fl> nearest(Fl x, int64_t bias = 0);
  /// Vectors of 16 numbers of f32 are scaled, and looked up in a vector of 16, by one instruction each.
  bool hasTables() const { return options.hasScalef && element.isF32() && llvm::ArrayRef(shape) == llvm::ArrayRef<int64_t>{16}; }
  /// The nearest sixteenth, as a float, and that times 16 as an integer modulo 16.
  std::pair<Fl, Fl> nearestSixteenth(Fl x);
  /// An entry of 16, by the last four bits of each index.
  Fl lookUp(llvm::ArrayRef<float> table, Fl index);
  /// x 2^floor(n).
  Fl scaleByFloor(Fl x, Fl n);
  /// 2^n for an integer n within the exponent range of normal numbers; bits far above the exponent's do not matter.
  Fl pow2(Fl n);
  int64_t exponentBias() const { return (int64_t(1) << (exponent - 1)) - 1; }
  /// x * 2^n, right also where 2^n alone overflows or underflows; `nf` is n as a float. Of n's bits those above the
  /// exponent's do not matter.
  Fl scale(Fl x, Fl n, Fl nf);
  /// 2^n as a product of two numbers that are normal where it is not.
  std::pair<Fl, Fl> powersOf2(Fl n);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const ExpandMathOptions &options;
  mlir::Type element;
  llvm::SmallVector<int64_t> shape; ///< empty for a scalar
  unsigned mantissa, exponent;      ///< bits
};

Fl operator+(Fl x, Fl y);
Fl operator-(Fl x, Fl y);
Fl operator*(Fl x, Fl y);
Fl operator/(Fl x, Fl y);
Fl operator-(Fl x);
Fl operator<(Fl x, Fl y);
Fl operator>(Fl x, Fl y);
Fl operator>=(Fl x, Fl y);
Fl operator==(Fl x, Fl y);
Fl operator&(Fl x, Fl y); ///< of integers or truth values
Fl operator|(Fl x, Fl y);
Fl operator^(Fl x, Fl y);
inline Fl operator+(Fl x, double y) { return x + x.f->c(y); }
inline Fl operator-(Fl x, double y) { return x - x.f->c(y); }
inline Fl operator*(Fl x, double y) { return x * x.f->c(y); }
inline Fl operator-(double x, Fl y) { return y.f->c(x) - y; }
inline Fl operator/(double x, Fl y) { return y.f->c(x) / y; }
inline Fl operator<(Fl x, double y) { return x < x.f->c(y); }
inline Fl operator>(Fl x, double y) { return x > x.f->c(y); }
inline Fl operator==(Fl x, double y) { return x == x.f->c(y); }

/// f(x) of f32 by way of f64.
Fl throughDouble(Fl x, Fl (*f)(Fl));

// MathExp.cpp
Fl expOf(Fl x);
/// exp(x) for x <= 0 (or NaN): 0 where it would be subnormal, which is in sums with 1 and in quotients of those as good.
Fl expUpToOne(Fl x);
/// exp(x) to be added to 1, beside which the smallest results are not seen. A product with 2, which a fused sum takes in.
Fl expBesideOne(Fl x);
Fl exp2Of(Fl x);
Fl expm1Of(Fl x);
Fl logOf(Fl x);
Fl log1pOf(Fl x);
Fl tanhOf(Fl x);
Fl sinhOf(Fl x);
Fl coshOf(Fl x);
Fl asinhOf(Fl x);
Fl acoshOf(Fl x);
Fl atanhOf(Fl x);
Fl erfOf(Fl x);
/// x = 2^k m with sqrt(1/2) <= m < sqrt(2): m - 1, and k as a float. For positive finite x.
std::pair<Fl, Fl> splitExponent(Fl x);
/// exp(x + low) in f64, for |low| far below |x|.
Fl expOfSum(Fl x, Fl low);
/// `result`, or what a logarithm is of 0, of negative numbers, of infinity and NaN.
Fl logEdges(Fl x, Fl result);
// MathSingle.cpp, of f32 alone
Fl tanhSingle(Fl x);
Fl log2Single(Fl x);
Fl atanSingle(Fl x);
Fl atan2Single(Fl y, Fl x);
Fl asinSingle(Fl x);
Fl acosSingle(Fl x);
/// Of an f32 with the digits of a half type, to be rounded to one.
Fl sinOfHalf(Fl x);
Fl cosOfHalf(Fl x);
// MathPow.cpp
Fl powOf(Fl x, Fl y);
/// x^exponent where that is a product, a quotient or a root; null otherwise.
Fl simplePower(Fl x, double exponent);
// LargeAngle.cpp
/// The rest and the quadrant of f64 angles: those given where |x| < limit, exact ones of x elsewhere. limit >= 2^20.
std::pair<Fl, Fl> largeAngles(Fl x, double limit, Fl r, Fl q);
// MathTrig.cpp
/// An angle x = q pi/2 + r: sine and cosine of r, and q as an integer.
struct Quadrant {
  Fl sine, cosine, q;
};
/// Whether an integer has a bit.
Fl bitSet(Fl q, int64_t bit);
Fl sinOf(Fl x);
Fl cosOf(Fl x);
Fl tanOf(Fl x);
Fl atanOf(Fl x);
Fl atan2Of(Fl y, Fl x);
Fl asinOf(Fl x);
Fl acosOf(Fl x);
// MathRounding.cpp
Fl roundEvenOf(Fl x);
Fl floorOf(Fl x);
Fl ceilOf(Fl x);
Fl truncOf(Fl x);
Fl roundOf(Fl x);
Fl remOf(Fl x, Fl y);
/// x - q y where that is near 0: with one rounding, or in exact steps where there is no FMA.
Fl minusProduct(Fl x, Fl q, Fl y);

} // namespace lathe::lower

#endif // LATHE_LOWER_FLOATBUILDER_H
