//===- Reciprocals.cpp - Division of indices on a GPU -----------------------===//
//
// A GPU has no integer division: ptxas writes one out each time, 17 instructions that wait for one another, most of which look at the
// divisor alone. Indices of open sizes are divided by the same few sizes all over a kernel, and often before its first load.
//
// The way is that of T. Rodeheffer, "Software Integer Division" (2008): an estimate of 2^32 / d from below, one step of Newton's in integers, and a
// quotient that is at most two too small.
//
//===----------------------------------------------------------------------===//

#include "Reciprocals.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace {

struct Quotient {
  Value *quotient, *remainder;
};

class Divider {
public:
  explicit Divider(Function &f) : f(f), layout(f.getParent()->getDataLayout()) {}
  void expand(BinaryOperator &division);

private:
  Value *reciprocal(Value *divisor);
  Quotient divide(IRBuilder<> &b, Value *x, Value *divisor);
  Value *divideWide(BinaryOperator &division);
  Value *narrow(Value *size);
  Value *atBegin(Value *size, unsigned steps = 0);
  bool isNarrow(Value *x) { return computeKnownBits(x, layout).countMinLeadingZeros() >= 32; }
  void setAfter(IRBuilder<> &b, Value *definition);

  Function &f;
  const DataLayout &layout;
  DenseMap<Value *, Value *> reciprocals, narrowed;
  SmallVector<Instruction *> copies; ///< at the function's begin
};

} // namespace

/// What computes a size of the kernel's parameters alone, once more where the kernel begins; null for all else.
Value *Divider::atBegin(Value *size, unsigned steps) {
  constexpr unsigned mostSteps = 6;
  if (isa<Constant, Argument>(size))
    return size;
  auto *made = dyn_cast<Instruction>(size);
  auto *call = dyn_cast_or_null<MinMaxIntrinsic>(made);
  auto *op = dyn_cast_or_null<BinaryOperator>(made);
  if (steps == mostSteps || !(call || (op && !op->isIntDivRem()) || isa_and_nonnull<CastInst, ICmpInst, SelectInst>(made)))
    return nullptr;
  SmallVector<Value *> operands;
  for (Value *v : made->operands())
    if (operands.emplace_back(isa<Function>(v) ? v : atBegin(v, steps + 1)); !operands.back())
      return nullptr;
  Instruction *copy = made->clone();
  for (auto [i, v] : enumerate(operands))
    copy->setOperand(i, v);
  for (Instruction *other : copies)
    if (other->isIdenticalTo(copy)) {
      copy->deleteValue();
      return other;
    }
  BasicBlock &entry = f.getEntryBlock();
  copy->insertInto(&entry, copies.empty() ? entry.getFirstInsertionPt() : std::next(copies.back()->getIterator()));
  copies.push_back(copy);
  return copy;
}

void Divider::setAfter(IRBuilder<> &b, Value *definition) {
  auto *made = dyn_cast<Instruction>(definition);
  std::optional<BasicBlock::iterator> behind = made ? made->getInsertionPointAfterDef() : std::nullopt;
  b.SetInsertPoint(&f.getEntryBlock(), f.getEntryBlock().getFirstInsertionPt());
  if (behind)
    b.SetInsertPoint(made->getParent(), *behind);
}

/// The lower half of a divisor, once.
Value *Divider::narrow(Value *size) {
  Value *&known = narrowed[size];
  if (!known) {
    IRBuilder<> b(f.getContext());
    setAfter(b, size);
    known = b.CreateTrunc(size, b.getInt32Ty());
  }
  return known;
}

/// A little less than 2^32 over the divisor. The constant leaves room for what the conversion, the reciprocal (1 ulp) and the product round.
Value *Divider::reciprocal(Value *divisor) {
  Value *&known = reciprocals[divisor];
  if (known)
    return known;
  constexpr float belowAll = 0x1.fffff6p31f;
  IRBuilder<> b(f.getContext());
  setAfter(b, divisor);
  Value *real = b.CreateUIToFP(divisor, b.getFloatTy());
  Value *inverse = b.CreateIntrinsic(Intrinsic::nvvm_rcp_approx_ftz_f, {}, {real});
  Value *scaled = b.CreateFMul(inverse, ConstantFP::get(b.getFloatTy(), belowAll));
  Value *estimate = b.CreateIntrinsic(Intrinsic::nvvm_f2ui_rz, {}, {scaled});
  Value *missing = b.CreateMul(b.CreateNeg(divisor), estimate);
  return known = b.CreateAdd(estimate, b.CreateIntrinsic(Intrinsic::nvvm_mulhi_ui, {}, {estimate, missing}));
}

Quotient Divider::divide(IRBuilder<> &b, Value *x, Value *divisor) {
  Value *quotient = b.CreateIntrinsic(Intrinsic::nvvm_mulhi_ui, {}, {x, reciprocal(divisor)});
  Value *remainder = b.CreateSub(x, b.CreateMul(quotient, divisor));
  for (int i = 0; i < 2; ++i) {
    Value *more = b.CreateICmpUGE(remainder, divisor);
    quotient = b.CreateSelect(more, b.CreateAdd(quotient, b.getInt32(1)), quotient);
    remainder = b.CreateSelect(more, b.CreateSub(remainder, divisor), remainder);
  }
  return {quotient, remainder};
}

/// Of 64 bits. What fits in 32 is less than a divisor that does not; else only the run can tell.
Value *Divider::divideWide(BinaryOperator &division) {
  Value *x = division.getOperand(0), *divisor = division.getOperand(1);
  bool isQuotient = division.getOpcode() == Instruction::UDiv, isNarrowX = isNarrow(x);
  IRBuilder<> b(&division);
  auto fits = [&](Value *v) { return b.CreateIsNull(b.CreateTrunc(b.CreateLShr(v, 32), b.getInt32Ty())); };
  Quotient both = divide(b, b.CreateTrunc(x, b.getInt32Ty()), narrow(divisor));
  Value *result = b.CreateZExt(isQuotient ? both.quotient : both.remainder, b.getInt64Ty());
  if (isNarrowX && isNarrow(divisor))
    return result;
  if (isNarrowX)
    return b.CreateSelect(fits(divisor), result, isQuotient ? b.getInt64(0) : x);
  BasicBlock *before = division.getParent();
  Instruction *seldom = SplitBlockAndInsertIfThen(b.CreateNot(fits(b.CreateOr(x, divisor))), &division, /*Unreachable=*/false);
  IRBuilder<> slow(seldom);
  Value *wide = slow.CreateBinOp(division.getOpcode(), x, divisor);
  b.SetInsertPoint(&division);
  PHINode *phi = b.CreatePHI(division.getType(), 2);
  phi->addIncoming(result, before);
  phi->addIncoming(wide, seldom->getParent());
  return phi;
}

void Divider::expand(BinaryOperator &division) {
  Value *result;
  if (Value *divisor = atBegin(division.getOperand(1)))
    division.setOperand(1, divisor);
  if (division.getType()->isIntegerTy(64)) {
    result = divideWide(division);
  } else {
    IRBuilder<> b(&division);
    Quotient both = divide(b, division.getOperand(0), division.getOperand(1));
    result = division.getOpcode() == Instruction::UDiv ? both.quotient : both.remainder;
  }
  division.replaceAllUsesWith(result);
  division.eraseFromParent();
}

bool lathe::cuda::divideByReciprocals(Module &module) {
  bool any = false;
  for (Function &f : module) {
    SmallVector<BinaryOperator *> divisions;
    for (Instruction &i : instructions(f)) {
      auto *op = dyn_cast<BinaryOperator>(&i);
      bool divides = op && (op->getOpcode() == Instruction::UDiv || op->getOpcode() == Instruction::URem);
      if (divides && !isa<Constant>(op->getOperand(1)) && (op->getType()->isIntegerTy(32) || op->getType()->isIntegerTy(64)))
        divisions.push_back(op);
    }
    Divider divider(f);
    for (BinaryOperator *op : divisions)
      divider.expand(*op);
    any |= !divisions.empty();
  }
  return any;
}
