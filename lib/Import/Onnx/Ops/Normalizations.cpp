//===- Normalizations.cpp - Softmax and the norms --------------------------===//

#include "Node.h"

using namespace lathe;
using ir::ReduceKind;
using llvm::SmallVector;

namespace lathe::onnx {

/// Runs f on the widened operand along `axis` and rounds to the operand's type.
static void alongAxis(Node &n, llvm::function_ref<Value(Value, int64_t)> f) {
  Value x = n.in(0);
  n.requireFloat(x);
  n.requireRankAtLeast(x, 1);
  bool flattens = n.opset() < 13;
  if (!flattens)
    return n.out(n.g.cast(f(n.wide(x), n.axis(n.integer("axis", -1), n.rank(x))), n.element(x)));
  // Before opset 13 the operand counts as a matrix: the dimensions before the axis, and those from it on.
  Dims dims = n.dims(x);
  int64_t given = n.integer("axis", 1), axis = given == n.rank(x) ? given : n.axis(given, n.rank(x));
  llvm::ArrayRef<Expr> all(dims);
  Value rows = n.reshape(n.wide(x), {n.simplify(shape::product(all.take_front(axis))), n.simplify(shape::product(all.drop_front(axis)))});
  n.out(n.g.cast(n.reshape(f(rows, 1), dims), n.element(x)));
}

void softmax(Node &n) {
  alongAxis(n, [&](Value x, int64_t axis) { return n.g.softmax(x, axis); });
}

void logSoftmax(Node &n) {
  alongAxis(n, [&](Value x, int64_t axis) {
    Dims dims = n.dims(x);
    Value shifted = n.g.sub(x, n.g.broadcastTo(n.g.reduce(ReduceKind::Max, x, {axis}, true), dims));
    Value sum = n.g.reduce(ReduceKind::Sum, n.g.unary<ir::ExpOp>(shifted), {axis}, true);
    return n.g.sub(shifted, n.g.broadcastTo(n.g.unary<ir::LogOp>(sum), dims));
  });
}

/// 1 at the first maximum, else 0.
void hardmax(Node &n) {
  alongAxis(n, [&](Value x, int64_t axis) {
    Dims dims = n.dims(x);
    Type i64 = n.g.b.getI64Type();
    Value max = n.g.broadcastTo(n.g.reduce(ReduceKind::Max, x, {axis}, true), dims);
    Value index = n.g.iota(dims, axis, i64), none = n.g.broadcastTo(n.g.size(dims[axis]), dims);
    Value at = n.g.select(n.g.compare(ir::CompareKind::EQ, x, max), index, none);
    Value first = n.g.broadcastTo(n.g.reduce(ReduceKind::Min, at, {axis}, true), dims);
    return n.g.cast(n.g.compare(ir::CompareKind::EQ, index, first), n.element(x));
  });
}

/// scale and bias, each broadcasting to x, after a normalisation that was computed in f32 for half types.
static Value affine(Node &n, Value y, Value scale, Value bias) {
  if (scale)
    y = n.g.mul(y, n.broadcastTo(scale, n.dims(y)));
  return bias ? n.g.add(y, n.broadcastTo(bias, n.dims(y))) : y;
}

void layerNormalization(Node &n) {
  Value x = n.in(0), scale = n.in(1), bias = n.maybe(2);
  n.requireFloat(x);
  n.requireRankAtLeast(x, 1);
  int64_t axis = n.axis(n.integer("axis", -1), n.rank(x));
  double eps = n.real("epsilon", 1e-5f);
  Value w = n.wide(x);
  Dims dims = n.dims(x);
  n.requireSameElement({x, scale});
  if (bias)
    n.requireSameElement({x, bias});
  n.out(0, affine(n, n.g.cast(n.g.layerNorm(w, axis, {}, {}, eps), n.element(x)), scale, bias));
  if (!n.wants(1) && !n.wants(2))
    return;
  SmallVector<int64_t> axes;
  for (int64_t d = axis; d < n.rank(x); ++d)
    axes.push_back(d);
  Value mean = n.g.mean(w, axes, true), centered = n.g.sub(w, n.g.broadcastTo(mean, dims));
  Value variance = n.g.mean(n.g.mul(centered, centered), axes, true);
  Type stash = n.elementOfOnnx(n.integer("stash_type", 1));
  n.out(1, n.g.cast(mean, stash));
  n.out(2, n.g.cast(n.g.unary<ir::RsqrtOp>(n.g.binary<ir::AddOp>(variance, eps)), stash));
}

void rmsNormalization(Node &n) {
  Value x = n.in(0), scale = n.in(1);
  n.requireFloat(x);
  n.requireRankAtLeast(x, 1);
  int64_t axis = n.axis(n.integer("axis", -1), n.rank(x));
  Value w = n.wide(x);
  Value y = n.g.cast(n.g.rmsNorm(w, axis, {}, n.real("epsilon", 1e-5f)), n.element(scale));
  n.out(affine(n, y, scale, {}));
}

/// A vector over channels as [C, 1, 1, ...], which broadcasts to x [N, C, spatial...].
static Value perChannel(Node &n, Value v, Value x) {
  n.requireRank(v, 1);
  Dims dims(n.rank(x) - 1, Expr(1));
  dims[0] = n.dim(v, 0);
  n.requireEqual(dims[0], n.dim(x, 1), "the number of channels of " + describe(v.getType()) + " and " + describe(x.getType()));
  return n.reshape(v, dims);
}

void instanceNormalization(Node &n) {
  Value x = n.in(0);
  n.requireFloat(x);
  n.requireRankAtLeast(x, 3);
  n.requireSameElement({x, n.in(1), n.in(2)});
  Value y = n.g.cast(n.g.layerNorm(n.wide(x), 2, {}, {}, n.real("epsilon", 1e-5f)), n.element(x));
  n.out(affine(n, y, perChannel(n, n.in(1), x), perChannel(n, n.in(2), x)));
}

/// Scale and bias are per group before opset 21, per channel since.
void groupNormalization(Node &n) {
  Value x = n.in(0), scale = n.in(1), bias = n.in(2);
  n.requireFloat(x);
  n.requireRankAtLeast(x, 2);
  n.requireSameElement({x, scale, bias});
  int64_t groups = n.requiredInteger("num_groups");
  if (groups < 1)
    failWrong("attribute 'num_groups' is {0}", groups);
  Dims dims = n.dims(x);
  Expr inGroup = n.exactQuotient(dims[1], Expr(groups), "the number of channels");
  Dims grouped{dims[0], Expr(groups), inGroup};
  grouped.append(dims.begin() + 2, dims.end());
  Value y = n.g.layerNorm(n.reshape(n.wide(x), grouped), 2, {}, {}, n.real("epsilon", 1e-5f));
  y = n.g.cast(y, n.element(x));
  if (n.opset() < 21)
    return n.out(n.reshape(affine(n, y, perChannel(n, scale, y), perChannel(n, bias, y)), dims));
  y = n.reshape(y, dims);
  n.out(affine(n, y, perChannel(n, scale, x), perChannel(n, bias, x)));
}

void batchNormalization(Node &n) {
  Value x = n.in(0), mean = n.in(3), variance = n.in(4);
  n.requireFloat(x);
  n.requireRankAtLeast(x, 2);
  bool training = n.opset() >= 14 ? n.flag("training_mode", false) : n.numOutputs() > 1 && n.wants(1);
  Value w = n.wide(x);
  auto wide = [&](Value v) { return n.g.cast(v, n.element(w)); };
  if (training) {
    SmallVector<int64_t> axes;
    for (int64_t d = 0; d < n.rank(x); ++d)
      if (d != 1)
        axes.push_back(d);
    double momentum = n.real("momentum", 0.9f);
    Value batchMean = n.g.mean(w, axes, true), centered = n.g.sub(w, n.g.broadcastTo(batchMean, n.dims(w)));
    Value batchVariance = n.g.mean(n.g.mul(centered, centered), axes, true);
    auto running = [&](Value old, Value now) {
      now = n.reshape(now, n.dims(old));
      Value r = n.g.add(n.g.binary<ir::MulOp>(wide(old), momentum), n.g.binary<ir::MulOp>(now, 1 - momentum));
      return n.g.cast(r, n.element(old));
    };
    perChannel(n, mean, x);
    perChannel(n, variance, x);
    n.out(1, running(mean, batchMean));
    n.out(2, running(variance, batchVariance));
    mean = n.reshape(batchMean, n.dims(mean));
    variance = n.reshape(batchVariance, n.dims(variance));
  }
  // As scale * x + offset with per-channel vectors, which folds into a convolution before it.
  Value deviation = n.g.unary<ir::SqrtOp>(n.g.binary<ir::AddOp>(wide(variance), n.real("epsilon", 1e-5f)));
  n.requireEqual(n.dim(n.in(1), 0), n.dim(x, 1), "the number of channels");
  perChannel(n, n.in(2), x);
  perChannel(n, mean, x);
  perChannel(n, variance, x);
  Value scale = n.g.div(perChannel(n, wide(n.in(1)), x), perChannel(n, deviation, x));
  Value y = n.g.mul(n.g.sub(w, n.broadcastTo(perChannel(n, wide(mean), x), n.dims(w))), n.broadcastTo(scale, n.dims(w)));
  y = n.g.add(y, n.broadcastTo(perChannel(n, wide(n.in(2)), x), n.dims(w)));
  n.out(0, n.g.cast(y, n.element(x)));
}

void lpNormalization(Node &n) {
  Value x = n.in(0);
  n.requireFloat(x);
  n.requireRankAtLeast(x, 1);
  int64_t axis = n.axis(n.integer("axis", -1), n.rank(x)), p = n.integer("p", 2);
  if (p != 1 && p != 2)
    failWrong("attribute 'p' is {0}, expected 1 or 2", p);
  Value w = n.wide(x);
  Value norm = n.g.reduce(ReduceKind::Sum, p == 1 ? n.g.unary<ir::AbsOp>(w) : n.g.mul(w, w), {axis}, true);
  norm = p == 1 ? norm : n.g.unary<ir::SqrtOp>(norm);
  // A row of zeros stays zero.
  Value isZero = n.g.compare(ir::CompareKind::EQ, norm, n.g.splatLike(0, norm));
  norm = n.g.select(isZero, n.g.splatLike(1, norm), norm);
  n.out(n.g.cast(n.g.div(w, n.g.broadcastTo(norm, n.dims(w))), n.element(x)));
}

void meanVarianceNormalization(Node &n) {
  Value x = n.in(0);
  n.requireFloat(x);
  SmallVector<int64_t> given = n.hasAttribute("axes") ? n.integers("axes") : SmallVector<int64_t>{0, 2, 3};
  SmallVector<int64_t> axes = n.axes(given, n.rank(x));
  Value w = n.wide(x), mean = n.g.mean(w, axes, true), centered = n.g.sub(w, n.g.broadcastTo(mean, n.dims(w)));
  Value deviation = n.g.unary<ir::SqrtOp>(n.g.mean(n.g.mul(centered, centered), axes, true));
  Value y = n.g.div(centered, n.g.broadcastTo(n.g.binary<ir::AddOp>(deviation, 1e-9), n.dims(w)));
  n.out(n.g.cast(y, n.element(x)));
}

} // namespace lathe::onnx
