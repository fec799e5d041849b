//===- Isa.h - CPU instruction set variants --------------------------------===//
#ifndef LATHE_TARGET_CPU_ISA_H
#define LATHE_TARGET_CPU_ISA_H

#include "lathe/Schedule/Machine.h"

namespace lathe::cpu {

/// One variant of the code: what it may use and how wide it works. A row of the table of machines.
using Isa = schedule::Machine;
using schedule::refinementOf;
inline const Isa *findIsa(llvm::StringRef arch, llvm::StringRef name) { return schedule::findMachine(arch, name); }

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_ISA_H
