//===- ConstantMatrix.h - A contraction's second operand as a matrix --------===//
#ifndef LATHE_LIB_TARGET_PASSES_CONSTANTMATRIX_H
#define LATHE_LIB_TARGET_PASSES_CONSTANTMATRIX_H

#include "lathe/Dialect/Kernel/Kernel.h"

namespace lathe::target {

/// The constant extent and stride of one axis in an offset.
std::optional<std::pair<int64_t, int64_t>> extentAndStride(kernel::GenericOp kernel, llvm::StringRef axis, const shape::Expr &offset);

/// Element (k, n) lies at k * kStride + n * nStride: one contracted axis, one column axis, no batch, offset 0.
struct ConstantMatrix {
  int64_t k, n, kStride, nStride;
  std::string kAxis, nAxis;

  static std::optional<ConstantMatrix> of(kernel::GenericOp kernel, kernel::ContractOp contract);
};

} // namespace lathe::target

#endif // LATHE_LIB_TARGET_PASSES_CONSTANTMATRIX_H
