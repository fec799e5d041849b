//===- AttentionMask.cpp - Keys that a score region masks out --------------===//
//
// A score is -inf, and its key without effect, where a select yields -inf, alone or as an addend of the score. When the
// select's condition compares affine expressions of the key and the query positions, the keys that count form a range.
// Causal masks and sliding windows have this form. Other conditions are evaluated key by key.
//
//===----------------------------------------------------------------------===//

#include "AttentionMask.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyInfo;
using shape::Expr;

namespace {
class BoundFinder {
public:
  BoundFinder(AttentionShape &s, const BodyInfo &info) : s(s), info(info) {}
  /// `v` is an addend of the score, or the score.
  void visitScore(Value v, unsigned depth = 0);

private:
  void visitCondition(Value c, bool holds, unsigned depth = 0);
  void addComparison(arith::CmpIPredicate p, const Expr &x, const Expr &y);
  void addAtMost(const Expr &x, const Expr &y);
  std::optional<Expr> indexOf(Value v, unsigned depth = 0);

  static constexpr unsigned maxDepth = 32;
  AttentionShape &s;
  const BodyInfo &info;
};
} // namespace

static bool isMinusInfinity(Value v) {
  FloatAttr a;
  return matchPattern(v, m_Constant(&a)) && a.getValue().isInfinity() && a.getValue().isNegative();
}

void BoundFinder::visitScore(Value v, unsigned depth) {
  if (depth > maxDepth)
    return;
  if (auto add = v.getDefiningOp<arith::AddFOp>()) {
    visitScore(add.getLhs(), depth + 1);
    visitScore(add.getRhs(), depth + 1);
  } else if (auto select = v.getDefiningOp<arith::SelectOp>()) {
    if (isMinusInfinity(select.getFalseValue())) {
      visitCondition(select.getCondition(), true);
      visitScore(select.getTrueValue(), depth + 1);
    } else if (isMinusInfinity(select.getTrueValue())) {
      visitCondition(select.getCondition(), false);
      visitScore(select.getFalseValue(), depth + 1);
    }
  }
}

/// Keys count only where the condition is `holds`.
void BoundFinder::visitCondition(Value c, bool holds, unsigned depth) {
  if (depth > maxDepth)
    return;
  Operation *op = c.getDefiningOp();
  bool both = holds ? isa_and_nonnull<arith::AndIOp>(op) : isa_and_nonnull<arith::OrIOp>(op);
  APInt one;
  if (both) {
    visitCondition(op->getOperand(0), holds, depth + 1);
    visitCondition(op->getOperand(1), holds, depth + 1);
  } else if (isa_and_nonnull<arith::XOrIOp>(op) && matchPattern(op->getOperand(1), m_ConstantInt(&one)) && one.isOne()) {
    visitCondition(op->getOperand(0), !holds, depth + 1);
  } else if (auto cmp = dyn_cast_or_null<arith::CmpIOp>(op)) {
    std::optional<Expr> x = indexOf(cmp.getLhs()), y = indexOf(cmp.getRhs());
    if (x && y)
      addComparison(holds ? cmp.getPredicate() : arith::invertPredicate(cmp.getPredicate()), *x, *y);
  }
}

void BoundFinder::addComparison(arith::CmpIPredicate p, const Expr &x, const Expr &y) {
  switch (p) {
  case arith::CmpIPredicate::sle:
    return addAtMost(x, y);
  case arith::CmpIPredicate::slt:
    return addAtMost(x + 1, y);
  case arith::CmpIPredicate::sge:
    return addAtMost(y, x);
  case arith::CmpIPredicate::sgt:
    return addAtMost(y + 1, x);
  case arith::CmpIPredicate::eq:
    addAtMost(x, y);
    return addAtMost(y, x);
  default:
    return;
  }
}

/// Notes x <= y where it bounds the key by an expression that does not decrease with the query.
void BoundFinder::addAtMost(const Expr &x, const Expr &y) {
  std::optional<Expr::Linear> key = (y - x).linearIn(s.keyAxis);
  std::optional<int64_t> sign = key ? key->coefficient.constant() : std::nullopt;
  if (!sign || (*sign != 1 && *sign != -1))
    return;
  Expr bound = *sign == 1 ? -key->rest : key->rest; // key >= bound, or key <= bound
  std::optional<Expr::Linear> query = bound.linearIn(s.queryAxis);
  std::optional<int64_t> slope = query ? query->coefficient.constant() : std::nullopt;
  if (!slope || *slope < 0)
    return;
  if (*sign == 1)
    s.lower.push_back(bound);
  else
    s.upper.push_back(bound + 1);
}

/// A position as an expression of axes and sizes. Widths below 64 bits may wrap and are left alone.
std::optional<Expr> BoundFinder::indexOf(Value v, unsigned depth) {
  Operation *op = v.getDefiningOp();
  if (!op || depth > maxDepth || !v.getType().isInteger(64))
    return std::nullopt;
  APInt constant;
  if (matchPattern(v, m_ConstantInt(&constant)))
    return constant.isSignedIntN(48) ? std::optional<Expr>(Expr(constant.getSExtValue())) : std::nullopt;
  if (auto index = dyn_cast<kernel::IndexOp>(op); index && index.getIndices().empty())
    return info.exprOf(index);
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return std::nullopt;
  std::optional<Expr> x = indexOf(op->getOperand(0), depth + 1), y = indexOf(op->getOperand(1), depth + 1);
  if (!x || !y)
    return std::nullopt;
  return isa<arith::AddIOp>(op) ? *x + *y : isa<arith::SubIOp>(op) ? *x - *y : *x * *y;
}

void lathe::cpu::findKeyBounds(AttentionShape &s, const BodyInfo &info) { BoundFinder(s, info).visitScore(s.modified); }
