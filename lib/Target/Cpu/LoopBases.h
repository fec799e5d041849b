//===- LoopBases.h - Addresses that innermost loops begin with ---------------===//
#ifndef LATHE_TARGET_CPU_LOOPBASES_H
#define LATHE_TARGET_CPU_LOOPBASES_H

#include "llvm/IR/Module.h"

namespace lathe::cpu {

/// Hides how the addresses that an innermost loop takes from the loops around it come about, behind all optimisation: each stands behind a
/// `freeze`. LLVM's strength reduction of a loop otherwise writes the addresses of the loops inside it anew, in terms of its own counter, and
/// counts what that adds to the innermost loop as one instruction, however often that runs. Where a size is open an address holds the minimum
/// of a place and the last one: a comparison, a choice and a product for each trip of a tile's loop, an eighth of its time.
void keepLoopBases(llvm::Module &module);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_LOOPBASES_H
