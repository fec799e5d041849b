//===- QuantizedMatrices.cpp - ONNX Runtime's products of quantised matrices ===//

#include "Contractions.h"
#include "Narrow.h"
#include "Quantization.h"

using namespace lathe;

namespace lathe::onnx {

/// alpha * a * b + c, of quantised operands; a float, or quantised again.
void qGemm(Node &n) {
  Value a = n.in(0), b = n.in(3);
  Type i32 = n.g.b.getI32Type(), f32 = n.g.b.getF32Type();
  for (unsigned i : {0, 2, 3, 5})
    n.requireInteger(n.in(i));
  n.requireRank(a, 2);
  n.requireRank(b, 2);
  int64_t ka = n.flag("transA", false) ? 0 : 1, kb = n.flag("transB", false) ? 1 : 0;
  n.requireEqual(n.dim(a, ka), n.dim(b, kb), "operands " + describe(a.getType()) + " and " + describe(b.getType()) + ": the inner sizes");
  Value bZero = n.in(5);
  bool perColumn = n.rank(bZero) == 1 && !n.simplify(n.dim(bZero, 0)).isOne();
  Value sum = n.g.contract(centered(n, a, n.in(2), i32, true), centered(n, b, bZero, i32, perColumn && kb == 1), {}, {}, {ka}, {kb});
  if (Value c = n.maybe(6))
    sum = n.g.add(sum, n.broadcastTo(n.g.cast(c, i32), n.dims(sum)));
  auto scale = [&](unsigned input) { return perChannel(n, n.g.cast(n.in(input), f32), sum, 1); };
  Value factors[] = {scale(1), scale(4)};
  fitTogether(n, factors, sum);
  Value factor = n.g.mul(factors[0], factors[1]);
  if (double alpha = n.real("alpha", 1); alpha != 1)
    factor = n.g.binary<ir::MulOp>(factor, alpha);
  if (n.has(7))
    factor = n.g.div(factor, n.broadcastTo(scale(7), n.dims(factor)));
  Value y = n.g.mul(n.g.cast(sum, f32), n.broadcastTo(factor, n.dims(sum)));
  if (n.has(7) && n.has(8))
    y = rounded(n, y, n.broadcastTo(perChannel(n, n.in(8), sum, 1), n.dims(sum)), n.element(n.in(8)));
  n.out(y);
}

/// The elements of bytes that hold 8 / bits each, the first in the low bits, along a new last dimension.
static Value unpacked(Node &n, Value bytes, int64_t bits) {
  llvm::SmallVector<Value> parts;
  for (int64_t at = 0; at < 8; at += bits)
    parts.push_back(n.g.unsqueeze(n.g.binary<ir::AndOp>(n.g.binary<ir::ShrOp>(bytes, double(at)), double((1 << bits) - 1)), {n.rank(bytes)}));
  return parts.size() == 1 ? parts[0] : n.g.concat(parts, n.rank(bytes));
}

/// x times the transpose of a matrix [N, K] of floats.
static void timesWeights(Node &n, Value x, Value w, Value bias) {
  Type f32 = n.g.b.getF32Type();
  n.requireEqual(n.dims(x).back(), n.dim(w, 1), "the inner size of the operand and K");
  Value y = n.g.linear(n.g.cast(x, f32), w, bias ? n.g.cast(bias, f32) : Value());
  n.out(n.g.cast(y, n.element(x)));
}

/// An operand has as many elements as attributes say, in whatever shape.
static void requireCount(Node &n, Value v, int64_t count, llvm::StringRef what) {
  n.requireEqual(n.simplify(shape::product(n.dims(v))), Expr(count), what.str() + ", " + describe(v.getType()));
}

/// Sizes of a matrix by attributes, and of its blocks, whose product is a number.
static void requireMatrix(int64_t rows, int64_t columns, int64_t block) {
  constexpr int64_t most = int64_t(1) << 31, mostElements = int64_t(1) << 40;
  bool sizes = llvm::all_of(std::array{rows, columns, block}, [](int64_t size) { return size >= 1 && size <= most; });
  if (!sizes || columns + block > mostElements / rows)
    failWrong("{0} x {1} weights in blocks of {2}", rows, columns, block);
}

namespace {
/// A matrix of few bits in blocks along its columns.
struct BlockedMatrix {
  int64_t bits, block, rows, columns, blocks;
  Value group; ///< of each column; null where neighbours are one
};
} // namespace

/// Numbers per block [rows, blocks] for each element, as [rows, blocks, block], or as [rows, columns] where columns say their groups.
static Value perElement(Node &n, const BlockedMatrix &m, Value perBlock) {
  Expr rows(m.rows), blocks(m.blocks);
  if (m.group)
    return n.g.gather(n.reshape(perBlock, {rows, blocks}), m.group, 1);
  return n.g.broadcastTo(n.reshape(perBlock, {rows, blocks, Expr(1)}), {rows, blocks, Expr(m.block)});
}

static Value zeroPoints(Node &n, const BlockedMatrix &m, Value given, const Dims &like) {
  Type f32 = n.g.b.getF32Type();
  if (!given)
    return n.g.splat(double(1 << (m.bits - 1)), like, f32);
  int64_t bytes = (m.blocks * m.bits + 7) / 8;
  requireCount(n, given, m.rows * (n.isInteger(given) ? bytes : m.blocks), "zero points");
  if (n.isInteger(given)) { // packed along the blocks, each row filled up to bytes
    Dims packed{Expr(m.rows), Expr(bytes)}, wide{Expr(m.rows), Expr(bytes * (8 / m.bits))};
    given = n.g.slice(n.reshape(unpacked(n, n.reshape(given, packed), m.bits), wide), 1, Expr(0), Expr(m.blocks));
  }
  return perElement(n, m, n.g.cast(given, f32));
}

/// x times the transpose of a matrix [N, K] of 2, 4 or 8 bits, in blocks along K that have a scale and a zero point each.
void matMulNBits(Node &n) {
  Value x = n.in(0), packed = n.in(1);
  BlockedMatrix m{n.integer("bits", 4), n.requiredInteger("block_size"), n.requiredInteger("N"), n.requiredInteger("K"), 0, n.maybe(4)};
  if (m.bits != 2 && m.bits != 4 && m.bits != 8)
    failUnsupported("weights of {0} bits", m.bits);
  requireMatrix(m.rows, m.columns, m.block);
  if (m.block * m.bits % 8)
    failWrong("{0} x {1} weights in blocks of {2}", m.rows, m.columns, m.block);
  n.requireFloat(x);
  Type f32 = n.g.b.getF32Type();
  m.blocks = (m.columns + m.block - 1) / m.block;
  requireCount(n, packed, m.rows * m.blocks * (m.block * m.bits / 8), "bytes of weights");
  requireCount(n, n.in(2), m.rows * m.blocks, "scales");
  Expr rows(m.rows), columns(m.columns), filled(m.blocks * m.block);
  Value w = n.g.cast(n.reshape(unpacked(n, packed, m.bits), {rows, Expr(m.blocks), Expr(m.block)}), f32);
  auto matrix = [&](Value v) { return n.g.slice(n.reshape(v, {rows, filled}), 1, Expr(0), columns); };
  if (m.group) {
    n.requireInteger(m.group);
    n.requireRank(m.group, 1);
    n.require(columns, "le", n.dim(m.group, 0), "each column has a group");
    m.group = n.g.slice(n.g.cast(m.group, n.g.b.getI64Type()), 0, Expr(0), columns);
    w = matrix(w);
  }
  w = n.g.mul(n.g.sub(w, zeroPoints(n, m, n.maybe(3), n.dims(w))), perElement(n, m, n.g.cast(n.in(2), f32)));
  timesWeights(n, x, m.group ? w : matrix(w), n.maybe(5));
}

/// The values of the codes of four bits: a float with two bits of exponent and one of mantissa, and quantiles of the normal distribution.
static constexpr float kFloat4[16] = {0,  0.005208333333f,  0.66666667f,  1,  0.33333333f,  0.5f,  0.16666667f,  0.25f,
                                      0, -0.005208333333f, -0.66666667f, -1, -0.33333333f, -0.5f, -0.16666667f, -0.25f};
static constexpr float kNormalFloat4[16] = {-1.0f,
                                            -0.6961928009986877f,
                                            -0.5250730514526367f,
                                            -0.39491748809814453f,
                                            -0.28444138169288635f,
                                            -0.18477343022823334f,
                                            -0.09105003625154495f,
                                            0.0f,
                                            0.07958029955625534f,
                                            0.16093020141124725f,
                                            0.24611230194568634f,
                                            0.33791524171829224f,
                                            0.44070982933044434f,
                                            0.5626170039176941f,
                                            0.7229568362236023f,
                                            1.0f};

/// The same of codes that stand for floats; blocks go on from row to row, and the first of a byte's two is in its high bits.
void matMulBnb4(Node &n) {
  Value x = n.in(0), packed = n.in(1);
  int64_t block = n.requiredInteger("block_size"), k = n.requiredInteger("K"), rows = n.requiredInteger("N");
  int64_t kind = n.requiredInteger("quant_type");
  if (kind != 0 && kind != 1)
    failWrong("attribute 'quant_type' is {0}, expected 0 or 1", kind);
  requireMatrix(rows, k, block);
  if (!n.flag("transB", true))
    failUnsupported("weights [K, N]");
  n.requireFloat(x);
  n.requireInteger(packed);
  Type f32 = n.g.b.getF32Type(), i64 = n.g.b.getI64Type();
  int64_t count = rows * k, blocks = (count + block - 1) / block;
  requireCount(n, packed, (count + 1) / 2, "bytes of weights");
  requireCount(n, n.in(2), blocks, "scales");
  Expr pairs(n.simplify(shape::product(n.dims(packed))));
  packed = n.reshape(packed, {pairs, Expr(1)});
  Value codes = n.g.concat({n.g.binary<ir::ShrOp>(packed, 4.0), n.g.binary<ir::AndOp>(packed, 15.0)}, 1);
  codes = n.g.slice(n.reshape(codes, {n.simplify(pairs * Expr(2))}), 0, Expr(0), Expr(count));
  llvm::ArrayRef<float> table(kind == 0 ? kFloat4 : kNormalFloat4);
  Value values = n.g.gather(n.constant(mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({16}, f32), table)), n.g.cast(codes, i64), 0);
  Value scales = n.g.broadcastTo(n.reshape(n.g.cast(n.in(2), f32), {Expr(blocks), Expr(1)}), {Expr(blocks), Expr(block)});
  scales = n.g.slice(n.reshape(scales, {Expr(blocks * block)}), 0, Expr(0), Expr(count));
  timesWeights(n, x, n.reshape(n.g.mul(values, scales), {Expr(rows), Expr(k)}), {});
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// Numbers per block along an axis for each element of `dims`.
static Value alongBlocks(Node &n, Value v, int64_t axis, int64_t block, const Dims &dims) {
  Dims wide = n.dims(v), joined = wide;
  wide.insert(wide.begin() + axis + 1, Expr(block));
  joined[axis] = n.simplify(joined[axis] * Expr(block));
  n.require(dims[axis], "le", joined[axis], "the blocks cover the table");
  v = n.reshape(n.g.broadcastTo(n.g.unsqueeze(v, {axis + 1}), wide), joined);
  return n.broadcastTo(n.g.slice(v, axis, Expr(0), dims[axis]), dims);
}

/// Rows of a table whose elements have a scale and a zero point per block along another axis. What is gathered is dequantised, not
/// the table.
void gatherBlockQuantized(Node &n) {
  Value table = n.in(0), at = n.in(1), scales = n.in(2), zero = n.maybe(3);
  n.requireInteger(at);
  n.requireFloat(scales);
  n.requireRank(scales, n.rank(table));
  int64_t bits = n.integer("bits", 4), block = n.integer("block_size", 128), rank = n.rank(table);
  int64_t axis = n.axis(n.integer("gather_axis", 0), rank), blocked = n.axis(n.integer("quantize_axis", 1), rank);
  bool isPacked = !ir::isNarrow(n.element(table));
  if ((bits != 4 && bits != 8) || block < 1)
    failWrong("{0} bits in blocks of {1}", bits, block);
  if (axis == blocked || (isPacked && (blocked != rank - 1 || !n.element(table).isUnsignedInteger(8))))
    failUnsupported("{0}, gathered along {1}, in blocks along {2}", describe(table.getType()), axis, blocked);
  at = n.g.cast(at, n.g.b.getI64Type());
  int64_t place = blocked > axis ? blocked + n.rank(at) - 1 : blocked;
  Type f32 = n.g.b.getF32Type();
  auto codes = [&](Value v) { // as floats
    v = n.g.gather(v, at, axis);
    if (isPacked && bits == 4) {
      Dims dims = n.dims(v);
      dims.back() = n.simplify(dims.back() * Expr(2));
      v = n.reshape(unpacked(n, v, bits), dims);
    }
    return n.g.cast(v, f32);
  };
  Value y = codes(table), factor = n.g.cast(n.g.gather(scales, at, axis), f32);
  Dims dims = n.dims(y);
  if (zero) {
    Value z = n.g.slice(codes(zero), place, Expr(0), n.dim(factor, place));
    y = n.g.sub(y, alongBlocks(n, z, place, block, dims));
  } else if (isPacked) {
    y = n.g.binary<ir::SubOp>(y, double(1 << (bits - 1)));
  }
  n.out(n.g.cast(n.g.mul(y, alongBlocks(n, factor, place, block, dims)), n.element(scales)));
}

} // namespace lathe::onnx
