//===- ScatterPhases.h - Updates whose order changes no bit -----------------===//
#ifndef LATHE_LIB_TARGET_CUDA_SCATTERPHASES_H
#define LATHE_LIB_TARGET_CUDA_SCATTERPHASES_H

#include "DeviceBuilder.h"
#include "DeviceHooks.h"

namespace lathe::cuda {

/// Launches with a thread for each update, which meet in words of scratch memory that each element of the result has. Only words
/// of elements that are updated are ever touched.
class ScatterPhases {
public:
  /// Of updates that replace (no combiner), that combine as the largest or smallest float, or that add up floats.
  static std::optional<ScatterPhases> of(std::optional<kernel::Combiner> kind, mlir::Type element);
  enum Kind { Last, Extreme, Sum };
  Kind kind;
  kernel::Combiner combiner = kernel::Combiner::Add;
  mlir::Type element;
  unsigned count() const { return kind == Sum ? 4 : 3; }
  llvm::StringRef name(unsigned phase) const;
  int64_t bytes() const { return kind == Sum ? 12 : 4; } ///< of scratch memory for each element
  /// So many updates of one element have numbers of 32 bits, or a sum of 64.
  int64_t mostUpdates() const;
};

/// The memory that phases work on.
struct PhaseMemory {
  Value result, scratch, elements; ///< elements: how many there are
};

/// A store is what a phase does with an update.
class PhaseHooks : public DeviceHooks {
public:
  PhaseHooks(const lower::BodyInfo &info, const ScatterPhases &phases, unsigned phase, PhaseMemory memory)
      : DeviceHooks(info), phases(phases), phase(phase), memory(memory) {}
  void setUpdate(Value number) { update = number; }
  void store(mlir::OpBuilder &b, mlir::Location loc, const lower::Access &a, mlir::Value value) override;

private:
  void last(DeviceBuilder &d, Value word, Value target, Value value);
  void extreme(DeviceBuilder &d, Value word, Value target, Value value);
  void sum(DeviceBuilder &d, Value word, Value total, Value target, Value value);
  const ScatterPhases &phases;
  unsigned phase;
  PhaseMemory memory;
  Value update; ///< its number (i64)
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_SCATTERPHASES_H
