//===- Windows.h - Sliding windows -----------------------------------------===//
#ifndef LATHE_DIALECT_LATHE_WINDOWS_H
#define LATHE_DIALECT_LATHE_WINDOWS_H

#include "lathe/Dialect/Lathe/GraphBuilder.h"

namespace lathe::ir {

/// Along one dimension: `out` windows of `kernel` places each, the first of which begins `low` before the operand.
struct WindowDim {
  int64_t kernel = 1, stride = 1, dilation = 1;
  shape::Expr low = 0, out = 1;
};

/// The sum or the largest (`kind`: Sum or Max) of every window's elements, over the last dimensions of what was padded already
/// (`low` is not read). Large windows are combined one dimension after the other, which takes the sum of their sides instead of
/// the product, and long sides as reductions of blocks or by doubling, in a number of steps that is logarithmic in the side.
mlir::Value combineWindows(GraphBuilder &g, mlir::Value padded, llvm::ArrayRef<WindowDim> dims, ReduceKind kind);

/// How many places of each window lie inside of an operand of these sizes: a tensor of the windows' dimensions.
mlir::Value coveredPlaces(GraphBuilder &g, llvm::ArrayRef<shape::Expr> sizes, llvm::ArrayRef<WindowDim> dims,
                          mlir::Type element);

/// An image [N, C, image..] that is the sum of its blocks [N, C, places of a block.., blocks..], of which the first begins `low`
/// before it; what lies outside is left out.
mlir::Value sumBlocks(GraphBuilder &g, mlir::Value blocks, llvm::ArrayRef<shape::Expr> image, llvm::ArrayRef<int64_t> strides,
                      llvm::ArrayRef<int64_t> dilations, llvm::ArrayRef<int64_t> low);

} // namespace lathe::ir

#endif // LATHE_DIALECT_LATHE_WINDOWS_H
