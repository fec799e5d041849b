//===- VectorBuilder.cpp - Emits micro-kernels over 1-D vectors ------------===//

#include "VectorBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe::cpu;
using Values = VectorBuilder::Values;

VectorBuilder::VectorBuilder(OpBuilder &b, Location loc, const Isa &target, FloatType element)
    : b(b), loc(loc), target(target), element(element), lanes(target.vectorBytes * 8 / element.getWidth()),
      vec(VectorType::get(lanes, element)), intVec(VectorType::get(lanes, b.getIntegerType(element.getWidth()))) {}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Value VectorBuilder::i(int64_t value) { return b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(value)); }

Value VectorBuilder::roundDown(Value x, int64_t powerOfTwo) {
  return powerOfTwo == 1 ? x : b.createOrFold<arith::AndIOp>(loc, x, i(-powerOfTwo));
}
Value VectorBuilder::less(Value x, Value y) {
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, x, y);
}
Value VectorBuilder::equal(Value x, Value y) {
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, x, y);
}
Value VectorBuilder::select(Value c, Value x, Value y) { return b.createOrFold<arith::SelectOp>(loc, c, x, y); }

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static unsigned bytesOf(Type elementType) { return elementType.getIntOrFloatBitWidth() / 8; }

Value VectorBuilder::at(Value pointer, Value offset, Type elementType) {
  return b.create<LLVM::GEPOp>(loc, pointer.getType(), elementType, pointer, ArrayRef<LLVM::GEPArg>{offset},
                               /*inbounds=*/true);
}

Value VectorBuilder::apart(Value pointer) {
  return b.create<LLVM::CallIntrinsicOp>(loc, pointer.getType(), b.getStringAttr("llvm.launder.invariant.group"), ValueRange{pointer})
      .getResult(0);
}

Value VectorBuilder::opaque(Value value) {
  if (target.arch != "x86_64")
    return value;
  StringRef registers = isa<VectorType>(value.getType()) ? "=v,0" : "=r,0";
  return b.create<LLVM::InlineAsmOp>(loc, value.getType(), value, "", registers, /*has_side_effects=*/false, /*is_align_stack=*/false,
                                     LLVM::AsmDialectAttr(), ArrayAttr()).getResult(0);
}

void VectorBuilder::freeRegisters() {
  if (target.arch != "x86_64" || target.registers >= 32)
    return;
  std::string clobbers;
  for (unsigned r = 0; r < target.registers; ++r)
    clobbers += (r ? ",~{xmm" : "~{xmm") + std::to_string(r) + "}";
  b.create<LLVM::InlineAsmOp>(loc, TypeRange(), ValueRange(), "", clobbers, /*has_side_effects=*/true, /*is_align_stack=*/false,
                              LLVM::AsmDialectAttr(), ArrayAttr());
}

Value VectorBuilder::load(Value pointer, Value offset) {
  return b.create<LLVM::LoadOp>(loc, vec, at(pointer, offset), bytesOf(element));
}

void VectorBuilder::store(Value v, Value pointer, Value offset) {
  b.create<LLVM::StoreOp>(loc, v, at(pointer, offset), bytesOf(element));
}

void VectorBuilder::storeScalar(Value v, Value pointer, Value offset) { store(v, pointer, offset); }

/// The type that moves through memory: half types move as integers, so that no target needs to know them.
static Type storageType(OpBuilder &b, Type type) { return type.isBF16() || type.isF16() ? b.getI16Type() : type; }

Value VectorBuilder::loadScalar(Value pointer, Value offset, Type type) {
  Type raw = storageType(b, type);
  Value v = b.create<LLVM::LoadOp>(loc, raw, at(pointer, offset, raw), bytesOf(raw));
  return widen(v, type, element);
}

Value VectorBuilder::loadConverted(Value pointer, Value offset, Type type, Value mask) {
  Type raw = storageType(b, type);
  auto rawVec = VectorType::get(lanes, raw);
  Value p = at(pointer, offset, raw);
  if (!mask)
    return widen(b.create<LLVM::LoadOp>(loc, rawVec, p, bytesOf(raw)), type, vec);
  Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(rawVec));
  Value v = b.create<LLVM::MaskedLoadOp>(loc, rawVec, p, mask, ValueRange{zero}, bytesOf(raw));
  return widen(v, type, vec);
}

Value VectorBuilder::loadPart(Value pointer, Value offset, unsigned count) {
  return b.create<LLVM::LoadOp>(loc, VectorType::get(count, element), at(pointer, offset), bytesOf(element));
}

Value VectorBuilder::widen(Value raw, Type from, Type to) {
  Type toElement = getElementTypeOrSelf(to);
  if (from == toElement)
    return raw;
  if (from.isInteger(8))
    return b.create<arith::SIToFPOp>(loc, to, raw);
  Type f32 = b.getF32Type();
  Type single = isa<VectorType>(to) ? Type(VectorType::get(lanes, f32)) : f32;
  Value v = raw;
  if (from.isBF16()) {
    Type i32 = isa<VectorType>(to) ? Type(VectorType::get(lanes, b.getI32Type())) : b.getI32Type();
    Value bits = b.create<arith::ExtUIOp>(loc, i32, raw);
    Value sixteen = b.create<arith::ConstantOp>(loc, isa<VectorType>(to)
                                                         ? TypedAttr(DenseElementsAttr::get(cast<VectorType>(i32), 16))
                                                         : TypedAttr(b.getI32IntegerAttr(16)));
    v = b.create<arith::BitcastOp>(loc, single, b.create<arith::ShLIOp>(loc, bits, sixteen));
  } else if (from.isF16()) {
    v = widenHalf(raw, single);
  }
  return toElement.isF64() ? b.create<arith::ExtFOp>(loc, to, v).getResult() : v;
}

/// f16 to f32. Without an instruction: shift the exponent and mantissa into place and scale by 2^112, which also makes the
/// subnormals right; infinities and NaN get the full exponent.
Value VectorBuilder::widenHalf(Value raw, Type to) {
  auto shaped = dyn_cast<VectorType>(to);
  auto like = [&](Type e) { return shaped ? Type(VectorType::get(shaped.getShape(), e)) : e; };
  if (target.half)
    return b.create<arith::ExtFOp>(loc, to, b.create<arith::BitcastOp>(loc, like(b.getF16Type()), raw).getResult());
  Type i32 = like(b.getI32Type());
  auto constant = [&](uint32_t bits) -> Value {
    if (!shaped)
      return b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(int32_t(bits)));
    return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(cast<VectorType>(i32), int32_t(bits)));
  };
  Value wide = b.create<arith::ExtUIOp>(loc, i32, raw);
  Value sign = b.create<arith::ShLIOp>(loc, b.create<arith::AndIOp>(loc, wide, constant(0x8000)), constant(16));
  Value magnitude = b.create<arith::AndIOp>(loc, wide, constant(0x7fff));
  Value shifted = b.create<arith::ShLIOp>(loc, magnitude, constant(13));
  Value scale = b.create<arith::BitcastOp>(loc, to, constant(0x77800000)); // 2^112
  Value finite = b.create<arith::MulFOp>(loc, b.create<arith::BitcastOp>(loc, to, shifted), scale);
  Value special = b.create<arith::OrIOp>(loc, shifted, constant(0x7f800000));
  Value isSpecial = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::uge, magnitude, constant(0x7c00));
  Value bits =
      b.create<arith::SelectOp>(loc, isSpecial, special, b.create<arith::BitcastOp>(loc, i32, finite).getResult());
  return b.create<arith::BitcastOp>(loc, to, b.create<arith::OrIOp>(loc, bits, sign));
}

void VectorBuilder::prefetch(Value pointer, Value offset, Type elementType, unsigned level) {
  b.create<LLVM::Prefetch>(loc, at(pointer, offset, storageType(b, elementType)), 0, 4 - level, 1);
}

Value VectorBuilder::firstLanes(Value count, unsigned width) {
  width = width ? width : lanes;
  auto type = VectorType::get(width, b.getI32Type());
  SmallVector<int32_t> numbers;
  for (unsigned l = 0; l < width; ++l)
    numbers.push_back(l);
  Value iota = b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers)));
  Value small = b.create<arith::TruncIOp>(loc, b.getI32Type(), max(min(count, i(width)), i(0)));
  return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, iota, b.create<vector::SplatOp>(loc, small, type));
}

Value VectorBuilder::lanesFrom(Value first, Value end) {
  Value all = b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(VectorType::get(lanes, b.getI1Type()), true));
  return b.create<arith::AndIOp>(loc, firstLanes(end), b.create<arith::XOrIOp>(loc, firstLanes(first), all));
}

Value VectorBuilder::firstLanes(unsigned count) {
  SmallVector<bool> bits;
  for (unsigned l = 0; l < lanes; ++l)
    bits.push_back(l < count);
  return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(VectorType::get(lanes, b.getI1Type()), bits));
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

Value VectorBuilder::f(double value) {
  return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(vec, Attribute(b.getFloatAttr(element, value))));
}

Value VectorBuilder::intSplat(int64_t value) {
  auto attr = b.getIntegerAttr(intVec.getElementType(), value);
  return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(intVec, Attribute(attr)));
}

Value VectorBuilder::splat(Value scalar) { return b.create<vector::SplatOp>(loc, scalar, vec); }

Value VectorBuilder::fma(Value x, Value y, Value z) {
  if (target.fma)
    return b.create<LLVM::FMAOp>(loc, x.getType(), x, y, z);
  return addf(mulf(x, y), z);
}

Value VectorBuilder::maxOr(Value x, Value y) {
  return b.create<arith::SelectOp>(loc, b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGT, x, y), x, y);
}

Value VectorBuilder::shuffle(Value x, Value y, ArrayRef<int64_t> mask) {
  return b.create<vector::ShuffleOp>(loc, x, y, mask);
}

/// Rows half of their number apart are interleaved, log2 n times: one instruction each in registers of 16 bytes, whatever the elements.
static Values transposeShort(VectorBuilder &v, Values rows) {
  unsigned n = rows.size();
  SmallVector<int64_t> low, high;
  for (unsigned c = 0; c < n / 2; ++c) {
    low.append({c, n + c});
    high.append({n / 2 + c, n + n / 2 + c});
  }
  for (unsigned d = 1; d < n; d *= 2) {
    Values next;
    for (unsigned r = 0; r < n / 2; ++r)
      for (ArrayRef<int64_t> mask : {ArrayRef<int64_t>(low), ArrayRef<int64_t>(high)})
        next.push_back(v.shuffle(rows[r], rows[r + n / 2], mask));
    rows = next;
  }
  return rows;
}

Values VectorBuilder::transpose(Values rows) {
  unsigned n = rows.size();
  if (n * getElementTypeOrSelf(rows[0].getType()).getIntOrFloatBitWidth() <= 128)
    return transposeShort(*this, rows);
  for (unsigned d = 1; d < n; d *= 2) {
    Values next(n);
    for (unsigned r = 0; r < n; ++r) {
      if (r & d)
        continue;
      SmallVector<int64_t> low, high;
      for (unsigned c = 0; c < n; ++c) {
        low.push_back(c & d ? n + c - d : c);
        high.push_back(c & d ? n + c : c + d);
      }
      next[r] = shuffle(rows[r], rows[r + d], low);
      next[r + d] = shuffle(rows[r], rows[r + d], high);
    }
    rows = next;
  }
  return rows;
}

/// 2^x = 2^n * 2^r with |r| <= 1/2. Adding a large constant rounds x to the integer n and leaves n + 127 in the low bits,
/// ready to be shifted into an exponent. The polynomial interpolates 2^r at the Chebyshev nodes, weighted for relative error.
Value VectorBuilder::exp2(Value x) {
  static const double coefficients[] = {1.0,
                                        0.6931471880262287,
                                        0.24022107485308267,
                                        0.05550357114219194,
                                        0.009676031918324871,
                                        0.0013390863364616103};
  Value low = f(-127.0), magic = f(12582912.0 + 127.0);
  Value below = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, x, low);
  Value t = b.create<arith::SelectOp>(loc, below, low, x); // a NaN stays
  Value shifted = addf(t, magic);
  Value r = subf(t, subf(shifted, magic));
  Value p = f(coefficients[std::size(coefficients) - 1]);
  for (unsigned k = std::size(coefficients) - 1; k-- > 0;)
    p = fma(p, r, f(coefficients[k]));
  Value bits = b.create<arith::BitcastOp>(loc, intVec, shifted);
  Value power = b.create<arith::BitcastOp>(loc, vec, b.create<arith::ShLIOp>(loc, bits, intSplat(23)).getResult());
  return mulf(p, power);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

Values VectorBuilder::loop(Value from, Value to, int64_t step, Values init, function_ref<Values(Value, Values)> body) {
  auto op = b.create<scf::ForOp>(loc, from, to, i(step), init,
                                 [&](OpBuilder &, Location, Value iv, ValueRange state) {
                                   OpBuilder::InsertionGuard guard(b);
                                   b.setInsertionPointToEnd(iv.getParentBlock());
                                   b.create<scf::YieldOp>(loc, body(iv, Values(state)));
                                 });
  return Values(op.getResults());
}

void VectorBuilder::loop(Value from, Value to, int64_t step, function_ref<void(Value)> body) {
  loop(from, to, step, {}, [&](Value iv, Values) {
    body(iv);
    return Values{};
  });
}

Values VectorBuilder::unrolled(Value from, Value to, int64_t unroll, Values init,
                               function_ref<Values(Value, unsigned, Values)> body) {
  Value count = sub(to, from);
  Value rest = add(from, roundDown(count, unroll));
  Values state = loop(from, rest, unroll, init, [&](Value k, Values s) {
    for (unsigned u = 0; u < unroll; ++u)
      s = body(k, u, s);
    return s;
  });
  std::optional<int64_t> known = getConstantIntValue(count);
  if (known && *known % unroll == 0)
    return state;
  return loop(rest, to, 1, state, [&](Value k, Values s) { return body(k, 0, s); });
}

void VectorBuilder::ifThen(Value condition, function_ref<void()> then, function_ref<void()> otherwise) {
  auto branch = [&](function_ref<void()> emit) {
    return [this, emit](OpBuilder &inner, Location) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(inner.getInsertionBlock());
      emit();
      b.create<scf::YieldOp>(loc);
    };
  };
  if (otherwise)
    b.create<scf::IfOp>(loc, condition, branch(then), branch(otherwise));
  else
    b.create<scf::IfOp>(loc, condition, branch(then));
}

void VectorBuilder::choose(Value number, ArrayRef<int64_t> cases, function_ref<void(int64_t)> body) {
  if (cases.size() == 1)
    return body(cases[0]);
  Value index = b.create<arith::IndexCastOp>(loc, b.getIndexType(), number);
  auto op = b.create<scf::IndexSwitchOp>(loc, TypeRange{}, index, cases, cases.size());
  OpBuilder::InsertionGuard guard(b);
  for (auto [region, one] : llvm::zip(op.getCaseRegions(), cases)) {
    b.createBlock(&region);
    body(one);
    b.create<scf::YieldOp>(loc);
  }
  b.createBlock(&op.getDefaultRegion());
  b.create<scf::YieldOp>(loc);
}

Values VectorBuilder::ifValues(Value condition, function_ref<Values()> then, function_ref<Values()> otherwise) {
  auto branch = [&](function_ref<Values()> emit) {
    return [this, emit](OpBuilder &inner, Location) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(inner.getInsertionBlock());
      b.create<scf::YieldOp>(loc, emit());
    };
  };
  auto op = b.create<scf::IfOp>(loc, condition, branch(then), branch(otherwise));
  return Values(op.getResults());
}

Values lathe::cpu::movedAsIntegers(OpBuilder &b, Location loc, Values vectors, function_ref<Values(Values)> move) {
  auto type = cast<VectorType>(vectors[0].getType());
  Type element = type.getElementType();
  bool boolean = element.isInteger(1), half = isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 16;
  if (!boolean && !half)
    return move(std::move(vectors));
  auto moved = VectorType::get(type.getShape(), boolean ? b.getI8Type() : b.getI16Type());
  for (Value &v : vectors)
    v = boolean ? b.create<arith::ExtUIOp>(loc, moved, v).getResult() : b.create<arith::BitcastOp>(loc, moved, v).getResult();
  vectors = move(std::move(vectors));
  for (Value &v : vectors)
    v = boolean ? b.create<arith::TruncIOp>(loc, type, v).getResult() : b.create<arith::BitcastOp>(loc, type, v).getResult();
  return vectors;
}
