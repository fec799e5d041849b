//===- SoftmaxMatch.cpp - Softmax as it is written out ---------------------===//

#include "SoftmaxMatch.h"
#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include <cmath>

using namespace mlir;
using namespace lathe;
using namespace lathe::opt;
using namespace lathe::ir;

/// The op at the top of a chain of views that spreads one number per row over the whole row; null when the views do anything
/// else.
static Operation *rowValue(Value spread, const shape::Facts &facts) {
  AxisSpace axes(facts);
  Indices at, row;
  for (const shape::Expr &e : dimsOf(spread))
    at.push_back(axes.spanning({axes.add(e)}));
  row.assign(at.begin(), at.end() - (at.empty() ? 0 : 1));
  Value v = spread;
  while (isView(v.getDefiningOp())) {
    std::optional<Indices> inner = axes.operandOf(v.getDefiningOp(), at);
    if (!inner)
      return nullptr;
    at = *inner;
    v = v.getDefiningOp()->getOperand(0);
  }
  // The reduction's result has the dimensions before the last, or the last with size 1.
  if (at.size() == row.size() + 1 && at.back().isZero())
    at.pop_back();
  if (at.size() != row.size() || !std::equal(at.begin(), at.end(), row.begin()))
    return nullptr;
  return v.getDefiningOp();
}

/// The reduction of `x` over its last dimension that `spread` spreads over the rows.
static ReduceOp rowReduction(Value spread, ReduceKind kind, Value x, const shape::Facts &facts) {
  auto r = dyn_cast_or_null<ReduceOp>(rowValue(spread, facts));
  bool fits = r && r.getKind() == kind && (!x || r.getX() == x) && r.getAxes().size() == 1 &&
              r.getAxes()[0] == typeOf(r.getX()).getRank() - 1;
  return fits ? r : ReduceOp();
}

static std::optional<Softmax> matchQuotient(Value v, const shape::Facts &facts) {
  auto quotient = v.getDefiningOp<DivOp>();
  if (!quotient || !isa<FloatType>(elementOf(v)) || typeOf(v).getRank() < 2)
    return std::nullopt;
  auto e = quotient.getLhs().getDefiningOp<ExpOp>();
  auto centered = e ? e.getX().getDefiningOp<SubOp>() : SubOp();
  if (!centered)
    return std::nullopt;
  ReduceOp sum = rowReduction(quotient.getRhs(), ReduceKind::Sum, e.getResult(), facts);
  ReduceOp max = rowReduction(centered.getRhs(), ReduceKind::Max, centered.getLhs(), facts);
  if (!sum || !max)
    return std::nullopt;
  return Softmax{centered.getLhs(), v, false, {max.getLoc(), e.getLoc(), sum.getLoc(), quotient.getLoc()}};
}

static bool isZeros(Value v) {
  std::optional<double> c = splatValue(v);
  return c && *c == 0;
}

/// `condition` is true exactly where p is NaN (`inverted`: where it is not).
static bool isNanTest(Value condition, Value p, bool inverted) {
  auto c = condition.getDefiningOp<CompareOp>();
  return c && c.getLhs() == p && c.getRhs() == p && c.getKind() == (inverted ? CompareKind::EQ : CompareKind::NE);
}

/// The comparison of x with -inf, of this kind.
static bool isMinusInfTest(Value v, CompareKind kind, Value x) {
  auto c = v.getDefiningOp<CompareOp>();
  std::optional<double> bound = c ? splatValue(c.getRhs()) : std::nullopt;
  return bound && c.getLhs() == x && c.getKind() == kind && std::isinf(*bound) && *bound < 0;
}

/// The op that the value is the result of, but for its form.
static Operation *behindReshapes(Value v) {
  Operation *op = v.getDefiningOp();
  while (isa_and_nonnull<ReshapeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return op;
}

/// The comparison says that the largest number of each row of x is -inf, or that it is not.
static bool isLargestTest(CompareOp c, Value x, bool inverted) {
  auto max = dyn_cast_or_null<ReduceOp>(behindReshapes(c.getLhs()));
  return max && max.getKind() == ReduceKind::Max && max.getX() == x && max.getAxes().size() == 1 &&
         max.getAxes()[0] == typeOf(x).getRank() - 1 && isMinusInfTest(c.getResult(), inverted ? CompareKind::NE : CompareKind::EQ, c.getLhs());
}

/// `condition` is true in rows of x that are -inf throughout (`inverted`: in all others).
static bool isMaskedRowTest(Value condition, Value x, bool inverted, const shape::Facts &facts) {
  if (auto n = condition.getDefiningOp<NotOp>())
    return isMaskedRowTest(n.getX(), x, !inverted, facts);
  Operation *op = rowValue(condition, facts);
  if (auto n = dyn_cast_or_null<NotOp>(op)) {
    inverted = !inverted;
    op = behindReshapes(n.getX());
  }
  if (auto c = dyn_cast_or_null<CompareOp>(op))
    return isLargestTest(c, x, inverted);
  auto r = dyn_cast_or_null<ReduceOp>(op);
  if (!r || r.getAxes().size() != 1 || r.getAxes()[0] != typeOf(r.getX()).getRank() - 1)
    return false;
  return inverted ? r.getKind() == ReduceKind::Or && isMinusInfTest(r.getX(), CompareKind::NE, x)
                  : r.getKind() == ReduceKind::And && isMinusInfTest(r.getX(), CompareKind::EQ, x);
}

/// Every use of v is in one of these ops.
static bool usedOnlyBy(Value v, ArrayRef<Operation *> ops) {
  return llvm::all_of(v.getUsers(), [&](Operation *user) { return llvm::is_contained(ops, user); });
}

std::optional<Softmax> opt::matchSoftmax(Value v, const shape::Facts &facts) {
  if (std::optional<Softmax> plain = matchQuotient(v, facts))
    return plain;
  auto guard = v.getDefiningOp<SelectOp>();
  if (!guard)
    return std::nullopt;
  for (bool inverted : {false, true}) {
    Value zeros = inverted ? guard.getRhs() : guard.getLhs(), p = inverted ? guard.getLhs() : guard.getRhs();
    std::optional<Softmax> inner = isZeros(zeros) ? matchQuotient(p, facts) : std::nullopt;
    if (!inner || !usedOnlyBy(p, {guard, guard.getCondition().getDefiningOp()}))
      continue;
    if (!isNanTest(guard.getCondition(), p, inverted) && !isMaskedRowTest(guard.getCondition(), inner->input, inverted, facts))
      continue;
    inner->result = v;
    inner->zeroMasked = true;
    inner->locations.push_back(guard.getLoc());
    return inner;
  }
  return std::nullopt;
}
