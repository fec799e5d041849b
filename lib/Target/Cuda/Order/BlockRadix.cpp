//===- BlockRadix.cpp - Rows sorted digit by digit in one block's shared memory ----===//
//
// Of a row that fits, each thread keeps a few words in registers. Digit by digit, from the lowest on, they go to their new places in shared memory
// and come back in the order there. A warp has a piece of the row, 32 words at a time: those that share a digit tell one another apart by a mask, and
// a counter of the warp and the digit says how many came before. As in RadixSort.cpp words keep their order, so that equal keys keep that of their
// indices; but nothing leaves the multiprocessor between reading the row and writing the results.
// (Merrill, Grimshaw: High Performance and Scalable Radix Sorting, PPL 2011.)
//
//===----------------------------------------------------------------------===//

#include "SortWords.h"
#include "lathe/Lower/SortKey.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

constexpr unsigned digits = radixDigits, digitBits = 8;

namespace {

/// A block and the words of one of its threads.
struct BlockShape {
  unsigned threads, each;
  int64_t room() const { return int64_t(threads) * each; }
  unsigned warps() const { return threads / 32; }
  int64_t sharedBytes(unsigned keyBytes) const {
    constexpr int64_t alignment = 1024; // of where dynamic shared memory begins
    return alignment + int64_t(warps()) * digits * 4 + room() * (keyBytes > 4 ? 12 : 8);
  }
};

class BlockRadixEmitter : public SortWordEmitter {
public:
  BlockRadixEmitter(KernelFrame &frame, kernel::SortOp op, BlockShape shape) : SortWordEmitter(frame, op), shape(shape) {}
  void emit();

private:
  SortWord load(Value at);
  void store(const SortWord &w, Value at);
  Value countAt(Value ofWarp, Value digit) { return d.at(counts, d.add(d.mul(ofWarp, digits), digit), d.i32Type()); }
  SortWord wordOf(ValueRange values, unsigned i) { return {values[i], isWide() ? values[shape.each + i] : Value()}; }
  Values collect(llvm::function_ref<SortWord(Value at)> word);
  Value bitsThatDiffer(ValueRange words);
  Value sharersOf(Value digit, Value inside);
  Values rankInWarps(ValueRange words, Value shift);
  void startDigits();
  Values pass(ValueRange words, Value shift);

  BlockShape shape;
  Value tid, lane, warp, size;
  Values places, inside;                      ///< of the thread's words in the row, and whether there are such
  Value counts, starts, sums, bits, highs, lows; ///< in shared memory
};

} // namespace

SortWord BlockRadixEmitter::load(Value at) {
  return {d.load(d.i64Type(), d.at(highs, at, d.i64Type()), 8), isWide() ? d.load(d.i32Type(), d.at(lows, at, d.i32Type()), 4) : Value()};
}

void BlockRadixEmitter::store(const SortWord &w, Value at) {
  d.store(w.high, d.at(highs, at, d.i64Type()), 8);
  if (isWide())
    d.store(w.low, d.at(lows, at, d.i32Type()), 4);
}

/// The thread's words: the high parts, then the low ones.
Values BlockRadixEmitter::collect(llvm::function_ref<SortWord(Value at)> word) {
  Values highParts, lowParts;
  for (Value at : places) {
    SortWord w = word(at);
    highParts.push_back(w.high);
    if (isWide())
      lowParts.push_back(w.low);
  }
  highParts.append(lowParts);
  return highParts;
}

/// The bits of keys that are not the same in all words of the row.
Value BlockRadixEmitter::bitsThatDiffer(ValueRange words) {
  Value some = wordOf(words, 0).high, all = some, someAt = bits, allAt = d.at(bits, d.i32(1), d.i64Type());
  for (unsigned i = 1; i < shape.each; ++i) {
    some = d.bitOr(some, wordOf(words, i).high);
    all = d.both(all, wordOf(words, i).high);
  }
  for (unsigned m = 16; m; m /= 2) {
    some = d.bitOr(some, d.shuffleXor(some, m));
    all = d.both(all, d.shuffleXor(all, m));
  }
  d.when(d.equal(tid, 0), [&] {
    d.store(d.i64(0), someAt, 8);
    d.store(d.i64(-1), allAt, 8);
  });
  d.barrier();
  auto combine = [&](LLVM::AtomicBinOp op, Value at, Value v) { d.b.create<LLVM::AtomicRMWOp>(d.loc, op, at, v, LLVM::AtomicOrdering::monotonic); };
  d.when(d.equal(lane, 0), [&] {
    combine(LLVM::AtomicBinOp::_or, someAt, some);
    combine(LLVM::AtomicBinOp::_and, allAt, all);
  });
  d.barrier();
  return d.bitXor(d.load(d.i64Type(), someAt, 8), d.load(d.i64Type(), allAt, 8));
}

/// The threads of the warp that have a word with the digit. A vote for each bit: to match values takes as long as there are different ones (8192 random
/// floats: 123 us for 512 rows, 156 with matches).
Value BlockRadixEmitter::sharersOf(Value digit, Value isInside) {
  Value mask = d.ballot(isInside);
  for (unsigned bit = 0; bit < digitBits; ++bit) {
    Value is = d.equal(d.bitAnd(d.shr(digit, bit), 1), 1), those = d.ballot(is);
    mask = d.both(mask, d.select(is, those, d.bitXor(those, -1)));
  }
  return mask;
}

/// How many words of the same digit come before each in the warp's piece; behind that the counters hold how many the piece has.
Values BlockRadixEmitter::rankInWarps(ValueRange words, Value shift) {
  Value below = d.sub(d.b.create<LLVM::ShlOp>(d.loc, d.i32(1), lane), d.i32(1));
  auto ones = [&](Value mask) -> Value { return d.b.create<LLVM::CtPopOp>(d.loc, mask); };
  auto together = [&] { d.ptx("bar.warp.sync 0xffffffff;"); };
  for (unsigned i = 0; i < digits; i += 32)
    d.store(d.i32(0), countAt(warp, d.add(lane, int64_t(i))), 4);
  together();
  Values ranks;
  for (unsigned i = 0; i < shape.each; ++i) {
    Value digit = keyDigit(wordOf(words, i), shift), mask = sharersOf(digit, inside[i]);
    Value at = countAt(warp, digit), before = d.load(d.i32Type(), at, 4), rank = ones(d.both(mask, below));
    together();
    d.when(d.both(inside[i], d.equal(rank, 0)), [&] { d.store(d.add(before, ones(mask)), at, 4); });
    together();
    ranks.push_back(d.add(before, rank));
  }
  return ranks;
}

/// Of each digit, where its words begin in the row; of each warp and digit, how many words of the digit earlier warps have.
void BlockRadixEmitter::startDigits() {
  Value isDigit = d.less(tid, d.i32(digits)), start = d.at(starts, tid, d.i32Type());
  d.when(isDigit, [&] {
    Values each;
    for (unsigned w = 0; w < shape.warps(); ++w)
      each.push_back(d.load(d.i32Type(), countAt(d.i32(w), tid), 4));
    Value sum = d.i32(0);
    for (unsigned w = 0; w < shape.warps(); ++w) {
      d.store(sum, countAt(d.i32(w), tid), 4);
      sum = d.add(sum, each[w]);
    }
    Value upTo = d.sumUpTo(sum, lane);
    d.store(d.sub(upTo, sum), start, 4);
    d.when(d.equal(lane, 31), [&] { d.store(upTo, d.at(sums, warp, d.i32Type()), 4); });
  });
  d.barrier();
  d.when(isDigit, [&] {
    Value first = d.load(d.i32Type(), start, 4);
    for (unsigned w = 0; w < digits / 32; ++w)
      first = d.add(first, d.select(d.less(d.i32(w), warp), d.load(d.i32Type(), d.at(sums, d.i32(w), d.i32Type()), 4), d.i32(0)));
    d.store(first, start, 4);
  });
  d.barrier();
}

/// The words in the order of a digit.
Values BlockRadixEmitter::pass(ValueRange words, Value shift) {
  Values ranks = rankInWarps(words, shift);
  d.barrier();
  startDigits();
  for (unsigned i = 0; i < shape.each; ++i) {
    SortWord w = wordOf(words, i);
    Value digit = keyDigit(w, shift), earlier = d.load(d.i32Type(), countAt(warp, digit), 4);
    Value first = d.load(d.i32Type(), d.at(starts, digit, d.i32Type()), 4);
    d.when(inside[i], [&] { store(w, d.add(d.add(first, earlier), ranks[i])); });
  }
  d.barrier();
  return collect([&](Value at) { return load(at); });
}

void BlockRadixEmitter::emit() {
  tid = d.threadId();
  lane = d.bitAnd(tid, 31);
  warp = d.div(tid, 32);
  size = d.narrow(frame.size(info.extents[axis]));
  counts = frame.dynamicShared();
  highs = d.byteAt(counts, int64_t(shape.warps()) * digits * 4);
  lows = d.byteAt(highs, shape.room() * 8);
  starts = frame.sharedArray("starts", d.i32Type(), digits);
  sums = frame.sharedArray("sums", d.i32Type(), digits / 32);
  bits = frame.sharedArray("bits", d.i64Type(), 2);
  bindBatch(base, rowAxes, d.wide(d.blockId()));
  Value piece = d.mul(d.ceilDiv(size, 32 * shape.warps()), 32), last = d.sub(size, d.i32(1));
  Value from = d.minU(d.mul(warp, piece), size), to = d.minU(d.add(from, piece), size);
  for (unsigned i = 0; i < shape.each; ++i) {
    Value at = d.add(d.add(from, lane), int64_t(32 * i));
    inside.push_back(d.less(at, to));
    places.push_back(d.minU(at, last));
  }
  Values words = collect([&](Value at) { return wordAt(base, d.wide(at)); });
  Value differ = bitsThatDiffer(words), digitMask = d.i64(digits - 1);
  // A digit that all words share leaves them where they are: small integers have several.
  Values sorted = d.loop(d.i32(0), d.i32(keyBytes), d.i32(1), words, [&](Value number, ValueRange now) {
    Value shift = d.wide(d.add(d.mul(number, digitBits), isWide() ? 0 : 32));
    Value shared = d.equal(d.both(d.b.create<arith::ShRUIOp>(d.loc, differ, shift), digitMask), 0);
    return d.choose(shared, [&] { return Values(now); }, [&] { return pass(now, shift); });
  });
  for (unsigned i = 0; i < shape.each; ++i)
    d.when(inside[i], [&] { store(wordOf(sorted, i), places[i]); });
  d.barrier();
  d.loop(d.wide(tid), frame.size(info.extents[rankAxis]), d.i64(shape.threads), [&](Value rank) { storeResult(base, load(d.narrow(rank)), rank); });
}

/// The blocks that a machine has room for, the smallest first.
static SmallVector<BlockShape> shapesFor(const schedule::Machine &machine, unsigned keyBytes) {
  SmallVector<BlockShape> shapes;
  for (BlockShape s : {BlockShape{256, 4}, BlockShape{256, 8}, BlockShape{512, 8}, BlockShape{1024, 8}, BlockShape{1024, 16}})
    if (s.sharedBytes(keyBytes) <= int64_t(machine.gpu.sharedPerBlock) && (s.each <= 8 || keyBytes <= 4)) // of wide words registers hold eight
      shapes.push_back(s);
  return shapes;
}

/// Rows of fewer words are sorted by exchanges, fewer results are picked from the row.
constexpr int64_t shortest = 512, fewestResults = 128;

llvm::Expected<std::optional<BlockSort>> cuda::addBlockRadix(Generator &g, kernel::SortOp op) {
  kernel::GenericOp kernel = g.info.kernel;
  Expr length = *kernel.getExtent(op.getAxis()), results = *kernel.getExtent(op.getRankAxis());
  unsigned keyBytes = lower::sortKeyBytes(op);
  SmallVector<BlockShape> shapes = shapesFor(g.machine(), keyBytes);
  std::optional<int64_t> known = length.constant();
  if (results.constant().value_or(INT64_MAX) <= fewestResults || known.value_or(INT64_MAX) <= shortest || known.value_or(0) > shapes.back().room())
    return std::nullopt;
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  Value size = plan.size(length), entry, threads, shared;
  auto atMost = [&](int64_t room) { return h.less(size, plan.constant(room + 1)); };
  // From the largest to the smallest, of which the last that fits is taken.
  for (const BlockShape &s : llvm::reverse(shapes)) {
    if (known && (*known > s.room() || (&s != shapes.begin() && *known <= (&s)[-1].room())))
      continue;
    auto orElse = [&](int64_t value, Value otherwise) {
      return otherwise ? h.select(atMost(s.room()), plan.constant(value), otherwise) : plan.constant(value);
    };
    entry = orElse(g.entries.size(), entry);
    threads = orElse(s.threads, threads);
    shared = orElse(s.sharedBytes(keyBytes), shared);
    std::string name = "sort_row_" + std::to_string(s.room());
    KernelFrame frame(g.info, g.device, name, s.threads, g.sm, 0, g.dependent());
    BlockRadixEmitter emitter(frame, op, s);
    emitter.emit();
    if (llvm::Error e = g.addEntry(frame, name, emitter.error()))
      return std::move(e);
  }
  Value fits = h.both(h.less(plan.constant(shortest), size), atMost(shapes.back().room()));
  return BlockSort{h.both(fits, h.less(plan.constant(fewestResults), plan.size(results))), entry, threads, shared, known && results.constant()};
}
