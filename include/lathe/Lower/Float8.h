//===- Float8.h - Floats of 8 bits in a kernel's body -----------------------===//
//
// In memory and in bodies they are codes, i8. A bitcast says of which format one is; what it gives is only ever extended.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LOWER_FLOAT8_H
#define LATHE_LOWER_FLOAT8_H

#include "mlir/IR/Value.h"

namespace lathe::lower {

/// The bitcast from which a number comes that was a float of 8 bits before it was made wider; null where it was none.
mlir::Operation *float8Of(mlir::Value number);
/// That number's code.
mlir::Value codesOf(mlir::Value number);

} // namespace lathe::lower

#endif // LATHE_LOWER_FLOAT8_H
