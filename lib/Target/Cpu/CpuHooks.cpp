//===- CpuHooks.cpp - Accesses and half types on a CPU ---------------------===//

#include "CpuHooks.h"
#include "lathe/Lower/DetachKernel.h"
#include "lathe/Schedule/Rows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;

namespace {
/// Arithmetic on i32 (or vectors of it), for the bit patterns of floats.
class Bits {
public:
  Bits(OpBuilder &b, Location loc, Type like) : b(b), loc(loc) {
    if (auto v = dyn_cast<VectorType>(like))
      shape.assign(v.getShape().begin(), v.getShape().end());
  }
  Type of(Type element) const { return shape.empty() ? element : VectorType::get(shape, element); }
  Value constant(uint32_t v) {
    Attribute a = b.getI32IntegerAttr(static_cast<int32_t>(v));
    if (!shape.empty())
      a = DenseElementsAttr::get(cast<ShapedType>(of(b.getI32Type())), a);
    return b.create<arith::ConstantOp>(loc, cast<TypedAttr>(a));
  }
  Value cast32(Value f) { return b.create<arith::BitcastOp>(loc, of(b.getI32Type()), f); }
  Value castFloat(Value i) { return b.create<arith::BitcastOp>(loc, of(b.getF32Type()), i); }
  /// The 16 bits of a half type, widened; and back.
  Value widen(Value half) {
    Value i16 = b.create<arith::BitcastOp>(loc, of(b.getI16Type()), half);
    return b.create<arith::ExtUIOp>(loc, of(b.getI32Type()), i16);
  }
  Value narrow(Value bits, Type half) {
    Value i16 = b.create<arith::TruncIOp>(loc, of(b.getI16Type()), bits);
    return b.create<arith::BitcastOp>(loc, half, i16);
  }
  Value add(Value x, Value y) { return b.create<arith::AddIOp>(loc, x, y); }
  Value sub(Value x, Value y) { return b.create<arith::SubIOp>(loc, x, y); }
  Value bitAnd(Value x, uint32_t y) { return b.create<arith::AndIOp>(loc, x, constant(y)); }
  Value bitOr(Value x, Value y) { return b.create<arith::OrIOp>(loc, x, y); }
  Value shl(Value x, unsigned n) { return b.create<arith::ShLIOp>(loc, x, constant(n)); }
  Value shr(Value x, unsigned n) { return b.create<arith::ShRUIOp>(loc, x, constant(n)); }
  Value atLeast(Value x, uint32_t y) {
    return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::uge, x, constant(y));
  }
  Value pick(Value c, Value x, Value y) { return b.create<arith::SelectOp>(loc, c, x, y); }
  Value mul(Value x, Value y) { return b.create<arith::MulFOp>(loc, x, y); }
  Value addFloat(Value x, Value y) { return b.create<arith::AddFOp>(loc, x, y); }

private:
  OpBuilder &b;
  Location loc;
  SmallVector<int64_t> shape;
};
} // namespace

/// Round to nearest even; a NaN keeps its sign and becomes quiet.
static Value toBF16(Bits bits, Value f32, Type to) {
  Value u = bits.cast32(f32);
  Value odd = bits.bitAnd(bits.shr(u, 16), 1);
  Value rounded = bits.shr(bits.add(bits.add(u, bits.constant(0x7FFF)), odd), 16);
  Value nan = bits.bitOr(bits.shr(u, 16), bits.constant(0x40));
  Value isNan = bits.atLeast(bits.bitAnd(u, 0x7FFFFFFF), 0x7F800001);
  return bits.narrow(bits.pick(isNan, nan, rounded), to);
}

static Value fromBF16(Bits bits, Value half) { return bits.castFloat(bits.shl(bits.widen(half), 16)); }

/// The exponent is rebased by a multiplication, which also normalises subnormal numbers.
static Value fromF16(Bits bits, Value half) {
  Value h = bits.widen(half);
  Value sign = bits.shl(bits.bitAnd(h, 0x8000), 16);
  Value magnitude = bits.shl(bits.bitAnd(h, 0x7FFF), 13);
  Value scaled = bits.cast32(bits.mul(bits.castFloat(magnitude), bits.castFloat(bits.constant(0x77800000)))); // 2^112
  Value special = bits.bitOr(magnitude, bits.constant(0x7F800000));
  Value isSpecial = bits.atLeast(magnitude, 0x0F800000);
  return bits.castFloat(bits.bitOr(sign, bits.pick(isSpecial, special, scaled)));
}

/// Round to nearest even. Subnormal results come from adding 0.5, whose last bit is then that of the smallest f16.
static Value toF16(Bits bits, Value f32, Type to) {
  Value u = bits.cast32(f32);
  Value sign = bits.shr(bits.bitAnd(u, 0x80000000), 16);
  Value magnitude = bits.bitAnd(u, 0x7FFFFFFF);
  Value half = bits.constant(0x3F000000);
  Value small = bits.sub(bits.cast32(bits.addFloat(bits.castFloat(magnitude), bits.castFloat(half))), half);
  Value odd = bits.bitAnd(bits.shr(magnitude, 13), 1);
  Value normal = bits.shr(bits.add(bits.add(magnitude, bits.constant(0xC8000FFF)), odd), 13);
  Value isNan = bits.atLeast(magnitude, 0x7F800001);
  Value large = bits.pick(isNan, bits.constant(0x7E00), bits.constant(0x7C00));
  Value finite = bits.pick(bits.atLeast(magnitude, 0x38800000), normal, small);
  Value result = bits.pick(bits.atLeast(magnitude, 0x47800000), large, finite);
  return bits.narrow(bits.bitOr(sign, result), to);
}

/// f64 -> f32 on the way to a half type: where it is not exact, towards zero with the last bit set. Rounding that to fewer digits
/// gives what rounding the f64 gives; two roundings to nearest would not.
static Value toOddF32(OpBuilder &b, Location loc, Bits bits, Value f64, Type f32) {
  Value nearest = b.create<arith::TruncFOp>(loc, f32, f64), back = b.create<arith::ExtFOp>(loc, f64.getType(), nearest);
  Value exact = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UEQ, back, f64);
  auto size = [&](Value v) -> Value { return b.create<math::AbsFOp>(loc, v); };
  Value up = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGT, size(back), size(f64));
  Value u = bits.cast32(nearest);
  Value odd = bits.bitOr(bits.pick(up, bits.sub(u, bits.constant(1)), u), bits.constant(1));
  return bits.castFloat(bits.pick(exact, u, odd));
}

Value CpuHooks::convertFloat(OpBuilder &b, Location loc, Value value, Type to) {
  Type from = getElementTypeOrSelf(value.getType()), want = getElementTypeOrSelf(to);
  if (from == want)
    return value;
  Bits bits(b, loc, to);
  Type f32 = bits.of(b.getF32Type());
  bool half = from.isF16() || from.isBF16() || want.isF16() || want.isBF16();
  if (half && from.isF64())
    return convertFloat(b, loc, toOddF32(b, loc, bits, value, f32), to);
  if (half && !from.isF32() && !want.isF32()) // the first step is exact
    return convertFloat(b, loc, convertFloat(b, loc, value, f32), to);
  if (from.isBF16())
    return fromBF16(bits, value);
  if (want.isBF16())
    return toBF16(bits, value, to);
  if (from.isF16() && !isa.half)
    return fromF16(bits, value);
  if (want.isF16() && !isa.half)
    return toF16(bits, value, to);
  return EmitHooks::convertFloat(b, loc, value, to);
}

//===----------------------------------------------------------------------===//
// Half types in memory and in selections
//===----------------------------------------------------------------------===//

static bool isHalf(Type t) {
  Type e = getElementTypeOrSelf(t);
  return e.isF16() || e.isBF16();
}

/// i16 of the same shape.
static Type asBits(Type t) {
  Type i16 = IntegerType::get(t.getContext(), 16);
  auto v = dyn_cast<VectorType>(t);
  return v ? Type(VectorType::get(v.getShape(), i16)) : i16;
}

static Value cast(OpBuilder &b, Location loc, Type to, Value v) {
  return v && v.getType() != to ? b.create<arith::BitcastOp>(loc, to, v).getResult() : v;
}

static Type memoryType(Type t) { return isHalf(t) ? asBits(t) : t; }

Value CpuHooks::load(OpBuilder &b, Location loc, const lower::Access &a, Value fill) {
  Type type = memoryType(a.type);
  return cast(b, loc, a.type, EmitHooks::load(b, loc, {a.op, a.pointer, type, a.mask}, cast(b, loc, type, fill)));
}

void CpuHooks::store(OpBuilder &b, Location loc, const lower::Access &a, Value value) {
  Type type = memoryType(a.type);
  EmitHooks::store(b, loc, {a.op, a.pointer, type, a.mask}, cast(b, loc, type, value));
}

/// The last place of a table of which a load reads the low bytes of words alone: what its index is limited to, which is all of it.
static std::optional<int64_t> lastOfBytes(kernel::LoadOp load) {
  if (!load || load.getIndices().size() != 1 || load.getOffsetExpr().str() != "$0" || load.getPredicate())
    return std::nullopt;
  for (Operation *user : load.getResult().getUsers())
    if (!llvm::isa<arith::TruncIOp>(user) || !user->getResult(0).getType().isInteger(8))
      return std::nullopt;
  auto positive = load.getIndices()[0].getDefiningOp<arith::MaxSIOp>();
  auto limited = positive ? positive.getLhs().getDefiningOp<arith::MinSIOp>() : arith::MinSIOp();
  return limited && matchPattern(positive.getRhs(), m_Zero()) ? getConstantIntValue(limited.getRhs()) : std::nullopt;
}

/// The table's low bytes are four registers of words. A lane picks a word from two of them, and another from the other two, takes the one that it is in,
/// and shifts its byte down. A gather of as many lanes takes Zen 4 three times as long.
static Value pickBytes(OpBuilder &b, Location loc, Value pointer, Value offsets) {
  auto lanes = cast<VectorType>(offsets.getType());
  auto words = VectorType::get(lanes.getShape(), b.getI32Type()), all = VectorType::get({4 * 16}, b.getI32Type());
  auto splat = [&](int32_t x) { return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(words, x)).getResult(); };
  SmallVector<Value> table;
  for (int32_t part = 0; part < 4; ++part) {
    Value from = b.create<LLVM::GEPOp>(loc, pointer.getType(), b.getI32Type(), pointer, ArrayRef<LLVM::GEPArg>{part * 64});
    Value low = b.create<arith::TruncIOp>(loc, VectorType::get({64}, b.getI8Type()), b.create<LLVM::LoadOp>(loc, all, from, 4));
    table.push_back(b.create<vector::BitCastOp>(loc, words, low));
  }
  Value x = b.create<arith::TruncIOp>(loc, words, offsets), word = b.create<arith::ShRUIOp>(loc, x, splat(2));
  auto pick = [&](unsigned first) {
    return b.create<LLVM::CallIntrinsicOp>(loc, words, b.getStringAttr("llvm.x86.avx512.vpermi2var.d.512"), ValueRange{table[first], word, table[first + 1]}).getResult(0);
  };
  Value upper = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, x, splat(128));
  Value picked = b.create<arith::SelectOp>(loc, upper, pick(2), pick(0));
  Value shift = b.create<arith::ShLIOp>(loc, b.create<arith::AndIOp>(loc, x, splat(3)), splat(3));
  return b.create<arith::ShRUIOp>(loc, picked, shift);
}

/// By places of 32 bits one instruction gathers sixteen lanes, by those of 64 it takes two, as long each (Ice Lake: 24 cycles each). As an intrinsic, since LLVM
/// takes a sign extension for none where it sees that places are few, and does not narrow them again.
static Value gatherShort(OpBuilder &b, Location loc, const lower::Access &a, VectorType type, Value offsets, Value fill) {
  Value places = b.create<arith::TruncIOp>(loc, VectorType::get(type.getShape(), b.getI32Type()), offsets);
  Value mask = a.mask ? a.mask : lower::allLanes(b, loc, type.getNumElements());
  if (!fill)
    fill = b.create<arith::ConstantOp>(loc, b.getZeroAttr(type));
  StringRef name = type.getElementType().isF32() ? "llvm.x86.avx512.mask.gather.dps.512" : "llvm.x86.avx512.mask.gather.dpi.512";
  Value scale = b.create<LLVM::ConstantOp>(loc, b.getI32Type(), 4);
  return b.create<LLVM::CallIntrinsicOp>(loc, type, b.getStringAttr(name), ValueRange{fill, a.pointer, places, mask, scale}).getResult(0);
}

Value CpuHooks::gather(OpBuilder &b, Location loc, const lower::Access &a, Value offsets, Value fill) {
  auto type = cast<VectorType>(memoryType(a.type));
  auto load = dyn_cast_or_null<kernel::LoadOp>(a.op);
  bool isFull = isa.arch == "x86_64" && isa.vectorBytes == 64 && type.getNumElements() == 16 && type.getElementTypeBitWidth() == 32;
  if (isFull && type.getElementType().isInteger() && lastOfBytes(load) == std::optional<int64_t>(255)) {
    Value bytes = pickBytes(b, loc, a.pointer, offsets);
    return a.mask && fill ? b.create<arith::SelectOp>(loc, a.mask, bytes, fill).getResult() : bytes;
  }
  fill = cast(b, loc, type, fill);
  Value v = isFull && load && lower::hasShortPlaces(load) ? gatherShort(b, loc, a, type, offsets, fill)
                                                          : EmitHooks::gather(b, loc, {a.op, a.pointer, type, a.mask}, offsets, fill);
  return cast(b, loc, a.type, v);
}

/// The mask of the `width` elements from `begin` on: those that a lane takes are wanted where it is.
static Value maskOfElements(OpBuilder &b, Location loc, Value lanes, int64_t begin, int64_t stride) {
  int64_t width = llvm::cast<VectorType>(lanes.getType()).getNumElements();
  SmallVector<int64_t> take;
  for (int64_t element = begin; element < begin + width; ++element)
    take.push_back(element % stride ? width : element / stride);
  Value none = b.create<arith::ConstantOp>(loc, b.getZeroAttr(lanes.getType()));
  return b.create<vector::ShuffleOp>(loc, lanes, none, take);
}

/// Lanes whose elements lie one behind the other from the last lane to the first: a vector that begins at the last one, turned around.
Value CpuHooks::loadBackwards(OpBuilder &b, Location loc, const lower::Access &a, Value fill) {
  auto type = llvm::cast<VectorType>(memoryType(a.type));
  if (a.mask && !schedule::masksElements(isa, type.getElementType()))
    return {};
  int64_t width = type.getNumElements();
  SmallVector<int64_t> turned;
  for (int64_t lane = width; lane-- > 0;)
    turned.push_back(lane);
  auto turn = [&](Value v) -> Value { return b.create<vector::ShuffleOp>(loc, v, v, turned); };
  Value last = b.create<LLVM::GEPOp>(loc, a.pointer.getType(), type.getElementType(), a.pointer,
                                     ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(1 - width)});
  Value v = turn(EmitHooks::load(b, loc, {a.op, last, type, a.mask ? turn(a.mask) : Value()}, {}));
  if (fill)
    v = b.create<arith::SelectOp>(loc, a.mask, v, cast(b, loc, type, fill));
  return cast(b, loc, a.type, v);
}

/// Whole vectors from the first lane to the last, and no further, of which shuffles take one element each stride. Under a mask those elements
/// alone are read.
Value CpuHooks::loadStrided(OpBuilder &b, Location loc, const lower::Access &a, int64_t stride, Value fill) {
  if (stride == -1)
    return loadBackwards(b, loc, a, fill);
  auto type = llvm::cast<VectorType>(memoryType(a.type));
  int64_t width = type.getNumElements();
  if (stride > std::min(width, schedule::widestStride)) // with fewer lanes than that, whole vectors reach beyond the last one
    return {};
  if (a.mask && (stride > schedule::widestMaskedStride || !schedule::masksElements(isa, type.getElementType())))
    return {};
  int64_t last = (width - 1) * (stride - 1);
  Value all;
  for (int64_t part = 0; part < stride; ++part) {
    int64_t begin = part + 1 < stride ? part * width : last;
    Value at = b.create<LLVM::GEPOp>(loc, a.pointer.getType(), type.getElementType(), a.pointer,
                                     ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(begin)});
    Value v = EmitHooks::load(b, loc, {a.op, at, type, a.mask ? maskOfElements(b, loc, a.mask, begin, stride) : Value()}, {});
    SmallVector<int64_t> take;
    for (int64_t lane = 0; lane < width; ++lane) {
      int64_t place = lane * stride;
      bool mine = part + 1 < stride ? place < begin + width : true, before = part && place < part * width;
      take.push_back(before || !mine ? lane : (part ? width : 0) + place - begin);
    }
    all = part ? b.create<vector::ShuffleOp>(loc, all, v, take).getResult() : b.create<vector::ShuffleOp>(loc, v, v, take).getResult();
  }
  if (fill)
    all = b.create<arith::SelectOp>(loc, a.mask, all, cast(b, loc, type, fill));
  return cast(b, loc, a.type, all);
}

/// A shorter vector, each of whose elements goes to so many lanes. Masks are those of the first lanes of a row: an element is read where its first lane is.
Value CpuHooks::loadRepeated(OpBuilder &b, Location loc, const lower::Access &a, int64_t repeats, Value fill) {
  auto type = llvm::cast<VectorType>(memoryType(a.type));
  int64_t width = type.getNumElements(), count = width / repeats;
  if (width % repeats || count < 2 || (a.mask && !schedule::masksElements(isa, type.getElementType())))
    return {};
  SmallVector<int64_t> firsts, spread;
  for (int64_t lane = 0; lane < width; ++lane) {
    spread.push_back(lane / repeats);
    if (lane % repeats == 0)
      firsts.push_back(lane);
  }
  Value mask = a.mask ? b.create<vector::ShuffleOp>(loc, a.mask, a.mask, firsts).getResult() : Value();
  Value few = EmitHooks::load(b, loc, {a.op, a.pointer, VectorType::get({count}, type.getElementType()), mask}, {});
  Value v = b.create<vector::ShuffleOp>(loc, few, few, spread);
  if (fill && a.mask)
    v = b.create<arith::SelectOp>(loc, a.mask, v, cast(b, loc, type, fill));
  return cast(b, loc, a.type, v);
}

/// Two vectors of words are what one instruction permutes (AVX-512), or one for each and a choice (AVX2).
int64_t CpuHooks::nearElements(VectorType type) const {
  bool isVector = isa.arch == "x86_64" && isa.vectorBytes >= 32 && type.getNumElements() * 4 == int64_t(isa.vectorBytes);
  return isVector && type.getElementTypeBitWidth() == 32 ? 2 * type.getNumElements() : 0;
}

Value CpuHooks::loadNear(OpBuilder &b, Location loc, const lower::Access &a, Value places, Value last) {
  auto type = cast<VectorType>(a.type), words = cast<VectorType>(places.getType());
  int64_t width = type.getNumElements();
  Value furthest = b.create<vector::SplatOp>(loc, words, last);
  auto part = [&](int64_t begin) -> Value {
    SmallVector<int32_t> steps(width);
    std::iota(steps.begin(), steps.end(), begin);
    Value mask = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sle, b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(words, ArrayRef(steps))), furthest);
    Value at = b.create<LLVM::GEPOp>(loc, a.pointer.getType(), type.getElementType(), a.pointer, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(begin)});
    return EmitHooks::load(b, loc, {a.op, at, type, mask}, b.create<arith::ConstantOp>(loc, b.getZeroAttr(type)));
  };
  Value low = part(0), high = part(width);
  bool floats = type.getElementType().isF32();
  auto call = [&](StringRef name, ValueRange operands) -> Value {
    return b.create<LLVM::CallIntrinsicOp>(loc, type, b.getStringAttr(name), operands).getResult(0);
  };
  if (isa.vectorBytes == 64)
    return call(floats ? "llvm.x86.avx512.vpermi2var.ps.512" : "llvm.x86.avx512.vpermi2var.d.512", {low, places, high});
  StringRef permute = floats ? "llvm.x86.avx2.permps" : "llvm.x86.avx2.permd";
  Value isLow = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, places, b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(words, int32_t(width))));
  return b.create<arith::SelectOp>(loc, isLow, call(permute, {low, places}), call(permute, {high, places}));
}

/// One lane of each part after the other; as many parts as a power of two.
static Value woven(OpBuilder &b, Location loc, ArrayRef<Value> parts) {
  if (parts.size() == 1)
    return parts[0];
  SmallVector<Value> even, odd;
  for (size_t i = 0; i < parts.size(); ++i)
    (i % 2 ? odd : even).push_back(parts[i]);
  Value x = woven(b, loc, even), y = woven(b, loc, odd);
  int64_t count = cast<VectorType>(x.getType()).getNumElements();
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < count; ++lane)
    order.append({lane, count + lane});
  return b.create<vector::ShuffleOp>(loc, x, y, order);
}

Value CpuHooks::loadAlternating(OpBuilder &b, Location loc, const lower::Access &a, ArrayRef<Value> pointers, bool moves, Value fill) {
  auto type = cast<VectorType>(memoryType(a.type));
  int64_t width = type.getNumElements(), places = pointers.size();
  if (a.mask && moves && !schedule::masksElements(isa, type.getElementType()))
    return {};
  auto part = VectorType::get({width / places}, type.getElementType());
  SmallVector<Value> parts;
  for (int64_t place = 0; place < places; ++place) {
    SmallVector<int64_t> lanes;
    for (int64_t lane = place; lane < width; lane += places)
      lanes.push_back(lane);
    Value mask = a.mask && moves ? b.create<vector::ShuffleOp>(loc, a.mask, a.mask, lanes).getResult() : Value();
    Value v = EmitHooks::load(b, loc, {a.op, pointers[place], moves ? Type(part) : part.getElementType(), mask}, {});
    parts.push_back(moves ? v : b.create<vector::BroadcastOp>(loc, part, v).getResult());
  }
  Value v = woven(b, loc, parts);
  if (fill && a.mask)
    v = b.create<arith::SelectOp>(loc, a.mask, v, cast(b, loc, type, fill));
  return cast(b, loc, a.type, v);
}

void CpuHooks::scatter(OpBuilder &b, Location loc, const lower::Access &a, Value offsets, Value value) {
  Type type = memoryType(a.type);
  EmitHooks::scatter(b, loc, {a.op, a.pointer, type, a.mask}, offsets, cast(b, loc, type, value));
}

Value CpuHooks::compute(OpBuilder &b, Location loc, Operation *op, ValueRange operands, Type type) {
  if (!llvm::isa<arith::SelectOp>(op) || !isHalf(type))
    return {};
  Type bits = asBits(type);
  Value v = b.create<arith::SelectOp>(loc, operands[0], cast(b, loc, bits, operands[1]), cast(b, loc, bits, operands[2]));
  return cast(b, loc, type, v);
}
