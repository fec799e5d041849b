//===- StrengthenMasks.cpp - Masks with very small finite numbers ----------===//
//
// Exports mask with the smallest finite number, so that a row without any visible key is no NaN. Where each query sees the key
// at its own position no such row exists; the masked scores then are so far below the row's maximum that their weights
// are 0, and -inf says the same.
//
//===----------------------------------------------------------------------===//

#include "ScoreRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include <algorithm>

using namespace mlir;
using namespace lathe;
using namespace lathe::opt;
using shape::Expr;

/// Far below any score that is not masked itself.
constexpr double kMasked = -1e37;
constexpr unsigned kMaxDepth = 64;

namespace {
class Diagonal {
public:
  Diagonal(Block &body, ArrayRef<ExtraOrigin> origins, ArrayRef<Expr> base, const shape::Facts &facts)
      : body(body), origins(origins), facts(facts.clone()) {
    this->facts.setAxis(Expr::variable("q").str(), base[ScoreRegion::Q]);
    everyQueryHasKey = facts.provablyLessEqual(base[ScoreRegion::Q], base[ScoreRegion::K]);
  }
  void run();

private:
  bool visitScore(Value v, unsigned depth);
  bool isMask(Value v, Value &chosen);
  bool holds(Value condition, unsigned depth);
  bool same(Value x, Value y, unsigned depth);
  std::optional<Expr> positionOf(Value v, unsigned depth);
  unsigned axisOf(BlockArgument a) const { return a.getArgNumber() - 1 - origins.size(); }
  bool isExtra(Value v) const {
    auto a = dyn_cast<BlockArgument>(v);
    return a && a.getArgNumber() >= 1 && a.getArgNumber() <= origins.size();
  }

  Block &body;
  ArrayRef<ExtraOrigin> origins;
  shape::Facts facts;
  bool everyQueryHasKey = false;
  SmallVector<arith::SelectOp> masks;
};
} // namespace

static std::optional<double> floatConstant(Value v) {
  FloatAttr a;
  return matchPattern(v, m_Constant(&a)) ? std::optional<double>(a.getValueAsDouble()) : std::nullopt;
}

static bool isConstantBelow(Value v, double bound) {
  std::optional<double> c = floatConstant(v);
  return c && *c <= bound;
}

/// A position at key = query; b, h and extra sizes included.
std::optional<Expr> Diagonal::positionOf(Value v, unsigned depth) {
  if (depth > kMaxDepth || !v.getType().isInteger(64))
    return std::nullopt;
  if (isExtra(v)) {
    const ExtraOrigin &o = origins[cast<BlockArgument>(v).getArgNumber() - 1];
    return o.tensor ? std::nullopt : std::optional<Expr>(o.size);
  }
  if (auto a = dyn_cast<BlockArgument>(v)) {
    static const char *names[] = {"b", "h", "q", "q"};
    return Expr::variable(names[axisOf(a)]);
  }
  APInt c;
  if (matchPattern(v, m_ConstantInt(&c)))
    return Expr(c.getSExtValue());
  Operation *op = v.getDefiningOp();
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return std::nullopt;
  std::optional<Expr> x = positionOf(op->getOperand(0), depth + 1), y = positionOf(op->getOperand(1), depth + 1);
  if (!x || !y)
    return std::nullopt;
  return isa<arith::AddIOp>(op) ? *x + *y : isa<arith::SubIOp>(op) ? *x - *y : *x * *y;
}

/// Both values are the same number at key = query.
bool Diagonal::same(Value x, Value y, unsigned depth) {
  if (x == y)
    return true;
  if (isExtra(x) && isExtra(y)) {
    ExtraOrigin a = origins[cast<BlockArgument>(x).getArgNumber() - 1], b = origins[cast<BlockArgument>(y).getArgNumber() - 1];
    for (Indices *at : {&a.at, &b.at})
      for (Index &i : *at)
        std::replace(i.axes.begin(), i.axes.end(), unsigned(ScoreRegion::K), unsigned(ScoreRegion::Q));
    return a.tensor && a.tensor == b.tensor && a.at == b.at;
  }
  Operation *p = x.getDefiningOp(), *q = y.getDefiningOp();
  if (!p || !q || depth > kMaxDepth || p->getName() != q->getName() || p->getAttrDictionary() != q->getAttrDictionary() ||
      p->getNumOperands() != q->getNumOperands())
    return false;
  return llvm::all_of(llvm::zip(p->getOperands(), q->getOperands()),
                      [&](auto pair) { return same(std::get<0>(pair), std::get<1>(pair), depth + 1); });
}

/// The condition is true at key = query.
bool Diagonal::holds(Value condition, unsigned depth) {
  Operation *op = condition.getDefiningOp();
  APInt c;
  if (!op || depth > kMaxDepth)
    return false;
  if (matchPattern(condition, m_ConstantInt(&c)))
    return c.isOne();
  if (isa<arith::AndIOp>(op))
    return holds(op->getOperand(0), depth + 1) && holds(op->getOperand(1), depth + 1);
  if (isa<arith::OrIOp>(op))
    return holds(op->getOperand(0), depth + 1) || holds(op->getOperand(1), depth + 1);
  auto cmp = dyn_cast<arith::CmpIOp>(op);
  if (!cmp)
    return false;
  using P = arith::CmpIPredicate;
  P p = cmp.getPredicate();
  bool reflexive = p == P::eq || p == P::sle || p == P::sge || p == P::ule || p == P::uge;
  if (reflexive && same(cmp.getLhs(), cmp.getRhs(), 0))
    return true;
  std::optional<Expr> x = positionOf(cmp.getLhs(), 0), y = positionOf(cmp.getRhs(), 0);
  if (!x || !y)
    return false;
  return p == P::sle   ? facts.provablyLessEqual(*x, *y)
         : p == P::slt ? facts.provablyLess(*x, *y)
         : p == P::sge ? facts.provablyLessEqual(*y, *x)
         : p == P::sgt ? facts.provablyLess(*y, *x)
                       : p == P::eq && facts.provablyEqual(*x, *y);
}

/// A choice between something and a masking constant, which leaves the diagonal alone.
bool Diagonal::isMask(Value v, Value &chosen) {
  auto select = v.getDefiningOp<arith::SelectOp>();
  if (!select || !isConstantBelow(select.getFalseValue(), kMasked) || !holds(select.getCondition(), 0))
    return false;
  chosen = select.getTrueValue();
  masks.push_back(select);
  return true;
}

/// The score is the raw one, scaled or capped, under masks that leave the diagonal alone, and nothing else.
bool Diagonal::visitScore(Value v, unsigned depth) {
  if (v == body.getArgument(0))
    return true;
  Operation *op = v.getDefiningOp();
  if (!op || depth > kMaxDepth)
    return false;
  if (isa<math::TanhOp>(op))
    return visitScore(op->getOperand(0), depth + 1);
  if (isa<arith::MulFOp, arith::DivFOp>(op) && floatConstant(op->getOperand(1)))
    return visitScore(op->getOperand(0), depth + 1);
  Value chosen;
  if (isa<arith::AddFOp>(op)) {
    for (unsigned side : {0, 1})
      if (isMask(op->getOperand(side), chosen))
        return floatConstant(chosen) == 0.0 && visitScore(op->getOperand(1 - side), depth + 1);
    return false;
  }
  return isMask(v, chosen) && visitScore(chosen, depth + 1);
}

void Diagonal::run() {
  Value score = body.getTerminator()->getOperand(0);
  if (!everyQueryHasKey || !visitScore(score, 0))
    return;
  for (arith::SelectOp mask : masks) {
    OpBuilder b(mask);
    Type type = mask.getType();
    Attribute inf = FloatAttr::get(type, APFloat::getInf(cast<FloatType>(type).getFloatSemantics(), /*Negative=*/true));
    mask.setOperand(2, b.create<arith::ConstantOp>(mask.getLoc(), cast<TypedAttr>(inf)));
  }
}

void opt::strengthenMasks(Block &body, ArrayRef<ExtraOrigin> origins, ArrayRef<Expr> base, const shape::Facts &facts) {
  Diagonal(body, origins, base, facts).run();
}
