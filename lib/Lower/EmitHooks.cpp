//===- EmitHooks.cpp - Defaults of what a target decides -------------------===//

#include "lathe/Lower/EmitHooks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe::lower;

static unsigned byteWidth(Type t) { return std::max(1u, getElementTypeOrSelf(t).getIntOrFloatBitWidth() / 8); }

static Value zeroOf(OpBuilder &b, Location loc, Type t) { return b.create<arith::ConstantOp>(loc, b.getZeroAttr(t)); }

Value lathe::lower::allLanes(OpBuilder &b, Location loc, int64_t lanes) {
  return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(VectorType::get(lanes, b.getI1Type()), true));
}

Value EmitHooks::load(OpBuilder &b, Location loc, const Access &a, Value fill) {
  unsigned align = byteWidth(a.type);
  if (!a.mask)
    return b.create<LLVM::LoadOp>(loc, a.type, a.pointer, align);
  if (!fill)
    fill = zeroOf(b, loc, a.type);
  if (isa<VectorType>(a.type))
    return b.create<LLVM::MaskedLoadOp>(loc, a.type, a.pointer, a.mask, ValueRange{fill}, align);
  auto branch = b.create<scf::IfOp>(
      loc, a.mask,
      [&](OpBuilder &b, Location loc) {
        b.create<scf::YieldOp>(loc, Value(b.create<LLVM::LoadOp>(loc, a.type, a.pointer, align)));
      },
      [&](OpBuilder &b, Location loc) { b.create<scf::YieldOp>(loc, fill); });
  return branch.getResult(0);
}

void EmitHooks::store(OpBuilder &b, Location loc, const Access &a, Value value) {
  unsigned align = byteWidth(a.type);
  if (!a.mask) {
    b.create<LLVM::StoreOp>(loc, value, a.pointer, align);
    return;
  }
  if (isa<VectorType>(a.type)) {
    b.create<LLVM::MaskedStoreOp>(loc, value, a.pointer, a.mask, align);
    return;
  }
  b.create<scf::IfOp>(loc, a.mask, [&](OpBuilder &b, Location loc) {
    b.create<LLVM::StoreOp>(loc, value, a.pointer, align);
    b.create<scf::YieldOp>(loc);
  });
}

/// One pointer per lane, and a mask (all ones when there is none). LLVM 19 may not see that the first lane's pointer is itself an
/// address in an array: it would add what a loop leaves alone first (LICM's hoisting of addresses), and loses the lanes on the way.
static std::pair<Value, Value> lanePointers(OpBuilder &b, Location loc, const Access &a, Value offsets) {
  auto type = cast<VectorType>(a.type);
  Type pointers = LLVM::getFixedVectorType(a.pointer.getType(), type.getNumElements());
  StringAttr launder = b.getStringAttr("llvm.launder.invariant.group");
  Value base = b.create<LLVM::CallIntrinsicOp>(loc, a.pointer.getType(), launder, ValueRange{a.pointer}).getResult(0);
  Value p = b.create<LLVM::GEPOp>(loc, pointers, type.getElementType(), base, ValueRange{offsets});
  return {p, a.mask ? a.mask : allLanes(b, loc, type.getNumElements())};
}

Value EmitHooks::gather(OpBuilder &b, Location loc, const Access &a, Value offsets, Value fill) {
  auto [pointers, mask] = lanePointers(b, loc, a, offsets);
  if (!fill)
    fill = zeroOf(b, loc, a.type);
  return b.create<LLVM::masked_gather>(loc, a.type, pointers, mask, ValueRange{fill}, byteWidth(a.type));
}

void EmitHooks::scatter(OpBuilder &b, Location loc, const Access &a, Value offsets, Value value) {
  auto [pointers, mask] = lanePointers(b, loc, a, offsets);
  b.create<LLVM::masked_scatter>(loc, value, pointers, mask, byteWidth(a.type));
}

Value EmitHooks::convertFloat(OpBuilder &b, Location loc, Value value, Type to) {
  unsigned from = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
  unsigned want = getElementTypeOrSelf(to).getIntOrFloatBitWidth();
  if (value.getType() == to)
    return value;
  if (from < want)
    return b.create<arith::ExtFOp>(loc, to, value);
  if (from > want)
    return b.create<arith::TruncFOp>(loc, to, value);
  // Between the two half types: through f32.
  Type f32 = b.getF32Type();
  if (auto v = dyn_cast<VectorType>(to))
    f32 = VectorType::get(v.getShape(), f32);
  return convertFloat(b, loc, convertFloat(b, loc, value, f32), to);
}
