//===- BodySlices.cpp - Parts of a kernel's body ----------------------------===//

#include "lathe/Lower/BodySlices.h"

using namespace mlir;

llvm::DenseSet<Operation *> lathe::lower::opsBelow(Value v) {
  llvm::DenseSet<Operation *> ops;
  SmallVector<Value> work{v};
  while (!work.empty())
    if (Operation *op = work.pop_back_val().getDefiningOp(); op && ops.insert(op).second)
      work.append(op->operand_begin(), op->operand_end());
  return ops;
}

bool lathe::lower::storesFollow(kernel::ReduceOp sum, const BodyInfo &info) {
  AxisSet summed = info.axesOf(sum.getAxes());
  return llvm::all_of(info.ops, [&](Operation *op) { return !isa<kernel::StoreOp>(op) || !(info.domainOf(op) & summed); });
}
