//===- Linalg.h - Matrices for LAPACK, and its decompositions -----------------===//
#ifndef LATHE_LIB_IMPORT_FX_OPS_LINALG_H
#define LATHE_LIB_IMPORT_FX_OPS_LINALG_H

#include "Families.h"

namespace lathe::fx::linalg {

/// A batch of m x n matrices as LAPACK takes them: float64 [count, n, m].
struct Matrices {
  Value columns;
  Dims batch;
  Expr count = Expr(1), m = Expr(0), n = Expr(0);
};

llvm::Expected<Matrices> matricesOf(OpContext &c, Value x, bool square);
/// Of [.., m, n] with the dimensions of an element behind: none, or 2 of a complex number.
llvm::Expected<Matrices> columnsOf(OpContext &c, Value x, bool square, const Dims &element);
/// The last two dimensions in front of so many others change places.
Value swapped(OpContext &c, Value x, int64_t behind = 0);
/// [count, n, m] as [.., m, n]; [count, n] as [.., n]; [count] as [..]; of so many dimensions of an element.
Value unpacked(OpContext &c, Value columns, const Matrices &like, int64_t behind = 0);

/// A function of the runtime, with its sizes.
SmallVector<Value> call(OpContext &c, llvm::StringRef function, llvm::ArrayRef<Value> in, llvm::ArrayRef<Type> out, const Dims &sizes);

struct Lu {
  Value columns, pivots, info;
};
Lu lu(OpContext &c, const Matrices &a);

/// U [count, p, m], the values [count, k] and V transposed [count, n, q], all column by column.
struct Svd {
  Value u, values, v;
};
Svd svd(OpContext &c, const Matrices &a, bool full);

struct Solution {
  Value columns;
  Lu lu;
};
/// A x = b, column by column. Strict: a singular matrix ends the run.
Solution solve(OpContext &c, const Matrices &a, Value b, bool strict, llvm::StringRef function = "lapack_solve");
Value inverse(OpContext &c, const Matrices &a, bool strict);
/// As many identity matrices as there are, n x n.
Value identityOf(OpContext &c, const Matrices &a);

// Of complex matrices (LinalgComplex.cpp).
llvm::Error complexEigenvalues(OpContext &c, bool vectors);
/// What an operator does with them; null where it is not known.
const OpEntry *findComplex(llvm::StringRef name);

/// The p-norm over the dimensions (Reduce.cpp).
Value vectorNorm(OpContext &c, Value x, llvm::ArrayRef<int64_t> axes, bool keep, double p);

} // namespace lathe::fx::linalg

#endif // LATHE_LIB_IMPORT_FX_OPS_LINALG_H
