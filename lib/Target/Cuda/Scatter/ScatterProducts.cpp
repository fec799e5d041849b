//===- ScatterProducts.cpp - Products of floats whose order changes no bit --===//
//
// A float is a sign, a power of two and a number from 1 to 2. Of an element's updates the powers add up as whole
// numbers, and so do the logarithms of the numbers, in units that leave room for the carries of all updates (42 bits
// behind the point are left of a million): no order changes a bit, nothing overflows on the way, and a product of up to
// 24 bits, as whole numbers have, is exact. Signs are counted below the powers. Zeros, infinities and what is no number
// make flags.
//
// The phases: words are cleared; updates are added to them; elements take their products.
//
//===----------------------------------------------------------------------===//

#include "ScatterPhases.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

/// Signs are counted in so many bits; powers, up to 149 of an update, have the others.
constexpr int64_t signBits = 27;
/// Powers of two that a finite product is held to: a number times it is 0 or infinite where it has to be.
constexpr int64_t mostPower = 1000;

namespace {

enum Flag { Zero = 1, Infinity = 2, NotANumber = 4, Taken = 8 };

class ScatterProducts : public ScatterPhases {
public:
  explicit ScatterProducts(Type element) : ScatterPhases(element) {}
  SmallVector<ScatterPhase> phases(bool sparse) const override {
    ScatterPhase each{ScatterPhase::Element, "store_product"}, updated{ScatterPhase::Update, "store_updated"};
    return {clearing(sparse), {ScatterPhase::Update, "multiply"}, sparse ? updated : each};
  }
  Expr bytes(const Expr &elements) const override { return elements * Expr(20) + Expr(16); }
  int64_t mostUpdates() const override { return (int64_t(1) << signBits) - 1; }
  void update(DeviceBuilder &d, const PhaseMemory &m, StringRef phase, Value index, Value value,
              Value number) const override;
  void element(DeviceBuilder &d, const PhaseMemory &m, Value index) const override;
  void memory(KernelFrame &frame, const PhaseMemory &m) const override {
    clearMemory(frame, m.scratch, frame.d.mul(m.elements, 20));
  }

private:
  Value logarithmAt(DeviceBuilder &d, const PhaseMemory &m, Value index) const {
    return d.at(m.scratch, index, d.i64Type());
  }
  Value powerAt(DeviceBuilder &d, const PhaseMemory &m, Value index) const {
    return d.at(m.scratch, d.add(m.elements, index), d.i64Type());
  }
  Value flagsAt(DeviceBuilder &d, const PhaseMemory &m, Value index) const {
    return d.at(m.scratch, d.add(d.mul(m.elements, 4), index), d.i32Type());
  }
  void multiply(DeviceBuilder &d, const PhaseMemory &m, Value index, Value value) const;
  Value product(DeviceBuilder &d, const PhaseMemory &m, Value logarithm, Value power, Value flags) const;
};

} // namespace

std::unique_ptr<ScatterPhases> cuda::makeScatterProducts(Type element) {
  return std::make_unique<ScatterProducts>(element);
}

static Value differs(DeviceBuilder &d, Value x, int64_t y) {
  return d.compare(arith::CmpIPredicate::ne, x, d.constant(x.getType(), y));
}

static Value has(DeviceBuilder &d, Value flags, int64_t flag) { return differs(d, d.bitAnd(flags, flag), 0); }

static Value real(DeviceBuilder &d, APFloat v) {
  return d.b.create<arith::ConstantOp>(d.loc, FloatAttr::get(d.b.getF64Type(), v));
}

/// 2^power as an f64, of a power that normal numbers have.
static Value powerOfTwo(DeviceBuilder &d, Value power) {
  return d.b.create<arith::BitcastOp>(d.loc, d.b.getF64Type(), d.shl(d.add(power, 1023), 52));
}

/// Bits behind the point of a logarithm: a sum of all updates' has its sign and fits.
static Value bitsBehindPoint(DeviceBuilder &d, const PhaseMemory &m) {
  Value rounded = d.bitcast(d.b.create<arith::UIToFPOp>(d.loc, d.f32Type(), m.updates), d.i32Type());
  Value bits = d.sub(d.shr(rounded, 23), d.i32(126)); // the number of updates is below 2^bits
  return d.wide(d.sub(d.i32(62), bits));
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

void ScatterProducts::multiply(DeviceBuilder &d, const PhaseMemory &m, Value index, Value value) const {
  Type f64 = d.b.getF64Type();
  Value bits = d.bitcast(d.convertF(d.convertF(value, d.f32Type()), f64), d.i64Type());
  Value exponent = d.bitAnd(d.shr(bits, 52), 2047), fraction = d.bitAnd(bits, (int64_t(1) << 52) - 1);
  Value none = d.i32(0), isZero = d.equal(exponent, 0), isSpecial = d.equal(exponent, 2047);
  Value special = d.select(d.equal(fraction, 0), d.i32(Infinity), d.i32(NotANumber));
  Value flag = d.select(isZero, d.i32(Zero), d.select(isSpecial, special, none)), isPlain = d.equal(flag, 0);
  Value number = d.bitcast(d.bitOr(fraction, d.i64(int64_t(1023) << 52)), f64);
  Value scaled = d.mulF(d.b.create<math::Log2Op>(d.loc, number), powerOfTwo(d, bitsBehindPoint(d, m)));
  Value logarithm = d.b.create<arith::FPToSIOp>(d.loc, d.i64Type(), d.addF(scaled, d.real(f64, 0.5)));
  Value sign = d.shr(bits, 63), power = d.shl(d.sub(exponent, d.i64(1023)), signBits);
  power = d.add(d.select(isPlain, power, d.i64(0)), sign);
  auto addTo = [&](Value condition, LLVM::AtomicBinOp op, Value at, Value x) {
    d.when(d.both(condition, differs(d, x, 0)), [&] { atomicUpdate(d, op, at, x); });
  };
  addTo(isPlain, LLVM::AtomicBinOp::add, logarithmAt(d, m, index), logarithm);
  addTo(d.i1(true), LLVM::AtomicBinOp::add, powerAt(d, m, index), power);
  addTo(d.i1(true), LLVM::AtomicBinOp::_or, flagsAt(d, m, index), flag);
}

void ScatterProducts::update(DeviceBuilder &d, const PhaseMemory &m, StringRef phase, Value index, Value value,
                             Value) const {
  if (phase == "clear_updated") {
    d.store(d.i64(0), logarithmAt(d, m, index), 8);
    d.store(d.i64(0), powerAt(d, m, index), 8);
    return d.store(d.i32(0), flagsAt(d, m, index), 4);
  }
  if (phase == "multiply")
    return multiply(d, m, index, value);
  // Whoever comes first of those that updated the element stores.
  Value before = atomicUpdate(d, LLVM::AtomicBinOp::_or, flagsAt(d, m, index), d.i32(Taken));
  d.when(d.equal(d.bitAnd(before, Taken), 0), [&] { element(d, m, index); });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Value ScatterProducts::product(DeviceBuilder &d, const PhaseMemory &m, Value logarithm, Value power, Value flags) const {
  Type f64 = d.b.getF64Type();
  Value bits = bitsBehindPoint(d, m), negative = differs(d, d.bitAnd(power, 1), 0);
  Value carry = d.b.create<arith::ShRSIOp>(d.loc, logarithm, bits);
  Value rest = d.sub(logarithm, d.b.create<arith::ShLIOp>(d.loc, carry, bits));
  Value scaled = d.mulF(d.b.create<arith::SIToFPOp>(d.loc, f64, rest), powerOfTwo(d, d.sub(d.i64(0), bits)));
  Value exponent = d.add(d.b.create<arith::ShRSIOp>(d.loc, power, d.i64(signBits)), carry);
  exponent = d.b.create<arith::MinSIOp>(d.loc, exponent, d.i64(mostPower));
  exponent = d.b.create<arith::MaxSIOp>(d.loc, exponent, d.i64(-mostPower));
  Value x = d.mulF(d.b.create<math::Exp2Op>(d.loc, scaled), powerOfTwo(d, exponent));
  const llvm::fltSemantics &kind = APFloat::IEEEdouble();
  Value isZero = has(d, flags, Zero), isInfinite = has(d, flags, Infinity);
  x = d.select(isZero, d.real(f64, 0), d.select(isInfinite, real(d, APFloat::getInf(kind)), x));
  x = d.select(negative, d.mulF(x, d.real(f64, -1)), x);
  Value isNone = d.bitOr(has(d, flags, NotANumber), d.both(isZero, isInfinite));
  return d.select(isNone, real(d, APFloat::getNaN(kind)), x);
}

void ScatterProducts::element(DeviceBuilder &d, const PhaseMemory &m, Value index) const {
  Value logarithm = d.load(d.i64Type(), logarithmAt(d, m, index), 8), power = d.load(d.i64Type(), powerAt(d, m, index), 8);
  Value flags = d.bitAnd(d.load(d.i32Type(), flagsAt(d, m, index), 4), Taken - 1);
  d.when(differs(d, d.bitOr(d.bitOr(logarithm, power), d.wide(flags)), 0), [&] {
    Value at = target(d, m, index), old = d.load(elementType, at, elementBytes);
    Value wide = d.convertF(d.convertF(old, d.f32Type()), d.b.getF64Type());
    Value out = d.mulF(wide, product(d, m, logarithm, power, flags));
    d.store(d.convertF(d.convertF(out, d.f32Type()), elementType), at, elementBytes);
  });
}
