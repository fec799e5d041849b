//===- Loss.cpp - Losses and distances --------------------------------------===//

#include "Losses.h"
#include <cmath>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;
using loss::giveReduced;
using loss::normOf;
using loss::wideType;

static SmallVector<int64_t> allAxes(Value x) {
  SmallVector<int64_t> axes;
  for (int64_t d = 0; d < typeOf(x).getRank(); ++d)
    axes.push_back(d);
  return axes;
}

llvm::Error loss::giveReduced(OpContext &c, Value loss) {
  int64_t how = c.integer("reduction");
  if (how < 0 || how > 2)
    return c.wrong("the reduction {0}", how);
  if (how == 1)
    loss = c.g.mean(loss, allAxes(loss), false);
  else if (how == 2)
    loss = c.g.reduce(ReduceKind::Sum, loss, allAxes(loss), false);
  return c.give(c.g.cast(loss, c.resultElement()));
}

using Loss = Value (*)(OpContext &, Value, Value);
Type loss::wideType(OpContext &c) {
  Type t = c.resultElement();
  return t.isF16() || t.isBF16() ? Type(c.g.b.getF32Type()) : t;
}

/// Of each element and its target.
template <Loss loss> static llvm::Error pointwise(OpContext &c) {
  LATHE_TRY(xy, c.pair(c.operand("self"), c.operand("target"), wideType(c)));
  return giveReduced(c, loss(c, xy.first, xy.second));
}

static Value squared(OpContext &c, Value x, Value y) {
  Value d = c.g.sub(x, y);
  return c.g.mul(d, d);
}
static Value absolute(OpContext &c, Value x, Value y) { return c.g.unary<AbsOp>(c.g.sub(x, y)); }

/// Quadratic up to a distance, and linear from there on.
static Value smoothAbsolute(OpContext &c, Value x, Value y) {
  Value d = absolute(c, x, y);
  double beta = c.real("beta");
  if (beta == 0)
    return d;
  Value near = c.g.binary<DivOp>(c.g.binary<MulOp>(c.g.mul(d, d), 0.5), beta), far = c.g.binary<SubOp>(d, 0.5 * beta);
  return c.g.select(c.g.compare(CompareKind::LT, d, c.g.splatLike(beta, d)), near, far);
}
static Value huber(OpContext &c, Value x, Value y) {
  Value d = absolute(c, x, y);
  double delta = c.real("delta");
  Value near = c.g.binary<MulOp>(c.g.mul(d, d), 0.5), far = c.g.binary<MulOp>(c.g.binary<SubOp>(d, 0.5 * delta), delta);
  return c.g.select(c.g.compare(CompareKind::LE, d, c.g.splatLike(delta, d)), near, far);
}
static Value softMargin(OpContext &c, Value x, Value y) {
  return c.g.unary<Log1pOp>(c.g.unary<ExpOp>(c.g.unary<NegOp>(c.g.mul(x, y))));
}
static Value divergence(OpContext &c, Value x, Value y) {
  if (c.flag("log_target"))
    return c.g.mul(c.g.unary<ExpOp>(y), c.g.sub(y, x));
  Value zero = c.g.splatLike(0, y), entropy = c.g.mul(y, c.g.unary<LogOp>(y));
  return c.g.sub(c.g.select(c.g.compare(CompareKind::EQ, y, zero), zero, entropy), c.g.mul(y, x));
}
static Value hingeEmbedding(OpContext &c, Value x, Value y) {
  Value one = c.g.splatLike(1, x), zero = c.g.splatLike(0, x);
  Value apart = c.g.relu(c.g.sub(c.g.splatLike(c.real("margin"), x), x));
  Value same = c.g.select(c.g.compare(CompareKind::NE, y, c.g.unary<NegOp>(one)), x, zero);
  return c.g.add(same, c.g.select(c.g.compare(CompareKind::NE, y, one), apart, zero));
}

/// The weights, of the loss's type and dims; null where there are none.
static llvm::Expected<Value> weighted(OpContext &c, Value loss, const char *name) {
  Value w = c.tensor(name);
  if (!w)
    return loss;
  LATHE_TRY(wide, c.broadcastTo(c.g.cast(w, elementOf(loss)), dimsOf(loss)));
  return c.g.mul(loss, wide);
}

/// -(y log x + (1 - y) log(1 - x)), where no logarithm is below -100.
static llvm::Error binaryCrossEntropy(OpContext &c) {
  LATHE_TRY(xy, c.pair(c.operand("self"), c.operand("target"), wideType(c)));
  auto [x, y] = xy;
  Value one = c.g.splatLike(1, x);
  auto log = [&](Value v) { return c.g.binary<MaxOp>(c.g.unary<LogOp>(v), -100); };
  Value loss = c.g.sub(c.g.mul(c.g.sub(y, one), log(c.g.sub(one, x))), c.g.mul(y, log(x)));
  LATHE_TRY(all, weighted(c, loss, "weight"));
  return giveReduced(c, all);
}

/// (1 - y) x + (1 + (p - 1) y) log(1 + exp(-x))
static llvm::Error binaryCrossEntropyLogits(OpContext &c) {
  LATHE_TRY(xy, c.pair(c.operand("self"), c.operand("target"), wideType(c)));
  auto [x, y] = xy;
  Value one = c.g.splatLike(1, x), magnitude = c.g.unary<AbsOp>(x);
  Value tail = c.g.add(c.g.unary<Log1pOp>(c.g.unary<ExpOp>(c.g.unary<NegOp>(magnitude))), c.g.relu(c.g.unary<NegOp>(x)));
  if (Value p = c.tensor("pos_weight")) {
    LATHE_TRY(factor, c.broadcastTo(c.g.cast(p, elementOf(x)), dimsOf(x)));
    tail = c.g.mul(c.g.add(one, c.g.mul(c.g.sub(factor, one), y)), tail);
  }
  LATHE_TRY(all, weighted(c, c.g.add(c.g.mul(c.g.sub(one, y), x), tail), "weight"));
  return giveReduced(c, all);
}

static llvm::Error marginRanking(OpContext &c) {
  Type type = llvm::isa<mlir::IntegerType>(c.resultElement()) ? c.resultElement() : wideType(c); // bytes wrap around
  Value all[] = {c.g.cast(c.tensor("input1"), type), c.g.cast(c.tensor("input2"), type), c.g.cast(c.tensor("target"), type)};
  if (llvm::Error e = c.broadcast(all))
    return e;
  Value apart = c.g.mul(c.g.unary<NegOp>(all[2]), c.g.sub(all[0], all[1]));
  return giveReduced(c, c.g.relu(c.g.binary<AddOp>(apart, c.real("margin"))));
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

/// Minus the logarithm that each target picks along dimension 1 (0 of a vector), times the class's weight. The mean is over
/// the weights. Gives the loss, and the sum of weights.
static llvm::Error pickLogs(OpContext &c, Value logs, double smoothing) {
  Value target = c.tensor("target"), weight = c.tensor("weight");
  int64_t rank = typeOf(logs).getRank(), axis = rank == 1 ? 0 : 1;
  Type element = elementOf(logs);
  if (rank < 1 || !isIndex(target) || typeOf(target).getRank() != rank - 1)
    return c.cannot("targets of {0} for {1}", target.getType(), logs.getType());
  Dims dims = dimsOf(logs), picked = dims;
  picked.erase(picked.begin() + axis);
  LATHE_TRY(classes, c.broadcastTo(target, picked));
  Value ignored = c.g.compare(CompareKind::EQ, classes, c.g.splatLike(double(c.integer("ignore_index")), classes));
  classes = c.g.select(ignored, c.g.splatLike(0, classes), classes);
  Value zero = c.g.splat(0, picked, element);
  auto along = [&](Value v) {
    Dims shape(dims.size(), Expr(1));
    shape[axis] = dims[axis];
    return c.g.broadcastTo(c.g.reshape(c.g.cast(v, element), shape), dims);
  };
  Value weights = weight ? c.g.gather(c.g.cast(weight, element), classes, 0) : c.g.splat(1, picked, element);
  weights = c.g.select(ignored, zero, weights);
  Value at = c.g.squeeze(c.g.takeAlong(logs, c.g.cast(c.g.unsqueeze(classes, {axis}), c.g.b.getI64Type()), axis), {axis});
  Value loss = c.g.unary<NegOp>(c.g.mul(at, weights));
  if (smoothing != 0) {
    Value every = c.g.reduce(ReduceKind::Sum, weight ? c.g.mul(logs, along(weight)) : logs, {axis}, false);
    every = c.g.select(ignored, zero, c.g.unary<NegOp>(every));
    auto count = dims[axis].constant();
    if (!count)
      return c.cannot("label smoothing over {0} classes", dims[axis].str());
    loss = c.g.add(c.g.binary<MulOp>(loss, 1 - smoothing), c.g.binary<MulOp>(every, smoothing / double(*count)));
  }
  loss = c.g.select(ignored, zero, loss);
  int64_t how = c.integer("reduction");
  Value total = c.g.reduce(ReduceKind::Sum, weights, allAxes(weights), false);
  if (how != 0)
    loss = c.g.reduce(ReduceKind::Sum, loss, allAxes(loss), false);
  if (how == 1)
    loss = c.g.div(loss, total);
  (void)c.give(c.g.cast(loss, c.resultElement()));
  return c.give(c.resultTypes.size() > 1 ? c.g.cast(how == 0 ? c.g.scalar(0, element) : total, c.resultElement(1)) : Value());
}

static Value logSoftmax(OpContext &c, Value x, int64_t axis) {
  Value centered = c.g.sub(x, c.g.broadcastTo(c.g.reduce(ReduceKind::Max, x, {axis}, true), dimsOf(x)));
  Value sum = c.g.reduce(ReduceKind::Sum, c.g.unary<ExpOp>(centered), {axis}, true);
  return c.g.sub(centered, c.g.broadcastTo(c.g.unary<LogOp>(sum), dimsOf(x)));
}

static llvm::Error negativeLogs(OpContext &c) { return pickLogs(c, c.g.cast(c.tensor("self"), wideType(c)), 0); }

static llvm::Error crossEntropy(OpContext &c) {
  Value x = c.g.cast(c.tensor("self"), wideType(c)), target = c.tensor("target");
  int64_t axis = typeOf(x).getRank() == 1 ? 0 : 1;
  if (typeOf(x).getRank() < 1)
    return c.wrong("an input of {0}", x.getType());
  Value logs = logSoftmax(c, x, axis);
  if (!llvm::isa<mlir::FloatType>(elementOf(target)))
    return pickLogs(c, logs, c.real("label_smoothing"));
  // Targets are probabilities.
  LATHE_TRY(p, c.broadcastTo(c.g.cast(target, elementOf(x)), dimsOf(x)));
  double smoothing = c.real("label_smoothing");
  if (c.tensor("weight") || (smoothing != 0 && !dimsOf(x)[axis].constant()))
    return c.cannot("weights, or smoothing over an open number of classes, with probabilities");
  if (smoothing != 0)
    p = c.g.binary<AddOp>(c.g.binary<MulOp>(p, 1 - smoothing), smoothing / double(*dimsOf(x)[axis].constant()));
  Value loss = c.g.unary<NegOp>(c.g.reduce(ReduceKind::Sum, c.g.mul(logs, p), {axis}, false));
  return giveReduced(c, loss);
}

//===----------------------------------------------------------------------===//
// Distances
//===----------------------------------------------------------------------===//

Value loss::normOf(OpContext &c, Value d, double p) {
  int64_t last = typeOf(d).getRank() - 1;
  if (p == 2)
    return c.g.unary<SqrtOp>(c.g.reduce(ReduceKind::Sum, c.g.mul(d, d), {last}, false));
  if (std::isinf(p))
    return c.g.reduce(ReduceKind::Max, d, {last}, false);
  if (p == 0)
    return c.g.reduce(ReduceKind::Sum, c.g.cast(c.g.compare(CompareKind::NE, d, c.g.splatLike(0, d)), elementOf(d)), {last}, false);
  if (p == 1)
    return c.g.reduce(ReduceKind::Sum, d, {last}, false);
  return c.g.binary<PowOp>(c.g.reduce(ReduceKind::Sum, c.g.binary<PowOp>(d, p), {last}, false), 1 / p);
}

/// Between all rows of the one and all of the other.
static llvm::Error distances(OpContext &c) {
  Value x = c.tensor("x1"), y = c.tensor("x2");
  int64_t rank = typeOf(x).getRank();
  if (rank < 2 || typeOf(y).getRank() < 2 || !(c.real("p") >= 0))
    return c.wrong("distances of {0} and {1}", x.getType(), y.getType());
  Value both[] = {c.g.unsqueeze(x, {rank - 1}), c.g.unsqueeze(y, {typeOf(y).getRank() - 2})};
  if (llvm::Error e = c.broadcast(both))
    return e;
  return c.give(inFloat(c, c.g.unary<AbsOp>(c.g.sub(both[0], both[1])), [&](Value d) { return normOf(c, d, c.real("p")); }));
}

/// Between all pairs of rows, the upper triangle in its order.
static llvm::Error pairDistances(OpContext &c) {
  Value x = c.tensor("self");
  auto n = typeOf(x).getRank() == 2 ? dimsOf(x)[0].constant() : std::nullopt;
  if (!n || *n > 2048)
    return c.cannot("distances among {0}", x.getType());
  SmallVector<int64_t> first, second;
  for (int64_t i = 0; i < *n; ++i)
    for (int64_t j = i + 1; j < *n; ++j) {
      first.push_back(i);
      second.push_back(j);
    }
  if (first.empty())
    return c.give(c.g.splat(0, {Expr(0)}, elementOf(x)));
  Value d = c.g.sub(c.g.gather(x, c.g.integers(first), 0), c.g.gather(x, c.g.integers(second), 0));
  return c.give(inFloat(c, c.g.unary<AbsOp>(d), [&](Value v) { return normOf(c, v, c.real("p")); }));
}

static llvm::Error rowDistance(OpContext &c) {
  LATHE_TRY(xy, c.pair(c.operand("x1"), c.operand("x2"), wideType(c)));
  if (typeOf(xy.first).getRank() == 0)
    return c.wrong("the inputs have rank 0");
  Value d = c.g.unary<AbsOp>(c.g.binary<AddOp>(c.g.sub(xy.first, xy.second), c.real("eps")));
  Value r = c.g.cast(normOf(c, d, c.real("p")), c.resultElement());
  return c.give(c.flag("keepdim") ? c.g.unsqueeze(r, {typeOf(r).getRank()}) : r);
}

/// x . y / (|x| |y|), where no length is below eps.
static llvm::Error cosineSimilarity(OpContext &c) {
  LATHE_TRY(xy, c.pair(c.operand("x1"), c.operand("x2"), wideType(c)));
  LATHE_TRY(axis, c.axis("dim", xy.first));
  if (typeOf(xy.first).getRank() == 0)
    return c.cannot("inputs of rank 0");
  auto scaled = [&](Value v) {
    Value length = c.g.unary<SqrtOp>(c.g.reduce(ReduceKind::Sum, c.g.mul(v, v), {axis}, true));
    return c.g.div(v, c.g.broadcastTo(c.g.binary<MaxOp>(length, c.real("eps")), dimsOf(v)));
  };
  Value sum = c.g.reduce(ReduceKind::Sum, c.g.mul(scaled(xy.first), scaled(xy.second)), {axis}, false);
  return c.give(c.g.cast(sum, c.resultElement()));
}

static llvm::Error distance(OpContext &c) {
  LATHE_TRY(xy, c.pair(c.operand("self"), c.operand("other"), wideType(c)));
  Value d = c.g.unary<AbsOp>(c.g.sub(xy.first, xy.second));
  Value flat = flattened(c, d);
  return c.give(c.g.cast(normOf(c, flat, c.real("p")), c.resultElement()));
}

llvm::ArrayRef<OpEntry> fx::lossOps() {
  static const char *const plain = "self:T target:T reduction:I=1";
  static const char *const classes = "self:T target:T weight:T? reduction:I=1 ignore_index:I=-100";
  static const OpEntry table[] = {
      {"mse_loss.default", plain, pointwise<squared>},
      {"l1_loss.default", plain, pointwise<absolute>},
      {"smooth_l1_loss.default", "self:T target:T reduction:I=1 beta:F=1", pointwise<smoothAbsolute>},
      {"huber_loss.default", "self:T target:T reduction:I=1 delta:F=1", pointwise<huber>},
      {"soft_margin_loss.default", plain, pointwise<softMargin>},
      {"kl_div.default", "self:T target:T reduction:I=1 log_target:B=false", pointwise<divergence>},
      {"hinge_embedding_loss.default", "self:T target:T margin:F=1 reduction:I=1", pointwise<hingeEmbedding>},
      {"margin_ranking_loss.default", "input1:T input2:T target:T margin:F=0 reduction:I=1", marginRanking},
      {"binary_cross_entropy.default", "self:T target:T weight:T? reduction:I=1", binaryCrossEntropy},
      {"binary_cross_entropy_with_logits.default", "self:T target:T weight:T? pos_weight:T? reduction:I=1", binaryCrossEntropyLogits},
      {"nll_loss.default", classes, negativeLogs},
      {"nll_loss_nd.default", classes, negativeLogs},
      {"nll_loss2d.default", classes, negativeLogs},
      {"nll_loss_forward.default", classes, negativeLogs},
      {"nll_loss2d_forward.default", classes, negativeLogs},
      {"cross_entropy_loss.default", "self:T target:T weight:T? reduction:I=1 ignore_index:I=-100 label_smoothing:F=0", crossEntropy},
      {"cdist.default", "x1:T x2:T p:F=2 compute_mode:I?", distances},
      {"_cdist_forward.default", "x1:T x2:T p:F compute_mode:I?", distances},
      {"pdist.default", "self:T p:F=2", pairDistances},
      {"_pdist_forward.default", "self:T p:F=2", pairDistances},
      {"pairwise_distance.default", "x1:T x2:T p:F=2 eps:F=1e-06 keepdim:B=false", rowDistance},
      {"cosine_similarity.default", "x1:T x2:T dim:I=1 eps:F=1e-08", cosineSimilarity},
      {"dist.default", "self:T other:T p:F=2", distance},
  };
  return table;
}
