//===- NanTests.cpp - Maxima of several numbers, one of which may be none ---===//

#include "lathe/Lower/NanTests.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

static bool isExtremum(Operation *op) { return isa_and_nonnull<arith::MaximumFOp, arith::MinimumFOp>(op); }

/// The op that takes this one into its tree.
static Operation *parentOf(Operation *op) {
  if (!op->hasOneUse())
    return nullptr;
  Operation *user = *op->user_begin();
  return user->getName() == op->getName() && user->getBlock() == op->getBlock() ? user : nullptr;
}

using Tree = SmallVector<Operation *>;

/// In an order in which operands come first: each one's root is its last member.
static SmallVector<Tree> treesIn(Operation *root) {
  llvm::MapVector<Operation *, Tree> trees;
  llvm::DenseMap<Operation *, Operation *> rootOf;
  SmallVector<Operation *> all;
  root->walk([&](Operation *op) {
    if (isExtremum(op))
      all.push_back(op);
  });
  for (Operation *op : llvm::reverse(all)) {
    Operation *parent = parentOf(op);
    rootOf[op] = parent ? rootOf.lookup(parent) : op;
  }
  for (Operation *op : all)
    trees[rootOf.lookup(op)].push_back(op);
  return llvm::to_vector(llvm::make_second_range(trees));
}

/// What the tree is the maximum of.
static SmallVector<Value> leavesOf(const Tree &tree) {
  llvm::SmallSetVector<Value, 8> leaves;
  for (Operation *op : tree)
    for (Value v : op->getOperands())
      if (!llvm::is_contained(tree, v.getDefiningOp()))
        leaves.insert(v);
  return leaves.takeVector();
}

/// Greater, or less, where neither is NaN.
static Value numeric(OpBuilder &b, Operation *op, Value x, Value y) {
  bool most = isa<arith::MaximumFOp>(op);
  Value chosen = b.create<arith::CmpFOp>(op->getLoc(), most ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT, x, y);
  return b.create<arith::SelectOp>(op->getLoc(), chosen, x, y);
}

/// Whether none of the leaves is NaN, two at a time.
static Value areNumbers(OpBuilder &b, Location loc, ArrayRef<Value> leaves) {
  Value all;
  for (size_t i = 0; i < leaves.size(); i += 2) {
    Value both = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::ORD, leaves[i], leaves[std::min(i + 1, leaves.size() - 1)]);
    all = all ? Value(b.create<arith::AndIOp>(loc, all, both)) : both;
  }
  return all;
}

static Value notANumber(OpBuilder &b, Location loc, Type type) {
  auto element = cast<FloatType>(getElementTypeOrSelf(type));
  TypedAttr nan = b.getFloatAttr(element, APFloat::getQNaN(element.getFloatSemantics()));
  if (auto vector = dyn_cast<VectorType>(type))
    nan = DenseElementsAttr::get(vector, Attribute(nan));
  return b.create<arith::ConstantOp>(loc, nan);
}

void lathe::lower::shareNanTests(Operation *root) {
  for (const Tree &tree : treesIn(root)) {
    SmallVector<Value> leaves = leavesOf(tree);
    if (leaves.size() < 3)
      continue;
    for (Operation *op : tree) {
      OpBuilder b(op);
      Value v = numeric(b, op, op->getOperand(0), op->getOperand(1));
      if (op == tree.back())
        v = b.create<arith::SelectOp>(op->getLoc(), areNumbers(b, op->getLoc(), leaves), v, notANumber(b, op->getLoc(), v.getType()));
      op->replaceAllUsesWith(ValueRange{v});
      op->erase();
    }
  }
}
