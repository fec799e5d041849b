//===- Scatter.h - Scatters as model formats have them ---------------------===//
//
// The forms of `lathe.scatter` that importers share. Sizes are the caller's to check, as for GraphBuilder; that updates
// which have a place of their own in a dimension are not longer there than the data is checked by the artifact where it
// is not known.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_DIALECT_LATHE_SCATTER_H
#define LATHE_DIALECT_LATHE_SCATTER_H

#include "lathe/Dialect/Lathe/GraphBuilder.h"

namespace lathe::ir {

mlir::Value scatter(GraphBuilder &g, ScatterKind kind, mlir::Value data, mlir::Value updates, mlir::ValueRange indices,
                    llvm::ArrayRef<int64_t> places);

/// Each update goes to its own place, but along the axis to where its index says (ONNX ScatterElements, torch.scatter).
/// Indices and updates have the same dims.
mlir::Value scatterAlong(GraphBuilder &g, ScatterKind kind, mlir::Value data, mlir::Value indices, mlir::Value updates,
                         int64_t axis);

/// Slices of the data, by indices into the dimensions `indexed` (sorted): indices have common dims, the updates these,
/// then the data's dimensions that are not indexed.
mlir::Value scatterSlices(GraphBuilder &g, ScatterKind kind, mlir::Value data, llvm::ArrayRef<mlir::Value> indices,
                          llvm::ArrayRef<int64_t> indexed, mlir::Value updates);

} // namespace lathe::ir

#endif // LATHE_DIALECT_LATHE_SCATTER_H
