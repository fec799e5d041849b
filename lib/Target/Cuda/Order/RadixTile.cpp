//===- RadixTile.cpp - Words that a block puts into the order of a digit -----===//
//
// (Merrill, Grimshaw: High Performance and Scalable Radix Sorting, PPL 2011.)
//
//===----------------------------------------------------------------------===//

#include "RadixTile.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;

constexpr unsigned digits = radixDigits, digitBits = 8;

void RadixTileEmitter::prepare() {
  tid = d.threadId();
  lane = d.bitAnd(tid, 31);
  warp = d.div(tid, 32);
  counts = frame.dynamicShared();
  highs = d.byteAt(counts, int64_t(shape.warps()) * digits * 4);
  lows = d.byteAt(highs, shape.room() * 8);
  starts = frame.sharedArray("starts", d.i32Type(), digits);
  sums = frame.sharedArray("sums", d.i32Type(), digits / 32);
}

SortWord RadixTileEmitter::load(Value at) {
  return {d.load(d.i64Type(), d.at(highs, at, d.i64Type()), 8), isWide() ? d.load(d.i32Type(), d.at(lows, at, d.i32Type()), 4) : Value()};
}

void RadixTileEmitter::store(const SortWord &w, Value at) {
  d.store(w.high, d.at(highs, at, d.i64Type()), 8);
  if (isWide())
    d.store(w.low, d.at(lows, at, d.i32Type()), 4);
}

Values RadixTileEmitter::collect(ValueRange places, llvm::function_ref<SortWord(Value at)> word) {
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

std::pair<Value, Value> RadixTileEmitter::combineBits(Value some, Value all) {
  for (unsigned m = 16; m; m /= 2) {
    some = d.bitOr(some, d.shuffleXor(some, m));
    all = d.both(all, d.shuffleXor(all, m));
  }
  return {some, all};
}

/// Of the warp.
void RadixTileEmitter::clearCounts() {
  for (unsigned i = 0; i < digits; i += 32)
    d.store(d.i32(0), countAt(warp, d.add(lane, int64_t(i))), 4);
  d.ptx("bar.warp.sync 0xffffffff;");
}

/// The threads of the warp that have a word with the digit. A vote for each bit: to match values takes as long as there are different ones (8192 random
/// floats: 123 us for 512 rows, 156 with matches).
Value RadixTileEmitter::sharersOf(Value digit, Value isInside) {
  Value mask = d.ballot(isInside);
  for (unsigned bit = 0; bit < digitBits; ++bit) {
    Value is = d.equal(d.bitAnd(d.shr(digit, bit), 1), 1), those = d.ballot(is);
    mask = d.both(mask, d.select(is, those, d.bitXor(those, -1)));
  }
  return mask;
}

/// How many words of the same digit come before each in the warp's piece; behind that the counters hold how many the piece has.
Values RadixTileEmitter::rankInWarps(ValueRange words, ValueRange inside, Value shift) {
  Value below = d.sub(d.b.create<LLVM::ShlOp>(d.loc, d.i32(1), lane), d.i32(1));
  auto ones = [&](Value mask) -> Value { return d.b.create<LLVM::CtPopOp>(d.loc, mask); };
  auto together = [&] { d.ptx("bar.warp.sync 0xffffffff;"); };
  clearCounts();
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
void RadixTileEmitter::startDigits() {
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

void RadixTileEmitter::order(ValueRange words, ValueRange inside, Value shift) {
  Values ranks = rankInWarps(words, inside, shift);
  d.barrier();
  startDigits();
  for (unsigned i = 0; i < shape.each; ++i) {
    SortWord w = wordOf(words, i);
    Value digit = keyDigit(w, shift), earlier = d.load(d.i32Type(), countAt(warp, digit), 4);
    Value first = d.load(d.i32Type(), d.at(starts, digit, d.i32Type()), 4);
    d.when(inside[i], [&] { store(w, d.add(d.add(first, earlier), ranks[i])); });
  }
}
