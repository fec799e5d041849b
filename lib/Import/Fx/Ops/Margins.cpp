//===- Margins.cpp - Losses of margins, and Poisson's -------------------------===//

#include "Losses.h"
#include <cmath>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;
using loss::giveReduced;
using loss::wideType;

static Value is(OpContext &c, CompareKind kind, Value x, double y) { return c.g.compare(kind, x, c.g.splatLike(y, x)); }

/// 1 - cos of what belongs together (target 1), and the cosine above the margin of what does not (-1).
static llvm::Error cosineEmbedding(OpContext &c) {
  Type type = wideType(c);
  Value both[] = {c.g.cast(c.tensor("input1"), type), c.g.cast(c.tensor("input2"), type)},
        target = c.g.cast(c.tensor("target"), type);
  if (llvm::Error e = c.broadcast(both))
    return e;
  int64_t axis = typeOf(target).getRank();
  if (axis > 1 || typeOf(both[0]).getRank() != axis + 1)
    return c.wrong("targets of {0} for {1}", target.getType(), both[0].getType());
  auto sum = [&](Value x, Value y) { return c.g.reduce(ReduceKind::Sum, c.g.mul(x, y), {axis}, false); };
  auto size = [&](Value x) { return c.g.binary<AddOp>(sum(x, x), 1e-12); };
  Value cosine = c.g.div(sum(both[0], both[1]), c.g.unary<SqrtOp>(c.g.mul(size(both[0]), size(both[1]))));
  Value all[] = {cosine, target};
  if (llvm::Error e = c.broadcast(all))
    return e;
  Value zero = c.g.splatLike(0, all[0]), together = c.g.sub(c.g.splatLike(1, all[0]), all[0]);
  Value apart = c.g.relu(c.g.binary<SubOp>(all[0], c.real("margin")));
  Value loss = c.g.select(is(c, CompareKind::EQ, all[1], -1), apart, zero);
  return giveReduced(c, c.g.select(is(c, CompareKind::EQ, all[1], 1), together, loss));
}

/// How much farther the negative is than the positive, less than the margin.
static llvm::Error tripletMargin(OpContext &c) {
  Type type = wideType(c);
  Value anchor = c.g.cast(c.tensor("anchor"), type), positive = c.g.cast(c.tensor("positive"), type),
        negative = c.g.cast(c.tensor("negative"), type);
  auto apart = [&](Value x, Value y) -> llvm::Expected<Value> {
    Value both[] = {x, y};
    if (llvm::Error e = c.broadcast(both))
      return std::move(e);
    if (typeOf(both[0]).getRank() == 0)
      return c.wrong("the inputs have rank 0");
    return loss::normOf(c, c.g.unary<AbsOp>(c.g.binary<AddOp>(c.g.sub(both[0], both[1]), c.real("eps"))), c.real("p"));
  };
  LATHE_TRY(near, apart(anchor, positive));
  LATHE_TRY(far, apart(anchor, negative));
  if (c.flag("swap")) {
    LATHE_TRY(other, apart(positive, negative));
    far = c.g.binary<MinOp>(far, other);
  }
  Value both[] = {near, far};
  if (llvm::Error e = c.broadcast(both))
    return e;
  return giveReduced(c, c.g.relu(c.g.binary<AddOp>(c.g.sub(both[0], both[1]), c.real("margin"))));
}

/// "full" adds Stirling's approximation of log(target!).
static llvm::Error poisson(OpContext &c) {
  LATHE_TRY(xy, c.pair(c.operand("input"), c.operand("target"), wideType(c)));
  auto [x, y] = xy;
  Value loss = c.flag("log_input") ? c.g.sub(c.g.unary<ExpOp>(x), c.g.mul(y, x))
                                   : c.g.sub(x, c.g.mul(y, c.g.unary<LogOp>(c.g.binary<AddOp>(x, c.real("eps")))));
  if (c.flag("full")) {
    Value log = c.g.unary<LogOp>(y), tail = c.g.binary<MulOp>(c.g.unary<LogOp>(c.g.binary<MulOp>(y, 2 * M_PI)), 0.5);
    Value more = c.g.add(c.g.sub(c.g.mul(y, log), y), tail);
    loss = c.g.add(loss, c.g.select(is(c, CompareKind::GT, y, 1), more, c.g.splatLike(0, y)));
  }
  return giveReduced(c, loss);
}

/// As rows of classes; a single one is a row.
static Value rowsOf(OpContext &c, Value x, int64_t rank) {
  while (typeOf(x).getRank() < rank)
    x = c.g.unsqueeze(x, {0});
  return x;
}

/// The mean over the classes of how much each comes closer to the target's than the margin, to the power p.
static llvm::Error multiMargin(OpContext &c) {
  Value given = c.tensor("self"), x = rowsOf(c, c.g.cast(given, wideType(c)), 2),
        target = rowsOf(c, c.tensor("target"), 1);
  double p = c.real("p");
  if (typeOf(x).getRank() != 2 || typeOf(target).getRank() != 1 || !isIndex(target) || (p != 1 && p != 2))
    return c.wrong("targets of {0} for {1}, p = {2}", target.getType(), given.getType(), p);
  Dims dims = dimsOf(x);
  if (llvm::Error e = c.needEqual(dims[0], dimsOf(target)[0]))
    return e;
  Value column = c.g.cast(c.g.unsqueeze(target, {1}), c.g.b.getI64Type());
  Value at = c.g.broadcastTo(c.g.takeAlong(x, column, 1), dims);
  Value close = c.g.relu(c.g.binary<AddOp>(c.g.sub(x, at), c.real("margin")));
  if (p == 2)
    close = c.g.mul(close, close);
  if (Value weight = c.tensor("weight"))
    close = c.g.mul(close,
                    c.g.broadcastTo(c.g.unsqueeze(c.g.gather(c.g.cast(weight, elementOf(x)), target, 0), {1}), dims));
  Value own = c.g.compare(CompareKind::EQ, c.g.iota(dims, 1, c.g.b.getI64Type()), c.g.broadcastTo(column, dims));
  Value loss = c.g.mean(c.g.select(own, c.g.splatLike(0, close), close), {1}, false);
  return giveReduced(c, typeOf(given).getRank() < 2 ? c.g.squeeze(loss, {0}) : loss);
}

/// The targets of a row end before the first -1. The mean over the classes of how much those that are none come closer
/// to each that is one than 1.
static llvm::Error multilabelMargin(OpContext &c) {
  Value given = c.tensor("self"), x = rowsOf(c, c.g.cast(given, wideType(c)), 2);
  Value target = rowsOf(c, c.g.cast(c.tensor("target"), c.g.b.getI64Type()), 2);
  if (typeOf(x).getRank() != 2 || typeOf(target).getRank() != 2)
    return c.wrong("targets of {0} for {1}", target.getType(), given.getType());
  Dims dims = dimsOf(x), cube{dims[0], dims[1], dims[1]}; // row, target, class
  for (int64_t d : {0, 1})
    if (llvm::Error e = c.needEqual(dims[d], dimsOf(target)[d]))
      return e;
  Value valid = c.g.compare(CompareKind::GE, c.g.scan(ScanKind::Min, target, 1), c.g.splatLike(0, target));
  Value label = c.g.broadcastTo(c.g.unsqueeze(target, {2}), cube),
        counts = c.g.broadcastTo(c.g.unsqueeze(valid, {2}), cube);
  Value same = c.g.binary<AndOp>(counts, c.g.compare(CompareKind::EQ, label, c.g.iota(cube, 2, c.g.b.getI64Type())));
  Value isTarget = c.g.reduce(ReduceKind::Or, same, {1}, false);
  Value at = c.g.takeAlong(x, c.g.binary<MaxOp>(target, 0.0), 1);
  Value gap = c.g.sub(c.g.broadcastTo(c.g.unsqueeze(x, {1}), cube), c.g.broadcastTo(c.g.unsqueeze(at, {2}), cube));
  Value close = c.g.relu(c.g.binary<AddOp>(gap, 1));
  Value counted = c.g.binary<AndOp>(counts, c.g.unary<NotOp>(c.g.broadcastTo(c.g.unsqueeze(isTarget, {1}), cube)));
  Value sum = c.g.reduce(ReduceKind::Sum, c.g.select(counted, close, c.g.splatLike(0, close)), {1, 2}, false);
  Value loss = c.g.div(sum, c.g.broadcastTo(c.g.cast(c.g.size(dims[1]), elementOf(sum)), dimsOf(sum)));
  bool single = typeOf(given).getRank() < 2;
  if (llvm::Error e = giveReduced(c, single ? c.g.squeeze(loss, {0}) : loss))
    return e;
  if (c.resultTypes.size() < 2)
    return llvm::Error::success();
  return c.give(c.g.reshape(c.g.cast(isTarget, elementOf(x)), dimsOf(c.tensor("target"))));
}

llvm::ArrayRef<OpEntry> fx::marginOps() {
  static const OpEntry table[] = {
      {"cosine_embedding_loss.default", "input1:T input2:T target:T margin:F=0 reduction:I=1", cosineEmbedding},
      {"triplet_margin_loss.default",
       "anchor:T positive:T negative:T margin:F=1 p:F=2 eps:F=1e-06 swap:B=false reduction:I=1", tripletMargin},
      {"poisson_nll_loss.default", "input:T target:T log_input:B full:B eps:F reduction:I", poisson},
      {"multi_margin_loss.default", "self:T target:T p:S=1 margin:S=1 weight:T? reduction:I=1", multiMargin},
      {"multilabel_margin_loss.default", "self:T target:T reduction:I=1", multilabelMargin},
      {"multilabel_margin_loss_forward.default", "self:T target:T reduction:I", multilabelMargin},
  };
  return table;
}
