//===- BuildModule.h - From a kernel to LLVM IR ----------------------------===//
#ifndef LATHE_TARGET_CPU_BUILDMODULE_H
#define LATHE_TARGET_CPU_BUILDMODULE_H

#include "Isa.h"
#include "lathe/Lower/DetachKernel.h"
#include "lathe/Schedule/ScheduleDialect.h"
#include "mlir/Pass/Pass.h"
#include "llvm/IR/Module.h"

namespace lathe::cpu {

/// One way to run a kernel, and the sizes that it serves.
struct KernelCase {
  schedule::Predicate when; ///< over the detached kernel's sizes
  mlir::Attribute schedule;
};

struct BuiltKernel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<std::string> forms;   ///< for each case: who emitted it
  std::vector<std::string> remarks; ///< of the last, general case: what was declined, and why
};

/// A module with the functions NAME and NAME_plan in scf, arith, math, vector and llvm ops. They ask the cases in their order which one
/// serves the sizes; the last one always does. What is emitted for several cases alike is there once. `sharesAll`: threads share it however little there is to do.
llvm::Expected<BuiltKernel> buildKernelModule(lower::DetachedKernel &kernel, llvm::ArrayRef<KernelCase> cases, const Isa &isa,
                                              llvm::StringRef name, bool sharesAll = false);

/// Values of half types that the machine does not know become integers; nothing is computed with them.
void carryAsBits(mlir::ModuleOp module, const Isa &isa);

/// LLVM does not write out trips of this loop: they are as long as they should be.
void keepAsWritten(mlir::Operation *loop);

/// Loops and choices to branches.
std::unique_ptr<mlir::Pass> createLoopsToBranches();

/// The same in the LLVM dialect; in place.
llvm::Error lowerToLLVMDialect(mlir::ModuleOp module, const Isa &isa);

/// LLVM IR with the attributes of the instruction set, before optimisation.
llvm::Expected<std::unique_ptr<llvm::Module>> toLLVMIR(mlir::ModuleOp module, const Isa &isa, llvm::LLVMContext &context);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_BUILDMODULE_H
