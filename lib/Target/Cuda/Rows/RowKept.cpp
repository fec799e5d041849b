//===- RowKept.cpp - Rows that wait in shared memory for their next pass ----===//
//
// A thread puts what it has read into places of its own and takes it from there in later passes: no barrier is needed, registers are free for what is
// on its way, and blocks of several rows overlap on a multiprocessor. Blocks of a cluster have a part of the row each.
//
//===----------------------------------------------------------------------===//

#include "Cluster.h"
#include "../Combine.h"
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
  for (Chunk &c : points) {
    Value *accumulator = sums.data();
    for (Operation *root : pass.roots)
      emitRoot(root, c.point, c.ok, isa<kernel::ReduceOp>(root) ? accumulator++ : nullptr);
  }
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

/// All of a row is on its way at once, without registers to wait in. A thread waits for its own accesses alone, so that warps which have theirs go on: one
/// copy for many threads (cp.async.bulk), for which all wait, takes fewer instructions and more time.
void RowEmitter::requestKept() {
  constexpr int64_t together = 4;
  if (schedule::gpuOf(frame.sm).gpu.asyncCopies)
    for (kernel::LoadOp load : kept)
      if (comesByItself(load))
        isKept.insert(load);
  if (isKept.empty())
    return;
  auto request = [&](Value chunk, Value slot) {
    BodyEmitter point = pointAt(axes.reduced, chunk);
    for (auto [k, load] : llvm::enumerate(kept))
      if (isKept.contains(load)) {
        Value to = d.b.create<LLVM::PtrToIntOp>(d.loc, d.i32Type(), placeOf(k, slot));
        unsigned bytes = lower::bytesOfAccess(load, s.width);
        const char *cache = bytes == 16 ? "cg" : "ca"; // whole lines alone may pass by the first level
        d.ptx(llvm::formatv("cp.async.{0}.shared.global [$0], [$1], {1};", cache, bytes).str(), "r,l,~{memory}", {to, point.addressOf(load)});
      }
  };
  auto some = [&](Value from, Value to, Value slot, int64_t count) {
    return d.loop(from, to, d.mul(unit, count), Values{from, slot}, [&](Value chunk, ValueRange carried) {
      for (int64_t i = 0; i < count; ++i)
        request(d.add(chunk, d.mul(unit, i)), d.add(carried[1], i * s.threads));
      return Values{d.add(chunk, d.mul(unit, count)), d.add(carried[1], count * s.threads)};
    });
  };
  Value end = chunksOf(axes.reduced);
  Values rest = some(inUnit, d.sub(end, d.mul(unit, together - 1)), d.threadId(), together);
  some(rest[0], end, rest[1], 1);
  d.ptx("cp.async.wait_all;");
}

/// Several accesses of a thread at once while there are so many; then the rest of them, each with a test.
Values RowEmitter::keptPass(const lower::RowPass &pass, Values sums) {
  int64_t ahead = s.ahead;
  llvm::SmallPtrSet<Operation *, 16> needed;
  for (Operation *root : pass.roots)
    addNeeded(info, axes, root, needed);
  Value end = chunksOf(pass.inner), last = d.sub(end, d.i64(1)), stride = d.mul(unit, ahead);
  auto round = [&](Value chunk, ValueRange carried, bool tested) {
    Values now(carried);
    Value slot = now.pop_back_val();
    SmallVector<Chunk> points;
    for (int64_t i = 0; i < ahead; ++i) {
      Value index = d.add(chunk, d.mul(unit, i)), ok;
      if (tested) {
        ok = d.less(index, end);
        index = d.minU(index, last);
      }
      points.push_back({pointAt(pass.inner, index), ok});
    }
    visitKept(pass, needed, points, slot, now);
    now.push_back(d.add(slot, ahead * s.threads));
    return now;
  };
  sums.push_back(d.threadId());
  Value whole = d.sub(end, d.mul(unit, ahead - 1));
  sums = d.loop(inUnit, whole, stride, sums, [&](Value chunk, ValueRange carried) { return round(chunk, carried, false); });
  Value rounds = d.div(d.sub(sums.back(), d.threadId()), int64_t(s.threads));
  Value rest = d.add(inUnit, d.mul(d.wide(rounds), unit));
  sums = d.loop(rest, end, stride, sums, [&](Value chunk, ValueRange carried) { return round(chunk, carried, true); });
  sums.pop_back();
  isKept.insert(needed.begin(), needed.end());
  return sums;
}

/// Words for the other blocks of a cluster, which lie in the same place in each.
Value RowEmitter::behindKept(unsigned words) {
  Value place = d.byteAt(keptBase, d.add(d.mul(keptSlots, int64_t(s.keptBytes)), int64_t(clusterWords) * 8));
  clusterWords += words;
  return place;
}

/// Every block leaves its value in its own shared memory. Lanes of a warp take one each, and put them together in the same order everywhere.
Value RowEmitter::combineInCluster(kernel::Combiner kind, Value own) {
  const unsigned most = schedule::rowTuning.mostOfCluster;
  Type element = own.getType();
  Value place = behindKept(1);
  d.when(d.equal(d.threadId(), 0), [&] { d.store(wordOf(d, own), place, 8); });
  clusterBarrier(d);
  Value rank = d.rem(d.threadId(), int64_t(most));
  Value x = ofWord(d, readOfBlock(d, place, d.minU(rank, d.sub(sharers, d.i32(1)))), element);
  Value all = d.select(d.less(rank, sharers), x, identityOf(d, kind, element));
  for (unsigned m = most / 2; m; m /= 2)
    all = combine(d, kind, all, d.shuffleXor(all, m));
  return all;
}
