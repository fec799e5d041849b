//===- CudaTarget.h - Kernels to NVIDIA machine code -----------------------===//
//
// Turns kernel.generic ops into cubins, one per distinct kernel and architecture, and into host functions that plan their
// launches: grid, shared memory and tensor maps as numbers computed from the kernel's sizes (lathe/Artifact/Format.h tells
// the layout), so that the runtime decides nothing. ptxas and libdevice are found when code is asked for; nothing of CUDA is
// needed to build the compiler.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CUDATARGET_H
#define LATHE_TARGET_CUDATARGET_H

#include "lathe/Schedule/Predicate.h"
#include "lathe/Target/Backend.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <memory>

namespace lathe {
class CodeCache;
namespace schedule {
class Tuning;
}
} // namespace lathe

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace lathe::cuda {

enum class Stage { Device, Ptx, Cubin }; ///< where to stop: device-level MLIR, PTX text, machine code

struct CudaOptions {
  std::vector<unsigned> sms = {75, 90}; ///< compute capabilities; 90 means sm_90a
  bool keepPtx = false;                 ///< PTX text beside the newest cubin, for GPUs that come later
  bool dependentLaunch = true;          ///< kernels start before the one before them has drained (9.0 and up)
  std::string cudaPath;                 ///< toolkit to look in first
  std::string hostTriple;               ///< of the planning functions; empty: this machine's
  unsigned jobs = 2;
  Stage stage = Stage::Cubin;
  CodeCache *cache = nullptr; ///< cubins that were made before; may be null
  const schedule::Tuning *tuning = nullptr;
  /// Told of each job that is done, of how many, from several threads.
  std::function<void(llvm::StringRef kernel, double seconds, unsigned total)> finished;
};

struct CudaModule {
  unsigned sm;
  bool ptx;
  std::string bytes;
};

/// One kernel on one architecture.
struct CudaVariant {
  unsigned sm;
  unsigned module;                  ///< index into CudaCode::modules
  std::vector<std::string> entries; ///< the plan picks one of them by LATHE_CUDA_ENTRY
  std::string plan;                 ///< symbol in the host object: a LathePlanFn
};

struct LoopGroup;
struct KernelGroup;

struct CudaCode {
  std::vector<CudaModule> modules;
  std::vector<std::vector<CudaVariant>> launches; ///< per distinct kernel
  std::vector<unsigned> launchOf;                 ///< per kernel given, then per group of loops, of kernels: index into `launches`
  std::vector<target::CompiledKernel> told;       ///< how each kernel given runs
  std::string hostObject;                         ///< a relocatable object with the planning functions
  std::string toolkit;                            ///< what ptxas says of its version, where machine code was made
};

/// Compiles the kernels, and the loops and kernels that are one launch together. Kernels with equal text are compiled once.
llvm::Expected<CudaCode> compileForCuda(llvm::ArrayRef<kernel::GenericOp> kernels, llvm::ArrayRef<LoopGroup> loops,
                                        llvm::ArrayRef<KernelGroup> groups, const CudaOptions &options);

/// One way in which a kernel runs.
struct Way {
  schedule::Predicate when; ///< of sizes,
  std::string device;       ///< and, in words, of the device that runs
  mlir::Attribute schedule;
  std::string entry; ///< the entry point
};

/// What `compileForCuda` does to one kernel before machine code: a module with the device function, and one with the plan.
struct DeviceCode {
  mlir::OwningOpRef<mlir::ModuleOp> device, host;
  std::vector<std::string> entries;
  std::vector<Way> ways = {}; ///< in the order in which they are asked; none: the kernel's generator is not scheduled
};
llvm::Expected<DeviceCode> generateDeviceCode(kernel::GenericOp kernel, unsigned sm, const CudaOptions &options);

/// The optimised LLVM IR that the device module becomes (consumes the module's contents), and the planning module's.
llvm::Expected<std::unique_ptr<llvm::Module>> deviceLlvm(mlir::ModuleOp device, unsigned sm, llvm::LLVMContext &context,
                                                         const CudaOptions &options);
llvm::Expected<std::unique_ptr<llvm::Module>> planLlvm(mlir::ModuleOp host, llvm::LLVMContext &context);
llvm::Expected<std::string> ptxOf(llvm::Module &module, unsigned sm);
/// What ptxas makes of it.
llvm::Expected<std::string> cubinOf(llvm::StringRef ptx, unsigned sm, const CudaOptions &options);

/// The dialects that generated code uses.
void registerCudaDialects(mlir::DialectRegistry &registry);

/// NVIDIA's GPUs among the backends.
const target::Backend &backend();

} // namespace lathe::cuda

#endif // LATHE_TARGET_CUDATARGET_H
