//===- SkipNormalizations.cpp - ONNX Runtime's norms of a sum ----------------===//

#include "Node.h"

using namespace lathe;

namespace lathe::onnx {

/// The operand plus what is skipped to it, and perhaps a bias; the operator gives it as its last result.
static Value residualSum(Node &n, unsigned bias) {
  Value x = n.in(0);
  n.requireFloat(x);
  n.requireRankAtLeast(x, 1);
  n.requireSameElement({x, n.in(1), n.in(2)});
  Dims dims = n.dims(x);
  Value sum = n.g.add(x, n.broadcastTo(n.in(1), dims));
  if (Value v = n.maybe(bias)) {
    n.requireSameElement({x, v});
    sum = n.g.add(sum, n.broadcastTo(v, dims));
  }
  return sum;
}

static constexpr double kDefaultEpsilon = 1e-12;

void skipLayerNormalization(Node &n) {
  Value sum = residualSum(n, 4);
  Value y = n.g.layerNorm(n.wide(sum), n.rank(sum) - 1, {}, {}, n.real("epsilon", kDefaultEpsilon));
  y = n.g.mul(n.g.cast(y, n.element(sum)), n.broadcastTo(n.in(2), n.dims(sum)));
  if (Value beta = n.maybe(3)) {
    n.requireSameElement({sum, beta});
    y = n.g.add(y, n.broadcastTo(beta, n.dims(sum)));
  }
  n.out(0, y);
  if (n.wants(3))
    n.out(3, sum);
}

void skipSimplifiedLayerNormalization(Node &n) {
  Value sum = residualSum(n, 3);
  Value y = n.g.rmsNorm(n.wide(sum), n.rank(sum) - 1, {}, n.real("epsilon", kDefaultEpsilon));
  n.out(0, n.g.mul(n.g.cast(y, n.element(sum)), n.broadcastTo(n.in(2), n.dims(sum))));
  if (n.wants(3))
    n.out(3, sum);
}

/// The rows of a table that the indices name.
static Value embedded(Node &n, unsigned table, Value indices) {
  n.requireRank(n.in(table), 2);
  n.requireInteger(indices);
  n.requireSameElement({n.in(2), n.in(table)});
  return n.g.gather(n.in(table), n.g.cast(indices, n.g.b.getI64Type()), 0);
}

/// How many of each row's tokens are no padding; 0 where there is no mask.
static Value tokenCounts(Node &n, const Expr &batch) {
  Type i32 = n.g.b.getI32Type();
  if (!n.has(7))
    return n.g.splat(0, {batch}, i32);
  Value mask = n.in(7);
  n.requireRank(mask, 2);
  n.requireInteger(mask);
  Value isToken = n.g.compare(ir::CompareKind::EQ, mask, n.g.splatLike(1, mask));
  return n.g.reduce(ir::ReduceKind::Sum, n.g.cast(isToken, i32), {1}, false);
}

/// The sum of a token's, a position's and a segment's embedding, normalised.
void embedLayerNormalization(Node &n) {
  Value ids = n.in(0), words = n.in(2);
  n.requireRank(ids, 2);
  n.requireFloat(words);
  n.requireSameElement({words, n.in(5), n.in(6)});
  Value sum = embedded(n, 2, ids);
  Dims dims = n.dims(sum);
  Value places = n.has(8) ? n.in(8) : n.g.iota({dims[1]}, 0, n.g.b.getI64Type());
  if (!n.has(8))
    n.require(dims[1], "le", n.dim(n.in(3), 0), "there is an embedding for each position");
  sum = n.g.add(sum, n.broadcastTo(embedded(n, 3, places), dims));
  if (n.has(1) && n.has(4))
    sum = n.g.add(sum, n.broadcastTo(embedded(n, 4, n.in(1)), dims));
  Value y = n.g.layerNorm(n.wide(sum), 2, {}, {}, n.real("epsilon", kDefaultEpsilon));
  y = n.g.mul(n.g.cast(y, n.element(sum)), n.broadcastTo(n.in(5), dims));
  n.out(0, n.g.add(y, n.broadcastTo(n.in(6), dims)));
  if (n.wants(1))
    n.out(1, tokenCounts(n, dims[0]));
  if (n.wants(2))
    n.out(2, sum);
}

} // namespace lathe::onnx
