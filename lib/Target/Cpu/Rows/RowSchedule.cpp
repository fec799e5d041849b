//===- RowSchedule.cpp - How a row program runs through its axes -----------===//

#include "RowSchedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::AxisSet;
using lower::BodyInfo;
using shape::Expr;

static bool has(AxisSet set, unsigned axis) { return set >> axis & 1; }

void cpu::bindItem(VectorBuilder &v, lower::BodyEmitter &point, const BodyInfo &info, ArrayRef<unsigned> axes, Value item) {
  for (unsigned a : llvm::reverse(axes))
    point.bindAxis(info.axes[a], v.takeLast(item, point.emitExpr(info.extents[a])));
}

Expr cpu::laneBlocks(const BodyInfo &info, const RowSchedule &s) {
  return s.laneBlock ? Expr::ceildiv(info.extents[*s.lane], s.laneBlock) : Expr(1);
}

Expr cpu::jammedExtent(const BodyInfo &info, const RowSchedule &s, unsigned axis) {
  return axis == s.jam ? Expr::floordiv(info.extents[axis], s.jamFactor) : info.extents[axis];
}

void cpu::planRows(const BodyInfo &info, const RowSchedule &s, KernelPlan &plan) {
  AxisSet items = 0;
  plan.items = laneBlocks(info, s);
  for (unsigned a : s.itemAxes) {
    plan.items = plan.items * jammedExtent(info, s, a);
    items |= AxisSet(1) << a;
  }
  // Ops with the same axes inside an item run equally often.
  std::map<AxisSet, int64_t> quarters;
  for (Operation *op : info.ops) {
    AxisSet domain = info.domainOf(op);
    if (auto r = dyn_cast<kernel::ReduceOp>(op))
      domain |= info.axesOf(r.getAxes());
    int64_t bytes = isa<kernel::LoadOp, kernel::StoreOp>(op) ? std::max(1u, schedule::accessedType(op).getIntOrFloatBitWidth() / 8) : 0;
    quarters[domain & ~items] += bytes ? bytes : 4 * int64_t(weightOf(op));
  }
  plan.cost = 0;
  for (auto [axes, weight] : quarters) {
    Expr points = (weight + 3) / 4 * s.jamFactor;
    for (unsigned a = 0; a < info.axes.size(); ++a)
      if (has(axes, a))
        points = points * (s.laneBlock && a == *s.lane ? Expr::min(info.extents[a], s.laneBlock) : info.extents[a]);
    plan.cost = plan.cost + points;
  }
}
