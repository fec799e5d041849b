//===- AttentionFewQueries.cpp - Attentions of a decoder's step ------------===//
//
// With a query or two, tiles of 64 or 128 of them are nearly all padding and the walk over the keys is one long chain. Here a
// block takes one query, of a few heads where these share keys, and its threads share out the keys: a few neighbouring lanes hold a
// key's line, 16 bytes each, every group of lanes walks over its own keys with its own softmax, and the groups meet at the end. Where
// there are fewer blocks than the machine takes, each has a part of the keys, and a launch that follows brings the parts together.
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
constexpr unsigned mostHeads = 4, mostSums = 8192; ///< of a block: what is in registers, and in shared memory
constexpr unsigned meetingThreads = 128;
constexpr int64_t leastSteps = 2; ///< of a block that has a part of the keys
constexpr int64_t header = 16;                            ///< bytes in front of the parts: how many there are
constexpr unsigned inFront = 4;                           ///< of a part's sums: the largest score, the sum of weights

/// What one group has seen: the largest score, the sum of weights, and a part of the weighted values.
struct Partial {
  Value top, total, sums;
};

/// How a block's lanes and registers are shared out.
struct Shape {
  unsigned width;     ///< elements of 16 bytes
  unsigned lanes = 1; ///< that hold a line
  unsigned heads = 1; ///< consecutive points of the shared axis
  int64_t step() const { return int64_t(together) * (threads / lanes); }
  /// The sums of several heads fill the registers.
  unsigned blocksPerProcessor() const { return heads == 1 ? 2 : 1; }
};

class FewQueriesAttention : public EntryEmitter {
public:
  FewQueriesAttention(const AttentionProblem &p, KernelFrame &frame, const Shape &shape)
      : EntryEmitter(frame), p(p), op(p.op), width(shape.width), lanes(shape.lanes), heads(shape.heads), shape(shape),
        columns(*p.roles.values.constant()) {}
  void emit();
  /// The launch that follows.
  void emitMeeting();

private:
  Value part(const BodyEmitter &line, Value ref, const Expr &offset, unsigned axis, const Expr &extent);
  Value score(const BodyEmitter &point, Value q, Value k, Value inside);
  void chooseKeys();
  BodyEmitter lineOf(Value block, Value head);
  std::vector<Partial> walk();
  std::vector<Partial> step(Value firstKey, ArrayRef<Partial> before, ArrayRef<Value> q);
  Partial after(const Partial &before, ArrayRef<Value> scores, ArrayRef<Value> vs);
  Partial meet(const Partial &x, const Partial &y);
  Partial meetInWarp(Partial mine);
  void finish(ArrayRef<Partial> mine);
  void finishColumns(ProductEpilogue &epilogue, Value head, Value column, Value array, Value tops, Value totals);
  void store(ProductEpilogue &epilogue, Value head, Value column, Value total, Values sums);
  Value partAt(Value line, Value number) {
    Value at = d.mul(d.add(d.mul(line, parts), number), columns + inFront);
    return d.at(d.byteAt(frame.scratch(), header), at, d.f32Type());
  }
  Value times(Value vector, Value x) { return d.mulF(vector, d.splat(x, width)); }

  const AttentionProblem &p;
  kernel::AttentionOp op;
  unsigned width, lanes, heads;
  Shape shape;
  unsigned columns;
  std::vector<BodyEmitter> ofHead;
  Value tid, group, inner, block, parts, number, from, to;
};

} // namespace

/// The thread's 16 bytes of a line, as f32; zeros past the line's end.
Value FewQueriesAttention::part(const BodyEmitter &line, Value ref, const Expr &offset, unsigned axis, const Expr &extent) {
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

Partial FewQueriesAttention::after(const Partial &before, ArrayRef<Value> scores, ArrayRef<Value> vs) {
  Partial after = before;
  for (Value s : scores)
    after.top = d.maxF(after.top, s);
  Value keep = d.exp2(d.subF(before.top, after.top));
  after.total = d.mulF(before.total, keep);
  after.sums = times(before.sums, keep);
  for (auto [s, v] : llvm::zip(scores, vs)) {
    Value weight = d.exp2(d.subF(s, after.top));
    after.total = d.addF(after.total, weight);
    after.sums = d.fma(v, d.splat(weight, width), after.sums);
  }
  return after;
}

std::vector<Partial> FewQueriesAttention::step(Value firstKey, ArrayRef<Partial> before, ArrayRef<Value> q) {
  unsigned groups = threads / lanes;
  Values inside, keys, ks, vs;
  Value last = d.sub(frame.size(p.roles.keys), d.i64(1));
  for (unsigned u = 0; u < together; ++u) {
    Value key = d.add(d.add(firstKey, d.wide(group)), int64_t(u * groups));
    inside.push_back(d.less(key, to));
    keys.push_back(d.minU(key, last));
    BodyEmitter point = ofHead[0];
    point.bindAxis(info.axes[p.roles.key], keys[u]);
    ks.push_back(part(point, op.getK(), p.roles.k, p.roles.depth, p.roles.depths));
    vs.push_back(part(point, op.getV(), p.roles.v, p.roles.value, p.roles.values));
  }
  std::vector<Partial> out;
  for (unsigned h = 0; h < heads; ++h) {
    Values scores;
    for (unsigned u = 0; u < together; ++u) {
      BodyEmitter point = ofHead[h];
      point.bindAxis(info.axes[p.roles.key], keys[u]);
      scores.push_back(score(point, q[h], ks[u], inside[u]));
    }
    out.push_back(after(before[h], scores, vs));
  }
  return out;
}

static Values flatten(ArrayRef<Partial> partials) {
  Values out;
  for (const Partial &p : partials)
    out.append({p.top, p.total, p.sums});
  return out;
}

static std::vector<Partial> split(ValueRange flat) {
  std::vector<Partial> out;
  for (unsigned i = 0; i < flat.size(); i += 3)
    out.push_back({flat[i], flat[i + 1], flat[i + 2]});
  return out;
}

/// The largest score starts finite, so that groups and rows without any give weights of 0.
std::vector<Partial> FewQueriesAttention::walk() {
  Values q;
  for (const BodyEmitter &line : ofHead)
    q.push_back(part(line, op.getQ(), p.roles.q, p.roles.depth, p.roles.depths));
  std::vector<Partial> init(heads, {d.f32(-1e30), d.f32(0), d.real(d.vector(width, d.f32Type()), 0)});
  return split(d.loop(from, to, d.i64(shape.step()), flatten(init),
                      [&](Value firstKey, ValueRange now) { return flatten(step(firstKey, split(now), q)); }));
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

/// The warps meet in shared memory; a thread finishes a few columns of a head.
void FewQueriesAttention::finish(ArrayRef<Partial> mine) {
  Type f32 = d.f32Type();
  Value sums = frame.sharedArray("sums", f32, warps * heads * columns), tops = frame.sharedArray("tops", f32, warps * heads),
        totals = frame.sharedArray("totals", f32, warps * heads);
  Value first = d.mul(d.shr(tid, 5), heads), lane = d.bitAnd(tid, 31);
  d.when(d.both(d.less(lane, d.i32(lanes)), d.less(inner, d.i32(columns))), [&] {
    for (unsigned h = 0; h < heads; ++h)
      for (unsigned i = 0; i < width; ++i)
        d.store(d.extract(mine[h].sums, i), d.at(sums, d.add(d.add(d.mul(d.add(first, h), columns), inner), i), f32), 4);
  });
  d.when(d.equal(lane, 0), [&] {
    for (unsigned h = 0; h < heads; ++h) {
      d.store(mine[h].top, d.at(tops, d.add(first, h), f32), 4);
      d.store(mine[h].total, d.at(totals, d.add(first, h), f32), 4);
    }
  });
  d.barrier();
  ProductEpilogue epilogue(p.epilogue(), frame, hooks, base);
  unsigned perHead = columns / epilogue.width();
  d.loop(tid, d.i32(heads * perHead), d.i32(threads), [&](Value i) {
    finishColumns(epilogue, d.div(i, perHead), d.mul(d.rem(i, perHead), epilogue.width()), sums, tops, totals);
  });
}

void FewQueriesAttention::finishColumns(ProductEpilogue &epilogue, Value head, Value column, Value array, Value tops, Value totals) {
  Type f32 = d.f32Type();
  Values each, sums(epilogue.width(), d.f32(0));
  Value top, total = d.f32(0);
  auto at = [&](unsigned w) { return d.add(head, w * heads); };
  for (unsigned w = 0; w < warps; ++w) {
    each.push_back(d.load(f32, d.at(tops, at(w), f32), 4));
    top = top ? d.maxF(top, each[w]) : each[w];
  }
  for (unsigned w = 0; w < warps; ++w) {
    Value share = d.exp2(d.subF(each[w], top));
    total = d.fma(d.load(f32, d.at(totals, at(w), f32), 4), share, total);
    for (unsigned i = 0; i < sums.size(); ++i)
      sums[i] = d.fma(d.load(f32, d.at(array, d.add(d.add(d.mul(at(w), columns), column), i), f32), 4), share, sums[i]);
  }
  auto leave = [&] {
    Value place = partAt(d.add(d.mul(block, heads), d.wide(head)), number);
    for (unsigned i = 0; i < sums.size(); ++i)
      d.store(sums[i], d.at(place, d.add(column, inFront + i), f32), 4);
    d.when(d.equal(column, 0), [&] {
      d.store(top, place, 4);
      d.store(total, d.at(place, d.i32(1), f32), 4);
    });
  };
  d.branch(d.equal(parts, 1), [&] { store(epilogue, head, column, total, sums); }, leave);
}

void FewQueriesAttention::store(ProductEpilogue &epilogue, Value head, Value column, Value total, Values sums) {
  base = lineOf(block, head);
  Value inverse = inverseOf(total, d, op);
  for (Value &v : sums)
    v = d.mulF(v, inverse);
  epilogue.store(epilogue.atRow(base.axisValue(info.axes[p.query])), d.wide(column), sums);
}

/// The query and the batch of a block's head (i32).
BodyEmitter FewQueriesAttention::lineOf(Value block, Value head) {
  BodyEmitter line = base;
  Value queries = frame.size(p.roles.queries);
  Values extents;
  for (unsigned axis : p.batchAxes)
    extents.push_back(frame.size(axis == p.roles.sharedAxis ? Expr::floordiv(info.extents[axis], heads) : info.extents[axis]));
  for (auto [axis, i] : llvm::zip(p.batchAxes, delinearize(d, d.div(block, queries), extents)))
    line.bindAxis(info.axes[axis], axis == p.roles.sharedAxis && heads > 1 ? d.add(d.mul(i, heads), d.wide(head)) : i);
  line.bindAxis(info.axes[p.query], d.rem(block, queries));
  return line;
}

/// The block's part of the keys: whole steps. `parts` is how often the launch has all blocks.
void FewQueriesAttention::chooseKeys() {
  Value keys = frame.size(p.roles.keys), all = d.div(d.mul(frame.size(p.roles.batches), frame.size(p.roles.queries)), heads);
  parts = d.div(d.wide(d.gridSize()), all);
  number = d.div(block, all);
  d.when(d.both(d.equal(block, 0), d.equal(tid, 0)), [&] {
    d.when(d.less(d.i64(1), parts), [&] { d.store(parts, frame.scratch(), 8); });
  });
  block = d.rem(block, all);
  Value size = d.mul(d.ceilDiv(d.ceilDiv(keys, parts), shape.step()), shape.step());
  from = d.minU(d.mul(number, size), keys);
  to = d.minU(d.add(from, size), keys);
}

void FewQueriesAttention::emit() {
  tid = d.threadId();
  group = d.div(tid, lanes);
  inner = d.mul(d.rem(tid, lanes), width);
  block = d.wide(d.blockId());
  chooseKeys();
  for (unsigned h = 0; h < heads; ++h)
    ofHead.push_back(lineOf(block, d.i32(h)));
  std::vector<Partial> mine = walk();
  for (Partial &one : mine)
    one = meetInWarp(one);
  finish(mine);
}

/// A thread brings a few columns of a line together, always in the parts' order.
void FewQueriesAttention::emitMeeting() {
  ProductEpilogue epilogue(p.epilogue(), frame, hooks, base);
  Type f32 = d.f32Type();
  unsigned perLine = columns / epilogue.width();
  Value index = d.add(d.mul(d.wide(d.blockId()), meetingThreads), d.wide(d.threadId())), line = d.div(index, perLine);
  parts = d.load(d.i64Type(), frame.scratch(), 8);
  d.when(d.less(line, d.mul(frame.size(p.roles.batches), frame.size(p.roles.queries))), [&] {
    Value column = d.mul(d.narrow(d.rem(index, perLine)), epilogue.width());
    auto word = [&](Value number, Value at) { return d.load(f32, d.at(partAt(line, number), at, f32), 4); };
    Value top = d.loop(d.i64(0), parts, d.i64(1), Values{d.f32(-1e30)}, [&](Value number, ValueRange now) {
      return Values{d.maxF(now[0], word(number, d.i32(0)))};
    })[0];
    Values sums = d.loop(d.i64(0), parts, d.i64(1), Values(1 + epilogue.width(), d.f32(0)), [&](Value number, ValueRange now) {
      Value share = d.exp2(d.subF(word(number, d.i32(0)), top));
      Values out = {d.fma(word(number, d.i32(1)), share, now[0])};
      for (unsigned i = 0; i < epilogue.width(); ++i)
        out.push_back(d.fma(word(number, d.add(column, inFront + i)), share, now[1 + i]));
      return out;
    });
    block = d.div(line, heads);
    store(epilogue, d.narrow(d.rem(line, heads)), column, sums[0], Values(llvm::drop_begin(sums)));
  });
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

/// Nothing where a warp has no room for a line.
static std::optional<Shape> shapeOf(const AttentionProblem &p, const lower::BodyInfo &info) {
  Shape shape{pieceOf(p, info)};
  if (!shape.width || !p.roles.depths.constant() || !p.roles.values.constant())
    return std::nullopt;
  int64_t columns = *p.roles.values.constant();
  while (shape.lanes * shape.width < std::max(*p.roles.depths.constant(), columns))
    shape.lanes *= 2;
  for (unsigned heads = 2; heads <= mostHeads && warps * heads * columns <= mostSums; ++heads)
    if (p.roles.sharing % heads == 0)
      shape.heads = heads;
  return shape.lanes <= 32 ? std::optional(shape) : std::nullopt;
}

/// Of the launch of single queries: fewer blocks than the machine takes have parts of the keys.
static void planSingle(PlanFunction &plan, const AttentionProblem &p, const Shape &shape, unsigned entry) {
  DeviceBuilder &h = plan.d;
  auto largest = [&](Value x, Value y) { return h.b.create<arith::MaxSIOp>(h.loc, x, y).getResult(); };
  Value one = plan.constant(1), none = plan.constant(0), lines = plan.size(p.roles.batches * p.roles.queries);
  Value blocks = h.div(lines, shape.heads), wanted = h.mul(plan.processors(), shape.blocksPerProcessor());
  Value most = h.div(plan.size(p.roles.keys), leastSteps * shape.step());
  Value parts = largest(one, h.minU(h.div(wanted, largest(one, blocks)), most)), cut = h.less(one, parts);
  int64_t columns = *p.roles.values.constant();
  plan.set(LATHE_CUDA_ENTRY, int64_t(entry));
  plan.set(LATHE_CUDA_GRID, h.mul(blocks, parts));
  plan.set(LATHE_CUDA_BLOCK, threads);
  plan.set(LATHE_CUDA_SHARED, 0);
  plan.set(LATHE_CUDA_SCRATCH, h.select(cut, h.add(h.mul(h.mul(lines, parts), (columns + inFront) * 4), header), none));
  plan.follow(plan.constant(entry + 1), h.select(cut, h.ceilDiv(h.mul(lines, columns), meetingThreads), none),
              plan.constant(meetingThreads));
}

llvm::Expected<llvm::StringRef> cuda::addFewQueriesEntry(Generator &g, const AttentionProblem &p, const AttentionWays &ways, unsigned numMaps) {
  static constexpr llvm::StringLiteral name = "attention_few_queries", meeting = "attention_few_queries_meet";
  std::optional<Shape> shape = shapeOf(p, g.info);
  Value few = shape ? ways.single(g.plan) : Value();
  if (!few)
    return "";
  g.plan.d.when(few, [&] { planSingle(g.plan, p, *shape, g.entries.size()); });
  KernelFrame frame(g.info, g.device, name, threads, g.sm, numMaps, g.dependent());
  frame.fitBlocks(shape->blocksPerProcessor());
  FewQueriesAttention attention(p, frame, *shape);
  attention.emit();
  if (llvm::Error e = g.addEntry(frame, name, attention.error()))
    return std::move(e);
  KernelFrame behind(g.info, g.device, meeting, meetingThreads, g.sm, numMaps, g.dependent());
  FewQueriesAttention meet(p, behind, *shape);
  meet.emitMeeting();
  if (llvm::Error e = g.addEntry(behind, meeting, meet.error()))
    return std::move(e);
  return name;
}
