//===- RoiAlign.h - Samples of regions of a feature map ---------------------===//
#ifndef LATHE_DIALECT_LATHE_ROIALIGN_H
#define LATHE_DIALECT_LATHE_ROIALIGN_H

#include "lathe/Dialect/Lathe/GraphBuilder.h"

namespace lathe::ir {

struct RoiAlignment {
  int64_t height = 1, width = 1; ///< bins
  int64_t samples = 0;           ///< of a bin in each direction; 0: as many as it has elements
  double scale = 1;              ///< from the regions' coordinates to the map's
  bool halfPixel = true;         ///< coordinates are those of elements' edges, and regions may be smaller than an element
  bool isMax = false;            ///< of the samples, else their mean
};

/// x [N, C, H, W], floating, regions [R, 4] of its type with x1, y1, x2, y2, and the image [R] that each lies in -> [R, C, height, width].
/// `readSizes` makes sizes of the elements of an integer list; it is not asked where the number of samples is given.
mlir::Value roiAlign(GraphBuilder &g, const RoiAlignment &how, mlir::Value x, mlir::Value regions, mlir::Value images,
                     llvm::function_ref<Dims(mlir::Value)> readSizes);

} // namespace lathe::ir

#endif // LATHE_DIALECT_LATHE_ROIALIGN_H
