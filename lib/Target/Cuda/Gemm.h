//===- Gemm.h - Contractions on a GPU --------------------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_GEMM_H
#define LATHE_LIB_TARGET_CUDA_GEMM_H

#include "ContractShape.h"
#include "DeviceHooks.h"
#include "RowProgram.h"

namespace lathe::cuda {

/// A contraction that a tiled generator can take: one float contraction, an epilogue of element ops and stores.
struct GemmProblem {
  kernel::ContractOp op;
  ContractShape shape;
  std::vector<kernel::StoreOp> stores;
  shape::Expr batch, m, n, k;
  mlir::Type lhsType, rhsType;
};
std::optional<GemmProblem> gemmProblem(const lower::BodyInfo &info);

/// Each says false when it does not take the kernel, having emitted nothing.
llvm::Expected<bool> generateSimtGemm(Generator &g);
/// Tensor cores of compute capability 9.0, for half types (and f32 as tf32) whose tiles bulk copies can fetch.
llvm::Expected<bool> generateHopperGemm(Generator &g);

/// Stores of the epilogue at rows and columns of the product.
class GemmEpilogue {
public:
  /// `base` has the batch axes bound.
  GemmEpilogue(const GemmProblem &problem, KernelFrame &frame, DeviceHooks &hooks, lower::BodyEmitter &base);
  /// Columns that one access may take together, from a column that is a multiple of it.
  unsigned width() const { return lanes; }
  /// A copy of the base at row m (i64).
  lower::BodyEmitter atRow(Value m);
  /// Stores `values` (f32), `width()` of them or one, at the row and the columns from n (i64) on.
  void store(lower::BodyEmitter row, Value n, llvm::ArrayRef<Value> values);

private:
  const GemmProblem &problem;
  KernelFrame &frame;
  lower::BodyEmitter &base;
  unsigned lanes;
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_GEMM_H
