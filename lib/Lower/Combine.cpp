//===- Combine.cpp - The combining functions of kernels ---------------------===//

#include "lathe/Lower/Combine.h"
#include "lathe/Lower/LogAddExp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

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

Value lower::identityOf(OpBuilder &b, Location loc, Combiner kind, Type type) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr a = isa<FloatType>(element) ? floatIdentity(b, kind, cast<FloatType>(element))
                                        : intIdentity(b, kind, cast<IntegerType>(element));
  if (auto vector = dyn_cast<VectorType>(type))
    a = DenseElementsAttr::get(vector, Attribute(a));
  return b.create<arith::ConstantOp>(loc, a);
}

Value lower::combine(OpBuilder &b, Location loc, Combiner kind, Value x, Value y) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(x.getType()));
  switch (kind) {
  case Combiner::Add:
    return isFloat ? b.create<arith::AddFOp>(loc, x, y).getResult() : b.create<arith::AddIOp>(loc, x, y).getResult();
  case Combiner::Mul:
    return isFloat ? b.create<arith::MulFOp>(loc, x, y).getResult() : b.create<arith::MulIOp>(loc, x, y).getResult();
  case Combiner::Max:
    return isFloat ? b.create<arith::MaximumFOp>(loc, x, y).getResult() : b.create<arith::MaxSIOp>(loc, x, y).getResult();
  case Combiner::Min:
    return isFloat ? b.create<arith::MinimumFOp>(loc, x, y).getResult() : b.create<arith::MinSIOp>(loc, x, y).getResult();
  case Combiner::UMax:
    return b.create<arith::MaxUIOp>(loc, x, y);
  case Combiner::UMin:
    return b.create<arith::MinUIOp>(loc, x, y);
  case Combiner::And:
    return b.create<arith::AndIOp>(loc, x, y);
  case Combiner::Or:
    return b.create<arith::OrIOp>(loc, x, y);
  case Combiner::Xor:
    return b.create<arith::XOrIOp>(loc, x, y);
  case Combiner::LogAddExp:
    return logAddExp(b, loc, x, y, b.create<arith::MaximumFOp>(loc, x, y));
  }
  return x;
}
