//===- LoopBases.cpp - Addresses that innermost loops begin with -------------===//

#include "LoopBases.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"

using namespace llvm;

namespace {
/// What an innermost loop uses of an address from around it, and the place of that from its root in bytes.
struct BaseUse {
  Use *use;
  int64_t bytes;
};
using BaseUses = MapVector<Instruction *, SmallVector<BaseUse>>;
} // namespace

/// Addresses a constant apart have one root, from which the loop tells them by constants, as before.
static void collectBase(const Loop &loop, Use &use, BaseUses &bases) {
  auto *base = dyn_cast<Instruction>(use.get());
  if (!base || !base->getType()->isPointerTy() || loop.contains(base))
    return;
  const DataLayout &layout = base->getDataLayout();
  APInt bytes(layout.getIndexTypeSizeInBits(base->getType()), 0);
  Value *root = base->stripAndAccumulateConstantOffsets(layout, bytes, /*AllowNonInbounds=*/true);
  if (auto *varying = dyn_cast<Instruction>(root); varying && loop.getOutermostLoop()->contains(varying))
    bases[varying].push_back({&use, bytes.getSExtValue()});
}

static void keepBase(Instruction *root, ArrayRef<BaseUse> uses) {
  std::optional<BasicBlock::iterator> behind = root->getInsertionPointAfterDef();
  if (!behind)
    return;
  IRBuilder<> b((*behind)->getParent(), *behind);
  Value *kept = b.CreateFreeze(root);
  for (const BaseUse &use : uses)
    use.use->set(use.bytes ? b.CreatePtrAdd(kept, b.getInt64(use.bytes)) : kept);
}

static void keepBasesOf(Function &function) {
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  for (Loop *loop : loops.getLoopsInPreorder()) {
    if (!loop->isInnermost() || !loop->getParentLoop())
      continue;
    BaseUses bases;
    for (BasicBlock *block : loop->blocks())
      for (Instruction &i : *block)
        for (Use &use : i.operands())
          collectBase(*loop, use, bases);
    for (auto &[root, uses] : bases)
      keepBase(root, uses);
  }
}

void lathe::cpu::keepLoopBases(Module &module) {
  for (Function &function : module)
    if (!function.isDeclaration())
      keepBasesOf(function);
}
