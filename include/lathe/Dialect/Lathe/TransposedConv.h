//===- TransposedConv.h - Transposed convolutions --------------------------===//
#ifndef LATHE_DIALECT_LATHE_TRANSPOSEDCONV_H
#define LATHE_DIALECT_LATHE_TRANSPOSEDCONV_H

#include "lathe/Dialect/Lathe/GraphBuilder.h"

namespace lathe::ir {

/// Along one dimension: element q of the operand and place t of the kernel add to element stride * q + dilation * t - low of
/// the result, which has `out` elements.
struct TransposedDim {
  int64_t kernel = 1, stride = 1, dilation = 1;
  shape::Expr low = 0, out = 1;
};

/// x [N, C, spatial..], w [C, O / groups, kernel..], bias [O] or null -> [N, O, out..]. The elements of the result whose place
/// has one remainder by the stride are a plain convolution of x with every stride-th place of the kernel; all remainders are
/// made by one convolution with so many times the channels, and its result is interleaved.
mlir::Value transposedConv(GraphBuilder &g, mlir::Value x, mlir::Value w, mlir::Value bias, int64_t groups,
                           llvm::ArrayRef<TransposedDim> dims);

} // namespace lathe::ir

#endif // LATHE_DIALECT_LATHE_TRANSPOSEDCONV_H
