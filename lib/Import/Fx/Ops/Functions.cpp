//===- Functions.cpp - Elementwise functions as compositions -----------------===//

#include "Special.h"
#include <cmath>
#include <limits>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;
using special::digamma;
using special::logGamma;

constexpr double infinity = std::numeric_limits<double>::infinity();

static bool isFloat(Value v) { return llvm::isa<mlir::FloatType>(elementOf(v)); }
static Value is(OpContext &c, CompareKind kind, Value x, double y) { return c.g.compare(kind, x, c.g.splatLike(y, x)); }

using Unary = Value (*)(OpContext &, Value);
using Binary = Value (*)(OpContext &, Value, Value);

/// In the result's type, half types in float32.
template <Unary compose> static llvm::Error function(OpContext &c) {
  Value x = c.g.cast(c.tensor("self"), c.resultElement());
  return c.give(inFloat(c, x, [&](Value v) { return compose(c, v); }));
}

/// Computed in float64 whatever the type: series and continued fractions lose digits on the way.
template <Unary compose> static llvm::Error wideFunction(OpContext &c) {
  Value x = c.g.cast(c.tensor("self"), c.g.b.getF64Type());
  return c.give(c.g.cast(compose(c, x), c.resultElement()));
}

template <Binary compose> static llvm::Error function2(OpContext &c) {
  Type element = c.resultElement();
  bool half = element.isF16() || element.isBF16();
  LATHE_TRY(xy, c.pair(c.operand("self"), c.operand("other"), half ? Type(c.g.b.getF32Type()) : element));
  return c.give(c.g.cast(compose(c, xy.first, xy.second), element));
}

template <Unary test> static llvm::Error check(OpContext &c) {
  Value x = c.tensor("self");
  if (!isFloat(x))
    return c.give(c.g.splat(0, dimsOf(x), c.g.b.getI1Type()));
  return c.give(test(c, x));
}

//===----------------------------------------------------------------------===//
// Of one tensor
//===----------------------------------------------------------------------===//

static Value logit(OpContext &c, Value x) {
  if (auto eps = c.optionalNumber("eps")) { // above 1/2 the lower bound is asked first
    Value low = c.g.splatLike(eps->value, x), least = c.g.binary<MinOp>(x, 1 - eps->value);
    x = c.g.select(c.g.compare(CompareKind::LT, x, low), low, least);
  }
  return c.g.unary<LogOp>(c.g.div(x, c.g.sub(c.g.splatLike(1, x), x)));
}

/// sin(pi x) / (pi x), 1 at 0
static Value sinc(OpContext &c, Value x) {
  Value t = c.g.binary<MulOp>(x, M_PI), one = c.g.splatLike(1, x), zero = is(c, CompareKind::EQ, x, 0);
  return c.g.select(zero, one, c.g.div(c.g.unary<SinOp>(t), c.g.select(zero, one, t)));
}

static Value degreesToRadians(OpContext &c, Value x) { return c.g.binary<MulOp>(x, M_PI / 180); }
static Value radiansToDegrees(OpContext &c, Value x) { return c.g.binary<MulOp>(x, 180 / M_PI); }

static Value entropy(OpContext &c, Value x) {
  Value y = c.g.unary<NegOp>(c.g.mul(x, c.g.unary<LogOp>(x)));
  y = c.g.select(is(c, CompareKind::EQ, x, 0), c.g.splatLike(0, x), y);
  return c.g.select(is(c, CompareKind::LT, x, 0), c.g.splatLike(-infinity, x), y);
}

static Value hardShrink(OpContext &c, Value x) {
  double limit = c.real("lambd");
  Value inside = c.g.compare(CompareKind::LE, c.g.unary<AbsOp>(x), c.g.splatLike(limit, x));
  return c.g.select(inside, c.g.splatLike(0, x), x);
}

static Value softShrink(OpContext &c, Value x) {
  double limit = c.real("lambd");
  Value above = c.g.binary<SubOp>(x, limit), below = c.g.binary<AddOp>(x, limit), none = c.g.binary<MulOp>(x, 0);
  return c.g.select(is(c, CompareKind::GT, x, limit), above, c.g.select(is(c, CompareKind::LT, x, -limit), below, none));
}

/// Of a model that does not train: the mean of the two slopes.
static llvm::Error rrelu(OpContext &c) {
  if (c.flag("training"))
    return c.cannot("random slopes (training=True): call model.eval() before torch.export");
  double slope = (c.real("lower") + c.real("upper")) / 2;
  Value x = c.tensor("self");
  return c.give(c.g.select(is(c, CompareKind::GT, x, 0), x, c.g.binary<MulOp>(x, slope)));
}

/// The normal distribution's integral, whose lower tail has digits as 1 + erf has: f32 computes in f64.
static llvm::Error normalIntegral(OpContext &c) {
  Value x = c.g.cast(c.tensor("self"), c.resultElement());
  x = isFloat(x) && elementOf(x).getIntOrFloatBitWidth() == 16 ? x : c.g.cast(x, c.g.b.getF64Type());
  Value y = inFloat(c, x, [&](Value v) {
    return c.g.binary<MulOp>(c.g.binary<AddOp>(c.g.unary<ErfOp>(c.g.binary<MulOp>(v, M_SQRT1_2)), 1), 0.5);
  });
  return c.give(c.g.cast(y, c.resultElement()));
}

static Value polynomial(OpContext &c, Value x, llvm::ArrayRef<double> coefficients) {
  Value y = c.g.splatLike(coefficients[0], x);
  for (double k : coefficients.drop_front())
    y = c.g.binary<AddOp>(c.g.mul(y, x), k);
  return y;
}

/// gamma(t) = exp(main) / shift for t >= 1/2, by Stirling's series of t + 8.
namespace {
struct Stirling {
  Value main, shift;
};
} // namespace

static Stirling stirling(OpContext &c, Value t) {
  Value shift;
  for (int k = 0; k < 8; ++k) { // gamma(t) = gamma(t + 8) / (t (t + 1) ... (t + 7))
    Value factor = c.g.binary<AddOp>(t, k);
    shift = shift ? c.g.mul(shift, factor) : factor;
  }
  Value z = c.g.binary<AddOp>(t, 8), inverse = c.g.div(c.g.splatLike(1, z), z), square = c.g.mul(inverse, inverse);
  Value series = c.g.mul(inverse, polynomial(c, square, {-691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12}));
  Value main = c.g.sub(c.g.mul(c.g.binary<SubOp>(z, 0.5), c.g.unary<LogOp>(z)), z);
  return {c.g.add(c.g.binary<AddOp>(main, 0.5 * std::log(2 * M_PI)), series), shift};
}

/// |sin(pi x)|, to 2^-50 of itself: by the distance to the nearest whole number, which is exact.
static Value sizeOfSineOfTurns(OpContext &c, Value x) {
  Value near = c.g.unary<AbsOp>(c.g.sub(x, c.g.unary<RoundOp>(x)));
  return c.g.mul(near, polynomial(c, c.g.mul(near, near),
                                  {-2.113058240453946e-05, 0.000465988122216148, -0.007370366379676951, 0.0821458795583463,
                                   -0.5992645289425859, 2.5501640398707695, -5.167712780050086, 3.1415926535897953}));
}

/// Below 1/2 by reflection: gamma(x) gamma(1 - x) = pi / sin(pi x). One logarithm serves the quotient there and the shift elsewhere.
Value special::logGamma(OpContext &c, Value x) {
  Value low = is(c, CompareKind::LT, x, 0.5), far = c.g.compare(CompareKind::GT, c.g.unary<AbsOp>(x), c.g.splatLike(1e15, x));
  Value inside = c.g.select(far, c.g.splatLike(1, x), x);
  Value other = c.g.select(low, c.g.sub(c.g.splatLike(1, x), inside), inside);
  auto [main, shift] = stirling(c, other);
  Value reflected = c.g.div(c.g.splatLike(M_PI, x), sizeOfSineOfTurns(c, inside));
  Value log = c.g.unary<LogOp>(c.g.select(low, c.g.mul(reflected, shift), shift));
  Value y = c.g.sub(main, log);
  // gamma(1) = gamma(2) = 1: what rounding leaves there is not 0, which logical operators would see.
  Value zero = is(c, CompareKind::EQ, c.g.mul(c.g.binary<SubOp>(other, 1), c.g.binary<SubOp>(other, 2)), 0);
  y = c.g.select(low, c.g.unary<NegOp>(y), c.g.select(zero, c.g.splatLike(0, x), y));
  Value pole = c.g.binary<AndOp>(is(c, CompareKind::LE, x, 0), c.g.compare(CompareKind::EQ, x, c.g.unary<FloorOp>(x)));
  y = c.g.select(pole, c.g.splatLike(infinity, x), y);
  Value large = c.g.mul(x, c.g.binary<SubOp>(c.g.unary<LogOp>(c.g.unary<AbsOp>(x)), 1));
  return c.g.select(isNan(c, x), x, c.g.select(far, c.g.select(low, c.g.splatLike(infinity, x), large), y));
}

/// The derivative of logGamma's series; below 1/2 by reflection.
Value special::digamma(OpContext &c, Value x) {
  Value low = is(c, CompareKind::LT, x, 0.5), t = c.g.select(low, c.g.sub(c.g.splatLike(1, x), x), x), sum;
  for (int k = 0; k < 8; ++k) {
    Value part = c.g.div(c.g.splatLike(1, t), c.g.binary<AddOp>(t, k));
    sum = sum ? c.g.add(sum, part) : part;
  }
  Value z = c.g.binary<AddOp>(t, 8), inverse = c.g.div(c.g.splatLike(1, z), z), square = c.g.mul(inverse, inverse);
  Value series = c.g.mul(square, polynomial(c, square, {-691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12}));
  Value y = c.g.sub(c.g.sub(c.g.sub(c.g.unary<LogOp>(z), c.g.binary<MulOp>(inverse, 0.5)), series), sum);
  Value angle = c.g.binary<MulOp>(c.g.sub(x, c.g.unary<FloorOp>(x)), M_PI);
  Value cot = c.g.div(c.g.splatLike(M_PI, x), c.g.unary<TanOp>(angle));
  y = c.g.select(low, c.g.sub(y, cot), y);
  Value pole = c.g.binary<AndOp>(is(c, CompareKind::LT, x, 0), c.g.compare(CompareKind::EQ, x, c.g.unary<FloorOp>(x)));
  y = c.g.select(pole, c.g.splatLike(NAN, x), y);
  Value atZero = c.g.div(c.g.splatLike(-1, x), x); // an infinity against the zero's sign
  y = c.g.select(is(c, CompareKind::EQ, x, 0), atZero, y);
  return c.g.select(is(c, CompareKind::EQ, x, infinity), x, y);
}

/// To a number of decimal places.
static llvm::Error roundDecimals(OpContext &c) {
  Value x = c.tensor("self");
  int64_t places = c.integer("decimals");
  if (!isFloat(x) || places > 300 || places < -300)
    return c.cannot("{0} rounded to {1} decimals", x.getType(), places);
  double ten = std::pow(10.0, double(std::abs(places)));
  return c.give(inFloat(c, x, [&](Value v) {
    if (places == 0)
      return c.g.unary<RoundOp>(v);
    return places > 0 ? c.g.binary<DivOp>(c.g.unary<RoundOp>(c.g.binary<MulOp>(v, ten)), ten)
                      : c.g.binary<MulOp>(c.g.unary<RoundOp>(c.g.binary<DivOp>(v, ten)), ten);
  }));
}

static Value isPositiveInfinity(OpContext &c, Value x) { return is(c, CompareKind::EQ, x, infinity); }
static Value isNegativeInfinity(OpContext &c, Value x) { return is(c, CompareKind::EQ, x, -infinity); }

/// Negative zeros have one, and so may NaNs.
static Value signBitOf(OpContext &c, Value x) {
  unsigned width = elementOf(x).getIntOrFloatBitWidth();
  Value bits = c.g.bitcast(x, mlir::IntegerType::get(c.g.b.getContext(), width));
  return c.g.compare(CompareKind::LT, bits, c.g.splatLike(0, bits));
}

static llvm::Error signBit(OpContext &c) {
  Value x = c.tensor("self");
  if (elementOf(x).isInteger(1) || elementOf(x).isUnsignedInteger())
    return c.give(c.g.splat(0, dimsOf(x), c.g.b.getI1Type()));
  return c.give(isFloat(x) ? signBitOf(c, x) : is(c, CompareKind::LT, x, 0));
}

static llvm::Error always(OpContext &c) { return c.give(c.g.splat(1, dimsOf(c.tensor("self")), c.g.b.getI1Type())); }

//===----------------------------------------------------------------------===//
// Of two
//===----------------------------------------------------------------------===//

/// x * f(y), where 0 times anything but a NaN is 0.
static Value timesLog(OpContext &c, Value x, Value y, Value log) {
  Value product = c.g.select(is(c, CompareKind::EQ, x, 0), c.g.splatLike(0, x), c.g.mul(x, log));
  return c.g.select(isNan(c, y), y, product);
}
static Value xLogY(OpContext &c, Value x, Value y) { return timesLog(c, x, y, c.g.unary<LogOp>(y)); }
static Value xLog1pY(OpContext &c, Value x, Value y) { return timesLog(c, x, y, c.g.unary<Log1pOp>(y)); }

static Value addExponents(OpContext &c, Value x, Value y, double base) {
  Value most = c.g.binary<MaxOp>(x, y), less = c.g.binary<MinOp>(x, y);
  Value apart = c.g.binary<MulOp>(c.g.sub(less, most), base);
  Value sum = c.g.add(most, c.g.binary<DivOp>(c.g.unary<Log1pOp>(c.g.unary<ExpOp>(apart)), base));
  Value same = c.g.binary<AndOp>(c.g.compare(CompareKind::EQ, x, y),
                                 c.g.compare(CompareKind::EQ, c.g.unary<AbsOp>(x), c.g.splatLike(infinity, x)));
  return c.g.select(same, x, sum); // of two equal infinities
}
static Value logAddExp(OpContext &c, Value x, Value y) { return addExponents(c, x, y, 1); }
static Value logAddExp2(OpContext &c, Value x, Value y) { return addExponents(c, x, y, M_LN2); }

/// The one that is a number.
static Value fmax(OpContext &c, Value x, Value y) {
  if (!isFloat(x))
    return elementOf(x).isInteger(1) ? c.g.binary<OrOp>(x, y) : c.g.binary<MaxOp>(x, y);
  return c.g.select(isNan(c, x), y, c.g.select(isNan(c, y), x, c.g.binary<MaxOp>(x, y)));
}
static Value fmin(OpContext &c, Value x, Value y) {
  if (!isFloat(x))
    return elementOf(x).isInteger(1) ? c.g.binary<AndOp>(x, y) : c.g.binary<MinOp>(x, y);
  return c.g.select(isNan(c, x), y, c.g.select(isNan(c, y), x, c.g.binary<MinOp>(x, y)));
}

/// Without overflow: the larger times sqrt(1 + ratio^2).
static Value hypot(OpContext &c, Value x, Value y) {
  x = c.g.unary<AbsOp>(x);
  y = c.g.unary<AbsOp>(y);
  Value most = c.g.binary<MaxOp>(x, y), zero = c.g.splatLike(0, x), flat = c.g.compare(CompareKind::EQ, most, zero);
  Value ratio = c.g.div(c.g.binary<MinOp>(x, y), c.g.select(flat, c.g.splatLike(1, x), most));
  Value r = c.g.mul(most, c.g.unary<SqrtOp>(c.g.binary<AddOp>(c.g.mul(ratio, ratio), 1)));
  Value endless = c.g.binary<OrOp>(is(c, CompareKind::EQ, x, infinity), is(c, CompareKind::EQ, y, infinity));
  return c.g.select(endless, c.g.splatLike(infinity, x), r);
}

static Value copySign(OpContext &c, Value x, Value y) {
  Value size = c.g.unary<AbsOp>(x);
  return c.g.select(signBitOf(c, y), c.g.unary<NegOp>(size), size);
}

static llvm::Error heaviside(OpContext &c) {
  LATHE_TRY(xy, c.pair(c.operand("self"), c.operand("values"), c.resultElement()));
  Value x = xy.first;
  if (elementOf(x).isInteger(1))
    return c.give(c.g.binary<OrOp>(x, xy.second));
  Value y = c.g.cast(is(c, CompareKind::GT, x, 0), elementOf(x));
  y = c.g.select(is(c, CompareKind::EQ, x, 0), xy.second, y);
  return c.give(isFloat(x) ? c.g.select(isNan(c, x), c.g.splatLike(0, x), y) : y);
}

/// x * 2^y
static Value loadExponent(OpContext &c, Value x, Value y) { return c.g.mul(x, c.g.unary<Exp2Op>(y)); }

static llvm::Error floatPower(OpContext &c) {
  LATHE_TRY(xy, c.pair(c.operand("self"), c.operand("exponent"), c.resultElement()));
  return c.give(c.g.binary<PowOp>(xy.first, xy.second));
}

/// |x - y| <= atol + rtol * |y|, or equal.
static llvm::Error isClose(OpContext &c) {
  Type common = c.promote({c.operand("self"), c.operand("other")});
  LATHE_TRY(xy, c.pair(c.operand("self"), c.operand("other"), common));
  auto [x, y] = xy;
  Value close = c.g.compare(CompareKind::EQ, x, y);
  Type wide = common.isF64() || !llvm::isa<mlir::FloatType>(common) ? Type(c.g.b.getF64Type()) : Type(c.g.b.getF32Type());
  Value a = c.g.cast(x, wide), b = c.g.cast(y, wide);
  Value most = c.g.binary<AddOp>(c.g.binary<MulOp>(c.g.unary<AbsOp>(b), c.real("rtol")), c.real("atol"));
  Value gap = c.g.unary<AbsOp>(c.g.sub(a, b)), finite = c.g.compare(CompareKind::LT, gap, c.g.splatLike(infinity, gap));
  close = c.g.binary<OrOp>(close, c.g.binary<AndOp>(finite, c.g.compare(CompareKind::LE, gap, most)));
  if (c.flag("equal_nan") && isFloat(x))
    close = c.g.binary<OrOp>(close, c.g.binary<AndOp>(isNan(c, x), isNan(c, y)));
  return c.give(close);
}

/// a + b * (c op d) forms of products: beta * self + alpha * (vec1 outer vec2)
static llvm::Error addOuter(OpContext &c) {
  Type element = c.resultElement();
  Value x = c.g.cast(c.tensor("self"), element), u = c.g.cast(c.tensor("vec1"), element), v = c.g.cast(c.tensor("vec2"), element);
  if (typeOf(u).getRank() != 1 || typeOf(v).getRank() != 1)
    return c.wrong("the vectors are {0} and {1}", u.getType(), v.getType());
  Dims dims{dimsOf(u)[0], dimsOf(v)[0]};
  Value outer = c.g.broadcastTo(c.g.unsqueeze(u, {1}), dims), across = c.g.broadcastTo(c.g.unsqueeze(v, {0}), dims);
  LATHE_TRY(base, c.broadcastTo(x, dims));
  bool isBool = element.isInteger(1);
  if (isBool)
    return c.give(c.g.binary<OrOp>(base, c.g.binary<AndOp>(outer, across)));
  auto times = [&](Value t, const char *name) {
    return c.g.mul(t, c.g.broadcastTo(c.scalarOf(c.number(name), element), dims));
  };
  Value product = times(c.g.mul(outer, across), "alpha");
  if (c.number("beta").value == 0 && c.number("beta").size.isZero())
    return c.give(product);
  return c.give(c.g.add(times(base, "beta"), product));
}

llvm::ArrayRef<OpEntry> fx::functionOps() {
  static const char *const two = "self:TS other:TS";
  static const OpEntry table[] = {
      {"logit.default", "self:T eps:F?", function<logit>},
      {"sinc.default", "self:T", function<sinc>},
      {"deg2rad.default", "self:T", function<degreesToRadians>},
      {"rad2deg.default", "self:T", function<radiansToDegrees>},
      {"special_entr.default", "self:T", function<entropy>},
      {"special_ndtr.default", "self:T", normalIntegral},
      {"lgamma.default", "self:T", wideFunction<logGamma>},
      {"special_gammaln.default", "self:T", wideFunction<logGamma>},
      {"digamma.default", "self:T", wideFunction<digamma>},
      {"special_digamma.default", "self:T", wideFunction<digamma>},
      {"special_psi.default", "self:T", wideFunction<digamma>},
      {"hardshrink.default", "self:T lambd:F=0.5", function<hardShrink>},
      {"softshrink.default", "self:T lambd:F=0.5", function<softShrink>},
      {"rrelu.default", "self:T lower:F=0.125 upper:F=0.3333333333333333 training:B=false", rrelu},
      {"round.decimals", "self:T decimals:I", roundDecimals},
      {"isposinf.default", "self:T", check<isPositiveInfinity>},
      {"isneginf.default", "self:T", check<isNegativeInfinity>},
      {"isreal.default", "self:T", always},
      {"signbit.default", "self:T", signBit},
      {"xlogy.Tensor", two, function2<xLogY>},
      {"xlogy.Scalar_Self", two, function2<xLogY>},
      {"xlogy.Scalar_Other", two, function2<xLogY>},
      {"special_xlog1py.default", two, function2<xLog1pY>},
      {"logaddexp.default", two, function2<logAddExp>},
      {"logaddexp2.default", two, function2<logAddExp2>},
      {"fmax.default", two, function2<fmax>},
      {"fmin.default", two, function2<fmin>},
      {"hypot.default", two, function2<hypot>},
      {"copysign.Tensor", two, function2<copySign>},
      {"copysign.Scalar", two, function2<copySign>},
      {"ldexp.Tensor", two, function2<loadExponent>},
      {"heaviside.default", "self:T values:T", heaviside},
      {"float_power.Tensor_Tensor", "self:TS exponent:TS", floatPower},
      {"float_power.Tensor_Scalar", "self:TS exponent:TS", floatPower},
      {"float_power.Scalar", "self:TS exponent:TS", floatPower},
      {"isclose.default", "self:T other:T rtol:F=1e-05 atol:F=1e-08 equal_nan:B=false", isClose},
      {"addr.default", "self:T vec1:T vec2:T beta:S=1 alpha:S=1", addOuter},
  };
  return table;
}
