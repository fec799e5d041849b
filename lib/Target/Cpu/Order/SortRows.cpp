//===- SortRows.cpp - What sorts of words and of keys alone share -----------===//

#include "SortRows.h"
#include "SortedKeys.h"
#include "../Rows/RowSchedule.h"
#include "lathe/Lower/SortKey.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using shape::Expr;

SortRows::SortRows(KernelFunction &f, kernel::SortOp op)
    : f(f), info(f.info), op(op), v(f.b, f.loc, f.isa, f.b.getF32Type()), b(f.b), axis(*info.axisIndex(op.getAxis())),
      rankAxis(*info.axisIndex(op.getRankAxis())), keyLoads(loadsOfKeys(info, op)) {}

Value SortRows::keyAt(const lower::BodyEmitter &row, Value base, unsigned width) {
  lower::BodyEmitter point = row;
  if (width > 1)
    point.bindLane(info.axes[axis], base, width);
  else
    point.bindAxis(info.axes[axis], base);
  return width > 1 ? point.emitLanes(op.getKey()) : point.emit(op.getKey());
}

Value SortRows::numberAt(const lower::BodyEmitter &row, Value base, unsigned width) {
  return lower::sortKey(b, f.loc, op, keyAt(row, base, width));
}

void SortRows::along(unsigned a, Value from, Value extent, llvm::function_ref<void(Value, unsigned)> body) {
  if (laneScore(info, a) > 0) {
    Value whole = v.roundDown(extent, v.lanes);
    v.loop(from, whole, v.lanes, [&](Value base) { body(base, v.lanes); });
    from = whole;
  }
  v.loop(from, extent, 1, [&](Value base) { body(base, 1); });
}

void SortRows::declare(StringRef name, TypeRange arguments, TypeRange results) {
  OpBuilder::InsertionGuard guard(b);
  auto module = b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  b.setInsertionPointToStart(module.getBody());
  if (!module.lookupSymbol(name)) // another way to run may have declared it
    b.create<func::FuncOp>(f.loc, name, b.getFunctionType(arguments, results)).setPrivate();
}

Expr SortRows::roomFor(const Expr &words, unsigned wordBytes) {
  return Expr::ceildiv(words * Expr(int64_t(wordBytes)), Expr(64)) * Expr(64);
}
