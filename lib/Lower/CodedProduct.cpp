//===- CodedProduct.cpp - Sums of products with unpacked codes --------------===//

#include "lathe/Lower/CodedProduct.h"
#include "lathe/Lower/BodySlices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace lathe;

/// Words among what the value is made of, read as they lie.
static bool isUnpacked(Value v) {
  bool words = false;
  for (Operation *op : lower::opsBelow(v)) {
    if (isa<kernel::ReduceOp, kernel::ContractOp>(op))
      return false;
    if (!isa<kernel::LoadOp>(op))
      continue;
    kernel::LoadOp load = lower::plainLoad(op->getResult(0));
    if (!load)
      return false;
    words |= load.getType().isInteger(32);
  }
  return words;
}

static kernel::LoadOp floatsAt(Value v) {
  if (auto wide = v.getDefiningOp<arith::ExtFOp>())
    v = wide.getIn();
  kernel::LoadOp load = lower::plainLoad(v);
  return load && isa<FloatType>(load.getType()) ? load : kernel::LoadOp();
}

std::optional<lower::CodedProduct> lower::codedProduct(kernel::ReduceOp sum) {
  auto mul = sum.getKind() == kernel::Combiner::Add && sum.getType().isF32() ? sum.getValue().getDefiningOp<arith::MulFOp>() : arith::MulFOp();
  for (unsigned side : {0, 1})
    if (kernel::LoadOp lhs = mul ? floatsAt(mul->getOperand(side)) : kernel::LoadOp(); lhs && isUnpacked(mul->getOperand(1 - side)))
      return CodedProduct{sum, lhs, mul->getOperand(1 - side)};
  return std::nullopt;
}
