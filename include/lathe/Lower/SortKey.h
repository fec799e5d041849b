//===- SortKey.h - Keys as numbers whose order is that of their bits -------===//
#ifndef LATHE_LOWER_SORTKEY_H
#define LATHE_LOWER_SORTKEY_H

#include "lathe/Dialect/Kernel/Kernel.h"
#include "mlir/IR/Builders.h"

namespace lathe::lower {

/// An integer of the key's width (a vector of them for a vector) that is smaller, as an unsigned number, where the key
/// comes first, and equal where it ties: -0 is 0, and all NaNs are one.
mlir::Value sortKey(mlir::OpBuilder &b, mlir::Location loc, kernel::SortOp op, mlir::Value key);
/// The key again, and where it is another one than the number says: a zero and a NaN are one of several (null: nowhere).
struct KeyOfNumber {
  mlir::Value key, unsure;
};
KeyOfNumber keyOfNumber(mlir::OpBuilder &b, mlir::Location loc, kernel::SortOp op, mlir::Value number);
/// Bytes of the key that differ.
unsigned sortKeyBytes(kernel::SortOp op);

} // namespace lathe::lower

#endif // LATHE_LOWER_SORTKEY_H
