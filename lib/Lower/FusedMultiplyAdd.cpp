//===- FusedMultiplyAdd.cpp - Which products are not rounded ---------------===//

#include "lathe/Lower/FusedMultiplyAdd.h"
#include "lathe/Dialect/Kernel/Kernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace lathe;

static constexpr llvm::StringLiteral isRounded = "lathe.rounded";

static bool isSum(Operation *op) {
  auto reduce = dyn_cast<kernel::ReduceOp>(op);
  return isa<arith::AddFOp, arith::SubFOp>(op) || (reduce && reduce.getKind() == kernel::Combiner::Add);
}

void lower::markRounding(Operation *op, Operation *emitted) {
  if (!isa<arith::MulFOp>(op) || !isa<arith::MulFOp>(emitted))
    return;
  if (!op->hasOneUse() || !isSum(*op->user_begin()))
    emitted->setAttr(isRounded, UnitAttr::get(emitted->getContext()));
}

void lower::allowFusedMultiplyAdd(Operation *root) {
  root->walk([](Operation *op) {
    if (!isa<arith::MulFOp, arith::AddFOp, arith::SubFOp>(op))
      return;
    if (op->removeAttr(isRounded))
      return;
    auto flags = cast<arith::ArithFastMathInterface>(op);
    auto now = flags.getFastMathFlagsAttr().getValue() | arith::FastMathFlags::contract;
    op->setAttr(flags.getFastMathAttrName(), arith::FastMathFlagsAttr::get(op->getContext(), now));
  });
}
