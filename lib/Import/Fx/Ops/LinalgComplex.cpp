//===- LinalgComplex.cpp - Linear algebra of complex matrices ---------------===//
//
// As in Linalg.cpp, by the functions of lib/Runtime/LapackComplex.c: batches of matrices are [count, n, m, 2], column by column.
//
//===----------------------------------------------------------------------===//

#include "ComplexParts.h"
#include "Linalg.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::fx::linalg;
using namespace lathe::ir;

static Type f64(OpContext &c) { return c.g.b.getF64Type(); }

/// Rows and columns of [.., m, n, 2] change places.
static Value flipped(OpContext &c, Value x) { return swapped(c, x, 1); }

/// Matrices of [.., m, n, 2].
static llvm::Expected<Matrices> complexMatrices(OpContext &c, Value x, bool square) {
  if (typeOf(x).getRank() < 3 || !llvm::isa<mlir::FloatType>(elementOf(x)))
    return c.wrong("complex matrices of {0}", x.getType());
  return columnsOf(c, x, square, {Expr(2)});
}

/// What a call gave for each matrix, in the batch's dimensions and the result's type.
static llvm::Error giveEach(OpContext &c, Value v) {
  size_t i = c.results.size();
  return c.give(i < c.resultTypes.size() ? c.g.cast(v, c.resultElement(i)) : v);
}
static llvm::Error giveEach(OpContext &c, Value v, const Matrices &like) { return giveEach(c, unpacked(c, v, like, 1)); }

//===----------------------------------------------------------------------===//
// Systems of equations
//===----------------------------------------------------------------------===//

static Solution solutionOf(OpContext &c, const Matrices &a, Value b, bool strict) {
  return solve(c, a, b, strict, "lapack_complex_solve");
}

template <bool strict> static llvm::Error inverted(OpContext &c) {
  LATHE_TRY(a, complexMatrices(c, c.tensor(c.has("self") ? "self" : "A"), true));
  Value one = identityOf(c, a);
  Solution r = solutionOf(c, a, complexes::joined(c, {one, c.g.splatLike(0, one)}), strict);
  (void)giveEach(c, r.columns, a);
  return strict ? llvm::Error::success() : giveEach(c, r.lu.info, a);
}

/// Whether B is a vector for each matrix: it has the dimensions of A without the last.
static bool isVector(OpContext &c, Value a, Value b) {
  Dims da = dimsOf(a), db = dimsOf(b);
  if (db.size() == 2)
    return true;
  return db.size() + 1 == da.size() && llvm::all_of(llvm::seq<size_t>(0, db.size() - 1), [&](size_t d) { return c.g.facts.provablyEqual(da[d], db[d]); });
}

/// A and B with the dimensions of a batch that both have.
static llvm::Error intoOneBatch(OpContext &c, Value &a, Value &b) {
  Dims da = dimsOf(a), db = dimsOf(b);
  if (da.size() < 3 || db.size() < 3)
    return c.wrong("{0} and {1}", a.getType(), b.getType());
  if (llvm::Error e = c.needEqual(da[da.size() - 2], db[db.size() - 3]))
    return e;
  auto both = c.g.broadcastDims(llvm::ArrayRef(da).drop_back(3), llvm::ArrayRef(db).drop_back(3));
  if (!both)
    return c.wrong("the batches of {0} and {1} do not broadcast", a.getType(), b.getType());
  for (auto [x, dims] : {std::pair(&a, &da), std::pair(&b, &db)}) {
    Dims wide = *both;
    wide.append(dims->end() - 3, dims->end());
    *x = c.g.broadcastTo(*x, wide);
  }
  return llvm::Error::success();
}

template <bool strict> static llvm::Error solveFor(OpContext &c) {
  Value a = c.tensor("A"), b = c.tensor("B");
  bool left = c.flag("left"), vector = isVector(c, a, b);
  if (vector)
    b = c.g.unsqueeze(b, {typeOf(b).getRank() - 1});
  if (!left) {
    a = flipped(c, a);
    b = flipped(c, b);
  }
  if (llvm::Error e = intoOneBatch(c, a, b))
    return e;
  LATHE_TRY(matrices, complexMatrices(c, a, true));
  LATHE_TRY(right, complexMatrices(c, b, false));
  Solution r = solutionOf(c, matrices, right.columns, strict);
  Value x = unpacked(c, r.columns, right, 1);
  (void)giveEach(c, left ? x : flipped(c, x)); // of x A = b the columns of x are its rows
  if (vector)
    c.results[0] = c.g.squeeze(c.results[0], {typeOf(c.results[0]).getRank() - 2});
  return strict ? llvm::Error::success() : giveEach(c, r.lu.info, matrices);
}

//===----------------------------------------------------------------------===//
// Eigenvalues
//===----------------------------------------------------------------------===//

template <bool vectors> static llvm::Error hermitian(OpContext &c) {
  LATHE_TRY(a, complexMatrices(c, c.tensor(c.has("self") ? "self" : "A"), true));
  bool upper = llvm::StringRef(c.text("UPLO")).equals_insensitive("U");
  Type out[] = {tensorType({a.count, a.n}, f64(c)), a.columns.getType()};
  auto r = call(c, "lapack_complex_eigh", a.columns, out, {a.count, a.n, Expr(upper ? 1 : 0)});
  (void)giveEach(c, r[0], a);
  return vectors ? giveEach(c, r[1], a) : llvm::Error::success();
}

llvm::Error linalg::complexEigenvalues(OpContext &c, bool vectors) {
  LATHE_TRY(a, complexMatrices(c, c.tensor("self"), true));
  Type out[] = {tensorType({a.count, a.n, Expr(2)}, f64(c)), a.columns.getType()};
  auto r = call(c, "lapack_complex_eig", a.columns, out, {a.count, a.n});
  (void)giveEach(c, r[0], a);
  return vectors ? giveEach(c, r[1], a) : llvm::Error::success();
}

const OpEntry *linalg::findComplex(llvm::StringRef name) {
  static const OpEntry table[] = {
      {"linalg_inv.default", "A:T", inverted<true>},
      {"inverse.default", "self:T", inverted<true>},
      {"linalg_inv_ex.default", "A:T check_errors:B=false", inverted<false>},
      {"linalg_solve.default", "A:T B:T left:B=true", solveFor<true>},
      {"linalg_solve_ex.default", "A:T B:T left:B=true check_errors:B=false", solveFor<false>},
      {"linalg_eigh.default", "self:T UPLO:X=L", hermitian<true>},
      {"_linalg_eigh.default", "A:T UPLO:X=L compute_v:B=true", hermitian<true>},
      {"linalg_eigvalsh.default", "self:T UPLO:X=L", hermitian<false>},
  };
  for (const OpEntry &entry : table)
    if (name == entry.name)
      return &entry;
  return nullptr;
}
