//===- RowCases.cpp - Rows that are one of several as a whole --------------===//
//
// A concatenation reads one of its operands at each point, and along an outer axis whole rows are of the same one. What is
// chosen by a condition that is the same all along a row is chosen once in front of it: as many loops as operands, of which
// a row runs one, instead of one loop that asks for each vector.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::AxisSet;

/// Loops are code: what is left of longer chains is asked for each vector.
static constexpr size_t mostCases = 32;

/// The conditions of the stored value's chain of selections, outermost first, that are known where a row begins.
std::vector<Value> RowEmitter::caseConditions(AxisSet bound, const Group &group) const {
  std::vector<Value> conditions;
  if (f.kernel.getKernelClass() != kernel::KernelClass::Loop || schedule.jam || has(bound, *schedule.lane) ||
      group.goals.size() != 1)
    return conditions;
  auto store = dyn_cast<kernel::StoreOp>(group.goals[0].op);
  auto next = store ? store.getValue().getDefiningOp<arith::SelectOp>() : arith::SelectOp();
  while (next && conditions.size() < mostCases) {
    Value c = next.getCondition();
    if (info.axesOf(c) & ~bound)
      break;
    if (!matchPattern(c, m_Constant()))
      conditions.push_back(c);
    next = next.getFalseValue().getDefiningOp<arith::SelectOp>();
  }
  return conditions;
}

/// The first condition decides between the row as it is then, and what the others decide. What a loop further out has decided is known.
void RowEmitter::cases(Points &outer, ArrayRef<Value> conditions, llvm::function_ref<void(Points &)> row) {
  if (conditions.empty())
    return row(outer);
  Value condition = outer[0].emit(conditions[0]);
  llvm::APInt decided;
  if (matchPattern(condition, m_ConstantInt(&decided)))
    return cases(outer, decided.isZero() ? conditions.drop_front() : ArrayRef<Value>(), row);
  auto branch = b.create<scf::IfOp>(loc, condition, /*withElseRegion=*/true);
  for (bool holds : {true, false}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(holds ? branch.thenBlock() : branch.elseBlock());
    Points inside(outer);
    Value known = b.create<arith::ConstantOp>(loc, b.getBoolAttr(holds));
    for (lower::BodyEmitter &point : inside)
      point.bindValue(conditions[0], known);
    cases(inside, holds ? ArrayRef<Value>() : conditions.drop_front(), row);
  }
}
