//===- Paddings.h - Paddings of what is padded ------------------------------===//
#ifndef LATHE_LIB_OPTIMIZE_PADDINGS_H
#define LATHE_LIB_OPTIMIZE_PADDINGS_H

#include "mlir/IR/Builders.h"

namespace lathe::opt {

/// A padding of something that is padded with the same value, as one of what that surrounds: each element would be asked twice whether it is inside. Null where
/// there is none, or the inner one may crop.
mlir::Value joinPaddings(mlir::Operation *pad, mlir::OpBuilder &b);
/// A convolution of an image that is padded with zeros along its lines, as one that pads the image itself.
mlir::Value takePadding(mlir::Operation *conv, mlir::OpBuilder &b);

} // namespace lathe::opt

#endif // LATHE_LIB_OPTIMIZE_PADDINGS_H
