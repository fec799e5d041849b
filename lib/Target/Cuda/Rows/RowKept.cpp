//===- RowKept.cpp - Rows that wait in shared memory for their next pass ----===//
//
// A thread puts what it has read into places of its own and takes it from there in later passes: no barrier is needed, registers are free for what is
// on its way, and blocks of several rows overlap on a multiprocessor. Blocks of a cluster have a part of the row each.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using shape::Expr;

void RowEmitter::beginKept() {
  kept = readAgain(info, axes, roots);
  keptBase = frame.dynamicShared();
  // Accesses of a block's threads: a multiple of what they read at once.
  Value count = chunksOf(axes.reduced), each = d.mul(unit, int64_t(s.ahead));
  keptSlots = d.narrow(d.mul(d.ceilDiv(count, each), int64_t(s.ahead) * s.threads));
}

/// Where the slot's access of a load lies: all accesses of the first load come first.
Value RowEmitter::placeOf(unsigned load, Value slot) {
  unsigned before = 0;
  for (unsigned i = 0; i < load; ++i)
    before += lower::bytesOfAccess(kept[i], s.width);
  Value first = d.mul(d.i32(before), keptSlots);
  return d.byteAt(keptBase, d.add(first, d.mul(slot, int64_t(lower::bytesOfAccess(kept[load], s.width)))));
}

void RowEmitter::visitKept(const lower::RowPass &pass, const llvm::SmallPtrSetImpl<Operation *> &needed, MutableArrayRef<Chunk> points,
                           Value slot, Values &sums) {
  auto slotOf = [&](unsigned i) { return d.add(slot, int64_t(i) * s.threads); };
  SmallVector<std::pair<Value, Value>> toStore;
  for (auto [k, load] : llvm::enumerate(kept)) {
    if (!needed.contains(load))
      continue;
    for (auto [i, c] : llvm::enumerate(points)) {
      Value place = placeOf(k, slotOf(i));
      if (!isKept.contains(load))
        toStore.push_back({c.point.emitLanes(load.getResult()), place});
      else
        c.point.bindValue(load.getResult(), d.load(d.vector(s.width, load.getType()), place, lower::bytesOfAccess(load, s.width)));
    }
  }
  for (auto [value, place] : toStore)
    d.store(value, place, getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth() / 8 * s.width);
  // What else is read is on its way before the first result is stored: a store may be to what a later one reads, for all that the compiler knows.
  for (Chunk &c : points)
    for (Operation *op : info.ops)
      if (auto load = dyn_cast<kernel::LoadOp>(op); load && needed.contains(op) && !load.getPredicate() && !llvm::is_contained(kept, load))
        c.point.emitLanes(load.getResult());
  for (Chunk &c : points) {
    Value *accumulator = sums.data();
    for (Operation *root : pass.roots)
      emitRoot(root, c.point, c.ok, isa<kernel::ReduceOp>(root) ? accumulator++ : nullptr);
  }
  requestNext(pass, points, slot);
}

/// Whether a load's accesses, of 4, 8 or 16 bytes, can come to shared memory by themselves.
bool RowEmitter::comesByItself(kernel::LoadOp load) {
  constexpr unsigned least = 4, most = 16;
  unsigned piece = lower::bytesOfAccess(load, s.width);
  if (s.lane < 0 || load.getPredicate() || !load.getIndices().empty() || piece < least || piece > most)
    return false;
  std::optional<Expr::Linear> along = info.exprOf(load).linearIn(info.axes[s.lane]);
  return along && along->coefficient.isOne() && load.getType() == cast<kernel::RefType>(load.getRef().getType()).getElementType();
}

void RowEmitter::request(kernel::LoadOp load, BodyEmitter &point, Value slot) {
  unsigned number = llvm::find(kept, load) - kept.begin(), bytes = lower::bytesOfAccess(load, s.width);
  Value to = d.sharedAddress(placeOf(number, slot));
  const char *cache = bytes == 16 ? "cg" : "ca"; // whole lines alone may pass by the first level
  d.ptx(llvm::formatv("cp.async.{0}.shared.global [$0], [$1], {1};", cache, bytes).str(), "r,l,~{memory}", {to, point.addressOf(load)});
}

/// All of a row is on its way at once, without registers to wait in. A thread waits for its own accesses alone, so that warps which have theirs go on: one
/// copy for many threads (cp.async.bulk), for which all wait, takes fewer instructions and more time.
void RowEmitter::requestRow() {
  constexpr int64_t together = 4;
  if (schedule::gpuOf(frame.sm).gpu.asyncCopies)
    for (kernel::LoadOp load : kept)
      if (comesByItself(load))
        isKept.insert(load);
  if (isKept.empty())
    return;
  Value step = d.narrow(unit);
  auto some = [&](Value from, Value to, Value slot, int64_t count) {
    return d.loop(from, to, d.mul(step, count), Values{from, slot}, [&](Value chunk, ValueRange carried) {
      for (int64_t i = 0; i < count; ++i) {
        BodyEmitter point = pointAt(axes.reduced, d.wide(d.add(chunk, d.mul(step, i))));
        for (kernel::LoadOp load : kept)
          if (isKept.contains(load))
            request(load, point, d.add(carried[1], i * s.threads));
      }
      return Values{d.add(chunk, d.mul(step, count)), d.add(carried[1], count * s.threads)};
    });
  };
  Value end = d.narrow(chunksOf(axes.reduced));
  Values rest = some(d.narrow(inUnit), d.sub(end, d.mul(step, together - 1)), d.threadId(), together);
  some(rest[0], end, rest[1], 1);
}

void RowEmitter::awaitKept() {
  if (!isKept.empty())
    d.ptx("cp.async.wait_all;");
}

llvm::SmallPtrSet<Operation *, 16> RowEmitter::neededBy(const lower::RowPass &pass) {
  llvm::SmallPtrSet<Operation *, 16> needed;
  for (Operation *root : pass.roots)
    addNeeded(info, axes, root, needed);
  return needed;
}

void RowEmitter::findLastReads(const std::vector<std::vector<lower::RowPass>> &levels) {
  for (const std::vector<lower::RowPass> &level : levels)
    for (const lower::RowPass &pass : level) {
      llvm::SmallPtrSet<Operation *, 16> needed = neededBy(pass);
      for (Operation *load : isKept)
        if (needed.contains(load))
          lastRead[load] = &pass;
    }
}

/// A block, or a cluster of them, that has several rows asks for the next one's elements where a place is free of those before: what is stored of a row and
/// what is read of the next one are on their way together.
void RowEmitter::requestNext(const lower::RowPass &pass, ArrayRef<Chunk> points, Value slot) {
  SmallVector<kernel::LoadOp> free;
  for (kernel::LoadOp load : kept)
    if (lastRead.lookup(load) == &pass)
      free.push_back(load);
  if (free.empty())
    return;
  d.when(hasNext, [&] {
    for (auto [i, c] : llvm::enumerate(points)) {
      auto ask = [&, i = i, &c = c] {
        BodyEmitter point = pointOf(*next, axes.reduced, c.index);
        for (kernel::LoadOp load : free)
          request(load, point, d.add(slot, int64_t(i) * s.threads));
      };
      c.ok ? d.when(c.ok, ask) : ask();
    }
  });
}

/// A block's rows, or a cluster's, as far apart as there are of them.
void RowEmitter::emitKept() {
  std::vector<std::vector<lower::RowPass>> levels = rowLevels(info, axes, roots);
  const BodyEmitter ofNone = base;
  Value first = bindThread();
  bindRow(first);
  beginKept();
  if (s.clusters)
    exchange.emplace(frame, sharers);
  requestRow();
  if (exchange)
    exchange->ready();
  Expr rows = extentOf(info, axes.rows);
  if (!schedule::takesTurns(s, schedule::gpuOf(frame.sm), rows, extentOf(info, axes.reduced))) {
    awaitKept();
    return emitPasses(levels);
  }
  findLastReads(levels);
  Value count = frame.size(rows), groups = d.wide(s.clusters ? d.div(d.gridSize(), sharers) : d.gridSize());
  d.loop(first, count, groups, Values{d.i32(0)}, [&](Value row, ValueRange carried) {
    Value after = d.add(row, groups);
    hasNext = d.less(after, count);
    base = ofNone;
    bindRow(after);
    next = base;
    base = ofNone;
    bindRow(row);
    awaitKept();
    if (exchange)
      exchange->turn = carried[0];
    emitPasses(levels);
    d.barrier(); // the first warps write the next row's sums where the last ones may still read this one's
    return Values{exchange ? exchange->turn : Value(carried[0])};
  });
}

/// Several accesses of a thread at once while there are so many; then the rest of them, each with a test.
Values RowEmitter::keptPass(const lower::RowPass &pass, Values sums) {
  int64_t ahead = s.ahead;
  llvm::SmallPtrSet<Operation *, 16> needed = neededBy(pass);
  // Rows that are kept are short: numbers of 32 bits, which make addresses by one instruction each, where those of 64 bits become pointers that all wait in registers.
  Value end = d.narrow(chunksOf(pass.inner)), last = d.sub(end, d.i32(1)), step = d.narrow(unit), stride = d.mul(step, ahead);
  auto round = [&](Value chunk, ValueRange carried, bool tested) {
    Values now(carried);
    Value slot = now.pop_back_val();
    SmallVector<Chunk> points;
    for (int64_t i = 0; i < ahead; ++i) {
      Value index = d.add(chunk, d.mul(step, i)), ok;
      if (tested) {
        ok = d.less(index, end);
        index = d.minU(index, last);
      }
      points.push_back({pointAt(pass.inner, d.wide(index)), ok, d.wide(index)});
    }
    visitKept(pass, needed, points, slot, now);
    now.push_back(d.add(slot, ahead * s.threads));
    return now;
  };
  sums.push_back(d.threadId());
  Value whole = d.sub(end, d.mul(step, ahead - 1)), first = d.narrow(inUnit);
  sums = d.loop(first, whole, stride, sums, [&](Value chunk, ValueRange carried) { return round(chunk, carried, false); });
  Value rounds = d.div(d.sub(sums.back(), d.threadId()), int64_t(s.threads));
  Value rest = d.add(first, d.mul(rounds, step));
  sums = d.loop(rest, end, stride, sums, [&](Value chunk, ValueRange carried) { return round(chunk, carried, true); });
  sums.pop_back();
  isKept.insert(needed.begin(), needed.end());
  return sums;
}
