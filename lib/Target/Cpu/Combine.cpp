//===- Combine.cpp - The combining functions of reductions -----------------===//

#include "Combine.h"
#include "Softmax.h"
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

/// Of all lanes together, whether there is a NaN is one question, and not one for each half.
static Value combineNumbers(OpBuilder &b, Location loc, bool most, Value v) {
  auto predicate = most ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT;
  Value all = combineHalves(b, loc, v, [&](Value x, Value y) -> Value {
    return b.create<arith::SelectOp>(loc, b.create<arith::CmpFOp>(loc, predicate, x, y), x, y);
  });
  Value isNone = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, v, v);
  Value any = b.create<vector::ReductionOp>(loc, vector::CombiningKind::OR, isNone);
  auto type = cast<FloatType>(all.getType());
  Value nan = b.create<arith::ConstantOp>(loc, b.getFloatAttr(type, APFloat::getQNaN(type.getFloatSemantics())));
  return b.create<arith::SelectOp>(loc, any, nan, all);
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
