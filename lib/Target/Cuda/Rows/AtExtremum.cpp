//===- AtExtremum.cpp - Reductions of what stands at a row's extremum -------===//

#include "AtExtremum.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using kernel::Combiner;

static bool isExtremum(Combiner kind) {
  return kind == Combiner::Max || kind == Combiner::Min || kind == Combiner::UMax || kind == Combiner::UMin;
}

/// Widened, an element stays what it is.
static Value bare(Value v) {
  auto wide = v.getDefiningOp<arith::ExtFOp>();
  return wide ? wide.getIn() : v;
}

/// The extremum of elements that were widened for it may be narrowed again.
static kernel::ReduceOp extremumBehind(Value v) {
  v = bare(v);
  if (auto narrow = v.getDefiningOp<arith::TruncFOp>()) {
    auto reduce = narrow.getIn().getDefiningOp<kernel::ReduceOp>();
    return reduce && bare(reduce.getValue()).getType() == v.getType() ? reduce : kernel::ReduceOp();
  }
  return v.getDefiningOp<kernel::ReduceOp>();
}

/// The extremum that x is, where that is what a comparison asks.
static kernel::ReduceOp comparedWith(Value x, Value extremum) {
  kernel::ReduceOp reduce = extremumBehind(extremum);
  return reduce && isExtremum(reduce.getKind()) && bare(reduce.getValue()) == bare(x) ? reduce : kernel::ReduceOp();
}

namespace {
/// What a condition says of the elements at which it holds.
struct Says {
  bool known = false;         ///< they are an extremum, or no numbers
  Value element;              ///< which is no number
  kernel::ReduceOp extremum;  ///< which they are
};
} // namespace

static Says meaningOf(Value condition) {
  Operation *op = condition.getDefiningOp();
  if (auto c = dyn_cast_or_null<arith::CmpFOp>(op)) {
    bool unordered = c.getPredicate() == arith::CmpFPredicate::UNE || c.getPredicate() == arith::CmpFPredicate::UNO;
    if (unordered && c.getLhs() == c.getRhs())
      return {true, bare(c.getLhs()), {}};
    if (c.getPredicate() != arith::CmpFPredicate::OEQ)
      return {};
  } else if (auto c = dyn_cast_or_null<arith::CmpIOp>(op)) {
    if (c.getPredicate() != arith::CmpIPredicate::eq)
      return {};
  } else if (auto both = dyn_cast_or_null<arith::OrIOp>(op)) {
    Says x = meaningOf(both.getLhs()), y = meaningOf(both.getRhs());
    if (!x.known || !y.known)
      return {};
    if (x.extremum && y.extremum)
      return x.extremum == y.extremum ? x : Says();
    Says &equal = x.extremum ? x : y, &none = x.extremum ? y : x;
    return equal.extremum && none.element == bare(equal.extremum.getValue()) ? Says{true, {}, equal.extremum} : Says();
  } else {
    return {};
  }
  for (unsigned side : {0, 1})
    if (kernel::ReduceOp e = comparedWith(op->getOperand(side), op->getOperand(1 - side)))
      return {true, {}, e};
  return {};
}

std::optional<AtExtremum> cuda::atExtremum(const lower::BodyInfo &info, kernel::ReduceOp reduce) {
  auto chosen = reduce.getValue().getDefiningOp<arith::SelectOp>();
  if (!chosen || !(isExtremum(reduce.getKind()) || reduce.getKind() == Combiner::And || reduce.getKind() == Combiner::Or))
    return std::nullopt;
  Says says = meaningOf(chosen.getCondition());
  if (!says.extremum || says.extremum.getAxes() != reduce.getAxes() || (info.axesOf(chosen.getFalseValue()) & info.axesOf(reduce.getAxes())))
    return std::nullopt;
  return AtExtremum{says.extremum, chosen.getFalseValue()};
}
