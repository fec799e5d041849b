//===- LogAddExp.cpp - log(exp(x) + exp(y)) --------------------------------===//

#include "lathe/Lower/LogAddExp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

Value lathe::lower::logAddExp(OpBuilder &b, Location loc, Value x, Value y, Value most) {
  auto type = cast<FloatType>(getElementTypeOrSelf(most.getType()));
  TypedAttr inf = b.getFloatAttr(type, APFloat::getInf(type.getFloatSemantics()));
  if (auto vector = dyn_cast<VectorType>(most.getType()))
    inf = DenseElementsAttr::get(vector, Attribute(inf));
  Value apart = b.create<math::AbsFOp>(loc, b.create<arith::SubFOp>(loc, x, y));
  Value rest = b.create<math::Log1pOp>(loc, b.create<math::ExpOp>(loc, b.create<arith::NegFOp>(loc, apart)));
  Value isFinite = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::ULT, b.create<math::AbsFOp>(loc, most),
                                           b.create<arith::ConstantOp>(loc, inf)); // or NaN
  return b.create<arith::SelectOp>(loc, isFinite, b.create<arith::AddFOp>(loc, most, rest), most);
}
