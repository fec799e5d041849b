//===- MaskInstructions.cpp - Masked accesses of AVX -------------------------===//

#include "MaskInstructions.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsX86.h"
#include <numeric>

using namespace llvm;

namespace {
/// How a vector's accesses are split: into `parts` registers of `width` elements.
struct Split {
  FixedVectorType *part;
  unsigned width, parts;
  Intrinsic::ID load, store;
};
} // namespace

static std::optional<Split> splitOf(Type *type) {
  auto *vector = cast<FixedVectorType>(type);
  Type *element = vector->getElementType();
  unsigned bits = element->getScalarSizeInBits(), all = bits * vector->getNumElements();
  if ((bits != 32 && bits != 64) || (all != 128 && all % 256))
    return std::nullopt;
  bool isWide = all >= 256, isFloat = element->isFloatingPointTy();
  static const Intrinsic::ID loads[2][2][2] = {
      {{Intrinsic::x86_avx2_maskload_d, Intrinsic::x86_avx2_maskload_d_256}, {Intrinsic::x86_avx2_maskload_q, Intrinsic::x86_avx2_maskload_q_256}},
      {{Intrinsic::x86_avx_maskload_ps, Intrinsic::x86_avx_maskload_ps_256}, {Intrinsic::x86_avx_maskload_pd, Intrinsic::x86_avx_maskload_pd_256}}};
  static const Intrinsic::ID stores[2][2][2] = {
      {{Intrinsic::x86_avx2_maskstore_d, Intrinsic::x86_avx2_maskstore_d_256}, {Intrinsic::x86_avx2_maskstore_q, Intrinsic::x86_avx2_maskstore_q_256}},
      {{Intrinsic::x86_avx_maskstore_ps, Intrinsic::x86_avx_maskstore_ps_256}, {Intrinsic::x86_avx_maskstore_pd, Intrinsic::x86_avx_maskstore_pd_256}}};
  unsigned width = (isWide ? 256 : 128) / bits;
  return Split{FixedVectorType::get(element, width), width, vector->getNumElements() / width, loads[isFloat][bits == 64][isWide],
               stores[isFloat][bits == 64][isWide]};
}

static SmallVector<int> lanesOf(const Split &s, unsigned part) {
  SmallVector<int> lanes(s.width);
  std::iota(lanes.begin(), lanes.end(), part * s.width);
  return lanes;
}

static Value *partOf(IRBuilder<> &b, Value *v, const Split &s, unsigned part) {
  return s.parts == 1 ? v : b.CreateShuffleVector(v, lanesOf(s, part));
}

/// The instruction looks at the sign of each element.
static Value *maskOf(IRBuilder<> &b, Value *mask, const Split &s, unsigned part) {
  Type *integer = b.getIntNTy(s.part->getScalarSizeInBits());
  return b.CreateSExt(partOf(b, mask, s, part), FixedVectorType::get(integer, s.width));
}

static Value *pointerOf(IRBuilder<> &b, Value *pointer, const Split &s, unsigned part) {
  return part ? b.CreateConstGEP1_64(s.part, pointer, part) : pointer;
}

static Value *join(IRBuilder<> &b, ArrayRef<Value *> parts, unsigned width) {
  SmallVector<Value *> joined(parts);
  while (joined.size() > 1) {
    SmallVector<Value *> next;
    for (unsigned i = 0; i < joined.size(); i += 2) {
      SmallVector<int> lanes(2 * width);
      std::iota(lanes.begin(), lanes.end(), 0);
      next.push_back(b.CreateShuffleVector(joined[i], joined[i + 1], lanes));
    }
    joined = std::move(next);
    width *= 2;
  }
  return joined.front();
}

static void replaceLoad(IntrinsicInst *load, const Split &s) {
  IRBuilder<> b(load);
  Value *pointer = load->getArgOperand(0), *mask = load->getArgOperand(2), *fill = load->getArgOperand(3);
  Function *instruction = Intrinsic::getDeclaration(load->getModule(), s.load);
  SmallVector<Value *> parts;
  for (unsigned i = 0; i < s.parts; ++i)
    parts.push_back(b.CreateCall(instruction, {pointerOf(b, pointer, s, i), maskOf(b, mask, s, i)}));
  Value *v = join(b, parts, s.width);
  auto *constant = dyn_cast<Constant>(fill);
  if (!constant || !(constant->isNullValue() || isa<UndefValue>(constant))) // the instruction gives zeros
    v = b.CreateSelect(mask, v, fill);
  load->replaceAllUsesWith(v);
}

static void replaceStore(IntrinsicInst *store, const Split &s) {
  IRBuilder<> b(store);
  Value *value = store->getArgOperand(0), *pointer = store->getArgOperand(1), *mask = store->getArgOperand(3);
  Function *instruction = Intrinsic::getDeclaration(store->getModule(), s.store);
  for (unsigned i = 0; i < s.parts; ++i)
    b.CreateCall(instruction, {pointerOf(b, pointer, s, i), maskOf(b, mask, s, i), partOf(b, value, s, i)});
}

void lathe::cpu::useMaskInstructions(Module &module) {
  SmallVector<IntrinsicInst *> done;
  for (Function &function : module)
    for (Instruction &i : instructions(function)) {
      auto *access = dyn_cast<IntrinsicInst>(&i);
      bool isLoad = access && access->getIntrinsicID() == Intrinsic::masked_load;
      if (!isLoad && !(access && access->getIntrinsicID() == Intrinsic::masked_store))
        continue;
      std::optional<Split> s = splitOf(isLoad ? access->getType() : access->getArgOperand(0)->getType());
      if (!s || !isPowerOf2_32(s->parts) || isa<Constant>(access->getArgOperand(isLoad ? 2 : 3)))
        continue; // a constant mask is known to whoever selects instructions from the start
      isLoad ? replaceLoad(access, *s) : replaceStore(access, *s);
      done.push_back(access);
    }
  for (IntrinsicInst *access : done)
    access->eraseFromParent();
}
