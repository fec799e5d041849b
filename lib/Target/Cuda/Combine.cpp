//===- Combine.cpp - Combining functions of reductions on a GPU ------------===//

#include "Combine.h"
#include "lathe/Lower/LogAddExp.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using kernel::Combiner;

static TypedAttr identityAttr(OpBuilder &b, Combiner kind, Type element) {
  if (auto f = dyn_cast<FloatType>(element)) {
    switch (kind) {
    case Combiner::Mul:
      return b.getFloatAttr(f, 1.0);
    case Combiner::Max:
    case Combiner::LogAddExp:
      return b.getFloatAttr(f, APFloat::getInf(f.getFloatSemantics(), /*Negative=*/true));
    case Combiner::Min:
      return b.getFloatAttr(f, APFloat::getInf(f.getFloatSemantics()));
    default:
      return b.getFloatAttr(f, 0.0);
    }
  }
  unsigned width = element.getIntOrFloatBitWidth();
  switch (kind) {
  case Combiner::Mul:
    return b.getIntegerAttr(element, APInt(width, 1));
  case Combiner::Max:
    return b.getIntegerAttr(element, APInt::getSignedMinValue(width));
  case Combiner::Min:
    return b.getIntegerAttr(element, APInt::getSignedMaxValue(width));
  case Combiner::UMin:
  case Combiner::And:
    return b.getIntegerAttr(element, APInt::getAllOnes(width));
  default:
    return b.getIntegerAttr(element, APInt(width, 0));
  }
}

Value cuda::identityOf(DeviceBuilder &d, Combiner kind, Type type) {
  TypedAttr scalar = identityAttr(d.b, kind, getElementTypeOrSelf(type));
  if (auto v = dyn_cast<VectorType>(type))
    return d.b.create<arith::ConstantOp>(d.loc, DenseElementsAttr::get(v, Attribute(scalar)));
  return d.b.create<arith::ConstantOp>(d.loc, scalar);
}

Value cuda::combine(DeviceBuilder &d, Combiner kind, Value x, Value y) {
  bool real = isa<FloatType>(getElementTypeOrSelf(x.getType()));
  OpBuilder &b = d.b;
  switch (kind) {
  case Combiner::Add:
    return real ? b.create<arith::AddFOp>(d.loc, x, y).getResult() : b.create<arith::AddIOp>(d.loc, x, y).getResult();
  case Combiner::Mul:
    return real ? b.create<arith::MulFOp>(d.loc, x, y).getResult() : b.create<arith::MulIOp>(d.loc, x, y).getResult();
  case Combiner::Max:
    return real ? b.create<arith::MaximumFOp>(d.loc, x, y).getResult() : b.create<arith::MaxSIOp>(d.loc, x, y).getResult();
  case Combiner::Min:
    return real ? b.create<arith::MinimumFOp>(d.loc, x, y).getResult() : b.create<arith::MinSIOp>(d.loc, x, y).getResult();
  case Combiner::UMax:
    return b.create<arith::MaxUIOp>(d.loc, x, y);
  case Combiner::UMin:
    return b.create<arith::MinUIOp>(d.loc, x, y);
  case Combiner::And:
    return b.create<arith::AndIOp>(d.loc, x, y);
  case Combiner::Or:
    return b.create<arith::OrIOp>(d.loc, x, y);
  case Combiner::Xor:
    return b.create<arith::XOrIOp>(d.loc, x, y);
  case Combiner::LogAddExp:
    return lower::logAddExp(b, d.loc, x, y, b.create<arith::MaximumFOp>(d.loc, x, y));
  }
  return x;
}

Value cuda::combineLanes(DeviceBuilder &d, Combiner kind, Value v) {
  auto type = dyn_cast<VectorType>(v.getType());
  if (!type)
    return v;
  Value out = d.extract(v, 0);
  for (int64_t i = 1; i < type.getNumElements(); ++i)
    out = combine(d, kind, out, d.extract(v, i));
  return out;
}
