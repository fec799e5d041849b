//===- HalfComparisons.cpp - Comparisons of f16 ----------------------------===//

#include "HalfComparisons.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"

using namespace llvm;

void lathe::cpu::compareHalvesAsFloats(Module &module) {
  SmallVector<FCmpInst *> halves;
  for (Function &function : module)
    for (Instruction &i : instructions(function))
      if (auto *compare = dyn_cast<FCmpInst>(&i); compare && compare->getOperand(0)->getType()->getScalarType()->isHalfTy())
        halves.push_back(compare);
  for (FCmpInst *compare : halves) {
    IRBuilder<> b(compare);
    Type *wide = compare->getOperand(0)->getType()->getWithNewType(b.getFloatTy());
    for (Use &operand : compare->operands())
      operand.set(b.CreateFPExt(operand, wide));
  }
}
