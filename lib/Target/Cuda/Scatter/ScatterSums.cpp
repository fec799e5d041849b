//===- ScatterSums.cpp - Sums of floats whose order changes no bit ----------===//
//
// A float is a whole number times a power of two. An element's sum is held in a few whole numbers of 64 bits, its
// windows: the first one counts in units that the largest of all updates needs, each other one takes up where the one
// before it ends. What is added to a window leaves room for the carries of all updates, so the additions are exact and
// any order of them gives the same bits. Most tensors need one or two windows; four of them reach 2^100 times below the
// largest update and further. What is no number makes flags.
//
// The phases: the range of the updates is found; as many windows as it needs are cleared; updates are added to them;
// elements take their sums. Sparse, all windows of updated elements are cleared, and whoever comes first of those that
// updated an element takes its sum.
//
//===----------------------------------------------------------------------===//

#include "ScatterPhases.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

/// Windows of an element, and of one in a result of so many elements that memory counts.
constexpr int64_t mostWindows = 4, fewWindows = 2, manyElements = 1 << 24;
/// Blocks that look for the range, each of which keeps what it found.
constexpr int64_t mostBlocks = ScatterPhases::mostBlocks;
/// Words of 4 bytes at the start of the scratch memory: how many blocks found something, and what all of them found.
enum Word { Blocks, Top, Windows, Special, FirstFound = 16 };
constexpr int64_t headBytes = 4 * FirstFound + 3 * 4 * mostBlocks + 64;
/// Numbers of places count down from here.
constexpr int64_t highestPlace = 1 << 12;
/// Flags of an element, in a byte.
enum Flag { PlusInfinity = 1, MinusInfinity = 2, NotANumber = 4, Taken = 8 };

namespace {

/// magnitude * 2^(place - bias of the type), where the place is 1 or more.
struct Parts {
  Value magnitude, place, negative; ///< i64, i64, i1
  Value special, fraction;          ///< i1: no number; i1: and no infinity
};

/// What is known of the range, on the device.
struct PlaceRange {
  Value top, windows, special; ///< i64, i64, i1
};

class ScatterSums : public ScatterPhases {
public:
  explicit ScatterSums(Type element) : ScatterPhases(element), isDouble(element.isF64()), digits(isDouble ? 53 : 24) {}
  SmallVector<ScatterPhase> phases(bool sparse) const override {
    ScatterPhase each{ScatterPhase::Element, "store_sum"}, updated{ScatterPhase::Update, "store_updated"};
    return {
        {ScatterPhase::Range, "find_range"}, clearing(sparse), {ScatterPhase::Update, "add"}, sparse ? updated : each};
  }
  Expr bytes(const Expr &elements) const override {
    Expr few = Expr::min(elements, Expr(manyElements)) * Expr(8 * (mostWindows - fewWindows));
    return Expr(headBytes) + elements * Expr(8 * fewWindows + 1) + few + Expr(64);
  }
  void beforeUpdates(KernelFrame &frame, const PhaseMemory &m, StringRef phase) const override;
  void update(DeviceBuilder &d, const PhaseMemory &m, StringRef phase, Value index, Value value,
              Value number) const override;
  void element(DeviceBuilder &d, const PhaseMemory &m, Value index) const override;
  void memory(KernelFrame &frame, const PhaseMemory &m) const override;
  unsigned rangeNumbers() const override { return 3; }
  Values range(DeviceBuilder &d, Value value, Value counts) const override;
  void keepRange(KernelFrame &frame, const PhaseMemory &m, Values largest) const override;

private:
  Parts partsOf(DeviceBuilder &d, Value value) const;
  Value wordAt(DeviceBuilder &d, const PhaseMemory &m, int64_t word) const {
    return d.at(m.scratch, d.i64(word), d.i32Type());
  }
  Value number(DeviceBuilder &d, const PhaseMemory &m, int64_t word) const {
    return d.wide(d.load(d.i32Type(), wordAt(d, m, word), 4));
  }
  Value room(DeviceBuilder &d, const PhaseMemory &m) const;
  Value bitsOfWindow(DeviceBuilder &d, const PhaseMemory &m) const;
  Value windowAt(DeviceBuilder &d, const PhaseMemory &m, int64_t window, Value index) const;
  Value flagsAt(DeviceBuilder &d, const PhaseMemory &m, Value byte) const;
  Value setFlag(DeviceBuilder &d, const PhaseMemory &m, Value index, Value flag) const;
  PlaceRange rangeOf(DeviceBuilder &d, const PhaseMemory &m) const;
  PlaceRange combineRange(KernelFrame &frame, const PhaseMemory &m) const;
  void add(DeviceBuilder &d, const PhaseMemory &m, Value index, const Parts &x) const;
  void addTo(DeviceBuilder &d, const PhaseMemory &m, int64_t window, Value index, const Parts &x, Value part) const;
  void storeSum(DeviceBuilder &d, const PhaseMemory &m, Value index) const;
  Value special(DeviceBuilder &d, Value flags) const;

  bool isDouble;
  int64_t digits; ///< of a magnitude
};

} // namespace

std::unique_ptr<ScatterPhases> cuda::makeScatterSums(Type element) { return std::make_unique<ScatterSums>(element); }

static Value largerOf(DeviceBuilder &d, Value x, Value y) { return d.b.create<arith::MaxUIOp>(d.loc, x, y); }
static Value differs(DeviceBuilder &d, Value x, int64_t y) {
  return d.compare(arith::CmpIPredicate::ne, x, d.constant(x.getType(), y));
}
static Value shifted(DeviceBuilder &d, bool left, Value x, Value by) {
  by = d.bitAnd(by, 63);
  return left ? d.b.create<arith::ShLIOp>(d.loc, x, by).getResult()
              : d.b.create<arith::ShRUIOp>(d.loc, x, by).getResult();
}

/// The largest that any thread of the block has.
static Values largestOfBlock(KernelFrame &frame, Values v) {
  DeviceBuilder &d = frame.d;
  constexpr unsigned warps = scatterThreads / 32;
  Value array = frame.sharedArray("largest", d.i32Type(), warps * v.size()), tid = d.threadId();
  for (auto [i, x] : llvm::enumerate(v)) {
    for (unsigned m = 16; m; m /= 2)
      x = largerOf(d, x, d.shuffleXor(x, m));
    d.when(d.equal(d.bitAnd(tid, 31), 0),
           [&, x = x, i = i] { d.store(x, d.at(array, d.add(d.div(tid, 32), int64_t(i * warps)), d.i32Type()), 4); });
  }
  d.barrier();
  for (auto [i, x] : llvm::enumerate(v))
    for (unsigned w = 0; w < warps; ++w) {
      Value other = d.load(d.i32Type(), d.at(array, d.i32(i * warps + w), d.i32Type()), 4);
      x = w ? largerOf(d, x, other) : other;
    }
  return v;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// How many windows an element has memory for.
Value ScatterSums::room(DeviceBuilder &d, const PhaseMemory &m) const {
  return d.select(d.less(d.i64(manyElements), m.elements), d.i64(fewWindows), d.i64(mostWindows));
}

/// One window behind the other.
Value ScatterSums::windowAt(DeviceBuilder &d, const PhaseMemory &m, int64_t window, Value index) const {
  return d.at(d.byteAt(m.scratch, d.i64(headBytes)), d.add(d.mul(m.elements, window), index), d.i64Type());
}

Value ScatterSums::flagsAt(DeviceBuilder &d, const PhaseMemory &m, Value byte) const {
  Value windows = d.mul(d.mul(m.elements, room(d, m)), 8);
  return d.byteAt(d.byteAt(d.byteAt(m.scratch, d.i64(headBytes + 16)), windows), byte);
}

/// The element's flags before.
Value ScatterSums::setFlag(DeviceBuilder &d, const PhaseMemory &m, Value index, Value flag) const {
  Value shift = d.narrow(d.mul(d.bitAnd(index, 3), 8)), word = flagsAt(d, m, d.bitAnd(index, -4));
  Value before = atomicUpdate(d, LLVM::AtomicBinOp::_or, word, d.b.create<arith::ShLIOp>(d.loc, flag, shift));
  return d.bitAnd(d.b.create<arith::ShRUIOp>(d.loc, before, shift), 255);
}

//===----------------------------------------------------------------------===//
// The range
//===----------------------------------------------------------------------===//

Parts ScatterSums::partsOf(DeviceBuilder &d, Value value) const {
  Type word = isDouble ? d.i64Type() : d.i32Type(), real = isDouble ? Type(d.b.getF64Type()) : d.f32Type();
  int64_t low = digits - 1, most = isDouble ? 2047 : 255;
  Value bits = d.bitcast(d.convertF(value, real), word);
  Value exponent = d.bitAnd(d.shr(bits, low), most), fraction = d.bitAnd(bits, (int64_t(1) << low) - 1);
  Value isNormal = differs(d, exponent, 0);
  Value magnitude = d.bitOr(fraction, d.select(isNormal, d.constant(word, int64_t(1) << low), d.constant(word, 0)));
  Value place = d.select(isNormal, exponent, d.constant(word, 1));
  auto wide = [&](Value v) { return isDouble ? v : d.wide(v); };
  return {wide(magnitude), wide(place), d.less(bits, d.constant(word, 0)), d.equal(exponent, most),
          differs(d, fraction, 0)};
}

/// The highest place and the lowest, counted from above, and whether there is something that is no number.
Values ScatterSums::range(DeviceBuilder &d, Value value, Value counts) const {
  Parts x = partsOf(d, value);
  Value none = d.i32(0), one = d.i32(1), special = counts ? d.both(counts, x.special) : x.special;
  Value isNumber = d.both(differs(d, x.magnitude, 0), d.bitXor(x.special, d.i1(true)));
  if (counts)
    isNumber = d.both(isNumber, counts);
  Value place = d.narrow(x.place);
  return {d.select(isNumber, d.add(place, digits - 1), none),
          d.select(isNumber, d.sub(d.i32(highestPlace), place), none), d.select(special, one, none)};
}

void ScatterSums::keepRange(KernelFrame &frame, const PhaseMemory &m, Values largest) const {
  DeviceBuilder &d = frame.d;
  largest = largestOfBlock(frame, largest);
  Value block = d.blockId();
  d.when(d.equal(d.threadId(), 0), [&] {
    for (auto [i, v] : llvm::enumerate(largest))
      d.store(v, d.at(wordAt(d, m, FirstFound + i * mostBlocks), block, d.i32Type()), 4);
    d.when(d.equal(block, 0), [&] { d.store(d.gridSize(), wordAt(d, m, Blocks), 4); });
  });
}

/// Bits of a window that one update may take: a sum of all updates has its sign and fits.
Value ScatterSums::bitsOfWindow(DeviceBuilder &d, const PhaseMemory &m) const {
  Value rounded = d.bitcast(d.b.create<arith::UIToFPOp>(d.loc, d.f32Type(), m.updates), d.i32Type());
  Value bits = d.sub(d.shr(rounded, 23), d.i32(126)); // the number of updates is below 2^bits
  return d.wide(d.sub(d.i32(62), bits));
}

/// What all blocks found, by the threads of a block; one block keeps it for the launches that follow.
PlaceRange ScatterSums::combineRange(KernelFrame &frame, const PhaseMemory &m) const {
  DeviceBuilder &d = frame.d;
  Value zero = d.i32(0), count = d.load(d.i32Type(), wordAt(d, m, Blocks), 4);
  Values found =
      d.loop(d.threadId(), count, d.i32(scatterThreads), Values{zero, zero, zero}, [&](Value i, ValueRange carried) {
        Values now(carried);
        for (auto [k, v] : llvm::enumerate(now))
          v = largerOf(d, v, d.load(d.i32Type(), d.at(wordAt(d, m, FirstFound + k * mostBlocks), i, d.i32Type()), 4));
        return now;
      });
  found = largestOfBlock(frame, found);
  Value top = d.wide(found[0]), lowest = d.sub(d.i64(highestPlace), d.wide(found[1]));
  Value wanted = d.ceilDiv(d.sub(d.add(top, 1), lowest), bitsOfWindow(d, m));
  Value windows = d.select(d.equal(top, 0), d.i64(0), d.minU(wanted, room(d, m)));
  d.when(d.both(d.equal(d.threadId(), 0), d.equal(d.blockId(), 0)), [&] {
    d.store(d.narrow(top), wordAt(d, m, Top), 4);
    d.store(d.narrow(windows), wordAt(d, m, Windows), 4);
    d.store(found[2], wordAt(d, m, Special), 4);
  });
  return {top, windows, differs(d, found[2], 0)};
}

PlaceRange ScatterSums::rangeOf(DeviceBuilder &d, const PhaseMemory &m) const {
  return {number(d, m, Top), number(d, m, Windows), differs(d, number(d, m, Special), 0)};
}

void ScatterSums::memory(KernelFrame &frame, const PhaseMemory &m) const {
  DeviceBuilder &d = frame.d;
  PlaceRange range = combineRange(frame, m);
  clearMemory(frame, windowAt(d, m, 0, d.i64(0)), d.mul(d.mul(m.elements, range.windows), 8));
  d.when(range.special, [&] { clearMemory(frame, flagsAt(d, m, d.i64(0)), m.elements); });
}

void ScatterSums::beforeUpdates(KernelFrame &frame, const PhaseMemory &m, StringRef phase) const {
  if (phase == "clear_updated")
    frame.d.when(frame.d.equal(frame.d.blockId(), 0), [&] { combineRange(frame, m); });
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// The lowest place of a window.
static Value lowestPlace(DeviceBuilder &d, const PlaceRange &range, Value bits, int64_t window) {
  return d.sub(d.add(range.top, 1), d.mul(bits, window + 1));
}

void ScatterSums::addTo(DeviceBuilder &d, const PhaseMemory &m, int64_t window, Value index, const Parts &x, Value part) const {
  part = d.select(x.negative, d.sub(d.i64(0), part), part);
  d.when(differs(d, part, 0), [&] { atomicUpdate(d, LLVM::AtomicBinOp::add, windowAt(d, m, window, index), part); });
}

/// Most updates reach no lower than the first window.
void ScatterSums::add(DeviceBuilder &d, const PhaseMemory &m, Value index, const Parts &x) const {
  PlaceRange range = rangeOf(d, m);
  Value bits = bitsOfWindow(d, m), one = d.i64(1), zero = d.i64(0), above = d.sub(x.place, lowestPlace(d, range, bits, 0));
  auto addParts = [&] {
    Value mask = d.sub(shifted(d, true, one, bits), one);
    for (int64_t w = 0; w < mostWindows; ++w)
      d.when(d.less(d.i64(w), range.windows), [&] {
        Value up = d.sub(x.place, lowestPlace(d, range, bits, w)), down = d.sub(zero, up);
        Value touches = d.both(d.less(up, bits), d.less(down, d.i64(digits)));
        Value part = d.select(d.less(up, zero), shifted(d, false, x.magnitude, down), shifted(d, true, x.magnitude, up));
        addTo(d, m, w, index, x, d.select(touches, d.both(part, mask), zero));
      });
  };
  d.branch(d.less(above, zero), addParts, [&] { addTo(d, m, 0, index, x, shifted(d, true, x.magnitude, above)); });
}

void ScatterSums::update(DeviceBuilder &d, const PhaseMemory &m, StringRef phase, Value index, Value value,
                         Value) const {
  if (phase == "clear_updated") {
    for (int64_t w = 0; w < mostWindows; ++w)
      d.when(d.less(d.i64(w), room(d, m)), [&] { d.store(d.i64(0), windowAt(d, m, w, index), 8); });
    return d.store(d.i32(0), flagsAt(d, m, d.bitAnd(index, -4)), 4);
  }
  if (phase == "store_updated") {
    Value before = setFlag(d, m, index, d.i32(Taken));
    return d.when(d.equal(d.bitAnd(before, Taken), 0), [&] { storeSum(d, m, index); });
  }
  Parts x = partsOf(d, value);
  Value infinity = d.select(x.negative, d.i32(MinusInfinity), d.i32(PlusInfinity));
  d.branch(
      x.special, [&] { setFlag(d, m, index, d.select(x.fraction, d.i32(NotANumber), infinity)); },
      [&] { add(d, m, index, x); });
}

/// 2^exponent as an f64, of an exponent that no subnormal number has.
static Value powerOfTwo(DeviceBuilder &d, Value exponent) {
  return d.b.create<arith::BitcastOp>(d.loc, d.b.getF64Type(), d.shl(d.add(exponent, 1023), 52));
}

/// What infinities and what is no number add up to.
Value ScatterSums::special(DeviceBuilder &d, Value flags) const {
  Type f64 = d.b.getF64Type();
  auto numberWhere = [&](int64_t flag, APFloat v) {
    Value number = d.b.create<arith::ConstantOp>(d.loc, FloatAttr::get(f64, v));
    return d.select(differs(d, d.bitAnd(flags, flag), 0), number, d.real(f64, 0));
  };
  const llvm::fltSemantics &kind = APFloat::IEEEdouble();
  Value sum =
      d.addF(numberWhere(PlusInfinity, APFloat::getInf(kind)), numberWhere(MinusInfinity, APFloat::getInf(kind, true)));
  return d.addF(sum, numberWhere(NotANumber, APFloat::getNaN(kind)));
}

void ScatterSums::storeSum(DeviceBuilder &d, const PhaseMemory &m, Value index) const {
  PlaceRange range = rangeOf(d, m);
  Type f64 = d.b.getF64Type();
  Value bits = bitsOfWindow(d, m), zero = d.i64(0), any = zero;
  Values windows;
  for (int64_t w = 0; w < mostWindows; ++w) {
    windows.push_back(d.loadIf(d.less(d.i64(w), range.windows), d.i64Type(), windowAt(d, m, w, index), 8, zero));
    any = d.bitOr(any, windows.back());
  }
  Type byte = d.b.getI8Type();
  Value flags = d.loadIf(range.special, byte, flagsAt(d, m, index), 1, d.constant(byte, 0));
  flags = d.bitAnd(d.b.create<arith::ExtUIOp>(d.loc, d.i64Type(), flags), Taken - 1);
  d.when(differs(d, d.bitOr(any, flags), 0), [&] {
    Value sum = special(d, flags);
    for (int64_t w = mostWindows; w-- > 0;) {
      Value x = d.b.create<arith::SIToFPOp>(d.loc, f64, windows[w]);
      Value exponent = d.sub(lowestPlace(d, range, bits, w), d.i64(isDouble ? 1075 : 150));
      // In two steps, since a window of an f64 may begin below its smallest number.
      Value half = d.b.create<arith::ShRSIOp>(d.loc, exponent, d.i64(1));
      x = d.mulF(d.mulF(x, powerOfTwo(d, half)), powerOfTwo(d, d.sub(exponent, half)));
      sum = d.addF(sum, x);
    }
    Value at = target(d, m, index), old = d.load(elementType, at, elementBytes);
    old = isDouble ? old : d.convertF(d.convertF(old, d.f32Type()), f64);
    Value out = d.addF(old, sum);
    d.store(isDouble ? out : d.convertF(d.convertF(out, d.f32Type()), elementType), at, elementBytes);
  });
}

void ScatterSums::element(DeviceBuilder &d, const PhaseMemory &m, Value index) const { storeSum(d, m, index); }
