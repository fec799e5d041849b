//===- Binary.cpp - Elementwise arithmetic of several tensors ---------------===//
//
// The file says the result's type; arithmetic happens in it, as torch's does.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

static bool isFloat(Type t) { return llvm::isa<mlir::FloatType>(t); }
static bool isZero(const Operand &o) {
  return !o.tensor && o.number.kind != Number::Kind::Float && o.number.size.isZero();
}

/// On booleans, sum is "or" and product is "and".
template <typename OpT, typename BoolOpT> static llvm::Error arithmetic(OpContext &c) {
  LATHE_TRY(xy, c.pair(c.operand("self"), c.operand("other"), c.resultElement()));
  if (c.resultElement().isInteger(1))
    return c.give(c.g.binary<BoolOpT>(xy.first, xy.second));
  return c.give(c.g.binary<OpT>(xy.first, xy.second));
}

template <typename OpT> static llvm::Error binary(OpContext &c) { return arithmetic<OpT, OpT>(c); }

/// y * alpha, in the element type.
static Value scaled(OpContext &c, Value y, const char *factor) {
  auto n = c.optionalNumber(factor);
  Type element = elementOf(y);
  if (!n || (n->size.isOne() && n->kind != Number::Kind::Float) || (n->kind == Number::Kind::Float && n->value == 1))
    return y;
  return c.g.mul(y, c.g.broadcastTo(c.scalarOf(*n, element), dimsOf(y)));
}

static llvm::Error add(OpContext &c) {
  Operand x = c.operand("self"), y = c.operand("other");
  if (x.tensor && isZero(y) && !isFloat(c.resultElement())) // positions of torch's masks: arange + 0
    return c.give(c.g.cast(x.tensor, c.resultElement()));
  LATHE_TRY(xy, c.pair(x, y, c.resultElement()));
  Value other = scaled(c, xy.second, "alpha");
  if (c.resultElement().isInteger(1))
    return c.give(c.g.binary<OrOp>(xy.first, other));
  return c.give(c.g.add(xy.first, other));
}

static llvm::Error sub(OpContext &c) {
  LATHE_TRY(xy, c.pair(c.operand("self"), c.operand("other"), c.resultElement()));
  return c.give(c.g.sub(xy.first, scaled(c, xy.second, "alpha")));
}

static llvm::Error rsub(OpContext &c) {
  LATHE_TRY(xy, c.pair(c.operand("self"), c.operand("other"), c.resultElement()));
  return c.give(c.g.sub(xy.second, scaled(c, xy.first, "alpha")));
}

static llvm::Error divMode(OpContext &c) {
  std::string mode = c.text("rounding_mode");
  LATHE_TRY(xy, c.pair(c.operand("self"), c.operand("other"), c.resultElement()));
  if (mode == "floor")
    return c.give(c.g.binary<FloorDivOp>(xy.first, xy.second));
  if (!mode.empty() && mode != "trunc")
    return c.wrong("rounding_mode is '{0}'; torch knows 'floor' and 'trunc'", mode);
  Value quotient = c.g.div(xy.first, xy.second);
  return c.give(!mode.empty() && isFloat(c.resultElement()) ? c.g.unary<TruncOp>(quotient) : quotient);
}

/// The powers that torch computes without pow. Nothing for others.
static Value simplePower(OpContext &c, Value x, double exponent) {
  bool floating = isFloat(elementOf(x));
  if (exponent == 0)
    return c.g.splatLike(1, x);
  if (exponent == 1)
    return x;
  if (exponent == 2)
    return c.g.mul(x, x);
  if (exponent == 3)
    return c.g.mul(c.g.mul(x, x), x);
  if (floating && exponent == 0.5)
    return c.g.unary<SqrtOp>(x);
  if (floating && exponent == -0.5)
    return c.g.unary<RsqrtOp>(x);
  if (floating && exponent == -1)
    return c.g.div(c.g.splatLike(1, x), x);
  if (floating && exponent == -2) // the square of a half type may overflow where the result does not
    return inFloat(c, x, [&](Value v) { return c.g.div(c.g.splatLike(1, v), c.g.mul(v, v)); });
  return {};
}

static llvm::Error power(OpContext &c) {
  Operand x = c.operand("self"), y = c.operand("exponent");
  if (x.tensor && !y.tensor && (y.number.kind == Number::Kind::Float || y.number.size.constant()))
    if (Value simple = simplePower(c, c.g.cast(x.tensor, c.resultElement()), y.number.value))
      return c.give(simple);
  LATHE_TRY(xy, c.pair(x, y, c.resultElement()));
  return c.give(c.g.binary<PowOp>(xy.first, xy.second));
}

template <typename OpT> static llvm::Error logical(OpContext &c) {
  LATHE_TRY(xy, c.pair(c.operand("self"), c.operand("other"), c.g.b.getI1Type()));
  return c.give(c.g.binary<OpT>(xy.first, xy.second));
}

static llvm::Error clampOp(OpContext &c) {
  Type element = c.resultElement();
  SmallVector<Value> all{c.g.cast(c.tensor("self"), element)};
  for (const char *name : {"min", "max"})
    if (c.has(name))
      all.push_back(c.materialize(c.operand(name), element));
  if (llvm::Error e = c.broadcast(all))
    return e;
  Value x = all[0];
  size_t next = 1;
  if (c.has("min"))
    x = c.g.binary<MaxOp>(x, all[next++]);
  if (c.has("max"))
    x = c.g.binary<MinOp>(x, all[next]);
  return c.give(x);
}

/// self + value * (a op b)
template <typename OpT> static llvm::Error addCombined(OpContext &c) {
  Type element = c.resultElement();
  Value all[] = {c.g.cast(c.tensor("self"), element), c.g.cast(c.tensor("tensor1"), element),
                 c.g.cast(c.tensor("tensor2"), element)};
  if (llvm::Error e = c.broadcast(all))
    return e;
  return c.give(c.g.add(all[0], scaled(c, c.g.binary<OpT>(all[1], all[2]), "value")));
}

static llvm::Error lerp(OpContext &c) {
  Type element = c.resultElement();
  Value all[] = {c.g.cast(c.tensor("self"), element), c.g.cast(c.tensor("end"), element), c.materialize(c.operand("weight"), element)};
  if (llvm::Error e = c.broadcast(all))
    return e;
  return c.give(c.g.add(all[0], c.g.mul(all[2], c.g.sub(all[1], all[0]))));
}

llvm::ArrayRef<OpEntry> fx::binaryOps() {
  static const char *const two = "self:TS other:TS";
  static const char *const withAlpha = "self:TS other:TS alpha:S=1";
  static const char *const powers = "self:TS exponent:TS";
  static const OpEntry table[] = {
      {"add.Tensor", withAlpha, add},
      {"add.Scalar", withAlpha, add},
      {"sub.Tensor", withAlpha, sub},
      {"sub.Scalar", withAlpha, sub},
      {"rsub.Tensor", withAlpha, rsub},
      {"rsub.Scalar", withAlpha, rsub},
      {"mul.Tensor", two, arithmetic<MulOp, AndOp>},
      {"mul.Scalar", two, arithmetic<MulOp, AndOp>},
      {"div.Tensor", two, binary<DivOp>},
      {"div.Scalar", two, binary<DivOp>},
      {"true_divide.Tensor", two, binary<DivOp>},
      {"div.Tensor_mode", "self:TS other:TS rounding_mode:X?", divMode},
      {"div.Scalar_mode", "self:TS other:TS rounding_mode:X?", divMode},
      {"floor_divide.default", two, binary<FloorDivOp>},
      {"floor_divide.Scalar", two, binary<FloorDivOp>},
      {"remainder.Tensor", two, binary<ModOp>},
      {"remainder.Scalar", two, binary<ModOp>},
      {"remainder.Scalar_Tensor", two, binary<ModOp>},
      {"fmod.Tensor", two, binary<RemOp>},
      {"fmod.Scalar", two, binary<RemOp>},
      {"pow.Tensor_Scalar", powers, power},
      {"pow.Tensor_Tensor", powers, power},
      {"pow.Scalar", powers, power},
      {"maximum.default", two, arithmetic<MaxOp, OrOp>},
      {"minimum.default", two, arithmetic<MinOp, AndOp>},
      {"max.other", two, arithmetic<MaxOp, OrOp>},
      {"min.other", two, arithmetic<MinOp, AndOp>},
      {"atan2.default", two, binary<Atan2Op>},
      {"atan2.out", "self:TS other:TS out:T", binary<Atan2Op>, WritesOut},
      {"bitwise_and.Tensor", two, binary<AndOp>},
      {"bitwise_and.Scalar", two, binary<AndOp>},
      {"bitwise_or.Tensor", two, binary<OrOp>},
      {"bitwise_or.Scalar", two, binary<OrOp>},
      {"bitwise_xor.Tensor", two, binary<XorOp>},
      {"bitwise_xor.Scalar", two, binary<XorOp>},
      {"bitwise_left_shift.Tensor", two, binary<ShlOp>},
      {"bitwise_left_shift.Tensor_Scalar", two, binary<ShlOp>},
      {"bitwise_left_shift.Scalar_Tensor", two, binary<ShlOp>},
      {"__lshift__.Tensor", two, binary<ShlOp>},
      {"__lshift__.Scalar", two, binary<ShlOp>},
      {"bitwise_right_shift.Tensor", two, binary<ShrOp>},
      {"bitwise_right_shift.Tensor_Scalar", two, binary<ShrOp>},
      {"bitwise_right_shift.Scalar_Tensor", two, binary<ShrOp>},
      {"__rshift__.Tensor", two, binary<ShrOp>},
      {"__rshift__.Scalar", two, binary<ShrOp>},
      {"__and__.Tensor", two, binary<AndOp>},
      {"__and__.Scalar", two, binary<AndOp>},
      {"__or__.Tensor", two, binary<OrOp>},
      {"__or__.Scalar", two, binary<OrOp>},
      {"__xor__.Tensor", two, binary<XorOp>},
      {"__xor__.Scalar", two, binary<XorOp>},
      {"logical_and.default", two, logical<AndOp>},
      {"logical_or.default", two, logical<OrOp>},
      {"logical_xor.default", two, logical<XorOp>},
      {"clamp.default", "self:T min:S? max:S?", clampOp},
      {"clamp.Tensor", "self:T min:T? max:T?", clampOp},
      {"clamp_min.default", "self:T min:S", clampOp},
      {"clamp_min.Tensor", "self:T min:T", clampOp},
      {"clamp_max.default", "self:T max:S", clampOp},
      {"clamp_max.Tensor", "self:T max:T", clampOp},
      {"clip.default", "self:T min:S? max:S?", clampOp},
      {"addcmul.default", "self:T tensor1:T tensor2:T value:S=1", addCombined<MulOp>},
      {"addcdiv.default", "self:T tensor1:T tensor2:T value:S=1", addCombined<DivOp>},
      {"lerp.Scalar", "self:T end:T weight:S", lerp},
      {"lerp.Tensor", "self:T end:T weight:T", lerp},
  };
  return table;
}
