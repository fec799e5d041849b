//===- ScatterPhases.cpp - Updates whose order changes no bit ---------------===//
//
// The last update of an element is the one with the largest number. The largest of floats is the largest of numbers in
// whose order the floats are. The phases: words are cleared; the largest number comes into them; elements take what
// their word says.
//
//===----------------------------------------------------------------------===//

#include "ScatterPhases.h"
#include "../Combine.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using kernel::Combiner;

namespace {

/// Words of 64 bits hold a number and the bits of a value of up to 32; of wider values they are numbers of 32 bits, and
/// whoever finds its own there stores.
class LastUpdate : public WordPhases {
public:
  explicit LastUpdate(Type element)
      : WordPhases(element, IntegerType::get(element.getContext(), element.getIntOrFloatBitWidth() <= 32 ? 64 : 32)) {}
  int64_t mostUpdates() const override { return (int64_t(1) << 32) - 2; } // numbers begin at 1
  SmallVector<ScatterPhase> phases(bool sparse) const override {
    ScatterPhase find{ScatterPhase::Update, "find_last"}, each{ScatterPhase::Element, "store_last"},
        own{ScatterPhase::Update, "store_own"};
    return {clearing(sparse), find, sparse || !holdsValue() ? own : each};
  }
  void update(DeviceBuilder &d, const PhaseMemory &m, StringRef phase, Value index, Value value,
              Value number) const override;
  void element(DeviceBuilder &d, const PhaseMemory &m, Value index) const override;

private:
  bool holdsValue() const { return word.getIntOrFloatBitWidth() == 64; }
  Value wordOf(DeviceBuilder &d, Value value, Value number) const;
};

class ExtremeUpdate : public WordPhases {
public:
  ExtremeUpdate(Type element, Combiner kind)
      : WordPhases(element, IntegerType::get(element.getContext(), element.getIntOrFloatBitWidth() <= 32 ? 32 : 64)),
        kind(kind) {}
  SmallVector<ScatterPhase> phases(bool sparse) const override {
    ScatterPhase each{ScatterPhase::Element, "store_extreme"}, updated{ScatterPhase::Update, "store_updated"};
    return {clearing(sparse), {ScatterPhase::Update, "find_extreme"}, sparse ? updated : each};
  }
  void update(DeviceBuilder &d, const PhaseMemory &m, StringRef phase, Value index, Value value,
              Value number) const override;
  void element(DeviceBuilder &d, const PhaseMemory &m, Value index) const override {
    store(d, m, index, d.load(word, at(d, m, index), wordBytes));
  }

private:
  Type wide() const {
    return word.getIntOrFloatBitWidth() == 64 ? FloatType::getF64(word.getContext())
                                              : FloatType::getF32(word.getContext());
  }
  Value keyOf(DeviceBuilder &d, Value value) const;
  void store(DeviceBuilder &d, const PhaseMemory &m, Value index, Value key) const;
  Combiner kind;
};

} // namespace

std::unique_ptr<ScatterPhases> ScatterPhases::of(std::optional<Combiner> kind, Type element,
                                                 std::optional<double> each, bool few) {
  if (!kind)
    return std::make_unique<LastUpdate>(element);
  if (!isa<FloatType>(element))
    return nullptr;
  if (*kind == Combiner::Max || *kind == Combiner::Min)
    return std::make_unique<ExtremeUpdate>(element, *kind);
  if (*kind == Combiner::Mul && !element.isF64())
    return makeScatterProducts(element);
  if (*kind != Combiner::Add)
    return nullptr;
  return each ? makeScatterCounts(element, *each, few) : makeScatterSums(element);
}

Value cuda::atomicUpdate(DeviceBuilder &d, LLVM::AtomicBinOp op, Value pointer, Value value) {
  return d.b.create<LLVM::AtomicRMWOp>(d.loc, op, pointer, value, LLVM::AtomicOrdering::monotonic);
}

void cuda::clearMemory(KernelFrame &frame, Value start, Value bytes) {
  DeviceBuilder &d = frame.d;
  Value zeros = d.splat(d.i32(0), 4), threads = d.mul(d.wide(d.gridSize()), frame.threads);
  Value first = d.add(d.mul(d.wide(d.blockId()), frame.threads), d.wide(d.threadId()));
  d.loop(first, d.ceilDiv(bytes, 16), threads, [&](Value i) { d.store(zeros, d.byteAt(start, d.mul(i, 16)), 16); });
}

Value cuda::indexOfElement(DeviceBuilder &d, Value pointer, Value result, Type element) {
  auto bitsOf = [&](Value p) { return d.b.create<LLVM::PtrToIntOp>(d.loc, d.i64Type(), p).getResult(); };
  return d.div(d.sub(bitsOf(pointer), bitsOf(result)), std::max(1u, element.getIntOrFloatBitWidth() / 8));
}

void PhaseHooks::store(OpBuilder &b, Location loc, const lower::Access &a, Value value) {
  DeviceBuilder d(b, loc);
  phases.update(d, memory, phase, indexOfElement(d, a.pointer, memory.result, value.getType()), value, update);
}

//===----------------------------------------------------------------------===//
// The last
//===----------------------------------------------------------------------===//

Value LastUpdate::wordOf(DeviceBuilder &d, Value value, Value number) const {
  Value counted = d.add(number, 1);
  if (!holdsValue())
    return d.narrow(counted);
  Type bits = d.b.getIntegerType(elementType.getIntOrFloatBitWidth());
  return d.bitOr(d.shl(counted, 32), d.b.create<arith::ExtUIOp>(d.loc, d.i64Type(), d.bitcast(value, bits)));
}

void LastUpdate::update(DeviceBuilder &d, const PhaseMemory &m, StringRef phase, Value index, Value value,
                        Value number) const {
  Value at = this->at(d, m, index);
  if (phase == "clear_updated")
    return clear(d, at);
  Value mine = wordOf(d, value, number);
  if (phase == "find_last") {
    atomicUpdate(d, LLVM::AtomicBinOp::umax, at, mine);
    return;
  }
  d.when(d.equal(d.load(word, at, wordBytes), mine), [&] { d.store(value, target(d, m, index), elementBytes); });
}

void LastUpdate::element(DeviceBuilder &d, const PhaseMemory &m, Value index) const {
  Value found = d.load(word, at(d, m, index), wordBytes);
  d.when(d.compare(arith::CmpIPredicate::ne, found, d.i64(0)), [&] {
    Type bits = d.b.getIntegerType(elementType.getIntOrFloatBitWidth());
    Value value = d.bitcast(d.b.create<arith::TruncIOp>(d.loc, bits, found), elementType);
    d.store(value, target(d, m, index), elementBytes);
  });
}

//===----------------------------------------------------------------------===//
// The largest and the smallest
//===----------------------------------------------------------------------===//

static int64_t signBit(Type word) { return int64_t(uint64_t(1) << (word.getIntOrFloatBitWidth() - 1)); }

/// Numbers in the order of floats, from 1 on: what is no number is the largest, for the smallest float the other way
/// round.
Value ExtremeUpdate::keyOf(DeviceBuilder &d, Value value) const {
  Value x = d.convertF(value, wide()), bits = d.bitcast(x, word);
  Value key = d.select(d.less(bits, d.constant(word, 0)), d.bitXor(bits, -1), d.bitXor(bits, signBit(word)));
  key = kind == Combiner::Max ? key : d.bitXor(key, -1);
  Value isNumber = d.b.create<arith::CmpFOp>(d.loc, arith::CmpFPredicate::ORD, x, x);
  return d.select(isNumber, key, d.constant(word, -1));
}

void ExtremeUpdate::store(DeviceBuilder &d, const PhaseMemory &m, Value index, Value key) const {
  d.when(d.compare(arith::CmpIPredicate::ne, key, d.constant(word, 0)), [&] {
    Value k = kind == Combiner::Max ? key : d.bitXor(key, -1);
    Value bits = d.select(d.less(k, d.constant(word, 0)), d.bitXor(k, signBit(word)), d.bitXor(k, -1));
    APFloat nan = APFloat::getNaN(cast<FloatType>(wide()).getFloatSemantics());
    Value none = d.b.create<arith::ConstantOp>(d.loc, FloatAttr::get(wide(), nan));
    Value x = d.convertF(d.select(d.equal(key, -1), none, d.bitcast(bits, wide())), elementType),
          at = target(d, m, index);
    d.store(combine(d, kind, d.load(elementType, at, elementBytes), x), at, elementBytes);
  });
}

void ExtremeUpdate::update(DeviceBuilder &d, const PhaseMemory &m, StringRef phase, Value index, Value value,
                           Value) const {
  Value at = this->at(d, m, index);
  if (phase == "clear_updated")
    return clear(d, at);
  if (phase == "find_extreme")
    atomicUpdate(d, LLVM::AtomicBinOp::umax, at, keyOf(d, value));
  else // whoever takes the word writes for all
    store(d, m, index, atomicUpdate(d, LLVM::AtomicBinOp::xchg, at, d.constant(word, 0)));
}
