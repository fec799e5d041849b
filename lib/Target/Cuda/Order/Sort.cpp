//===- Sort.cpp - Sorting and selecting along an axis on a GPU -------------===//
//
// A block makes a part of a row's results: as many words (a key as an unsigned number, below it the index, so that no
// two are equal) as its shared memory holds, sorted there by exchanges. Of a longer row it first collects the words of
// its part (SortParts.cpp). Blocks do not wait for one another and need no other memory; a row is read a few times for
// each part of its results. Rows of many parts, and long ones that are too few for a device, are RadixSort.cpp's, a few
// best ones of these SortStretches.cpp's.
//
//===----------------------------------------------------------------------===//

#include "../Rows/RowProgram.h"
#include "SortEmitter.h"
#include "lathe/Lower/SortKey.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

using Word = SortWord;

/// A block's threads, and those for rows from so many elements on: they are read by more threads at once.
constexpr unsigned usualThreads = 256, manyThreads = 1024;
constexpr int64_t longRow = 8192;
constexpr unsigned counters = 256 + 8; ///< a digit's values, and what was collected

unsigned SortEmitter::capacity(kernel::SortOp op) { return lower::sortKeyBytes(op) > 4 ? 2048 : 4096; }

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

Word SortEmitter::wordAt(Value index) {
  if (!kept)
    return SortWordEmitter::wordAt(base, start ? d.add(start, index) : index);
  return {d.load(d.i64Type(), d.at(kept->highs, index, d.i64Type()), 8),
          isWide() ? d.load(d.i32Type(), d.at(kept->lows, index, d.i32Type()), 4) : Value()};
}

Word SortEmitter::masked(const Word &w, const Word &mask) {
  return {d.both(w.high, mask.high), isWide() ? d.both(w.low, mask.low) : Value()};
}

Value SortEmitter::less(const Word &x, const Word &y) {
  Value below = d.compare(arith::CmpIPredicate::ult, x.high, y.high);
  if (!isWide())
    return below;
  return d.bitOr(below, d.both(d.equal(x.high, y.high), d.compare(arith::CmpIPredicate::ult, x.low, y.low)));
}

Value SortEmitter::same(const Word &x, const Word &y) {
  Value equal = d.equal(x.high, y.high);
  return isWide() ? d.both(equal, d.equal(x.low, y.low)) : equal;
}

/// Eight bits; `shift` counts from the end of a word, the low part being its last 32 bits.
Value SortEmitter::digitOf(const Word &w, Value shift) {
  auto bits = [&](Value x, Value by) { return d.bitAnd(d.b.create<arith::ShRUIOp>(d.loc, x, by), 255); };
  if (!isWide())
    return d.narrow(bits(w.high, shift));
  Value inHigh = d.compare(arith::CmpIPredicate::uge, shift, d.i64(32));
  Value high = bits(w.high, d.bitAnd(d.sub(shift, d.i64(32)), 63)), low = bits(d.wide(w.low), d.bitAnd(shift, 31));
  return d.narrow(d.select(inHigh, high, low));
}

/// A word with this digit and zeros.
Word SortEmitter::placed(Value digit, Value shift) {
  auto at = [&](Value by) -> Value { return d.b.create<arith::ShLIOp>(d.loc, d.wide(digit), by); };
  if (!isWide())
    return {at(shift), {}};
  Value inHigh = d.compare(arith::CmpIPredicate::uge, shift, d.i64(32)), zero = d.i64(0);
  return {d.select(inHigh, at(d.bitAnd(d.sub(shift, d.i64(32)), 63)), zero),
          d.narrow(d.select(inHigh, zero, at(d.bitAnd(shift, 31))))};
}

Values SortEmitter::eachWord(Values carried, llvm::function_ref<Values(const Word &, ValueRange)> body) {
  constexpr int64_t ahead = 8;
  Value step = d.i64(threads), stride = d.i64(ahead * threads), start = d.wide(tid);
  Value whole = d.sub(size, d.rem(size, ahead * threads));
  carried = d.loop(start, whole, stride, carried, [&](Value i, ValueRange now) {
    SmallVector<Word> words;
    for (int64_t u = 0; u < ahead; ++u)
      words.push_back(wordAt(d.add(i, u * threads)));
    Values out(now);
    for (const Word &w : words)
      out = body(w, out);
    return out;
  });
  return d.loop(d.add(whole, start), size, step, carried, [&](Value i, ValueRange now) { return body(wordAt(i), now); });
}

void SortEmitter::eachWord(llvm::function_ref<void(const Word &)> body) {
  eachWord(Values(), [&](const Word &w, ValueRange) {
    body(w);
    return Values();
  });
}

//===----------------------------------------------------------------------===//
// Sorting in shared memory
//===----------------------------------------------------------------------===//

Word SortEmitter::load(Value at) {
  return {d.load(d.i64Type(), d.at(highs, at, d.i64Type()), 8),
          isWide() ? d.load(d.i32Type(), d.at(lows, at, d.i32Type()), 4) : Value()};
}

void SortEmitter::store(const Word &w, Value at) {
  d.store(w.high, d.at(highs, at, d.i64Type()), 8);
  if (isWide())
    d.store(w.low, d.at(lows, at, d.i32Type()), 4);
}

/// Words i and i with the bit, in the direction of i's block.
void SortEmitter::exchange(Value i, Value bit, Value block) {
  Value j = d.bitOr(i, bit);
  Word x = load(i), y = load(j);
  Value isRising = d.equal(d.both(i, block), 0);
  d.when(d.equal(less(y, x), isRising), [&] {
    store(y, i);
    store(x, j);
  });
}

/// A bitonic network over the next power of two; the places behind hold the largest word.
void SortEmitter::sortWords(Value count) {
  Value levels = d.i32(0), places = d.i32(1);
  for (unsigned n = 1; n < capacity(op); n *= 2) {
    Value more = d.less(d.i32(n), count);
    levels = d.add(levels, d.b.create<arith::ExtUIOp>(d.loc, d.i32Type(), more));
    places = d.select(more, d.i32(2 * n), places);
  }
  d.loop(d.add(count, tid), places, d.i32(threads), [&](Value i) { store(constant(-1), i); });
  d.barrier();
  auto power = [&](Value n) -> Value { return d.b.create<arith::ShLIOp>(d.loc, d.i32(1), n); };
  d.loop(d.i32(0), levels, d.i32(1), [&](Value level) {
    d.loop(d.i32(0), d.add(level, int64_t(1)), d.i32(1), [&](Value step) {
      Value shift = d.sub(level, step), bit = power(shift), below = d.sub(bit, d.i32(1));
      d.loop(tid, d.shr(places, 1), d.i32(threads), [&](Value pair) {
        // A zero comes into the pair's number at the bit.
        Value high = d.shl(d.b.create<arith::ShRUIOp>(d.loc, pair, shift), 1);
        Value i = d.bitOr(d.b.create<arith::ShLIOp>(d.loc, high, shift), d.both(pair, below));
        exchange(i, bit, power(d.add(level, int64_t(1))));
      });
      d.barrier();
    });
  });
}

void SortEmitter::emitResults(Value from, Value to) {
  d.loop(d.add(from, d.wide(tid)), to, d.i64(threads),
         [&](Value rank) { storeResult(base, load(d.narrow(d.sub(rank, from))), rank); });
}

void SortEmitter::prepare() {
  int64_t room = capacity(op);
  tid = d.threadId();
  size = frame.size(info.extents[axis]);
  highs = frame.sharedArray("words", d.i64Type(), room);
  if (isWide())
    lows = frame.sharedArray("indices", d.i32Type(), room);
  counts = frame.sharedArray("counts", d.i32Type(), counters);
  found = frame.sharedArray("found", d.i64Type(), 2);
}

void SortEmitter::emit() {
  prepare();
  int64_t room = capacity(op);
  Value count = frame.size(info.extents[rankAxis]), parts = d.ceilDiv(count, room), block = d.wide(d.blockId());
  bindBatch(base, rowAxes, d.div(block, parts));
  Value from = d.mul(d.rem(block, parts), room), to = d.minU(d.add(from, room), count);
  sortWords(collect(from, to));
  emitResults(from, to);
}

static llvm::Error addSort(Generator &g, kernel::SortOp op, StringRef name, unsigned threads) {
  KernelFrame frame(g.info, g.device, name, threads, g.sm, 0, g.dependent());
  SortEmitter emitter(frame, op, threads);
  emitter.emit();
  return g.addEntry(frame, name, emitter.error());
}

/// One launch, of blocks that know nothing of one another.
static void setLaunch(PlanFunction &plan, Value entry, Value grid, Value block) {
  plan.launch(entry, grid, block);
  plan.set(LATHE_CUDA_SCRATCH, 0);
  plan.set(LATHE_CUDA_SHARED, 0);
}

/// These launches in place of what the plan says, where that is useful.
static void preferStretches(PlanFunction &plan, const LaunchWords &s, Value useful) {
  DeviceBuilder &h = plan.d;
  auto prefer = [&](unsigned word, Value v) { plan.set(word, h.select(useful, v, plan.word(word))); };
  prefer(LATHE_CUDA_ENTRY, s.entry);
  prefer(LATHE_CUDA_GRID, s.grid);
  prefer(LATHE_CUDA_BLOCK, s.block);
  prefer(LATHE_CUDA_SCRATCH, s.scratch);
  plan.follow(s.next, h.select(useful, s.nextGrid, plan.constant(0)), s.block);
}

/// A block for each part of a row's results, of more threads where rows are long.
static llvm::Error addParts(Generator &g, kernel::SortOp op, Value rows) {
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  kernel::GenericOp kernel = g.info.kernel;
  Expr length = *kernel.getExtent(op.getAxis()), parts = Expr::ceildiv(*kernel.getExtent(op.getRankAxis()), Expr(SortEmitter::capacity(op)));
  bool mayBeShort = length.constant().value_or(0) < longRow, mayBeLong = length.constant().value_or(longRow) >= longRow;
  Value entry = plan.constant(g.entries.size()), block = plan.constant(mayBeShort ? usualThreads : manyThreads);
  if (mayBeShort && mayBeLong) {
    Value isLong = h.less(plan.constant(longRow - 1), plan.size(length));
    entry = h.select(isLong, plan.constant(g.entries.size() + 1), entry);
    block = h.select(isLong, plan.constant(manyThreads), block);
  }
  setLaunch(plan, entry, h.mul(plan.size(parts), rows), block);
  if (mayBeShort)
    if (llvm::Error e = addSort(g, op, "sort", usualThreads))
      return e;
  return mayBeLong ? addSort(g, op, "sort_long", manyThreads) : llvm::Error::success();
}

/// All blocks together in place of what the plan says, where that is useful and rows do not fit into one (`taken`, or null).
static void preferTogether(PlanFunction &plan, const RadixLaunch &r, Value taken) {
  DeviceBuilder &h = plan.d;
  Value none = plan.constant(0), grid = plan.word(LATHE_CUDA_GRID);
  Value useful = taken ? h.select(taken, h.i1(false), r.useful) : r.useful;
  plan.set(LATHE_CUDA_SCRATCH, h.select(useful, r.scratch, plan.word(LATHE_CUDA_SCRATCH)));
  // The first launch has no blocks where there are no results.
  Value begin = h.select(h.less(none, grid), r.beginGrid, grid);
  plan.follow(r.sort, h.select(useful, r.sortGrid, none), plan.constant(r.threads), plan.constant(r.shared));
  plan.set(LATHE_CUDA_FLAGS, h.bitOr(plan.word(LATHE_CUDA_FLAGS), plan.constant(LATHE_CUDA_TOGETHER)));
  plan.set(LATHE_CUDA_ENTRY, h.select(useful, r.begin, plan.word(LATHE_CUDA_ENTRY)));
  plan.set(LATHE_CUDA_GRID, h.select(useful, begin, grid));
  plan.set(LATHE_CUDA_BLOCK, h.select(useful, plan.constant(32), plan.word(LATHE_CUDA_BLOCK)));
}

/// One of the ways where it is useful, all blocks together or a block for each part of a row elsewhere.
static llvm::Expected<bool> addForAllSizes(Generator &g, kernel::SortOp op, ArrayRef<BlockSort> ways) {
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  llvm::Expected<std::optional<RadixLaunch>> together = addRadixSort(g, op, SortEmitter::capacity(op));
  if (!together)
    return together.takeError();
  Value stretchesUseful, taken;
  llvm::Expected<std::optional<LaunchWords>> stretches = addStretches(g, op, stretchesUseful);
  if (!stretches)
    return stretches.takeError();
  if (llvm::Error e = addParts(g, op, plan.size(rowsOf(g.info, op))))
    return std::move(e);
  if (*stretches)
    preferStretches(plan, **stretches, stretchesUseful);
  for (const BlockSort &s : ways)
    taken = taken ? h.bitOr(taken, s.useful) : s.useful;
  if (*together)
    preferTogether(plan, **together, taken);
  for (const BlockSort &s : ways) {
    auto prefer = [&](unsigned word, Value v, Value otherwise) { plan.set(word, h.select(s.useful, v, otherwise)); };
    prefer(LATHE_CUDA_ENTRY, s.entry, plan.word(LATHE_CUDA_ENTRY));
    prefer(LATHE_CUDA_GRID, s.grid, plan.word(LATHE_CUDA_GRID));
    prefer(LATHE_CUDA_BLOCK, s.threads, plan.word(LATHE_CUDA_BLOCK));
    prefer(LATHE_CUDA_SHARED, s.shared, plan.word(LATHE_CUDA_SHARED));
  }
  return true;
}

llvm::Expected<bool> cuda::generateSort(Generator &g) {
  kernel::GenericOp kernel = g.info.kernel;
  auto sorts = kernel.getBody().front().getOps<kernel::SortOp>();
  if (sorts.empty())
    return false;
  kernel::SortOp op = *sorts.begin();
  PlanFunction &plan = g.plan;
  SmallVector<BlockSort> ways; // no two of them serve the same sizes
  for (auto add : {addBlockRadix, addWarpBest}) {
    llvm::Expected<std::optional<BlockSort>> way = add(g, op);
    if (!way)
      return way.takeError();
    if (*way)
      ways.push_back(**way);
    if (*way && (*way)->always) {
      setLaunch(plan, (*way)->entry, (*way)->grid, (*way)->threads);
      plan.set(LATHE_CUDA_SHARED, (*way)->shared);
      return true;
    }
  }
  return addForAllSizes(g, op, ways);
}
