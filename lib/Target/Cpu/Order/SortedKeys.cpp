//===- SortedKeys.cpp - Results of a sort that are its keys ----------------===//

#include "SortedKeys.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace lathe;
using lower::BodyInfo;
using shape::Expr;

/// The value that a place has been kept within an axis of so many elements for: max(min(p < 0 ? .. : p, size - 1), 0), in part or in whole,
/// which changes no place of this axis.
static Value unbounded(const BodyInfo &info, Value place, const Expr &size) {
  for (;;) {
    if (auto most = place.getDefiningOp<arith::MaxSIOp>(); most && matchPattern(most.getRhs(), m_Zero())) {
      place = most.getLhs();
      continue;
    }
    if (auto least = place.getDefiningOp<arith::MinSIOp>()) {
      auto last = least.getRhs().getDefiningOp<kernel::IndexOp>();
      APInt number;
      if (last ? info.exprOf(last) != size - Expr(1)
               : !matchPattern(least.getRhs(), m_ConstantInt(&number)) || size.constant() != number.getSExtValue() + 1)
        return place;
      place = least.getLhs();
      continue;
    }
    auto select = place.getDefiningOp<arith::SelectOp>();
    auto compare = select ? select.getCondition().getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
    if (!compare || compare.getPredicate() != arith::CmpIPredicate::slt || !matchPattern(compare.getRhs(), m_Zero()) ||
        compare.getLhs() != select.getFalseValue())
      return place;
    place = select.getFalseValue();
  }
}

SmallVector<kernel::LoadOp> cpu::loadsOfKeys(const BodyInfo &info, kernel::SortOp sort) {
  auto key = sort.getKey().getDefiningOp<kernel::LoadOp>();
  std::optional<unsigned> axis = info.axisIndex(sort.getAxis());
  SmallVector<kernel::LoadOp> found;
  if (!key || !axis || !key.getIndices().empty() || key.getPredicate() || key.getFill() || key.getType().getIntOrFloatBitWidth() < 8)
    return found;
  Expr placed = info.exprOf(key).substitute({{info.axes[*axis], Expr::indirect(0)}});
  for (Operation *o : info.ops) {
    auto load = dyn_cast<kernel::LoadOp>(o);
    if (load && load.getRef() == key.getRef() && load.getType() == key.getType() && load.getIndices().size() == 1 && !load.getPredicate() &&
        !load.getFill() && info.exprOf(load) == placed &&
        unbounded(info, load.getIndices()[0], info.extents[*axis]) == sort.getResult())
      found.push_back(load);
  }
  return found;
}
