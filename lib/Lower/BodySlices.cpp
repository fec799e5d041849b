//===- BodySlices.cpp - Parts of a kernel's body ----------------------------===//

#include "lathe/Lower/BodySlices.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace lathe;

llvm::DenseSet<Operation *> lathe::lower::opsBelow(Value v) {
  llvm::DenseSet<Operation *> ops;
  SmallVector<Value> work{v};
  while (!work.empty())
    if (Operation *op = work.pop_back_val().getDefiningOp(); op && ops.insert(op).second)
      work.append(op->operand_begin(), op->operand_end());
  return ops;
}

std::vector<Operation *> lathe::lower::opsBehind(ValueRange values, Value sum) {
  std::vector<Operation *> behind;
  llvm::DenseSet<Operation *> seen;
  SmallVector<Value> work(values);
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value == sum ? nullptr : value.getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    work.append(op->operand_begin(), op->operand_end());
    behind.push_back(op);
  }
  return behind;
}

bool lathe::lower::storesFollow(kernel::ReduceOp sum, const BodyInfo &info) {
  AxisSet summed = info.axesOf(sum.getAxes());
  return llvm::all_of(info.ops, [&](Operation *op) { return !isa<kernel::StoreOp>(op) || !(info.domainOf(op) & summed); });
}

kernel::ReduceOp lathe::lower::onlySum(const BodyInfo &info) {
  kernel::ReduceOp sum;
  for (Operation *op : info.ops)
    if (auto r = dyn_cast<kernel::ReduceOp>(op)) {
      if (sum)
        return {};
      sum = r;
    }
  return sum && sum.getKind() == kernel::Combiner::Add && storesFollow(sum, info) ? sum : kernel::ReduceOp();
}

arith::MulIOp lathe::lower::productOfBytes(const BodyInfo &info) {
  kernel::ReduceOp sum = onlySum(info);
  auto mul = sum && sum.getType().isInteger(32) ? sum.getValue().getDefiningOp<arith::MulIOp>() : arith::MulIOp();
  auto isWidened = [](Value v) {
    Operation *op = v.getDefiningOp();
    return isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(op) && op->getOperand(0).getType().isInteger(8);
  };
  return mul && isWidened(mul.getLhs()) && isWidened(mul.getRhs()) ? mul : arith::MulIOp();
}

kernel::LoadOp lathe::lower::plainLoad(Value v) {
  auto load = v.getDefiningOp<kernel::LoadOp>();
  return load && !load.getPredicate() && load.getIndices().empty() ? load : kernel::LoadOp();
}

shape::Expr lathe::lower::indexOf(Value v) {
  auto index = v.getDefiningOp<kernel::IndexOp>();
  if (index && index.getIndices().empty())
    return index.getIndexExpr();
  IntegerAttr constant;
  return matchPattern(v, m_Constant(&constant)) ? shape::Expr(constant.getInt()) : shape::Expr::unknown();
}
