//===- Elementwise.cpp - The scalar form of the elementwise ops ------------===//
//
// One table: op name -> how to build it on scalars. The scalars may be vectors: everything here is elementwise, too.
//
//===----------------------------------------------------------------------===//

#include "lathe/Dialect/Lathe/WantedElements.h"
#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include "lathe/Dialect/Lathe/ElementTypes.h"
#include "lathe/Dialect/Lathe/Lathe.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringSet.h"
#include <limits>

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;

namespace {

/// What a builder of the table works with.
struct Scalar {
  OpBuilder &b;
  Location loc;
  Operation *op;
  ValueRange in;

  Type type() const { return in.back().getType(); }
  Type element(unsigned i) const { return elementOf(op->getOperand(i)); }
  bool isFloat() const { return isa<FloatType>(element(op->getNumOperands() - 1)); }
  /// i1 counts as unsigned: true is 1.
  bool isUnsigned() const {
    Type e = element(op->getNumOperands() - 1);
    return e.isUnsignedInteger() || e.isInteger(1);
  }
  template <typename OpT, typename... Ts> Value make(Ts &&...args) const {
    return b.create<OpT>(loc, std::forward<Ts>(args)...);
  }
  Value constant(double v, Type like) const {
    Type e = getElementTypeOrSelf(like);
    TypedAttr a = isa<FloatType>(e) ? TypedAttr(FloatAttr::get(e, v)) : TypedAttr(IntegerAttr::get(e, int64_t(v)));
    if (auto vec = dyn_cast<VectorType>(like))
      return make<arith::ConstantOp>(DenseElementsAttr::get(vec, Attribute(a)));
    return make<arith::ConstantOp>(a);
  }
  Value constant(double v) const { return constant(v, type()); }
};

using BuildFn = Value (*)(const Scalar &);

/// The scalar or vector type of `like`'s form with another element.
Type withElement(Type like, Type element) {
  if (auto v = dyn_cast<VectorType>(like))
    return VectorType::get(v.getShape(), element);
  return element;
}

template <typename FloatOp> Value floatUnary(const Scalar &s) { return s.make<FloatOp>(s.in[0]); }

/// A float op, a signed-integer op, an unsigned-integer op of two operands.
template <typename F, typename I, typename U> Value arithBinary(const Scalar &s) {
  if (s.isFloat())
    return s.make<F>(s.in[0], s.in[1]);
  return s.isUnsigned() ? Value(s.make<U>(s.in[0], s.in[1])) : Value(s.make<I>(s.in[0], s.in[1]));
}

Value buildNeg(const Scalar &s) {
  return s.isFloat() ? s.make<arith::NegFOp>(s.in[0]) : s.make<arith::SubIOp>(s.constant(0), s.in[0]);
}
Value buildAbs(const Scalar &s) {
  if (s.isFloat())
    return s.make<math::AbsFOp>(s.in[0]);
  return s.isUnsigned() ? s.in[0] : Value(s.make<math::AbsIOp>(s.in[0]));
}
Value buildSign(const Scalar &s) {
  Value zero = s.constant(0), one = s.constant(1);
  if (s.isFloat()) {
    Value pos = s.make<arith::CmpFOp>(arith::CmpFPredicate::OGT, s.in[0], zero);
    Value neg = s.make<arith::CmpFOp>(arith::CmpFPredicate::OLT, s.in[0], zero);
    // NaN and zeros stay as they are.
    Value r = s.make<arith::SelectOp>(neg, s.constant(-1), s.in[0]);
    return s.make<arith::SelectOp>(pos, one, r);
  }
  Value nonzero = s.make<arith::SelectOp>(s.make<arith::CmpIOp>(arith::CmpIPredicate::ne, s.in[0], zero), one, zero);
  if (s.isUnsigned())
    return nonzero;
  return s.make<arith::SelectOp>(s.make<arith::CmpIOp>(arith::CmpIPredicate::slt, s.in[0], zero), s.constant(-1), nonzero);
}
Value buildNot(const Scalar &s) { return s.make<arith::XOrIOp>(s.in[0], s.constant(-1)); }

/// Integer division never traps: a zero divisor becomes 1 and the result 0; the smallest value over -1 wraps.
Value integerDivide(const Scalar &s, bool remainder) {
  Value zero = s.constant(0), x = s.in[0], y = s.in[1];
  Value bad = s.make<arith::CmpIOp>(arith::CmpIPredicate::eq, y, zero);
  if (!s.isUnsigned()) {
    Value minus = s.make<arith::CmpIOp>(arith::CmpIPredicate::eq, y, s.constant(-1));
    Value safe = s.make<arith::SelectOp>(s.make<arith::OrIOp>(bad, minus), s.constant(1), y);
    Value q = remainder ? Value(s.make<arith::RemSIOp>(x, safe)) : Value(s.make<arith::DivSIOp>(x, safe));
    Value negated = remainder ? zero : Value(s.make<arith::SubIOp>(zero, x));
    q = s.make<arith::SelectOp>(minus, negated, q);
    return s.make<arith::SelectOp>(bad, zero, q);
  }
  if (getElementTypeOrSelf(x.getType()).isInteger(1))
    return remainder ? zero : s.make<arith::SelectOp>(bad, zero, x);
  Value safe = s.make<arith::SelectOp>(bad, s.constant(1), y);
  Value q = remainder ? Value(s.make<arith::RemUIOp>(x, safe)) : Value(s.make<arith::DivUIOp>(x, safe));
  return s.make<arith::SelectOp>(bad, zero, q);
}
Value buildDiv(const Scalar &s) {
  return s.isFloat() ? Value(s.make<arith::DivFOp>(s.in[0], s.in[1])) : integerDivide(s, false);
}
Value buildRem(const Scalar &s) {
  return s.isFloat() ? Value(s.make<arith::RemFOp>(s.in[0], s.in[1])) : integerDivide(s, true);
}
Value buildMod(const Scalar &s) {
  Value r = buildRem(s), y = s.in[1], zero = s.constant(0);
  if (s.isFloat()) {
    Value off = s.make<arith::AndIOp>(
        s.make<arith::CmpFOp>(arith::CmpFPredicate::ONE, r, zero),
        s.make<arith::XOrIOp>(s.make<arith::CmpFOp>(arith::CmpFPredicate::OLT, r, zero),
                              s.make<arith::CmpFOp>(arith::CmpFPredicate::OLT, y, zero)));
    Value isZero = s.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, r, zero);
    r = s.make<arith::SelectOp>(isZero, s.make<math::CopySignOp>(zero, y), r);
    return s.make<arith::SelectOp>(off, s.make<arith::AddFOp>(r, y), r);
  }
  if (s.isUnsigned())
    return r;
  Value off = s.make<arith::AndIOp>(
      s.make<arith::CmpIOp>(arith::CmpIPredicate::ne, r, zero),
      s.make<arith::CmpIOp>(arith::CmpIPredicate::slt, s.make<arith::XOrIOp>(r, y), zero));
  return s.make<arith::SelectOp>(off, s.make<arith::AddIOp>(r, y), r);
}
/// Python's quotient of floats: the largest whole number that is not above the exact one. In a type of twice the operands' digits
/// no quotient is rounded up to a whole number; f64 goes by the remainder.
Value floatFloorDiv(const Scalar &s) {
  using P = arith::CmpFPredicate;
  Value x = s.in[0], y = s.in[1], zero = s.constant(0), inf = s.constant(std::numeric_limits<double>::infinity());
  auto is = [&](P p, Value a, Value b) -> Value { return s.make<arith::CmpFOp>(p, a, b); };
  auto both = [&](Value a, Value b) -> Value { return s.make<arith::AndIOp>(a, b); };
  auto isInfinite = [&](Value v) { return is(P::OEQ, s.make<math::AbsFOp>(v), inf); };
  Value quotient = s.make<arith::DivFOp>(x, y), q = quotient, below;
  if (s.element(0).isF64()) {
    Value r = s.make<arith::RemFOp>(x, y), whole = s.make<arith::DivFOp>(s.make<arith::SubFOp>(x, r), y);
    Value nearest = s.make<math::RoundEvenOp>(whole); // off by what its rounding may have been
    q = s.make<arith::SelectOp>(isInfinite(whole), whole, nearest);
    below = is(P::ONE, r, zero);
  } else {
    q = s.make<math::FloorOp>(q);
    below = both(is(P::OEQ, quotient, zero), is(P::ONE, x, zero)); // too small for the type, or by infinity
  }
  Value opposite = s.make<arith::XOrIOp>(is(P::OLT, x, zero), is(P::OLT, y, zero));
  q = s.make<arith::SelectOp>(both(below, opposite), s.make<arith::SubFOp>(q, s.constant(1)), q);
  q = s.make<arith::SelectOp>(is(P::OEQ, q, zero), s.make<math::CopySignOp>(zero, quotient), q);
  q = s.make<arith::SelectOp>(isInfinite(x), s.constant(std::numeric_limits<double>::quiet_NaN()), q);
  return s.make<arith::SelectOp>(is(P::OEQ, y, zero), quotient, q);
}

Value buildFloorDiv(const Scalar &s) {
  if (s.isFloat()) {
    if (s.element(0).isF64())
      return floatFloorDiv(s);
    Type wide = s.element(0).isF32() ? s.b.getF64Type() : s.b.getF32Type(), narrow = s.type();
    SmallVector<Value> in;
    for (Value v : s.in)
      in.push_back(s.make<arith::ExtFOp>(withElement(narrow, wide), v));
    return s.make<arith::TruncFOp>(narrow, floatFloorDiv(Scalar{s.b, s.loc, s.op, in}));
  }
  Value q = integerDivide(s, false);
  if (s.isUnsigned())
    return q;
  Value zero = s.constant(0), r = integerDivide(s, true);
  Value off = s.make<arith::AndIOp>(
      s.make<arith::CmpIOp>(arith::CmpIPredicate::ne, r, zero),
      s.make<arith::CmpIOp>(arith::CmpIPredicate::slt, s.make<arith::XOrIOp>(s.in[0], s.in[1]), zero));
  return s.make<arith::SelectOp>(off, s.make<arith::SubIOp>(q, s.constant(1)), q);
}

/// ipowi takes its exponent as signed: of an unsigned one, it gets the half.
Value buildPow(const Scalar &s) {
  if (s.isFloat())
    return s.make<math::PowFOp>(s.in[0], s.in[1]);
  if (!s.isUnsigned())
    return s.make<math::IPowIOp>(s.in[0], s.in[1]);
  Value one = s.constant(1), root = s.make<math::IPowIOp>(s.in[0], s.make<arith::ShRUIOp>(s.in[1], one));
  Value isOdd = s.make<arith::CmpIOp>(arith::CmpIPredicate::ne, s.make<arith::AndIOp>(s.in[1], one), s.constant(0));
  return s.make<arith::MulIOp>(s.make<arith::MulIOp>(root, root), s.make<arith::SelectOp>(isOdd, s.in[0], one));
}
Value buildShl(const Scalar &s) {
  unsigned w = getElementTypeOrSelf(s.type()).getIntOrFloatBitWidth();
  Value ok = s.make<arith::CmpIOp>(arith::CmpIPredicate::ult, s.in[1], s.constant(w));
  Value by = s.make<arith::SelectOp>(ok, s.in[1], s.constant(0));
  return s.make<arith::SelectOp>(ok, s.make<arith::ShLIOp>(s.in[0], by), s.constant(0));
}
Value buildShr(const Scalar &s) {
  unsigned w = getElementTypeOrSelf(s.type()).getIntOrFloatBitWidth();
  Value ok = s.make<arith::CmpIOp>(arith::CmpIPredicate::ult, s.in[1], s.constant(w));
  Value by = s.make<arith::SelectOp>(ok, s.in[1], s.constant(w - 1));
  if (!s.isUnsigned())
    return s.make<arith::ShRSIOp>(s.in[0], by);
  return s.make<arith::SelectOp>(ok, s.make<arith::ShRUIOp>(s.in[0], by), s.constant(0));
}
Value buildCompare(const Scalar &s) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static const F floats[] = {F::OEQ, F::UNE, F::OLT, F::OLE, F::OGT, F::OGE};
  static const I sints[] = {I::eq, I::ne, I::slt, I::sle, I::sgt, I::sge};
  static const I uints[] = {I::eq, I::ne, I::ult, I::ule, I::ugt, I::uge};
  unsigned k = unsigned(cast<CompareOp>(s.op).getKind());
  if (s.isFloat())
    return s.make<arith::CmpFOp>(floats[k], s.in[0], s.in[1]);
  return s.make<arith::CmpIOp>(s.isUnsigned() ? uints[k] : sints[k], s.in[0], s.in[1]);
}
Value buildSelect(const Scalar &s) { return s.make<arith::SelectOp>(s.in[0], s.in[1], s.in[2]); }

/// The same in i32, where both ends are numbers of the float's type: a comparison with a selection is one minimum or maximum. A NaN is not greater than
/// the lower end, which is 0 without a sign.
Value clampedToInt(const Scalar &s, Value x, unsigned width, bool toUnsigned) {
  double low = toUnsigned ? 0.0 : -std::ldexp(1.0, width - 1), high = std::ldexp(1.0, toUnsigned ? width : width - 1) - 1;
  Type type = x.getType();
  auto bounded = [&](arith::CmpFPredicate inside, Value v, double end) -> Value {
    Value limit = s.constant(end, type);
    return s.make<arith::SelectOp>(s.make<arith::CmpFOp>(inside, v, limit), v, limit);
  };
  if (!toUnsigned)
    x = s.make<arith::SelectOp>(s.make<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, x), s.constant(0, type), x);
  x = bounded(arith::CmpFPredicate::OLT, bounded(arith::CmpFPredicate::OGT, x, low), high);
  Type integer = withElement(type, s.b.getI32Type());
  return toUnsigned && width == 32 ? Value(s.make<arith::FPToUIOp>(integer, x)) : Value(s.make<arith::FPToSIOp>(integer, x));
}

/// Truncation that saturates, NaN to 0: fptosi is undefined outside the range, so the operand is clamped first and the ends
/// are selected.
Value floatToInt(const Scalar &s, Type to, bool toUnsigned) {
  Value x = s.in[0];
  Type wide = getElementTypeOrSelf(x.getType());
  if (wide.getIntOrFloatBitWidth() < 32) {
    wide = s.b.getF32Type();
    x = s.make<arith::ExtFOp>(withElement(x.getType(), wide), x);
  }
  unsigned w = getElementTypeOrSelf(to).getIntOrFloatBitWidth();
  if (w < 32)
    return s.make<arith::TruncIOp>(to, clampedToInt(s, x, w, toUnsigned));
  if (w == 32 && wide.isF64())
    return clampedToInt(s, x, w, toUnsigned);
  double low = toUnsigned ? 0.0 : -std::ldexp(1.0, w - 1), limit = std::ldexp(1.0, toUnsigned ? w : w - 1);
  APInt top = toUnsigned ? APInt::getMaxValue(w) : APInt::getSignedMaxValue(w);
  Value above = s.make<arith::CmpFOp>(arith::CmpFPredicate::OGE, x, s.constant(limit, x.getType()));
  Value below = s.make<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, s.constant(low, x.getType()));
  Value nan = s.make<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, x);
  Value out = s.make<arith::OrIOp>(above, s.make<arith::OrIOp>(below, nan));
  Value safe = s.make<arith::SelectOp>(out, s.constant(0, x.getType()), x);
  Value r = toUnsigned ? Value(s.make<arith::FPToUIOp>(to, safe)) : Value(s.make<arith::FPToSIOp>(to, safe));
  auto splat = [&](const APInt &v) -> Value {
    auto a = IntegerAttr::get(getElementTypeOrSelf(to), v);
    if (auto vec = dyn_cast<VectorType>(to))
      return s.make<arith::ConstantOp>(DenseElementsAttr::get(vec, Attribute(a)));
    return s.make<arith::ConstantOp>(a);
  };
  APInt bottom = toUnsigned ? APInt::getZero(w) : APInt::getSignedMinValue(w);
  r = s.make<arith::SelectOp>(above, splat(top), r);
  return s.make<arith::SelectOp>(below, splat(bottom), r);
}

/// A scalar form's operand in other element types than the op has.
struct Conversion {
  Value x;
  Type from, to;
};

Value buildConversion(const Scalar &s, const Conversion &c);

/// What machines compute in has an instruction for numbers of 8 bits, or a few: f16 holds them all, f32 is rounded to them.
Value fromFloat8(const Scalar &s, const Conversion &c) {
  Type f16 = s.b.getF16Type();
  Value number = s.make<arith::BitcastOp>(withElement(c.x.getType(), c.from), c.x);
  return buildConversion(s, {s.make<arith::ExtFOp>(withElement(c.x.getType(), f16), number), f16, c.to});
}
Value toFloat8(const Scalar &s, const Conversion &c) {
  Value wide = buildConversion(s, {c.x, c.from, s.b.getF32Type()});
  Value number = s.make<arith::TruncFOp>(withElement(c.x.getType(), c.to), wide);
  return s.make<arith::BitcastOp>(withElement(c.x.getType(), signless(c.to)), number);
}

Value buildConversion(const Scalar &s, const Conversion &c) {
  auto [x, from, toElement] = c;
  Type to = withElement(x.getType(), signless(toElement));
  bool fromUnsigned = isUnsignedElement(from);
  if (from == toElement || (to == x.getType() && !isFloat8(from) && !isFloat8(toElement)))
    return x;
  if (isFloat8(from))
    return fromFloat8(s, c);
  if (isFloat8(toElement))
    return toFloat8(s, c);
  if (toElement.isInteger(1)) {
    if (isa<FloatType>(from))
      return s.make<arith::CmpFOp>(arith::CmpFPredicate::UNE, x, s.constant(0, x.getType()));
    return s.make<arith::CmpIOp>(arith::CmpIPredicate::ne, x, s.constant(0, x.getType()));
  }
  unsigned fw = signless(from).getIntOrFloatBitWidth(), tw = signless(toElement).getIntOrFloatBitWidth();
  if (isa<FloatType>(from) && isa<FloatType>(toElement)) {
    if (fw == tw) { // f16 <-> bf16
      x = s.make<arith::ExtFOp>(withElement(x.getType(), s.b.getF32Type()), x);
      return s.make<arith::TruncFOp>(to, x);
    }
    return fw < tw ? Value(s.make<arith::ExtFOp>(to, x)) : Value(s.make<arith::TruncFOp>(to, x));
  }
  if (isa<FloatType>(from))
    return floatToInt(Scalar{s.b, s.loc, s.op, x}, to, toElement.isUnsignedInteger());
  // What comes of a comparison chooses between two constants. Stored truth values are bytes, which are converted like others.
  Operation *made = x.getDefiningOp();
  bool isComputedTruth = from.isInteger(1) && made && isa_and_nonnull<arith::ArithDialect>(made->getDialect());
  if (isa<FloatType>(toElement) && isComputedTruth)
    return s.make<arith::SelectOp>(x, s.constant(1, to), s.constant(0, to));
  if (isa<FloatType>(toElement))
    return fromUnsigned ? Value(s.make<arith::UIToFPOp>(to, x)) : Value(s.make<arith::SIToFPOp>(to, x));
  if (fw > tw)
    return s.make<arith::TruncIOp>(to, x);
  return fromUnsigned ? Value(s.make<arith::ExtUIOp>(to, x)) : Value(s.make<arith::ExtSIOp>(to, x));
}

Value buildCast(const Scalar &s) { return buildConversion(s, {s.in[0], s.element(0), elementOf(s.op->getResult(0))}); }

Value buildBitcast(const Scalar &s) {
  Type to = withElement(s.in[0].getType(), signless(elementOf(s.op->getResult(0))));
  return to == s.in[0].getType() ? s.in[0] : s.make<arith::BitcastOp>(to, s.in[0]);
}

const llvm::StringMap<BuildFn> &table() {
  static const llvm::StringMap<BuildFn> t = {
      {"neg", buildNeg}, {"abs", buildAbs}, {"sign", buildSign}, {"not", buildNot},
      {"exp", floatUnary<math::ExpOp>}, {"exp2", floatUnary<math::Exp2Op>}, {"expm1", floatUnary<math::ExpM1Op>},
      {"log", floatUnary<math::LogOp>}, {"log1p", floatUnary<math::Log1pOp>}, {"log2", floatUnary<math::Log2Op>},
      {"sqrt", floatUnary<math::SqrtOp>}, {"rsqrt", floatUnary<math::RsqrtOp>},
      {"sin", floatUnary<math::SinOp>}, {"cos", floatUnary<math::CosOp>}, {"tan", floatUnary<math::TanOp>},
      {"asin", floatUnary<math::AsinOp>}, {"acos", floatUnary<math::AcosOp>}, {"atan", floatUnary<math::AtanOp>},
      {"sinh", floatUnary<math::SinhOp>}, {"cosh", floatUnary<math::CoshOp>}, {"tanh", floatUnary<math::TanhOp>},
      {"asinh", floatUnary<math::AsinhOp>}, {"acosh", floatUnary<math::AcoshOp>}, {"atanh", floatUnary<math::AtanhOp>}, {"erf", floatUnary<math::ErfOp>},
      {"floor", floatUnary<math::FloorOp>}, {"ceil", floatUnary<math::CeilOp>},
      {"round", floatUnary<math::RoundEvenOp>}, {"trunc", floatUnary<math::TruncOp>},
      {"add", arithBinary<arith::AddFOp, arith::AddIOp, arith::AddIOp>},
      {"sub", arithBinary<arith::SubFOp, arith::SubIOp, arith::SubIOp>},
      {"mul", arithBinary<arith::MulFOp, arith::MulIOp, arith::MulIOp>},
      {"max", arithBinary<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>},
      {"min", arithBinary<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>},
      {"div", buildDiv}, {"rem", buildRem}, {"mod", buildMod}, {"floor_div", buildFloorDiv}, {"pow", buildPow},
      {"atan2", [](const Scalar &s) -> Value { return s.make<math::Atan2Op>(s.in[0], s.in[1]); }},
      {"and", [](const Scalar &s) -> Value { return s.make<arith::AndIOp>(s.in[0], s.in[1]); }},
      {"or", [](const Scalar &s) -> Value { return s.make<arith::OrIOp>(s.in[0], s.in[1]); }},
      {"xor", [](const Scalar &s) -> Value { return s.make<arith::XOrIOp>(s.in[0], s.in[1]); }},
      {"shl", buildShl}, {"shr", buildShr}, {"compare", buildCompare}, {"select", buildSelect}, {"cast", buildCast},
      {"bitcast", buildBitcast}};
  return t;
}

} // namespace

Value ir::buildScalar(Operation *op, OpBuilder &b, Location loc, ValueRange scalars) {
  auto it = table().find(op->getName().stripDialect());
  return it == table().end() ? Value() : it->second(Scalar{b, loc, op, scalars});
}

std::optional<StringRef> ir::wantedElements(Operation *op) {
  static const llvm::StringSet<> ofFloats = {"exp", "exp2", "expm1", "log", "log1p", "log2", "sqrt", "rsqrt", "sin", "cos", "tan",
                                             "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf",
                                             "floor", "ceil", "round", "trunc", "atan2"};
  static const llvm::StringSet<> ofIntegers = {"and", "or", "xor", "shl", "shr", "not"};
  StringRef name = op->getName().stripDialect();
  if (!isa<ElementwiseInterface>(op) || op->getNumOperands() == 0)
    return std::nullopt;
  bool isFloat = isa<FloatType>(elementOf(op->getOperand(0)));
  if (!isFloat && ofFloats.contains(name))
    return StringRef("floats");
  if (isFloat && ofIntegers.contains(name))
    return StringRef("integers or booleans");
  return std::nullopt;
}
