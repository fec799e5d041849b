//===- BuildModule.h - From a kernel to LLVM IR ----------------------------===//
#ifndef LATHE_TARGET_CPU_BUILDMODULE_H
#define LATHE_TARGET_CPU_BUILDMODULE_H

#include "Isa.h"
#include "lathe/Lower/DetachKernel.h"
#include "llvm/IR/Module.h"

namespace lathe::cpu {

/// A module with the functions NAME and NAME_plan in scf, arith, math, vector and llvm ops.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> buildKernelModule(lower::DetachedKernel &kernel, const Isa &isa,
                                                                    llvm::StringRef name);

/// Values of half types that the machine does not know become integers; nothing is computed with them.
void carryAsBits(mlir::ModuleOp module, const Isa &isa);

/// The same in the LLVM dialect; in place.
llvm::Error lowerToLLVMDialect(mlir::ModuleOp module, const Isa &isa);

/// LLVM IR with the attributes of the instruction set, before optimisation.
llvm::Expected<std::unique_ptr<llvm::Module>> toLLVMIR(mlir::ModuleOp module, const Isa &isa, llvm::LLVMContext &context);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_BUILDMODULE_H
