//===- CpuTarget.h - Kernels to objects of a CPU architecture --------------===//
#ifndef LATHE_TARGET_CPUTARGET_H
#define LATHE_TARGET_CPUTARGET_H

#include "lathe/Target/Backend.h"
#include "llvm/Support/Error.h"
#include <functional>

namespace lathe {
class CodeCache;
}

namespace lathe::schedule {
class Tuning;
}

namespace lathe::cpu {

/// Where compilation stops, and what `text` then holds.
enum class CpuStage { Mlir, Llvm, Asm, Object };

struct CpuOptions {
  std::string arch = "x86_64";                                         ///< or "aarch64"
  std::vector<std::string> variants = {"baseline", "avx2", "avx512"};  ///< aarch64: "neon"
  unsigned threads = 2;
  unsigned effort = 2; ///< of LLVM, 0 to 3: less takes less time to compile, and the code more to run
  bool isSpare = false; ///< code of a variant that hardly any machine runs, made in little time; compileCpuKernels sets it
  bool sharesAll = false; ///< threads share the smallest of kernels: for tests
  CpuStage stage = CpuStage::Object;
  CodeCache *cache = nullptr; ///< objects that were made before; may be null
  unsigned mostSchedules = schedule::usualSchedules; ///< of one kernel
  const schedule::Tuning *tuning = nullptr;
  /// Told of each job that is done, of how many, from several threads.
  std::function<void(llvm::StringRef kernel, double seconds, unsigned total)> finished;
};

using target::CompiledCase, target::CompiledKernel, target::CompiledVariant, target::ExpectedCost;

struct CompiledKernels {
  std::vector<std::string> objects;    ///< relocatable objects, in a fixed order
  std::vector<CompiledKernel> kernels; ///< one per given kernel; equal kernels share their symbols
  std::string text;                    ///< for the stages before Object
};

/// Compiles each kernel for each variant. Equal kernels (same canonical text) are compiled once. All kernels that are not
/// supported are named in one error.
llvm::Expected<CompiledKernels> compileCpuKernels(llvm::ArrayRef<kernel::GenericOp> kernels, const CpuOptions &options);

/// CPUs among the backends.
const target::Backend &backend();

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPUTARGET_H
