//===- ScatterPhases.h - Updates whose order changes no bit -----------------===//
#ifndef LATHE_LIB_TARGET_CUDA_SCATTERPHASES_H
#define LATHE_LIB_TARGET_CUDA_SCATTERPHASES_H

#include "DeviceHooks.h"
#include "KernelFrame.h"

namespace lathe::cuda {

/// Threads of a block in every phase.
constexpr unsigned scatterThreads = 128;

/// A launch. It has a thread for each update, one for each element of the result, or as many as fill the device, which
/// go through the memory or through the updates.
struct ScatterPhase {
  enum Per { Update, Element, Memory, Range } per;
  llvm::StringRef name;
};

/// The memory that phases work on.
struct PhaseMemory {
  Value result, scratch;
  Value elements, updates; ///< how many there are (i64)
};

/// Launches that meet in scratch memory, each of whose elements belongs to one of the result's. Dense ones go through
/// all of that memory; sparse ones touch what belongs to updated elements, for results of many more elements than
/// updates.
class ScatterPhases {
public:
  /// Of updates that replace (no combiner), that combine as the largest or smallest float, or that add up floats.
  static std::unique_ptr<ScatterPhases> of(std::optional<kernel::Combiner> kind, mlir::Type element);
  virtual ~ScatterPhases() = default;

  virtual llvm::SmallVector<ScatterPhase> phases(bool sparse) const = 0;
  virtual shape::Expr bytes(const shape::Expr &elements) const = 0; ///< of scratch memory
  /// Blocks of a phase that fills the device.
  static constexpr int64_t mostBlocks = 4096;
  /// More updates than this cannot be told apart.
  virtual int64_t mostUpdates() const { return INT64_MAX; }

  /// What a whole block does before its updates, in a phase by updates.
  virtual void beforeUpdates(KernelFrame &, const PhaseMemory &, llvm::StringRef /*phase*/) const {}
  /// An update, as value and as index of its element; `number` counts updates.
  virtual void update(DeviceBuilder &d, const PhaseMemory &m, llvm::StringRef phase, Value index, Value value,
                      Value number) const = 0;
  virtual void element(DeviceBuilder &d, const PhaseMemory &m, Value index) const = 0;
  virtual void memory(KernelFrame &frame, const PhaseMemory &m) const = 0;
  virtual unsigned rangeNumbers() const { return 0; }
  /// As many numbers (i32) of an update, whose largest are wanted, where `counts` (null: always) holds, and what a
  /// block does with them.
  virtual Values range(DeviceBuilder &, Value /*value*/, Value /*counts*/) const { return {}; }
  virtual void keepRange(KernelFrame &, const PhaseMemory &, Values /*largest*/) const {}

protected:
  explicit ScatterPhases(mlir::Type element)
      : elementType(element), elementBytes(std::max(1u, element.getIntOrFloatBitWidth() / 8)) {}
  static ScatterPhase clearing(bool sparse) {
    return sparse ? ScatterPhase{ScatterPhase::Update, "clear_updated"} : ScatterPhase{ScatterPhase::Memory, "clear"};
  }
  /// Where the element lies.
  Value target(DeviceBuilder &d, const PhaseMemory &m, Value index) const { return d.at(m.result, index, elementType); }
  mlir::Type elementType;
  unsigned elementBytes;
};

/// Sums of floats (ScatterSums.cpp).
std::unique_ptr<ScatterPhases> makeScatterSums(mlir::Type element);

/// An atomic operation without order; the value before it.
Value atomicUpdate(DeviceBuilder &d, mlir::LLVM::AtomicBinOp op, Value pointer, Value value);
/// Zeros, in pieces of 16 bytes, by all threads of a launch that fills the device.
void clearMemory(KernelFrame &frame, Value start, Value bytes);

/// A store is what a phase does with an update.
class PhaseHooks : public DeviceHooks {
public:
  PhaseHooks(const lower::BodyInfo &info, const ScatterPhases &phases, llvm::StringRef phase, PhaseMemory memory)
      : DeviceHooks(info), phases(phases), phase(phase), memory(memory) {}
  void setUpdate(Value number) { update = number; }
  void store(mlir::OpBuilder &b, mlir::Location loc, const lower::Access &a, mlir::Value value) override;

private:
  const ScatterPhases &phases;
  llvm::StringRef phase;
  PhaseMemory memory;
  Value update; ///< its number (i64)
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_SCATTERPHASES_H
