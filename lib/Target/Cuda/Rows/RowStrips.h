//===- RowStrips.h - Threads that compute neighbours along a line ----------===//
#ifndef LATHE_LIB_TARGET_CUDA_ROWSTRIPS_H
#define LATHE_LIB_TARGET_CUDA_ROWSTRIPS_H

#include "../Generator.h"
#include "StripReader.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe::cuda {

using lower::AxisSet;

/// Stores a value of a row; a store at fewer axes than the rows have happens once. `ok`: null for always.
void storeOnce(DeviceBuilder &d, const lower::BodyInfo &info, AxisSet rows, kernel::StoreOp store, Value v, const lower::BodyEmitter &point, Value ok);

/// Emits a section of a row program of which each thread takes a strip.
class StripEmitter : public EntryEmitter {
public:
  StripEmitter(KernelFrame &frame, const schedule::ThreadRows &schedule, lower::RowAxes axes, llvm::ArrayRef<mlir::Operation *> roots);
  void emit();

private:
  lower::BodyEmitter bindStrip(Value index);
  std::optional<bool> decided(mlir::arith::CmpIOp compare, unsigned point, llvm::ArrayRef<int64_t> taps) const;
  void goTo(lower::BodyEmitter &at, unsigned point, AxisSet axes, llvm::ArrayRef<int64_t> taps);
  void reduce(const lower::RowPass &pass, const lower::BodyEmitter &origin);
  Values overLoops(const lower::RowPass &pass, AxisSet loops, const lower::BodyEmitter &origin, llvm::ArrayRef<lower::BodyEmitter> at, ValueRange sums);
  Values overTaps(const lower::RowPass &pass, llvm::ArrayRef<lower::BodyEmitter> at, ValueRange before);
  void store(llvm::ArrayRef<mlir::Operation *> stores);
  bool storeTogether(kernel::StoreOp store, llvm::ArrayRef<Value> values);

  schedule::ThreadRows s;
  lower::RowAxes axes;
  std::vector<mlir::Operation *> roots;
  StripReader reader;
  std::vector<lower::BodyEmitter> points;
  Values within;                    ///< of each point: whether the line reaches it; null: always
  llvm::SmallVector<int64_t> none;  ///< no place of the window
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_ROWSTRIPS_H
