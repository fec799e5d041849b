//===- ScatterHooks.h - How a thread stores an update --------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_SCATTERHOOKS_H
#define LATHE_LIB_TARGET_CUDA_SCATTERHOOKS_H

#include "../Generator.h"

namespace lathe::cuda {

using kernel::Combiner;

/// Whether updates of integers may come in any order, one at a time.
bool isAtomic(Combiner kind, Type element);

/// Stores become atomic updates.
class AtomicHooks : public DeviceHooks {
public:
  AtomicHooks(const lower::BodyInfo &info, Combiner kind) : DeviceHooks(info), kind(kind) {}
  void store(mlir::OpBuilder &b, mlir::Location loc, const lower::Access &a, Value value) override;

private:
  Combiner kind;
};

/// Words in a block's shared memory, one for each element; updates are added to them, or counted.
struct PrivateWords {
  Value shared;
  Type word;
  Value elements; ///< how many there are (i32)
  bool counts;
};

class PrivateHooks : public DeviceHooks {
public:
  PrivateHooks(const lower::BodyInfo &info, PrivateWords words, Value result)
      : DeviceHooks(info), words(words), result(result) {}
  void store(mlir::OpBuilder &b, mlir::Location loc, const lower::Access &a, Value value) override;

private:
  PrivateWords words;
  Value result;
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_SCATTERHOOKS_H
