//===- MaskInstructions.h - Masked accesses of AVX ---------------------------===//
#ifndef LATHE_TARGET_CPU_MASKINSTRUCTIONS_H
#define LATHE_TARGET_CPU_MASKINSTRUCTIONS_H

#include "llvm/IR/Module.h"

namespace lathe::cpu {

/// Writes masked loads and stores of 4 and 8 byte elements as AVX's instructions, vmaskmov, a register at a time. For x86 with
/// AVX and without AVX-512, and behind all optimisation. LLVM 19 does that itself, but wrongly: where the mask of one of a
/// vector's registers turns out to be constant as it selects instructions, it may take a mask of zeros for one that
/// is set, and reads and uses what lies there.
void useMaskInstructions(llvm::Module &module);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_MASKINSTRUCTIONS_H
