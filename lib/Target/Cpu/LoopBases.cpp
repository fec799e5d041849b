//===- LoopBases.cpp - Addresses that innermost loops begin with -------------===//

#include "LoopBases.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IRBuilder.h"

using namespace llvm;
using BaseUses = MapVector<Instruction *, SmallVector<Use *>>;

static bool isDearToExpand(const SCEV *expression) {
  return SCEVExprContains(expression, [](const SCEV *part) { return isa<SCEVMinMaxExpr, SCEVSequentialMinMaxExpr, SCEVUDivExpr>(part); });
}

/// Addresses a constant apart have one root, from which the loop tells them by constants, as before.
static void collectBases(const Loop &loop, ScalarEvolution &evolution, BaseUses &roots) {
  for (BasicBlock *block : loop.blocks())
    for (Instruction &i : *block)
      for (Use &use : i.operands()) {
        auto *base = dyn_cast<Instruction>(use.get());
        if (!base || !base->getType()->isPointerTy() || loop.contains(base))
          continue;
        auto *root = dyn_cast<Instruction>(base->stripInBoundsConstantOffsets());
        if (root && loop.getOutermostLoop()->contains(root) && isDearToExpand(evolution.getSCEV(root)))
          roots[root].push_back(&use);
      }
}

static void keepBase(Instruction *root, ArrayRef<Use *> uses) {
  std::optional<BasicBlock::iterator> behind = root->getInsertionPointAfterDef();
  if (!behind)
    return;
  IRBuilder<> b((*behind)->getParent(), *behind);
  Value *kept = b.CreateFreeze(root);
  const DataLayout &layout = root->getDataLayout();
  for (Use *use : uses) {
    APInt bytes(layout.getIndexTypeSizeInBits(root->getType()), 0);
    use->get()->stripAndAccumulateInBoundsConstantOffsets(layout, bytes);
    use->set(bytes.isZero() ? kept : b.CreatePtrAdd(kept, b.getInt(bytes)));
  }
}

PreservedAnalyses lathe::cpu::KeepLoopBases::run(Function &function, FunctionAnalysisManager &analyses) {
  auto &evolution = analyses.getResult<ScalarEvolutionAnalysis>(function);
  BaseUses roots;
  for (const Loop *loop : analyses.getResult<LoopAnalysis>(function).getLoopsInPreorder())
    if (loop->isInnermost() && loop->getParentLoop())
      collectBases(*loop, evolution, roots);
  for (auto &[root, uses] : roots)
    keepBase(root, uses);
  return roots.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}
