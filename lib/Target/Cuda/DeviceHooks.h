//===- DeviceHooks.h - Accesses of a kernel's body on a GPU ----------------===//
#ifndef LATHE_LIB_TARGET_CUDA_DEVICEHOOKS_H
#define LATHE_LIB_TARGET_CUDA_DEVICEHOOKS_H

#include "lathe/Lower/Divisibility.h"
#include "lathe/Lower/EmitHooks.h"

namespace lathe::cuda {

/// Vectors of lanes move in one access where the address is provably a multiple of its size (buffers start at multiples of
/// 256 bytes, the schedule's lane base at a multiple of the width), else element by element. There is no masked vector
/// access: masked lanes are branches.
class DeviceHooks : public lower::EmitHooks {
public:
  explicit DeviceHooks(const lower::BodyInfo &info) : DeviceHooks(info, lower::Divisibility(info)) {}
  DeviceHooks(const lower::BodyInfo &info, const lower::Divisibility &known) : info(info), known(known) {}
  mlir::Value load(mlir::OpBuilder &b, mlir::Location loc, const lower::Access &a, mlir::Value fill) override;
  void store(mlir::OpBuilder &b, mlir::Location loc, const lower::Access &a, mlir::Value value) override;
  mlir::Value gather(mlir::OpBuilder &b, mlir::Location loc, const lower::Access &a, mlir::Value offsets,
                     mlir::Value fill) override;
  void scatter(mlir::OpBuilder &b, mlir::Location loc, const lower::Access &a, mlir::Value offsets,
               mlir::Value value) override;
  bool isMultiple(const shape::Expr &e, unsigned lanes) override {
    return lanes == laneWidth && divisorOf(e, lanes) == lanes;
  }
  /// The axis along which accesses are wide; its base is a multiple of `width`. `zeros`: axes that are always 0, as the lane's counts
  /// for them.
  void setLane(llvm::StringRef axis, unsigned width, llvm::ArrayRef<unsigned> zeros = {}) {
    laneAxis = axis.str();
    laneWidth = width;
    zeroAxes.assign(zeros.begin(), zeros.end());
  }
  using ReadTogether = std::function<mlir::Value(kernel::LoadOp load, mlir::Value predicate, mlir::Value fill)>;
  mlir::Value loadTogether(mlir::Operation *load, mlir::Value predicate, mlir::Value fill) override {
    return together ? together(llvm::cast<kernel::LoadOp>(load), predicate, fill) : mlir::Value();
  }
  void readTogetherBy(ReadTogether read) { together = std::move(read); }
  /// What is known of sizes from here on.
  void assume(const lower::Divisibility &sizes) { known = sizes; }

private:
  unsigned alignmentOf(const lower::Access &a);
  int64_t divisorOf(const shape::Expr &e, int64_t limit) const;
  const lower::BodyInfo &info;
  lower::Divisibility known;
  ReadTogether together;
  std::string laneAxis;
  std::vector<unsigned> zeroAxes;
  unsigned laneWidth = 1;
};

/// The largest power of two up to `limit` that divides the expression for every value of its symbols, where the symbol
/// `free` counts as a multiple of `limit`.
int64_t knownDivisor(const shape::Expr &e, int64_t limit, llvm::StringRef free = "");

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_DEVICEHOOKS_H
