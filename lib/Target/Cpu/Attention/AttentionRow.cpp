//===- AttentionRow.cpp - A single query -----------------------------------===//
//
// A step of a decoder has one query, of which vectors of queries would be nearly empty. Here keys lie in the lanes: a key's line is
// multiplied with the query as it lies, as many lines as lanes are summed together by a transposition, and the score region, the
// exponentials and the values follow in whole vectors. Keys come in blocks with a running maximum and sum, as for many queries.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include <cfloat>

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using shape::Expr;
using Values = VectorBuilder::Values;

namespace {
class RowEmitter {
public:
  RowEmitter(KernelFunction &f, VectorBuilder &v, const AttentionShape &shape, int64_t keyBlock, const BodyEmitter &point)
      : f(f), v(v), shape(shape), keyBlock(keyBlock), depth(*shape.depth.constant()), values(*shape.values.constant()), point(point), scratch(f.scratch), at(shape, keyBlock, v.lanes) {}
  void emit();

private:
  /// The running maximum, the same in all lanes, and what each lane has summed.
  struct State {
    Value maximum, total;
  };
  Value refOf(Value ref) { return f.refs[cast<BlockArgument>(ref).getArgNumber()]; }
  /// Vectors of a line, and the mask of the last one where it is not whole.
  unsigned vectorsOf(int64_t count) const { return (count + v.lanes - 1) / v.lanes; }
  Value maskOf(int64_t count, unsigned vector) {
    int64_t left = count - int64_t(vector) * v.lanes;
    return left < int64_t(v.lanes) ? v.firstLanes(unsigned(left)) : Value();
  }
  Value lineOf(const Expr &e, StringRef inner, Value key);
  Value acrossLanes(Value x, llvm::function_ref<Value(Value, Value)> combine);
  void prepare();
  std::pair<Value, Value> keyRange();
  Value rawScores(Value from, Value count);
  Value scoresOf(Value from, Value count);
  State block(Value from, Value count, State before);
  void addValues(Value from, Value count, Value rescale);
  void writeResult(Value total);

  KernelFunction &f;
  VectorBuilder &v;
  const AttentionShape &shape;
  int64_t keyBlock, depth, values;
  const BodyEmitter &point;
  Value scratch;
  AttentionRowScratch at;
};
} // namespace

AttentionRowScratch::AttentionRowScratch(const AttentionShape &s, int64_t keyBlock, unsigned lanes) {
  auto padded = [&](int64_t n) { return (n + lanes - 1) / lanes * lanes; };
  query = padded(keyBlock);
  sums = query + padded(*s.depth.constant());
  end = sums + padded(*s.values.constant());
}

/// Elements of a head that are written out, vector by vector.
constexpr int64_t mostOfRow = 1024;

bool lathe::cpu::hasAttentionRows(const AttentionShape &s) {
  auto isShort = [](const Expr &elements) { return elements.constant() && *elements.constant() > 0 && *elements.constant() <= mostOfRow; };
  return s.keyStride.isOne() && isShort(s.depth) && isShort(s.values);
}

/// Where a key's line begins.
Value RowEmitter::lineOf(const Expr &e, StringRef inner, Value key) {
  BodyEmitter p = point;
  p.bindAxis(shape.keyAxis, key);
  p.bindAxis(inner, v.i(0));
  return p.emitExpr(e);
}

Value RowEmitter::acrossLanes(Value x, llvm::function_ref<Value(Value, Value)> combine) {
  for (unsigned by = v.lanes / 2; by; by /= 2) {
    SmallVector<int64_t> order;
    for (unsigned l = 0; l < v.lanes; ++l)
      order.push_back(l ^ by);
    x = combine(x, v.shuffle(x, x, order));
  }
  return x;
}

/// The query, with the scale (and log2 e, for base-2 exponentials) folded in where the region is nothing but a scale; empty sums.
void RowEmitter::prepare() {
  BodyEmitter p = point;
  p.bindAxis(shape.depthAxis, v.i(0));
  Value from = v.at(refOf(shape.qRef), p.emitExpr(shape.q), shape.qType);
  bool asItLies = shape.queryStride.isOne();
  Value factor = v.f(shape.scale ? *shape.scale * log2e : 1);
  for (unsigned d = 0; !asItLies && d < vectorsOf(depth); ++d)
    v.store(v.f(0), scratch, v.i(at.query + d * v.lanes));
  if (!asItLies)
    v.loop(v.i(0), v.i(depth), 1, [&, stride = p.emitExpr(shape.queryStride)](Value d) {
      v.storeScalar(v.loadScalar(from, v.mul(d, stride), shape.qType), scratch, v.add(d, at.query));
    });
  for (unsigned d = 0; d < vectorsOf(depth); ++d) {
    Value place = v.i(at.query + d * v.lanes);
    Value q = asItLies ? v.loadConverted(from, v.i(d * v.lanes), shape.qType, maskOf(depth, d)) : v.load(scratch, place);
    v.store(v.mulf(q, factor), scratch, place);
  }
  for (unsigned c = 0; c < vectorsOf(values); ++c)
    v.store(v.f(0), scratch, v.i(at.sums + c * v.lanes));
}

/// Keys outside do not count.
std::pair<Value, Value> RowEmitter::keyRange() {
  BodyEmitter p = point;
  Value from = v.i(0), to = p.emitExpr(shape.keys);
  for (const Expr &e : shape.lower)
    from = v.max(from, p.emitExpr(e));
  for (const Expr &e : shape.upper)
    to = v.min(to, p.emitExpr(e));
  return {from, to};
}

/// As many keys from `from` on as there are lanes; past `count` the last one again.
Value RowEmitter::rawScores(Value from, Value count) {
  Value keys = refOf(shape.kRef), last = v.sub(count, 1);
  Values sums, starts;
  for (unsigned r = 0; r < v.lanes; ++r)
    starts.push_back(lineOf(shape.k, shape.depthAxis, v.add(from, v.min(v.i(r), last))));
  for (unsigned r = 0; r < v.lanes; ++r) {
    Value sum;
    for (unsigned d = 0; d < vectorsOf(depth); ++d) {
      Value q = v.load(scratch, v.i(at.query + d * v.lanes));
      Value k = v.loadConverted(keys, v.add(starts[r], d * v.lanes), shape.kType, maskOf(depth, d));
      sum = sum ? v.fma(k, q, sum) : v.mulf(k, q);
    }
    sums.push_back(sum);
  }
  sums = v.transpose(sums);
  for (unsigned half = v.lanes / 2; half; half /= 2)
    for (unsigned l = 0; l < half; ++l)
      sums[l] = v.addf(sums[l], sums[l + half]);
  return sums[0];
}

/// Modified, and -inf past `count`.
Value RowEmitter::scoresOf(Value from, Value count) {
  Value score = rawScores(from, count), inside = v.firstLanes(count);
  if (!shape.scale) {
    BodyEmitter p = point;
    p.bindLane(shape.keyAxis, from, v.lanes, inside);
    p.bindValue(shape.score, score);
    score = p.emitLanes(shape.modified);
  }
  return v.b.create<arith::SelectOp>(v.loc, inside, score, v.f(-INFINITY));
}

RowEmitter::State RowEmitter::block(Value from, Value count, State before) {
  auto largest = [&](Value x, Value y) { return v.maxOr(x, y); };
  Value maximum = v.loop(v.i(0), count, v.lanes, Values{before.maximum}, [&](Value k, Values state) {
    Value s = scoresOf(v.add(from, k), v.sub(count, k));
    v.store(s, scratch, k);
    return Values{v.maxOr(s, state[0])};
  })[0];
  maximum = acrossLanes(maximum, largest);
  // Differences are scaled, not scores: those that a mask of the most negative number leaves must not overflow.
  auto power = [&](Value difference) { return v.exp2(shape.scale ? difference : v.mulf(difference, v.f(log2e))); };
  Value rescale = power(v.subf(before.maximum, maximum));
  Value total = v.loop(v.i(0), count, v.lanes, Values{v.mulf(before.total, rescale)}, [&](Value k, Values state) {
    Value p = power(v.subf(v.load(scratch, k), maximum));
    v.store(p, scratch, k);
    return Values{v.addf(state[0], p)};
  })[0];
  addValues(from, count, rescale);
  return {maximum, total};
}

/// Some columns of all keys at a time, in two sums each, so that one product does not wait for the last.
void RowEmitter::addValues(Value from, Value count, Value rescale) {
  unsigned all = vectorsOf(values), together = f.isa.registers >= 32 ? 8 : 4;
  BodyEmitter p = point;
  Value lines = refOf(shape.vRef), step = p.emitExpr(shape.v.linearIn(shape.keyAxis)->coefficient), start = lineOf(shape.v, shape.valueAxis, from);
  for (unsigned first = 0; first < all; first += together) {
    unsigned width = std::min(together, all - first);
    Values sums;
    for (unsigned c = 0; c < width; ++c)
      sums.push_back(v.mulf(v.load(scratch, v.i(at.sums + (first + c) * v.lanes)), rescale));
    sums.append(width, v.f(0));
    sums = v.unrolled(v.i(0), count, 4, sums, [&](Value k, unsigned u, Values acc) {
      Value weight = v.broadcast(scratch, v.add(k, u)), row = v.add(start, v.mul(v.add(k, u), step));
      for (unsigned c = 0; c < width; ++c) {
        Value x = v.loadConverted(lines, v.add(row, (first + c) * v.lanes), shape.vType, maskOf(values, first + c));
        Value &sum = acc[u % 2 * width + c];
        sum = v.fma(weight, x, sum);
      }
      return acc;
    });
    for (unsigned c = 0; c < width; ++c)
      v.store(v.addf(sums[c], sums[width + c]), scratch, v.i(at.sums + (first + c) * v.lanes));
  }
}

/// A row without any key has sum 0: 0/0 is the NaN that the definition asks for.
void RowEmitter::writeResult(Value total) {
  Value inverse = v.divf(v.f(1), total);
  if (shape.zeroMasked) {
    Value none = v.b.create<arith::CmpFOp>(v.loc, arith::CmpFPredicate::OEQ, total, v.f(0));
    inverse = v.b.create<arith::SelectOp>(v.loc, none, v.f(0), inverse);
  }
  for (unsigned c = 0; c < vectorsOf(values); ++c) {
    BodyEmitter p = point;
    p.bindLane(shape.valueAxis, v.i(c * v.lanes), v.lanes, maskOf(values, c));
    p.bindValue(shape.result, v.mulf(v.load(scratch, v.i(at.sums + c * v.lanes)), inverse));
    for (Operation *o : f.info.ops)
      if (auto s = dyn_cast<kernel::StoreOp>(o))
        p.emitStore(s);
  }
}

void RowEmitter::emit() {
  prepare();
  auto [from, to] = keyRange();
  Values out = v.loop(from, to, keyBlock, Values{v.f(-FLT_MAX), v.f(0)}, [&, to = to](Value k, Values state) {
    State after = block(k, v.min(v.sub(to, k), v.i(keyBlock)), {state[0], state[1]});
    return Values{after.maximum, after.total};
  });
  writeResult(acrossLanes(out[1], [&](Value x, Value y) { return v.addf(x, y); }));
}

void lathe::cpu::emitAttentionRow(KernelFunction &f, VectorBuilder &v, const AttentionShape &shape, int64_t keyBlock, const BodyEmitter &point) {
  RowEmitter(f, v, shape, keyBlock, point).emit();
}
