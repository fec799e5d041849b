//===- RadixSort.cpp - Long rows sorted by all blocks of a GPU --------------===//
//
// Words are moved digit by digit, from the lowest on, each time in the order in which they lie: first the indices are
// in order, and digits of the keys keep the order of equal ones. Blocks share a row, each with a piece of it. A block
// counts the digits of its words, learns from the counts of all pieces where its first word of each digit goes, and then
// takes its piece tile by tile: a tile's words are put into the order of the digit in shared memory (RadixTile.cpp), so
// that those of a digit leave side by side. The next tile is read meanwhile. Digits that all keys of a row share move
// nothing; the highest one of the others is moved straight to the results. Blocks of a row wait for one another between
// counting and moving; who moves what depends on sizes and the device alone.
//
//===----------------------------------------------------------------------===//

#include "../Launch/GridBarrier.h"
#include "RadixEmitter.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using shape::Expr;

constexpr unsigned digits = radixDigits, digitBits = 8;
/// Words of a thread whose loads are in flight together where they are counted.
constexpr int64_t ahead = 8;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// The low parts lie behind the high ones.
SortWord RadixEmitter::fetch(Value buffer, Value at) {
  Value high = d.load(d.i64Type(), d.at(buffer, at, d.i64Type()), 8);
  if (!isWide())
    return {high, {}};
  return {high, d.load(d.i32Type(), d.at(d.at(buffer, size, d.i64Type()), at, d.i32Type()), 4)};
}

void RadixEmitter::put(const SortWord &w, Value buffer, Value at) {
  d.store(w.high, d.at(buffer, at, d.i64Type()), 8);
  if (isWide())
    d.store(w.low, d.at(d.at(buffer, size, d.i64Type()), at, d.i32Type()), 4);
}

/// Writes the piece's words; gives the bits that are not the same in all keys of the row.
Value RadixEmitter::fill(const BodyEmitter &row, Value &target) {
  Type i64 = d.i64Type();
  Value end = d.sub(size, d.i64(1));
  Values seen = d.loop(d.add(from, d.wide(tid)), to, d.i64(ahead * shape.threads), Values{d.i64(0), d.i64(-1)}, [&](Value first, ValueRange now) {
    SmallVector<SortWord> words; // past the end the row's last one
    for (int64_t i = 0; i < ahead; ++i)
      words.push_back(wordAt(row, d.minU(d.add(first, i * shape.threads), end)));
    Values bits(now);
    for (auto [i, w] : llvm::enumerate(words)) {
      Value at = d.add(first, int64_t(i * shape.threads));
      d.when(d.less(at, to), [&, w = w] { put(w, buffers[0], at); });
      bits = {d.bitOr(bits[0], w.high), d.both(bits[1], w.high)};
    }
    return bits;
  });
  auto [some, every] = combineBits(seen[0], seen[1]);
  Value own = d.at(bits, d.mul(part, 2), i64);
  auto combined = [&](LLVM::AtomicBinOp op, int64_t word, Value v) {
    d.b.create<LLVM::AtomicRMWOp>(d.loc, op, d.at(own, d.i32(word), i64), v, LLVM::AtomicOrdering::monotonic);
  };
  d.when(d.equal(tid, 0), [&] {
    d.store(d.i64(0), own, 8);
    d.store(d.i64(-1), d.at(own, d.i32(1), i64), 8);
  });
  d.barrier();
  d.when(d.equal(lane, 0), [&, some = some, every = every] {
    combined(LLVM::AtomicBinOp::_or, 0, some);
    combined(LLVM::AtomicBinOp::_and, 1, every);
  });
  target = meet(target);
  Values both = d.loop(lane, sharers, d.i32(32), Values{d.i64(0), d.i64(-1)}, [&](Value block, ValueRange now) {
    Value its = d.at(bits, d.mul(block, 2), i64);
    return Values{d.bitOr(now[0], d.load(i64, its, 8)), d.both(now[1], d.load(i64, d.at(its, d.i32(1), i64), 8))};
  });
  auto [inSome, inAll] = combineBits(both[0], both[1]);
  return d.bitXor(inSome, inAll);
}

//===----------------------------------------------------------------------===//
// Where digits begin
//===----------------------------------------------------------------------===//

/// The digits of the piece's words, by each warp.
void RadixEmitter::count(Value buffer, Value shift) {
  clearCounts();
  Value last = d.sub(size, d.i64(1));
  d.loop(d.add(from, d.wide(tid)), to, d.i64(ahead * shape.threads), [&](Value first) {
    Values keys, inside;
    for (int64_t i = 0; i < ahead; ++i) {
      Value at = d.add(first, i * shape.threads);
      inside.push_back(d.less(at, to));
      keys.push_back(d.load(d.i64Type(), d.at(buffer, d.minU(at, last), d.i64Type()), 8));
    }
    for (auto [ok, key] : llvm::zip(inside, keys))
      d.when(ok, [&, key = key] {
        d.b.create<LLVM::AtomicRMWOp>(d.loc, LLVM::AtomicBinOp::add, countAt(warp, keyDigit({key, {}}, shift)), d.i32(1), LLVM::AtomicOrdering::monotonic);
      });
  });
  d.barrier();
}

/// The block's counts for all blocks.
void RadixEmitter::publish() {
  d.when(d.less(tid, d.i32(digits)), [&] {
    Value sum = d.i32(0);
    for (unsigned w = 0; w < shape.warps(); ++w)
      sum = d.add(sum, d.load(d.i32Type(), countAt(d.i32(w), tid), 4));
    d.store(sum, d.at(table, d.add(d.mul(tid, sharers), part), d.i32Type()), 4);
  });
}

/// Of each digit, how many words all blocks have, and those before this one.
void RadixEmitter::countBefore() {
  Type i32 = d.i32Type();
  unsigned own = digits / shape.warps(); // digits of a warp
  Values sums(2 * own, d.i32(0));
  Value first = d.mul(warp, own);
  sums = d.loop(lane, sharers, d.i32(32), sums, [&](Value block, ValueRange carried) {
    Values now(carried);
    Value isBefore = d.less(block, part);
    for (unsigned i = 0; i < own; ++i) {
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
    for (unsigned i = 0; i < own; ++i) {
      d.store(sums[2 * i], d.at(all, d.add(first, int64_t(i)), i32), 4);
      d.store(sums[2 * i + 1], d.at(nexts, d.add(first, int64_t(i)), i32), 4);
    }
  });
  d.barrier();
}

/// Where the block's first word of each digit goes. Smaller digits come first: the first warp adds them up.
void RadixEmitter::placeTiles() {
  Type i32 = d.i32Type();
  countBefore();
  d.when(d.equal(warp, 0), [&] {
    constexpr unsigned each = digits / 32;
    Values counted;
    Value total = d.i32(0), start = d.mul(lane, each);
    for (unsigned i = 0; i < each; ++i) {
      counted.push_back(d.load(i32, d.at(all, d.add(start, int64_t(i)), i32), 4));
      total = d.add(total, counted.back());
    }
    Value at = d.sub(d.sumUpTo(total, lane), total);
    for (unsigned i = 0; i < each; ++i) {
      Value slot = d.at(nexts, d.add(start, int64_t(i)), i32);
      d.store(d.add(at, d.load(i32, slot, 4)), slot, 4);
      at = d.add(at, counted[i]);
    }
  });
  d.barrier();
}

//===----------------------------------------------------------------------===//
// A pass
//===----------------------------------------------------------------------===//

/// A warp's words of a tile lie side by side, 32 at a time.
Values RadixEmitter::wordsOfTile(Value buffer, Value first) {
  Value last = d.sub(size, d.i64(1)), own = d.add(first, d.wide(d.add(d.mul(warp, int64_t(32 * shape.each)), lane)));
  Values places;
  for (unsigned i = 0; i < shape.each; ++i)
    places.push_back(d.minU(d.add(own, int64_t(32 * i)), last));
  return collect(places, [&](Value at) { return fetch(buffer, at); });
}

/// Where the tile's words of each digit go, and the next tile's.
void RadixEmitter::placeDigits(Value inTile) {
  Type i32 = d.i32Type();
  d.when(d.less(tid, d.i32(digits)), [&] {
    Value first = d.load(i32, d.at(starts, tid, i32), 4), next = d.at(nexts, tid, i32), to = d.load(i32, next, 4);
    Value isLast = d.equal(tid, digits - 1), following = d.at(starts, d.minU(d.add(tid, int64_t(1)), d.i32(digits - 1)), i32);
    Value end = d.select(isLast, inTile, d.load(i32, following, 4));
    d.store(d.sub(to, first), d.at(offsets, tid, i32), 4);
    d.store(d.add(to, d.sub(end, first)), next, 4);
  });
}

void RadixEmitter::move(Value buffer, Value shift, Sink sink) {
  Value room = d.i64(shape.room());
  d.loop(from, to, room, wordsOfTile(buffer, from), [&](Value tile, ValueRange words) {
    Value inTile = d.narrow(d.minU(room, d.sub(to, tile))), own = d.add(d.mul(warp, int64_t(32 * shape.each)), lane);
    Values inside;
    for (unsigned i = 0; i < shape.each; ++i)
      inside.push_back(d.less(d.add(own, int64_t(32 * i)), inTile));
    order(words, inside, shift);
    placeDigits(inTile);
    d.barrier();
    Values next = wordsOfTile(buffer, d.add(tile, room));
    d.keepAhead();
    SmallVector<SortWord> ordered;
    Values places, exist;
    for (unsigned i = 0; i < shape.each; ++i) {
      Value at = d.add(tid, int64_t(i) * shape.threads), safe = d.minU(at, d.sub(inTile, d.i32(1)));
      ordered.push_back(load(safe));
      exist.push_back(d.less(at, inTile));
      places.push_back(d.wide(d.add(safe, d.load(d.i32Type(), d.at(offsets, keyDigit(ordered.back(), shift), d.i32Type()), 4))));
    }
    sink(ordered, places, exist);
    return next;
  });
}

/// The counter's next target.
Value RadixEmitter::meet(Value target) {
  Value counter = d.at(frame.scratch(), d.add(d.wide(group), firstRadixCounter), d.i32Type()), next = d.add(target, sharers);
  arriveAtGrid(d, counter);
  awaitGrid(d, counter, next);
  return next;
}

Value RadixEmitter::pass(Value source, Value shift, Value target, Sink sink) {
  count(source, shift);
  publish();
  target = meet(target);
  placeTiles();
  move(source, shift, sink);
  return meet(target);
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

void RadixEmitter::prepareGroup() {
  prepare();
  size = frame.size(info.extents[axis]);
  sharers = d.load(d.i32Type(), frame.scratch(), 4);
  group = d.div(d.blockId(), sharers);
  part = d.rem(d.blockId(), sharers);
  Value length = d.ceilDiv(size, d.wide(sharers));
  from = d.minU(d.mul(d.wide(part), length), size);
  to = d.minU(d.add(from, length), size);
  all = frame.sharedArray("all", d.i32Type(), digits);
  nexts = frame.sharedArray("nexts", d.i32Type(), digits);
  offsets = frame.sharedArray("offsets", d.i32Type(), digits);
  // Of each group: its bits, the table, then two buffers.
  Value bufferBytes = d.mul(d.ceilDiv(size, 4), 4 * wordBytes(keyBytes));
  Value own = d.mul(d.add(d.mul(d.wide(sharers), tableBytes()), d.mul(bufferBytes, 2)), d.wide(group));
  bits = d.byteAt(frame.scratch(), d.add(own, radixHeadBytes));
  table = d.byteAt(bits, d.mul(d.wide(sharers), 16));
  buffers[0] = d.byteAt(table, d.mul(d.wide(sharers), 4 * digits));
  buffers[1] = d.byteAt(buffers[0], bufferBytes);
}

/// The counter's target behind it.
Value RadixEmitter::sortRow(const BodyEmitter &row, Value target) {
  Value differ = fill(row, target), count = frame.size(info.extents[rankAxis]), lowest = d.i32(isWide() ? 0 : 32);
  auto shiftOf = [&](Value number) { return d.wide(d.add(d.mul(number, digitBits), lowest)); };
  auto sourceOf = [&](Value isSecond) { return d.select(isSecond, buffers[1], buffers[0]); };
  // Where all keys are equal, the lowest digit makes the results.
  Value some = d.bitOr(isWide() ? differ : d.shr(differ, 32), d.i64(1)), zeros = d.b.create<LLVM::CountLeadingZerosOp>(d.loc, d.i64Type(), some, false);
  Value last = d.narrow(d.div(d.sub(d.i64(63), zeros), digitBits));
  Values state = d.loop(d.i32(0), last, d.i32(1), Values{target, d.i1(false)}, [&](Value number, ValueRange now) {
    Value shift = shiftOf(number), shared = d.equal(d.bitAnd(d.b.create<arith::ShRUIOp>(d.loc, differ, shift), digits - 1), 0);
    Values before(now);
    return d.choose(
        shared, [&] { return before; },
        [&] {
          Value goal = sourceOf(d.bitXor(before[1], d.i1(true)));
          Value after = pass(sourceOf(before[1]), shift, before[0], [&](ArrayRef<SortWord> words, ValueRange places, ValueRange inside) {
            for (auto [w, at, exists] : llvm::zip(words, places, inside))
              d.when(exists, [&, w = w, at = at] { put(w, goal, at); });
          });
          return Values{after, d.bitXor(before[1], d.i1(true))};
        });
  });
  return pass(sourceOf(state[1]), shiftOf(last), state[0], [&](ArrayRef<SortWord> words, ValueRange places, ValueRange inside) {
    Values wanted;
    for (auto [at, exists] : llvm::zip(places, inside))
      wanted.push_back(d.both(exists, d.less(at, count)));
    storeResults(row, words, places, wanted);
  });
}

void RadixEmitter::emit() {
  prepareGroup();
  Value rows = frame.size(rowsOf(info, op)), groups = d.wide(d.div(d.gridSize(), sharers));
  d.loop(d.wide(group), rows, groups, Values{d.i32(0)}, [&](Value row, ValueRange carried) {
    BodyEmitter point = base;
    bindBatch(point, rowAxes, row);
    return Values{sortRow(point, carried[0])};
  });
}
