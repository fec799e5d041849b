//===- Attention.cpp - Scaled dot-product attention -------------------------===//

#include "Families.h"
#include <cmath>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

namespace {
struct Attention {
  Value q, k, v, mask;
  bool causal, grouped;
  double scale;
};
} // namespace

/// Dimensions in front of the heads become one batch; they are the same of query, key and value.
static llvm::Error mergeBatches(OpContext &c, Attention &a) {
  Dims lead = dimsOf(a.q);
  lead.truncate(lead.size() - 3);
  for (Value *x : {&a.q, &a.k, &a.v, &a.mask}) {
    if (!*x || (x == &a.mask && typeOf(*x).getRank() < 4)) // that of each
      continue;
    Dims dims = dimsOf(*x);
    if (x == &a.mask) {
      Dims wide = lead;
      wide.append(dims.end() - 3, dims.end());
      LATHE_TRY(whole, c.broadcastTo(*x, wide));
      *x = whole;
      dims = wide;
    }
    for (auto [d, size] : llvm::enumerate(lead))
      if (llvm::Error e = c.needEqual(dims[d], size))
        return e;
    Dims merged{c.g.facts.simplify(shape::product(lead))};
    merged.append(dims.end() - 3, dims.end());
    *x = c.g.reshape(*x, merged);
  }
  return llvm::Error::success();
}

/// Checks types and ranks, and brings everything to [B, H, length, width].
static llvm::Expected<Attention> readAttention(OpContext &c) {
  Attention a{c.tensor("query"), c.tensor("key"), c.tensor("value"), c.tensor("attn_mask"), c.flag("is_causal"),
              c.flag("enable_gqa"), 1};
  int64_t rank = typeOf(a.q).getRank();
  if (c.real("dropout_p") != 0)
    return c.cannot("dropout_p is {0}: call model.eval() before torch.export", c.real("dropout_p"));
  if (rank < 2 || typeOf(a.k).getRank() != rank || typeOf(a.v).getRank() != rank)
    return c.cannot("query {0}, key {1}, value {2}; this version takes one rank of at least 2", a.q.getType(), a.k.getType(),
                    a.v.getType());
  if (elementOf(a.q) != elementOf(a.k) || elementOf(a.q) != elementOf(a.v) || !llvm::isa<mlir::FloatType>(elementOf(a.q)))
    return c.wrong("query {0}, key {1} and value {2} are not of one floating type", a.q.getType(), a.k.getType(),
                   a.v.getType());
  if (a.mask && !elementOf(a.mask).isInteger(1) && !llvm::isa<mlir::FloatType>(elementOf(a.mask)))
    return c.wrong("the mask is {0}; torch takes booleans or floats", a.mask.getType());
  if (a.mask && typeOf(a.mask).getRank() > rank)
    return c.wrong("the mask {0} has a higher rank than the query", a.mask.getType());
  auto lift = [&](Value x) { // [L, E] and [B, L, E] have one head
    if (x && typeOf(x).getRank() == 3 && rank == 3)
      return c.g.unsqueeze(x, {1});
    return x && rank == 2 && typeOf(x).getRank() == 2 ? c.g.unsqueeze(x, {0, 1}) : x;
  };
  for (Value *x : {&a.q, &a.k, &a.v, &a.mask})
    *x = lift(*x);
  if (rank > 4)
    if (llvm::Error e = mergeBatches(c, a))
      return std::move(e);
  return a;
}

/// Batch and head sizes that fit one another; keys and values keep fewer heads where a group of query heads shares one.
static llvm::Error alignHeads(OpContext &c, Attention &a) {
  Dims q = dimsOf(a.q), k = dimsOf(a.k), v = dimsOf(a.v);
  const shape::Facts &facts = c.g.facts;
  auto misfit = [&]() {
    return c.wrong("query {0}, key {1} and value {2} do not fit", a.q.getType(), a.k.getType(), a.v.getType());
  };
  for (auto [one, other] : {std::pair(q[3], k[3]), std::pair(k[2], v[2])}) {
    if (one.constant() && other.constant() && one != other)
      return misfit();
    if (llvm::Error e = c.needEqual(one, other))
      return e;
  }
  for (auto [one, other] : {std::pair(k[1], v[1]), std::pair(q[0], k[0]), std::pair(k[0], v[0])})
    if (!one.isOne() && !other.isOne())
      c.fits(one, other);
  auto heads = c.g.broadcastDims({k[1]}, {v[1]});
  auto batch = c.g.broadcastDims({q[0]}, {k[0]});
  batch = batch ? c.g.broadcastDims(*batch, {v[0]}) : batch;
  if (!heads || !batch)
    return misfit();
  Expr shared = (*heads)[0];
  if (q[1].isOne() && !shared.isOne())
    q[1] = shared;
  bool fits = facts.provablyEqual(shared, q[1]) || shared.isOne() || (a.grouped && facts.provablyDivides(shared, q[1]));
  if (!fits)
    return misfit();
  q[0] = k[0] = v[0] = (*batch)[0];
  k[1] = v[1] = shared;
  a.q = c.g.broadcastTo(a.q, q);
  a.k = c.g.broadcastTo(a.k, k);
  a.v = c.g.broadcastTo(a.v, v);
  if (!a.mask)
    return llvm::Error::success();
  Dims scores{q[0], q[1], q[2], k[2]}, mask = dimsOf(a.mask);
  for (size_t i = 0; i < mask.size(); ++i)
    if (Expr want = scores[4 - mask.size() + i]; !mask[i].isOne() && !c.fits(mask[i], want))
      return c.wrong("the mask {0} does not broadcast to the scores: dimension {1} is {2}, not {3}", a.mask.getType(), i,
                     mask[i].str(), want.str());
  return llvm::Error::success();
}

/// 1 / sqrt(width) unless given; where the width is no constant, the query is scaled instead.
static void applyScale(OpContext &c, Attention &a) {
  if (c.has("scale")) {
    a.scale = c.real("scale");
    return;
  }
  Expr width = dimsOf(a.q)[3];
  if (auto n = width.constant()) {
    a.scale = *n > 0 ? 1 / std::sqrt(double(*n)) : 1;
    return;
  }
  Value factor = c.g.unary<RsqrtOp>(c.g.cast(c.g.size(width), elementOf(a.q)));
  a.q = c.g.mul(a.q, c.g.broadcastTo(factor, dimsOf(a.q)));
}

/// The scores as torch describes them, those that are masked at -infinity; keys and values get as many heads as there are queries'.
static llvm::Expected<Value> scoresOf(OpContext &c, Attention &a) {
  Dims q = dimsOf(a.q), k = dimsOf(a.k);
  if (!c.g.facts.provablyEqual(q[1], k[1])) {
    auto share = k[1].isZero() ? std::nullopt : Expr::divideExactly(q[1], k[1]);
    if (!share)
      return c.cannot("{0} query heads over {1} key heads in float64", q[1].str(), k[1].str());
    for (Value *x : {&a.k, &a.v}) {
      Dims wide = dimsOf(*x), merged = wide;
      wide.insert(wide.begin() + 2, *share);
      merged[1] = q[1];
      *x = c.g.reshape(c.g.broadcastTo(c.g.unsqueeze(*x, {2}), wide), merged);
    }
  }
  Value scores = c.g.contract(a.q, a.k, {0, 1}, {0, 1}, {3}, {3});
  Dims dims = dimsOf(scores);
  scores = c.g.binary<MulOp>(scores, a.scale);
  Value lowest = c.g.splatLike(-INFINITY, scores);
  if (a.mask && elementOf(a.mask).isInteger(1))
    scores = c.g.select(c.g.broadcastTo(a.mask, dims), scores, lowest);
  else if (a.mask)
    scores = c.g.add(scores, c.g.broadcastTo(c.g.cast(a.mask, elementOf(scores)), dims));
  Type index = c.g.b.getI64Type();
  if (a.causal)
    scores = c.g.select(c.g.compare(CompareKind::LE, c.g.iota(dims, 3, index), c.g.iota(dims, 2, index)), scores, lowest);
  return scores;
}

/// The textbook form, for float64, whose scores lathe.attention would compute in float32.
static llvm::Expected<Value> composed(OpContext &c, Attention &a) {
  LATHE_TRY(scores, scoresOf(c, a));
  Value weights = c.g.softmax(scores, 3);
  // A row that is masked throughout gives zeros.
  Value best = c.g.reduce(ReduceKind::Max, scores, {3}, true);
  Value masked = c.g.broadcastTo(c.g.compare(CompareKind::EQ, best, c.g.splatLike(-INFINITY, best)), dimsOf(scores));
  weights = c.g.select(masked, c.g.splatLike(0, weights), weights);
  return c.g.contract(weights, a.v, {0, 1}, {0, 1}, {3}, {2});
}

static llvm::Error attention(OpContext &c) {
  int64_t rank = typeOf(c.tensor("query")).getRank();
  LATHE_TRY(a, readAttention(c));
  if (llvm::Error e = alignHeads(c, a))
    return e;
  applyScale(c, a);
  Value r;
  if (elementOf(a.q).isF64()) {
    LATHE_TRY(value, composed(c, a));
    r = value;
  } else {
    r = c.g.attention(a.q, a.k, a.v, a.mask, a.causal, a.scale, /*zeroMasked=*/true);
  }
  if (rank == 3)
    r = c.g.squeeze(r, {1});
  if (rank > 4) {
    Dims dims = dimsOf(c.tensor("query")), made = dimsOf(r);
    dims.truncate(dims.size() - 3);
    dims.append(made.begin() + 1, made.end());
    r = c.g.reshape(r, dims);
  }
  return c.give(rank == 2 ? c.g.squeeze(r, {0, 1}) : r);
}

/// The decomposed form for CPUs: [B, H, length, width] throughout. Its second result is the logarithm of each row's sum of
/// exponentials, of scores in at least float32.
static llvm::Error flashAttention(OpContext &c) {
  if (llvm::Error e = attention(c); e || !c.asked(1))
    return e;
  LATHE_TRY(a, readAttention(c));
  if (llvm::Error e = alignHeads(c, a))
    return e;
  for (Value *x : {&a.q, &a.k})
    *x = c.g.cast(*x, c.resultElement(1));
  applyScale(c, a);
  LATHE_TRY(scores, scoresOf(c, a));
  return c.give(logSumExp(c, scores, {3}, /*keep=*/false));
}

llvm::ArrayRef<OpEntry> fx::attentionOps() {
  static const OpEntry table[] = {
      {"scaled_dot_product_attention.default",
       "query:T key:T value:T attn_mask:T? dropout_p:F=0 is_causal:B=false scale:F? enable_gqa:B=false", attention},
      // What decomposition leaves on a CPU.
      {"_scaled_dot_product_flash_attention_for_cpu.default",
       "query:T key:T value:T dropout_p:F=0 is_causal:B=false attn_mask:T? scale:F?", flashAttention},
  };
  return table;
}
