//===- SortKey.cpp - Keys as numbers whose order is that of their bits -----===//

#include "lathe/Lower/SortKey.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace lathe;
using arith::CmpIPredicate;

Value lower::sortKey(OpBuilder &b, Location loc, kernel::SortOp op, Value key) {
  Type element = getElementTypeOrSelf(key.getType());
  unsigned width = element.getIntOrFloatBitWidth();
  Type bits = b.getIntegerType(width), type = bits;
  if (auto vector = dyn_cast<VectorType>(key.getType()))
    type = VectorType::get(vector.getShape(), bits);
  auto constant = [&](const APInt &v) -> Value {
    TypedAttr a = b.getIntegerAttr(bits, v);
    if (auto vector = dyn_cast<VectorType>(type))
      a = DenseElementsAttr::get(vector, Attribute(a));
    return b.create<arith::ConstantOp>(loc, a);
  };
  auto flip = [&](Value x, Value y) -> Value { return b.create<arith::XOrIOp>(loc, x, y); };
  auto pick = [&](CmpIPredicate p, Value x, Value y, Value yes, Value no) -> Value {
    return b.create<arith::SelectOp>(loc, b.create<arith::CmpIOp>(loc, p, x, y), yes, no);
  };
  Value sign = constant(APInt::getSignMask(width)), ones = constant(APInt::getAllOnes(width)), k = key;
  if (auto real = dyn_cast<FloatType>(element)) {
    Value zero = constant(APInt(width, 0));
    Value infinity = constant(APFloat::getInf(real.getFloatSemantics()).bitcastToAPInt());
    Value raw = b.create<arith::BitcastOp>(loc, type, key);
    raw = pick(CmpIPredicate::eq, raw, sign, zero, raw);
    Value magnitude = b.create<arith::AndIOp>(loc, raw, constant(APInt::getSignedMaxValue(width)));
    k = pick(CmpIPredicate::slt, raw, zero, flip(raw, ones), flip(raw, sign));
    k = pick(CmpIPredicate::ugt, magnitude, infinity, ones, k);
  } else if (!op.getUnsignedKeys()) {
    k = flip(key, sign);
  }
  return op.getDescending() ? flip(k, ones) : k;
}

unsigned lower::sortKeyBytes(kernel::SortOp op) {
  return std::max(1u, op.getKey().getType().getIntOrFloatBitWidth() / 8);
}
