//===- RowEmitter.cpp - The body of a row program --------------------------===//

#include "RowEmitter.h"
#include "AtExtremum.h"
#include "Cluster.h"
#include "../Combine.h"
#include "lathe/Lower/RowLevels.h"
#include "RowStrips.h"
#include "RowsTogether.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using shape::Expr;

RowEmitter::RowEmitter(KernelFrame &frame, const schedule::ThreadRows &schedule, lower::RowAxes axes, ArrayRef<Operation *> roots)
    : EntryEmitter(frame), s(schedule), axes(axes), roots(roots) {
  if (s.lane >= 0)
    hooks.setLane(info.axes[s.lane], s.width);
}

void RowEmitter::emit() {
  if (s.rest)
    return emitRest();
  if (s.points > 1)
    return emitLoop();
  if (s.kept && s.layout == schedule::ThreadRows::Block)
    return emitKept();
  std::vector<std::vector<lower::RowPass>> levels = rowLevels(info, axes, roots);
  bindRow(bindThread());
  if (s.kept) {
    beginKept();
    requestRow();
    awaitKept();
  }
  emitPasses(levels);
  if (s.clusters) // others may still read what this block has left for them
    clusterBarrier(d);
}

void RowEmitter::emitPasses(const std::vector<std::vector<lower::RowPass>> &levels) {
  for (const std::vector<lower::RowPass> &level : levels)
    for (const lower::RowPass &pass : level)
      emitPass(pass);
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

/// Axes of a set in the order in which they are flattened: the lane axis runs fastest.
static SmallVector<unsigned> flattened(const lower::BodyInfo &info, AxisSet set, int lane) {
  SmallVector<unsigned> order;
  for (unsigned i = 0; i < info.axes.size(); ++i)
    if (lower::contains(set, i) && int(i) != lane)
      order.push_back(i);
  if (lower::contains(set, lane))
    order.push_back(lane);
  return order;
}

void cuda::bindFlattened(BodyEmitter &point, KernelFrame &frame, const schedule::ThreadRows &s, AxisSet set, Value index) {
  DeviceBuilder &d = frame.d;
  SmallVector<unsigned> order = flattened(frame.info, set, s.lane);
  Values extents;
  for (unsigned axis : order) {
    Value e = frame.size(frame.info.extents[axis]);
    extents.push_back(int(axis) == s.lane ? d.div(e, s.width) : e);
  }
  Values indices = delinearize(d, index, extents);
  for (auto [axis, i] : llvm::zip(order, indices)) {
    if (int(axis) == s.lane)
      point.bindLane(frame.info.axes[axis], d.mul(i, s.width), s.width);
    else
      point.bindAxis(frame.info.axes[axis], i);
  }
}

/// What thread and block say of the row: its number, of the first one where a block takes several in turn.
Value RowEmitter::bindThread() {
  Value tid = d.threadId(), group = d.blockId();
  unit = d.i64(s.unit);
  inBlock = tid;
  if (s.together) {
    sharers = sharersOf(frame);
    group = d.div(d.blockId(), sharers);
    unit = d.mul(d.wide(sharers), s.unit);
  }
  if (s.clusters) {
    sharers = clusterSize(d);
    group = d.div(d.blockId(), sharers);
    unit = d.mul(d.wide(sharers), s.unit);
  }
  Value row = d.wide(group);
  switch (s.layout) {
  case schedule::ThreadRows::Lanes:
    row = s.narrow ? d.wide(d.add(d.mul(group, s.rowsPerBlock()), d.div(tid, s.unit)))
                   : d.add(d.mul(row, s.rowsPerBlock()), d.wide(d.div(tid, s.unit)));
    inBlock = d.rem(tid, s.unit);
    break;
  case schedule::ThreadRows::Block:
    break;
  case schedule::ThreadRows::Columns:
    rowInBlock = d.rem(tid, s.columns);
    row = d.add(d.mul(row, s.columns), d.wide(rowInBlock));
    inBlock = d.div(tid, s.columns);
    break;
  }
  inUnit = d.wide(inBlock);
  if (s.clusters)
    inUnit = d.add(inUnit, d.wide(d.mul(rankInCluster(d), s.unit)));
  if (s.together)
    inUnit = d.add(inUnit, d.wide(d.mul(d.rem(d.blockId(), sharers), s.unit)));
  return row;
}

void RowEmitter::bindRow(Value row) {
  Value count = frame.size(extentOf(info, axes.rows));
  if (s.narrow)
    count = d.wide(d.narrow(count));
  if (lower::contains(axes.rows, s.lane))
    count = d.div(count, s.width);
  if (s.layout != schedule::ThreadRows::Block) {
    // Threads past the end work on the last row, so that shuffles and barriers find everybody, and store nothing.
    rowOk = d.less(row, count);
    row = s.narrow ? d.wide(d.minU(d.narrow(row), d.sub(d.narrow(count), d.i32(1)))) : d.minU(row, d.sub(count, d.i64(1)));
  }
  bindFlattened(base, frame, s, axes.rows, row);
}

BodyEmitter RowEmitter::pointOf(const BodyEmitter &row, AxisSet inner, Value chunk) {
  BodyEmitter point = row;
  bindFlattened(point, frame, s, inner, chunk);
  return point;
}

Value RowEmitter::chunksOf(AxisSet inner) {
  Value count = frame.size(extentOf(info, inner));
  return laneIn(inner) ? d.div(count, s.width) : count;
}

//===----------------------------------------------------------------------===//
// One pass
//===----------------------------------------------------------------------===//

Type RowEmitter::accumulatorType(kernel::ReduceOp op, AxisSet inner) {
  Type element = op.getType();
  // A value that is the same in all lanes counts once for each of them.
  bool wide = lower::contains(info.axesOf(op.getValue()) | info.axesOf(op.getAxes()), s.lane);
  return wide ? d.vector(s.width, element) : element;
}

void RowEmitter::emitPass(const lower::RowPass &pass) {
  if (!pass.inner)
    return storeAtRow(pass.roots);
  std::vector<kernel::ReduceOp> reduces;
  std::vector<Values> partials(1);
  for (Operation *root : pass.roots)
    if (auto r = dyn_cast<kernel::ReduceOp>(root)) {
      reduces.push_back(r);
      partials[0].push_back(identityOf(d, r.getKind(), accumulatorType(r, pass.inner)));
    }
  if (s.kept)
    partials[0] = keptPass(pass, partials[0]);
  else if (s.persistent)
    persistentPass(pass, partials);
  else
    loopedPass(pass, partials);
  for (auto [r, partial] : llvm::zip(reduces, partials[0])) {
    Value v = finish(r, partial);
    if (!s.kept && !s.persistent)
      found[r] = {partial, v, pass.inner, back};
    base.bindValue(r.getResult(), v);
    for (auto &[set, points] : chunks)
      for (Chunk &c : points)
        c.point.bindValue(r.getResult(), v);
  }
}

/// One point for all, so that what several results are made of is computed once. A store may be to what a later result reads, for all that the compiler
/// knows: what some results read is on its way before the first of them is stored.
void RowEmitter::storeAtRow(ArrayRef<Operation *> stores) {
  constexpr size_t together = 8;
  BodyEmitter point = base;
  Value first = s.unit > 1 ? d.equal(inUnit, 0) : Value();
  for (; !stores.empty(); stores = stores.drop_front(std::min(together, stores.size()))) {
    ArrayRef<Operation *> some = stores.take_front(together);
    Values values;
    for (Operation *root : some) {
      bindRoots(point, root);
      values.push_back(point.emit(cast<kernel::StoreOp>(root).getValue()));
    }
    for (auto [root, v] : llvm::zip(some, values))
      storeAt(cast<kernel::StoreOp>(root), v, point, first);
  }
}

/// Those of a row whose length the plan has seen to be at least 1 and no more than there is room for.
void RowEmitter::addOpenChunks(AxisSet inner, std::vector<Chunk> &points) {
  Value total = chunksOf(inner), last = d.sub(total, d.i64(1));
  for (unsigned i = 0; i < s.chunks; ++i) {
    Value index = d.add(inUnit, i * s.unit);
    if (i < s.full)
      points.push_back({pointAt(inner, index), {}});
    else
      points.push_back({pointAt(inner, d.minU(index, last)), d.less(index, total)});
  }
}

void RowEmitter::persistentPass(const lower::RowPass &pass, std::vector<Values> &partials) {
  std::vector<Chunk> &points = chunks[pass.inner];
  if (points.empty() && s.chunks)
    addOpenChunks(pass.inner, points);
  int64_t total = s.chunks ? 0 : *extentOf(info, pass.inner).constant() / (laneIn(pass.inner) ? s.width : 1);
  if (points.empty())
    for (int64_t first = 0; first < total; first += s.unit) {
      Value index = d.add(inUnit, first), ok;
      if (first + s.unit > total) {
        ok = d.less(index, d.i64(total));
        index = d.minU(index, d.i64(total - 1));
      }
      points.push_back({pointAt(pass.inner, index), ok});
    }
  for (Chunk &c : points) {
    Value *accumulator = partials[0].data();
    for (Operation *root : pass.roots)
      emitRoot(root, c.point, c.ok, isa<kernel::ReduceOp>(root) ? accumulator++ : nullptr);
  }
}

/// Chunks from one on, as many at once as are `ahead` while there are so many.
Values RowEmitter::walk(const lower::RowPass &pass, Value from, Value step, Values sums, unsigned ahead) {
  Value end = chunksOf(pass.inner);
  auto visit = [&](Value chunk, Values &now) {
    BodyEmitter point = pointAt(pass.inner, back ? d.sub(d.sub(end, d.i64(1)), chunk) : chunk);
    Value *accumulator = now.data();
    for (Operation *root : pass.roots)
      emitRoot(root, point, Value(), isa<kernel::ReduceOp>(root) ? accumulator++ : nullptr);
  };
  if (ahead > 1) {
    Value whole = d.sub(end, d.mul(step, int64_t(ahead - 1))), stride = d.mul(step, int64_t(ahead));
    Value rounds = d.div(d.b.create<arith::MaxSIOp>(d.loc, d.add(d.sub(whole, from), d.sub(stride, d.i64(1))), d.i64(0)), stride);
    sums = d.loop(from, whole, stride, sums, [&](Value chunk, ValueRange carried) {
      Values now(carried);
      for (unsigned i = 0; i < ahead; ++i)
        visit(d.add(chunk, d.mul(step, int64_t(i))), now);
      return now;
    });
    from = d.add(from, d.mul(rounds, stride));
  }
  return d.loop(from, end, step, sums, [&](Value chunk, ValueRange carried) {
    Values now(carried);
    visit(chunk, now);
    return now;
  });
}

/// Whether the row's extremum, or what is no number, is among the thread's elements.
Value RowEmitter::hasExtremum(const Found &extremum) {
  Value own = extremum.own, all = extremum.all;
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(all.getType()));
  auto vector = dyn_cast<VectorType>(own.getType());
  Value any;
  for (int64_t i = 0; i < (vector ? vector.getNumElements() : 1); ++i) {
    Value x = vector ? d.extract(own, i) : own, y = isa<VectorType>(all.getType()) ? d.extract(all, i) : all;
    Value same = isFloat ? Value(d.b.create<arith::CmpFOp>(d.loc, arith::CmpFPredicate::UEQ, x, y)) : d.equal(x, y);
    any = any ? Value(d.b.create<arith::OrIOp>(d.loc, any, same)) : same;
  }
  return any;
}

/// Of what stands at the row's extremum only those threads go through their elements again that have it; all elements of others are the
/// same value, which counts once for all of them. Null where everybody has to; `turned`: the direction in which they went.
Value RowEmitter::comesAgain(const lower::RowPass &pass, Values &sums, bool &turned) {
  if (pass.roots.size() != sums.size()) // there are stores
    return {};
  Value comes, some = d.less(inUnit, chunksOf(pass.inner));
  Values idle;
  for (auto [root, sum] : llvm::zip(pass.roots, sums)) {
    auto reduce = dyn_cast<kernel::ReduceOp>(root);
    std::optional<AtExtremum> at = reduce ? atExtremum(info, reduce) : std::nullopt;
    auto first = at ? found.find(at->extremum) : found.end();
    if (first == found.end() || first->second.inner != pass.inner || (comes && first->second.back != turned))
      return {};
    turned = first->second.back;
    Value has = hasExtremum(first->second), other = BodyEmitter(base).emit(at->other);
    if (auto vector = dyn_cast<VectorType>(sum.getType()); vector && !isa<VectorType>(other.getType()))
      other = d.splat(other, vector.getNumElements());
    comes = comes ? Value(d.b.create<arith::OrIOp>(d.loc, comes, has)) : has;
    idle.push_back(d.select(some, other, sum));
  }
  for (auto [sum, other] : llvm::zip(sums, idle))
    sum = d.select(comes, sum, other);
  return comes;
}

void RowEmitter::loopedPass(const lower::RowPass &pass, std::vector<Values> &partials) {
  // Of rows side by side a thread has whole accesses, each of another line; of one row by part of a warp the few there are stay in registers.
  unsigned ahead = s.together ? 8 : s.layout == schedule::ThreadRows::Block || lower::contains(axes.rows, s.lane) ? 4 : 1;
  Value from = inUnit;
  bool turned = false;
  if (Value comes = found.empty() ? Value() : comesAgain(pass, partials[0], turned)) {
    from = d.select(comes, from, chunksOf(pass.inner));
    back = turned;
  } else if (!found.empty()) {
    back = s.together && !back; // what a row that caches do not hold ends with is what they have of it
  }
  partials[0] = walk(pass, from, unit, partials[0], ahead);
}

void RowEmitter::emitRoot(Operation *root, BodyEmitter &point, Value ok, Value *accumulator) {
  bindRoots(point, root);
  if (auto r = dyn_cast<kernel::ReduceOp>(root)) {
    Value v = point.emit(r.getValue());
    if (isa<VectorType>(accumulator->getType()))
      v = point.splat(v);
    if (ok && isa<VectorType>(v.getType()) && !lower::contains(axes.rows, s.lane)) {
      // Lanes that are past the end together are one number less to choose each.
      Value all = d.select(ok, combineLanes(d, r.getKind(), v), identityOf(d, r.getKind(), r.getType()));
      *accumulator = d.insert(*accumulator, combine(d, r.getKind(), d.extract(*accumulator, 0), all), 0);
      return;
    }
    if (ok)
      v = d.select(ok, v, identityOf(d, r.getKind(), v.getType()));
    *accumulator = combine(d, r.getKind(), *accumulator, v);
    return;
  }
  auto store = cast<kernel::StoreOp>(root);
  storeAt(store, point.emit(store.getValue()), point, ok);
}

void RowEmitter::storeAt(kernel::StoreOp store, Value v, const BodyEmitter &point, Value ok) {
  storeOnce(d, info, axes.rows, store, v, point, rowOk && ok ? d.both(rowOk, ok) : rowOk ? rowOk : ok);
}

void cuda::storeOnce(DeviceBuilder &d, const lower::BodyInfo &info, AxisSet rows, kernel::StoreOp store, Value v, const BodyEmitter &point, Value ok) {
  Value condition = ok;
  auto require = [&](Value c) { condition = condition ? d.both(condition, c) : c; };
  for (unsigned i = 0; i < info.axes.size(); ++i)
    if (lower::contains(rows & ~info.domainOf(store), i))
      require(d.equal(point.axisValue(info.axes[i]), 0));
  auto put = [&] {
    BodyEmitter inside = point;
    inside.emitStoreOf(store, v);
  };
  if (condition)
    d.when(condition, put);
  else
    put();
}
