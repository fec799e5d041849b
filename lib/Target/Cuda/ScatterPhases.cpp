//===- ScatterPhases.cpp - Updates whose order changes no bit ---------------===//
//
// The last update of an element is the one with the largest number. The largest of floats is the largest of numbers in whose
// order the floats are. A sum of floats is one of whole numbers: all updates of an element are multiples of a power of two that
// is 2^32 below the largest of them, which is more than an f32 keeps of a sum. What is no number makes flags.
//
// The phases: words are cleared; the largest number, or exponent, comes into them; sums are added up; one thread of those that
// updated an element takes the words and writes the element.
//
//===----------------------------------------------------------------------===//

#include "ScatterPhases.h"
#include "Combine.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using kernel::Combiner;

/// Bits below the largest update of an element that its updates are rounded to.
constexpr int64_t bitsBelow = 32;
/// Flags in a word of exponents.
constexpr int64_t plusInfinity = 1 << 16, minusInfinity = 1 << 17, notANumber = 1 << 18;

std::optional<ScatterPhases> ScatterPhases::of(std::optional<Combiner> kind, Type element) {
  if (!kind)
    return ScatterPhases{Last, Combiner::Add, element};
  if (!isa<FloatType>(element) || element.getIntOrFloatBitWidth() > 32)
    return std::nullopt;
  if (*kind == Combiner::Max || *kind == Combiner::Min)
    return ScatterPhases{Extreme, *kind, element};
  if (*kind == Combiner::Add)
    return ScatterPhases{Sum, *kind, element};
  return std::nullopt;
}

int64_t ScatterPhases::mostUpdates() const {
  // Numbers begin at 1; an update has up to bitsBelow + 1 bits, and the sum a sign.
  return kind == Last ? (int64_t(1) << 32) - 2 : kind == Sum ? int64_t(1) << (63 - bitsBelow - 1) : INT64_MAX;
}

StringRef ScatterPhases::name(unsigned phase) const {
  static const char *const names[3][4] = {{"clear", "find_last", "store_last", ""},
                                          {"clear", "find_extreme", "store_extreme", ""},
                                          {"clear", "find_exponent", "add_multiples", "store_sum"}};
  return names[kind][phase];
}

static Value atomic(DeviceBuilder &d, LLVM::AtomicBinOp op, Value pointer, Value value) {
  return d.b.create<LLVM::AtomicRMWOp>(d.loc, op, pointer, value, LLVM::AtomicOrdering::monotonic);
}

void PhaseHooks::store(OpBuilder &b, Location loc, const lower::Access &a, Value value) {
  DeviceBuilder d(b, loc);
  auto bitsOf = [&](Value pointer) { return b.create<LLVM::PtrToIntOp>(loc, d.i64Type(), pointer).getResult(); };
  int64_t bytes = std::max(1u, phases.element.getIntOrFloatBitWidth() / 8);
  Value index = d.div(d.sub(bitsOf(a.pointer), bitsOf(memory.result)), bytes);
  // Sums of 8 bytes lie in front of the words.
  Value sums = memory.scratch, words = phases.kind == ScatterPhases::Sum ? d.at(sums, memory.elements, d.i64Type()) : sums;
  Value word = d.at(words, index, d.i32Type());
  switch (phases.kind) {
  case ScatterPhases::Last:
    return last(d, word, a.pointer, value);
  case ScatterPhases::Extreme:
    return extreme(d, word, a.pointer, value);
  case ScatterPhases::Sum:
    return sum(d, word, d.at(sums, index, d.i64Type()), a.pointer, value);
  }
}

void PhaseHooks::last(DeviceBuilder &d, Value word, Value target, Value value) {
  Value number = d.add(d.narrow(update), 1);
  if (phase == 0)
    return d.store(d.i32(0), word, 4);
  if (phase == 1) {
    atomic(d, LLVM::AtomicBinOp::umax, word, number);
    return;
  }
  d.when(d.equal(d.load(d.i32Type(), word, 4), number), [&] {
    d.store(value, target, std::max(1u, phases.element.getIntOrFloatBitWidth() / 8));
  });
}

/// Numbers in the order of floats, from 1 on: what is no number is the largest, for the smallest float the other way round.
void PhaseHooks::extreme(DeviceBuilder &d, Value word, Value target, Value value) {
  unsigned bytes = phases.element.getIntOrFloatBitWidth() / 8;
  bool largest = phases.combiner == Combiner::Max;
  Value wide = d.convertF(value, d.f32Type()), bits = d.bitcast(wide, d.i32Type());
  Value negative = d.less(bits, d.i32(0)), key = d.select(negative, d.bitXor(bits, -1), d.bitXor(bits, 0x80000000));
  key = largest ? key : d.bitXor(key, -1);
  Value isNumber = d.b.create<arith::CmpFOp>(d.loc, arith::CmpFPredicate::ORD, wide, wide);
  key = d.select(isNumber, key, d.i32(-1));
  if (phase == 0)
    return d.store(d.i32(0), word, 4);
  if (phase == 1) {
    atomic(d, LLVM::AtomicBinOp::umax, word, key);
    return;
  }
  // Whoever takes the word writes for all; nothing is as low as 0 but a word that is taken.
  Value taken = atomic(d, LLVM::AtomicBinOp::xchg, word, d.i32(0));
  d.when(d.compare(arith::CmpIPredicate::ne, taken, d.i32(0)), [&] {
    Value k = largest ? taken : d.bitXor(taken, -1);
    Value found = d.select(d.less(k, d.i32(0)), d.bitXor(k, 0x80000000), d.bitXor(k, -1));
    found = d.select(d.equal(taken, -1), d.i32(0x7fc00000), found);
    Value x = d.convertF(d.bitcast(found, d.f32Type()), phases.element);
    d.store(combine(d, phases.combiner, d.load(phases.element, target, bytes), x), target, bytes);
  });
}

/// 2^exponent as an f64, of an i32.
static Value powerOfTwo(DeviceBuilder &d, Value exponent) {
  Value bits = d.shl(d.wide(d.add(exponent, 1023)), 52);
  return d.b.create<arith::BitcastOp>(d.loc, d.b.getF64Type(), bits);
}

void PhaseHooks::sum(DeviceBuilder &d, Value word, Value total, Value target, Value value) {
  Type f64 = d.b.getF64Type();
  Value wide = d.convertF(value, d.f32Type()), bits = d.bitcast(wide, d.i32Type());
  Value exponent = d.bitAnd(d.shr(bits, 23), 255);
  if (phase == 0) {
    d.store(d.i32(0), word, 4);
    return d.store(d.i64(0), total, 8);
  }
  if (phase == 1) {
    Value fraction = d.bitAnd(bits, 0x7fffff), negative = d.less(bits, d.i32(0));
    Value flag = d.select(d.equal(fraction, 0), d.select(negative, d.i32(minusInfinity), d.i32(plusInfinity)), d.i32(notANumber));
    d.branch(d.equal(exponent, 255), [&] { atomic(d, LLVM::AtomicBinOp::_or, word, flag); },
             [&] { atomic(d, LLVM::AtomicBinOp::umax, word, d.add(exponent, 1)); });
    return;
  }
  if (phase == 2) {
    Value most = d.load(d.i32Type(), word, 4); // where there are flags, nobody reads the sum
    Value power = powerOfTwo(d, d.sub(d.i32(bitsBelow + 127 + 1), d.bitAnd(most, 255)));
    Value scaled = d.mulF(d.convertF(wide, f64), power);
    Value multiple = d.b.create<arith::FPToSIOp>(d.loc, d.i64Type(), scaled);
    d.when(d.less(most, d.i32(plusInfinity)), [&] { atomic(d, LLVM::AtomicBinOp::add, total, multiple); });
    return;
  }
  unsigned bytes = phases.element.getIntOrFloatBitWidth() / 8;
  Value taken = atomic(d, LLVM::AtomicBinOp::xchg, word, d.i32(0));
  d.when(d.compare(arith::CmpIPredicate::ne, taken, d.i32(0)), [&] {
    Value power = powerOfTwo(d, d.sub(d.bitAnd(taken, 255), d.i32(bitsBelow + 127 + 1)));
    Value multiple = d.b.create<arith::SIToFPOp>(d.loc, f64, d.load(d.i64Type(), total, 8));
    Value old = d.convertF(d.convertF(d.load(phases.element, target, bytes), d.f32Type()), f64);
    Value x = d.convertF(d.addF(old, d.mulF(multiple, power)), d.f32Type());
    auto has = [&](int64_t flag) { return d.compare(arith::CmpIPredicate::ne, d.bitAnd(taken, flag), d.i32(0)); };
    auto number = [&](int64_t bits) { return d.convertF(d.bitcast(d.i32(bits), d.f32Type()), f64); };
    Value special = d.select(has(plusInfinity), number(0x7f800000), d.real(f64, 0));
    special = d.addF(special, d.select(has(minusInfinity), number(0xff800000), d.real(f64, 0)));
    special = d.select(has(notANumber), number(0x7fc00000), special);
    Value flagged = d.convertF(d.addF(old, special), d.f32Type());
    x = d.select(d.less(taken, d.i32(plusInfinity)), x, flagged);
    d.store(d.convertF(x, phases.element), target, bytes);
  });
}
