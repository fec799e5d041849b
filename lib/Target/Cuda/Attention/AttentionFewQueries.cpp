//===- AttentionFewQueries.cpp - Attentions of a decoder's step ------------===//
//
// With a query or two, tiles of 64 or 128 of them are nearly all padding and the walk over the keys is one long chain. Here a
// block takes one query and its threads share out the keys: a few neighbouring lanes hold a key's line, 16 bytes each, every
// group of lanes walks over its own keys with its own softmax, and the groups meet at the end.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using shape::Expr;

namespace {

constexpr unsigned threads = 512, warps = threads / 32;
constexpr unsigned together = 4; ///< keys on their way to a group at a time: their loads hide one another's latency

/// What one group has seen: the largest score, the sum of weights, and a part of the weighted values.
struct Partial {
  Value top, total, sums;
};

class FewQueriesAttention : public EntryEmitter {
public:
  FewQueriesAttention(const AttentionProblem &p, KernelFrame &frame, unsigned width, unsigned lanes)
      : EntryEmitter(frame), p(p), op(p.op), width(width), lanes(lanes), columns(*p.roles.values.constant()) {}
  void emit();

private:
  Value part(BodyEmitter &point, Value ref, const Expr &offset, unsigned axis, const Expr &extent);
  Value score(const BodyEmitter &point, Value q, Value k, Value inside);
  Partial walk();
  Partial step(Value firstKey, const Partial &before, Value q);
  Partial meet(const Partial &x, const Partial &y);
  Partial meetInWarp(Partial mine);
  void finish(const Partial &mine);
  Value times(Value vector, Value x) { return d.mulF(vector, d.splat(x, width)); }

  const AttentionProblem &p;
  kernel::AttentionOp op;
  unsigned width, lanes, columns;
  Value tid, group, inner, keys;
};

} // namespace

/// The thread's 16 bytes of a line, as f32; zeros past the line's end.
Value FewQueriesAttention::part(BodyEmitter &line, Value ref, const Expr &offset, unsigned axis, const Expr &extent) {
  BodyEmitter point = line;
  point.bindAxis(info.axes[axis], d.wide(inner));
  Type element = cast<kernel::RefType>(ref.getType()).getElementType(), type = d.vector(width, element);
  Value from = d.at(frame.refs[cast<BlockArgument>(ref).getArgNumber()], point.emitExpr(offset), element);
  bool whole = *extent.constant() == int64_t(lanes * width);
  Value v = whole ? d.load(type, from, 16)
                  : d.loadIf(d.less(inner, d.i32(*extent.constant())), type, from, 16, d.real(type, 0));
  return d.convertF(v, d.f32Type());
}

/// The modified score, times log2 e, which all lanes of a group get; -inf past the last key.
Value FewQueriesAttention::score(const BodyEmitter &point, Value q, Value k, Value inside) {
  Value sum = d.mulF(d.extract(q, 0), d.extract(k, 0));
  for (unsigned i = 1; i < width; ++i)
    sum = d.fma(d.extract(q, i), d.extract(k, i), sum);
  for (unsigned m = 1; m < lanes; m *= 2)
    sum = d.addF(sum, d.shuffleXor(sum, m));
  return d.select(inside, d.mulF(modifiedScore(point, d, op, sum), d.f32(log2E)), d.f32(-INFINITY));
}

Partial FewQueriesAttention::step(Value firstKey, const Partial &before, Value q) {
  unsigned groups = threads / lanes;
  std::vector<BodyEmitter> points;
  Values inside, ks, vs, scores;
  for (unsigned u = 0; u < together; ++u) {
    Value key = d.add(d.add(firstKey, d.wide(group)), int64_t(u * groups));
    inside.push_back(d.less(key, keys));
    points.push_back(base);
    points.back().bindAxis(info.axes[p.roles.key], d.minU(key, d.sub(keys, d.i64(1))));
    ks.push_back(part(points.back(), op.getK(), p.roles.k, p.roles.depth, p.roles.depths));
    vs.push_back(part(points.back(), op.getV(), p.roles.v, p.roles.value, p.roles.values));
  }
  Partial after = before;
  for (unsigned u = 0; u < together; ++u) {
    scores.push_back(score(points[u], q, ks[u], inside[u]));
    after.top = d.maxF(after.top, scores[u]);
  }
  Value keep = d.exp2(d.subF(before.top, after.top));
  after.total = d.mulF(before.total, keep);
  after.sums = times(before.sums, keep);
  for (unsigned u = 0; u < together; ++u) {
    Value weight = d.exp2(d.subF(scores[u], after.top));
    after.total = d.addF(after.total, weight);
    after.sums = d.fma(vs[u], d.splat(weight, width), after.sums);
  }
  return after;
}

/// The largest score starts finite, so that groups and rows without any give weights of 0.
Partial FewQueriesAttention::walk() {
  Value q = part(base, op.getQ(), p.roles.q, p.roles.depth, p.roles.depths);
  Values init = {d.f32(-1e30), d.f32(0), d.real(d.vector(width, d.f32Type()), 0)};
  Values out = d.loop(d.i64(0), keys, d.i64(together * (threads / lanes)), init, [&](Value firstKey, ValueRange now) {
    Partial after = step(firstKey, {now[0], now[1], now[2]}, q);
    return Values{after.top, after.total, after.sums};
  });
  return {out[0], out[1], out[2]};
}

Partial FewQueriesAttention::meet(const Partial &x, const Partial &y) {
  Value top = d.maxF(x.top, y.top), a = d.exp2(d.subF(x.top, top)), b = d.exp2(d.subF(y.top, top));
  return {top, d.addF(d.mulF(x.total, a), d.mulF(y.total, b)), d.addF(times(x.sums, a), times(y.sums, b))};
}

Partial FewQueriesAttention::meetInWarp(Partial mine) {
  for (unsigned m = lanes; m < 32; m *= 2) {
    Partial other{d.shuffleXor(mine.top, m), d.shuffleXor(mine.total, m), mine.sums};
    for (unsigned i = 0; i < width; ++i)
      other.sums = d.insert(other.sums, d.shuffleXor(d.extract(mine.sums, i), m), i);
    mine = meet(mine, other);
  }
  return mine;
}

/// The warps meet in shared memory; a thread finishes a few columns.
void FewQueriesAttention::finish(const Partial &mine) {
  Type f32 = d.f32Type();
  Value sums = frame.sharedArray("sums", f32, warps * columns), tops = frame.sharedArray("tops", f32, warps),
        totals = frame.sharedArray("totals", f32, warps);
  Value warp = d.shr(tid, 5), lane = d.bitAnd(tid, 31);
  d.when(d.both(d.less(lane, d.i32(lanes)), d.less(inner, d.i32(columns))), [&] {
    for (unsigned i = 0; i < width; ++i)
      d.store(d.extract(mine.sums, i), d.at(sums, d.add(d.add(d.mul(warp, columns), inner), i), f32), 4);
  });
  d.when(d.equal(lane, 0), [&] {
    d.store(mine.top, d.at(tops, warp, f32), 4);
    d.store(mine.total, d.at(totals, warp, f32), 4);
  });
  d.barrier();
  ProductEpilogue epilogue(p.epilogue(), frame, hooks, base);
  Value column = d.mul(tid, epilogue.width());
  d.when(d.less(column, d.i32(columns)), [&] {
    Values each, out(epilogue.width(), d.f32(0));
    Value top, total = d.f32(0);
    for (unsigned w = 0; w < warps; ++w) {
      each.push_back(d.load(f32, d.at(tops, d.i32(w), f32), 4));
      top = top ? d.maxF(top, each[w]) : each[w];
    }
    for (unsigned w = 0; w < warps; ++w) {
      Value share = d.exp2(d.subF(each[w], top));
      total = d.fma(d.load(f32, d.at(totals, d.i32(w), f32), 4), share, total);
      for (unsigned i = 0; i < out.size(); ++i)
        out[i] = d.fma(d.load(f32, d.at(sums, d.add(column, w * columns + i), f32), 4), share, out[i]);
    }
    Value inverse = inverseOf(total, d, op);
    for (Value &v : out)
      v = d.mulF(v, inverse);
    epilogue.store(epilogue.atRow(base.axisValue(info.axes[p.query])), d.wide(column), out);
  });
}

void FewQueriesAttention::emit() {
  Value block = d.wide(d.blockId()), queries = frame.size(p.roles.queries);
  tid = d.threadId();
  group = d.div(tid, lanes);
  inner = d.mul(d.rem(tid, lanes), width);
  bindBatch(base, p.batchAxes, d.div(block, queries));
  base.bindAxis(info.axes[p.query], d.rem(block, queries));
  keys = frame.size(p.roles.keys);
  finish(meetInWarp(walk()));
}

/// Elements in 16 bytes, when all three operands have lines of such pieces; 0 when they do not.
static unsigned pieceOf(const AttentionProblem &p, const lower::BodyInfo &info) {
  kernel::AttentionOp op = p.op;
  auto bitsOf = [](Value ref) { return cast<kernel::RefType>(ref.getType()).getElementType().getIntOrFloatBitWidth(); };
  unsigned width = 128 / bitsOf(op.getQ());
  auto fits = [&](Value ref, const Expr &offset, unsigned axis) {
    auto linear = offset.linearIn(info.axes[axis]);
    return bitsOf(ref) * width == 128 && linear && linear->coefficient.isOne() && knownDivisor(linear->rest, width) == width &&
           knownDivisor(info.extents[axis], width) == width;
  };
  const lower::AttentionRoles &s = p.roles;
  return fits(op.getQ(), s.q, s.depth) && fits(op.getK(), s.k, s.depth) && fits(op.getV(), s.v, s.value) ? width : 0;
}

llvm::Expected<llvm::StringRef> cuda::addFewQueriesEntry(Generator &g, const AttentionProblem &p, const AttentionWays &ways, unsigned numMaps) {
  static constexpr llvm::StringLiteral name = "attention_few_queries";
  unsigned width = pieceOf(p, g.info), lanes = 1;
  if (!width || !p.roles.depths.constant() || !p.roles.values.constant())
    return "";
  while (lanes * width < std::max(*p.roles.depths.constant(), *p.roles.values.constant()))
    lanes *= 2;
  PlanFunction &plan = g.plan;
  Value few = lanes > 32 ? Value() : ways.single(plan);
  if (!few)
    return "";
  plan.d.when(few, [&] {
    plan.set(LATHE_CUDA_ENTRY, int64_t(g.entries.size()));
    plan.set(LATHE_CUDA_GRID, plan.size(p.roles.batches * p.roles.queries));
    plan.set(LATHE_CUDA_BLOCK, threads);
    plan.set(LATHE_CUDA_SHARED, 0);
  });
  KernelFrame frame(g.info, g.device, name, threads, g.sm, numMaps, g.dependent());
  FewQueriesAttention attention(p, frame, width, lanes);
  attention.emit();
  if (llvm::Error e = g.addEntry(frame, name, attention.error()))
    return std::move(e);
  return name;
}
