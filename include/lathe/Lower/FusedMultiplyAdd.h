//===- FusedMultiplyAdd.h - Which products are not rounded -----------------===//
//
// A product and a sum may become one instruction that rounds once. Code generators do that wherever the two meet, so that one
// value of a kernel could be rounded at one of its uses and not at another: t - t, with t = a * b, would be fma(a, b, -t), the
// rounding error of t. Here the kernel decides, not the code: only a product with exactly one use, which is a sum, is left
// unrounded; every other one is rounded. The instruction is written down, not allowed: a kernel that computes one value twice, to
// store it and to find the smallest of its row, gets the same bits from both, whatever the code generator sees beside them.
// (Within a kernel. What several kernels compute is rounded by each one's own uses.)
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LOWER_FUSEDMULTIPLYADD_H
#define LATHE_LOWER_FUSEDMULTIPLYADD_H

#include "mlir/IR/Operation.h"

namespace lathe::lower {

/// Marks `emitted`, made from the operation `op` of a kernel's body, when it is a product: its rounding is seen by several uses, or
/// by one that is no sum, or else a sum takes it in.
void markRounding(mlir::Operation *op, mlir::Operation *emitted);

/// Makes every sum below `root` of a product that is not rounded one `math.fma`, in f32 and f64, where the machine has the
/// instruction (without it every product is rounded), and drops the marks.
void formFusedMultiplyAdds(mlir::Operation *root, bool hasInstruction);

} // namespace lathe::lower

#endif // LATHE_LOWER_FUSEDMULTIPLYADD_H
