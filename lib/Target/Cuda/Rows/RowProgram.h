//===- RowProgram.h - Loop and reduction kernels on a GPU ------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_ROWPROGRAM_H
#define LATHE_LIB_TARGET_CUDA_ROWPROGRAM_H

#include "../Generator.h"

namespace lathe::cuda {

/// Takes every kernel: contractions and attentions that no other generator wants become loops of single threads.
llvm::Error generateRowProgram(Generator &g);

/// Where a row program has few rows and long ones, blocks share them: the plan says so last.
llvm::Error shareFewRows(Generator &g);

/// A row program as a part of a launch of several kernels, with blocks of `partThreads` threads.
constexpr unsigned partThreads = 256;
bool mayBePart(const lower::BodyInfo &info);
/// How many blocks it takes (i64), by sizes as the caller evaluates them.
Value blocksOfPart(DeviceBuilder &d, const lower::BodyInfo &info, llvm::function_ref<Value(const shape::Expr &)> size);
/// Emits it at the frame's place; what its emitter says, nothing when all went well.
std::string emitPart(KernelFrame &outer, const lower::BodyInfo &info, const Values &refs, llvm::StringRef name, Value firstBlock);

/// False when the kernel is no scan.
llvm::Expected<bool> generateScan(Generator &g);
/// False when the kernel is no sort.
llvm::Expected<bool> generateSort(Generator &g);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_ROWPROGRAM_H
