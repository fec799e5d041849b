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

Interior::Interior(const lower::BodyInfo &info, Value value, unsigned lane, AxisSet bound) {
  llvm::DenseSet<Operation *> asked = lower::opsBelow(value);
  for (const EdgeCompare &e : edgeCompares(info, lane, bound))
    if (asked.contains(e.op))
      edges.push_back(e);
  for (Operation *op : info.ops)
    if (isa<arith::CmpIOp>(op) && asked.contains(op) && !(info.axesOf(op->getResult(0)) & ~(bound & ~(AxisSet(1) << lane))) &&
        llvm::all_of(op->getOperands(), [](Value v) { return isa_and_nonnull<kernel::IndexOp, arith::ConstantOp>(v.getDefiningOp()); }))
      rows.push_back(op);
}

bool Interior::isLinearIn(StringRef axis) const {
  auto along = [&](const Expr &e) { return e.linearIn(axis.str()).has_value(); };
  auto isRow = [&](Operation *op) {
    return cast<arith::CmpIOp>(op).getPredicate() != arith::CmpIPredicate::ne && llvm::all_of(op->getOperands(), [&](Value v) {
      auto index = v.getDefiningOp<kernel::IndexOp>();
      return !index || (index.getIndices().empty() && along(index.getIndexExpr()));
    });
  };
  return llvm::all_of(edges, [&](const EdgeCompare &e) { return along(e.rest) && along(e.limit); }) && llvm::all_of(rows, isRow);
}

Value Interior::holds(VectorBuilder &v, const lower::BodyEmitter &point, Value place, unsigned count) const {
  lower::BodyEmitter at = point;
  Value all = v.b.create<arith::ConstantOp>(v.loc, v.b.getBoolAttr(true));
  for (const EdgeCompare &e : edges) {
    Value rest = at.emitExpr(e.rest), limit = at.emit(e.op->getOperand(1));
    Value index = v.add(v.mul(e.low ? place : v.add(place, int64_t(count) - 1), e.step), rest);
    Value holds = e.low ? v.less(v.sub(limit, v.i(1)), index) : v.less(index, limit);
    all = v.b.create<arith::AndIOp>(v.loc, all, holds);
  }
  for (Operation *op : rows)
    all = v.b.create<arith::AndIOp>(v.loc, all, at.emit(op->getResult(0)));
  return all;
}

void Interior::assume(VectorBuilder &v, lower::BodyEmitter &point) const {
  Value yes = v.b.create<arith::ConstantOp>(v.loc, v.b.getBoolAttr(true));
  for (const EdgeCompare &e : edges)
    point.bindValue(e.op->getResult(0), yes);
  for (Operation *op : rows)
    point.bindValue(op->getResult(0), yes);
}
