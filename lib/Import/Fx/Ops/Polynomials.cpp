//===- Polynomials.cpp - Orthogonal polynomials, incomplete gamma functions ---===//
//
// Those of Chebyshev have closed forms. The others are recurrences: of a degree that the program says they are written
// out, of degrees that tensors say they are loops of the host program, as long as one element needs another step.
//
//===----------------------------------------------------------------------===//

#include "Special.h"
#include "lathe/Dialect/Lathe/CountedLoop.h"
#include <cmath>
#include <limits>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

constexpr double infinity = std::numeric_limits<double>::infinity();

static Value is(OpContext &c, CompareKind kind, Value x, double y) { return c.g.compare(kind, x, c.g.splatLike(y, x)); }
static Value times(OpContext &c, Value x, double k) { return c.g.binary<MulOp>(x, k); }
static Value plus(OpContext &c, Value x, double k) { return c.g.binary<AddOp>(x, k); }
static Value isOdd(OpContext &c, Value n) {
  Value half = times(c, n, 0.5);
  return c.g.compare(CompareKind::NE, half, c.g.unary<FloorOp>(half));
}
static Value any(OpContext &c, Value mask) {
  SmallVector<int64_t> axes;
  for (int64_t i = 0; i < typeOf(mask).getRank(); ++i)
    axes.push_back(i);
  return axes.empty() ? mask : c.g.reduce(ReduceKind::Or, mask, axes, false);
}

//===----------------------------------------------------------------------===//
// Chebyshev's
//===----------------------------------------------------------------------===//

/// cosh x and sinh x by their exponentials overflow where the result does.
template <bool isCos> static Value hyperbolic(OpContext &c, Value x) {
  return isCos ? c.g.unary<CoshOp>(x) : c.g.unary<SinhOp>(x);
}
template <bool isCos> static Value circular(OpContext &c, Value x) {
  return isCos ? c.g.unary<CosOp>(x) : c.g.unary<SinOp>(x);
}

/// With x = cos a: T = cos na, U = sin (n + 1)a / sin a, V = cos (n + 1/2)a / cos a/2, W = sin (n + 1/2)a / sin a/2;
/// beyond 1 with cosh and sinh, and below -1 by their symmetries, those of V and W into each other.
template <char kind> static Value chebyshev(OpContext &c, Value x, Value n) {
  constexpr double shift = kind == 'T' ? 0 : kind == 'U' ? 1 : 0.5, part = kind == 'U' ? 1 : 0.5;
  Value size = c.g.unary<AbsOp>(x), one = c.g.splatLike(1, x), odd = isOdd(c, n), below = is(c, CompareKind::LT, x, 0),
        order = plus(c, n, shift);
  auto ratio = [&](auto f, Value angle) {
    Value top = f(c, c.g.mul(order, angle));
    return kind == 'T' ? top : c.g.div(top, f(c, times(c, angle, part)));
  };
  constexpr bool isCos = kind == 'T' || kind == 'V';
  Value inside =
      ratio(circular<isCos>, c.g.unary<AcosOp>(c.g.binary<MaxOp>(c.g.binary<MinOp>(x, one), c.g.unary<NegOp>(one))));
  Value angle = c.g.unary<AcoshOp>(c.g.binary<MaxOp>(size, one));
  Value outside = ratio(hyperbolic<isCos>, angle);
  Value mirrored = kind == 'V' || kind == 'W' ? ratio(hyperbolic<!isCos>, angle) : outside;
  mirrored = c.g.select(odd, c.g.unary<NegOp>(mirrored), mirrored);
  outside = c.g.select(below, mirrored, outside);
  Value y = c.g.select(is(c, CompareKind::LT, size, 1), inside, outside);
  // At 1 and -1.
  Value count = kind == 'U' ? plus(c, n, 1) : plus(c, times(c, n, 2), 1);
  Value up = kind == 'T' || kind == 'V' ? one : count, down = kind == 'T' || kind == 'W' ? one : count;
  down = c.g.select(odd, c.g.unary<NegOp>(down), down);
  y = c.g.select(is(c, CompareKind::EQ, size, 1), c.g.select(below, down, up), y);
  y = c.g.select(is(c, CompareKind::EQ, n, 0), one, y);
  return c.g.select(is(c, CompareKind::LT, n, 0), c.g.splatLike(0, x), y);
}

template <char kind> static Value shifted(OpContext &c, Value x, Value n) {
  return chebyshev<kind>(c, plus(c, times(c, x, 2), -1), n);
}

//===----------------------------------------------------------------------===//
// By recurrences
//===----------------------------------------------------------------------===//

/// The polynomial of degree k + 1 of those of degrees k and k - 1.
using Recurrence = Value (*)(OpContext &, Value x, Value k, Value now, Value before);

static Value hermiteH(OpContext &c, Value x, Value k, Value now, Value before) {
  return times(c, c.g.sub(c.g.mul(x, now), c.g.mul(k, before)), 2);
}
static Value hermiteHe(OpContext &c, Value x, Value k, Value now, Value before) {
  return c.g.sub(c.g.mul(x, now), c.g.mul(k, before));
}
static Value laguerre(OpContext &c, Value x, Value k, Value now, Value before) {
  Value factor = c.g.sub(plus(c, times(c, k, 2), 1), x);
  return c.g.div(c.g.sub(c.g.mul(factor, now), c.g.mul(k, before)), plus(c, k, 1));
}
static Value legendre(OpContext &c, Value x, Value k, Value now, Value before) {
  Value factor = c.g.mul(plus(c, times(c, k, 2), 1), x);
  return c.g.div(c.g.sub(c.g.mul(factor, now), c.g.mul(k, before)), plus(c, k, 1));
}

/// All elements take steps until each has its degree.
template <Recurrence next> static Value ofDegrees(OpContext &c, Value x, Value n) {
  CountedLoop loop;
  loop.name = c.node.name + ".degree";
  loop.steps = Expr(int64_t(1) << 20);
  loop.carried = {c.g.splatLike(0, x), c.g.splatLike(1, x),
                  c.g.splatLike(0, x)}; // the degree, the polynomials of it and of the one below
  loop.captured = {x, n};
  loop.condition = any(c, c.g.compare(CompareKind::GT, n, loop.carried[0]));
  loop.body = [&](llvm::ArrayRef<Value> carried, llvm::ArrayRef<Value> captured, const Expr &) {
    Value k = carried[0], goesOn = c.g.compare(CompareKind::GT, captured[1], k), up = plus(c, k, 1);
    Value y = next(c, captured[0], k, carried[1], carried[2]);
    Value now = c.g.select(goesOn, y, carried[1]), before = c.g.select(goesOn, carried[1], carried[2]);
    return SmallVector<Value>{any(c, c.g.compare(CompareKind::GT, captured[1], up)), up, now, before};
  };
  return buildLoop(c.g, loop)[1];
}

template <Recurrence next> static llvm::Error recurrence(OpContext &c) {
  LATHE_TRY(xn, c.pair(c.operand("x"), c.operand("n"), c.g.b.getF64Type()));
  auto [x, n] = xn;
  n = c.g.unary<TruncOp>(n);
  Operand degree = c.operand("n");
  Value y;
  if (!degree.tensor && degree.number.value <= 128 && degree.number.size.constant().value_or(0) <= 128) {
    int64_t most = degree.number.kind == Number::Kind::Float ? int64_t(degree.number.value)
                                                             : degree.number.size.constant().value_or(-1);
    Value before = c.g.splatLike(0, x);
    y = c.g.splatLike(1, x);
    for (int64_t k = 0; k < most; ++k)
      before = std::exchange(y, next(c, x, c.g.splatLike(double(k), x), y, before));
  } else {
    y = ofDegrees<next>(c, x, n);
  }
  y = c.g.select(is(c, CompareKind::LT, n, 0), c.g.splatLike(0, y), y);
  return c.give(c.g.cast(y, c.resultElement()));
}

template <Value (*compose)(OpContext &, Value, Value)> static llvm::Error closed(OpContext &c) {
  LATHE_TRY(xn, c.pair(c.operand("x"), c.operand("n"), c.g.b.getF64Type()));
  return c.give(c.g.cast(compose(c, xn.first, c.g.unary<TruncOp>(xn.second)), c.resultElement()));
}

//===----------------------------------------------------------------------===//
// Incomplete gamma functions
//===----------------------------------------------------------------------===//

/// P(a, x) / (x^a exp(-x) / gamma(a)) for x < a + 1: the sum of x^k / (a (a + 1) .. (a + k)).
static Value lowerSeries(OpContext &c, Value a, Value x) {
  CountedLoop loop;
  loop.name = c.node.name + ".term";
  loop.steps = Expr(int64_t(1) << 20);
  Value first = c.g.div(c.g.splatLike(1, a), a);
  loop.carried = {a, first, first}; // a + k, the term, the sum
  loop.captured = {x};
  loop.condition = c.g.scalar(1, c.g.b.getI1Type());
  loop.body = [&](llvm::ArrayRef<Value> carried, llvm::ArrayRef<Value> captured, const Expr &) {
    Value at = plus(c, carried[0], 1), term = c.g.mul(carried[1], c.g.div(captured[0], at)),
          sum = c.g.add(carried[2], term);
    Value counts = c.g.compare(CompareKind::GT, c.g.unary<AbsOp>(term), times(c, c.g.unary<AbsOp>(sum), 1e-16));
    return SmallVector<Value>{any(c, counts), at, term, sum};
  };
  return buildLoop(c.g, loop)[2];
}

/// Q(a, x) / (x^a exp(-x) / gamma(a)) for x >= a + 1: a continued fraction, by Lentz's method.
static Value upperFraction(OpContext &c, Value a, Value x) {
  CountedLoop loop;
  loop.name = c.node.name + ".fraction";
  loop.steps = Expr(int64_t(1) << 20);
  Value b = plus(c, c.g.sub(x, a), 1), one = c.g.splatLike(1, a), d = c.g.div(one, b);
  loop.carried = {c.g.splatLike(0, a), b, c.g.splatLike(1e300, a), d, d}; // k, b, c, d, the fraction so far
  loop.captured = {a};
  loop.condition = c.g.scalar(1, c.g.b.getI1Type());
  loop.body = [&](llvm::ArrayRef<Value> carried, llvm::ArrayRef<Value> captured, const Expr &) {
    Value k = plus(c, carried[0], 1), step = c.g.mul(c.g.unary<NegOp>(k), c.g.sub(k, captured[0])),
          next = plus(c, carried[1], 2);
    auto notZero = [&](Value v) {
      return c.g.select(is(c, CompareKind::LT, c.g.unary<AbsOp>(v), 1e-300), c.g.splatLike(1e-300, v), v);
    };
    Value up = notZero(c.g.add(next, c.g.div(step, carried[2]))),
          down = notZero(c.g.add(next, c.g.mul(step, carried[3])));
    down = c.g.div(c.g.splatLike(1, down), down);
    Value factor = c.g.mul(up, down), moves = is(c, CompareKind::GT, c.g.unary<AbsOp>(plus(c, factor, -1)), 1e-15);
    return SmallVector<Value>{any(c, moves), k, next, up, down, c.g.mul(carried[4], factor)};
  };
  return buildLoop(c.g, loop)[4];
}

/// The regularized ones: P(a, x), or Q = 1 - P.
template <bool upper> static llvm::Error incompleteGamma(OpContext &c) {
  LATHE_TRY(ax, c.pair(c.operand("self"), c.operand("other"), c.g.b.getF64Type()));
  auto [a, x] = ax;
  Value one = c.g.splatLike(1, a), zero = c.g.splatLike(0, a);
  auto isNumber = [&](Value v) {
    return c.g.compare(CompareKind::LT, c.g.unary<AbsOp>(v), c.g.splatLike(infinity, v));
  };
  Value usual = c.g.binary<AndOp>(c.g.binary<AndOp>(is(c, CompareKind::GT, a, 0), is(c, CompareKind::GT, x, 0)),
                                  c.g.binary<AndOp>(isNumber(a), isNumber(x)));
  Value left = c.g.compare(CompareKind::LT, x, plus(c, a, 1));
  Value inA = c.g.select(usual, a, one), inX = c.g.select(usual, x, one);
  Value seriesA = c.g.select(left, inA, one), seriesX = c.g.select(left, inX, one);
  Value fractionA = c.g.select(left, one, inA), fractionX = c.g.select(left, c.g.splatLike(3, a), inX);
  Value scale = c.g.unary<ExpOp>(c.g.sub(c.g.sub(c.g.mul(inA, c.g.unary<LogOp>(inX)), inX), special::logGamma(c, inA)));
  Value p = c.g.mul(scale, lowerSeries(c, seriesA, seriesX)),
        q = c.g.mul(scale, upperFraction(c, fractionA, fractionX));
  Value y = upper ? c.g.select(left, c.g.sub(one, p), q) : c.g.select(left, p, c.g.sub(one, q));
  // Edges, as torch has them.
  Value low = upper ? one : zero, high = upper ? zero : one, nan = c.g.splatLike(NAN, a);
  Value aEndless = is(c, CompareKind::EQ, a, infinity), xEndless = is(c, CompareKind::EQ, x, infinity);
  y = c.g.select(xEndless, c.g.select(aEndless, nan, high), c.g.select(aEndless, low, y));
  y = c.g.select(is(c, CompareKind::EQ, x, 0), c.g.select(is(c, CompareKind::EQ, a, 0), nan, low),
                 c.g.select(is(c, CompareKind::EQ, a, 0), high, y));
  Value valid = c.g.binary<AndOp>(is(c, CompareKind::GE, a, 0), is(c, CompareKind::GE, x, 0));
  return c.give(c.g.cast(c.g.select(valid, y, nan), c.resultElement()));
}

llvm::ArrayRef<OpEntry> fx::polynomialOps() {
  static const char *const two = "x:TS n:TS";
  static const OpEntry table[] = {
      {"special_chebyshev_polynomial_t.default", two, closed<chebyshev<'T'>>},
      {"special_chebyshev_polynomial_t.x_scalar", two, closed<chebyshev<'T'>>},
      {"special_chebyshev_polynomial_t.n_scalar", two, closed<chebyshev<'T'>>},
      {"special_chebyshev_polynomial_u.default", two, closed<chebyshev<'U'>>},
      {"special_chebyshev_polynomial_u.x_scalar", two, closed<chebyshev<'U'>>},
      {"special_chebyshev_polynomial_u.n_scalar", two, closed<chebyshev<'U'>>},
      {"special_chebyshev_polynomial_v.default", two, closed<chebyshev<'V'>>},
      {"special_chebyshev_polynomial_v.x_scalar", two, closed<chebyshev<'V'>>},
      {"special_chebyshev_polynomial_v.n_scalar", two, closed<chebyshev<'V'>>},
      {"special_chebyshev_polynomial_w.default", two, closed<chebyshev<'W'>>},
      {"special_chebyshev_polynomial_w.x_scalar", two, closed<chebyshev<'W'>>},
      {"special_chebyshev_polynomial_w.n_scalar", two, closed<chebyshev<'W'>>},
      {"special_shifted_chebyshev_polynomial_t.default", two, closed<shifted<'T'>>},
      {"special_shifted_chebyshev_polynomial_t.x_scalar", two, closed<shifted<'T'>>},
      {"special_shifted_chebyshev_polynomial_t.n_scalar", two, closed<shifted<'T'>>},
      {"special_shifted_chebyshev_polynomial_u.default", two, closed<shifted<'U'>>},
      {"special_shifted_chebyshev_polynomial_u.x_scalar", two, closed<shifted<'U'>>},
      {"special_shifted_chebyshev_polynomial_u.n_scalar", two, closed<shifted<'U'>>},
      {"special_shifted_chebyshev_polynomial_v.default", two, closed<shifted<'V'>>},
      {"special_shifted_chebyshev_polynomial_v.x_scalar", two, closed<shifted<'V'>>},
      {"special_shifted_chebyshev_polynomial_v.n_scalar", two, closed<shifted<'V'>>},
      {"special_shifted_chebyshev_polynomial_w.default", two, closed<shifted<'W'>>},
      {"special_shifted_chebyshev_polynomial_w.x_scalar", two, closed<shifted<'W'>>},
      {"special_shifted_chebyshev_polynomial_w.n_scalar", two, closed<shifted<'W'>>},
      {"special_hermite_polynomial_h.default", two, recurrence<hermiteH>},
      {"special_hermite_polynomial_h.x_scalar", two, recurrence<hermiteH>},
      {"special_hermite_polynomial_h.n_scalar", two, recurrence<hermiteH>},
      {"special_hermite_polynomial_he.default", two, recurrence<hermiteHe>},
      {"special_hermite_polynomial_he.x_scalar", two, recurrence<hermiteHe>},
      {"special_hermite_polynomial_he.n_scalar", two, recurrence<hermiteHe>},
      {"special_laguerre_polynomial_l.default", two, recurrence<laguerre>},
      {"special_laguerre_polynomial_l.x_scalar", two, recurrence<laguerre>},
      {"special_laguerre_polynomial_l.n_scalar", two, recurrence<laguerre>},
      {"special_legendre_polynomial_p.default", two, recurrence<legendre>},
      {"special_legendre_polynomial_p.x_scalar", two, recurrence<legendre>},
      {"special_legendre_polynomial_p.n_scalar", two, recurrence<legendre>},
      {"igamma.default", "self:T other:T", incompleteGamma<false>},
      {"igammac.default", "self:T other:T", incompleteGamma<true>},
      {"special_gammainc.default", "self:T other:T", incompleteGamma<false>},
      {"special_gammaincc.default", "self:T other:T", incompleteGamma<true>},
  };
  return table;
}
