//===- Data.h - Sizes that depend on data -----------------------------------===//
#ifndef LATHE_LIB_IMPORT_FX_OPS_DATA_H
#define LATHE_LIB_IMPORT_FX_OPS_DATA_H

#include "Families.h"

namespace lathe::fx {

/// The coordinates of the true elements, one list per dimension, in row-major order. `count` is the file's symbol for how many.
llvm::Expected<SmallVector<Value>> coordinatesOfTrue(OpContext &c, Value mask, const Expr &count);
/// Likewise, where the file has none.
SmallVector<Value> coordinatesOfTrue(OpContext &c, Value mask);

/// The elements of x where a mask of its dims is true, in row-major order.
llvm::Expected<Value> elementsOfTrue(OpContext &c, Value x, Value mask, const Expr &count);

/// x with the source's elements, in their order, where the mask of its dims is true.
Value scatterMasked(OpContext &c, Value x, Value mask, Value source);

} // namespace lathe::fx

#endif // LATHE_LIB_IMPORT_FX_OPS_DATA_H
