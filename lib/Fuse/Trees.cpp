//===- Trees.cpp - Which ops are computed where they are used --------------===//

#include "Trees.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::fuse;

bool fuse::isPointwise(Operation *op) {
  return isa_and_nonnull<ir::ElementwiseInterface, ir::ConcatOp, ir::PadOp, ir::GatherOp, ir::GatherNdOp>(op);
}

bool fuse::isHeavy(Operation *op) {
  return isa<ir::ExpOp, ir::Exp2Op, ir::Expm1Op, ir::LogOp, ir::Log1pOp, ir::Log2Op, ir::SinOp, ir::CosOp, ir::TanOp,
             ir::AsinOp, ir::AcosOp, ir::AtanOp, ir::SinhOp, ir::CoshOp, ir::TanhOp, ir::AsinhOp, ir::AcoshOp,
             ir::AtanhOp, ir::ErfOp, ir::PowOp, ir::DivOp, ir::SqrtOp, ir::RsqrtOp, ir::Atan2Op, ir::GatherNdOp>(op);
}

bool fuse::isHeavyRoot(Operation *op) { return isa_and_nonnull<ir::ContractOp, ir::AttentionOp>(op); }

bool Trees::isSplat(Value v) {
  auto c = v.getDefiningOp<ir::ConstantOp>();
  auto dense = c ? dyn_cast<DenseElementsAttr>(c.getValue()) : DenseElementsAttr();
  return dense && dense.isSplat();
}

bool Trees::isExternal(Value v) {
  return isa<BlockArgument>(v) || (v.getDefiningOp<ir::ConstantOp>() && !isSplat(v));
}

namespace {

/// The ops that use a value, looking through views; `expanded` when one of the views repeats elements.
struct Uses {
  llvm::SmallSetVector<Operation *, 4> ops;
  unsigned count = 0;
  bool expanded = false;
};

void collectUses(Value v, Uses &uses) {
  for (OpOperand &use : v.getUses()) {
    Operation *op = use.getOwner();
    if (isView(op)) {
      uses.expanded |= isa<ir::BroadcastOp>(op);
      collectUses(op->getResult(0), uses);
      continue;
    }
    uses.ops.insert(op);
    ++uses.count;
  }
}

/// Follows from sizes and splat constants alone, cheaply: everybody computes it anew.
bool isFree(Value v, unsigned budget, unsigned &cost) {
  Operation *op = v.getDefiningOp();
  if (!op || Trees::isExternal(v))
    return false;
  if (isa<ir::ConstantOp, ir::SizeOp, ir::IotaOp>(op))
    return true;
  if (!isView(op) && (!isa<ir::ElementwiseInterface>(op) || isHeavy(op) || ++cost > budget))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value o) { return isFree(o, budget, cost); });
}

} // namespace

bool Trees::mustBeRoot(Operation *op) const {
  if (isa<ir::ReduceOp, ir::ConvOp>(op) || isHeavyRoot(op))
    return true;
  Uses uses;
  collectUses(op->getResult(0), uses);
  bool fromMemory = llvm::any_of(uses.ops, [](Operation *u) { return isHeavyRoot(u) || isa<func::ReturnOp>(u); });
  unsigned cost = 0;
  if (!fromMemory && isFree(op->getResult(0), 12, cost))
    return false;
  // A cast or a comparison that several use is cheaper to repeat than to keep, where it reads one value.
  if (fromMemory || uses.count != 1)
    return true;
  // Repeating elements repeats the work below.
  std::vector<Leaf> below;
  if (!uses.expanded)
    return false;
  std::function<bool(Value)> heavyBelow = [&](Value v) {
    Operation *d = v.getDefiningOp();
    if (!d || roots.contains(d) || isExternal(v))
      return false;
    return isHeavy(d) || llvm::any_of(d->getOperands(), heavyBelow);
  };
  return heavyBelow(op->getResult(0));
}

Trees::Trees(Block &body) {
  for (Operation &op : body)
    if (isPointwise(&op) || isa<ir::ReduceOp, ir::ConvOp>(op) || isHeavyRoot(&op))
      if (mustBeRoot(&op))
        roots.insert(&op);
}

void Trees::collect(Value v, std::vector<Operation *> &path, std::vector<Leaf> &out, llvm::DenseSet<Value> &seen) const {
  Operation *op = v.getDefiningOp();
  if (isExternal(v) || (op && isRoot(op))) {
    if (seen.insert(v).second)
      out.push_back({v, {path.rbegin(), path.rend()}});
    return;
  }
  if (!op || !seen.insert(v).second)
    return;
  path.push_back(op);
  for (Value o : op->getOperands())
    collect(o, path, out, seen);
  path.pop_back();
}

std::vector<Trees::Leaf> Trees::leaves(Value value) const {
  std::vector<Leaf> out;
  std::vector<Operation *> path;
  llvm::DenseSet<Value> seen;
  collect(value, path, out, seen);
  return out;
}

std::vector<Trees::Leaf> Trees::leavesOf(Operation *root) const {
  std::vector<Leaf> out;
  std::vector<Operation *> path;
  llvm::DenseSet<Value> seen;
  for (Value o : root->getOperands())
    collect(o, path, out, seen);
  return out;
}
