//===- CodedProduct.h - Sums of products with unpacked codes ----------------===//
#ifndef LATHE_LOWER_CODEDPRODUCT_H
#define LATHE_LOWER_CODEDPRODUCT_H

#include "lathe/Dialect/Kernel/Kernel.h"

namespace lathe::lower {

/// A sum of products of f32: the first factor is read as it lies, the second one is unpacked from words of codes (--lathe-blocked-weights).
struct CodedProduct {
  kernel::ReduceOp sum;
  kernel::LoadOp lhs; ///< of f32, or of a half type that is widened
  mlir::Value rhs;
};
std::optional<CodedProduct> codedProduct(kernel::ReduceOp sum);

} // namespace lathe::lower

#endif // LATHE_LOWER_CODEDPRODUCT_H
