//===- AttentionSimt.cpp - Attentions on the ordinary cores ----------------===//
//
// A block takes 64 queries and walks over the keys, 64 at a time: scores from tiles in shared memory, the score region at
// each of them, softmax as it goes, weighted values. Any layout, any region, any type; sums are f32.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "../Contraction/TileLoader.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using shape::Expr;

std::optional<AttentionProblem> cuda::attentionProblem(const lower::BodyInfo &info) {
  kernel::AttentionOp attention;
  std::vector<kernel::StoreOp> stores;
  for (Operation *op : info.ops) {
    if (isa<kernel::ReduceOp, kernel::ContractOp>(op))
      return std::nullopt;
    if (auto a = dyn_cast<kernel::AttentionOp>(op))
      attention = a;
    if (auto s = dyn_cast<kernel::StoreOp>(op))
      stores.push_back(s);
  }
  if (!attention || !attention.getType().isF32())
    return std::nullopt;
  for (Value ref : {attention.getQ(), attention.getK(), attention.getV()}) {
    Type t = cast<kernel::RefType>(ref.getType()).getElementType();
    if (!isa<FloatType>(t) || t.getIntOrFloatBitWidth() > 32)
      return std::nullopt;
  }
  std::optional<lower::AttentionRoles> roles = lower::AttentionRoles::of(info, attention);
  if (!roles || !roles->query)
    return std::nullopt;
  lower::AxisSet all = roles->batch | lower::AxisSet(1) << *roles->query | lower::AxisSet(1) << roles->value;
  for (kernel::StoreOp s : stores)
    if (info.domainOf(s) != all)
      return std::nullopt;
  return AttentionProblem{attention, *roles, *roles->query, lower::axesIn(info, roles->batch), stores};
}

AttentionWays::AttentionWays(const Generator &g) {
  kernel::GenericOp kernel = g.info.kernel;
  std::vector<schedule::Candidate> candidates;
  for (schedule::CaseAttr c : schedule::casesOf(kernel))
    candidates.push_back({schedule::conditionOf(c), c.getSchedule(), Expr::unknown()});
  if (candidates.empty()) {
    schedule::Choice choice;
    schedule::proposeAttention(g.info, g.machine(), candidates, choice);
  }
  for (const schedule::Candidate &c : candidates) {
    auto asked = dyn_cast<schedule::AttentionAttr>(c.schedule);
    ways.push_back({c.when, asked ? asked : schedule::AttentionAttr::get(kernel.getContext(), -1, -1)});
  }
}

schedule::AttentionAttr AttentionWays::tile() const {
  for (const Way &w : llvm::reverse(ways))
    if (!w.isSingle())
      return w.asked;
  return schedule::AttentionAttr::get(ways.back().asked.getContext(), -1, -1);
}

Value AttentionWays::single(PlanFunction &plan) const {
  if (llvm::none_of(ways, [](const Way &w) { return w.isSingle(); }))
    return {};
  Value out = plan.d.i1(ways.back().isSingle());
  for (const Way &w : llvm::reverse(ArrayRef(ways).drop_back()))
    out = plan.d.select(plan.holds(w.when), plan.d.i1(w.isSingle()), out);
  return out;
}

void AttentionWays::tell(Generator &g, unsigned queries, StringRef tiles, StringRef single) const {
  for (const Way &w : ways) {
    if (w.isSingle() ? !single.empty() : w.asked.getQueries() < 0 || w.asked.getQueries() == int64_t(queries))
      g.ways.push_back({w.when, "", w.asked, (w.isSingle() ? single : tiles).str()});
  }
}

Value cuda::modifiedScore(BodyEmitter point, DeviceBuilder &d, kernel::AttentionOp op, Value raw) {
  Block &region = op.getScore().front();
  point.bindValue(region.getArgument(0), d.convertF(raw, region.getArgument(0).getType()));
  return d.convertF(point.emit(region.getTerminator()->getOperand(0)), d.f32Type());
}

Value cuda::inverseOf(Value total, DeviceBuilder &d, kernel::AttentionOp op) {
  Value inverse = d.reciprocal(total);
  if (!op.getZeroMasked())
    return inverse;
  Value empty = d.b.create<arith::CmpFOp>(d.loc, arith::CmpFPredicate::OEQ, total, d.f32(0));
  return d.select(empty, d.f32(0), inverse);
}

namespace {

constexpr unsigned tileQueries = schedule::threadQueries, tileKeys = schedule::threadKeys, tileDepth = 32, tileValues = 16, threads = 256;
constexpr unsigned mostColumns = 128; ///< of V that a block weighs: a row of them lies in shared memory and in registers

/// Wide values are shared out among blocks, which compute the scores each for itself.
unsigned columnsFor(const Expr &values) {
  std::optional<int64_t> count = values.constant();
  return count ? std::min<unsigned>(llvm::alignTo(*count, 64), mostColumns) : 64;
}

class SimtAttention : public EntryEmitter {
public:
  SimtAttention(const AttentionProblem &p, KernelFrame &frame)
      : EntryEmitter(frame), p(p), op(p.op), columns(columnsFor(p.roles.values)),
        q(frame, {op.getQ(), p.roles.q, {p.query}, {p.roles.depth}, p.roles.queries, p.roles.depths, tileQueries, tileDepth, "q"}),
        k(frame, {op.getK(), p.roles.k, {p.roles.key}, {p.roles.depth}, p.roles.keys, p.roles.depths, tileKeys, tileDepth, "k"}),
        v(frame, {op.getV(), p.roles.v, {p.roles.value}, {p.roles.key}, p.roles.values, p.roles.keys, columns, tileValues, "v"}) {}
  void emit();

private:
  Values scores(Value firstKey);
  void putWeights(ArrayRef<Value> weights);
  Value overRow(Value x, bool largest);
  Values weightedValues(Value firstKey, ValueRange sums);
  void storeRows(ArrayRef<Value> sums, ArrayRef<Value> totals);

  const AttentionProblem &p;
  kernel::AttentionOp op;
  unsigned columns;
  TileLoader q, k, v;
  Value tx, ty, q0, firstColumn, weightsBuffer;
};

} // namespace

/// The thread's 4 x 4 modified scores, times log2 e; -inf past the last key.
Values SimtAttention::scores(Value firstKey) {
  k.locate(base, firstKey);
  Values zeros(16, d.f32(0));
  Values sums = d.loop(d.i64(0), frame.size(p.roles.depths), d.i64(tileDepth), zeros, [&](Value k0, ValueRange now) {
    Values qs = q.load(k0), ks = k.load(k0);
    d.barrier();
    q.put(qs);
    k.put(ks);
    d.barrier();
    Values out(now);
    for (unsigned kk = 0; kk < tileDepth; ++kk) {
      Value x = q.four(d.i32(kk), d.mul(ty, 4)), y = k.four(d.i32(kk), d.mul(tx, 4));
      for (unsigned i = 0; i < 16; ++i)
        out[i] = d.fma(d.extract(x, i / 4), d.extract(y, i % 4), out[i]);
    }
    return out;
  });
  Value queries = frame.size(p.roles.queries), keys = frame.size(p.roles.keys);
  for (unsigned i = 0; i < 4; ++i) {
    Value row = d.minU(d.add(q0, d.wide(d.add(d.mul(ty, 4), i))), d.sub(queries, d.i64(1)));
    for (unsigned j = 0; j < 4; ++j) {
      Value key = d.add(firstKey, d.wide(d.add(d.mul(tx, 4), j))), inside = d.less(key, keys);
      BodyEmitter point = base;
      point.bindAxis(info.axes[p.query], row);
      point.bindAxis(info.axes[p.roles.key], d.minU(key, d.sub(keys, d.i64(1))));
      Value s = d.mulF(modifiedScore(point, d, op, sums[4 * i + j]), d.f32(log2E));
      sums[4 * i + j] = d.select(inside, s, d.f32(-INFINITY));
    }
  }
  return sums;
}

/// Combines the 16 threads that share rows.
Value SimtAttention::overRow(Value x, bool largest) {
  for (unsigned m = 8; m; m /= 2) {
    Value other = d.shuffleXor(x, m);
    x = largest ? d.maxF(x, other) : d.addF(x, other);
  }
  return x;
}

void SimtAttention::putWeights(ArrayRef<Value> weights) {
  Type four = d.vector(4, d.f32Type());
  for (unsigned j = 0; j < 4; ++j) {
    Value column = d.real(four, 0);
    for (unsigned i = 0; i < 4; ++i)
      column = d.insert(column, weights[4 * i + j], i);
    Value at = d.add(d.mul(d.add(d.mul(tx, 4), j), tileQueries + 4), d.mul(ty, 4));
    d.store(column, d.at(weightsBuffer, at, d.f32Type()), 16);
  }
}

Values SimtAttention::weightedValues(Value firstKey, ValueRange sums) {
  unsigned perRow = columns / 16;
  Type four = d.vector(4, d.f32Type());
  return d.loop(d.i32(0), d.i32(tileKeys), d.i32(tileValues), sums, [&](Value k0, ValueRange now) {
    Values loaded = v.load(d.add(firstKey, d.wide(k0)));
    d.barrier();
    v.put(loaded);
    d.barrier();
    Values out(now);
    for (unsigned kk = 0; kk < tileValues; ++kk) {
      Value at = d.add(d.mul(d.add(k0, kk), tileQueries + 4), d.mul(ty, 4));
      Value weight = d.load(four, d.at(weightsBuffer, at, d.f32Type()), 16);
      for (unsigned c = 0; c < perRow; c += 4) {
        Value x = v.four(d.i32(kk), d.add(d.mul(tx, 4), 16 * c));
        for (unsigned i = 0; i < 16; ++i) {
          Value &sum = out[i / 4 * perRow + c + i % 4];
          sum = d.fma(d.extract(weight, i / 4), d.extract(x, i % 4), sum);
        }
      }
    }
    return out;
  });
}

void SimtAttention::storeRows(ArrayRef<Value> sums, ArrayRef<Value> totals) {
  ProductEpilogue epilogue(p.epilogue(), frame, hooks, base);
  unsigned perRow = columns / 16, width = epilogue.width();
  Value queries = frame.size(p.roles.queries), values = frame.size(p.roles.values);
  for (unsigned i = 0; i < 4; ++i) {
    Value row = d.add(q0, d.wide(d.add(d.mul(ty, 4), i)));
    Value inverse = inverseOf(totals[i], d, op);
    d.when(d.less(row, queries), [&] {
      ProductEpilogue::Row point = epilogue.atRow(row);
      for (unsigned c = 0; c < perRow; c += width) {
        Value column = d.add(firstColumn, d.wide(d.add(d.mul(tx, 4), c / 4 * 64 + c % 4)));
        Values out;
        for (unsigned w = 0; w < width; ++w)
          out.push_back(d.mulF(sums[i * perRow + c + w], inverse));
        d.when(d.less(column, values), [&] { epilogue.store(point, column, out); });
      }
    });
  }
}

void SimtAttention::emit() {
  Value tid = d.threadId(), block = d.wide(d.blockId());
  tx = d.rem(tid, 16);
  ty = d.div(tid, 16);
  Value parts = d.ceilDiv(frame.size(p.roles.values), columns), tiles = d.ceilDiv(frame.size(p.roles.queries), tileQueries);
  firstColumn = d.mul(d.rem(block, parts), columns);
  block = d.div(block, parts);
  q0 = d.mul(d.rem(block, tiles), tileQueries);
  bindBatch(base, p.batchAxes, d.div(block, tiles));
  weightsBuffer = frame.sharedArray("weights", d.f32Type(), tileKeys * (tileQueries + 4));
  q.locate(base, q0);
  unsigned perRow = columns / 16;
  // Per row: the largest score, the sum of weights; then the sums of weighted values. The largest score starts finite, so
  // that rows without any give weights of 0.
  Values init(4, d.f32(-1e30));
  init.append(4 + 4 * perRow, d.f32(0));
  Values out = d.loop(d.i64(0), frame.size(p.roles.keys), d.i64(tileKeys), init, [&](Value firstKey, ValueRange now) {
    Values s = scores(firstKey), state(now), sums;
    v.locate(base, firstColumn);
    for (unsigned i = 0; i < 4; ++i) {
      Value top = s[4 * i];
      for (unsigned j = 1; j < 4; ++j)
        top = d.maxF(top, s[4 * i + j]);
      top = d.maxF(now[i], overRow(top, true));
      Value keep = d.exp2(d.subF(now[i], top)), total;
      for (unsigned j = 0; j < 4; ++j) {
        s[4 * i + j] = d.exp2(d.subF(s[4 * i + j], top));
        total = total ? d.addF(total, s[4 * i + j]) : s[4 * i + j];
      }
      state[i] = top;
      state[4 + i] = d.fma(now[4 + i], keep, overRow(total, false));
      for (unsigned c = 0; c < perRow; ++c)
        sums.push_back(d.mulF(now[8 + i * perRow + c], keep));
    }
    d.barrier(); // the last tile's weights have been read
    putWeights(s);
    Values after = weightedValues(firstKey, sums);
    llvm::copy(after, state.begin() + 8);
    return state;
  });
  storeRows(ArrayRef<Value>(out).drop_front(8), ArrayRef<Value>(out).slice(4, 4));
}

llvm::Expected<bool> cuda::generateSimtAttention(Generator &g) {
  std::optional<AttentionProblem> p = attentionProblem(g.info);
  constexpr int64_t narrowest = 4;
  if (!p || p->roles.values.constant().value_or(narrowest) < narrowest || p->roles.depths.constant().value_or(narrowest) < narrowest)
    return false;
  PlanFunction &plan = g.plan;
  plan.set(LATHE_CUDA_GRID, plan.size(p->roles.batches * Expr::ceildiv(p->roles.queries, tileQueries) * Expr::ceildiv(p->roles.values, columnsFor(p->roles.values))));
  plan.set(LATHE_CUDA_GRID + 1, 1);
  plan.set(LATHE_CUDA_GRID + 2, 1);
  plan.set(LATHE_CUDA_BLOCK, threads);
  KernelFrame frame(g.info, g.device, "attention_simt", threads, g.sm, 0, g.dependent());
  SimtAttention attention(*p, frame);
  attention.emit();
  if (llvm::Error e = g.addEntry(frame, "attention_simt", attention.error()))
    return e;
  g.computes = plan.d.i1(true);
  AttentionWays ways(g);
  llvm::Expected<llvm::StringRef> single = addFewQueriesEntry(g, *p, ways, 0);
  if (!single)
    return single.takeError();
  ways.tell(g, tileQueries, "attention_simt", *single);
  return true;
}
