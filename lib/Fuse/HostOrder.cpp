//===- HostOrder.cpp - What runs behind the step that its sizes come from --===//

#include "HostOrder.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::fuse;
using shape::Expr;

HostOrder::HostOrder(Block &body) : body(body) {
  for (Operation &op : body)
    if (ir::isHostOp(&op) && !ir::definedSymbols(&op).empty()) {
      for (StringRef s : ir::definedSymbols(&op))
        owners[s.str()].insert(ops.size());
      ops.push_back(&op);
    }
  if (ops.empty())
    return;
  auto module = body.getParentOp()->getParentOfType<ModuleOp>();
  for (bool grows = true; grows;) {
    grows = false;
    for (ir::SymbolOp s : module.getOps<ir::SymbolOp>()) {
      for (const std::string &name : Expr::parsed(s.getDefinition().value_or("0")).symbols())
        if (auto it = owners.find(name); it != owners.end())
          for (unsigned owner : std::set<unsigned>(it->second))
            grows |= owners[s.getName().str()].insert(owner).second;
    }
  }
}

const std::set<unsigned> &HostOrder::ownersOf(Operation *op) {
  auto [it, isNew] = known.try_emplace(op);
  if (isNew && !empty()) {
    std::set<std::string> symbols;
    ir::collectSymbols(op, symbols);
    std::set<unsigned> found;
    for (const std::string &s : symbols)
      if (auto at = owners.find(s); at != owners.end())
        for (unsigned o : at->second)
          if (ops[o] != op)
            found.insert(o);
    return known[op] = found;
  }
  return it->second;
}

void HostOrder::sort() {
  if (empty())
    return;
  std::vector<Operation *> left;
  for (Operation &op : body.without_terminator())
    left.push_back(&op);
  Operation *end = body.getTerminator();
  llvm::DenseSet<Operation *> done;
  auto ready = [&](Operation *op) {
    return llvm::all_of(op->getOperands(), [&](Value v) {
             Operation *d = v.getDefiningOp();
             return !d || d->getBlock() != &body || done.contains(d);
           }) &&
           llvm::all_of(ownersOf(op), [&](unsigned o) { return done.contains(ops[o]); });
  };
  while (!left.empty()) {
    std::vector<Operation *> rest;
    for (Operation *op : left) {
      if (!ready(op)) {
        rest.push_back(op);
        continue;
      }
      op->moveBefore(end);
      done.insert(op);
    }
    if (rest.size() == left.size()) // a size that depends on itself: left as it is, and refused by whoever reads it
      return;
    left = std::move(rest);
  }
}
