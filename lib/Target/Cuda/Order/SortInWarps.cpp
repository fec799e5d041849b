//===- SortInWarps.cpp - A few best words of short rows ----------------------===//
//
// A warp has a row: its lanes keep the words in registers, and find the best one together as often as results are wanted.
// The block needs no shared memory and waits for nobody.
//
//===----------------------------------------------------------------------===//

#include "SortWords.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

constexpr unsigned warpsOfBlock = 4, lanes = 32;
/// Words of a lane; each lane keeps one result.
constexpr int64_t mostWords = 32, mostResults = lanes;

namespace {

class WarpBestEmitter : public SortWordEmitter {
public:
  WarpBestEmitter(KernelFrame &frame, kernel::SortOp op, unsigned each) : SortWordEmitter(frame, op), each(each) {}
  void emit();

private:
  using Word = SortWord;
  /// The high parts, then the low ones.
  Word wordOf(ValueRange values, unsigned i) { return {values[i], isWide() ? values[values.size() / 2 + i] : Value()}; }
  Values valuesOf(ArrayRef<Word> words);
  Word pick(Value c, const Word &x, const Word &y) {
    return {d.select(c, x.high, y.high), isWide() ? d.select(c, x.low, y.low) : Value()};
  }
  Word none() { return {d.i64(-1), isWide() ? d.i32(-1) : Value()}; }
  Value same(const Word &x, const Word &y);
  Word better(const Word &x, const Word &y);
  Word bestOfWarp(ArrayRef<Word> words);
  SmallVector<Word> collect(Value lane);

  unsigned each;
};

} // namespace

Values WarpBestEmitter::valuesOf(ArrayRef<Word> words) {
  Values out;
  for (const Word &w : words)
    out.push_back(w.high);
  if (isWide())
    for (const Word &w : words)
      out.push_back(w.low);
  return out;
}

Value WarpBestEmitter::same(const Word &x, const Word &y) {
  Value equal = d.equal(x.high, y.high);
  return isWide() ? d.both(equal, d.equal(x.low, y.low)) : equal;
}

SortWord WarpBestEmitter::better(const Word &x, const Word &y) {
  if (!isWide())
    return {d.minU(x.high, y.high), {}};
  auto below = [&](Value a, Value b) { return d.compare(arith::CmpIPredicate::ult, a, b); };
  Value before = d.bitOr(below(x.high, y.high), d.both(d.equal(x.high, y.high), below(x.low, y.low)));
  return pick(before, x, y);
}

SortWord WarpBestEmitter::bestOfWarp(ArrayRef<Word> words) {
  SmallVector<Word> left(words);
  while (left.size() > 1) { // in pairs, so that comparisons do not wait for one another
    SmallVector<Word> next;
    for (size_t i = 0; i + 1 < left.size(); i += 2)
      next.push_back(better(left[i], left[i + 1]));
    if (left.size() % 2)
      next.push_back(left.back());
    left = next;
  }
  Word best = left[0];
  for (unsigned m = lanes / 2; m; m /= 2)
    best = better(best, {d.shuffleXor(best.high, m), isWide() ? d.shuffleXor(best.low, m) : Value()});
  return best;
}

SmallVector<SortWord> WarpBestEmitter::collect(Value lane) {
  Value size = frame.size(info.extents[axis]), last = d.sub(size, d.i64(1));
  SmallVector<Word> words;
  for (unsigned i = 0; i < each; ++i) {
    Value at = d.add(d.wide(lane), int64_t(lanes * i));
    words.push_back(wordAt(base, d.minU(at, last)));
  }
  for (unsigned i = 0; i < each; ++i)
    words[i] = pick(d.less(d.add(d.wide(lane), int64_t(lanes * i)), size), words[i], none());
  return words;
}

void WarpBestEmitter::emit() {
  Value tid = d.threadId(), lane = d.bitAnd(tid, lanes - 1), rows = frame.size(rowsOf(info, op));
  Value row = d.add(d.mul(d.wide(d.blockId()), warpsOfBlock), d.wide(d.div(tid, lanes)));
  bindBatch(base, rowAxes, d.minU(row, d.sub(rows, d.i64(1)))); // warps past the last row find the same once more
  Value count = d.narrow(frame.size(info.extents[rankAxis]));
  SmallVector<Word> start = collect(lane);
  start.push_back(none()); // the lane's result
  Values found = d.loop(d.i32(0), count, d.i32(1), valuesOf(start), [&](Value rank, ValueRange now) {
    SmallVector<Word> words;
    for (unsigned i = 0; i < each; ++i)
      words.push_back(wordOf(now, i));
    Word best = bestOfWarp(words), mine = pick(d.equal(rank, lane), best, wordOf(now, each));
    for (Word &w : words)
      w = pick(same(w, best), none(), w);
    words.push_back(mine);
    return valuesOf(words);
  });
  d.when(d.both(d.less(lane, count), d.less(row, rows)), [&] { storeResult(base, wordOf(found, each), d.wide(lane)); });
}

llvm::Expected<std::optional<BlockSort>> cuda::addWarpBest(Generator &g, kernel::SortOp op) {
  kernel::GenericOp kernel = g.info.kernel;
  Expr length = *kernel.getExtent(op.getAxis()), results = *kernel.getExtent(op.getRankAxis());
  std::optional<int64_t> known = length.constant(), wanted = results.constant();
  if (known.value_or(0) > mostWords * lanes || wanted.value_or(0) > mostResults)
    return std::nullopt;
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  Value size = plan.size(length), count = plan.size(results), entry;
  auto atMost = [&](Value v, int64_t most) { return h.less(v, plan.constant(most + 1)); };
  // A row of known length has as many as it needs. Of those that have room for one of open length the last one is taken.
  for (int64_t each = known ? std::max<int64_t>(1, llvm::divideCeil(*known, lanes)) : mostWords; each; each = known ? 0 : each / 2) {
    Value own = plan.constant(g.entries.size());
    entry = entry ? h.select(atMost(size, each * lanes), own, entry) : own;
    std::string name = "sort_best_" + std::to_string(each * lanes);
    KernelFrame frame(g.info, g.device, name, warpsOfBlock * lanes, g.sm, 0, g.dependent());
    WarpBestEmitter emitter(frame, op, each);
    emitter.emit();
    if (llvm::Error e = g.addEntry(frame, name, emitter.error()))
      return std::move(e);
  }
  Value useful = h.both(h.both(h.less(plan.constant(0), size), atMost(size, mostWords * lanes)), atMost(count, mostResults));
  Value grid = h.ceilDiv(plan.size(rowsOf(g.info, op)), warpsOfBlock);
  return BlockSort{useful, entry, grid, plan.constant(warpsOfBlock * lanes), plan.constant(0), known.value_or(0) > 0 && wanted};
}
