//===- HalvesAsFloats.h - Comparisons and roundings of f16 -------------------===//
#ifndef LATHE_TARGET_CPU_HALVESASFLOATS_H
#define LATHE_TARGET_CPU_HALVESASFLOATS_H

#include "llvm/IR/Module.h"

namespace lathe::cpu {

/// Compares and rounds f16 as f32, for x86 without arithmetic of f16 and behind all optimisation. The machine does so in any case; but where a
/// comparison chooses one of what it compares, LLVM 19 takes both for a maximum or minimum of f16, widens that, and calls fmaxf or
/// fminf of a library that an artifact does not have. And it makes floor and its kin of an f32 that was an f16 and becomes one again those of
/// f16, whose lanes are then rounded one by one.
void computeHalvesAsFloats(llvm::Module &module);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_HALVESASFLOATS_H
