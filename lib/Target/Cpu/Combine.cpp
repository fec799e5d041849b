//===- Combine.cpp - The combining functions of reductions -----------------===//

#include "Combine.h"
#include "lathe/Lower/LogAddExp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe;
using kernel::Combiner;

/// The larger (smaller) of two floats, NaN when one is: cheaper than LLVM's expansion of maximum, which also orders the
/// zeros. The first compare and select are one instruction; they give y when one is NaN.
static Value floatExtreme(OpBuilder &b, Location loc, arith::CmpFPredicate better, Value x, Value y) {
  Value takeX = b.create<arith::CmpFOp>(loc, better, x, y);
  Value best = b.create<arith::SelectOp>(loc, takeX, x, y);
  Value xIsNan = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, x, x);
  return b.create<arith::SelectOp>(loc, xIsNan, x, best);
}

Value cpu::combine(OpBuilder &b, Location loc, Combiner kind, Value x, Value y) {
  if (isa<FloatType>(getElementTypeOrSelf(x.getType())))
    switch (kind) {
    case Combiner::Max:
    case Combiner::UMax:
      return floatExtreme(b, loc, arith::CmpFPredicate::OGT, x, y);
    case Combiner::Min:
    case Combiner::UMin:
      return floatExtreme(b, loc, arith::CmpFPredicate::OLT, x, y);
    case Combiner::LogAddExp:
      return lower::logAddExp(b, loc, x, y, floatExtreme(b, loc, arith::CmpFPredicate::OGT, x, y));
    default:
      break;
    }
  return lower::combine(b, loc, kind, x, y);
}

/// Halves: the upper half of the lanes is combined into the lower one until one is left.
Value cpu::combineLanes(OpBuilder &b, Location loc, Combiner kind, Value v) {
  auto type = dyn_cast<VectorType>(v.getType());
  if (!type)
    return v;
  for (int64_t n = type.getNumElements(); n > 1; n /= 2) {
    Value low = b.create<vector::ExtractStridedSliceOp>(loc, v, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{n / 2},
                                                        ArrayRef<int64_t>{1});
    Value high = b.create<vector::ExtractStridedSliceOp>(loc, v, ArrayRef<int64_t>{n / 2}, ArrayRef<int64_t>{n / 2},
                                                         ArrayRef<int64_t>{1});
    v = combine(b, loc, kind, low, high);
  }
  return b.create<vector::ExtractOp>(loc, v, ArrayRef<int64_t>{0});
}
