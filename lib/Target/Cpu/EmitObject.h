//===- EmitObject.h - LLVM IR to machine code ------------------------------===//
#ifndef LATHE_TARGET_CPU_EMITOBJECT_H
#define LATHE_TARGET_CPU_EMITOBJECT_H

#include "Isa.h"
#include "lathe/Target/CpuTarget.h"
#include "llvm/IR/Module.h"

namespace lathe::cpu {

/// Optimises the module for the instruction set and gives its object file, assembly text or IR text. Safe to call from
/// several threads, each with its own LLVMContext.
llvm::Expected<std::string> emitCode(llvm::Module &module, const Isa &isa, const CpuOptions &options);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_EMITOBJECT_H
