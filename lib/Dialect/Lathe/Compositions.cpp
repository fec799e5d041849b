//===- Compositions.cpp - Operators in terms of the lathe ops --------------===//

#include "lathe/Dialect/Lathe/GraphBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;
using shape::Expr;

Value GraphBuilder::sigmoid(Value x) {
  Value one = splatLike(1.0, x);
  return div(one, add(one, unary<ExpOp>(unary<NegOp>(x))));
}

Value GraphBuilder::silu(Value x) { return mul(x, sigmoid(x)); }

Value GraphBuilder::gelu(Value x) {
  Value e = unary<ErfOp>(binary<MulOp>(x, M_SQRT1_2));
  return mul(binary<MulOp>(x, 0.5), binary<AddOp>(e, 1.0));
}

Value GraphBuilder::geluTanh(Value x) {
  Value cube = mul(mul(x, x), x);
  Value inner = binary<MulOp>(add(x, binary<MulOp>(cube, 0.044715)), 0.7978845608028654);
  return mul(binary<MulOp>(x, 0.5), binary<AddOp>(unary<TanhOp>(inner), 1.0));
}

Value GraphBuilder::relu(Value x) { return binary<MaxOp>(x, 0.0); }

Value GraphBuilder::softmax(Value x, int64_t axis) {
  Dims dims = dimsOf(x);
  Value m = broadcastTo(reduce(ReduceKind::Max, x, {axis}, /*keepDims=*/true), dims);
  Value e = unary<ExpOp>(sub(x, m));
  Value s = broadcastTo(reduce(ReduceKind::Sum, e, {axis}, true), dims);
  return div(e, s);
}

/// The dimensions from axis on.
static SmallVector<int64_t> axesFrom(Value x, int64_t axis) {
  SmallVector<int64_t> axes;
  for (int64_t d = axis; d < typeOf(x).getRank(); ++d)
    axes.push_back(d);
  return axes;
}

Value GraphBuilder::layerNorm(Value x, int64_t axis, Value scale, Value bias, double eps) {
  SmallVector<int64_t> axes = axesFrom(x, axis);
  Dims dims = dimsOf(x);
  Value centered = sub(x, broadcastTo(mean(x, axes, true), dims));
  Value variance = mean(mul(centered, centered), axes, true);
  Value inverse = unary<RsqrtOp>(binary<AddOp>(variance, eps));
  Value y = mul(centered, broadcastTo(inverse, dims));
  if (scale)
    y = mul(y, broadcastTo(scale, dims));
  return bias ? add(y, broadcastTo(bias, dims)) : y;
}

Value GraphBuilder::rmsNorm(Value x, int64_t axis, Value scale, double eps) {
  Dims dims = dimsOf(x);
  Value inverse = unary<RsqrtOp>(binary<AddOp>(mean(mul(x, x), axesFrom(x, axis), true), eps));
  Value y = mul(x, broadcastTo(inverse, dims));
  return scale ? mul(y, broadcastTo(scale, dims)) : y;
}

Value GraphBuilder::attention(Value q, Value k, Value v, Value mask, bool causal, double scale, bool zeroMasked) {
  Dims dq = dimsOf(q), dv = dimsOf(v);
  Type element = elementOf(q);
  SmallVector<Value> extras;
  if (mask) {
    Dims dm = dimsOf(mask);
    while (dm.size() < 4)
      dm.insert(dm.begin(), Expr(1));
    extras.push_back(reshape(mask, dm));
  }
  auto op = b.create<AttentionOp>(loc, tensorType({dq[0], dq[1], dq[2], dv[3]}, element), q, k, v, extras,
                                  zeroMasked ? b.getUnitAttr() : UnitAttr());
  OpBuilder::InsertionGuard guard(b);
  Block *body = b.createBlock(&op.getScore());
  Value score = body->addArgument(b.getF32Type(), loc);
  Value extra = mask ? Value(body->addArgument(signless(elementOf(mask)), loc)) : Value();
  Value index[4];
  for (Value &i : index)
    i = body->addArgument(b.getI64Type(), loc);
  auto number = [&](float f) -> Value { return b.create<arith::ConstantOp>(loc, b.getF32FloatAttr(f)); };
  Value minusInf = number(-std::numeric_limits<float>::infinity());
  score = b.create<arith::MulFOp>(loc, score, number(scale));
  if (extra && extra.getType().isInteger(1)) {
    score = b.create<arith::SelectOp>(loc, extra, score, minusInf);
  } else if (extra) {
    if (extra.getType().getIntOrFloatBitWidth() < 32)
      extra = b.create<arith::ExtFOp>(loc, b.getF32Type(), extra);
    else if (extra.getType().isF64())
      extra = b.create<arith::TruncFOp>(loc, b.getF32Type(), extra);
    score = b.create<arith::AddFOp>(loc, score, extra);
  }
  if (causal) {
    Value seen = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sle, index[3], index[2]);
    score = b.create<arith::SelectOp>(loc, seen, score, minusInf);
  }
  b.create<YieldOp>(loc, score);
  return op.getResult();
}
