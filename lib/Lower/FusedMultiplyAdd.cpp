//===- FusedMultiplyAdd.cpp - Which products are not rounded ---------------===//

#include "lathe/Lower/FusedMultiplyAdd.h"
#include "lathe/Dialect/Kernel/Kernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace lathe;

// What a kernel's body says of a product, for as long as its code is being made.
static constexpr llvm::StringLiteral isRounded = "lathe.rounded", isTakenIn = "lathe.taken_in";

static bool isSum(Operation *op) {
  auto reduce = dyn_cast<kernel::ReduceOp>(op);
  return isa<arith::AddFOp, arith::SubFOp>(op) || (reduce && reduce.getKind() == kernel::Combiner::Add);
}

void lower::markRounding(Operation *op, Operation *emitted) {
  if (!isa<arith::MulFOp>(op) || !isa<arith::MulFOp>(emitted))
    return;
  bool takenIn = op->hasOneUse() && isSum(*op->user_begin());
  emitted->setAttr(takenIn ? isTakenIn : isRounded, UnitAttr::get(emitted->getContext()));
}

/// A product that a sum may take in unrounded. What a kernel's body holds is decided there. Products of generators and expansions
/// are made to be taken in where nothing else reads them.
static arith::MulFOp unroundedProduct(Value v) {
  auto product = v.getDefiningOp<arith::MulFOp>();
  if (!product || product->hasAttr(isRounded))
    return {};
  return product->hasAttr(isTakenIn) || product->hasOneUse() ? product : arith::MulFOp();
}

static bool isSingleOrDouble(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isF32() || element.isF64();
}

/// x * y + z, z + x * y, x * y - z or z - x * y as one instruction; nothing where no operand of `op` is such a product.
static Value fused(OpBuilder &b, Operation *op) {
  bool difference = isa<arith::SubFOp>(op);
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  auto negative = [&](Value v) { return b.create<arith::NegFOp>(op->getLoc(), v).getResult(); };
  if (arith::MulFOp p = unroundedProduct(lhs))
    return b.create<math::FmaOp>(op->getLoc(), p.getLhs(), p.getRhs(), difference ? negative(rhs) : rhs);
  if (arith::MulFOp p = unroundedProduct(rhs))
    return b.create<math::FmaOp>(op->getLoc(), difference ? negative(p.getLhs()) : p.getLhs(), p.getRhs(), lhs);
  return {};
}

void lower::formFusedMultiplyAdds(Operation *root, bool hasInstruction) {
  SmallVector<Operation *> sums, products;
  root->walk([&](Operation *op) {
    if (hasInstruction && isa<arith::AddFOp, arith::SubFOp>(op) && isSingleOrDouble(op->getResult(0).getType()))
      sums.push_back(op);
    else if (isa<arith::MulFOp>(op))
      products.push_back(op);
  });
  for (Operation *op : sums) {
    OpBuilder b(op);
    if (Value v = fused(b, op)) {
      op->getResult(0).replaceAllUsesWith(v);
      op->erase();
    }
  }
  for (Operation *op : llvm::reverse(products)) {
    op->removeAttr(isRounded);
    op->removeAttr(isTakenIn);
    if (op->use_empty())
      op->erase();
  }
}
