//===- RadixSort.cpp - Long rows sorted by all blocks of a GPU --------------===//
//
// Words are moved digit by digit, from the lowest on, each time in the order in which they lie: first the indices are
// in order, and digits of the keys keep the order of equal ones. Blocks share a row. A warp has a piece of it: it
// counts the digits of its words, learns from the counts of all pieces where its first word of each digit goes, and
// moves its words, 32 at a time, of which the ones of a digit tell one another apart by a mask. Blocks wait for one
// another between counting and moving; who moves what depends on sizes and the device alone.
//
//===----------------------------------------------------------------------===//

#include "../Launch/GridBarrier.h"
#include "SortWords.h"
#include "lathe/Lower/SortKey.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using shape::Expr;

constexpr unsigned warps = radixThreads / 32, digits = radixDigits, digitsOfWarp = digits / warps;
/// Words of a warp whose loads are in flight together, and the fewest words of a block.
constexpr int64_t ahead = 4, leastWords = 4096;
/// Words of 4 bytes at the start of the scratch memory: the counter of blocks, and how many share a row.
enum Word { Counter, Sharers };
constexpr int64_t headBytes = 128;

namespace {

class RadixEmitter : public SortWordEmitter {
public:
  RadixEmitter(KernelFrame &frame, kernel::SortOp op) : SortWordEmitter(frame, op) {}
  void emit();
  static int64_t wordBytes(unsigned keyBytes) { return keyBytes > 4 ? 12 : 8; }

private:
  /// Calls f for words [first, first + 32 * ahead) of the piece that lie in front of its end, a lane each.
  void forWords(Value buffer, llvm::function_ref<void(Values &inside, SmallVector<SortWord> &words)> f);
  SortWord load(Value buffer, Value at);
  void store(const SortWord &w, Value buffer, Value at);
  Value countAt(Value warp, Value digit) { return d.at(counts, d.add(d.mul(warp, digits), digit), d.i32Type()); }
  void fill(const BodyEmitter &row);
  void count(Value buffer, Value shift);
  void publish();
  void placePieces();
  void move(Value from, Value to, Value shift);
  Value pass(Value number, Value target);
  Value meet(Value target);
  void prepare();

  Value tid, lane, warp, size, sharers, group, part, from, to; ///< from, to: of the warp's piece
  Value counts, all, before;                                   ///< in shared memory
  Value table, buffers[2];                                     ///< of the group
};

} // namespace

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// The low parts lie behind the high ones.
SortWord RadixEmitter::load(Value buffer, Value at) {
  Value high = d.load(d.i64Type(), d.at(buffer, at, d.i64Type()), 8);
  if (!isWide())
    return {high, {}};
  return {high, d.load(d.i32Type(), d.at(d.at(buffer, size, d.i64Type()), at, d.i32Type()), 4)};
}

void RadixEmitter::store(const SortWord &w, Value buffer, Value at) {
  d.store(w.high, d.at(buffer, at, d.i64Type()), 8);
  if (isWide())
    d.store(w.low, d.at(d.at(buffer, size, d.i64Type()), at, d.i32Type()), 4);
}

void RadixEmitter::forWords(Value buffer, llvm::function_ref<void(Values &, SmallVector<SortWord> &)> f) {
  Value last = d.sub(size, d.i64(1));
  d.loop(from, to, d.i64(32 * ahead), [&](Value first) {
    Values inside;
    SmallVector<SortWord> words;
    for (int64_t i = 0; i < ahead; ++i) {
      Value at = d.add(d.add(first, 32 * i), d.wide(lane));
      inside.push_back(d.less(at, to));
      words.push_back(load(buffer, d.minU(at, last)));
    }
    f(inside, words);
  });
}

//===----------------------------------------------------------------------===//
// A pass
//===----------------------------------------------------------------------===//

void RadixEmitter::fill(const BodyEmitter &row) {
  d.loop(d.add(from, d.wide(lane)), to, d.i64(32), [&](Value i) { store(wordAt(row, i), buffers[0], i); });
}

/// The digits of each warp's words.
void RadixEmitter::count(Value buffer, Value shift) {
  for (unsigned i = 0; i < digits; i += 32)
    d.store(d.i32(0), countAt(warp, d.add(lane, int64_t(i))), 4);
  d.ptx("bar.warp.sync 0xffffffff;");
  forWords(buffer, [&](Values &inside, SmallVector<SortWord> &words) {
    for (auto [ok, w] : llvm::zip(inside, words))
      d.when(ok, [&, w = w] {
        d.b.create<LLVM::AtomicRMWOp>(d.loc, LLVM::AtomicBinOp::add, countAt(warp, keyDigit(w, shift)), d.i32(1),
                                      LLVM::AtomicOrdering::monotonic);
      });
  });
  d.barrier();
}

/// What comes before each warp's words in the block, and the block's counts for all blocks.
void RadixEmitter::publish() {
  d.when(d.less(tid, d.i32(digits)), [&] {
    Value sum = d.i32(0);
    for (unsigned w = 0; w < warps; ++w) {
      Value at = countAt(d.i32(w), tid), n = d.load(d.i32Type(), at, 4);
      d.store(sum, at, 4);
      sum = d.add(sum, n);
    }
    d.store(sum, d.at(table, d.add(d.mul(tid, sharers), part), d.i32Type()), 4);
  });
}

/// What comes before each warp's words of a digit in the row.
void RadixEmitter::placePieces() {
  Type i32 = d.i32Type();
  Values sums(2 * digitsOfWarp, d.i32(0));
  Value first = d.mul(warp, digitsOfWarp);
  sums = d.loop(lane, sharers, d.i32(32), sums, [&](Value block, ValueRange carried) {
    Values now(carried);
    Value isBefore = d.less(block, part);
    for (unsigned i = 0; i < digitsOfWarp; ++i) {
      Value n = d.load(i32, d.at(table, d.add(d.mul(d.add(first, int64_t(i)), sharers), block), i32), 4);
      now[2 * i] = d.add(now[2 * i], n);
      now[2 * i + 1] = d.add(now[2 * i + 1], d.select(isBefore, n, d.i32(0)));
    }
    return now;
  });
  for (Value &v : sums)
    for (unsigned m = 16; m; m /= 2)
      v = d.add(v, d.shuffleXor(v, m));
  d.when(d.equal(lane, 0), [&] {
    for (unsigned i = 0; i < digitsOfWarp; ++i) {
      d.store(sums[2 * i], d.at(all, d.add(first, int64_t(i)), i32), 4);
      d.store(sums[2 * i + 1], d.at(before, d.add(first, int64_t(i)), i32), 4);
    }
  });
  d.barrier();
  // Smaller digits come first: the first warp adds them up.
  d.when(d.equal(warp, 0), [&] {
    constexpr unsigned each = digits / 32;
    Values own;
    Value total = d.i32(0), start = d.mul(lane, each);
    for (unsigned i = 0; i < each; ++i) {
      own.push_back(d.load(i32, d.at(all, d.add(start, int64_t(i)), i32), 4));
      total = d.add(total, own.back());
    }
    Value upTo = d.sumUpTo(total, lane);
    Value at = d.sub(upTo, total);
    for (unsigned i = 0; i < each; ++i) {
      Value slot = d.at(before, d.add(start, int64_t(i)), i32);
      d.store(d.add(at, d.load(i32, slot, 4)), slot, 4);
      at = d.add(at, own[i]);
    }
  });
  d.barrier();
  for (unsigned i = 0; i < warps * digits; i += radixThreads) {
    Value index = d.add(tid, int64_t(i)), at = d.at(counts, index, i32);
    Value start = d.load(i32, d.at(before, d.bitAnd(index, digits - 1), i32), 4);
    d.store(d.add(d.load(i32, at, 4), start), at, 4);
  }
  d.barrier();
}

void RadixEmitter::move(Value source, Value target, Value shift) {
  Value below = d.sub(d.b.create<arith::ShLIOp>(d.loc, d.i32(1), lane), d.i32(1));
  auto ones = [&](Value mask) -> Value { return d.b.create<LLVM::CtPopOp>(d.loc, mask); };
  forWords(source, [&](Values &inside, SmallVector<SortWord> &words) {
    for (auto [ok, w] : llvm::zip(inside, words)) {
      Value digit = keyDigit(w, shift), mask = d.matchAny(d.select(ok, digit, d.i32(digits)));
      Value at = countAt(warp, digit), start = d.load(d.i32Type(), at, 4), rank = ones(d.both(mask, below));
      d.ptx("bar.warp.sync 0xffffffff;");
      d.when(d.both(ok, d.equal(rank, 0)), [&] { d.store(d.add(start, ones(mask)), at, 4); });
      d.ptx("bar.warp.sync 0xffffffff;");
      d.when(ok, [&, w = w] { store(w, target, d.wide(d.add(start, rank))); });
    }
  });
}

/// The counter's next target.
Value RadixEmitter::meet(Value target) {
  Value counter = d.at(frame.scratch(), d.i64(Counter), d.i32Type()), next = d.add(target, d.gridSize());
  arriveAtGrid(d, counter);
  awaitGrid(d, counter, next);
  return next;
}

Value RadixEmitter::pass(Value number, Value target) {
  Value isOdd = d.equal(d.bitAnd(number, 1), 1), shift = d.wide(d.add(d.mul(number, 8), isWide() ? 0 : 32));
  Value source = d.select(isOdd, buffers[1], buffers[0]), result = d.select(isOdd, buffers[0], buffers[1]);
  count(source, shift);
  publish();
  target = meet(target);
  placePieces();
  move(source, result, shift);
  return meet(target);
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

void RadixEmitter::prepare() {
  tid = d.threadId();
  lane = d.bitAnd(tid, 31);
  warp = d.div(tid, 32);
  size = frame.size(info.extents[axis]);
  sharers = d.load(d.i32Type(), d.at(frame.scratch(), d.i64(Sharers), d.i32Type()), 4);
  group = d.div(d.blockId(), sharers);
  part = d.rem(d.blockId(), sharers);
  Value pieces = d.wide(d.mul(sharers, warps)), piece = d.wide(d.add(d.mul(part, warps), warp));
  Value length = d.mul(d.ceilDiv(d.ceilDiv(size, pieces), 32), 32);
  from = d.minU(d.mul(piece, length), size);
  to = d.minU(d.add(from, length), size);
  counts = frame.sharedArray("counts", d.i32Type(), warps * digits);
  all = frame.sharedArray("all", d.i32Type(), digits);
  before = frame.sharedArray("before", d.i32Type(), digits);
  // Of each group: the table, then two buffers.
  Value tableBytes = d.mul(d.wide(sharers), 4 * digits),
        bufferBytes = d.mul(d.ceilDiv(size, 4), 4 * wordBytes(keyBytes));
  Value own = d.mul(d.add(tableBytes, d.mul(bufferBytes, 2)), d.wide(group));
  table = d.byteAt(frame.scratch(), d.add(own, headBytes));
  buffers[0] = d.byteAt(table, tableBytes);
  buffers[1] = d.byteAt(buffers[0], bufferBytes);
}

void RadixEmitter::emit() {
  prepare();
  Value rows = frame.size(rowsOf(info, op)), count = frame.size(info.extents[rankAxis]), end = to;
  Value groups = d.wide(d.div(d.gridSize(), sharers));
  d.loop(d.i64(0), rows, groups, Values{d.i32(0)}, [&](Value first, ValueRange carried) {
    Value row = d.add(first, d.wide(group)), isRow = d.less(row, rows), target = carried[0];
    to = d.select(isRow, end, from); // groups past the last row wait with the others
    BodyEmitter point = base;
    bindBatch(point, rowAxes, d.minU(row, d.sub(rows, d.i64(1))));
    fill(point);
    target = d.loop(d.i32(0), d.i32(keyBytes), d.i32(1), Values{target},
                    [&](Value number, ValueRange now) { return Values{pass(number, now[0])}; })[0];
    Value threads = d.mul(d.wide(sharers), radixThreads), results = d.select(isRow, count, d.i64(0));
    d.loop(d.add(d.mul(d.wide(part), radixThreads), d.wide(tid)), results, threads,
           [&](Value rank) { storeResult(point, load(buffers[keyBytes % 2], rank), rank); });
    return Values{meet(target)}; // the buffers are the next row's
  });
}

/// The counter begins at 0; the launch has as many blocks as share a row.
static llvm::Error addBegin(Generator &g) {
  KernelFrame frame(g.info, g.device, "sort_begin", 32, g.sm, 0, g.dependent());
  DeviceBuilder &d = frame.d;
  d.when(d.both(d.equal(d.threadId(), 0), d.equal(d.blockId(), 0)), [&] {
    d.store(d.i32(0), d.at(frame.scratch(), d.i64(Counter), d.i32Type()), 4);
    d.store(d.gridSize(), d.at(frame.scratch(), d.i64(Sharers), d.i32Type()), 4);
  });
  return g.addEntry(frame, "sort_begin", "");
}

/// Results that a block finds in a row without sorting it, and the row up to which it does so sooner than a device that sorts.
constexpr int64_t mostBest = 512, longestForBlock = 1 << 18;

llvm::Expected<std::optional<RadixLaunch>> cuda::addRadixSort(Generator &g, kernel::SortOp op, int64_t blockRoom) {
  kernel::GenericOp kernel = g.info.kernel;
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  Expr length = *kernel.getExtent(op.getAxis()), results = *kernel.getExtent(op.getRankAxis());
  if (length.constant().value_or(INT64_MAX) <= blockRoom || length.constant().value_or(0) >= INT32_MAX)
    return std::nullopt;
  unsigned keyBytes = lower::sortKeyBytes(op);
  auto atLeastOne = [&](Value v) { return h.b.create<arith::MaxSIOp>(h.loc, v, plan.constant(1)).getResult(); };
  Value size = plan.size(length), rows = atLeastOne(plan.size(rowsOf(g.info, op))), processors = plan.processors();
  Value parts = h.ceilDiv(plan.size(results), blockRoom);
  Value sharers = h.minU(h.div(processors, h.minU(rows, processors)), atLeastOne(h.ceilDiv(size, leastWords)));
  Value groups = h.minU(rows, h.div(processors, sharers));
  // A block for each part reads its row several times for each; few blocks leave the device idle.
  Value idle = h.both(h.less(h.mul(h.mul(rows, parts), 8), processors), h.less(plan.constant(4 * blockRoom), size));
  // A few best ones are found while a row is read twice.
  idle = h.both(idle, h.bitOr(h.less(plan.constant(mostBest), plan.size(results)), h.less(plan.constant(longestForBlock), size)));
  Value useful = h.both(h.less(size, plan.constant(INT32_MAX)), h.bitOr(idle, h.less(plan.constant(2), parts)));
  Value buffer = h.mul(h.ceilDiv(size, 4), 4 * RadixEmitter::wordBytes(keyBytes));
  Value own = h.add(h.mul(buffer, 2), h.mul(sharers, 4 * digits));
  RadixLaunch launch{h.both(useful, h.less(plan.constant(blockRoom), size)),
                     plan.constant(g.entries.size()),
                     sharers,
                     plan.constant(g.entries.size() + 1),
                     h.mul(groups, sharers),
                     h.add(h.mul(own, groups), headBytes)};
  if (llvm::Error e = addBegin(g))
    return std::move(e);
  KernelFrame frame(g.info, g.device, "sort_together", radixThreads, g.sm, 0, Dependent::No);
  RadixEmitter emitter(frame, op);
  emitter.emit();
  if (llvm::Error e = g.addEntry(frame, "sort_together", emitter.error()))
    return std::move(e);
  return launch;
}
