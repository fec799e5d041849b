//===- AttentionHopper.cpp - Attentions on sm_90a's tensor cores -----------===//
//
// A block takes 128 queries. One warpgroup brings tiles of keys and values, two multiply, 64 queries each: the scores of one
// tile overlap the weighted values of the one before it. Weights never leave registers.
//
//===----------------------------------------------------------------------===//

#include "AttentionScore.h"
#include "../Contraction/FragmentEpilogue.h"
#include "../HopperOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using shape::Expr;

namespace {

constexpr unsigned threads = 384, consumerThreads = 256, queriesPerBlock = schedule::groupQueries, stages = 2;
constexpr unsigned producerRegisters = 24, consumerRegisters = 240;
constexpr int64_t mostFirst = 1 << 24;

/// A dimension of a map beyond the first two: a batch axis, divided where several of its points share data.
struct BatchDimension {
  unsigned axis;
  int64_t shared;
};
struct AttentionMap {
  MapSpec spec;
  int64_t first; ///< Where the inner axis begins in a line: queries, keys and values of one product lie beside one another.
  std::vector<BatchDimension> batch;
};

enum Kind { Keys, Values_ };

class HopperAttention : public EntryEmitter {
public:
  HopperAttention(const AttentionProblem &p, unsigned keysPerTile, KernelFrame &frame, ArrayRef<AttentionMap> maps)
      : EntryEmitter(frame), p(p), op(p.op), form(op), maps(maps), depth(padded(p.roles.depths)), columns(padded(p.roles.values)),
        keysPerTile(keysPerTile), element(maps[0].spec.element) {}
  void emit();
  /// Heads in shared memory: pieces of 64 halves, the reach of a swizzle.
  static unsigned padded(const Expr &e) { return llvm::alignTo(*e.constant(), 64); }
  /// What is multiplied of a head: whole steps of a product; columns that the epilogue takes together.
  static unsigned usedDepth(const Expr &e) { return llvm::alignTo(*e.constant(), 16); }
  static unsigned usedColumns(const Expr &e) { return llvm::alignTo(*e.constant(), epilogueColumns); }
  static unsigned widest(const AttentionProblem &p) { return std::max(padded(p.roles.depths), padded(p.roles.values)); }
  static unsigned sharedBytes(const AttentionProblem &p, unsigned keys) {
    unsigned depth = padded(p.roles.depths), columns = padded(p.roles.values);
    return queriesPerBlock * depth * 2 + stages * keys * (depth + columns) * 2 + 8 * epilogueBytesPerWarp + 128 + 1024;
  }

private:
  void prepare();
  void produce();
  void consume();
  Value barrierOf(Kind kind, bool empty, Value stage);
  std::pair<Value, Value> stageOf(Value step);
  Value tileAt(Value step);
  void bring(unsigned map, Value to, Value rows, unsigned chunkRows, unsigned width, Value barrier);
  void bringTile(Kind kind, Value step);
  void release(Kind kind, Value stage);
  Values multiplyKeys(Value step);
  Values multiplyValues(ArrayRef<Value> sums, ArrayRef<Value> weights, Value step);
  void modify(Values &scores, Value tile, bool whole, bool masked);
  void modifyPoint(BodyEmitter point, Value *scores, Value key, unsigned width, bool masked);
  bool readsAlongKeys();
  void modifyInLoop(Values &scores, Value tile);
  Value seesAll(Value tile);
  void softmax(Values &scores, Value *top, Value *total, Value *keep);
  Values packed(ArrayRef<Value> weights);
  Value quad(Value x, bool largest);
  Value tileCount();

  const AttentionProblem &p;
  kernel::AttentionOp op;
  ScoreForm form;
  std::optional<Expr> lastKey; ///< that a query sees, where the form says so
  ArrayRef<AttentionMap> maps;
  unsigned depth, columns, keysPerTile;
  Type element;
  Value shared, keysAt, valuesAt, epilogueAt, barriers, tid, warp, lane, group, q0, queries, keys, tiles, mine;
};

} // namespace

//===----------------------------------------------------------------------===//
// Common ground
//===----------------------------------------------------------------------===//

/// Tiles of keys that this block needs, at least one.
Value HopperAttention::tileCount() {
  Value count = d.ceilDiv(keys, keysPerTile);
  lastKey = form.lastKey(p, info);
  if (lastKey) {
    BodyEmitter point = base;
    Value lastQuery = d.minU(d.add(q0, queriesPerBlock - 1), d.sub(queries, d.i32(1)));
    point.bindAxis(info.axes[p.query], d.wide(lastQuery));
    Value seen = d.narrow(point.emitExpr(*lastKey + Expr(keysPerTile)));
    seen = d.b.create<arith::MaxSIOp>(d.loc, seen, d.i32(0));
    count = d.minU(count, d.div(seen, keysPerTile));
  }
  return d.b.create<arith::MaxSIOp>(d.loc, count, d.i32(1));
}

void HopperAttention::prepare() {
  shared = d.sharedAddress(frame.dynamicShared());
  keysAt = d.add(shared, queriesPerBlock * depth * 2);
  valuesAt = d.add(keysAt, stages * keysPerTile * depth * 2);
  epilogueAt = d.add(valuesAt, stages * keysPerTile * columns * 2);
  barriers = d.add(epilogueAt, 8 * epilogueBytesPerWarp);
  tid = d.threadId();
  warp = d.warpUniform(d.shr(tid, 5));
  lane = d.bitAnd(tid, 31);
  group = d.shr(warp, 2);
  queries = d.narrow(frame.size(p.roles.queries));
  keys = d.narrow(frame.size(p.roles.keys));
  Value perBatch = d.ceilDiv(queries, queriesPerBlock), block = d.blockId();
  q0 = d.mul(d.rem(block, perBatch), queriesPerBlock);
  bindBatch(base, p.batchAxes, d.wide(d.div(block, perBatch)));
  tiles = tileCount();
  d.when(d.equal(tid, 0), [&] {
    initBarrier(d, barriers, d.i32(1));
    for (Kind kind : {Keys, Values_})
      for (unsigned s = 0; s < stages; ++s) {
        initBarrier(d, barrierOf(kind, false, d.i32(s)), d.i32(1));
        initBarrier(d, barrierOf(kind, true, d.i32(s)), d.i32(8));
      }
    fenceBarrierInit(d);
    for (Value map : frame.maps)
      prefetchMap(d, map);
  });
  d.barrier();
  frame.awaitPrevious();
}

/// The first barrier is the queries'; then full and empty ones.
Value HopperAttention::barrierOf(Kind kind, bool empty, Value stage) {
  return d.add(barriers, d.add(d.mul(stage, 8), 8 + 8 * stages * (2 * kind + empty)));
}

std::pair<Value, Value> HopperAttention::stageOf(Value step) { return {d.rem(step, stages), d.bitAnd(d.div(step, stages), 1)}; }

/// The last tile, which alone may have keys past the end, comes first: the loop over all others tests none.
Value HopperAttention::tileAt(Value step) {
  return d.select(d.equal(step, 0), d.sub(tiles, d.i32(1)), d.sub(step, d.i32(1)));
}

//===----------------------------------------------------------------------===//
// Producer
//===----------------------------------------------------------------------===//

void HopperAttention::bring(unsigned map, Value to, Value rows, unsigned chunkRows, unsigned width, Value barrier) {
  Values batch;
  for (const BatchDimension &b : maps[map].batch)
    batch.push_back(d.div(d.narrow(base.axisValue(info.axes[b.axis])), b.shared));
  for (unsigned c = 0; c < width; c += 64) {
    Values at = {d.i32(maps[map].first + c), rows};
    at.append(batch);
    loadTile(d, d.add(to, c * chunkRows * 2), frame.maps[map], at, barrier);
  }
}

void HopperAttention::bringTile(Kind kind, Value step) {
  auto [stage, phase] = stageOf(step);
  waitFor(d, barrierOf(kind, true, stage), d.bitXor(phase, 1));
  Value full = barrierOf(kind, false, stage);
  unsigned width = kind == Keys ? depth : columns, bytes = keysPerTile * width * 2;
  arriveExpecting(d, full, d.i32(bytes));
  Value to = d.add(kind == Keys ? keysAt : valuesAt, d.mul(stage, bytes));
  bring(1 + kind, to, d.mul(tileAt(step), keysPerTile), keysPerTile, width, full);
}

void HopperAttention::produce() {
  setRegisters(d, producerRegisters, false);
  d.when(d.equal(warp, 0), [&] {
    d.when(d.electOne(), [&] {
      arriveExpecting(d, barriers, d.i32(queriesPerBlock * depth * 2));
      bring(0, shared, q0, queriesPerBlock, depth, barriers);
      bringTile(Keys, d.i32(0));
      d.loop(d.i32(1), tiles, d.i32(1), [&](Value j) {
        bringTile(Keys, j);
        bringTile(Values_, d.sub(j, d.i32(1)));
      });
      bringTile(Values_, d.sub(tiles, d.i32(1)));
    });
  });
}

//===----------------------------------------------------------------------===//
// Consumers
//===----------------------------------------------------------------------===//

void HopperAttention::release(Kind kind, Value stage) {
  d.when(d.equal(lane, 0), [&] { arrive(d, barrierOf(kind, true, stage)); });
}

/// Starts the products of the queries and a tile's keys.
Values HopperAttention::multiplyKeys(Value step) {
  auto [stage, phase] = stageOf(step);
  waitFor(d, barrierOf(Keys, false, stage), phase);
  Value left = describeTile(d, d.add(shared, d.mul(mine, 64 * 128)));
  Value right = describeTile(d, d.add(keysAt, d.mul(stage, keysPerTile * depth * 2)));
  Wgmma product{keysPerTile, element, element};
  Values sums;
  fenceProducts(d);
  for (unsigned k = 0; k < usedDepth(p.roles.depths); k += 16) {
    unsigned chunk = k / 64, inside = k % 64 * 2;
    sums = multiplyShared(d, product, sums, moveTile(d, left, chunk * queriesPerBlock * 128 + inside),
                          moveTile(d, right, chunk * keysPerTile * 128 + inside));
  }
  commitProducts(d);
  return sums;
}

Values HopperAttention::multiplyValues(ArrayRef<Value> before, ArrayRef<Value> weights, Value step) {
  auto [stage, phase] = stageOf(step);
  waitFor(d, barrierOf(Values_, false, stage), phase);
  Value right = describeTile(d, d.add(valuesAt, d.mul(stage, keysPerTile * columns * 2)), keysPerTile * 128);
  Wgmma product{usedColumns(p.roles.values), element, element, /*rightByColumns=*/true};
  Values sums(before.begin(), before.end());
  fenceProducts(d);
  for (unsigned k = 0; k < keysPerTile; k += 16)
    sums = multiplyRegisters(d, product, sums, weights.slice(k / 4, 4), moveTile(d, right, k * 128));
  commitProducts(d);
  return sums;
}

/// Whether the score region reads what lies side by side for neighbouring keys: a bias.
bool HopperAttention::readsAlongKeys() {
  bool reads = false;
  op.getScore().walk([&](kernel::LoadOp load) {
    auto linear = load.getIndices().empty() ? info.exprOf(load).linearIn(info.axes[p.roles.key]) : std::nullopt;
    reads |= linear && linear->coefficient.isOne();
  });
  return reads;
}

/// Of `width` scores at a key and the next one.
void HopperAttention::modifyPoint(BodyEmitter point, Value *scores, Value key, unsigned width, bool masked) {
  Value raw = op.getScore().front().getArgument(0), own = scores[0];
  if (width == 1) {
    point.bindAxis(info.axes[p.roles.key], d.wide(key));
  } else {
    point.bindLane(info.axes[p.roles.key], d.wide(key), width);
    own = d.real(d.vector(width, d.f32Type()), 0);
    for (unsigned i = 0; i < width; ++i)
      own = d.insert(own, scores[i], i);
  }
  point.bindValue(raw, d.convertF(own, raw.getType()));
  Value s = d.convertF(point.emit(form.score), d.f32Type()), seen = masked && form.seen ? point.emit(form.seen) : Value();
  for (unsigned i = 0; i < width; ++i) {
    scores[i] = d.extract(s, i);
    if (seen)
      scores[i] = d.select(d.extract(seen, i), scores[i], d.f32(-INFINITY));
  }
}

/// The score region on every score; -inf past the last key, where the tile may not be whole. `masked`: some may not be seen. What lies side by
/// side is read for both keys of a thread at once.
void HopperAttention::modify(Values &scores, Value tile, bool whole, bool masked) {
  Value warpRow = d.add(d.mul(mine, 64), d.mul(d.bitAnd(warp, 3), 16));
  Value firstRow = d.add(q0, d.add(warpRow, d.shr(lane, 2)));
  Value firstKey = d.add(d.mul(tile, keysPerTile), d.mul(d.bitAnd(lane, 3), 2));
  Value lastQuery = d.sub(queries, d.i32(1)), lastKey = d.sub(keys, d.i32(1));
  unsigned width = whole && readsAlongKeys() ? 2 : 1;
  if (width > 1)
    hooks.setLane(info.axes[p.roles.key], width);
  for (unsigned h = 0; h < 2; ++h) {
    BodyEmitter row = base;
    row.bindAxis(info.axes[p.query], d.wide(d.minU(d.add(firstRow, 8 * h), lastQuery)));
    for (unsigned i = 0; i < scores.size(); i += width) {
      if (i / 2 % 2 != h)
        continue;
      Value key = d.add(firstKey, i / 4 * 8 + i % 2);
      modifyPoint(row, &scores[i], whole ? key : d.minU(key, lastKey), width, masked);
      if (!whole)
        scores[i] = d.select(d.less(key, keys), scores[i], d.f32(-INFINITY));
    }
  }
  hooks.setLane("", 1);
}

/// Whether the block's first query, and so each of them, sees all keys of the tile.
Value HopperAttention::seesAll(Value tile) {
  BodyEmitter point = base;
  point.bindAxis(info.axes[p.query], d.wide(q0));
  Value last = point.emitExpr(*lastKey), end = d.wide(d.mul(d.add(tile, 1), keysPerTile));
  return d.less(d.sub(end, d.i64(1)), d.add(last, d.i64(1)));
}

/// Of a whole tile. Where a mask is a bound that grows with the queries, most tiles lie in front of it.
void HopperAttention::modifyInLoop(Values &scores, Value tile) {
  if (!lastKey)
    return modify(scores, tile, /*whole=*/true, /*masked=*/true);
  auto modified = [&](bool masked) {
    Values own = scores;
    modify(own, tile, /*whole=*/true, masked);
    return own;
  };
  scores = d.choose(seesAll(tile), [&] { return modified(false); }, [&] { return modified(true); });
}

/// Four threads share a row.
Value HopperAttention::quad(Value x, bool largest) {
  for (unsigned m : {1, 2}) {
    Value other = d.shuffleXor(x, m);
    x = largest ? d.maxF(x, other) : d.addF(x, other);
  }
  return x;
}

/// Of the values of a row, in as many chains as hide an operation's latency.
static Value overRow(ArrayRef<Value> values, unsigned row, llvm::function_ref<Value(Value, Value)> combine) {
  constexpr unsigned chains = 4;
  Value partial[chains];
  for (unsigned i = 0, n = 0; i < values.size(); ++i)
    if (i / 2 % 2 == row) {
      Value &mine = partial[n++ % chains];
      mine = mine ? combine(mine, values[i]) : values[i];
    }
  return combine(combine(partial[0], partial[1]), combine(partial[2], partial[3]));
}

/// Scores become weights; what was summed before shrinks by `keep`.
void HopperAttention::softmax(Values &scores, Value *top, Value *total, Value *keep) {
  for (unsigned h = 0; h < 2; ++h) {
    Value largest = overRow(scores, h, [&](Value x, Value y) { return d.maxF(x, y); });
    largest = d.maxF(quad(largest, true), top[h]);
    Value factor = d.f32(form.factor), offset = d.mulF(largest, d.f32(-form.factor));
    keep[h] = d.exp2(d.mulF(d.subF(top[h], largest), factor));
    for (unsigned i = 0; i < scores.size(); ++i) {
      if (i / 2 % 2 != h)
        continue;
      scores[i] = d.exp2(form.isProduct ? d.fma(scores[i], factor, offset) : d.mulF(d.subF(scores[i], largest), factor));
    }
    top[h] = largest;
    total[h] = d.fma(total[h], keep[h], overRow(scores, h, [&](Value x, Value y) { return d.addF(x, y); }));
  }
}

/// Weights in pairs, as a product's left operand.
Values HopperAttention::packed(ArrayRef<Value> scores) {
  Values weights;
  for (unsigned i = 0; i < scores.size(); i += 2) {
    Value pair = d.insert(d.insert(d.real(d.vector(2, d.f32Type()), 0), scores[i], 0), scores[i + 1], 1);
    weights.push_back(d.bitcast(d.convertF(pair, element), d.i32Type()));
  }
  return weights;
}

void HopperAttention::consume() {
  setRegisters(d, consumerRegisters, true);
  mine = d.sub(group, d.i32(1));
  waitFor(d, barriers, d.i32(0));
  Value first = d.i32(0);
  Values scores = waitProducts(d, 0, multiplyKeys(first));
  release(Keys, stageOf(first).first);
  modify(scores, tileAt(first), knownDivisor(p.roles.keys, keysPerTile) == keysPerTile, /*masked=*/true);
  // The largest score starts finite, so that rows without any give weights of 0.
  Value top[2] = {d.f32(-1e30), d.f32(-1e30)}, total[2] = {d.f32(0), d.f32(0)}, keep[2];
  softmax(scores, top, total, keep);
  Values weights = packed(scores);
  unsigned numSums = usedColumns(p.roles.values) / 2, numWeights = weights.size();
  Values carried(numSums, d.f32(0));
  carried.append(weights);
  carried.append({top[0], top[1], total[0], total[1]});
  // The two groups start their products in turns, so that one multiplies while the other computes weights (FlashAttention-3, section 3.1).
  d.when(d.equal(mine, 1), [&] { arriveNamed(d, d.i32(1), consumerThreads); });
  Values out = d.loop(d.i32(1), tiles, d.i32(1), carried, [&](Value j, ValueRange now) {
    d.barrier(d.add(mine, 1), consumerThreads);
    Values state(now);
    ArrayRef<Value> all(state);
    Value before = d.sub(j, d.i32(1));
    Values next = multiplyKeys(j);
    Values sums = multiplyValues(all.take_front(numSums), all.slice(numSums, numWeights), before);
    arriveNamed(d, d.sub(d.i32(2), mine), consumerThreads);
    next = waitProducts(d, 1, next);
    release(Keys, stageOf(j).first);
    modifyInLoop(next, before); // the tile of this step: one less, see tileAt
    Value top[2] = {all[numSums + numWeights], all[numSums + numWeights + 1]};
    Value total[2] = {all[numSums + numWeights + 2], all[numSums + numWeights + 3]}, keep[2];
    softmax(next, top, total, keep);
    // Registers of the weights that are being multiplied are free only now: packed before, the new ones would have the assembler wait for the products
    // in front of all that stands here.
    llvm::append_range(sums, next);
    sums = waitProducts(d, 0, sums);
    Values newWeights = packed(ArrayRef<Value>(sums).drop_front(numSums));
    sums.resize(numSums);
    release(Values_, stageOf(before).first);
    for (unsigned i = 0; i < numSums; ++i)
      sums[i] = d.mulF(sums[i], keep[i / 2 % 2]);
    sums.append(newWeights);
    sums.append({top[0], top[1], total[0], total[1]});
    return sums;
  });
  ArrayRef<Value> all(out);
  Value last = d.sub(tiles, d.i32(1));
  Values sums = waitProducts(d, 0, multiplyValues(all.take_front(numSums), all.slice(numSums, numWeights), last));
  for (unsigned h = 0; h < 2; ++h) {
    Value inverse = inverseOf(quad(all[numSums + numWeights + 2 + h], false), d, op);
    for (unsigned i = 0; i < numSums; ++i)
      if (i / 2 % 2 == h)
        sums[i] = d.mulF(sums[i], inverse);
  }
  ProductEpilogue epilogue(p.epilogue(), frame, hooks, base);
  Value warpRow = d.add(q0, d.add(d.mul(mine, 64), d.mul(d.bitAnd(warp, 3), 16)));
  Value buffer = d.add(epilogueAt, d.mul(d.sub(warp, d.i32(4)), epilogueBytesPerWarp));
  Value values = d.narrow(frame.size(p.roles.values));
  storeFragmentRows(frame, epilogue, {buffer, lane, warpRow, queries, d.i32(0), values}, sums);
}

void HopperAttention::emit() {
  prepare();
  d.branch(d.equal(group, 0), [&] { produce(); }, [&] { consume(); });
}

//===----------------------------------------------------------------------===//
// Which kernels it takes
//===----------------------------------------------------------------------===//

/// How a batch axis enters the offset: as itself or divided by a constant, where several of its points share data.
static std::optional<std::pair<Expr, int64_t>> batchStep(const Expr &offset, const lower::BodyInfo &info, unsigned axis) {
  const std::string &name = info.axes[axis];
  if (!offset.mentions(name))
    return std::make_pair(Expr(0), int64_t(1));
  if (auto linear = offset.linearIn(name))
    return std::make_pair(linear->coefficient, int64_t(1));
  std::optional<int64_t> extent = info.extents[axis].constant();
  for (int64_t shared = 2; extent && shared <= *extent; ++shared) {
    Expr divided = Expr::floordiv(Expr::symbol(name), shared);
    if (*extent % shared || offset.substitute({{name, divided * Expr(shared)}}) != offset)
      continue;
    if (auto linear = offset.substitute({{name, Expr::symbol(name) * Expr(shared)}}).linearIn(name))
      return std::make_pair(linear->coefficient, shared);
  }
  return std::nullopt;
}

static std::optional<AttentionMap> mapOf(const AttentionProblem &p, const lower::BodyInfo &info, Value ref, const Expr &offset,
                                         unsigned lineAxis, unsigned innerAxis) {
  Expr rest = offset;
  auto step = [&](unsigned axis) -> std::optional<Expr> {
    auto linear = rest.linearIn(info.axes[axis]);
    if (!linear || info.axesOf(linear->coefficient))
      return std::nullopt;
    rest = linear->rest;
    return linear->coefficient;
  };
  std::optional<Expr> inner = step(innerAxis), line = step(lineAxis);
  if (!inner || !inner->isOne() || !line || line->isZero() || !isBulkStride(*line, 2))
    return std::nullopt;
  AttentionMap map;
  map.spec.buffer = cast<BlockArgument>(ref).getArgNumber();
  map.spec.element = cast<kernel::RefType>(ref.getType()).getElementType();
  map.spec.dims = {info.extents[innerAxis], info.extents[lineAxis]};
  map.spec.strides = {Expr(0), *line * Expr(2)};
  for (unsigned axis : p.batchAxes) {
    auto found = batchStep(rest, info, axis);
    if (!found || info.axesOf(found->first) || !isBulkStride(found->first, 2))
      return std::nullopt;
    rest = rest.substitute({{info.axes[axis], Expr(0)}});
    if (found->first.isZero())
      continue;
    map.batch.push_back({axis, found->second});
    map.spec.dims.push_back(Expr::floordiv(info.extents[axis], found->second));
    map.spec.strides.push_back(found->first * Expr(2));
  }
  std::optional<int64_t> first = rest.constant();
  if (!first || *first < 0 || *first > mostFirst || map.spec.dims.size() > 5)
    return std::nullopt;
  map.first = *first;
  map.spec.dims[0] = map.spec.dims[0] + rest;
  return map;
}

llvm::Expected<bool> cuda::generateHopperAttention(Generator &g) {
  std::optional<AttentionProblem> p = g.multipliesByGroups() ? attentionProblem(g.info) : std::nullopt;
  if (!p || !p->roles.depths.constant() || !p->roles.values.constant() || *p->roles.depths.constant() > schedule::mostGroupDepth ||
      *p->roles.values.constant() > schedule::mostGroupDepth)
    return false;
  AttentionWays ways(g);
  if (int64_t queries = ways.tile().getQueries(); queries > 0 && queries < queriesPerBlock)
    return false;
  kernel::AttentionOp op = p->op;
  Type element = cast<kernel::RefType>(op.getQ().getType()).getElementType();
  if (!element.isBF16() && !element.isF16())
    return false;
  std::vector<AttentionMap> maps;
  auto add = [&](Value ref, const Expr &offset, unsigned line, unsigned inner, int64_t rows) {
    auto map = mapOf(*p, g.info, ref, offset, line, inner);
    if (!map || map->spec.element != element)
      return false;
    map->spec.box = {64, rows};
    map->spec.box.resize(map->spec.dims.size(), 1);
    maps.push_back(*map);
    return true;
  };
  const lower::AttentionRoles &s = p->roles;
  unsigned keysPerTile = schedule::groupKeys(HopperAttention::widest(*p), ways.tile());
  if (!add(op.getQ(), s.q, p->query, s.depth, queriesPerBlock) || !add(op.getK(), s.k, s.key, s.depth, keysPerTile) ||
      !add(op.getV(), s.v, s.key, s.value, keysPerTile))
    return false;
  PlanFunction &plan = g.plan;
  plan.set(LATHE_CUDA_GRID, plan.size(p->roles.batches * Expr::ceildiv(p->roles.queries, queriesPerBlock)));
  plan.set(LATHE_CUDA_GRID + 1, 1);
  plan.set(LATHE_CUDA_GRID + 2, 1);
  plan.set(LATHE_CUDA_BLOCK, threads);
  plan.set(LATHE_CUDA_SHARED, HopperAttention::sharedBytes(*p, keysPerTile));
  for (const AttentionMap &map : maps)
    plan.addMap(map.spec);
  KernelFrame frame(g.info, g.device, "attention_wgmma", threads, g.sm, 3, g.dependent(/*later=*/true));
  HopperAttention attention(*p, keysPerTile, frame, maps);
  attention.emit();
  if (llvm::Error e = g.addEntry(frame, "attention_wgmma", attention.error()))
    return e;
  llvm::Expected<llvm::StringRef> single = addFewQueriesEntry(g, *p, ways, maps.size());
  if (!single)
    return single.takeError();
  ways.tell(g, queriesPerBlock, "attention_wgmma", *single);
  return true;
}
