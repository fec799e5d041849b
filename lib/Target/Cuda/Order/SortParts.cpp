//===- SortParts.cpp - The words of a part of a sorted row -----------------===//
//
// A few best words are among those that are no worse than the last of the best ones of as many threads: each thread
// finds its own best one, these are sorted, and what is good enough is collected. Of very few words warps' best ones do,
// which are sooner sorted. Where what is good enough is more than there is room for, and for any other part, histograms find the words between which the part lies, digit by digit.
//
//===----------------------------------------------------------------------===//

#include "SortEmitter.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;

constexpr unsigned digits = 256;

//===----------------------------------------------------------------------===//
// What was collected
//===----------------------------------------------------------------------===//

static Value bumped(DeviceBuilder &d, Value pointer) {
  return d.b.create<LLVM::AtomicRMWOp>(d.loc, LLVM::AtomicBinOp::add, pointer, d.i32(1),
                                       LLVM::AtomicOrdering::monotonic);
}

void SortEmitter::clearTaken() {
  d.when(d.equal(tid, 0), [&] { d.store(d.i32(0), d.at(counts, d.i32(digits), d.i32Type()), 4); });
  d.barrier();
}

/// A place for one more word.
Value SortEmitter::take() { return bumped(d, d.at(counts, d.i32(digits), d.i32Type())); }

/// How many have asked for one.
Value SortEmitter::taken() {
  d.barrier();
  return d.load(d.i32Type(), d.at(counts, d.i32(digits), d.i32Type()), 4);
}

//===----------------------------------------------------------------------===//
// Bounds from histograms
//===----------------------------------------------------------------------===//

Values SortEmitter::values(const Bound &b, Value rest) {
  Values v{b.prefix.high, b.mask.high, rest};
  if (isWide())
    v.append({b.prefix.low, b.mask.low});
  return v;
}

SortBound SortEmitter::boundOf(ValueRange v) {
  return isWide() ? SortBound{{v[0], v[3]}, {v[1], v[4]}} : SortBound{{v[0], {}}, {v[1], {}}};
}

/// Of the words in the bound: the digit of the one that `rest` others precede, and how many of them have a smaller
/// digit.
void SortEmitter::findDigit(const Bound &bound, Value shift, Value rest) {
  Type i32 = d.i32Type();
  Value hasDigit = d.less(tid, d.i32(digits));
  d.when(hasDigit, [&] { d.store(d.i32(0), d.at(counts, tid, i32), 4); });
  d.barrier();
  eachWord([&](const Word &w) {
    d.when(same(masked(w, bound.mask), bound.prefix), [&] { bumped(d, d.at(counts, digitOf(w, shift), i32)); });
  });
  d.barrier();
  // A thread per digit; 8 at a time, of which those before it count.
  Value own = d.minU(tid, d.i32(digits - 1)), mine = d.wide(d.load(i32, d.at(counts, own, i32), 4)), before = d.i64(0);
  before = d.loop(d.i32(0), own, d.i32(8), Values{before}, [&](Value first, ValueRange sum) {
    Value total = sum[0];
    for (unsigned u = 0; u < 8; ++u) {
      Value at = d.add(first, int64_t(u)), n = d.wide(d.load(i32, d.at(counts, at, i32), 4));
      total = d.add(total, d.select(d.less(at, own), n, d.i64(0)));
    }
    return Values{total};
  })[0];
  Value isHere = d.both(d.compare(arith::CmpIPredicate::ule, before, rest),
                        d.compare(arith::CmpIPredicate::ult, rest, d.add(before, mine)));
  d.when(d.both(hasDigit, isHere), [&] {
    d.store(d.wide(tid), d.at(found, d.i32(0), d.i64Type()), 8);
    d.store(before, d.at(found, d.i32(1), d.i64Type()), 8);
  });
  d.barrier();
}

/// The bound that `rank` words precede. It is known once none is left to tell apart, in most rows long before the last
/// digit.
SortBound SortEmitter::boundAt(Value rank) {
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
Value SortEmitter::collectBetween(Value from, Value to) {
  Bound low = boundAt(from);
  Value isLast = d.equal(to, size);
  Word none = constant(0);
  Bound high = boundOf(d.choose(
      isLast, [&] { return values({none, none}, d.i64(0)); }, [&] { return values(boundAt(to), d.i64(0)); }));
  clearTaken();
  eachWord([&](const Word &w) {
    Value isBefore = less(masked(w, low.mask), low.prefix);
    Value inside = d.both(d.equal(isBefore, 0), d.bitOr(isLast, less(masked(w, high.mask), high.prefix)));
    d.when(inside, [&] { store(w, take()); });
  });
  return taken();
}

//===----------------------------------------------------------------------===//
// The best ones
//===----------------------------------------------------------------------===//

/// The threads' best words to shared memory, or the warps' where these are enough; gives how many there are.
Value SortEmitter::storeBest(const Word &best, Value count) {
  unsigned warps = threads / 32;
  auto byWarps = [&] {
    Word w = best;
    for (unsigned m = 16; m; m /= 2) {
      Word other{d.shuffleXor(w.high, m), isWide() ? d.shuffleXor(w.low, m) : Value()};
      Value better = less(other, w);
      w = {d.select(better, other.high, w.high), isWide() ? d.select(better, other.low, w.low) : Value()};
    }
    d.when(d.equal(d.bitAnd(tid, 31), 0), [&] { store(w, d.div(tid, 32)); });
    return Values{d.i32(warps)};
  };
  auto byThreads = [&] {
    store(best, tid);
    return Values{d.i32(threads)};
  };
  return d.choose(d.less(count, d.i64(warps / 2 + 1)), byWarps, byThreads)[0];
}

/// Gives how many there are, at least `count`: more than there is room for are not all there.
Value SortEmitter::collectBest(Value count) {
  Values best = eachWord(values(constant(-1)), [&](const Word &w, ValueRange now) {
    Value better = less(w, wordOf(now));
    Values out{d.select(better, w.high, now[0])};
    if (isWide())
      out.push_back(d.select(better, w.low, now[1]));
    return out;
  });
  sortWords(storeBest(wordOf(best), count));
  Word last = load(d.sub(d.narrow(count), d.i32(1)));
  clearTaken();
  eachWord([&](const Word &w) {
    d.when(d.equal(less(last, w), 0), [&] {
      Value at = take();
      d.when(d.less(at, d.i32(capacity(op))), [&] { store(w, at); });
    });
  });
  return taken();
}

/// The words of results [from, to), and perhaps more behind them, to shared memory in any order; gives how many.
Value SortEmitter::collect(Value from, Value to) {
  Value isFirst = d.equal(from, 0), tooMany = d.i32(capacity(op) + 1);
  // Of two words for each thread, to sort them all is the least work.
  Value areAll = d.both(isFirst, d.less(size, d.i64(2 * threads + 1)));
  // A thread's best one is of little use where most of them are results.
  Value few = d.both(isFirst, d.both(d.less(d.i64(0), to), d.less(to, d.i64(threads / 2 + 1))));
  auto all = [&] {
    d.loop(d.wide(tid), size, d.i64(threads), [&](Value i) { store(wordAt(i), d.narrow(i)); });
    d.barrier();
    return Values{d.narrow(size)};
  };
  auto best = [&] {
    return d.choose(few, [&] { return Values{collectBest(to)}; }, [&] { return Values{tooMany}; });
  };
  Value found = d.choose(areAll, all, best)[0];
  return d.choose(
      d.less(d.i32(capacity(op)), found), [&] { return Values{collectBetween(from, to)}; }, [&] { return Values{found}; })[0];
}
