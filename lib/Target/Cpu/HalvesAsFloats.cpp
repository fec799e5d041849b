//===- HalvesAsFloats.cpp - Comparisons and roundings of f16 -----------------===//

#include "HalvesAsFloats.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

static bool isRounding(const Instruction &i) {
  auto *call = dyn_cast<IntrinsicInst>(&i);
  switch (call ? call->getIntrinsicID() : Intrinsic::not_intrinsic) {
  case Intrinsic::floor:
  case Intrinsic::ceil:
  case Intrinsic::trunc:
  case Intrinsic::round:
  case Intrinsic::roundeven:
  case Intrinsic::rint:
  case Intrinsic::nearbyint:
    return true;
  default:
    return false;
  }
}

static void widen(Instruction *i) {
  IRBuilder<> b(i);
  Type *half = i->getOperand(0)->getType(), *wide = half->getWithNewType(b.getFloatTy());
  if (auto *compare = dyn_cast<FCmpInst>(i)) {
    for (Use &operand : compare->operands())
      operand.set(b.CreateFPExt(operand, wide));
    return;
  }
  Value *rounded = b.CreateUnaryIntrinsic(cast<IntrinsicInst>(i)->getIntrinsicID(), b.CreateFPExt(i->getOperand(0), wide));
  i->replaceAllUsesWith(b.CreateFPTrunc(rounded, half));
  i->eraseFromParent();
}

void lathe::cpu::computeHalvesAsFloats(Module &module) {
  SmallVector<Instruction *> halves;
  for (Function &function : module)
    for (Instruction &i : instructions(function))
      if ((isa<FCmpInst>(i) || isRounding(i)) && i.getOperand(0)->getType()->getScalarType()->isHalfTy())
        halves.push_back(&i);
  for (Instruction *i : halves)
    widen(i);
}
