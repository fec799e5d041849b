//===- Signal.cpp - Fourier transforms and what goes with them -------------===//
//
// A transform is a product with the matrix of its roots of unity. The angles are reduced exactly, in integers, before their sine and
// cosine are taken in f64.
//
//===----------------------------------------------------------------------===//

#include "RuntimeAxes.h"
#include <cmath>

using namespace lathe;
using ir::CompareKind;
using ir::ReduceKind;

namespace lathe::onnx {

namespace {

/// Real and imaginary parts; no imaginary part stands for zeros.
struct Complex {
  Value re, im;
};

/// The roots of unity for `from` places and `to` frequencies of a transform of length n.
class Roots {
public:
  Roots(Node &n, const Expr &from, const Expr &to, const Expr &length) : n(n), dims{from, to}, length(length) {
    Type i64 = n.g.b.getI64Type(), f64 = n.g.b.getF64Type();
    Value turns = n.g.mul(n.g.iota(dims, 0, i64), n.g.iota(dims, 1, i64));
    turns = n.g.binary<ir::RemOp>(turns, n.g.broadcastTo(n.g.size(length), dims));
    Value part = n.g.div(n.g.cast(turns, f64), n.g.broadcastTo(n.g.cast(n.g.size(length), f64), dims));
    angle = n.g.binary<ir::MulOp>(part, 2 * M_PI);
  }
  Value cosine(Type type) { return n.g.cast(n.g.unary<ir::CosOp>(angle), type); }
  Value sine(Type type) { return n.g.cast(n.g.unary<ir::SinOp>(angle), type); }

private:
  Node &n;
  Dims dims;
  Expr length;
  Value angle;
};

class Transform {
public:
  Transform(Node &n, const Expr &length, bool inverse, bool onesided)
      : n(n), length(length), half(n.simplify(Expr::floordiv(length, Expr(2)) + Expr(1))), inverse(inverse), onesided(onesided) {}
  /// Over the last dimension.
  Complex run(Complex x);

private:
  Value fit(Value x, const Expr &size);
  Value times(Value x, Value roots) { return n.g.contract(x, roots, {}, {}, {n.rank(x) - 1}, {0}); }
  Complex forward(Complex x);
  Complex real(Complex x);
  Value scaled(Value x) {
    return n.g.div(x, n.g.broadcastTo(n.g.cast(n.g.size(length), n.element(x)), n.dims(x)));
  }

  Node &n;
  Expr length, half;
  bool inverse, onesided;
};

/// Cut, or filled with zeros, to the size.
Value Transform::fit(Value x, const Expr &size) {
  if (!x)
    return x;
  int64_t last = n.rank(x) - 1;
  Expr have = n.simplify(n.dim(x, last)), missing = n.simplify(size - have);
  if (missing.isZero())
    return x;
  if (n.g.facts.provablyLessEqual(size, have))
    return n.g.slice(x, last, Expr(0), size);
  if (!n.g.facts.provablyLess(have, size))
    failUnsupported("a signal of {0} elements for a transform of {1}", have.str(), size.str());
  Dims low(n.rank(x), Expr(0)), high = low, dims = n.dims(x);
  high[last] = missing;
  dims[last] = size;
  return n.g.b.createOrFold<ir::PadOp>(n.g.loc, ir::tensorType(dims, n.element(x)), x, n.g.scalar(0, n.element(x)),
                                       ir::exprArray(n.g.b, low), ir::exprArray(n.g.b, high));
}

Complex Transform::forward(Complex x) {
  Roots roots(n, length, onesided ? half : length, length);
  Value c = roots.cosine(n.element(x.re)), s = roots.sine(n.element(x.re));
  if (!inverse)
    s = n.g.unary<ir::NegOp>(s);
  Value re = times(x.re, c), im = times(x.re, s);
  if (x.im) {
    re = n.g.sub(re, times(x.im, s));
    im = n.g.add(im, times(x.im, c));
  }
  return inverse ? Complex{scaled(re), scaled(im)} : Complex{re, im};
}

/// The inverse of the half that a real signal's frequencies have: the others are its mirror image.
Complex Transform::real(Complex x) {
  Type type = n.element(x.re), i64 = n.g.b.getI64Type();
  Roots roots(n, half, length, length);
  Dims dims{half, length};
  Value bin = n.g.iota(dims, 0, i64), twice = n.g.binary<ir::MulOp>(bin, 2);
  auto is = [&](Value v, Value w) { return n.g.compare(CompareKind::EQ, v, w); };
  Value once = n.g.binary<ir::OrOp>(is(bin, n.g.splatLike(0, bin)), is(twice, n.g.broadcastTo(n.g.size(length), dims)));
  Value weight = n.g.select(once, n.g.splat(1, dims, type), n.g.splat(2, dims, type));
  Value y = times(x.re, n.g.mul(roots.cosine(type), weight));
  if (x.im)
    y = n.g.sub(y, times(x.im, n.g.mul(roots.sine(type), weight)));
  return {scaled(y), {}};
}

Complex Transform::run(Complex x) {
  bool isReal = inverse && onesided;
  const Expr &size = isReal ? half : length;
  x = {fit(x.re, size), fit(x.im, size)};
  return isReal ? real(x) : forward(x);
}

/// [.., 1 or 2] as parts, in at least f32.
Complex partsOf(Node &n, Value x) {
  int64_t last = n.rank(x) - 1;
  std::optional<int64_t> parts = n.simplify(n.dim(x, last)).constant();
  if (!parts || *parts < 1 || *parts > 2)
    failWrong("the last dimension of {0} must be 1 (real) or 2 (complex)", describe(x.getType()));
  auto part = [&](int64_t i) { return n.g.squeeze(n.g.slice(n.wide(x), last, Expr(i), Expr(1)), {last}); };
  return {part(0), *parts == 2 ? part(1) : Value()};
}

/// The way back: parts as a dimension at the end.
Value joined(Node &n, Complex y, Type type) {
  int64_t rank = n.rank(y.re);
  Value re = n.g.unsqueeze(y.re, {rank});
  return n.g.cast(y.im ? n.g.concat({re, n.g.unsqueeze(y.im, {rank})}, rank) : re, type);
}

/// Moves the last dimension to `axis`.
Complex lastTo(Node &n, Complex y, int64_t axis) {
  llvm::SmallVector<int64_t> perm;
  for (int64_t d = 0; d + 1 < n.rank(y.re); ++d)
    perm.push_back(d);
  perm.insert(perm.begin() + axis, n.rank(y.re) - 1);
  return {n.g.transpose(y.re, perm), y.im ? n.g.transpose(y.im, perm) : Value()};
}

Complex toLast(Node &n, Complex x, int64_t axis) {
  llvm::SmallVector<int64_t> perm;
  for (int64_t d = 0; d < n.rank(x.re); ++d)
    if (d != axis)
      perm.push_back(d);
  perm.push_back(axis);
  return {n.g.transpose(x.re, perm), x.im ? n.g.transpose(x.im, perm) : Value()};
}

} // namespace

/// The transform's length and what it is of a dimension of that size.
static Transform transformOf(Node &n, const Expr &size) {
  bool inverse = n.flag("inverse", false), onesided = n.flag("onesided", false);
  Expr length = n.has(1) ? n.sizeScalar(1) : inverse && onesided ? (size - Expr(1)) * Expr(2) : size;
  length = n.simplify(length);
  if (length.constant() && *length.constant() < 1)
    failWrong("a transform of length {0}", length.str());
  return Transform(n, length, inverse, onesided);
}

/// Over the axis that an input of the model names.
static void dftAlong(Node &n, const Expr &axis) {
  Value x = n.in(0);
  Complex parts = partsOf(n, x);
  n.require(axis, "le", Expr(n.rank(x) - 2), "the axis is not the one of real and imaginary parts");
  RuntimeAxes split(n, n.dims(parts.re), {axis});
  Complex y = transformOf(n, split.named[0]).run({split.gathered(parts.re), parts.im ? split.gathered(parts.im) : Value()});
  Dims dims = split.withNamed(n.dims(y.re).back());
  n.out(joined(n, {split.restored(y.re, dims), y.im ? split.restored(y.im, dims) : Value()}, n.element(x)));
}

void dft(Node &n) {
  Value x = n.in(0);
  n.requireFloat(x);
  n.requireRankAtLeast(x, 2);
  int64_t rank = n.rank(x), axis = n.opset() >= 20 ? -2 : n.integer("axis", 1);
  if (n.opset() >= 20 && n.has(2)) {
    Dims given = n.axisValues(2, rank);
    if (given.size() != 1)
      failWrong("operand 2 has {0} elements, expected 1", given.size());
    if (!given[0].constant())
      return dftAlong(n, given[0]);
    axis = *given[0].constant();
  }
  axis = n.axis(axis, rank);
  if (axis == rank - 1)
    failWrong("axis {0} is the one of real and imaginary parts", axis);
  Complex y = transformOf(n, n.dim(x, axis)).run(toLast(n, partsOf(n, x), axis));
  n.out(joined(n, lastTo(n, y, axis), n.element(x)));
}

void stft(Node &n) {
  Value x = n.in(0), window = n.maybe(2);
  n.requireFloat(x);
  n.requireRank(x, 3);
  Expr step = n.sizeScalar(1), size = n.dim(x, 1);
  Expr length = n.has(3) ? n.sizeScalar(3) : window ? n.dim(window, 0) : size;
  if ((step.constant() && *step.constant() < 1) || (length.constant() && *length.constant() < 1))
    failWrong("frames of {0} elements every {1}", length.str(), step.str());
  Expr frames = n.simplify(Expr::floordiv(n.simplify(size - length), step) + Expr(1));
  Complex signal = toLast(n, partsOf(n, x), 1); // [batch, elements]
  Dims index{frames, length};
  Type i64 = n.g.b.getI64Type();
  Value at = n.g.add(n.g.mul(n.g.iota(index, 0, i64), n.g.broadcastTo(n.g.size(step), index)), n.g.iota(index, 1, i64));
  auto framed = [&](Value part) {
    if (!part)
      return part;
    Value f = n.g.gather(part, at, 1);
    if (window) {
      n.requireRank(window, 1);
      n.requireEqual(n.dim(window, 0), length, "the window and the frame");
      f = n.g.mul(f, n.g.broadcastTo(n.g.cast(window, n.element(f)), n.dims(f)));
    }
    return f;
  };
  Complex y = Transform(n, length, false, n.flag("onesided", true)).run({framed(signal.re), framed(signal.im)});
  n.out(joined(n, lastTo(n, y, 2), n.element(x)));
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// a + b cos(2 pi i / n) + c cos(4 pi i / n)
static void cosineWindow(Node &n, double a, double b, double c) {
  Expr size = n.sizeScalar(0);
  Type f64 = n.g.b.getF64Type();
  Dims dims{size};
  Value period = n.g.cast(n.g.size(n.flag("periodic", true) ? size : n.simplify(size - Expr(1))), f64);
  Value angle = n.g.div(n.g.binary<ir::MulOp>(n.g.iota(dims, 0, f64), 2 * M_PI), n.g.broadcastTo(period, dims));
  auto term = [&](double factor, double times) {
    return n.g.binary<ir::MulOp>(n.g.unary<ir::CosOp>(n.g.binary<ir::MulOp>(angle, times)), factor);
  };
  Value y = n.g.binary<ir::AddOp>(term(b, 1), a);
  if (c != 0)
    y = n.g.add(y, term(c, 2));
  n.out(n.g.cast(y, n.elementOfOnnx(n.integer("output_datatype", 1))));
}

void hannWindow(Node &n) { cosineWindow(n, 0.5, -0.5, 0); }
void hammingWindow(Node &n) { cosineWindow(n, 25.0 / 46, -21.0 / 46, 0); }
void blackmanWindow(Node &n) { cosineWindow(n, 0.42, -0.5, 0.08); }

/// Triangles between neighbouring bins; the bins' frequencies are spaced evenly on the mel scale.
void melWeightMatrix(Node &n) {
  Expr bins = n.sizeScalar(0), length = n.sizeScalar(1), rows = n.simplify(Expr::floordiv(length, Expr(2)) + Expr(1));
  Type f64 = n.g.b.getF64Type();
  Dims edges{n.simplify(bins + Expr(2))}, dims{rows, bins};
  auto number = [&](unsigned input, const Dims &to) {
    n.requireEqual(shape::product(n.dims(n.in(input))), Expr(1), "an operand that is a number");
    return n.g.broadcastTo(n.g.cast(n.reshape(n.in(input), {}), f64), to);
  };
  auto mel = [&](unsigned input) {
    Value ratio = n.g.binary<ir::DivOp>(number(input, edges), 700);
    return n.g.binary<ir::MulOp>(n.g.unary<ir::Log1pOp>(ratio), 2595 / std::log(10.0));
  };
  Value low = mel(3), span = n.g.sub(mel(4), low);
  Value count = n.g.broadcastTo(n.g.cast(n.g.size(edges[0]), f64), edges);
  Value at = n.g.add(n.g.mul(n.g.iota(edges, 0, f64), n.g.div(span, count)), low);
  Value hertz = n.g.binary<ir::MulOp>(n.g.unary<ir::Expm1Op>(n.g.binary<ir::MulOp>(at, std::log(10.0) / 2595)), 700);
  Value scale = n.g.broadcastTo(n.g.cast(n.g.size(n.simplify(length + Expr(1))), f64), edges);
  Value place = n.g.unary<ir::FloorOp>(n.g.div(n.g.mul(hertz, scale), number(2, edges)));
  auto edge = [&](int64_t i) { return n.g.broadcastTo(n.g.slice(place, 0, Expr(i), bins), dims); };
  Value left = edge(0), center = edge(1), right = edge(2), row = n.g.iota(dims, 0, f64), zero = n.g.splatLike(0, row);
  auto is = [&](CompareKind kind, Value a, Value b) { return n.g.compare(kind, a, b); };
  auto both = [&](Value a, Value b) { return n.g.binary<ir::AndOp>(a, b); };
  Value up = n.g.sub(center, left), down = n.g.sub(right, center), one = n.g.splatLike(1, row);
  Value rising = n.g.div(n.g.sub(row, left), n.g.binary<ir::MaxOp>(up, one));
  Value falling = n.g.div(n.g.sub(right, row), n.g.binary<ir::MaxOp>(down, one));
  Value isUp = both(is(CompareKind::GE, row, left), is(CompareKind::LE, row, center));
  isUp = both(isUp, is(CompareKind::GT, up, zero));
  Value y = n.g.select(isUp, rising, zero);
  y = n.g.select(both(is(CompareKind::EQ, row, center), is(CompareKind::EQ, up, zero)), one, y);
  Value isDown = both(is(CompareKind::GE, row, center), is(CompareKind::LT, row, right));
  y = n.g.select(isDown, falling, y);
  n.out(n.g.cast(y, n.elementOfOnnx(n.integer("output_datatype", 1))));
}

} // namespace lathe::onnx
