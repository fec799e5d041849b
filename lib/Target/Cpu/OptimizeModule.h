//===- OptimizeModule.h - LLVM's passes over a kernel's functions ----------===//
#ifndef LATHE_TARGET_CPU_OPTIMIZEMODULE_H
#define LATHE_TARGET_CPU_OPTIMIZEMODULE_H

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace llvm {
class TargetMachine;
}

namespace lathe::cpu {

/// Simplifies the functions. Level: 0 to 3, as of LLVM; 2 is a list in OptimizeModule.cpp, a shorter one for spare code.
llvm::Error optimizeModule(llvm::Module &module, llvm::TargetMachine &machine, unsigned level, bool isSpare);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_OPTIMIZEMODULE_H
