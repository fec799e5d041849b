//===- ContribAttention.cpp - ONNX Runtime's attentions --------------------===//
//
// Attention, QAttention, MultiHeadAttention, GroupQueryAttention and RotaryEmbedding of the domain com.microsoft, in which models come that
// ONNX Runtime's tools have optimised or built. They are written out as the format's own attention is (Attention.cpp).
// Source: ONNX Runtime, docs/ContribOperators.md.
//
//===----------------------------------------------------------------------===//

#include "Heads.h"
#include "Quantization.h"
#include "lathe/Dialect/Lathe/Scatter.h"
#include <limits>

using namespace lathe;
using ir::CompareKind;
using ir::ReduceKind;

namespace lathe::onnx {

namespace {
constexpr double minusInf = -std::numeric_limits<double>::infinity();

/// What is done to the scores [batch, heads, queries, keys] in front of the softmax.
struct ScoreTerms {
  double softcap = 0;
  llvm::SmallVector<Value, 2> added; ///< broadcast to the scores
  Value keep;                        ///< i1 of the scores' shape: which keys count; null for all
  Value sink;                        ///< one more score per row, of a key without a value; null for none
};
} // namespace

static Value softmaxWithSink(Node &n, Value scores, Value sink) {
  Dims d = n.dims(scores), row{d[0], d[1], d[2], Expr(1)};
  sink = n.broadcastTo(sink, row);
  Value most = n.g.binary<ir::MaxOp>(n.g.reduce(ReduceKind::Max, scores, {3}, true), sink);
  Value e = n.g.unary<ir::ExpOp>(n.g.sub(scores, n.g.broadcastTo(most, d)));
  Value sum = n.g.add(n.g.reduce(ReduceKind::Sum, e, {3}, true), n.g.unary<ir::ExpOp>(n.g.sub(sink, most)));
  return n.g.div(e, n.g.broadcastTo(sum, d));
}

/// Attention of heads [batch, heads, sequence, size]; `scores` receives what the softmax reads.
static Value attend(Node &n, Value q, Value k, Value v, const ScoreTerms &terms, Value *scoresOut = nullptr) {
  requireMatchingHeads(n, q, k, v);
  Expr heads = n.dim(q, 1);
  Value scores = n.g.contract(n.wide(q), n.wide(repeatHeads(n, k, heads)), {0, 1}, {0, 1}, {3}, {3});
  scores = scaled(n, scores, n.dim(q, 3), /*zeroIsUnset=*/true);
  scores = softcapped(n, scores, terms.softcap);
  for (Value v : terms.added)
    scores = n.g.add(scores, n.broadcastTo(n.g.cast(v, n.element(scores)), n.dims(scores)));
  if (terms.keep)
    scores = n.g.select(terms.keep, scores, n.g.splatLike(minusInf, scores));
  if (scoresOut)
    *scoresOut = scores;
  Value p = terms.sink ? softmaxWithSink(n, scores, n.g.cast(terms.sink, n.element(scores))) : n.g.softmax(scores, 3);
  Value y = n.g.contract(p, n.g.cast(repeatHeads(n, v, heads), n.element(p)), {0, 1}, {0, 1}, {3}, {2});
  return n.g.cast(y, n.element(q));
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

static Value column(Node &n, Value perBatch, const Dims &dims) {
  Value v = n.g.cast(perBatch, n.g.b.getI64Type());
  return n.g.broadcastTo(n.reshape(v, {dims[0], 1, 1, 1}), dims);
}

static Value number(Node &n, const Expr &e, const Dims &dims) { return n.g.broadcastTo(n.g.size(n.simplify(e)), dims); }

static Value both(Node &n, Value a, Value b) { return !a ? b : !b ? a : n.g.binary<ir::AndOp>(a, b); }

/// Keys up to each query's own place, of which `past` lie before this call's.
static Value causal(Node &n, const Dims &dims, const Expr &past) {
  Type i64 = n.g.b.getI64Type();
  Value query = n.g.iota(dims, 2, i64), key = n.g.iota(dims, 3, i64);
  return n.g.compare(CompareKind::LE, key, past.isZero() ? query : n.g.add(query, number(n, past, dims)));
}

/// The mask as what is added to the scores [batch, heads, queries, keys]: `filter` where a key does not count. Its form follows
/// from its sizes: numbers of keys (and first keys) per batch, or flags per key, per query and key, or of a larger square.
static Value maskTerm(Node &n, Value mask, const Dims &scores, const Expr &past, double filter) {
  n.requireInteger(mask);
  Type f32 = n.g.b.getF32Type(), i64 = n.g.b.getI64Type();
  Dims d = n.dims(mask);
  Dims keys{scores[0], Expr(1), Expr(1), scores[3]}, pairs{scores[0], Expr(1), scores[2], scores[3]};
  Value keep;
  if (d.size() == 1) {
    auto is = [&](const Expr &size) { return n.g.facts.provablyEqual(d[0], size); };
    bool two = is(scores[0] * Expr(2)), many = is(scores[0] * Expr(3) + Expr(2));
    if (!is(scores[0]) && !two && !many)
      failUnsupported("a mask of {0} numbers for a batch of {1}", d[0].str(), scores[0].str());
    Value key = n.g.iota(keys, 3, i64);
    keep = n.g.compare(CompareKind::LT, key, column(n, n.g.slice(mask, 0, Expr(0), scores[0]), keys));
    if (two)
      keep = both(n, keep, n.g.compare(CompareKind::GE, key, column(n, n.g.slice(mask, 0, scores[0], scores[0]), keys)));
  } else {
    if (d.size() == 4) {
      n.require(scores[3], "le", d[3], "the mask's sides are at least the number of keys");
      mask = n.g.slice(n.g.slice(n.reshape(mask, {d[0], d[2], d[3]}), 1, past, scores[2]), 2, Expr(0), scores[3]);
    } else if (d.size() != 2 && d.size() != 3) {
      failWrong("a mask of {0}", describe(mask.getType()));
    }
    mask = d.size() == 2 ? n.g.unsqueeze(mask, {1, 2}) : n.g.unsqueeze(mask, {1});
    mask = n.broadcastTo(mask, d.size() == 2 ? keys : pairs);
    keep = n.g.compare(CompareKind::NE, mask, n.g.splatLike(0, mask));
  }
  Value zero = n.g.splat(0, n.dims(keep), f32);
  return n.g.select(keep, zero, n.g.splatLike(filter, zero));
}

static int64_t headsOf(Node &n, const char *attribute) {
  int64_t heads = n.requiredInteger(attribute);
  if (heads < 1)
    failWrong("attribute '{0}' is {1}", attribute, heads);
  return heads;
}

/// What the masks and the bias of Attention and MultiHeadAttention say.
static ScoreTerms termsOf(Node &n, const Dims &scores, const Expr &past, Value mask, Value bias) {
  ScoreTerms terms;
  if (mask)
    terms.added.push_back(maskTerm(n, mask, scores, past, n.real("mask_filter_value", -10000)));
  if (bias)
    terms.added.push_back(bias);
  if (n.flag("unidirectional", false))
    terms.keep = causal(n, scores, past);
  return terms;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// The product of the input and the weights: x [batch, sequence, width], w [width, columns].
static void requireProduct(Node &n, Value x, Value w) {
  n.requireRank(x, 3);
  n.requireRank(w, 2);
  n.requireEqual(n.dim(x, 2), n.dim(w, 0), "the inner sizes of the input and the weights");
  if (n.flag("do_rotary", false))
    failUnsupported("rotary embedding inside of the attention");
}

/// Attention of queries, keys and values that lie side by side; past and present are one tensor [2, batch, heads, keys, size].
static void attendTogether(Node &n, Value all, Value mask, Value before, Value bias) {
  int64_t heads = headsOf(n, "num_heads");
  llvm::SmallVector<int64_t> given = n.integers("qkv_hidden_sizes");
  Expr columns = n.dim(all, 2), third = given.empty() ? n.exactQuotient(columns, Expr(3), "the columns of the weights") : Expr(0);
  if (!given.empty() && given.size() != 3)
    failWrong("attribute 'qkv_hidden_sizes' has {0} entries, expected 3", given.size());
  Value parts[3];
  Expr at(0);
  for (size_t i = 0; i < 3; ++i) {
    Expr size = given.empty() ? third : Expr(given[i]);
    parts[i] = splitHeads(n, n.g.slice(all, 2, at, size), heads);
    at = n.simplify(at + size);
  }
  n.requireEqual(at, columns, "the sizes of queries, keys and values together and the columns of the weights");
  Expr past(0);
  if (before) {
    n.requireRank(before, 5);
    n.requireEqual(n.dim(before, 0), Expr(2), "the past's first dimension");
    past = n.dim(before, 3);
    for (int64_t i : {0, 1})
      parts[i + 1] = withPast(n, n.g.squeeze(n.g.slice(before, 0, Expr(i), Expr(1)), {0}), parts[i + 1]);
  }
  Dims dq = n.dims(parts[0]), scores{dq[0], dq[1], dq[2], n.dim(parts[1], 2)};
  n.out(0, mergeHeads(n, attend(n, parts[0], parts[1], parts[2], termsOf(n, scores, past, mask, bias))));
  if (n.wants(1))
    n.out(1, n.g.concat({n.g.unsqueeze(parts[1], {0}), n.g.unsqueeze(parts[2], {0})}, 0));
}

void contribAttention(Node &n) {
  Value x = n.in(0), w = n.in(1);
  n.requireFloat(x);
  n.requireSameElement({x, w});
  requireProduct(n, x, w);
  if (n.has(6))
    failUnsupported("a shared buffer of past and present keys");
  Value all = n.g.matmul(x, w);
  if (Value bias = n.maybe(2))
    all = n.g.add(all, n.broadcastTo(bias, n.dims(all)));
  attendTogether(n, all, n.maybe(3), n.maybe(4), n.maybe(5));
}

/// The same of a product of quantised operands.
void qAttention(Node &n) {
  Value x = n.in(0), w = n.in(1), bias = n.in(2);
  Type i32 = n.g.b.getI32Type();
  for (Value v : {x, w})
    n.requireInteger(v);
  n.requireFloat(bias);
  requireProduct(n, x, w);
  Value sum = n.g.matmul(centered(n, x, n.maybe(6), i32, false), centered(n, w, n.maybe(7), i32, false));
  Dims dims = n.dims(sum);
  Type element = n.element(bias);
  Value factors[] = {perChannel(n, n.g.cast(n.in(3), element), sum, 2), perChannel(n, n.g.cast(n.in(4), element), sum, 2)};
  fitTogether(n, factors, sum);
  Value all = n.g.mul(n.g.cast(sum, element), n.broadcastTo(n.g.mul(factors[0], factors[1]), dims));
  attendTogether(n, n.g.add(all, n.broadcastTo(bias, dims)), n.maybe(5), n.maybe(8), {});
}

//===----------------------------------------------------------------------===//
// MultiHeadAttention
//===----------------------------------------------------------------------===//

/// [batch, sequence, heads, parts, size] as its part.
static Value unpackedPart(Node &n, Value packed, int64_t part) {
  return n.g.transpose(n.g.squeeze(n.g.slice(packed, 3, Expr(part), Expr(1)), {3}), {0, 2, 1, 3});
}

/// Queries, keys and values as heads, from any of the operand's forms: apart, keys and values packed, all packed, or keys and values
/// as heads already.
static std::array<Value, 3> multiHeads(Node &n, int64_t heads) {
  Value q = n.in(0);
  if (n.rank(q) == 5)
    return {unpackedPart(n, q, 0), unpackedPart(n, q, 1), unpackedPart(n, q, 2)};
  Value k = n.in(1), bias = n.maybe(3);
  Expr at(0);
  auto next = [&](Value x) { // the next part of the bias goes to it
    if (!bias)
      return x;
    Expr size = n.dims(x).back();
    Value part = n.g.slice(bias, 0, at, size);
    at = n.simplify(at + size);
    return n.g.add(x, n.broadcastTo(part, n.dims(x)));
  };
  n.requireRank(q, 3);
  q = splitHeads(n, next(q), heads);
  if (n.rank(k) == 5)
    return {q, unpackedPart(n, k, 0), unpackedPart(n, k, 1)};
  Value v = n.in(2);
  if (n.rank(k) == 4) {
    n.requireRank(v, 4);
    return {q, k, v};
  }
  k = splitHeads(n, next(k), heads);
  return {q, k, splitHeads(n, next(v), heads)};
}

void multiHeadAttention(Node &n) {
  int64_t heads = headsOf(n, "num_heads");
  n.requireFloat(n.in(0));
  if (n.rank(n.in(0)) == 5 && n.has(3))
    failUnsupported("a bias of packed queries, keys and values");
  if (n.has(8) || n.has(9))
    failUnsupported("a shared buffer of past and present keys");
  auto [q, k, v] = multiHeads(n, heads);
  n.requireSameElement({q, k, v});
  Expr past = n.has(6) ? n.dim(n.in(6), 2) : Expr(0);
  if (n.has(6) != n.has(7))
    failWrong("past keys and past values come together");
  k = withPast(n, n.maybe(6), k);
  v = withPast(n, n.maybe(7), v);
  Dims dq = n.dims(q), scores{dq[0], dq[1], dq[2], n.dim(k, 2)};
  Value shown;
  n.out(0, mergeHeads(n, attend(n, q, k, v, termsOf(n, scores, past, n.maybe(4), n.maybe(5)), &shown)));
  n.out(1, k);
  n.out(2, v);
  if (n.wants(3))
    n.out(3, n.g.cast(shown, n.element(q)));
}

//===----------------------------------------------------------------------===//
// Rotary embedding and GroupQueryAttention
//===----------------------------------------------------------------------===//

/// Rows of a table [positions, half] for positions [batch, sequence], as [batch, 1, sequence, half].
static Value rowsAt(Node &n, Value table, Value positions) {
  n.requireRank(table, 2);
  return n.g.unsqueeze(n.g.gather(table, positions, 0), {1});
}

static Value turnedHeads(Node &n, Value x, Value positions, unsigned cos, unsigned sin, bool interleaved) {
  n.requireSameElement({x, n.in(cos), n.in(sin)});
  n.require(n.simplify(n.dim(n.in(cos), 1) * Expr(2)), "le", n.dim(x, 3), "what the tables turn and the size of a head");
  return rotated(n, x, rowsAt(n, n.in(cos), positions), rowsAt(n, n.in(sin), positions), interleaved);
}

void contribRotaryEmbedding(Node &n) {
  Value x = n.in(0), ids = n.in(1);
  n.requireFloat(x);
  n.requireInteger(ids);
  if (n.flag("is_packed_batching", false))
    failUnsupported("packed batches");
  bool packed = n.rank(x) == 3;
  if (packed) {
    int64_t heads = n.integer("num_heads", 0);
    std::optional<int64_t> all = n.simplify(n.dim(x, 2)).constant(), half = n.simplify(n.dim(n.in(2), 1)).constant();
    if (heads < 1 && (!all || !half || *half < 1 || *all % (2 * *half)))
      failWrong("attribute 'num_heads' is {0} for {1}", heads, describe(x.getType()));
    x = splitHeads(n, x, heads < 1 ? *all / (2 * *half) : heads);
  }
  n.requireRank(x, 4);
  Type i64 = n.g.b.getI64Type();
  Dims d = n.dims(x), places{d[0], d[2]};
  ids = n.g.cast(ids, i64);
  if (n.rank(ids) == 1) { // the place of the first
    n.requireEqual(n.dim(ids, 0), Expr(1), "the number of first places");
    ids = n.g.add(n.g.iota(places, 1, i64), n.g.broadcastTo(n.reshape(ids, {1, 1}), places));
  }
  Value y = turnedHeads(n, x, n.broadcastTo(ids, places), 2, 3, n.flag("interleaved", false));
  n.out(packed ? mergeHeads(n, y) : y);
}

namespace {
class GroupQuery {
public:
  explicit GroupQuery(Node &n) : n(n), i64(n.g.b.getI64Type()) {}
  void build();

private:
  void readHeads();
  void readPast();
  Value positions();
  Value present(unsigned past, Value x);
  ScoreTerms terms(const Dims &scores);

  Node &n;
  Type i64;
  Value q, k, v;
  Value before; ///< i64 [batch]: keys in front of this call's
  Expr held;    ///< keys of the present
};
} // namespace

void GroupQuery::readHeads() {
  int64_t heads = headsOf(n, "num_heads"), shared = headsOf(n, "kv_num_heads");
  n.requireFloat(n.in(0));
  n.requireRank(n.in(0), 3);
  if (n.has(1) && n.has(2)) {
    q = splitHeads(n, n.in(0), heads);
    k = splitHeads(n, n.in(1), shared);
    v = splitHeads(n, n.in(2), shared);
    return;
  }
  Expr size = n.exactQuotient(n.dim(n.in(0), 2), Expr(heads + 2 * shared), "the packed queries, keys and values");
  Expr one = n.simplify(size * Expr(heads)), two = n.simplify(size * Expr(shared));
  q = splitHeads(n, n.g.slice(n.in(0), 2, Expr(0), one), heads);
  k = splitHeads(n, n.g.slice(n.in(0), 2, one, two), shared);
  v = splitHeads(n, n.g.slice(n.in(0), 2, n.simplify(one + two), two), shared);
}

/// `before` and `held`, from the numbers of all keys less one per batch and of the longest batch's keys.
void GroupQuery::readPast() {
  Value last = n.in(5);
  n.requireInteger(last);
  Dims d = n.dims(q);
  n.requireEqual(shape::product(n.dims(last)), d[0], "one number of keys per batch");
  last = n.reshape(n.g.cast(last, i64), {d[0]});
  Value after = n.g.sub(n.g.binary<ir::AddOp>(last, 1), n.g.broadcastTo(n.g.size(n.simplify(d[2])), {d[0]}));
  before = n.g.binary<ir::MaxOp>(after, 0); // a first call's shorter batches are filled up behind their end
  Expr total = n.sizeScalar(6), past = n.has(3) ? n.dim(n.in(3), 2) : Expr(0);
  held = past.isZero() ? total : n.simplify(Expr::max(total, past));
}

/// The place of each new key, [batch, sequence].
Value GroupQuery::positions() {
  Dims places{n.dim(q, 0), n.dim(q, 2)};
  if (Value ids = n.maybe(9))
    return n.broadcastTo(n.g.cast(ids, i64), places);
  return n.g.add(n.g.iota(places, 1, i64), n.g.broadcastTo(n.g.unsqueeze(before, {1}), places));
}

/// The past with this call's rows written behind each batch's last.
Value GroupQuery::present(unsigned input, Value x) {
  Dims d = n.dims(x), whole{d[0], d[1], held, d[3]};
  Value cache = n.g.splat(0, whole, n.element(x));
  if (Value past = n.maybe(input)) {
    n.requireRank(past, 4);
    n.requireSameElement({x, past});
    Dims dp = n.dims(past), low(4, Expr(0)), high = low;
    for (int i : {0, 1, 3})
      n.requireEqual(dp[i], d[i], "the past keys or values");
    high[2] = n.simplify(held - dp[2]);
    past = n.reshape(past, {d[0], d[1], dp[2], d[3]});
    cache = high[2].isZero() ? past
                             : n.g.b.createOrFold<ir::PadOp>(n.g.loc, cache.getType(), past, n.g.scalar(0, n.element(x)),
                                                             ir::exprArray(n.g.b, low), ir::exprArray(n.g.b, high));
  }
  Value row = n.g.add(n.g.iota(d, 2, i64), n.g.broadcastTo(n.reshape(before, {d[0], 1, 1, 1}), d));
  return ir::scatterAlong(n.g, ir::ScatterKind::Set, cache, row, x, 2);
}

ScoreTerms GroupQuery::terms(const Dims &scores) {
  ScoreTerms t;
  t.softcap = n.real("softcap", 0);
  Value key = n.g.iota(scores, 3, i64);
  Value query = n.g.add(n.g.iota(scores, 2, i64), n.g.broadcastTo(n.reshape(before, {scores[0], 1, 1, 1}), scores));
  if (n.flag("causal", true))
    t.keep = n.g.compare(CompareKind::LE, key, query);
  else
    t.keep = n.g.compare(CompareKind::LE, key, column(n, n.in(5), scores));
  if (int64_t window = n.integer("local_window_size", -1); window >= 0)
    t.keep = both(n, t.keep, n.g.compare(CompareKind::GT, n.g.add(key, number(n, Expr(window), scores)), query));
  if (Value bias = n.maybe(10)) {
    if (!n.g.facts.provablyEqual(n.dims(bias).back(), scores[3]))
      bias = n.g.slice(bias, n.rank(bias) - 1, Expr(0), scores[3]);
    t.added.push_back(bias);
  }
  if (Value sink = n.maybe(11))
    t.sink = n.reshape(sink, {1, scores[1], 1, 1});
  else if (n.flag("smooth_softmax", false))
    t.sink = n.g.splat(0, {Expr(1), Expr(1), Expr(1), Expr(1)}, n.g.b.getF32Type());
  return t;
}

void GroupQuery::build() {
  if (n.text("k_quant_type", "NONE") != "NONE" || n.text("v_quant_type", "NONE") != "NONE" || n.integer("kv_cache_bit_width", 0))
    failUnsupported("quantised keys and values");
  if (n.numInputs() > 12)
    failUnsupported("{0} operands", n.numInputs());
  if (n.integer("qk_output", 0) || n.wants(3) || n.integer("sliding_window_cache", 0))
    failUnsupported("the scores as a result, or a cache that slides");
  readHeads();
  n.requireSameElement({q, k, v});
  readPast();
  if (n.flag("do_rotary", false)) {
    bool interleaved = n.flag("rotary_interleaved", false);
    Value at = positions();
    q = turnedHeads(n, q, at, 7, 8, interleaved);
    k = turnedHeads(n, k, at, 7, 8, interleaved);
  }
  k = present(3, k);
  v = present(4, v);
  Dims d = n.dims(q);
  n.out(0, mergeHeads(n, attend(n, q, k, v, terms({d[0], d[1], d[2], held}))));
  n.out(1, k);
  n.out(2, v);
}

void groupQueryAttention(Node &n) { GroupQuery(n).build(); }

} // namespace lathe::onnx
