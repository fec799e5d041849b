//===- ScatterPhases.h - Updates whose order changes no bit -----------------===//
#ifndef LATHE_LIB_TARGET_CUDA_SCATTERPHASES_H
#define LATHE_LIB_TARGET_CUDA_SCATTERPHASES_H

#include "../DeviceHooks.h"
#include "../KernelFrame.h"

namespace lathe::cuda {

/// Threads of a block in every phase.
constexpr unsigned scatterThreads = 128;

/// A launch. It has a thread for each update, one for each element of the result, or as many as fill the device, which
/// go through the memory or through the updates; of the private ones, a block counts in its own memory first.
struct ScatterPhase {
  enum Per { Update, Element, Memory, Range, Private } per;
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
  /// Of updates that replace (no combiner), or of floats that combine as the largest, the smallest, a sum or a product.
  /// `each`: what all updates are, where they are one number; `few`: elements fit into a block's shared memory.
  static std::unique_ptr<ScatterPhases> of(std::optional<kernel::Combiner> kind, mlir::Type element,
                                           std::optional<double> each, bool few);
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
  /// So many more updates of an element, in a private phase.
  virtual void addCount(DeviceBuilder &, const PhaseMemory &, Value /*index*/, Value /*count*/) const {}
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
/// Products of floats up to 32 bits (ScatterProducts.cpp).
std::unique_ptr<ScatterPhases> makeScatterProducts(mlir::Type element);
/// Sums of floats that are all `each` (ScatterCounts.cpp).
std::unique_ptr<ScatterPhases> makeScatterCounts(mlir::Type element, double each, bool few);

/// An atomic operation without order; the value before it.
Value atomicUpdate(DeviceBuilder &d, mlir::LLVM::AtomicBinOp op, Value pointer, Value value);
/// The element of a result that a pointer is at (i64).
Value indexOfElement(DeviceBuilder &d, Value pointer, Value result, mlir::Type element);
/// Zeros, in pieces of 16 bytes, by all threads of a launch that fills the device.
void clearMemory(KernelFrame &frame, Value start, Value bytes);

/// A word for each element. Nothing is as low as 0 but a word that nobody has written, or that is taken.
class WordPhases : public ScatterPhases {
public:
  WordPhases(mlir::Type element, mlir::Type word)
      : ScatterPhases(element), word(word), wordBytes(word.getIntOrFloatBitWidth() / 8) {}
  shape::Expr bytes(const shape::Expr &elements) const override {
    return elements * shape::Expr(wordBytes) + shape::Expr(16);
  }
  void memory(KernelFrame &frame, const PhaseMemory &m) const override {
    clearMemory(frame, m.scratch, frame.d.mul(m.elements, wordBytes));
  }

protected:
  Value at(DeviceBuilder &d, const PhaseMemory &m, Value index) const { return d.at(m.scratch, index, word); }
  void clear(DeviceBuilder &d, Value at) const { d.store(d.constant(word, 0), at, wordBytes); }
  mlir::Type word;
  int64_t wordBytes;
};

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
