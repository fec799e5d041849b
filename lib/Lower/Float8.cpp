//===- Float8.cpp - Floats of 8 bits in a kernel's body ---------------------===//

#include "lathe/Lower/Float8.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace lathe;

Operation *lower::float8Of(Value number) {
  Operation *op = number.getDefiningOp();
  bool widened = false;
  for (; isa_and_nonnull<arith::ExtFOp>(op); op = op->getOperand(0).getDefiningOp())
    widened = true;
  return widened && isa_and_nonnull<arith::BitcastOp>(op) && isa<Float8E4M3FNType, Float8E5M2Type>(op->getResult(0).getType()) ? op : nullptr;
}

Value lower::codesOf(Value number) {
  Operation *bitcast = float8Of(number);
  return bitcast ? bitcast->getOperand(0) : Value();
}
