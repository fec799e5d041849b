//===- HalfComparisons.h - Comparisons of f16 ------------------------------===//
#ifndef LATHE_TARGET_CPU_HALFCOMPARISONS_H
#define LATHE_TARGET_CPU_HALFCOMPARISONS_H

#include "llvm/IR/Module.h"

namespace lathe::cpu {

/// Compares f16 as f32, for x86 without arithmetic of f16 and behind all optimisation. The machine does so in any case; but where a
/// comparison chooses one of what it compares, LLVM 19 takes both for a maximum or minimum of f16, widens that, and calls fmaxf or
/// fminf of a library that an artifact does not have.
void compareHalvesAsFloats(llvm::Module &module);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_HALFCOMPARISONS_H
