//===- Attention.cpp - Attention and rotary embedding ----------------------===//
//
// Attention is written out (two products, the work on the scores, a softmax); recognising it again is the optimiser's, which
// does it for models that write it out themselves.
//
//===----------------------------------------------------------------------===//

#include "Heads.h"
#include <limits>

using namespace lathe;
using ir::CompareKind;
using ir::ReduceKind;

namespace lathe::onnx {

namespace {

/// The operands as [batch, heads, sequence, size].
struct Heads {
  Value q, k, v;
  bool packed; ///< they were [batch, sequence, heads * size]
};

class AttentionBuilder {
public:
  explicit AttentionBuilder(Node &n) : n(n) {}
  void build();

private:
  Value unpack(Value x, const char *attribute);
  Value mask();
  Value position();
  Value allowed();
  Value masked(Value scores);

  Node &n;
  Heads heads;
  Expr past{0};   ///< keys before those of this call
  Dims scoreDims; ///< [batch, heads, queries, keys]
  bool guards = false; ///< a row may have no key at all
  std::optional<Expr> maskedKeys; ///< of the mask, where a run finds how many it has; one stands for all
};

constexpr double minusInf = -std::numeric_limits<double>::infinity();

Value AttentionBuilder::unpack(Value x, const char *attribute) {
  if (!heads.packed) {
    n.requireRank(x, 4);
    return x;
  }
  n.requireRank(x, 3);
  int64_t count = n.requiredInteger(attribute);
  if (count < 1)
    failWrong("attribute '{0}' is {1}", attribute, count);
  return splitHeads(n, x, count);
}

/// The mask with as many keys as there are (missing ones are masked), as i1 or in the scores' type; null without one.
Value AttentionBuilder::mask() {
  if (!n.has(3))
    return {};
  Value m = n.in(3);
  n.requireRankAtLeast(m, 1);
  if (!n.isBool(m))
    n.requireFloat(m);
  int64_t last = n.rank(m) - 1;
  Expr keys = scoreDims[3], given = n.simplify(n.dim(m, last)), missing = n.simplify(keys - given);
  guards = true;
  if (Value stretched = n.stretch(m, last, keys)) {
    maskedKeys = given;
    return stretched;
  }
  if (!given.isOne() && n.g.facts.provablyPositive(missing)) {
    Dims low(n.rank(m), Expr(0)), high = low, dims = n.dims(m);
    high[last] = missing;
    dims[last] = keys;
    Value value = n.isBool(m) ? n.g.scalar(0, n.element(m)) : n.g.scalar(minusInf, n.element(m));
    m = n.g.b.createOrFold<ir::PadOp>(n.g.loc, ir::tensorType(dims, n.element(m)), m, value, ir::exprArray(n.g.b, low),
                                      ir::exprArray(n.g.b, high));
  }
  return m;
}

/// The absolute position of each query, as i64 of the scores' shape.
Value AttentionBuilder::position() {
  Type i64 = n.g.b.getI64Type();
  Value query = n.g.iota(scoreDims, 2, i64);
  if (n.has(6) && !n.has(4)) {
    // With a cache of fixed size the queries are the last of its valid keys.
    Value valid = n.g.broadcastTo(n.reshape(n.g.cast(n.in(6), i64), {scoreDims[0], 1, 1, 1}), scoreDims);
    Value queries = n.g.broadcastTo(n.g.size(scoreDims[2]), scoreDims);
    return n.g.add(query, n.g.sub(valid, queries));
  }
  return past.isZero() ? query : n.g.add(query, n.g.broadcastTo(n.g.size(past), scoreDims));
}

/// Which keys a query may see by causality, window and the number of valid keys; null for all.
Value AttentionBuilder::allowed() {
  Type i64 = n.g.b.getI64Type();
  Value all, key = n.g.iota(scoreDims, 3, i64);
  auto also = [&](Value condition) { all = all ? n.g.binary<ir::AndOp>(all, condition) : condition; };
  int64_t left = n.integer("left_window_size", -1), right = n.integer("right_window_size", -1);
  if (left < -1 || right < -1)
    failWrong("a window of {0} and {1}, expected -1 or more", left, right);
  auto shifted = [&](int64_t by) { return n.g.add(position(), n.g.broadcastTo(n.constantInteger(by, i64), scoreDims)); };
  if (n.flag("is_causal", false))
    also(n.g.compare(CompareKind::LE, key, position()));
  if (left >= 0)
    also(n.g.compare(CompareKind::GE, key, shifted(-left)));
  if (right >= 0)
    also(n.g.compare(CompareKind::LE, key, shifted(right)));
  if (maskedKeys) {
    Expr isOne = Expr::max(Expr(0), Expr::min(*maskedKeys, Expr(2) - *maskedKeys));
    also(n.g.compare(CompareKind::LT, key, n.g.broadcastTo(n.g.size(*maskedKeys + isOne * scoreDims[3]), scoreDims)));
  }
  if (n.has(6)) {
    Value valid = n.g.broadcastTo(n.reshape(n.g.cast(n.in(6), i64), {scoreDims[0], 1, 1, 1}), scoreDims);
    also(n.g.compare(CompareKind::LT, key, valid));
  }
  guards |= n.has(6) || left >= 0 || right >= 0;
  return all;
}

Value AttentionBuilder::masked(Value scores) {
  auto hide = [&](Value keep) { scores = n.g.select(keep, scores, n.g.splatLike(minusInf, scores)); };
  if (Value m = mask()) {
    m = n.isBool(m) ? m : n.g.cast(m, n.element(scores));
    m = n.broadcastTo(m, scoreDims);
    if (n.isBool(m))
      hide(m);
    else
      scores = n.g.add(scores, m);
  }
  if (Value keep = allowed())
    hide(keep);
  return scores;
}

void AttentionBuilder::build() {
  Value q = n.in(0), k = n.in(1), v = n.in(2);
  n.requireFloat(q);
  n.requireSameElement({q, k});
  n.requireFloat(v);
  heads.packed = n.rank(q) == 3;
  q = unpack(q, "q_num_heads");
  k = withPast(n, n.maybe(4), unpack(k, "kv_num_heads"));
  v = withPast(n, n.maybe(5), unpack(v, "kv_num_heads"));
  if (n.has(4) != n.has(5))
    failWrong("past keys and past values come together");
  if (n.has(4))
    past = n.simplify(n.dim(n.in(4), 2));
  Dims dq = n.dims(q), dk = n.dims(k), dv = n.dims(v);
  requireMatchingHeads(n, q, k, v);
  if (n.has(6)) {
    n.requireInteger(n.in(6));
    n.requireEqual(shape::product(n.dims(n.in(6))), dq[0], "one number of valid keys per batch");
  }
  n.out(1, k);
  n.out(2, v);
  Type type = n.element(n.in(0));
  scoreDims = {dq[0], dq[1], dq[2], dk[2]};
  Value scores = n.g.contract(n.wide(q), n.wide(repeatHeads(n, k, dq[1])), {0, 1}, {0, 1}, {3}, {3});
  scoreDims = n.dims(scores);
  scores = scaled(n, scores, dq[3]);
  // What the fourth result shows: the scaled scores, those after the cap, those after the masks, or the probabilities.
  int64_t shows = n.integer("qk_matmul_output_mode", 0);
  if (shows < 0 || shows > 3)
    failWrong("attribute 'qk_matmul_output_mode' is {0}, expected 0 to 3", shows);
  Value shown[4] = {scores};
  scores = shown[1] = softcapped(n, scores, n.real("softcap", 0));
  scores = shown[2] = masked(scores);
  Value p = n.g.softmax(scores, 3);
  if (guards) { // a row without any key gives zeros
    Value most = n.g.reduce(ReduceKind::Max, scores, {3}, true);
    Value none = n.g.compare(CompareKind::EQ, most, n.g.splatLike(minusInf, most));
    p = n.g.select(n.g.broadcastTo(none, scoreDims), n.g.splatLike(0, p), p);
  }
  shown[3] = p;
  if (n.wants(3))
    n.out(3, n.g.cast(shown[shows], type));
  Value y = n.g.contract(p, n.g.cast(repeatHeads(n, v, dq[1]), n.element(p)), {0, 1}, {0, 1}, {3}, {2});
  y = n.g.cast(y, type);
  n.out(0, heads.packed ? mergeHeads(n, y) : y);
}

} // namespace

void attention(Node &n) { AttentionBuilder(n).build(); }

/// A table row per position [batch, sequence, half], as [batch, 1, sequence, half].
static Value rotaryTable(Node &n, unsigned input, const Dims &x, const Expr &half) {
  Value table = n.in(input);
  if (n.has(3)) {
    n.requireRank(table, 2);
    n.requireInteger(n.in(3));
    n.requireRank(n.in(3), 2);
    table = n.g.gather(table, n.in(3), 0);
  }
  n.requireRank(table, 3);
  Dims d = n.dims(table);
  n.requireEqual(d[2], half, "half of the rotated size and the last dimension of the table");
  return n.broadcastTo(n.g.unsqueeze(table, {1}), {x[0], x[1], x[2], half});
}

void rotaryEmbedding(Node &n) {
  Value x = n.in(0);
  n.requireFloat(x);
  n.requireSameElement({x, n.in(1), n.in(2)});
  bool packed = n.rank(x) == 3;
  if (packed) {
    int64_t heads = n.integer("num_heads", 0);
    if (heads < 1)
      failWrong("attribute 'num_heads' is {0}", heads);
    x = splitHeads(n, x, heads);
  }
  n.requireRank(x, 4);
  Dims d = n.dims(x);
  int64_t turnedSize = n.integer("rotary_embedding_dim", 0);
  Expr turned = turnedSize ? Expr(turnedSize) : n.simplify(d[3]), rest = n.simplify(d[3] - turned);
  if (turnedSize < 0 || (rest.constant() && *rest.constant() < 0))
    failWrong("attribute 'rotary_embedding_dim' is {0}, a head has {1}", turnedSize, d[3].str());
  Expr half = n.exactQuotient(turned, Expr(2), "the rotated size");
  Value y = rotated(n, x, rotaryTable(n, 1, d, half), rotaryTable(n, 2, d, half), n.flag("interleaved", false));
  n.out(packed ? mergeHeads(n, y) : y);
}

} // namespace lathe::onnx
