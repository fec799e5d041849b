//===- MatrixNorms.cpp - Norms, ranks, powers and inverses of matrices --------===//

#include "Linalg.h"
#include "lathe/Dialect/Lathe/CountedLoop.h"
#include <cmath>
#include <limits>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::fx::linalg;
using namespace lathe::ir;

static Type f64(OpContext &c) { return c.g.b.getF64Type(); }
static llvm::Error give(OpContext &c, Value v) { return c.give(c.g.cast(v, c.resultElement())); }

static llvm::Expected<Value> singularValuesOf(OpContext &c, Value x) {
  LATHE_TRY(a, matricesOf(c, x, false));
  return unpacked(c, svd(c, a, false).values, a);
}

/// The dimensions moved to the end, in their order.
static Value withLast(OpContext &c, Value x, llvm::ArrayRef<int64_t> last) {
  SmallVector<int64_t> perm;
  for (int64_t d = 0; d < typeOf(x).getRank(); ++d)
    if (!llvm::is_contained(last, d))
      perm.push_back(d);
  perm.append(last.begin(), last.end());
  return c.g.transpose(x, perm);
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// A norm's name: a number, or "fro" or "nuc".
struct Order {
  std::string name;
  double number = 0;
};

static llvm::Expected<Order> orderOf(OpContext &c, llvm::StringRef argument, const char *usual) {
  if (!c.has(argument))
    return Order{usual, 0};
  if (std::string text = c.text(argument); !text.empty())
    return text == "fro" || text == "nuc" ? llvm::Expected<Order>(Order{text, 0}) : c.wrong("the norm '{0}'", text);
  return Order{"", c.real(argument)};
}

/// Over a dimension of rows and one of columns.
static llvm::Expected<Value> matrixNorm(OpContext &c, Value x, const Order &order, int64_t row, int64_t column,
                                        bool keep) {
  SmallVector<int64_t> both{std::min(row, column), std::max(row, column)};
  if (order.name == "fro")
    return vectorNorm(c, x, both, keep, 2);
  double size = std::abs(order.number);
  if (order.name.empty() && (size == 1 || std::isinf(size))) {
    int64_t summed = size == 1 ? row : column, other = size == 1 ? column : row;
    Value sums = c.g.reduce(ReduceKind::Sum, c.g.unary<AbsOp>(x), {summed}, true);
    Value r = c.g.reduce(order.number > 0 ? ReduceKind::Max : ReduceKind::Min, sums, {other}, true);
    return keep ? r : c.g.squeeze(r, both);
  }
  if (order.name.empty() && size != 2)
    return c.wrong("the matrix norm of order {0}", order.number);
  LATHE_TRY(values, singularValuesOf(c, withLast(c, x, {row, column})));
  ReduceKind kind = order.name == "nuc" ? ReduceKind::Sum : order.number > 0 ? ReduceKind::Max : ReduceKind::Min;
  Value r = c.g.reduce(kind, values, {typeOf(values).getRank() - 1}, false);
  return keep ? c.g.unsqueeze(r, both) : r;
}

static llvm::Error giveMatrixNorm(OpContext &c, Value x, const Order &order, llvm::ArrayRef<int64_t> dims) {
  LATHE_TRY(row, c.axisOf(dims[0], typeOf(x).getRank()));
  LATHE_TRY(column, c.axisOf(dims[1], typeOf(x).getRank()));
  if (row == column || typeOf(x).getRank() < 2)
    return c.wrong("the dimensions of a matrix are {0} and {1} of {2}", row, column, x.getType());
  LATHE_TRY(r, matrixNorm(c, x, order, row, column, c.flag("keepdim")));
  return give(c, r);
}

static llvm::Error matrixNormOf(OpContext &c) {
  LATHE_TRY(order, orderOf(c, "ord", "fro"));
  SmallVector<int64_t> dims = c.integers("dim");
  if (dims.size() != 2)
    return c.wrong("{0} dimensions of a matrix", dims.size());
  return giveMatrixNorm(c, c.g.cast(c.tensor("self"), c.resultElement()), order, dims);
}

/// Of vectors or of matrices, as dimensions and rank say.
static llvm::Error anyNorm(OpContext &c) {
  Value x = c.g.cast(c.tensor("self"), c.resultElement());
  LATHE_TRY(order, orderOf(c, "ord", ""));
  bool asked = c.has("ord"), some = c.has("dim");
  SmallVector<int64_t> dims = some ? c.integers("dim") : SmallVector<int64_t>();
  int64_t rank = typeOf(x).getRank();
  if (asked && (some ? dims.size() == 2 : rank == 2))
    return giveMatrixNorm(c, x, order, some ? dims : SmallVector<int64_t>{0, 1});
  if (!order.name.empty() || (asked && !some && rank > 2))
    return c.wrong("a matrix norm of {0}", x.getType());
  LATHE_TRY(axes, c.axes("dim", x));
  return give(
      c, inFloat(c, x, [&](Value v) { return vectorNorm(c, v, axes, c.flag("keepdim"), asked ? order.number : 2); }));
}

/// The norm times that of the inverse.
static llvm::Error condition(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(order, orderOf(c, "p", ""));
  int64_t rank = typeOf(x).getRank();
  if (order.name.empty() && (!c.has("p") || std::abs(order.number) == 2)) {
    LATHE_TRY(values, singularValuesOf(c, x));
    Value most = c.g.reduce(ReduceKind::Max, values, {rank - 2}, false),
          least = c.g.reduce(ReduceKind::Min, values, {rank - 2}, false);
    return give(c, c.has("p") && order.number < 0 ? c.g.div(least, most) : c.g.div(most, least));
  }
  LATHE_TRY(a, matricesOf(c, x, true));
  Solution s = solve(c, a, identityOf(c, a), false);
  LATHE_TRY(own, matrixNorm(c, c.g.cast(x, f64(c)), order, rank - 2, rank - 1, false));
  LATHE_TRY(other, matrixNorm(c, unpacked(c, s.columns, a), order, rank - 2, rank - 1, false));
  Value info = unpacked(c, s.lu.info, a), r = c.g.mul(own, other);
  Value singular = c.g.compare(CompareKind::NE, info, c.g.splatLike(0, info));
  return give(c, c.g.select(singular, c.g.splatLike(INFINITY, r), r));
}

//===----------------------------------------------------------------------===//
// Ranks and pseudoinverses
//===----------------------------------------------------------------------===//

/// The lower triangle on both sides, where the matrix is taken for symmetric.
static Value symmetric(OpContext &c, Value x) {
  Dims dims = dimsOf(x);
  Type i64 = c.g.b.getI64Type();
  int64_t rank = dims.size();
  Value lower = c.g.compare(CompareKind::GE, c.g.iota(dims, rank - 2, i64), c.g.iota(dims, rank - 1, i64));
  return c.g.select(lower, x, swapped(c, x));
}

/// The least singular value that counts, [.., 1]: max(atol, rtol * the largest), where rtol is the precision times the
/// matrix's size unless one of both is given.
static llvm::Expected<Value> cutoff(OpContext &c, Value x, Value values, const char *absolute, const char *relative) {
  Dims dims = dimsOf(x), line = dimsOf(values);
  int64_t last = int64_t(line.size()) - 1;
  line[last] = Expr(1);
  auto type = mlir::cast<mlir::FloatType>(elementOf(x));
  double epsilon = type.isF64() ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  Value size = c.g.binary<MulOp>(c.g.cast(c.g.size(Expr::max(dims[dims.size() - 2], dims.back())), f64(c)), epsilon);
  auto given = [&](const char *name) -> llvm::Expected<Value> {
    Value v = c.materialize(c.operand(name), f64(c));
    if (typeOf(v).getRank())
      v = c.g.unsqueeze(v, {typeOf(v).getRank()});
    return c.broadcastTo(v, line);
  };
  Value atol = c.g.splat(0, line, f64(c)), rtol = c.g.broadcastTo(size, line);
  bool hasAbsolute = absolute && c.has(absolute);
  if (hasAbsolute) {
    LATHE_TRY(v, given(absolute));
    atol = v;
    rtol = c.g.select(c.g.compare(CompareKind::GT, atol, c.g.splatLike(0, atol)), c.g.splatLike(0, rtol), rtol);
  }
  if (relative && (c.has(relative) || c.optionalNumber(relative))) {
    LATHE_TRY(v, given(relative));
    rtol = v;
  }
  return c.g.binary<MaxOp>(atol, c.g.mul(rtol, c.g.reduce(ReduceKind::Max, values, {last}, true)));
}

static llvm::Error giveInverse(OpContext &c, Value x, const char *absolute, const char *relative) {
  LATHE_TRY(a, matricesOf(c, c.has("hermitian") && c.flag("hermitian") ? symmetric(c, x) : x, false));
  Svd r = svd(c, a, false);
  Value values = unpacked(c, r.values, a), u = unpacked(c, r.u, a), v = unpacked(c, r.v, a);
  LATHE_TRY(least, cutoff(c, x, values, absolute, relative));
  Value counts = c.g.compare(CompareKind::GT, values, c.g.broadcastTo(least, dimsOf(values)));
  Value inverse =
      c.g.select(counts, c.g.div(c.g.splatLike(1, values), c.g.select(counts, values, c.g.splatLike(1, values))),
                 c.g.splatLike(0, values));
  Value scaled = c.g.mul(
      swapped(c, v), c.g.broadcastTo(c.g.unsqueeze(inverse, {typeOf(values).getRank() - 1}), dimsOf(swapped(c, v))));
  std::string why;
  Value product = c.g.matmul(scaled, swapped(c, u), &why);
  return product ? give(c, product) : c.wrong("{0}", why);
}
static llvm::Error pseudoInverse(OpContext &c) { return giveInverse(c, c.tensor("self"), "atol", "rtol"); }
static llvm::Error pseudoInverseBy(OpContext &c) { return giveInverse(c, c.tensor("self"), nullptr, "rcond"); }

static llvm::Error giveRank(OpContext &c, const char *absolute, const char *relative) {
  Value x = c.tensor(c.has("self") ? "self" : "input");
  LATHE_TRY(values, singularValuesOf(c, c.has("hermitian") && c.flag("hermitian") ? symmetric(c, x) : x));
  LATHE_TRY(least, cutoff(c, x, values, absolute, relative));
  Value counts =
      c.g.cast(c.g.compare(CompareKind::GT, values, c.g.broadcastTo(least, dimsOf(values))), c.resultElement());
  return c.give(c.g.reduce(ReduceKind::Sum, counts, {typeOf(values).getRank() - 1}, false));
}
static llvm::Error matrixRank(OpContext &c) { return giveRank(c, "atol", "rtol"); }
static llvm::Error matrixRankBy(OpContext &c) { return giveRank(c, "tol", nullptr); }

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

static llvm::Error matrixPower(OpContext &c) {
  Value x = c.tensor("self");
  int64_t n = c.integer("n"), rank = typeOf(x).getRank();
  if (rank < 2)
    return c.wrong("a power of {0}", x.getType());
  if (llvm::Error e = c.needEqual(dimsOf(x)[rank - 2], dimsOf(x)[rank - 1]))
    return e;
  if (n < 0) {
    LATHE_TRY(a, matricesOf(c, x, true));
    x = c.g.cast(unpacked(c, inverse(c, a, true), a), elementOf(x));
    n = -n;
  }
  if (n > 1 << 20 || n < 0)
    return c.cannot("the power {0}", n);
  Type i64 = c.g.b.getI64Type();
  Value result;
  for (Value square = x; n; n >>= 1) {
    if (n & 1)
      result = result ? c.g.matmul(result, square) : square;
    if (n > 1)
      square = c.g.matmul(square, square);
  }
  if (!result)
    result =
        c.g.cast(c.g.compare(CompareKind::EQ, c.g.iota(dimsOf(x), rank - 2, i64), c.g.iota(dimsOf(x), rank - 1, i64)),
                 elementOf(x));
  return give(c, result);
}

/// Taylor's series of the matrix over a power of 2 that brings its norm below 1/2, squared as often.
static llvm::Error exponential(OpContext &c) {
  LATHE_TRY(a, matricesOf(c, c.tensor("self"), true));
  Value x = a.columns, one = identityOf(c, a); // exp of the transpose is the transpose of exp
  Value norm = c.g.reduce(ReduceKind::Max, c.g.reduce(ReduceKind::Sum, c.g.unary<AbsOp>(x), {2}, false), {1}, true);
  Value times = c.g.unary<CeilOp>(c.g.unary<Log2Op>(c.g.binary<MaxOp>(c.g.binary<MulOp>(norm, 2), 1.0)));
  times = c.g.unsqueeze(times, {2}); // [count, 1, 1]
  Value small = c.g.mul(x, c.g.broadcastTo(c.g.unary<Exp2Op>(c.g.unary<NegOp>(times)), dimsOf(x))), sum = one;
  for (int k = 14; k > 0; --k)
    sum = c.g.add(one, c.g.binary<DivOp>(c.g.matmul(small, sum), double(k)));
  auto goesOn = [&](Value done, Value all) {
    return c.g.reduce(ReduceKind::Or, c.g.compare(CompareKind::LT, done, all), {0, 1, 2}, false);
  };
  CountedLoop loop;
  loop.name = c.node.name + ".square";
  loop.steps = Expr(1100);
  loop.carried = {c.g.splatLike(0, times), sum};
  loop.captured = {times};
  loop.condition = goesOn(loop.carried[0], times);
  loop.body = [&](llvm::ArrayRef<Value> carried, llvm::ArrayRef<Value> captured, const Expr &) {
    Value more = c.g.compare(CompareKind::LT, carried[0], captured[0]), next = c.g.binary<AddOp>(carried[0], 1.0);
    Value squared = c.g.matmul(carried[1], carried[1]);
    Value kept = c.g.select(c.g.broadcastTo(more, dimsOf(squared)), squared, carried[1]);
    return SmallVector<Value>{goesOn(next, captured[0]), next, kept};
  };
  return give(c, unpacked(c, buildLoop(c.g, loop)[1], a));
}

//===----------------------------------------------------------------------===//
// Tensors as matrices
//===----------------------------------------------------------------------===//

static llvm::Error tensorInverse(OpContext &c) {
  Value x = c.tensor("self");
  int64_t split = c.integer("ind");
  Dims dims = dimsOf(x);
  if (split < 1 || split > int64_t(dims.size()))
    return c.wrong("ind is {0} for {1}", split, x.getType());
  Dims first(dims.begin(), dims.begin() + split), second(dims.begin() + split, dims.end()), result = second;
  result.append(first);
  Value matrix =
      c.g.reshape(x, {c.g.facts.simplify(shape::product(first)), c.g.facts.simplify(shape::product(second))});
  LATHE_TRY(a, matricesOf(c, matrix, true));
  return give(c, c.g.reshape(unpacked(c, inverse(c, a, true), a), result));
}

static llvm::Error tensorSolve(OpContext &c) {
  Value x = c.tensor("self"), other = c.tensor("other");
  SmallVector<int64_t> moved;
  for (int64_t d : c.integers("dims")) {
    LATHE_TRY(axis, c.axisOf(d, typeOf(x).getRank()));
    moved.push_back(axis);
  }
  x = withLast(c, x, moved);
  Dims dims = dimsOf(x), right = dimsOf(other);
  if (right.size() > dims.size())
    return c.wrong("{0} for {1}", other.getType(), x.getType());
  Dims result(dims.begin() + right.size(), dims.end());
  Expr rows = c.g.facts.simplify(shape::product(right)), columns = c.g.facts.simplify(shape::product(result));
  LATHE_TRY(a, matricesOf(c, c.g.reshape(x, {rows, columns}), true));
  Value b = c.g.reshape(c.g.cast(other, f64(c)), {Expr(1), Expr(1), rows});
  return give(c, c.g.reshape(solve(c, a, b, true).columns, result));
}

llvm::ArrayRef<OpEntry> fx::matrixNormOps() {
  static const OpEntry table[] = {
      {"linalg_matrix_norm.default", "self:T ord:S dim:I*=-2,-1 keepdim:B=false dtype:D?", matrixNormOf},
      {"linalg_matrix_norm.str_ord", "self:T ord:X=fro dim:I*=-2,-1 keepdim:B=false dtype:D?", matrixNormOf},
      {"linalg_norm.default", "self:T ord:S? dim:I*? keepdim:B=false dtype:D?", anyNorm},
      {"linalg_norm.ord_str", "self:T ord:X dim:I*? keepdim:B=false dtype:D?", anyNorm},
      {"linalg_cond.default", "self:T p:S?", condition},
      {"linalg_cond.p_str", "self:T p:X", condition},
      {"linalg_pinv.atol_rtol_tensor", "self:T atol:T? rtol:T? hermitian:B=false", pseudoInverse},
      {"linalg_pinv.atol_rtol_float", "self:T atol:F? rtol:F? hermitian:B=false", pseudoInverse},
      {"linalg_pinv.default", "self:T rcond:F hermitian:B=false", pseudoInverseBy},
      {"linalg_pinv.rcond_tensor", "self:T rcond:T hermitian:B=false", pseudoInverseBy},
      {"pinverse.default", "self:T rcond:F=1e-15", pseudoInverseBy},
      {"linalg_matrix_rank.atol_rtol_tensor", "input:T atol:T? rtol:T? hermitian:B=false", matrixRank},
      {"linalg_matrix_rank.atol_rtol_float", "self:T atol:F? rtol:F? hermitian:B=false", matrixRank},
      {"linalg_matrix_rank.default", "self:T tol:F hermitian:B=false", matrixRankBy},
      {"linalg_matrix_rank.tol_tensor", "input:T tol:T hermitian:B=false", matrixRankBy},
      {"linalg_matrix_power.default", "self:T n:I", matrixPower},
      {"matrix_power.default", "self:T n:I", matrixPower},
      {"linalg_matrix_exp.default", "self:T", exponential},
      {"matrix_exp.default", "self:T", exponential},
      {"linalg_tensorinv.default", "self:T ind:I=2", tensorInverse},
      {"linalg_tensorsolve.default", "self:T other:T dims:I*?", tensorSolve},
  };
  return table;
}
