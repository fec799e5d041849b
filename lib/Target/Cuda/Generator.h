//===- Generator.h - What every generator of device code starts from -------===//
#ifndef LATHE_LIB_TARGET_CUDA_GENERATOR_H
#define LATHE_LIB_TARGET_CUDA_GENERATOR_H

#include "DeviceHooks.h"
#include "KernelFrame.h"

namespace lathe::cuda {

/// What a generator makes of a kernel.
struct Generator {
  const lower::BodyInfo &info;
  mlir::ModuleOp device;
  PlanFunction &plan;
  unsigned sm;
  bool dependentLaunch;
  const schedule::Machine &machine() const { return schedule::gpuOf(sm); }
  /// Groups of four warps multiply what bulk copies bring.
  bool multipliesByGroups() const { return machine().gpu.bulkCopies && machine().gpu.multiplies("f16", 16, /*byGroups=*/true); }
  Dependent dependent(bool later = false) const {
    return !dependentLaunch ? Dependent::No : later ? Dependent::WaitsLater : Dependent::Waits;
  }
  std::vector<std::string> entries;
  std::vector<Way> ways = {}; ///< what is told of how it runs, where there is more to say than the entry points
  bool product = false;    ///< what the plan says is that of tiles of a product,
  bool rowProgram = false; ///< or a row program's,
  /// Whether blocks compute more than they wait for memory, each on as much of a multiprocessor as there is (i1); null: they do not.
  Value computes = {};
  Value mayShare = {};     ///< and whether several blocks may share a row of it (i1); null: never
  /// Ends an entry point and lists it. `error`: what its emitter says, nothing when all went well.
  llvm::Error addEntry(KernelFrame &frame, llvm::StringRef name, llvm::StringRef error);
};

/// What comes before a kernel's code (CudaTarget.cpp): the dialects, and axes as generators want them.
void loadDialects(mlir::MLIRContext &context);
void collapse(kernel::GenericOp kernel);

/// Binds axes, the last one fastest, to what an index (i64) among all of their points says.
void bindAxes(lower::BodyEmitter &point, KernelFrame &frame, llvm::ArrayRef<unsigned> axes, Value index);

/// Emits an entry point: the kernel's body, wherever the generator puts its points.
class EntryEmitter {
public:
  explicit EntryEmitter(KernelFrame &frame)
      : frame(frame), d(frame.d), info(frame.info), hooks(info, frame.known), base(info, d.b, d.loc, frame.sizes, frame.refs, hooks) {}
  const std::string &error() const { return base.error(); }

protected:
  /// Binds the batch axes to what a flattened index (i64) says.
  void bindBatch(lower::BodyEmitter &point, llvm::ArrayRef<unsigned> axes, Value index);

  KernelFrame &frame;
  DeviceBuilder &d;
  const lower::BodyInfo &info;
  DeviceHooks hooks;
  lower::BodyEmitter base; ///< what all points of the block share
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_GENERATOR_H
