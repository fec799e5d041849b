//===- RowSerial.cpp - Root values that one thread computes alone ----------===//

#include "../Combine.h"
#include "../Contraction/ContractionShape.h"
#include "RowEmitter.h"
#include "lathe/Lower/AttentionRoles.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using shape::Expr;

/// Root values that the op needs and that the point does not have, in body order.
static std::vector<Value> missingRoots(const BodyEmitter &point, const lower::BodyInfo &info, Operation *user) {
  std::map<unsigned, Value> found;
  llvm::DenseSet<Value> seen;
  SmallVector<Value> work(user->getOperands());
  for (Region &region : user->getRegions())
    region.walk([&](Operation *inner) { work.append(inner->operand_begin(), inner->operand_end()); });
  while (!work.empty()) {
    Value v = work.pop_back_val();
    Operation *op = v.getDefiningOp();
    if (!op || point.boundValue(v) || !seen.insert(v).second)
      continue;
    if (lower::isRootValue(v))
      found[info.position(op)] = v;
    else
      work.append(op->operand_begin(), op->operand_end());
  }
  std::vector<Value> out;
  for (auto &[position, v] : found)
    out.push_back(v);
  return out;
}

void RowEmitter::bindRoots(BodyEmitter &point, Operation *user, unsigned depth) {
  for (Value root : missingRoots(point, info, user))
    if (!point.boundValue(root))
      point.bindValue(root, serial(point, root.getDefiningOp(), depth));
}

/// The point of the result's axes: the row, and below it what `point` is at.
BodyEmitter RowEmitter::atResult(BodyEmitter &point, Value result) {
  BodyEmitter fresh = base;
  AxisSet set = info.axesOf(result) & ~axes.rows;
  for (unsigned i = 0; i < info.axes.size(); ++i) {
    if (!lower::contains(set, i))
      continue;
    Value at = point.axisValue(info.axes[i]);
    if (int(i) == s.lane && point.laneWidth() > 1)
      fresh.bindLane(info.axes[i], at, s.width);
    else
      fresh.bindAxis(info.axes[i], at);
  }
  return fresh;
}

Value RowEmitter::serialLoop(BodyEmitter &point, AxisSet set, Value init,
                             llvm::function_ref<Value(BodyEmitter &, Value)> body) {
  if (!set)
    return body(point, init);
  unsigned axis = llvm::countr_zero(set);
  Value zero = d.i64(0), one = d.i64(1);
  return d.loop(zero, frame.size(info.extents[axis]), one, init, [&](Value i, ValueRange carried) {
    BodyEmitter inside = point;
    inside.bindAxis(info.axes[axis], i);
    return Values{serialLoop(inside, set & (set - 1), carried[0], body)};
  })[0];
}

Value RowEmitter::serial(BodyEmitter &point, Operation *root, unsigned depth) {
  Value result = root->getResult(0);
  if (depth > 8)
    return point.emit(result); // reports the value as not computed
  BodyEmitter fresh = atResult(point, result);
  auto reduce = dyn_cast<kernel::ReduceOp>(root);
  if (!reduce) {
    if (auto contract = dyn_cast<kernel::ContractOp>(root))
      return serialContract(fresh, contract);
    return serialAttention(fresh, cast<kernel::AttentionOp>(root), depth);
  }
  // What does not vary inside is computed once, before the loops.
  AxisSet reduced = info.axesOf(reduce.getAxes());
  for (Value needed : missingRoots(fresh, info, root))
    if (!(info.axesOf(needed) & reduced)) {
      Value known = point.boundValue(needed);
      fresh.bindValue(needed, known ? known : serial(fresh, needed.getDefiningOp(), depth + 1));
    }
  Type type = fresh.variesInLanes(result) ? d.vector(fresh.laneWidth(), result.getType()) : result.getType();
  return serialLoop(fresh, reduced, identityOf(d, reduce.getKind(), type), [&](BodyEmitter &at, Value sum) {
    bindRoots(at, root, depth + 1);
    Value v = at.emit(reduce.getValue());
    return combine(d, reduce.getKind(), sum, isa<VectorType>(type) ? at.splat(v) : v);
  });
}

Value RowEmitter::loadAt(BodyEmitter &point, Value ref, const Expr &offset) {
  Value index = point.emitExpr(offset);
  Value buffer = frame.refs[cast<BlockArgument>(ref).getArgNumber()];
  Type element = cast<kernel::RefType>(ref.getType()).getElementType();
  unsigned bytes = std::max(1u, element.getIntOrFloatBitWidth() / 8);
  auto vector = dyn_cast<VectorType>(index.getType());
  if (!vector)
    return d.load(element, d.at(buffer, index, element), bytes);
  auto type = VectorType::get(vector.getShape(), element);
  Value out = d.b.create<arith::ConstantOp>(d.loc, d.b.getZeroAttr(type));
  for (int64_t i = 0; i < vector.getNumElements(); ++i)
    out = d.insert(out, d.load(element, d.at(buffer, d.extract(index, i), element), bytes), i);
  return out;
}

/// A product's factor in the type of the sum.
static Value widen(DeviceBuilder &d, Value v, Type element) {
  Type from = getElementTypeOrSelf(v.getType());
  if (from == element)
    return v;
  if (isa<FloatType>(from))
    return d.convertF(v, element);
  Type to = isa<VectorType>(v.getType()) ? Type(VectorType::get(cast<VectorType>(v.getType()).getShape(), element)) : element;
  return d.b.create<arith::ExtSIOp>(d.loc, to, v);
}

Value RowEmitter::serialContract(BodyEmitter &fresh, kernel::ContractOp op) {
  ContractionShape shape(info, op);
  Type result = op.getType();
  bool real = isa<FloatType>(result);
  Type element = real && result.getIntOrFloatBitWidth() < 32 ? d.f32Type() : result;
  Type type = fresh.variesInLanes(op.getResult()) ? d.vector(fresh.laneWidth(), element) : element;
  Value zero = d.b.create<arith::ConstantOp>(d.loc, d.b.getZeroAttr(type));
  Value sum = serialLoop(fresh, shape.contracted, zero, [&](BodyEmitter &at, Value sum) {
    Value a = widen(d, loadAt(at, op.getLhs(), shape.lhs), element);
    Value b = widen(d, loadAt(at, op.getRhs(), shape.rhs), element);
    if (isa<VectorType>(type)) {
      a = at.splat(a);
      b = at.splat(b);
    }
    return real ? d.fma(a, b, sum) : d.add(sum, d.b.create<arith::MulIOp>(d.loc, a, b));
  });
  return real ? d.convertF(sum, result) : sum;
}

/// Softmax as it goes along the keys: the largest score so far, the sum of exponentials, the weighted sum of values.
Value RowEmitter::serialAttention(BodyEmitter &fresh, kernel::AttentionOp op, unsigned depth) {
  std::optional<lower::AttentionRoles> shape = lower::AttentionRoles::of(info, op);
  if (!shape)
    return {};
  Type f32 = d.f32Type();
  Type type = fresh.variesInLanes(op.getResult()) ? d.vector(fresh.laneWidth(), f32) : f32;
  int64_t width = isa<VectorType>(type) ? fresh.laneWidth() : 1;
  auto exp = [&](Value x) -> Value { return d.b.create<math::ExpOp>(d.loc, x); };
  Value zero = d.i64(0), one = d.i64(1);
  Values init = {d.f32(-1e30), d.f32(0), d.real(type, 0)};
  Values out = d.loop(zero, frame.size(info.extents[shape->key]), one, init, [&](Value k, ValueRange carried) {
    BodyEmitter at = fresh;
    at.bindAxis(info.axes[shape->key], k);
    Value raw = serialLoop(at, AxisSet(1) << shape->depth, d.f32(0), [&](BodyEmitter &in, Value sum) {
      return d.fma(d.convertF(loadAt(in, op.getQ(), shape->q), f32), d.convertF(loadAt(in, op.getK(), shape->k), f32), sum);
    });
    Block &region = op.getScore().front();
    at.bindValue(region.getArgument(0), d.convertF(raw, region.getArgument(0).getType()));
    Value score = d.convertF(at.emit(region.getTerminator()->getOperand(0)), f32);
    Value top = d.maxF(carried[0], score);
    Value keep = exp(d.subF(carried[0], top)), weight = exp(d.subF(score, top));
    Value v = d.convertF(loadAt(at, op.getV(), shape->v), f32);
    if (width > 1)
      v = at.splat(v);
    Value sum = d.fma(carried[1], keep, weight);
    Value o = d.fma(d.splat(weight, width), v, d.mulF(carried[2], d.splat(keep, width)));
    return Values{top, sum, o};
  });
  Value o = d.b.create<arith::DivFOp>(d.loc, out[2], d.splat(out[1], width));
  if (op.getZeroMasked()) {
    Value empty = d.b.create<arith::CmpFOp>(d.loc, arith::CmpFPredicate::OEQ, out[1], d.f32(0));
    o = d.select(empty, d.real(type, 0), o);
  }
  return d.convertF(o, op.getType());
}
