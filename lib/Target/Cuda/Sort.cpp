//===- Sort.cpp - Sorting and selecting along an axis on a GPU -------------===//
//
// A block makes a part of a row's results: as many words (a key as an unsigned number, below it the index, so that no
// two are equal) as its shared memory holds, sorted there by exchanges. Of a longer row it first finds, digit by digit
// from histograms, the words between which its part lies, and collects those. Blocks do not wait for one another and
// need no other memory; a row is read a few times for each part of its results. Rows of many parts, and long ones that
// are too few for a device, are RadixSort.cpp's.
//
//===----------------------------------------------------------------------===//

#include "RowProgram.h"
#include "SortWords.h"
#include "lathe/Lower/SortKey.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using lower::BodyInfo;
using shape::Expr;

constexpr unsigned threads = 256, digits = 256;

namespace {

using Word = SortWord;

/// Where a part of the results begins: words whose leading digits (those in `mask`) come before `prefix` come before
/// it.
struct Bound {
  Word prefix, mask;
};

class SortEmitter : public SortWordEmitter {
public:
  SortEmitter(KernelFrame &frame, kernel::SortOp op) : SortWordEmitter(frame, op) {}
  void emit();
  /// Words in shared memory.
  static unsigned capacity(kernel::SortOp op) { return lower::sortKeyBytes(op) > 4 ? 2048 : 4096; }

private:
  Word wordAt(Value index) { return SortWordEmitter::wordAt(base, index); }
  Word constant(int64_t v) { return {d.i64(v), isWide() ? d.i32(v) : Value()}; }
  Word masked(const Word &w, const Word &mask) {
    return {d.both(w.high, mask.high), isWide() ? d.both(w.low, mask.low) : Value()};
  }
  Value less(const Word &x, const Word &y);
  Value same(const Word &x, const Word &y);
  Value digitOf(const Word &w, Value shift);
  Word placed(Value digit, Value shift);
  Values values(const Bound &b, Value rest);
  Bound boundOf(ValueRange v);
  Bound boundAt(Value rank);
  void findDigit(const Bound &bound, Value shift, Value rest);
  void collect(Value from, Value to);
  Word load(Value at);
  void store(const Word &w, Value at);
  void sortWords(Value count);
  void exchange(Value i, Value bit, Value block);
  void emitResults(Value from, Value to);

  Value size, tid, highs, lows, counts, found; ///< the last four are arrays in shared memory
};

} // namespace

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// The words of a part
//===----------------------------------------------------------------------===//

Values SortEmitter::values(const Bound &b, Value rest) {
  Values v{b.prefix.high, b.mask.high, rest};
  if (isWide())
    v.append({b.prefix.low, b.mask.low});
  return v;
}

Bound SortEmitter::boundOf(ValueRange v) {
  return isWide() ? Bound{{v[0], v[3]}, {v[1], v[4]}} : Bound{{v[0], {}}, {v[1], {}}};
}

static Value bumped(DeviceBuilder &d, Value pointer) {
  return d.b.create<LLVM::AtomicRMWOp>(d.loc, LLVM::AtomicBinOp::add, pointer, d.i32(1),
                                       LLVM::AtomicOrdering::monotonic);
}

/// Of the words in the bound: the digit of the one that `rest` others precede, and how many of them have a smaller
/// digit.
void SortEmitter::findDigit(const Bound &bound, Value shift, Value rest) {
  Type i32 = d.i32Type();
  d.store(d.i32(0), d.at(counts, tid, i32), 4);
  d.barrier();
  d.loop(d.wide(tid), size, d.i64(threads), [&](Value i) {
    Word w = wordAt(i);
    d.when(same(masked(w, bound.mask), bound.prefix), [&] { bumped(d, d.at(counts, digitOf(w, shift), i32)); });
  });
  d.barrier();
  // A thread per digit; 8 at a time, of which those before it count.
  Value mine = d.wide(d.load(i32, d.at(counts, tid, i32), 4)), before = d.i64(0);
  before = d.loop(d.i32(0), tid, d.i32(8), Values{before}, [&](Value first, ValueRange sum) {
    Value total = sum[0];
    for (unsigned u = 0; u < 8; ++u) {
      Value at = d.add(first, int64_t(u)), n = d.wide(d.load(i32, d.at(counts, at, i32), 4));
      total = d.add(total, d.select(d.less(at, tid), n, d.i64(0)));
    }
    return Values{total};
  })[0];
  Value isHere = d.both(d.compare(arith::CmpIPredicate::ule, before, rest),
                        d.compare(arith::CmpIPredicate::ult, rest, d.add(before, mine)));
  d.when(isHere, [&] {
    d.store(d.wide(tid), d.at(found, d.i32(0), d.i64Type()), 8);
    d.store(before, d.at(found, d.i32(1), d.i64Type()), 8);
  });
  d.barrier();
}

/// The bound that `rank` words precede. It is known once none is left to tell apart, in most rows long before the last
/// digit.
Bound SortEmitter::boundAt(Value rank) {
  int64_t bytes = keyBytes + 4;
  Values out =
      d.loop(d.i64(0), d.i64(bytes), d.i64(1), values({constant(0), constant(0)}, rank), [&](Value i, ValueRange v) {
        Value shift = d.mul(d.sub(d.i64(bytes - 1), i), 8), rest = v[2];
        return d.choose(
            d.equal(rest, 0), [&] { return Values(v); },
            [&] {
              Bound bound = boundOf(v);
              findDigit(bound, shift, rest);
              Value digit = d.load(d.i64Type(), d.at(found, d.i32(0), d.i64Type()), 8);
              Value before = d.load(d.i64Type(), d.at(found, d.i32(1), d.i64Type()), 8);
              Word part = placed(d.narrow(digit), shift), all = placed(d.i32(255), shift);
              auto both = [&](const Word &x, const Word &y) {
                return Word{d.bitOr(x.high, y.high), isWide() ? d.bitOr(x.low, y.low) : Value()};
              };
              return values({both(bound.prefix, part), both(bound.mask, all)}, d.sub(rest, before));
            });
      });
  return boundOf(out);
}

/// The words of results [from, to) to shared memory, in any order.
void SortEmitter::collect(Value from, Value to) {
  Type i32 = d.i32Type();
  d.when(d.equal(tid, 0), [&] { d.store(d.i32(0), d.at(counts, d.i32(digits), i32), 4); });
  Bound low = boundAt(from);
  Value isLast = d.equal(to, size);
  Word none = constant(0);
  Bound high = boundOf(d.choose(
      isLast,
      [&] {
        return values({none, none}, d.i64(0));
      },
      [&] { return values(boundAt(to), d.i64(0)); }));
  d.barrier();
  d.loop(d.wide(tid), size, d.i64(threads), [&](Value i) {
    Word w = wordAt(i);
    Value isBefore = less(masked(w, low.mask), low.prefix);
    Value inside = d.both(d.equal(isBefore, 0), d.bitOr(isLast, less(masked(w, high.mask), high.prefix)));
    d.when(inside, [&] { store(w, bumped(d, d.at(counts, d.i32(digits), i32))); });
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

void SortEmitter::emit() {
  int64_t room = capacity(op);
  tid = d.threadId();
  size = frame.size(info.extents[axis]);
  highs = frame.sharedArray("words", d.i64Type(), room);
  if (isWide())
    lows = frame.sharedArray("indices", d.i32Type(), room);
  counts = frame.sharedArray("counts", d.i32Type(), digits + 8);
  found = frame.sharedArray("found", d.i64Type(), 2);
  Value count = frame.size(info.extents[rankAxis]), parts = d.ceilDiv(count, room), block = d.wide(d.blockId());
  bindBatch(base, rowAxes, d.div(block, parts));
  Value from = d.mul(d.rem(block, parts), room), to = d.minU(d.add(from, room), count);
  collect(from, to);
  sortWords(d.narrow(d.sub(to, from)));
  emitResults(from, to);
}

llvm::Expected<bool> cuda::generateSort(Generator &g) {
  kernel::GenericOp kernel = g.info.kernel;
  auto sorts = kernel.getBody().front().getOps<kernel::SortOp>();
  if (sorts.empty())
    return false;
  kernel::SortOp op = *sorts.begin();
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  int64_t room = SortEmitter::capacity(op);
  llvm::Expected<std::optional<RadixLaunch>> radix = addRadixSort(g, op, room);
  if (!radix)
    return radix.takeError();
  Value entry = plan.constant(g.entries.size()), block = plan.constant(threads);
  Value grid = plan.size(Expr::ceildiv(*kernel.getExtent(op.getRankAxis()), Expr(room)) * rowsOf(g.info, op));
  if (const std::optional<RadixLaunch> &r = *radix) {
    plan.set(LATHE_CUDA_SCRATCH, h.select(r->useful, r->scratch, plan.constant(0)));
    // The first launch has no blocks where there are no results.
    Value begin = h.select(h.less(plan.constant(0), grid), r->beginGrid, grid), none = plan.constant(0);
    plan.follow(r->sort, h.select(r->useful, r->sortGrid, none), plan.constant(radixThreads));
    Value flags = plan.word(LATHE_CUDA_FLAGS);
    plan.set(LATHE_CUDA_FLAGS, h.bitOr(flags, plan.constant(LATHE_CUDA_TOGETHER)));
    entry = h.select(r->useful, r->begin, entry);
    grid = h.select(r->useful, begin, grid);
    block = h.select(r->useful, plan.constant(32), block);
  }
  plan.set(LATHE_CUDA_ENTRY, entry);
  plan.set(LATHE_CUDA_GRID, grid);
  plan.set(LATHE_CUDA_GRID + 1, 1);
  plan.set(LATHE_CUDA_GRID + 2, 1);
  plan.set(LATHE_CUDA_BLOCK, block);
  KernelFrame frame(g.info, g.device, "sort", threads, g.sm, 0, g.dependent());
  SortEmitter emitter(frame, op);
  emitter.emit();
  if (llvm::Error e = g.addEntry(frame, "sort", emitter.error()))
    return std::move(e);
  return true;
}
