//===- DeviceHooks.cpp - Accesses of a kernel's body on a GPU --------------===//

#include "DeviceHooks.h"
#include "Contraction/ContractionShape.h"
#include "DeviceBuilder.h"
#include "lathe/Dialect/Kernel/Kernel.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::Access;

int64_t cuda::knownDivisor(const shape::Expr &e, int64_t limit, StringRef free) {
  int64_t divisor = limit;
  for (const shape::Expr::Term &term : e.terms()) {
    bool multiple = llvm::any_of(term.atoms, [&](const shape::Atom &a) {
      return !free.empty() && a.kind == shape::Atom::Kind::Symbol && a.name == free;
    });
    if (multiple)
      continue;
    while (divisor > 1 && term.coefficient % divisor)
      divisor /= 2;
  }
  return divisor;
}

static unsigned elementBytes(Type t) { return std::max(1u, getElementTypeOrSelf(t).getIntOrFloatBitWidth() / 8); }

int64_t DeviceHooks::divisorOf(const shape::Expr &e, int64_t limit) const {
  return known.divisorOf(zeroAxes.empty() ? e : atZero(info, e, zeroAxes), limit, laneAxis);
}

unsigned DeviceHooks::alignmentOf(const Access &a) {
  unsigned bytes = elementBytes(a.type);
  auto vector = dyn_cast<VectorType>(a.type);
  if (!vector)
    return bytes;
  int64_t width = vector.getNumElements();
  if (width != laneWidth)
    return bytes;
  // No access is wider.
  return std::min<int64_t>(16, bytes * divisorOf(info.exprOf(a.op), width));
}

/// The condition that all lanes of a mask have; null where they may differ.
static Value commonCondition(OpBuilder &b, Value mask) {
  if (!mask || !isa<VectorType>(mask.getType()))
    return {};
  Operation *def = mask.getDefiningOp();
  if (auto splat = dyn_cast_or_null<vector::SplatOp>(def))
    return splat.getInput();
  if (!isa_and_nonnull<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(def)) {
    DenseIntElementsAttr bits;
    bool isSplat = def && matchPattern(mask, m_Constant(&bits)) && bits.isSplat();
    return isSplat ? b.create<arith::ConstantOp>(def->getLoc(), b.getBoolAttr(bits.getSplatValue<bool>())) : Value();
  }
  Value x = commonCondition(b, def->getOperand(0)), y = x ? commonCondition(b, def->getOperand(1)) : Value();
  if (!y)
    return {};
  OperationState state(def->getLoc(), def->getName(), {x, y}, b.getI1Type());
  return b.create(state)->getResult(0);
}

Value DeviceHooks::load(OpBuilder &b, Location loc, const Access &a, Value fill) {
  DeviceBuilder d(b, loc);
  auto vector = dyn_cast<VectorType>(a.type);
  unsigned align = alignmentOf(a), bytes = elementBytes(a.type);
  if (!vector && !a.mask)
    return d.load(a.type, a.pointer, align);
  if (!vector)
    return d.loadIf(a.mask, a.type, a.pointer, align, fill ? fill : b.create<arith::ConstantOp>(loc, b.getZeroAttr(a.type)));
  // LLVM splits a load at its alignment.
  if (!a.mask && align > bytes)
    return d.load(a.type, a.pointer, align);
  Type element = vector.getElementType();
  Value out = fill ? fill : Value(b.create<arith::ConstantOp>(loc, b.getZeroAttr(vector)));
  if (Value all = align > bytes ? commonCondition(b, a.mask) : Value())
    return d.loadIf(all, a.type, a.pointer, align, out);
  for (int64_t i = 0; i < vector.getNumElements(); ++i) {
    Value p = d.at(a.pointer, d.i64(i), element);
    Value x = a.mask ? d.loadIf(d.extract(a.mask, i), element, p, bytes, d.extract(out, i)) : d.load(element, p, bytes);
    out = d.insert(out, x, i);
  }
  return out;
}

void DeviceHooks::store(OpBuilder &b, Location loc, const Access &a, Value value) {
  DeviceBuilder d(b, loc);
  auto vector = dyn_cast<VectorType>(a.type);
  unsigned align = alignmentOf(a);
  if (!a.mask)
    return d.store(value, a.pointer, align);
  if (Value all = vector ? commonCondition(b, a.mask) : a.mask)
    return d.when(all, [&] { d.store(value, a.pointer, align); });
  for (int64_t i = 0; i < vector.getNumElements(); ++i)
    d.when(d.extract(a.mask, i), [&] {
      d.store(d.extract(value, i), d.at(a.pointer, d.i64(i), vector.getElementType()), elementBytes(a.type));
    });
}

Value DeviceHooks::gather(OpBuilder &b, Location loc, const Access &a, Value offsets, Value fill) {
  DeviceBuilder d(b, loc);
  auto vector = cast<VectorType>(a.type);
  Type element = vector.getElementType();
  Value out = fill ? fill : Value(b.create<arith::ConstantOp>(loc, b.getZeroAttr(vector)));
  for (int64_t i = 0; i < vector.getNumElements(); ++i) {
    Value p = d.at(a.pointer, d.extract(offsets, i), element);
    Value x = a.mask ? d.loadIf(d.extract(a.mask, i), element, p, elementBytes(element), d.extract(out, i))
                     : d.load(element, p, elementBytes(element));
    out = d.insert(out, x, i);
  }
  return out;
}

void DeviceHooks::scatter(OpBuilder &b, Location loc, const Access &a, Value offsets, Value value) {
  DeviceBuilder d(b, loc);
  auto vector = cast<VectorType>(a.type);
  for (int64_t i = 0; i < vector.getNumElements(); ++i) {
    auto put = [&] {
      Value p = d.at(a.pointer, d.extract(offsets, i), vector.getElementType());
      d.store(d.extract(value, i), p, elementBytes(a.type));
    };
    if (a.mask)
      d.when(d.extract(a.mask, i), put);
    else
      put();
  }
}
