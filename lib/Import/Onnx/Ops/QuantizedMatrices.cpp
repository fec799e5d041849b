//===- QuantizedMatrices.cpp - ONNX Runtime's products of quantised matrices ===//

#include "Contractions.h"
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
  if (!n.g.broadcastAll(factors))
    failWrong("the scales do not fit each other");
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

/// x times the transpose of a matrix [N, K] of 4 or 8 bits, in blocks along K that have a scale and a zero point each.
void matMulNBits(Node &n) {
  Value x = n.in(0), packed = n.in(1), scales = n.in(2);
  int64_t bits = n.integer("bits", 4), block = n.requiredInteger("block_size"), k = n.requiredInteger("K"), columns = n.requiredInteger("N");
  if (bits != 2 && bits != 4 && bits != 8)
    failUnsupported("weights of {0} bits", bits);
  if (n.has(4))
    failUnsupported("weights in groups by index");
  if (block < 1 || k < 1 || columns < 1 || block * bits % 8)
    failWrong("{0} x {1} weights in blocks of {2}", columns, k, block);
  n.requireFloat(x);
  Type f32 = n.g.b.getF32Type();
  int64_t blocks = (k + block - 1) / block;
  Dims all{Expr(columns), Expr(blocks), Expr(block)}, perBlock{Expr(columns), Expr(blocks), Expr(1)};
  Value w = n.g.cast(n.reshape(unpacked(n, packed, bits), all), f32), zero;
  if (Value given = n.maybe(3)) {
    if (n.isInteger(given)) { // packed along the blocks, each row filled up to bytes
      Dims rows{Expr(columns), Expr((blocks * bits + 7) / 8)}, wide{Expr(columns), Expr((blocks * bits + 7) / 8 * (8 / bits))};
      given = n.g.slice(n.reshape(unpacked(n, n.reshape(given, rows), bits), wide), 1, Expr(0), Expr(blocks));
    }
    zero = n.g.broadcastTo(n.reshape(n.g.cast(given, f32), perBlock), all);
  } else {
    zero = n.g.splat(double(1 << (bits - 1)), all, f32);
  }
  w = n.g.mul(n.g.sub(w, zero), n.g.broadcastTo(n.reshape(n.g.cast(scales, f32), perBlock), all));
  w = n.g.slice(n.reshape(w, {Expr(columns), Expr(blocks * block)}), 1, Expr(0), Expr(k));
  n.requireEqual(n.dims(x).back(), Expr(k), "the inner size of the operand and K");
  Value bias = n.maybe(5);
  Value y = n.g.linear(n.g.cast(x, f32), w, bias ? n.g.cast(bias, f32) : Value());
  n.out(n.g.cast(y, n.element(x)));
}

} // namespace lathe::onnx
