//===- GridSample.h - Sampling an image at given positions -----------------===//
#ifndef LATHE_DIALECT_LATHE_GRIDSAMPLE_H
#define LATHE_DIALECT_LATHE_GRIDSAMPLE_H

#include "lathe/Dialect/Lathe/GraphBuilder.h"
#include <string>

namespace lathe::ir {

struct GridSampling {
  std::string mode = "linear";   ///< "nearest", "linear" or "cubic"
  std::string padding = "zeros"; ///< "zeros", "border" or "reflection"
  bool corners = false;          ///< -1 and 1 are the centres of the outer elements, not their outer edges
};

/// x [N, C, spatial..] of f32 or f64 at the positions of grid [N, places.., spatial], whose last dimension is x, y, z: [N, C, places..].
mlir::Value gridSample(GraphBuilder &g, const GridSampling &how, mlir::Value x, mlir::Value grid);

/// The sampling positions of affine transformations theta [N, spatial, spatial + 1] of the output's pixels: [N, pixels.., spatial].
/// `lone`: where the only pixel of an axis is, with corners.
mlir::Value affineGrid(GraphBuilder &g, mlir::Value theta, llvm::ArrayRef<shape::Expr> pixels, bool corners, double lone = -1);

} // namespace lathe::ir

#endif // LATHE_DIALECT_LATHE_GRIDSAMPLE_H
