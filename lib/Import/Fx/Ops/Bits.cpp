//===- Bits.cpp - What looks into numbers: neighbours, exponents, divisors ----===//

#include "Families.h"
#include "lathe/Dialect/Lathe/CountedLoop.h"
#include <cmath>
#include <limits>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

static Value is(OpContext &c, CompareKind kind, Value x, double y) { return c.g.compare(kind, x, c.g.splatLike(y, x)); }

/// The next number towards the other: one more or less, as bits of a sign and a magnitude.
static llvm::Error nextAfter(OpContext &c) {
  LATHE_TRY(xy, c.pair(c.operand("self"), c.operand("other"), c.resultElement()));
  auto [x, y] = xy;
  auto type = mlir::dyn_cast<mlir::FloatType>(elementOf(x));
  if (!type)
    return c.wrong("neighbours of {0}", x.getType());
  Value bits = c.g.bitcast(x, mlir::IntegerType::get(c.g.b.getContext(), type.getWidth()));
  Value away = c.g.compare(CompareKind::EQ, c.g.cast(c.g.compare(CompareKind::LT, x, y), c.g.b.getI8Type()),
                           c.g.cast(is(c, CompareKind::GT, x, 0), c.g.b.getI8Type()));
  Value next = c.g.bitcast(c.g.add(bits, c.g.select(away, c.g.splatLike(1, bits), c.g.splatLike(-1, bits))), type);
  double least = llvm::APFloat::getSmallest(type.getFloatSemantics()).convertToDouble();
  Value first = c.g.select(is(c, CompareKind::GT, y, 0), c.g.splatLike(least, x), c.g.splatLike(-least, x));
  next = c.g.select(is(c, CompareKind::EQ, x, 0), first, next);
  next = c.g.select(c.g.compare(CompareKind::EQ, x, y), y, next);
  Value nan = c.g.binary<OrOp>(c.g.compare(CompareKind::NE, x, x), c.g.compare(CompareKind::NE, y, y));
  return c.give(c.g.select(nan, c.g.splatLike(NAN, x), next));
}

/// x = mantissa * 2^exponent with a mantissa from 1/2 to 1, in float64 (in which numbers of less bits have no small
/// exponents).
static llvm::Error mantissaAndExponent(OpContext &c) {
  Value given = c.tensor("self"), x = c.g.cast(given, c.g.b.getF64Type());
  if (!llvm::isa<mlir::FloatType>(elementOf(given)) || c.resultTypes.size() < 2)
    return c.wrong("an input of {0} and {1} results", given.getType(), c.resultTypes.size());
  Type i64 = c.g.b.getI64Type();
  constexpr double lift = 0x1p54; // of numbers below the least normal one
  Value small = is(c, CompareKind::LT, c.g.unary<AbsOp>(x), std::numeric_limits<double>::min());
  Value bits = c.g.bitcast(c.g.select(small, c.g.binary<MulOp>(x, lift), x), i64);
  auto number = [&](int64_t v) { return c.g.broadcastTo(c.scalarOf({Number::Kind::Int, Expr(v), 0}, i64), dimsOf(x)); };
  Value field = c.g.binary<AndOp>(c.g.binary<ShrOp>(bits, number(52)), number(0x7ff));
  Value exponent = c.g.sub(c.g.sub(field, number(1022)), c.g.select(small, number(54), number(0)));
  Value mantissa = c.g.bitcast(
      c.g.binary<OrOp>(c.g.binary<AndOp>(bits, number(~(int64_t(0x7ff) << 52))), number(int64_t(1022) << 52)),
      c.g.b.getF64Type());
  Value plain = c.g.binary<AndOp>(is(c, CompareKind::NE, x, 0), is(c, CompareKind::LT, c.g.unary<AbsOp>(x), INFINITY));
  (void)c.give(c.g.cast(c.g.select(plain, mantissa, x), c.resultElement()));
  return c.give(c.g.cast(c.g.select(plain, exponent, number(0)), c.resultElement(1)));
}

/// Euclid's algorithm, until no element has a remainder.
static Value divisor(OpContext &c, Value x, Value y) {
  CountedLoop loop;
  loop.name = c.node.name + ".remainder";
  loop.steps = Expr(128);
  loop.carried = {x, y};
  auto anyLeft = [&](Value v) {
    Value left = is(c, CompareKind::NE, v, 0);
    SmallVector<int64_t> axes;
    for (int64_t i = 0; i < typeOf(v).getRank(); ++i)
      axes.push_back(i);
    return axes.empty() ? left : c.g.reduce(ReduceKind::Or, left, axes, false);
  };
  loop.condition = anyLeft(y);
  loop.body = [&](llvm::ArrayRef<Value> carried, llvm::ArrayRef<Value>, const Expr &) {
    auto [a, b] = std::pair(carried[0], carried[1]);
    Value goesOn = is(c, CompareKind::NE, b, 0),
          rest = c.g.binary<RemOp>(a, c.g.select(goesOn, b, c.g.splatLike(1, b)));
    Value less = c.g.select(goesOn, rest, b);
    return SmallVector<Value>{anyLeft(less), c.g.select(goesOn, b, a), less};
  };
  return c.g.unary<AbsOp>(buildLoop(c.g, loop)[0]);
}

template <bool multiple> static llvm::Error common(OpContext &c) {
  LATHE_TRY(xy, c.pair(c.operand("self"), c.operand("other"), c.resultElement()));
  auto [x, y] = xy;
  if (!isIndex(x))
    return c.wrong("divisors of {0}", x.getType());
  Value most = divisor(c, x, y);
  if (!multiple)
    return c.give(most);
  Value none = is(c, CompareKind::EQ, most, 0);
  Value product = c.g.mul(c.g.binary<DivOp>(x, c.g.select(none, c.g.splatLike(1, x), most)), y);
  return c.give(c.g.select(none, c.g.splatLike(0, x), c.g.unary<AbsOp>(product)));
}

llvm::ArrayRef<OpEntry> fx::bitOps() {
  static const char *const two = "self:T other:T";
  static const OpEntry table[] = {
      {"nextafter.default", two, nextAfter},
      {"frexp.Tensor", "self:T", mantissaAndExponent},
      {"gcd.default", two, common<false>},
      {"lcm.default", two, common<true>},
  };
  return table;
}
