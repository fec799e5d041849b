//===- EmptyTaps.h - Taps of a window that read nothing ---------------------===//
#ifndef LATHE_LIB_OPTIMIZE_EMPTYTAPS_H
#define LATHE_LIB_OPTIMIZE_EMPTYTAPS_H

#include "mlir/IR/Builders.h"

namespace lathe::opt {

/// A convolution of floats without the taps at its window's ends that lie beside the image at every place: 3x3 around a single pixel is 1x1, and a wide dilation may
/// leave its middle alone. Null where there are none, sizes are open, or a border would be cut.
mlir::Value withoutEmptyTaps(mlir::Operation *conv, mlir::OpBuilder &b);

} // namespace lathe::opt

#endif // LATHE_LIB_OPTIMIZE_EMPTYTAPS_H
