//===- Views.h - Writing through a view -------------------------------------===//
#ifndef LATHE_LIB_IMPORT_FX_VIEWS_H
#define LATHE_LIB_IMPORT_FX_VIEWS_H

#include "Program.h"
#include "Values.h"
#include "lathe/Dialect/Lathe/GraphBuilder.h"

namespace lathe::fx {

/// `view` was built of `stand`, which stands for the tensor that it is a view of. The tensor `of` with the elements that the view
/// shows replaced by `written`: each op between the two is undone, the last one first. Null where one cannot be (an expansion,
/// whose elements several of the view's elements share).
mlir::Value writeThrough(ir::GraphBuilder &g, mlir::Value view, mlir::Value stand, mlir::Value of, mlir::Value written);

/// x with the part of it that g.slice(x, axis, start, .., step) takes replaced.
mlir::Value replacePart(ir::GraphBuilder &g, mlir::Value x, int64_t axis, const shape::Expr &start, int64_t step, mlir::Value part);

/// Whether the result of an operator that copies only where it must (reshape, contiguous) shares its operand's memory: by what
/// the file says of their strides.
Sharing sharingOf(const TensorMeta &operand, const TensorMeta &result, const shape::Facts &facts);
/// The same of one that gives its operand itself where it has the wanted strides already (contiguous, to).
Sharing sameStrides(const TensorMeta &operand, const TensorMeta &result, const shape::Facts &facts);

/// Whether the elements stand in memory in their order; nothing where the file does not say.
std::optional<bool> isContiguous(const TensorMeta &meta, const shape::Facts &facts);

} // namespace lathe::fx

#endif // LATHE_LIB_IMPORT_FX_VIEWS_H
