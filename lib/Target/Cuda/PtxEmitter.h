//===- PtxEmitter.h - Device MLIR to PTX, host MLIR to objects -------------===//
#ifndef LATHE_LIB_TARGET_CUDA_PTXEMITTER_H
#define LATHE_LIB_TARGET_CUDA_PTXEMITTER_H

#include "lathe/Schedule/Machine.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace lathe::cuda {

/// Lowers everything in the module to the llvm and nvvm dialects, in place. `device`: that it is for, whose math goes to libdevice's functions; null: the
/// host.
llvm::Error lowerToLlvmDialect(mlir::ModuleOp module, const schedule::Machine *device);

/// Optimises the module, as `toPlainLlvm` gives it, for the architecture, with what it needs of libdevice.
llvm::Error optimiseForDevice(llvm::Module &module, unsigned sm, llvm::StringRef libdevice);
llvm::Expected<std::string> toPtx(llvm::Module &module, unsigned sm);

/// The module as LLVM IR, as it is. Not beside others of the same MLIR context, where translation makes types.
llvm::Expected<std::unique_ptr<llvm::Module>> toPlainLlvm(mlir::ModuleOp module, llvm::LLVMContext &context);

/// A relocatable object for the host.
llvm::Expected<std::string> toHostObject(mlir::ModuleOp module, llvm::StringRef triple);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_PTXEMITTER_H
