//===- AttentionScore.cpp - What an attention does with its scores ---------===//

#include "AttentionScore.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

ScoreForm::ScoreForm(kernel::AttentionOp op) {
  Block &region = op.getScore().front();
  Value raw = region.getArgument(0);
  score = region.getTerminator()->getOperand(0);
  auto select = score.getDefiningOp<arith::SelectOp>();
  FloatAttr other, by;
  if (select && matchPattern(select.getFalseValue(), m_Constant(&other)) && other.getValue().isInfinity() && other.getValue().isNegative()) {
    seen = select.getCondition();
    score = select.getTrueValue();
  }
  auto times = score.getDefiningOp<arith::MulFOp>();
  isProduct = score == raw && raw.getType().isF32();
  if (times && raw.getType().isF32() && times.getLhs() == raw && matchPattern(times.getRhs(), m_Constant(&by)) && by.getValueAsDouble() > 0) {
    score = raw;
    isProduct = true;
    factor *= by.getValueAsDouble();
  }
}

std::optional<Expr> ScoreForm::lastKey(const AttentionProblem &p, const lower::BodyInfo &info) const {
  auto compare = seen ? seen.getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
  if (!compare)
    return std::nullopt;
  auto key = compare.getLhs().getDefiningOp<kernel::IndexOp>(), bound = compare.getRhs().getDefiningOp<kernel::IndexOp>();
  if (!key || !bound || !bound.getIndices().empty() || key.getIndexExpr() != Expr::symbol(info.axes[p.roles.key]))
    return std::nullopt;
  auto linear = bound.getIndexExpr().linearIn(info.axes[p.query]);
  if (!linear || !linear->coefficient.isOne() || info.axesOf(linear->rest))
    return std::nullopt;
  if (compare.getPredicate() == arith::CmpIPredicate::sle)
    return bound.getIndexExpr();
  return compare.getPredicate() == arith::CmpIPredicate::slt ? std::optional<Expr>(bound.getIndexExpr() - Expr(1)) : std::nullopt;
}
