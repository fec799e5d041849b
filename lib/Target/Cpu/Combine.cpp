//===- Combine.cpp - The combining functions of reductions -----------------===//

#include "Combine.h"
#include "Rows/Softmax.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe;
using kernel::Combiner;

Value cpu::combine(OpBuilder &b, Location loc, kernel::ReduceOp op, Value x, Value y) {
  if (!passesOverNan(op))
    return combine(b, loc, op.getKind(), x, y);
  // One instruction, which gives its second operand when one is NaN: x, which is none.
  return b.create<arith::SelectOp>(loc, b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGT, y, x), y, x);
}

/// Halves: the upper half of the lanes is combined into the lower one until one is left.
static Value combineHalves(OpBuilder &b, Location loc, Value v, llvm::function_ref<Value(Value, Value)> both) {
  auto type = dyn_cast<VectorType>(v.getType());
  if (!type)
    return v;
  for (int64_t n = type.getNumElements(); n > 1; n /= 2) {
    Value low = b.create<vector::ExtractStridedSliceOp>(loc, v, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{n / 2},
                                                        ArrayRef<int64_t>{1});
    Value high = b.create<vector::ExtractStridedSliceOp>(loc, v, ArrayRef<int64_t>{n / 2}, ArrayRef<int64_t>{n / 2},
                                                         ArrayRef<int64_t>{1});
    v = both(low, high);
  }
  return b.create<vector::ExtractOp>(loc, v, ArrayRef<int64_t>{0});
}

/// A float's bits as an integer that is greater where the float is, and back: of negative ones all bits but the sign are the other way round.
static Value ordered(OpBuilder &b, Location loc, Value bits) {
  Type type = bits.getType();
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  auto constant = [&](const APInt &value) -> Value {
    TypedAttr a = b.getIntegerAttr(getElementTypeOrSelf(type), value);
    if (auto vector = dyn_cast<VectorType>(type))
      a = DenseElementsAttr::get(vector, Attribute(a));
    return b.create<arith::ConstantOp>(loc, a);
  };
  Value sign = b.create<arith::ShRSIOp>(loc, bits, constant(APInt(width, width - 1)));
  Value turned = b.create<arith::AndIOp>(loc, sign, constant(APInt::getSignedMaxValue(width)));
  return b.create<arith::XOrIOp>(loc, bits, turned);
}

/// Of integers a maximum is one instruction, where one of floats takes two more for a NaN. Here a NaN is the greatest of them, or for minima the least,
/// both of which are one when they are floats again.
static Value combineNumbers(OpBuilder &b, Location loc, bool most, Value v) {
  auto type = cast<VectorType>(v.getType());
  unsigned width = type.getElementTypeBitWidth();
  auto integers = cast<VectorType>(type.clone(b.getIntegerType(width)));
  Value isNone = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, v, v);
  Value last = b.create<arith::ConstantOp>(
      loc, DenseElementsAttr::get(integers, most ? APInt::getSignedMaxValue(width) : APInt::getSignedMinValue(width)));
  Value keys = ordered(b, loc, b.create<arith::BitcastOp>(loc, integers, v));
  keys = b.create<arith::SelectOp>(loc, isNone, last, keys);
  Value found = combineHalves(b, loc, keys, [&](Value x, Value y) -> Value {
    return most ? b.create<arith::MaxSIOp>(loc, x, y).getResult() : b.create<arith::MinSIOp>(loc, x, y).getResult();
  });
  return b.create<arith::BitcastOp>(loc, type.getElementType(), ordered(b, loc, found));
}

Value cpu::combineLanes(OpBuilder &b, Location loc, Combiner kind, Value v) {
  auto type = dyn_cast<VectorType>(v.getType());
  if (type && isa<FloatType>(type.getElementType()) && (kind == Combiner::Max || kind == Combiner::Min))
    return combineNumbers(b, loc, kind == Combiner::Max, v);
  return combineHalves(b, loc, v, [&](Value x, Value y) { return combine(b, loc, kind, x, y); });
}

Value cpu::combineLanes(OpBuilder &b, Location loc, kernel::ReduceOp op, Value v) {
  if (!passesOverNan(op))
    return combineLanes(b, loc, op.getKind(), v);
  return combineHalves(b, loc, v, [&](Value x, Value y) { return combine(b, loc, op, x, y); });
}
