//===- Definedness.cpp - K8: what a predicate hides is not used ------------===//

#include "Definedness.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::kernel;

Definedness::Definedness(GenericOp kernel, ConditionReader &reader) : reader(reader) {
  for (Operation &op : kernel.getBody().front())
    visit(&op);
}

void Definedness::add(Needs &to, const Needs &more) const {
  for (const Conjunct &c : more)
    if (llvm::none_of(to, [&](const Conjunct &o) {
          return c.value ? o.value == c.value && o.holds == c.holds : !o.value && o.notNegative == c.notNegative;
        }))
      to.push_back(c);
}

Definedness::Needs Definedness::without(Needs needs, ArrayRef<Conjunct> given) const {
  llvm::erase_if(needs, [&](const Conjunct &c) { return isImplied(c, given, reader.facts); });
  return needs;
}

Definedness::Needs Definedness::operandNeeds(ValueRange values) const {
  Needs all;
  for (Value v : values)
    if (auto it = needs.find(v); it != needs.end())
      add(all, it->second);
  return all;
}

Definedness::Needs Definedness::needsOf(Operation *op) {
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    Needs all = operandNeeds(select.getCondition());
    add(all, without(operandNeeds(select.getTrueValue()), reader.conjunctsOf(select.getCondition())));
    add(all, without(operandNeeds(select.getFalseValue()), reader.conjunctsOfNot(select.getCondition())));
    return all;
  }
  if (auto both = dyn_cast<arith::AndIOp>(op); both && both.getType().isInteger(1)) {
    // Where one side is false, the other does not count.
    Needs all = without(operandNeeds(both.getLhs()), reader.conjunctsOf(both.getRhs()));
    add(all, without(operandNeeds(both.getRhs()), reader.conjunctsOf(both.getLhs())));
    return all;
  }
  auto load = dyn_cast<LoadOp>(op);
  if (!load || !load.getPredicate())
    return operandNeeds(op->getOperands());
  Needs all = operandNeeds(load.getPredicate()), wanted = reader.conjunctsOf(load.getPredicate());
  add(all, without(operandNeeds(load.getIndices()), wanted));
  if (load.getFill())
    add(all, operandNeeds(load.getFill()));
  else
    add(all, without(wanted, {}));
  return all;
}

void Definedness::visit(Operation *op) {
  if (misuse)
    return;
  for (Region &r : op->getRegions())
    for (Operation &inner : r.getOps())
      visit(&inner);
  Needs mine = needsOf(op);
  if (auto store = dyn_cast<StoreOp>(op))
    mine = without(std::move(mine), reader.conjunctsOf(store.getPredicate()));
  bool final = isa<StoreOp, ReduceOp, ScanOp, SortOp, FftOp, YieldOp>(op);
  if (final && !mine.empty())
    misuse = op;
  else if (!mine.empty() && op->getNumResults())
    needs[op->getResult(0)] = std::move(mine);
}
