//===- Bag.cpp - Sums of rows by group --------------------------------------===//

#include "Linalg.h"
#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include "lathe/Dialect/Lathe/Scatter.h"
#include <limits>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

/// For each position of a list, the number of the group that it is in, by the places where groups begin.
static Value groupNumbers(OpContext &c, Value begins, const Expr &count) {
  Type i64 = c.g.b.getI64Type();
  Dims room{c.g.facts.simplify(count + Expr(1))}; // a group that begins at the end is empty
  Value marks = scatterAlong(c.g, ScatterKind::Add, c.g.splat(0, room, i64), c.g.cast(begins, i64), c.g.splat(1, dimsOf(begins), i64), 0);
  return c.g.binary<SubOp>(c.g.slice(c.g.scan(ScanKind::Sum, marks, 0), 0, Expr(0), count), 1);
}

namespace {
/// Of each bag: the sum or the largest of its rows, and how many of them count.
struct Sums {
  Value rows, counts;
};
} // namespace

static double startOf(bool largest) { return largest ? -std::numeric_limits<double>::infinity() : 0; }

/// How many rows each bag has, where all have as many and the places say so: bags that are the rows of a matrix.
static std::optional<int64_t> rowsOfEach(OpContext &c, Value offsets, const Expr &bags, const Expr &count) {
  Value i = offsets;
  int64_t step = 1;
  if (auto product = i.getDefiningOp<MulOp>()) {
    std::optional<double> factor = splatValue(product.getOperand(1));
    if (!factor || *factor < 1 || *factor >= 0x1p53)
      return std::nullopt;
    step = int64_t(*factor);
    i = product.getOperand(0);
  }
  bool even = i.getDefiningOp<IotaOp>() && c.g.facts.provablyEqual(bags * Expr(step), count) &&
              c.g.facts.provablyEqual(dimsOf(offsets)[0], bags);
  return even ? std::optional<int64_t>(step) : std::nullopt;
}

static Sums evenSums(OpContext &c, Value rows, int64_t each, Value padded, const Expr &bags, bool largest) {
  Dims flat = dimsOf(rows);
  Type element = elementOf(rows);
  Value counts = c.g.splat(1, {bags, Expr(each)}, element);
  if (padded) {
    rows = c.g.select(c.g.broadcastTo(c.g.unsqueeze(padded, {1}), flat), c.g.splatLike(startOf(largest), rows), rows);
    Value member = c.g.reshape(padded, {bags, Expr(each)});
    counts = c.g.select(member, c.g.splatLike(0, counts), counts);
  }
  rows = c.g.reshape(rows, {bags, Expr(each), flat[1]});
  return {c.g.reduce(largest ? ReduceKind::Max : ReduceKind::Sum, rows, {1}, false), c.g.reduce(ReduceKind::Sum, counts, {1}, false)};
}

static Sums sumsByGroup(OpContext &c, Value rows, Value group, Value padded, const Expr &bags, bool largest) {
  Dims flat = dimsOf(rows);
  Type element = elementOf(rows);
  if (padded)
    group = c.g.select(padded, c.g.broadcastTo(c.g.size(bags), {flat[0]}), group);
  Value counts = scatterAlong(c.g, ScatterKind::Add, c.g.splat(0, {bags}, element), group, c.g.splat(1, {flat[0]}, element), 0);
  Value at = c.g.broadcastTo(c.g.unsqueeze(group, {1}), flat), start = c.g.splat(startOf(largest), {bags, flat[1]}, element);
  return {scatterAlong(c.g, largest ? ScatterKind::Max : ScatterKind::Add, start, at, rows, 0), counts};
}

/// Sums, means or maxima of a table's rows. Rows of the index `padding_idx` do not count.
static llvm::Error embeddingBag(OpContext &c) {
  Value table = c.tensor("weight"), indices = c.tensor("indices"), offsets = c.tensor("offsets"), weights = c.tensor("per_sample_weights");
  int64_t mode = c.integer("mode"), padding = c.integer("padding_idx");
  if (typeOf(table).getRank() != 2 || typeOf(indices).getRank() != 1 || typeOf(offsets).getRank() != 1 || !isIndex(indices) ||
      !isIndex(offsets) || mode < 0 || mode > 2 || (weights && mode != 0) || c.resultDims().size() != 2)
    return c.cannot("bags of {0} by {1} and {2}, mode {3}", table.getType(), indices.getType(), offsets.getType(), mode);
  Expr count = dimsOf(indices)[0], bags = c.resultDims()[0];
  if (c.flag("include_last_offset"))
    offsets = c.g.slice(offsets, 0, Expr(0), bags);
  Type element = elementOf(table), wide = element.isF16() || element.isBF16() ? Type(c.g.b.getF32Type()) : element;
  Value rows = c.g.cast(c.g.gather(table, indices, 0), wide);
  if (weights)
    rows = c.g.mul(rows, c.g.broadcastTo(c.g.unsqueeze(c.g.cast(weights, wide), {1}), dimsOf(rows)));
  Value padded = c.has("padding_idx") && padding >= 0
                     ? c.g.compare(CompareKind::EQ, indices, c.g.splatLike(double(padding), indices))
                     : Value();
  std::optional<int64_t> each = rowsOfEach(c, offsets, bags, count);
  Sums sums = each ? evenSums(c, rows, *each, padded, bags, mode == 2)
                   : sumsByGroup(c, rows, groupNumbers(c, offsets, count), padded, bags, mode == 2);
  Value r = sums.rows, counts = c.g.broadcastTo(c.g.unsqueeze(sums.counts, {1}), dimsOf(r));
  if (mode == 1)
    r = c.g.div(r, c.g.binary<MaxOp>(counts, 1));
  if (mode == 2)
    r = c.g.select(c.g.compare(CompareKind::EQ, counts, c.g.splatLike(0, counts)), c.g.splatLike(0, r), r);
  return c.give(c.g.cast(r, element));
}

//===----------------------------------------------------------------------===//
// Products by group
//===----------------------------------------------------------------------===//

/// Rows of x [T, K] in consecutive groups, each times a matrix of its own of [G, K, N]; `ends` are where the groups end. One product
/// over groups and K, of rows that are zero in other groups.
static llvm::Expected<Value> byGroup(OpContext &c, Value x, Value matrices, Value ends) {
  if (typeOf(x).getRank() != 2 || typeOf(matrices).getRank() != 3 || typeOf(ends).getRank() != 1 || !isIndex(ends))
    return c.cannot("a grouped product of {0} and {1} by {2}", x.getType(), matrices.getType(), ends.getType());
  Dims rows = dimsOf(x), stack = dimsOf(matrices);
  if (llvm::Error e = c.needEqual(rows[1], stack[1]))
    return std::move(e);
  if (llvm::Error e = c.needEqual(dimsOf(ends)[0], stack[0]))
    return std::move(e);
  Type i64 = c.g.b.getI64Type();
  Dims member{rows[0], stack[0]}, wide{rows[0], stack[0], rows[1]};
  Value end = c.g.cast(ends, i64), place = c.g.iota(member, 0, i64);
  Value before = c.g.concat({c.g.integers({0}), c.g.slice(end, 0, Expr(0), c.g.facts.simplify(stack[0] - Expr(1)))}, 0);
  auto along = [&](Value v) { return c.g.broadcastTo(c.g.unsqueeze(v, {0}), member); };
  Value in = c.g.binary<AndOp>(c.g.compare(CompareKind::GE, place, along(before)), c.g.compare(CompareKind::LT, place, along(end)));
  Value spread = c.g.broadcastTo(c.g.unsqueeze(x, {1}), wide);
  spread = c.g.select(c.g.broadcastTo(c.g.unsqueeze(in, {2}), wide), spread, c.g.splatLike(0, spread));
  return c.g.contract(spread, matrices, {}, {}, {1, 2}, {0, 1});
}

static llvm::Error groupedProduct(OpContext &c) {
  Value offs = c.tensor("offs");
  if (!offs || c.tensor("bias"))
    return c.cannot("a grouped product without places, or with a bias");
  LATHE_TRY(r, byGroup(c, c.tensor(c.has("input") ? "input" : "self"), c.tensor(c.has("weight") ? "weight" : "mat2"), offs));
  return c.give(c.g.cast(r, c.resultElement()));
}

/// v * (g / |v|), the length over all dimensions but one.
static llvm::Error weightNorm(OpContext &c) {
  Value v = c.tensor("v"), scale = c.tensor("g");
  LATHE_TRY(axis, c.axis("dim", v));
  SmallVector<int64_t> axes;
  for (int64_t d = 0; d < typeOf(v).getRank(); ++d)
    if (d != axis)
      axes.push_back(d);
  Value square = c.g.mul(v, v), length = c.g.unary<SqrtOp>(axes.empty() ? square : c.g.reduce(ReduceKind::Sum, square, axes, true));
  LATHE_TRY(factor, c.broadcastTo(scale, dimsOf(length)));
  (void)c.give(c.g.mul(v, c.g.broadcastTo(c.g.div(factor, length), dimsOf(v))));
  return c.give(length);
}

/// Rows that are looked up and longer than allowed are shortened to that.
static llvm::Error renormalized(OpContext &c) {
  Value table = c.tensor("self"), ids = c.tensor("indices");
  if (typeOf(table).getRank() != 2 || !isIndex(ids) || !llvm::isa<mlir::FloatType>(elementOf(table)))
    return c.wrong("{0} at {1}", table.getType(), ids.getType());
  Dims rows{dimsOf(table)[0]};
  Expr count = c.g.facts.simplify(shape::product(dimsOf(ids)));
  Type i64 = c.g.b.getI64Type();
  Value at = c.g.reshape(c.g.cast(ids, i64), {count});
  Value read = c.g.cast(scatterAlong(c.g, ScatterKind::Set, c.g.splat(0, rows, i64), at, c.g.splat(1, {count}, i64), 0), c.g.b.getI1Type());
  Value length = linalg::vectorNorm(c, table, {1}, false, c.real("norm_type"));
  double most = c.real("max_norm");
  Value longer = c.g.binary<AndOp>(read, c.g.compare(CompareKind::GT, length, c.g.splatLike(most, length)));
  Value factor = c.g.select(longer, c.g.div(c.g.splatLike(most, length), c.g.binary<AddOp>(length, 1e-7)), c.g.splatLike(1, length));
  return c.give(c.g.mul(table, c.g.broadcastTo(c.g.unsqueeze(factor, {1}), dimsOf(table))));
}

llvm::ArrayRef<OpEntry> fx::bagOps() {
  static const char *const bag = "weight:T indices:T offsets:T scale_grad_by_freq:B=false mode:I=0 sparse:B=false per_sample_weights:T? "
                                 "include_last_offset:B=false padding_idx:I?";
  static const OpEntry table[] = {
      {"embedding_bag.default", bag, embeddingBag},
      {"embedding_bag.padding_idx", bag, embeddingBag},
      {"_embedding_bag.default", bag, embeddingBag},
      {"_embedding_bag_forward_only.default", bag, embeddingBag},
      {"embedding_renorm.default", "self:T indices:T max_norm:F norm_type:F", renormalized},
      {"_grouped_mm.default", "self:T mat2:T offs:T? bias:T? out_dtype:D?", groupedProduct},
      {"transformers.grouped_mm_fallback.default", "input:T weight:T offs:T bias:T?", groupedProduct},
      {"_weight_norm.default", "v:T g:T dim:I=0", weightNorm},
      {"_weight_norm_interface.default", "v:T g:T dim:I=0", weightNorm},
  };
  return table;
}
