//===- Losses.cpp - Losses over class indices ------------------------------===//

#include "Node.h"

using namespace lathe;
using ir::CompareKind;
using ir::ReduceKind;

namespace lathe::onnx {

/// The loss of log probabilities x [N, C, d..] and targets [N, d..]: -x at the target, weighted, then reduced.
static Value lossOf(Node &n, Value x, Value target, Value weight) {
  n.requireRankAtLeast(x, 2);
  n.requireInteger(target);
  n.requireRank(target, n.rank(x) - 1);
  std::string reduction = n.text("reduction", "mean");
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    failWrong("attribute 'reduction' is '{0}', expected mean, sum or none", reduction);
  Dims dx = n.dims(x), dims = n.dims(target);
  for (size_t d = 0; d < dims.size(); ++d)
    n.requireEqual(dims[d], dx[d == 0 ? 0 : d + 1], "a dimension of the scores and of the targets");
  // One element per target: the class' coordinate from the targets, the others counted.
  Type i64 = n.g.b.getI64Type();
  llvm::SmallVector<Value> at;
  int64_t rank = dims.size();
  Value chosen = n.g.cast(target, i64);
  for (int64_t d = 0; d < rank; ++d) {
    at.push_back(n.g.unsqueeze(n.g.iota(dims, d, i64), {rank}));
    if (d == 0)
      at.push_back(n.g.unsqueeze(chosen, {rank}));
  }
  Value all = n.g.concat(at, rank);
  Value picked = n.g.b.createOrFold<ir::GatherNdOp>(n.g.loc, ir::tensorType(dims, n.element(x)), x, all, 0);
  Value loss = n.g.unary<ir::NegOp>(picked);
  Value factor = weight ? n.g.gather(weight, chosen, 0) : Value();
  if (n.hasAttribute("ignore_index")) {
    Value ignored = n.g.broadcastTo(n.constantInteger(n.integer("ignore_index", 0), i64), dims);
    Value isIgnored = n.g.compare(CompareKind::EQ, chosen, ignored);
    factor = factor ? factor : n.g.splatLike(1, loss);
    factor = n.g.select(isIgnored, n.g.splatLike(0, factor), factor);
    loss = n.g.select(isIgnored, n.g.splatLike(0, loss), loss);
  }
  loss = factor ? n.g.mul(loss, factor) : loss;
  if (reduction == "none")
    return loss;
  llvm::SmallVector<int64_t> axes;
  for (int64_t d = 0; d < rank; ++d)
    axes.push_back(d);
  Value sum = n.g.reduce(ReduceKind::Sum, loss, axes, false);
  if (reduction == "sum")
    return sum;
  return factor ? n.g.div(sum, n.g.reduce(ReduceKind::Sum, factor, axes, false)) : n.g.mean(loss, axes, false);
}

static Value weightOf(Node &n, Value x) {
  Value weight = n.maybe(2);
  if (!weight)
    return weight;
  n.requireRank(weight, 1);
  n.requireSameElement({n.in(0), weight});
  n.requireEqual(n.dim(weight, 0), n.dim(x, 1), "the number of weights and of classes");
  return n.g.cast(weight, n.element(x));
}

void negativeLogLikelihoodLoss(Node &n) {
  Value x = n.in(0);
  n.requireFloat(x);
  n.requireRankAtLeast(x, 2);
  Value w = n.wide(x);
  n.out(n.g.cast(lossOf(n, w, n.in(1), weightOf(n, w)), n.element(x)));
}

void softmaxCrossEntropyLoss(Node &n) {
  Value x = n.in(0);
  n.requireFloat(x);
  n.requireRankAtLeast(x, 2);
  Value w = n.wide(x);
  Dims dims = n.dims(w);
  Value shifted = n.g.sub(w, n.g.broadcastTo(n.g.reduce(ReduceKind::Max, w, {1}, true), dims));
  Value sum = n.g.reduce(ReduceKind::Sum, n.g.unary<ir::ExpOp>(shifted), {1}, true);
  Value logs = n.g.sub(shifted, n.g.broadcastTo(n.g.unary<ir::LogOp>(sum), dims));
  n.out(0, n.g.cast(lossOf(n, logs, n.in(1), weightOf(n, w)), n.element(x)));
  n.out(1, n.g.cast(logs, n.element(x)));
}

} // namespace lathe::onnx
