//===- PlainKernel.cpp - Contractions and attention as plain reductions ----===//

#include "lathe/Lower/PlainKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace lathe;
using kernel::Combiner;
using shape::Expr;

static Value load(OpBuilder &b, Location loc, Value ref, StringRef offset) {
  Type type = cast<kernel::RefType>(ref.getType()).getElementType();
  return b.create<kernel::LoadOp>(loc, type, ref, offset, ValueRange{}, Value(), Value());
}

/// To the wider type of an accumulation.
static Value widen(OpBuilder &b, Location loc, Value v, Type type) {
  if (v.getType() == type)
    return v;
  if (isa<FloatType>(type))
    return isa<FloatType>(v.getType()) ? b.create<arith::ExtFOp>(loc, type, v).getResult()
                                       : b.create<arith::SIToFPOp>(loc, type, v).getResult();
  return b.create<arith::ExtSIOp>(loc, type, v);
}

static Value product(OpBuilder &b, Location loc, Value x, Value y, Type type) {
  x = widen(b, loc, x, type);
  y = widen(b, loc, y, type);
  if (isa<FloatType>(type))
    return b.create<arith::MulFOp>(loc, x, y);
  return b.create<arith::MulIOp>(loc, x, y);
}

static Value reduce(OpBuilder &b, Location loc, Combiner kind, Value v, ArrayAttr axes) {
  return b.create<kernel::ReduceOp>(loc, v.getType(), kind, v, axes);
}

/// Half types accumulate in f32.
static Type accumulator(OpBuilder &b, Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32 ? Type(b.getF32Type()) : type;
}

static void replaceContract(kernel::ContractOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Type type = accumulator(b, op.getType());
  Value x = load(b, loc, op.getLhs(), op.getLhsOffset()), y = load(b, loc, op.getRhs(), op.getRhsOffset());
  Value sum = reduce(b, loc, Combiner::Add, product(b, loc, x, y, type), op.getAxes());
  if (type != op.getType())
    sum = b.create<arith::TruncFOp>(loc, op.getType(), sum);
  op.replaceAllUsesWith(sum);
  op.erase();
}

/// The score region on a score, before the builder.
static Value modifiedScore(OpBuilder &b, kernel::AttentionOp op, Value score) {
  IRMapping map;
  Block &body = op.getScore().front();
  Type given = body.getArgument(0).getType();
  if (score.getType() != given)
    score = b.create<arith::TruncFOp>(op.getLoc(), given, score);
  map.map(body.getArgument(0), score);
  for (Operation &o : body.without_terminator())
    b.clone(o, map);
  return map.lookupOrDefault(body.getTerminator()->getOperand(0));
}

/// Softmax written out: maximum, exponentials, sum, quotient.
static void replaceAttention(kernel::AttentionOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Type type = accumulator(b, op.getType());
  ArrayAttr depth = b.getStrArrayAttr({op.getDepthAxis()}), key = b.getStrArrayAttr({op.getKeyAxis()});
  Value dot = product(b, loc, load(b, loc, op.getQ(), op.getQOffset()), load(b, loc, op.getK(), op.getKOffset()), type);
  Value score = widen(b, loc, modifiedScore(b, op, reduce(b, loc, Combiner::Add, dot, depth)), type);
  Value top = reduce(b, loc, Combiner::Max, score, key);
  Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(type));
  if (op.getZeroMasked()) {
    APFloat inf = APFloat::getInf(cast<FloatType>(type).getFloatSemantics(), /*Negative=*/true);
    Value none = b.create<arith::ConstantOp>(loc, b.getFloatAttr(type, inf));
    Value masked = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, top, none);
    top = b.create<arith::SelectOp>(loc, masked, zero, top);
  }
  Value weight = b.create<math::ExpOp>(loc, b.create<arith::SubFOp>(loc, score, top));
  Value total = reduce(b, loc, Combiner::Add, weight, key);
  Value v = load(b, loc, op.getV(), op.getVOffset());
  Value sum = reduce(b, loc, Combiner::Add, product(b, loc, weight, v, type), key);
  Value result = b.create<arith::DivFOp>(loc, sum, total);
  if (op.getZeroMasked()) {
    Value empty = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, total, zero);
    result = b.create<arith::SelectOp>(loc, empty, zero, result);
  }
  if (type != op.getType())
    result = b.create<arith::TruncFOp>(loc, op.getType(), result);
  op.replaceAllUsesWith(result);
  op.erase();
}

bool lower::makePlain(kernel::GenericOp kernel) {
  SmallVector<Operation *> ops;
  bool packed = false;
  kernel.getBody().walk([&](Operation *op) {
    if (isa<kernel::ContractOp, kernel::AttentionOp>(op))
      ops.push_back(op);
    packed |= op->hasAttr("packed");
  });
  if (packed)
    return false;
  for (Operation *op : ops) {
    if (auto c = dyn_cast<kernel::ContractOp>(op))
      replaceContract(c);
    else
      replaceAttention(cast<kernel::AttentionOp>(op));
  }
  if (!ops.empty())
    kernel.setKernelClass(kernel::KernelClass::Reduction);
  return true;
}
