//===- LoopBases.h - Addresses that innermost loops begin with ---------------===//
#ifndef LATHE_TARGET_CPU_LOOPBASES_H
#define LATHE_TARGET_CPU_LOOPBASES_H

#include "llvm/IR/PassManager.h"

namespace lathe::cpu {

/// Hides behind a `freeze` how the addresses that an innermost loop takes from the loops around it come about, where a minimum, a maximum or a
/// division is in them; behind all optimisation. LLVM's strength reduction of a loop writes the addresses of the loops inside it anew, in terms of
/// its own counter, and counts what that adds to the innermost loop once, however often that runs. Where a size is open an address holds the
/// minimum of a place and the last one: a comparison, a choice and a product for each trip of a tile's loop, an eighth of its time. Sums and
/// products alone stay as they are: strength reduction saves registers by them.
struct KeepLoopBases : llvm::PassInfoMixin<KeepLoopBases> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_LOOPBASES_H
