//===- Combine.cpp - The combining functions of reductions -----------------===//

#include "Combine.h"
#include "lathe/Lower/LogAddExp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe;
using kernel::Combiner;

static TypedAttr floatIdentity(OpBuilder &b, Combiner kind, FloatType type) {
  const llvm::fltSemantics &sem = type.getFloatSemantics();
  switch (kind) {
  case Combiner::Mul:
    return b.getFloatAttr(type, 1.0);
  case Combiner::Max:
  case Combiner::UMax:
  case Combiner::LogAddExp:
    return b.getFloatAttr(type, APFloat::getInf(sem, /*Negative=*/true));
  case Combiner::Min:
  case Combiner::UMin:
    return b.getFloatAttr(type, APFloat::getInf(sem));
  default:
    return b.getFloatAttr(type, 0.0);
  }
}

static TypedAttr intIdentity(OpBuilder &b, Combiner kind, IntegerType type) {
  unsigned w = type.getWidth();
  switch (kind) {
  case Combiner::Mul:
    return b.getIntegerAttr(type, APInt(w, 1));
  case Combiner::Max:
    return b.getIntegerAttr(type, APInt::getSignedMinValue(w));
  case Combiner::Min:
    return b.getIntegerAttr(type, APInt::getSignedMaxValue(w));
  case Combiner::UMin:
  case Combiner::And:
    return b.getIntegerAttr(type, APInt::getAllOnes(w));
  default:
    return b.getIntegerAttr(type, APInt(w, 0));
  }
}

Value cpu::identityOf(OpBuilder &b, Location loc, Combiner kind, Type type) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr a = isa<FloatType>(element) ? floatIdentity(b, kind, cast<FloatType>(element))
                                        : intIdentity(b, kind, cast<IntegerType>(element));
  if (auto vector = dyn_cast<VectorType>(type))
    a = DenseElementsAttr::get(vector, Attribute(a));
  return b.create<arith::ConstantOp>(loc, a);
}

/// The larger (smaller) of two floats, NaN when one is: cheaper than LLVM's expansion of maximum, which also orders the
/// zeros. The first compare and select are one instruction; they give y when one is NaN.
static Value floatExtreme(OpBuilder &b, Location loc, arith::CmpFPredicate better, Value x, Value y) {
  Value takeX = b.create<arith::CmpFOp>(loc, better, x, y);
  Value best = b.create<arith::SelectOp>(loc, takeX, x, y);
  Value xIsNan = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, x, x);
  return b.create<arith::SelectOp>(loc, xIsNan, x, best);
}

Value cpu::combine(OpBuilder &b, Location loc, Combiner kind, Value x, Value y) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(x.getType()));
  switch (kind) {
  case Combiner::Add:
    return isFloat ? b.create<arith::AddFOp>(loc, x, y).getResult() : b.create<arith::AddIOp>(loc, x, y).getResult();
  case Combiner::Mul:
    return isFloat ? b.create<arith::MulFOp>(loc, x, y).getResult() : b.create<arith::MulIOp>(loc, x, y).getResult();
  case Combiner::Max:
  case Combiner::UMax:
    if (isFloat)
      return floatExtreme(b, loc, arith::CmpFPredicate::OGT, x, y);
    return kind == Combiner::Max ? b.create<arith::MaxSIOp>(loc, x, y).getResult()
                                 : b.create<arith::MaxUIOp>(loc, x, y).getResult();
  case Combiner::Min:
  case Combiner::UMin:
    if (isFloat)
      return floatExtreme(b, loc, arith::CmpFPredicate::OLT, x, y);
    return kind == Combiner::Min ? b.create<arith::MinSIOp>(loc, x, y).getResult()
                                 : b.create<arith::MinUIOp>(loc, x, y).getResult();
  case Combiner::And:
    return b.create<arith::AndIOp>(loc, x, y);
  case Combiner::Or:
    return b.create<arith::OrIOp>(loc, x, y);
  case Combiner::Xor:
    return b.create<arith::XOrIOp>(loc, x, y);
  case Combiner::LogAddExp:
    return lower::logAddExp(b, loc, x, y, floatExtreme(b, loc, arith::CmpFPredicate::OGT, x, y));
  }
  return x;
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
