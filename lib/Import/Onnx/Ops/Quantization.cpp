//===- Quantization.cpp - Integers with a scale ----------------------------===//

#include "Quantization.h"
#include "Contractions.h"
#include "Narrow.h"
#include "Windows.h"

using namespace lathe;
using ir::ReduceKind;

namespace lathe::onnx {

/// The range of a quantised type.
static std::pair<double, double> rangeOf(Type element) {
  unsigned width = element.getIntOrFloatBitWidth();
  if (element.isUnsignedInteger())
    return {0, double((int64_t(1) << width) - 1)};
  return {-double(int64_t(1) << (width - 1)), double((int64_t(1) << (width - 1)) - 1)};
}

/// A scale or zero point per tensor, per slice along the axis, or per block of it, as x's dimensions.
static Value spreadTo(Node &n, Value v, Value x) {
  Dims dims = n.dims(x);
  int64_t block = n.integer("block_size", 0), rank = n.rank(x);
  if (block < 0)
    failWrong("attribute 'block_size' is {0}", block);
  if (n.rank(v) == 0 || (n.rank(v) == 1 && n.simplify(n.dim(v, 0)).isOne()))
    return n.g.broadcastTo(n.reshape(v, {}), dims);
  int64_t axis = n.axis(n.integer("axis", 1), rank);
  if (block == 0) {
    n.requireRank(v, 1);
    Dims vector(rank, Expr(1));
    vector[axis] = n.dim(v, 0);
    return n.broadcastTo(n.reshape(v, vector), dims);
  }
  n.requireRank(v, rank);
  Dims blocks = n.dims(v), wide = blocks, joined = blocks;
  wide.insert(wide.begin() + axis + 1, Expr(block));
  joined[axis] = n.simplify(joined[axis] * Expr(block));
  Value r = n.reshape(n.g.broadcastTo(n.g.unsqueeze(v, {axis + 1}), wide), joined);
  for (int64_t d = 0; d < rank; ++d)
    if (d != axis)
      n.requireEqual(blocks[d], dims[d], "a dimension of the blocks and of the operand");
  if (n.g.facts.provablyLess(joined[axis], dims[axis]))
    failWrong("the blocks {0} do not cover {1}", describe(v.getType()), describe(x.getType()));
  return n.g.slice(r, axis, Expr(0), dims[axis]);
}

/// The zero point as x's dimensions; beside one scale for all it is one number, whatever its rank.
static Value spreadZero(Node &n, Value zero, Value scale, Value x) {
  if (n.rank(scale) == 0 && n.rank(zero) == 1) {
    n.requireEqual(n.dim(zero, 0), Expr(1), "the elements of the zero point beside a single scale");
    zero = n.reshape(zero, {});
  }
  return spreadTo(n, zero, x);
}

static bool isNarrowFloat(Type t) {
  const ir::NarrowType *narrow = ir::narrowType(t);
  return narrow && !narrow->isInteger();
}

/// Scales may be powers of two in eight bits.
static Value scaleOf(Node &n, unsigned input) {
  Value scale = n.in(input);
  if (isNarrowFloat(n.element(scale)))
    return n.g.cast(scale, n.g.b.getF32Type());
  if (!n.isInteger(scale))
    n.requireFloat(scale);
  return scale;
}

Value rounded(Node &n, Value x, Value zero, Type to) {
  Value r = n.g.unary<ir::RoundOp>(x);
  if (zero)
    r = n.g.add(r, n.g.cast(zero, n.element(r)));
  if (!ir::isNarrow(to)) // casts to the machine's types saturate
    return n.g.cast(r, to);
  auto [low, high] = rangeOf(to);
  return n.g.cast(n.g.binary<ir::MinOp>(n.g.binary<ir::MaxOp>(r, low), high), to);
}

/// round(x / scale) + zero, saturated. `scale` and `zero` have x's shape; zero may be null.
static Value quantize(Node &n, Value x, Value scale, Value zero, Type to) {
  if (isNarrowFloat(to)) {
    Value r = n.g.div(x, scale);
    return convert(n, zero ? n.g.add(r, n.g.cast(zero, n.element(r))) : r, to);
  }
  return rounded(n, n.g.div(x, scale), zero, to);
}

void quantizeLinear(Node &n) {
  Value x = n.in(0), scale = scaleOf(n, 1), zero = n.maybe(2);
  n.requireNumber(x);
  Type to = zero ? n.element(zero) : n.g.b.getIntegerType(8, false);
  if (!zero && n.integer("output_dtype", 0))
    to = n.elementOfOnnx(n.integer("output_dtype", 0));
  bool isInteger = llvm::isa<mlir::IntegerType>(to) && !to.isInteger(1) && to.getIntOrFloatBitWidth() <= 16;
  if (!isInteger && !isNarrowFloat(to))
    failUnsupported("quantisation to {0}", to);
  Type f32 = n.g.b.getF32Type();
  Value wide = n.g.cast(x, f32);
  Value zeros = zero ? spreadZero(n, zero, scale, x) : Value();
  n.out(quantize(n, wide, spreadTo(n, n.g.cast(scale, f32), x), zeros, to));
}

void dequantizeLinear(Node &n) {
  Value x = n.in(0), scale = scaleOf(n, 1);
  if (!ir::isNarrow(n.element(x)))
    n.requireInteger(x);
  Type f32 = n.g.b.getF32Type();
  Value y = n.g.cast(x, f32);
  if (n.has(2)) {
    n.requireSameElement({x, n.in(2)});
    y = n.g.sub(y, n.g.cast(spreadZero(n, n.in(2), scale, x), f32));
  }
  y = n.g.mul(y, n.g.cast(spreadTo(n, scale, x), f32)); // the scale, where it was narrow, is f32 by now
  Type to = n.integer("output_dtype", 0) ? n.elementOfOnnx(n.integer("output_dtype", 0)) : n.element(scale);
  n.out(n.g.cast(y, to));
}

DynamicBytes dynamicBytes(Node &n, Value x) {
  llvm::SmallVector<int64_t> axes;
  for (int64_t d = 0; d < n.rank(x); ++d)
    axes.push_back(d);
  Type ui8 = n.g.b.getIntegerType(8, false);
  Value low = n.g.binary<ir::MinOp>(n.g.reduce(ReduceKind::Min, x, axes, false), 0);
  Value high = n.g.binary<ir::MaxOp>(n.g.reduce(ReduceKind::Max, x, axes, false), 0);
  Value scale = n.g.binary<ir::DivOp>(n.g.sub(high, low), 255);
  // Where all are zero any scale does; ONNX Runtime's is 1.
  scale = n.g.select(n.g.compare(ir::CompareKind::EQ, scale, n.g.splatLike(0, scale)), n.g.splatLike(1, scale), scale);
  Value zero = n.g.unary<ir::RoundOp>(n.g.unary<ir::NegOp>(n.g.div(low, scale)));
  zero = n.g.cast(n.g.binary<ir::MinOp>(n.g.binary<ir::MaxOp>(zero, 0), 255), ui8);
  Dims dims = n.dims(x);
  return {quantize(n, x, n.g.broadcastTo(scale, dims), n.g.broadcastTo(zero, dims), ui8), scale, zero};
}

void dynamicQuantizeLinear(Node &n) {
  Value x = n.in(0);
  if (!n.element(x).isF32())
    failWrong("operand {0} must be of type float", describe(x.getType()));
  DynamicBytes q = dynamicBytes(n, x);
  n.out(0, q.bytes);
  n.out(1, q.scale);
  n.out(2, q.zero);
}

Value centered(Node &n, Value x, Value zero, Type to, bool perRow) {
  Value wide = n.g.cast(x, to);
  if (!zero)
    return wide;
  n.requireSameElement({x, zero});
  if (n.rank(zero) == 1 && !n.simplify(n.dim(zero, 0)).isOne() && perRow)
    zero = n.g.unsqueeze(zero, {1});
  else if (n.rank(zero) == 1 && n.simplify(n.dim(zero, 0)).isOne())
    zero = n.reshape(zero, {});
  return n.g.sub(wide, n.broadcastTo(n.g.cast(zero, to), n.dims(x)));
}

void matMulInteger(Node &n) {
  Type i32 = n.g.b.getI32Type();
  n.requireInteger(n.in(0));
  n.requireInteger(n.in(1));
  n.out(matrixProduct(n, centered(n, n.in(0), n.maybe(2), i32, true), centered(n, n.in(1), n.maybe(3), i32, false)));
}

Value perChannel(Node &n, Value v, Value y, int64_t axis) {
  Dims dims(n.rank(y), Expr(1));
  if (n.rank(v) == 1 && !n.simplify(n.dim(v, 0)).isOne())
    dims[axis] = n.dim(v, 0);
  else if (n.rank(v) > 1)
    return v;
  return n.reshape(v, dims);
}

void fitTogether(Node &n, llvm::MutableArrayRef<Value> scales, Value y) {
  if (!n.g.broadcastAll(scales))
    for (Value &scale : scales)
      scale = n.broadcastTo(scale, n.dims(y));
}

/// A sum of products to its quantised type: one factor for both scales and the result's, as ONNX Runtime rounds. A vector of the first operand's
/// scales lies along `rows`, others along `axis`.
static Value requantized(Node &n, Value sum, int64_t rows, int64_t axis) {
  Type f32 = n.g.b.getF32Type();
  auto scale = [&](unsigned input, int64_t along) { return perChannel(n, n.g.cast(n.in(input), f32), sum, along); };
  Value factors[] = {scale(1, rows), scale(4, axis), scale(6, axis)};
  fitTogether(n, factors, sum);
  Value factor = n.broadcastTo(n.g.div(n.g.mul(factors[0], factors[1]), factors[2]), n.dims(sum));
  Value zero = n.broadcastTo(perChannel(n, n.in(7), sum, axis), n.dims(sum));
  return rounded(n, n.g.mul(n.g.cast(sum, f32), factor), zero, n.element(n.in(7)));
}

void qLinearMatMul(Node &n) {
  Type i32 = n.g.b.getI32Type();
  for (unsigned i : {0, 2, 3, 5, 7})
    n.requireInteger(n.in(i));
  for (unsigned i : {1, 4, 6})
    n.requireFloat(n.in(i));
  Value sum = matrixProduct(n, centered(n, n.in(0), n.in(2), i32, true), centered(n, n.in(3), n.in(5), i32, false));
  int64_t columns = n.rank(n.in(3)) > 1, rank = n.rank(sum);
  n.out(requantized(n, sum, std::max<int64_t>(0, rank - 1 - columns), std::max<int64_t>(0, rank - 1)));
}

static Value convolveIntegers(Node &n, Value x, Value xZero, Value weights, Value wZero) {
  Type i32 = n.g.b.getI32Type();
  n.requireInteger(x);
  n.requireInteger(weights);
  n.requireRankAtLeast(x, 3);
  n.requireRank(weights, n.rank(x));
  int64_t groups = n.integer("group", 1);
  if (groups < 1)
    failWrong("attribute 'group' is {0}", groups);
  if (xZero) {
    n.requireEqual(shape::product(n.dims(xZero)), Expr(1), "the elements of the operand's zero point");
    xZero = n.reshape(xZero, {});
  }
  if (wZero && n.rank(wZero) == 1 && !n.simplify(n.dim(wZero, 0)).isOne()) {
    Dims dims(n.rank(weights), Expr(1));
    dims[0] = n.dim(wZero, 0);
    wZero = n.reshape(wZero, dims);
  }
  Dims dx = n.dims(x), dw = n.dims(weights);
  n.requireEqual(dx[1], dw[1] * Expr(groups), "the channels of the operand and of the weights times the groups");
  n.exactQuotient(dw[0], Expr(groups), "the number of result channels");
  llvm::SmallVector<int64_t> kernel = kernelOf(n, weights);
  Windows w = windowsOf(n, Dims(dx.begin() + 2, dx.end()), kernel);
  return convolve(n, centered(n, x, xZero, i32, false), centered(n, weights, wZero, i32, false), w, groups);
}

void convInteger(Node &n) { n.out(convolveIntegers(n, n.in(0), n.maybe(2), n.in(1), n.maybe(3))); }

/// Of an image whose channels come second.
static Value quantisedConvolution(Node &n, Value x) {
  for (unsigned i : {1, 4, 6})
    n.requireFloat(n.in(i));
  n.requireInteger(n.in(7));
  Value y = convolveIntegers(n, x, n.in(2), n.in(3), n.in(5));
  if (n.has(8)) {
    n.requireRank(n.in(8), 1);
    Dims dims(n.rank(y) - 1, Expr(1));
    dims[0] = n.dim(n.in(8), 0);
    y = n.g.add(y, n.broadcastTo(n.reshape(n.g.cast(n.in(8), n.element(y)), dims), n.dims(y)));
  }
  return requantized(n, y, 1, 1);
}

void qLinearConv(Node &n) { n.out(quantisedConvolution(n, n.in(0))); }

/// ONNX Runtime's, whose channels may come last.
void contribQLinearConv(Node &n) {
  Value x = n.in(0);
  if (!n.flag("channels_last", false))
    return n.out(quantisedConvolution(n, x));
  n.requireRankAtLeast(x, 3);
  n.out(channelsLast(n, quantisedConvolution(n, channelsSecond(n, x))));
}

} // namespace lathe::onnx
