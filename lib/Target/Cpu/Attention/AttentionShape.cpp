//===- AttentionShape.cpp - What an attention's operands and region are ----===//

#include "Attention.h"
#include "AttentionMask.h"
#include "lathe/Lower/AttentionRoles.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::AxisSet;
using lower::BodyInfo;
using shape::Expr;

/// The factor, when the region is exactly a multiplication of the score by a constant (or nothing at all).
static std::optional<double> scaleOf(Value score, Value modified) {
  if (modified == score)
    return 1.0;
  auto mul = modified.getDefiningOp<arith::MulFOp>();
  if (!mul || (mul.getLhs() != score && mul.getRhs() != score))
    return std::nullopt;
  FloatAttr factor;
  Value other = mul.getLhs() == score ? mul.getRhs() : mul.getLhs();
  if (!matchPattern(other, m_Constant(&factor)))
    return std::nullopt;
  return factor.getValueAsDouble();
}

/// Every op that the modified score needs, operands first.
static std::vector<Operation *> regionOps(Value modified, const BodyInfo &info) {
  std::set<unsigned> needed;
  SmallVector<Value> work{modified};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (op && needed.insert(info.position(op)).second)
      work.append(op->operand_begin(), op->operand_end());
  }
  std::vector<Operation *> ops;
  for (unsigned p : needed)
    ops.push_back(info.ops[p]);
  return ops;
}

/// 32-bit lanes carry the element through a transposition.
static bool isTransposable(Type t) { return t.isF32() || t.isInteger(1) || t.isInteger(8) || t.isInteger(32); }

static void findLoads(AttentionShape &s, const BodyInfo &info) {
  llvm::DenseSet<Value> onScore{s.score};
  std::optional<unsigned> queryAxis = info.axisIndex(s.queryAxis);
  AxisSet key = AxisSet(1) << *info.axisIndex(s.keyAxis), query = queryAxis ? AxisSet(1) << *queryAxis : 0;
  for (Operation *op : regionOps(s.modified, info)) {
    if (op->getNumResults() != 1)
      continue;
    Value result = op->getResult(0);
    bool scored = llvm::any_of(op->getOperands(), [&](Value o) { return onScore.contains(o); });
    if (scored)
      onScore.insert(result);
    AxisSet axes = info.axesOf(result);
    if (!scored && !(axes & key) && !op->hasTrait<OpTrait::ConstantLike>())
      s.perQuery.push_back(result);
    auto load = dyn_cast<kernel::LoadOp>(op);
    if (!load || scored || !(axes & key) || !(axes & query) || load.getPredicate() || !load.getIndices().empty() ||
        !isTransposable(load.getType()))
      continue;
    std::optional<Expr::Linear> linear = info.exprOf(op).linearIn(s.keyAxis);
    if (linear && linear->coefficient.isOne())
      s.byKey.push_back(load);
  }
}

static bool isOperandType(Type t) { return t.isF32() || t.isBF16() || t.isF16(); }

std::optional<AttentionShape> AttentionShape::of(const BodyInfo &info) {
  AttentionShape s;
  kernel::AttentionOp op = lower::attentionOf(info);
  std::optional<lower::AttentionRoles> roles = lower::AttentionRoles::of(info);
  if (!roles || !op.getResult().getType().isF32())
    return std::nullopt;
  s.qRef = op.getQ();
  s.kRef = op.getK();
  s.vRef = op.getV();
  s.result = op.getResult();
  s.zeroMasked = op.getZeroMasked();
  s.q = roles->q;
  s.k = roles->k;
  s.v = roles->v;
  s.queryAxis = op.getQueryAxis().str();
  s.keyAxis = op.getKeyAxis().str();
  s.depthAxis = op.getDepthAxis().str();
  s.valueAxis = op.getValueAxis().str();
  s.qType = op.getQ().getType().getElementType();
  s.kType = op.getK().getType().getElementType();
  s.vType = op.getV().getType().getElementType();
  if (!isOperandType(s.qType) || !isOperandType(s.kType) || !isOperandType(s.vType))
    return std::nullopt;

  s.batch = AxisGroup::of(info, roles->batch);
  s.queries = roles->queries;
  s.keys = roles->keys;
  if (s.batch.empty() && !roles->query)
    return std::nullopt;
  if (roles->sharedAxis)
    s.sharedAxis = info.axes[*roles->sharedAxis];
  s.sharing = roles->sharing;
  s.depth = roles->depths;
  s.values = roles->values;
  std::optional<Expr::Linear> query = s.q.linearIn(s.depthAxis), key = s.k.linearIn(s.depthAxis), value = s.v.linearIn(s.valueAxis);
  if (!query || !key || !value || !value->coefficient.isOne() || !s.k.linearIn(s.keyAxis) || !s.v.linearIn(s.keyAxis))
    return std::nullopt;
  s.queryStride = query->coefficient;
  s.keyStride = key->coefficient;

  Block &region = op.getScore().front();
  s.score = region.getArgument(0);
  s.modified = cast<kernel::YieldOp>(region.getTerminator()).getValue();
  if (!s.score.getType().isF32())
    return std::nullopt;
  s.scale = scaleOf(s.score, s.modified);
  findLoads(s, info);
  findKeyBounds(s, info);
  return s;
}
