//===- Linalg.cpp - Linear algebra --------------------------------------------===//
//
// Decompositions are calls of the host program (lib/Runtime/Lapack.c), in float64 and column by column, which is the
// transpose of a matrix here; everything else is composed of them.
//
//===----------------------------------------------------------------------===//

#include "Linalg.h"
#include <cmath>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::fx::linalg;
using namespace lathe::ir;

static Type f64(OpContext &c) { return c.g.b.getF64Type(); }
static Type i32(OpContext &c) { return c.g.b.getI32Type(); }

Value linalg::swapped(OpContext &c, Value x, int64_t behind) {
  SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(x).getRank()));
  std::swap(perm.end()[-1 - behind], perm.end()[-2 - behind]);
  return c.g.transpose(x, perm);
}

llvm::Expected<Matrices> linalg::columnsOf(OpContext &c, Value x, bool square, const Dims &element) {
  Matrices a;
  Dims dims = dimsOf(x);
  dims.truncate(dims.size() - element.size());
  a.n = dims.pop_back_val();
  a.m = dims.pop_back_val();
  a.batch = dims;
  a.count = c.g.facts.simplify(shape::product(dims));
  if (square)
    if (llvm::Error e = c.needEqual(a.m, a.n))
      return std::move(e);
  Dims columns{a.count, a.n, a.m};
  columns.append(element.begin(), element.end());
  a.columns = c.g.reshape(swapped(c, c.g.cast(x, f64(c)), element.size()), columns);
  return a;
}

llvm::Expected<Matrices> linalg::matricesOf(OpContext &c, Value x, bool square) {
  if (typeOf(x).getRank() < 2 || !llvm::isa<mlir::FloatType>(elementOf(x)))
    return c.cannot("matrices of {0}", x.getType());
  return columnsOf(c, x, square, {});
}

Value linalg::unpacked(OpContext &c, Value columns, const Matrices &like, int64_t behind) {
  Dims dims = like.batch, given = dimsOf(columns);
  dims.append(given.begin() + 1, given.end());
  Value x = c.g.reshape(columns, dims);
  return int64_t(given.size()) == 3 + behind ? swapped(c, x, behind) : x;
}

SmallVector<Value> linalg::call(OpContext &c, llvm::StringRef function, llvm::ArrayRef<Value> in, llvm::ArrayRef<Type> out,
                                const Dims &sizes) {
  auto op =
      c.g.b.create<CallOp>(c.g.loc, mlir::TypeRange(out), function, mlir::ValueRange(in), exprArray(c.g.b, sizes));
  return SmallVector<Value>(op.getResults().begin(), op.getResults().end());
}

static Type typed(const Dims &dims, Type element) { return tensorType(dims, element); }
static Expr least(OpContext &c, const Matrices &a) { return c.g.facts.simplify(Expr::min(a.m, a.n)); }

Lu linalg::lu(OpContext &c, const Matrices &a) {
  auto r = call(c, "lapack_lu", {a.columns},
                {typed({a.count, a.n, a.m}, f64(c)), typed({a.count, least(c, a)}, i32(c)), typed({a.count}, i32(c))},
                {a.count, a.m, a.n});
  return {r[0], r[1], r[2]};
}

Svd linalg::svd(OpContext &c, const Matrices &a, bool full) {
  Expr k = least(c, a), p = full ? a.m : k, q = full ? a.n : k;
  auto r = call(c, "lapack_svd", {a.columns},
                {typed({a.count, p, a.m}, f64(c)), typed({a.count, k}, f64(c)), typed({a.count, a.n, q}, f64(c))},
                {a.count, a.m, a.n, Expr(full ? 1 : 0)});
  return {r[0], r[1], r[2]};
}

Solution linalg::solve(OpContext &c, const Matrices &a, Value b, bool strict, llvm::StringRef function) {
  Expr k = dimsOf(b)[1];
  auto r = call(c, function, {a.columns, b},
                {b.getType(), a.columns.getType(), typed({a.count, a.n}, i32(c)), typed({a.count}, i32(c))},
                {a.count, a.n, k, Expr(strict ? 1 : 0)});
  return {r[0], {r[1], r[2], r[3]}};
}

/// [count, columns, rows] with ones on the diagonal.
static Value identity(OpContext &c, const Expr &count, const Expr &columns, const Expr &rows) {
  Dims dims{count, columns, rows};
  Type i64 = c.g.b.getI64Type();
  return c.g.cast(c.g.compare(CompareKind::EQ, c.g.iota(dims, 1, i64), c.g.iota(dims, 2, i64)), f64(c));
}

Value linalg::identityOf(OpContext &c, const Matrices &a) { return identity(c, a.count, a.n, a.n); }

/// Of [count, columns, rows] what is on the diagonal and above it, or below it, as torch counts rows and columns.
static Value triangle(OpContext &c, Value x, bool upper, bool diagonal) {
  Dims dims = dimsOf(x);
  Type i64 = c.g.b.getI64Type();
  Value column = c.g.iota(dims, 1, i64), row = c.g.iota(dims, 2, i64);
  CompareKind kind =
      upper ? (diagonal ? CompareKind::GE : CompareKind::GT) : (diagonal ? CompareKind::LE : CompareKind::LT);
  return c.g.select(c.g.compare(kind, column, row), x, c.g.splatLike(0, x));
}

static Value flipped(OpContext &c, Value x) { return c.g.transpose(x, {0, 2, 1}); }

static Value triangular(OpContext &c, Value a, Value b, bool upper, bool unit) {
  Dims dims = dimsOf(b);
  return call(c, "lapack_triangular", {a, b}, {b.getType()},
              {dims[0], dims[2], dims[1], Expr(upper ? 1 : 0), Expr(unit ? 1 : 0)})[0];
}

/// In the type that the file gives the result; what it does not list is not looked at.
static llvm::Error give(OpContext &c, Value v) {
  size_t i = c.results.size();
  return c.give(i < c.resultTypes.size() ? c.g.cast(v, c.resultElement(i)) : v);
}
static Value inBatch(OpContext &c, Value v, const Matrices &like) { return unpacked(c, v, like); }

//===----------------------------------------------------------------------===//
// Determinants
//===----------------------------------------------------------------------===//

/// The product of the diagonal and its sign: an exchange of rows for each pivot that is not its own row.
static std::pair<Value, Value> diagonalOf(OpContext &c, const Matrices &a, const Lu &lu) {
  Dims dims{a.count, a.n, a.n}, line{a.count, a.n};
  Type i64 = c.g.b.getI64Type();
  Value on = c.g.compare(CompareKind::EQ, c.g.iota(dims, 1, i64), c.g.iota(dims, 2, i64));
  Value diagonal = c.g.reduce(ReduceKind::Sum, c.g.select(on, lu.columns, c.g.splatLike(0, lu.columns)), {2}, false);
  Value own = c.g.binary<AddOp>(c.g.iota(line, 1, i64), 1.0);
  Value exchanged = c.g.compare(CompareKind::NE, c.g.cast(lu.pivots, i64), own);
  Value signs = c.g.select(exchanged, c.g.splat(-1, line, f64(c)), c.g.splat(1, line, f64(c)));
  return {diagonal, c.g.reduce(ReduceKind::Prod, signs, {1}, false)};
}

static llvm::Error giveLu(OpContext &c, const Matrices &a, const Lu &lu) {
  (void)give(c, inBatch(c, lu.columns, a));
  return give(c, inBatch(c, lu.pivots, a));
}

template <bool withFactors> static llvm::Error determinant(OpContext &c) {
  LATHE_TRY(a, matricesOf(c, c.tensor("A"), true));
  Lu factors = lu(c, a);
  auto [diagonal, sign] = diagonalOf(c, a, factors);
  (void)give(c, inBatch(c, c.g.mul(sign, c.g.reduce(ReduceKind::Prod, diagonal, {1}, false)), a));
  return withFactors ? giveLu(c, a, factors) : llvm::Error::success();
}

static std::pair<Value, Value> signAndLog(OpContext &c, const Matrices &a, const Lu &factors) {
  auto [diagonal, sign] = diagonalOf(c, a, factors);
  Value log = c.g.reduce(ReduceKind::Sum, c.g.unary<LogOp>(c.g.unary<AbsOp>(diagonal)), {1}, false);
  return {c.g.mul(sign, c.g.reduce(ReduceKind::Prod, c.g.unary<SignOp>(diagonal), {1}, false)), log};
}

template <bool withFactors> static llvm::Error signedLog(OpContext &c) {
  LATHE_TRY(a, matricesOf(c, c.tensor("A"), true));
  Lu factors = lu(c, a);
  auto [sign, log] = signAndLog(c, a, factors);
  (void)give(c, inBatch(c, sign, a));
  (void)give(c, inBatch(c, log, a));
  return withFactors ? giveLu(c, a, factors) : llvm::Error::success();
}

static llvm::Error logDeterminant(OpContext &c) {
  LATHE_TRY(a, matricesOf(c, c.tensor("self"), true));
  auto [sign, log] = signAndLog(c, a, lu(c, a));
  Value negative = c.g.compare(CompareKind::LT, sign, c.g.splatLike(0, sign));
  return give(c, inBatch(c, c.g.select(negative, c.g.splatLike(NAN, log), log), a));
}

//===----------------------------------------------------------------------===//
// LU
//===----------------------------------------------------------------------===//

template <bool withInfo> static llvm::Error factored(OpContext &c) {
  LATHE_TRY(a, matricesOf(c, c.tensor(c.has("self") ? "self" : "A"), false));
  if (!c.flag("pivot"))
    return c.cannot("a decomposition without pivots");
  Lu factors = lu(c, a);
  (void)giveLu(c, a, factors);
  return withInfo ? give(c, inBatch(c, factors.info, a)) : llvm::Error::success();
}

/// The permutation matrix: column i has its one in the row that comes to be row i.
static Value permutation(OpContext &c, const Matrices &a, Value pivots) {
  Type i64 = c.g.b.getI64Type();
  Value order = call(c, "pivot_order", {pivots}, {typed({a.count, a.m}, i64)}, {a.count, a.m, least(c, a)})[0];
  Dims dims{a.count, a.m, a.m}; // column, row
  return c.g.cast(
      c.g.compare(CompareKind::EQ, c.g.broadcastTo(c.g.unsqueeze(order, {2}), dims), c.g.iota(dims, 2, i64)), f64(c));
}

static llvm::Error giveUnpacked(OpContext &c, const Matrices &a, Value columns, Value pivots) {
  Expr k = least(c, a);
  Value lower = c.g.slice(columns, 1, Expr(0), k), upper = c.g.slice(columns, 2, Expr(0), k);
  lower = c.g.add(triangle(c, lower, false, false), identity(c, a.count, k, a.m));
  (void)give(c, inBatch(c, permutation(c, a, pivots), a));
  (void)give(c, inBatch(c, lower, a));
  return give(c, inBatch(c, triangle(c, upper, true, true), a));
}

static llvm::Error threeFactors(OpContext &c) {
  LATHE_TRY(a, matricesOf(c, c.tensor("A"), false));
  if (!c.flag("pivot"))
    return c.cannot("a decomposition without pivots");
  Lu factors = lu(c, a);
  return giveUnpacked(c, a, factors.columns, factors.pivots);
}

/// Pivots in the order of the columns' batch.
static llvm::Expected<Value> pivotsOf(OpContext &c, llvm::StringRef name, const Matrices &a) {
  Value pivots = c.g.cast(c.tensor(name), i32(c));
  Dims want = a.batch;
  want.push_back(least(c, a));
  LATHE_TRY(wide, c.broadcastTo(pivots, want));
  return c.g.reshape(wide, {a.count, want.back()});
}

static llvm::Error unpackLu(OpContext &c) {
  LATHE_TRY(a, matricesOf(c, c.tensor("LU_data"), false));
  LATHE_TRY(pivots, pivotsOf(c, "LU_pivots", a));
  return giveUnpacked(c, a, a.columns, pivots);
}

//===----------------------------------------------------------------------===//
// Equations
//===----------------------------------------------------------------------===//

namespace {
/// A x = B with a common batch.
struct System {
  Matrices a;
  Value b; ///< column by column
  Matrices like;
};
} // namespace

/// Operands [.., n, n] and [.., n, k], or from the other side.
static llvm::Expected<System> systemOf(OpContext &c, Value a, Value b, bool left) {
  if (typeOf(a).getRank() < 2 || typeOf(b).getRank() < 2)
    return c.wrong("{0} and {1}", a.getType(), b.getType());
  if (!left) {
    a = swapped(c, a);
    b = swapped(c, b);
  }
  Dims da = dimsOf(a), db = dimsOf(b), lead;
  if (llvm::Error e = c.needEqual(da[da.size() - 1], db[db.size() - 2]))
    return std::move(e);
  Dims x(da.begin(), da.end() - 2), y(db.begin(), db.end() - 2);
  for (size_t i = 1; i <= std::min(x.size(), y.size()); ++i)
    if (Expr p = x[x.size() - i], q = y[y.size() - i]; !p.isOne() && !q.isOne())
      c.fits(p, q);
  auto both = c.g.broadcastDims(x, y);
  if (!both)
    return c.wrong("the batches of {0} and {1} do not broadcast", a.getType(), b.getType());
  Dims wideA = *both, wideB = *both;
  wideA.append(da.end() - 2, da.end());
  wideB.append(db.end() - 2, db.end());
  LATHE_TRY(matrices, matricesOf(c, c.g.broadcastTo(a, wideA), true));
  LATHE_TRY(right, matricesOf(c, c.g.broadcastTo(b, wideB), false));
  return System{matrices, right.columns, right};
}

static Value solutionOf(OpContext &c, const System &s, Value x, bool left) {
  Value r = unpacked(c, x, s.like);
  return left ? r : swapped(c, r);
}

/// Gives the solution, and with it what the solver knows.
template <bool strict, bool withLu, bool withInfo> static llvm::Error solveFor(OpContext &c) {
  Value a = c.tensor("A"), b = c.tensor("B");
  bool left = c.flag("left"), vector = typeOf(b).getRank() == 1;
  // A batch of vectors has the dimensions of A without the last.
  if (!vector && typeOf(b).getRank() + 1 == typeOf(a).getRank()) {
    vector = true;
    for (auto [x, y] : llvm::zip(dimsOf(b), dimsOf(a)))
      vector = vector && c.g.facts.provablyEqual(x, y);
  }
  if (vector)
    b = c.g.unsqueeze(b, {typeOf(b).getRank()});
  LATHE_TRY(s, systemOf(c, a, b, left));
  Solution r = solve(c, s.a, s.b, strict);
  Value x = solutionOf(c, s, r.columns, left);
  (void)give(c, vector ? c.g.squeeze(x, {typeOf(x).getRank() - 1}) : x);
  if (withLu)
    (void)giveLu(c, s.a, r.lu);
  return withInfo ? give(c, inBatch(c, r.lu.info, s.a)) : llvm::Error::success();
}

Value linalg::inverse(OpContext &c, const Matrices &a, bool strict) {
  return solve(c, a, identityOf(c, a), strict).columns;
}

template <bool strict> static llvm::Error inverted(OpContext &c) {
  LATHE_TRY(a, matricesOf(c, c.tensor(c.has("self") ? "self" : "A"), true));
  Solution r = solve(c, a, identityOf(c, a), strict);
  (void)give(c, inBatch(c, r.columns, a));
  return strict ? llvm::Error::success() : give(c, inBatch(c, r.lu.info, a));
}

/// With the factors of lu_factor.
static llvm::Error solveWithFactors(OpContext &c, const char *factors, const char *pivots, const char *right, bool left,
                                    bool adjoint) {
  LATHE_TRY(s, systemOf(c, left ? c.tensor(factors) : swapped(c, c.tensor(factors)), c.tensor(right), left));
  LATHE_TRY(exchanged, pivotsOf(c, pivots, s.a));
  // x A = b is A^T x^T = b^T.
  bool transposed = left ? adjoint : !adjoint;
  Value x = call(c, "lapack_lu_solve", {s.a.columns, exchanged, s.b}, {s.b.getType()},
                 {s.a.count, s.a.n, dimsOf(s.b)[1], Expr(transposed ? 1 : 0)})[0];
  return give(c, solutionOf(c, s, x, left));
}
static llvm::Error luSolve(OpContext &c) { return solveWithFactors(c, "LU_data", "LU_pivots", "self", true, false); }
static llvm::Error linalgLuSolve(OpContext &c) {
  return solveWithFactors(c, "LU", "pivots", "B", c.flag("left"), c.flag("adjoint"));
}

static llvm::Error solveTriangular(OpContext &c) {
  bool left = c.flag("left"), upper = c.flag("upper");
  LATHE_TRY(s, systemOf(c, c.tensor("self"), c.tensor("B"), left));
  return give(c, solutionOf(c, s, triangular(c, s.a.columns, s.b, upper == left, c.flag("unitriangular")), left));
}

/// The older form, which gives A back as well.
static llvm::Error oldSolveTriangular(OpContext &c) {
  bool transposed = c.flag("transpose");
  LATHE_TRY(s, systemOf(c, c.tensor("A"), c.tensor("self"), true));
  Value a = transposed ? flipped(c, s.a.columns) : s.a.columns;
  (void)give(c, solutionOf(c, s, triangular(c, a, s.b, c.flag("upper") != transposed, c.flag("unitriangular")), true));
  return give(c, unpacked(c, s.a.columns, s.a));
}

//===----------------------------------------------------------------------===//
// Symmetric matrices
//===----------------------------------------------------------------------===//

template <bool strict, bool withInfo> static llvm::Error cholesky(OpContext &c) {
  LATHE_TRY(a, matricesOf(c, c.tensor("self"), true));
  bool upper = c.flag("upper");
  Value columns = upper ? flipped(c, a.columns) : a.columns; // of which the lower triangle is read
  auto r = call(c, "lapack_cholesky", {columns}, {columns.getType(), typed({a.count}, i32(c))},
                {a.count, a.n, Expr(strict ? 1 : 0)});
  Value lower = triangle(c, r[0], false, true);
  (void)give(c, inBatch(c, upper ? flipped(c, lower) : lower, a));
  return withInfo ? give(c, inBatch(c, r[1], a)) : llvm::Error::success();
}

/// L L^T x = b, or U^T U x = b.
static Value solveCholesky(OpContext &c, Value factor, Value b, bool upper) {
  Value lower = upper ? flipped(c, factor) : factor;
  return triangular(c, flipped(c, lower), triangular(c, lower, b, false, false), true, false);
}

static llvm::Error choleskySolve(OpContext &c) {
  LATHE_TRY(s, systemOf(c, c.tensor("input2"), c.tensor("self"), true));
  return give(c, solutionOf(c, s, solveCholesky(c, s.a.columns, s.b, c.flag("upper")), true));
}

static llvm::Error choleskyInverse(OpContext &c) {
  LATHE_TRY(a, matricesOf(c, c.tensor("self"), true));
  return give(c, inBatch(c, solveCholesky(c, a.columns, identityOf(c, a), c.flag("upper")), a));
}

template <bool withInfo> static llvm::Error ldlFactor(OpContext &c) {
  LATHE_TRY(a, matricesOf(c, c.tensor("self"), true));
  auto r = call(c, "lapack_ldl", {a.columns},
                {a.columns.getType(), typed({a.count, a.n}, i32(c)), typed({a.count}, i32(c))}, {a.count, a.n});
  (void)give(c, inBatch(c, triangle(c, r[0], false, true), a));
  (void)give(c, inBatch(c, r[1], a));
  return withInfo ? give(c, inBatch(c, r[2], a)) : llvm::Error::success();
}

static llvm::Error ldlSolve(OpContext &c) {
  LATHE_TRY(s, systemOf(c, c.tensor("LD"), c.tensor("B"), true));
  LATHE_TRY(pivots, pivotsOf(c, "pivots", s.a));
  Value x =
      call(c, "lapack_ldl_solve", {s.a.columns, pivots, s.b}, {s.b.getType()}, {s.a.count, s.a.n, dimsOf(s.b)[1]})[0];
  return give(c, solutionOf(c, s, x, true));
}

static std::pair<Value, Value> eigen(OpContext &c, const Matrices &a, bool upper) {
  auto r = call(c, "lapack_eigh", {a.columns}, {typed({a.count, a.n}, f64(c)), a.columns.getType()},
                {a.count, a.n, Expr(upper ? 1 : 0)});
  return {r[0], r[1]};
}

template <bool values, bool vectors> static llvm::Error symmetric(OpContext &c) {
  LATHE_TRY(a, matricesOf(c, c.tensor(c.has("self") ? "self" : "A"), true));
  auto [w, v] = eigen(c, a, c.text("UPLO") == "U" || c.text("UPLO") == "u");
  if (values)
    (void)give(c, inBatch(c, w, a));
  return vectors ? give(c, inBatch(c, v, a)) : llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Eigenvalues of any matrix
//===----------------------------------------------------------------------===//

static Value pairs(OpContext &c, Value re, Value im) {
  int64_t rank = typeOf(re).getRank();
  return c.g.concat({c.g.unsqueeze(re, {rank}), c.g.unsqueeze(im, {rank})}, rank);
}

/// LAPACK packs two conjugate vectors as the real and the imaginary part of the first.
template <bool vectors> static llvm::Error general(OpContext &c) {
  Value x = c.tensor("self");
  if (const TensorMeta *meta = c.metaOf("self"); meta && size_t(typeOf(x).getRank()) != meta->sizes.size())
    return complexEigenvalues(c, vectors);
  LATHE_TRY(a, matricesOf(c, x, true));
  Type line = typed({a.count, a.n}, f64(c));
  auto r = call(c, "lapack_eig", {a.columns}, {line, line, a.columns.getType()}, {a.count, a.n});
  (void)give(c, pairs(c, inBatch(c, r[0], a), inBatch(c, r[1], a)));
  if (!vectors)
    return llvm::Error::success();
  Type i64 = c.g.b.getI64Type();
  Value place = c.g.iota({a.n}, 0, i64), packed = r[2];
  Value next = c.g.gather(packed, c.g.binary<AddOp>(place, 1.0), 1),
        before = c.g.gather(packed, c.g.binary<MaxOp>(c.g.binary<SubOp>(place, 1.0), 0.0), 1);
  Value w = c.g.broadcastTo(c.g.unsqueeze(r[1], {2}), dimsOf(packed)), zero = c.g.splatLike(0, packed);
  Value first = c.g.compare(CompareKind::GT, w, zero), second = c.g.compare(CompareKind::LT, w, zero);
  Value re = c.g.select(second, before, packed),
        im = c.g.select(first, next, c.g.select(second, c.g.unary<NegOp>(packed), zero));
  return give(c, pairs(c, unpacked(c, re, a), unpacked(c, im, a)));
}

//===----------------------------------------------------------------------===//
// Orthogonal factors
//===----------------------------------------------------------------------===//

static std::pair<Value, Value> reflectors(OpContext &c, const Matrices &a) {
  auto r = call(c, "lapack_qr", {a.columns}, {a.columns.getType(), typed({a.count, least(c, a)}, f64(c))},
                {a.count, a.m, a.n});
  return {r[0], r[1]};
}

/// The first `columns` columns of the product of reflections.
static Value orthogonal(OpContext &c, const Matrices &a, Value packed, Value factors, const Expr &columns) {
  Expr have = dimsOf(packed)[1];
  if (c.g.facts.provablyLessEqual(columns, have)) {
    packed = c.g.slice(packed, 1, Expr(0), columns);
  } else {
    Expr more = c.g.facts.simplify(columns - have);
    packed = c.g.concat({packed, c.g.splat(0, {a.count, more, a.m}, f64(c))}, 1);
  }
  return call(c, "lapack_householder", {packed, factors}, {typed({a.count, columns, a.m}, f64(c))},
              {a.count, a.m, columns, dimsOf(factors)[1]})[0];
}

static llvm::Error giveQr(OpContext &c, bool complete, bool onlyR) {
  LATHE_TRY(a, matricesOf(c, c.tensor(c.has("self") ? "self" : "A"), false));
  Expr k = least(c, a), rows = complete ? a.m : k;
  auto [packed, factors] = reflectors(c, a);
  if (onlyR)
    (void)give(c, c.g.splat(0, {Expr(0)}, f64(c)));
  else
    (void)give(c, inBatch(c, orthogonal(c, a, packed, factors, rows), a));
  return give(c, inBatch(c, triangle(c, c.g.slice(packed, 2, Expr(0), rows), true, true), a));
}

static llvm::Error qr(OpContext &c) {
  std::string mode = c.text("mode");
  if (mode != "reduced" && mode != "complete" && mode != "r")
    return c.wrong("mode is '{0}'", mode);
  return giveQr(c, mode == "complete", mode == "r");
}
static llvm::Error oldQr(OpContext &c) { return giveQr(c, !c.flag("some"), false); }

static llvm::Error geqrf(OpContext &c) {
  LATHE_TRY(a, matricesOf(c, c.tensor("self"), false));
  auto [packed, factors] = reflectors(c, a);
  (void)give(c, inBatch(c, packed, a));
  return give(c, inBatch(c, factors, a));
}

/// The factors of the reflections [.., k] in the columns' batch.
static llvm::Expected<Value> factorsOf(OpContext &c, Value tau, const Matrices &a) {
  Dims want = a.batch;
  want.push_back(dimsOf(tau).empty() ? Expr(0) : dimsOf(tau).back());
  LATHE_TRY(wide, c.broadcastTo(c.g.cast(tau, f64(c)), want));
  return c.g.reshape(wide, {a.count, want.back()});
}

static llvm::Error householder(OpContext &c) {
  LATHE_TRY(a, matricesOf(c, c.tensor(c.has("self") ? "self" : "input"), false));
  LATHE_TRY(factors, factorsOf(c, c.tensor(c.has("input2") ? "input2" : "tau"), a));
  return give(c, inBatch(c, orthogonal(c, a, a.columns, factors, a.n), a));
}

/// Q or its transpose times a matrix, from either side.
static llvm::Error timesOrthogonal(OpContext &c) {
  LATHE_TRY(a, matricesOf(c, c.tensor("self"), false));
  LATHE_TRY(factors, factorsOf(c, c.tensor("input2"), a));
  Value q = unpacked(c, orthogonal(c, a, a.columns, factors, a.m), a), other = c.g.cast(c.tensor("input3"), f64(c));
  if (c.flag("transpose"))
    q = swapped(c, q);
  std::string why;
  Value r = c.flag("left") ? c.g.matmul(q, other, &why) : c.g.matmul(other, q, &why);
  return r ? give(c, r) : c.wrong("{0}", why);
}

//===----------------------------------------------------------------------===//
// Singular values
//===----------------------------------------------------------------------===//

static llvm::Error giveSvd(OpContext &c, const char *name, bool full, bool transposed) {
  LATHE_TRY(a, matricesOf(c, c.tensor(name), false));
  Svd r = svd(c, a, full);
  Value v = unpacked(c, r.v, a);
  (void)give(c, unpacked(c, r.u, a));
  (void)give(c, unpacked(c, r.values, a));
  return give(c, transposed ? v : swapped(c, v));
}
static llvm::Error singular(OpContext &c) { return giveSvd(c, "A", c.flag("full_matrices"), true); }

/// Without vectors it gives zeros for them.
static llvm::Error oldSingular(OpContext &c) {
  if (c.flag("compute_uv"))
    return giveSvd(c, "self", !c.flag("some"), false);
  LATHE_TRY(a, matricesOf(c, c.tensor("self"), false));
  if (c.resultTypes.size() < 3)
    return c.wrong("it has {0} results, not three", c.resultTypes.size());
  (void)give(c, c.g.splat(0, c.resultDims(0), f64(c)));
  (void)give(c, unpacked(c, svd(c, a, false).values, a));
  return give(c, c.g.splat(0, c.resultDims(2), f64(c)));
}

static llvm::Error singularValues(OpContext &c) {
  LATHE_TRY(a, matricesOf(c, c.tensor("A"), false));
  return give(c, unpacked(c, svd(c, a, false).values, a));
}

llvm::ArrayRef<OpEntry> fx::linalgOps() {
  static const OpEntry table[] = {
      {"linalg_det.default", "A:T", determinant<false>},
      {"_linalg_det.default", "A:T", determinant<true>},
      {"linalg_slogdet.default", "A:T", signedLog<false>},
      {"_linalg_slogdet.default", "A:T", signedLog<true>},
      {"logdet.default", "self:T", logDeterminant},
      {"linalg_lu_factor.default", "A:T pivot:B=true", factored<false>},
      {"linalg_lu_factor_ex.default", "A:T pivot:B=true check_errors:B=false", factored<true>},
      {"_lu_with_info.default", "self:T pivot:B=true check_errors:B=true", factored<true>},
      {"linalg_lu.default", "A:T pivot:B=true", threeFactors},
      {"lu_unpack.default", "LU_data:T LU_pivots:T unpack_data:B=true unpack_pivots:B=true", unpackLu},
      {"linalg_solve.default", "A:T B:T left:B=true", solveFor<true, false, false>},
      {"linalg_solve_ex.default", "A:T B:T left:B=true check_errors:B=false", solveFor<false, false, true>},
      {"_linalg_solve_ex.default", "A:T B:T left:B=true check_errors:B=false", solveFor<false, true, true>},
      {"linalg_inv.default", "A:T", inverted<true>},
      {"inverse.default", "self:T", inverted<true>},
      {"linalg_inv_ex.default", "A:T check_errors:B=false", inverted<false>},
      {"lu_solve.default", "self:T LU_data:T LU_pivots:T", luSolve},
      {"linalg_lu_solve.default", "LU:T pivots:T B:T left:B=true adjoint:B=false", linalgLuSolve},
      {"linalg_solve_triangular.default", "self:T B:T upper:B left:B=true unitriangular:B=false", solveTriangular},
      {"triangular_solve.default", "self:T A:T upper:B=true transpose:B=false unitriangular:B=false",
       oldSolveTriangular},
      {"linalg_cholesky.default", "self:T upper:B=false", cholesky<true, false>},
      {"linalg_cholesky_ex.default", "self:T upper:B=false check_errors:B=false", cholesky<false, true>},
      {"cholesky.default", "self:T upper:B=false", cholesky<true, false>},
      {"cholesky_solve.default", "self:T input2:T upper:B=false", choleskySolve},
      {"cholesky_inverse.default", "self:T upper:B=false", choleskyInverse},
      {"linalg_ldl_factor.default", "self:T hermitian:B=false", ldlFactor<false>},
      {"linalg_ldl_factor_ex.default", "self:T hermitian:B=false check_errors:B=false", ldlFactor<true>},
      {"linalg_ldl_solve.default", "LD:T pivots:T B:T hermitian:B=false", ldlSolve},
      {"linalg_eigh.default", "self:T UPLO:X=L", symmetric<true, true>},
      {"_linalg_eigh.default", "A:T UPLO:X=L compute_v:B=true", symmetric<true, true>},
      {"linalg_eigvalsh.default", "self:T UPLO:X=L", symmetric<true, false>},
      {"linalg_eig.default", "self:T", general<true>, TakesPairs},
      {"linalg_eigvals.default", "self:T", general<false>, TakesPairs},
      {"linalg_qr.default", "A:T mode:X=reduced", qr},
      {"qr.default", "self:T some:B=true", oldQr},
      {"geqrf.default", "self:T", geqrf},
      {"linalg_householder_product.default", "input:T tau:T", householder},
      {"orgqr.default", "self:T input2:T", householder},
      {"ormqr.default", "self:T input2:T input3:T left:B=true transpose:B=false", timesOrthogonal},
      {"linalg_svd.default", "A:T full_matrices:B=true driver:X?", singular},
      {"_linalg_svd.default", "A:T full_matrices:B=false compute_uv:B=true driver:X?", singular},
      {"linalg_svdvals.default", "A:T driver:X?", singularValues},
      {"svd.default", "self:T some:B=true compute_uv:B=true", oldSingular},
  };
  return table;
}
