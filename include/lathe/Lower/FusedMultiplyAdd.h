//===- FusedMultiplyAdd.h - Which products are not rounded -----------------===//
//
// A product and a sum may become one instruction that rounds once. Code generators do that wherever the two meet, so that one
// value of a kernel could be rounded at one of its uses and not at another: t - t, with t = a * b, would be fma(a, b, -t), the
// rounding error of t. Here the kernel decides, not the code: only a product with exactly one use, which is a sum, may be left
// unrounded; every other one is rounded. (Within a kernel. What several kernels compute is rounded by each one's own uses.)
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LOWER_FUSEDMULTIPLYADD_H
#define LATHE_LOWER_FUSEDMULTIPLYADD_H

#include "mlir/IR/Operation.h"

namespace lathe::lower {

/// Marks `emitted`, made from the operation `op` of a kernel's body, when it is a product whose rounding several uses, or one
/// that is no sum, can see.
void markRounding(mlir::Operation *op, mlir::Operation *emitted);

/// Sets the flag `contract` on every sum below `root` and on every product that is not marked. Products of generators
/// and expansions are made to be contracted.
void allowFusedMultiplyAdd(mlir::Operation *root);

} // namespace lathe::lower

#endif // LATHE_LOWER_FUSEDMULTIPLYADD_H
