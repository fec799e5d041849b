//===- SortKey.cpp - Keys as numbers whose order is that of their bits -----===//

#include "lathe/Lower/SortKey.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace lathe;
using arith::CmpIPredicate;

namespace {
/// Arithmetic on the bits of keys, for scalars and vectors alike.
struct KeyBits {
  KeyBits(OpBuilder &b, Location loc, Type element, Type like)
      : b(b), loc(loc), width(element.getIntOrFloatBitWidth()), bits(b.getIntegerType(width)), type(bits) {
    if (auto vector = dyn_cast<VectorType>(like))
      type = vector.clone(bits);
  }
  Value constant(const APInt &v) {
    TypedAttr a = b.getIntegerAttr(bits, v);
    if (auto vector = dyn_cast<VectorType>(type))
      a = DenseElementsAttr::get(vector, Attribute(a));
    return b.create<arith::ConstantOp>(loc, a);
  }
  Value flip(Value x, Value y) { return b.create<arith::XOrIOp>(loc, x, y); }
  Value compare(CmpIPredicate p, Value x, Value y) { return b.create<arith::CmpIOp>(loc, p, x, y); }
  Value pick(CmpIPredicate p, Value x, Value y, Value yes, Value no) {
    return b.create<arith::SelectOp>(loc, compare(p, x, y), yes, no);
  }
  Value zero() { return constant(APInt(width, 0)); }
  Value ones() { return constant(APInt::getAllOnes(width)); }
  Value sign() { return constant(APInt::getSignMask(width)); }

  OpBuilder &b;
  Location loc;
  unsigned width;
  Type bits, type;
};
} // namespace

Value lower::sortKey(OpBuilder &b, Location loc, kernel::SortOp op, Value key) {
  Type element = getElementTypeOrSelf(key.getType());
  KeyBits on(b, loc, element, key.getType());
  Value sign = on.sign(), ones = on.ones(), k = key;
  if (auto real = dyn_cast<FloatType>(element)) {
    Value zero = on.zero(), infinity = on.constant(APFloat::getInf(real.getFloatSemantics()).bitcastToAPInt());
    Value raw = b.create<arith::BitcastOp>(loc, on.type, key);
    raw = on.pick(CmpIPredicate::eq, raw, sign, zero, raw);
    Value magnitude = b.create<arith::AndIOp>(loc, raw, on.constant(APInt::getSignedMaxValue(on.width)));
    k = on.pick(CmpIPredicate::slt, raw, zero, on.flip(raw, ones), on.flip(raw, sign));
    k = on.pick(CmpIPredicate::ugt, magnitude, infinity, ones, k);
  } else if (!op.getUnsignedKeys()) {
    k = on.flip(key, sign);
  }
  return op.getDescending() ? on.flip(k, ones) : k;
}

lower::KeyOfNumber lower::keyOfNumber(OpBuilder &b, Location loc, kernel::SortOp op, Value number) {
  Type element = op.getKey().getType(), type = element;
  KeyBits on(b, loc, element, number.getType());
  if (auto vector = dyn_cast<VectorType>(number.getType()))
    type = vector.clone(element);
  Value ones = on.ones(), sign = on.sign(), k = op.getDescending() ? on.flip(number, ones) : number;
  if (!isa<FloatType>(element))
    return {op.getUnsignedKeys() ? k : on.flip(k, sign), Value()};
  // Numbers from the sign on are those of positive keys; a zero's is the sign itself.
  Value zeroOrNaN = b.create<arith::OrIOp>(loc, on.compare(CmpIPredicate::eq, k, sign), on.compare(CmpIPredicate::eq, k, ones));
  Value raw = on.pick(CmpIPredicate::slt, k, on.zero(), on.flip(k, sign), on.flip(k, ones));
  return {b.create<arith::BitcastOp>(loc, type, raw), zeroOrNaN};
}

unsigned lower::sortKeyBytes(kernel::SortOp op) {
  return std::max(1u, op.getKey().getType().getIntOrFloatBitWidth() / 8);
}
