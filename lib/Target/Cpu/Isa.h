//===- Isa.h - CPU instruction set variants --------------------------------===//
#ifndef LATHE_TARGET_CPU_ISA_H
#define LATHE_TARGET_CPU_ISA_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace lathe::cpu {

/// One variant of the code: what it may use and how wide it works. A row of the table in Isa.cpp.
struct Isa {
  llvm::StringRef name;     ///< "baseline", "avx2", "avx2vnni", "avx512", "avx512vnni", "neon"
  llvm::StringRef arch;     ///< "x86_64", "aarch64"
  llvm::StringRef triple;
  llvm::StringRef cpu;      ///< LLVM's target-cpu
  llvm::StringRef features; ///< LLVM's target-features
  unsigned vectorBytes;     ///< of one register
  unsigned registers;       ///< vector registers
  bool fma;
  bool maskedMemory;        ///< masked loads and stores of 4 and 8 byte elements are single instructions
  bool maskedBytes;         ///< also of 1 and 2 byte elements
  bool half;                ///< f16 <-> f32 conversion instructions
  llvm::StringRef refines;  ///< the variant beside which this one, with dot products of bytes, is made for kernels that use them

  bool dotsBytes() const { return !refines.empty(); }

  /// Lanes of f32 in one register: the usual vector width W.
  unsigned lanes() const { return vectorBytes / 4; }
};

/// The variant of this architecture and name; null when there is none.
const Isa *findIsa(llvm::StringRef arch, llvm::StringRef name);

/// The variant with dot products of bytes on top of this one; null where there is none.
const Isa *refinementOf(const Isa &isa);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_ISA_H
