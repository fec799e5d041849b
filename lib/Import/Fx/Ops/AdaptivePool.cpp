//===- AdaptivePool.cpp - Pooling to a given size ---------------------------===//
//
// Window i of `out` over n elements goes from floor(i * n / out) up to ceil((i + 1) * n / out).
//
//===----------------------------------------------------------------------===//

#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

/// The output sizes of as many of the last dimensions as the operator's name says; None keeps one.
static llvm::Expected<Dims> sizesFor(OpContext &c, Value x) {
  const std::string &name = c.node.target;
  size_t spatial = name.find("1d") != std::string::npos ? 1 : name.find("3d") != std::string::npos ? 3 : 2;
  Dims dims = dimsOf(x), result = c.resultDims();
  if (dims.size() < spatial + 1 || result.size() != dims.size())
    return c.wrong("a result of rank {0} from {1}", result.size(), x.getType());
  Dims want(result.end() - spatial, result.end());
  for (auto [d, e] : llvm::enumerate(want)) {
    if (e.isZero())
      return c.cannot("an empty result");
    if (llvm::Error error = c.need(Condition::compare(Condition::Kind::Less, Expr(0), dims[dims.size() - spatial + d])))
      return std::move(error);
  }
  return want;
}

namespace {
/// The first place of each window, and the one behind its last, broadcast over [.., out, ..].
struct Edges {
  Value start, end;
};
} // namespace

static Edges edgesOf(OpContext &c, const Expr &n, const Expr &out, llvm::ArrayRef<Expr> dims, int64_t axis) {
  auto number = [&](const Expr &e) { return c.g.broadcastTo(c.g.size(c.g.facts.simplify(e)), dims); };
  Value i = c.g.iota(dims, axis, c.g.b.getI64Type()), size = number(n), count = number(out);
  Value start = c.g.binary<DivOp>(c.g.mul(i, size), count);
  Value end = c.g.binary<DivOp>(c.g.add(c.g.mul(c.g.binary<AddOp>(i, 1), size), number(out - Expr(1))), count);
  return {start, end};
}

/// Along one dimension, a product with the matrix of the windows' weights.
static Value averageAlong(OpContext &c, Value x, int64_t axis, const Expr &out) {
  Expr n = dimsOf(x)[axis];
  Dims table{n, out};
  Edges edges = edgesOf(c, n, out, table, 1);
  Value at = c.g.iota(table, 0, c.g.b.getI64Type());
  Value inside = c.g.binary<AndOp>(c.g.compare(CompareKind::GE, at, edges.start), c.g.compare(CompareKind::LT, at, edges.end));
  Value length = c.g.cast(c.g.sub(edges.end, edges.start), elementOf(x));
  Value weights = c.g.div(c.g.cast(inside, elementOf(x)), length);
  Value y = c.g.contract(x, weights, {}, {}, {axis}, {0});
  SmallVector<int64_t> perm;
  for (int64_t d = 0; d + 1 < typeOf(x).getRank(); ++d)
    perm.push_back(d);
  perm.insert(perm.begin() + axis, typeOf(x).getRank() - 1);
  return c.g.transpose(y, perm);
}

/// Windows of one size are a dimension of their own, which is averaged over.
static llvm::Error adaptiveAverage(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(want, sizesFor(c, x));
  if (!llvm::isa<mlir::FloatType>(elementOf(x)))
    return c.wrong("an input of {0}", x.getType());
  Dims dims = dimsOf(x), split(dims.begin(), dims.end() - want.size());
  SmallVector<int64_t> axes, uneven;
  for (size_t i = 0; i < want.size(); ++i) {
    size_t d = dims.size() - want.size() + i;
    auto window = Expr::divideExactly(dims[d], want[i]);
    if (!window)
      uneven.push_back(d);
    split.push_back(window ? want[i] : dims[d]);
    if (window) {
      axes.push_back(split.size());
      split.push_back(*window);
      dims[d] = want[i];
    }
  }
  return c.give(inFloat(c, x, [&](Value v) {
    Value y = c.g.reshape(axes.empty() ? v : c.g.mean(c.g.reshape(v, split), axes, false), dims);
    for (int64_t d : uneven)
      y = averageAlong(c, y, d, c.resultDims()[d]);
    return y;
  }));
}

/// The windows of one dimension as two: which, and its elements; the last ones are repeated where it has fewer than others.
static std::pair<Value, Value> windowsAlong(OpContext &c, Value x, int64_t axis, const Expr &out) {
  Expr n = dimsOf(x)[axis], longest = c.g.facts.simplify(Expr::ceildiv(n, out) + Expr(Expr::divideExactly(n, out) ? 0 : 1));
  Dims table{out, longest};
  Edges edges = edgesOf(c, n, out, table, 0);
  Value at = c.g.add(edges.start, c.g.iota(table, 1, c.g.b.getI64Type()));
  at = c.g.binary<MinOp>(at, c.g.binary<SubOp>(edges.end, 1));
  return {c.g.gather(x, at, axis), at};
}

/// The maxima, and where the first of each window is in the plane.
static llvm::Error adaptiveMaximum(OpContext &c) {
  Value x = c.tensor("self"), y = x;
  LATHE_TRY(want, sizesFor(c, x));
  int64_t rank = typeOf(x).getRank(), spatial = want.size(), lead = rank - spatial;
  SmallVector<std::pair<Value, int64_t>> places; // and the dimension of y where they begin
  SmallVector<int64_t> axes;
  for (int64_t i = spatial - 1; i >= 0; --i) {
    auto [windows, at] = windowsAlong(c, y, lead + i, want[i]);
    y = windows;
    places.insert(places.begin(), {at, 0});
  }
  for (int64_t i = 0; i < spatial; ++i) {
    places[i].second = lead + 2 * i;
    axes.push_back(lead + 2 * i + 1);
  }
  Value most = c.g.reduce(ReduceKind::Max, y, axes, true);
  (void)c.give(c.g.squeeze(most, axes));
  if (c.resultTypes.size() < 2 || !c.asked(1))
    return llvm::Error::success();
  Dims dims = dimsOf(y);
  Type i64 = c.g.b.getI64Type();
  Value place = c.g.splat(0, dims, i64), count = c.g.broadcastTo(c.g.size(c.g.facts.simplify(shape::product(dimsOf(x)))), dims);
  for (auto [i, pair] : llvm::enumerate(places)) {
    Dims along(dims.size(), Expr(1));
    along[pair.second] = dims[pair.second];
    along[pair.second + 1] = dims[pair.second + 1];
    Value size = c.g.broadcastTo(c.g.size(dimsOf(x)[lead + i]), dims);
    place = c.g.add(c.g.mul(place, size), c.g.broadcastTo(c.g.reshape(pair.first, along), dims));
  }
  Value hit = c.g.compare(CompareKind::EQ, y, c.g.broadcastTo(most, dims));
  if (llvm::isa<mlir::FloatType>(elementOf(y)))
    hit = c.g.binary<OrOp>(hit, c.g.compare(CompareKind::NE, y, y));
  return c.give(c.g.reduce(ReduceKind::Min, c.g.select(hit, place, count), axes, false));
}

llvm::ArrayRef<OpEntry> fx::adaptivePoolOps() {
  static const char *const sized = "self:T output_size:N*";
  static const OpEntry table[] = {
      {"adaptive_avg_pool1d.default", sized, adaptiveAverage},
      {"adaptive_avg_pool2d.default", sized, adaptiveAverage},
      {"adaptive_avg_pool3d.default", sized, adaptiveAverage},
      {"_adaptive_avg_pool2d.default", sized, adaptiveAverage},
      {"_adaptive_avg_pool3d.default", sized, adaptiveAverage},
      {"adaptive_max_pool1d.default", sized, adaptiveMaximum},
      {"adaptive_max_pool2d.default", sized, adaptiveMaximum},
      {"adaptive_max_pool3d.default", sized, adaptiveMaximum},
  };
  return table;
}
