//===- ElementWalk.h - The elements of a static shape ----------------------===//
#ifndef LATHE_DIALECT_LATHE_ELEMENTWALK_H
#define LATHE_DIALECT_LATHE_ELEMENTWALK_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace lathe::ir {

/// Calls f(position, coordinates) for every element, in row-major order.
inline void forEach(llvm::ArrayRef<int64_t> shape, llvm::function_ref<void(int64_t, llvm::ArrayRef<int64_t>)> f) {
  int64_t n = mlir::ShapedType::getNumElements(shape);
  llvm::SmallVector<int64_t> at(shape.size(), 0);
  for (int64_t i = 0; i < n; ++i) {
    f(i, at);
    for (int d = int(shape.size()) - 1; d >= 0 && ++at[d] == shape[d]; --d)
      at[d] = 0;
  }
}

} // namespace lathe::ir

#endif // LATHE_DIALECT_LATHE_ELEMENTWALK_H
