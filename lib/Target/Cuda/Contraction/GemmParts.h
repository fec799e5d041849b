//===- GemmParts.h - Products that are cut in depth -------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_GEMMPARTS_H
#define LATHE_LIB_TARGET_CUDA_GEMMPARTS_H

#include "AlignedCopies.h"
#include "ProductChoice.h"
#include <functional>

namespace lathe::cuda {

/// Each part of the depth leaves its sums in scratch memory, as they are; a launch that follows adds them up in the parts' order. In front
/// of them stands how many parts there are: the plan decides that, and no parameter tells it.
Value partOfSums(KernelFrame &frame, const GemmProblem &p, Value part, Value batch); ///< of a batch (i64): where its rows begin
Value bytesOfParts(PlanFunction &plan, const GemmProblem &p, Value parts);
/// One thread of the launch writes it (i32).
void tellParts(KernelFrame &frame, Value parts);

/// Whether there may be so few tiles that a depth of more than `longer` is worth to be cut.
bool mayBeCut(const ProductChoice &choice, const GemmProblem &p, const schedule::ProductTile &tile, int64_t longer);
/// How many parts there are (i64), and whether it is cut (i1): where the steps that a tile saves are worth another launch, or a schedule asks for it.
struct DepthCut {
  Value parts, cut;
};
/// `places`: for blocks that run at once. `alone`: steps that a cut tile takes at least; null: what its part has.
DepthCut planCut(PlanFunction &plan, const ProductChoice &choice, Value tiles, Value steps, Value places, int64_t worthSteps, Value alone = {});

/// What multiplies a part of the depth where tiles of any layout do: threads or warps.
struct PartTile {
  schedule::ProductTile tile;
  unsigned threads, shared;
  int64_t worthSteps;     ///< that cutting a tile must save to be worth another launch
  int64_t blocksTogether; ///< on a multiprocessor
  std::function<llvm::Error(const std::string &name)> add; ///< its entry point
};
PartTile partOfThreads(Generator &g, const GemmProblem &p, const lower::Divisibility &known);
PartTile partOfWarps(Generator &g, const GemmProblem &p, const lower::Divisibility &known);

/// Adds the entry point of the sum, and the launch where there are parts (i1).
/// `prepare`: what else lies in the scratch memory.
llvm::Error addPartsSum(Generator &g, const GemmProblem &p, llvm::function_ref<void(KernelFrame &)> prepare);
void followBySum(PlanFunction &plan, const GemmProblem &p, unsigned entry, Value inParts);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_GEMMPARTS_H
