//===- EdgeCompares.cpp - Where a row's predicates begin and end to hold ----===//

#include "EdgeCompares.h"
#include "lathe/Lower/BodySlices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::AxisSet;
using shape::Expr;

std::vector<EdgeCompare> cpu::edgeCompares(const lower::BodyInfo &info, unsigned lane, AxisSet bound) {
  std::vector<EdgeCompare> out;
  AxisSet along = AxisSet(1) << lane;
  for (Operation *op : info.ops) {
    auto compare = dyn_cast<arith::CmpIOp>(op);
    auto index = compare ? compare.getLhs().getDefiningOp<kernel::IndexOp>() : kernel::IndexOp();
    bool low = compare && compare.getPredicate() == arith::CmpIPredicate::sge;
    bool high = compare && compare.getPredicate() == arith::CmpIPredicate::slt;
    if (!index || !index.getIndices().empty() || !(low || high) || (info.axesOf(compare.getLhs()) & ~(bound | along)) ||
        (info.axesOf(compare.getRhs()) & ~bound) || lower::indexOf(compare.getRhs()).isUnknown())
      continue;
    std::optional<Expr::Linear> linear = info.exprOf(index).linearIn(info.axes[lane]);
    std::optional<int64_t> step = linear ? linear->coefficient.constant() : std::nullopt;
    if (step && *step > 0)
      out.push_back({op, low, *step, linear->rest, lower::indexOf(compare.getRhs())});
  }
  return out;
}
