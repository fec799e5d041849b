//===- Signal.cpp - Fourier transforms and what goes with them -------------===//
//
// The transforms are those of lathe/Dialect/Lathe/Fourier.h, over tensors [.., parts, length].
//
//===----------------------------------------------------------------------===//

#include "../GraphImporter.h"
#include "RuntimeAxes.h"
#include "lathe/Dialect/Lathe/Fourier.h"
#include <cmath>

using namespace lathe;
using ir::CompareKind;
using ir::FourierResult;

namespace lathe::onnx {

/// Behind the tensor's end along its last dimension, zeros up to the size.
static Value padded(Node &n, Value x, const Expr &size) {
  int64_t last = n.rank(x) - 1;
  Dims low(n.rank(x), Expr(0)), high = low, dims = n.dims(x);
  high[last] = n.simplify(size - dims[last]);
  dims[last] = size;
  return n.g.b.createOrFold<ir::PadOp>(n.g.loc, ir::tensorType(dims, n.element(x)), x, n.g.scalar(0, n.element(x)),
                                       ir::exprArray(n.g.b, low), ir::exprArray(n.g.b, high));
}

/// The last dimension cut, or filled with zeros, to the size.
static Value fit(Node &n, Value x, const Expr &size) {
  int64_t last = n.rank(x) - 1;
  Expr have = n.simplify(n.dim(x, last)), missing = n.simplify(size - have);
  if (missing.isZero())
    return x;
  if (n.g.facts.provablyLessEqual(size, have))
    return n.g.slice(x, last, Expr(0), size);
  if (!n.g.facts.provablyLess(have, size))
    failUnsupported("a signal of {0} elements for a transform of {1}", have.str(), size.str());
  return padded(n, x, size);
}

/// Over the last dimension of x [.., 1 or 2, m]; gives [.., parts, m'].
static Value transformed(Node &n, Value x, const Expr &length, bool inverse, bool onesided) {
  if (length.constant() && *length.constant() > ir::longestFourier)
    failUnsupported("a transform of length {0}; the longest one has {1}", length.str(), ir::longestFourier);
  bool isReal = inverse && onesided;
  Expr half = n.simplify(Expr::floordiv(length, Expr(2)) + Expr(1)), wanted = isReal ? half : length;
  x = fit(n, x, wanted);
  ir::FourierTransform t{length, inverse,
                         isReal     ? FourierResult::Real
                         : onesided ? FourierResult::Half
                                    : FourierResult::All,
                         std::nullopt, n.importer.session().sizes.importOptions().hostTransforms};
  if (std::optional<int64_t> known = length.constant()) {
    if (inverse)
      t.scale = 1.0 / double(*known);
    return ir::wholeTransform(n.g, x, n.rank(x) - 1, n.rank(x) - 2, t);
  }
  Dims dims = n.dims(x), outer(dims.begin(), dims.end() - 2);
  Value flat = n.g.reshape(x, {n.simplify(shape::product(outer)), dims[dims.size() - 2], wanted});
  Value y = ir::fourier(n.g, flat, t);
  if (inverse)
    y = n.g.div(y, n.g.broadcastTo(n.g.cast(n.g.size(length), n.element(y)), n.dims(y)));
  outer.push_back(n.dim(y, 1));
  outer.push_back(n.dim(y, 2));
  return n.g.reshape(y, outer);
}

/// Moves a dimension to another place.
static Value moved(Node &n, Value x, int64_t from, int64_t to) {
  llvm::SmallVector<int64_t> perm;
  for (int64_t d = 0; d < n.rank(x); ++d)
    if (d != from)
      perm.push_back(d);
  perm.insert(perm.begin() + to, from);
  return n.g.transpose(x, perm);
}

/// Numbers whose last dimension is known to be 1 (real) or 2 (complex). Where its size is open, that follows from what a half of the
/// frequencies belongs to, or else imaginary parts that are not there are zero.
static Value withKnownParts(Node &n, Value x, bool inverse, bool onesided) {
  Dims dims = n.dims(x);
  Expr &parts = dims.back();
  parts = n.simplify(parts);
  std::optional<int64_t> known = parts.constant();
  if (known && (*known < 1 || *known > 2))
    failWrong("the last dimension of {0} must be 1 (real) or 2 (complex)", describe(x.getType()));
  if (!known && onesided) {
    known = inverse ? 2 : 1;
    n.requireEqual(parts, Expr(*known), inverse ? "the parts of complex numbers" : "the parts of real numbers");
  }
  if (known) {
    parts = Expr(*known);
    return n.reshape(x, dims);
  }
  n.requireAtLeast(parts, 1, "the parts of numbers");
  n.require(parts, "le", Expr(2), "numbers have a real and an imaginary part");
  return padded(n, x, Expr(2));
}

/// How long the transform of a dimension of that size is.
static Expr lengthOf(Node &n, const Expr &size) {
  bool isReal = n.flag("inverse", false) && n.flag("onesided", false);
  Expr length = n.simplify(n.has(1) ? n.sizeScalar(1) : isReal ? (size - Expr(1)) * Expr(2) : size);
  if (length.constant() && *length.constant() < 1)
    failWrong("a transform of length {0}", length.str());
  return length;
}

/// Over the axis that an input of the model names.
static void dftAlong(Node &n, Value x, const Expr &axis) {
  int64_t last = n.rank(x) - 1;
  n.require(axis, "le", Expr(n.rank(x) - 2), "the axis is not the one of real and imaginary parts");
  Dims outer = n.dims(x);
  outer.pop_back();
  RuntimeAxes split(n, outer, {axis});
  int64_t parts = *n.simplify(n.dim(x, last)).constant();
  llvm::SmallVector<Value> gathered;
  for (int64_t i = 0; i < parts; ++i) {
    Value part = split.gathered(n.g.squeeze(n.g.slice(n.wide(x), last, Expr(i), Expr(1)), {last}));
    gathered.push_back(n.g.unsqueeze(part, {n.rank(part) - 1}));
  }
  Value pairs = n.g.concat(gathered, n.rank(gathered[0]) - 2);
  Value y = transformed(n, pairs, lengthOf(n, split.named[0]), n.flag("inverse", false), n.flag("onesided", false));
  Dims dims = split.withNamed(n.dims(y).back());
  int64_t place = n.rank(y) - 2, made = *n.simplify(n.dim(y, place)).constant();
  llvm::SmallVector<Value> results;
  for (int64_t i = 0; i < made; ++i) {
    Value part = split.restored(n.g.squeeze(n.g.slice(y, place, Expr(i), Expr(1)), {place}), dims);
    results.push_back(n.g.unsqueeze(part, {n.rank(part)}));
  }
  n.out(n.g.cast(n.g.concat(results, n.rank(results[0]) - 1), n.element(x)));
}

void dft(Node &n) {
  Value x = n.in(0);
  n.requireFloat(x);
  n.requireRankAtLeast(x, 2);
  bool inverse = n.flag("inverse", false), onesided = n.flag("onesided", false);
  x = withKnownParts(n, x, inverse, onesided);
  int64_t rank = n.rank(x), axis = n.opset() >= 20 ? -2 : n.integer("axis", 1);
  if (n.opset() >= 20 && n.has(2)) {
    Dims given = n.axisValues(2, rank);
    if (given.size() != 1)
      failWrong("operand 2 has {0} elements, expected 1", given.size());
    if (!given[0].constant())
      return dftAlong(n, x, given[0]);
    axis = *given[0].constant();
  }
  axis = n.axis(axis, rank);
  if (axis == rank - 1)
    failWrong("axis {0} is the one of real and imaginary parts", axis);
  Value y = transformed(n, moved(n, n.wide(x), axis, rank - 1), lengthOf(n, n.dim(x, axis)), inverse, onesided);
  n.out(n.g.cast(moved(n, y, rank - 1, axis), n.element(x)));
}

void stft(Node &n) {
  Value x = n.in(0), window = n.maybe(2);
  n.requireFloat(x);
  if (n.rank(x) == 2) // real numbers are written without the dimension of their parts, too, which ONNX Runtime takes
    x = n.g.unsqueeze(x, {2});
  n.requireRank(x, 3);
  bool onesided = n.flag("onesided", true);
  x = withKnownParts(n, x, false, onesided);
  Expr step = n.sizeScalar(1), size = n.dim(x, 1);
  Expr length = n.simplify(n.has(3) ? n.sizeScalar(3) : window ? n.dim(window, 0) : size);
  if ((step.constant() && *step.constant() < 1) || (length.constant() && *length.constant() < 1))
    failWrong("frames of {0} elements every {1}", length.str(), step.str());
  Expr frames = n.simplify(Expr::floordiv(n.simplify(size - length), step) + Expr(1));
  Dims index{frames, length};
  Type i64 = n.g.b.getI64Type();
  Value at = n.g.add(n.g.mul(n.g.iota(index, 0, i64), n.g.broadcastTo(n.g.size(step), index)), n.g.iota(index, 1, i64));
  Value framed = n.g.gather(moved(n, n.wide(x), 2, 1), at, 2); // [batch, parts, frames, length]
  if (window) {
    n.requireRank(window, 1);
    n.requireEqual(n.dim(window, 0), length, "the window and the frame");
    framed = n.g.mul(framed, n.g.broadcastTo(n.g.cast(window, n.element(framed)), n.dims(framed)));
  }
  Value y = transformed(n, moved(n, framed, 1, 2), length, false, onesided); // [batch, frames, 2, frequencies]
  n.out(n.g.cast(moved(n, y, 2, 3), n.element(x)));
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
  // What the triangles are is found bin by bin, exactly; a row and a bin then are some comparisons and a product. Places are whole numbers, which
  // f32 holds where it is what is wanted.
  Type wanted = n.elementOfOnnx(n.integer("output_datatype", 1)), element = wanted.isF64() ? f64 : n.g.b.getF32Type();
  auto edge = [&](int64_t i) { return n.g.slice(place, 0, Expr(i), bins); };
  auto spread = [&](Value v) { return n.g.broadcastTo(n.g.cast(v, element), dims); };
  auto is = [&](CompareKind kind, Value a, Value b) { return n.g.compare(kind, a, b); };
  auto both = [&](Value a, Value b) { return n.g.binary<ir::AndOp>(a, b); };
  Value left = edge(0), center = edge(1), right = edge(2), one = n.g.splatLike(1, left);
  auto slope = [&](Value width) { return n.g.div(one, n.g.binary<ir::MaxOp>(width, one)); };
  Value up = n.g.sub(center, left), isSteep = is(CompareKind::EQ, up, n.g.splatLike(0, up));
  // Without rows in front of its center a triangle begins there.
  Value begin = n.g.select(isSteep, n.g.binary<ir::AddOp>(center, 1.0), left);
  Value peak = n.g.select(isSteep, center, n.g.splatLike(-1, center));
  Value row = n.g.iota(dims, 0, element), zero = n.g.splatLike(0, row), middle = spread(center);
  Value rising = n.g.mul(n.g.sub(row, spread(left)), spread(slope(up)));
  Value falling = n.g.mul(n.g.sub(spread(right), row), spread(slope(n.g.sub(right, center))));
  Value y = n.g.select(both(is(CompareKind::GE, row, spread(begin)), is(CompareKind::LE, row, middle)), rising, zero);
  y = n.g.select(is(CompareKind::EQ, row, spread(peak)), n.g.splatLike(1, row), y);
  y = n.g.select(both(is(CompareKind::GE, row, middle), is(CompareKind::LT, row, spread(right))), falling, y);
  n.out(n.g.cast(y, wanted));
}

} // namespace lathe::onnx
