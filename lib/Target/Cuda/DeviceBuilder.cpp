//===- DeviceBuilder.cpp - Emitting device code ----------------------------===//

#include "DeviceBuilder.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe::cuda;

Value DeviceBuilder::constant(Type type, int64_t v) {
  return b.create<arith::ConstantOp>(loc, b.getIntegerAttr(type, v));
}

Value DeviceBuilder::real(Type type, double v) {
  if (auto vec = dyn_cast<VectorType>(type)) {
    auto scalar = cast<TypedAttr>(b.getFloatAttr(vec.getElementType(), v));
    return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(vec, scalar));
  }
  return b.create<arith::ConstantOp>(loc, b.getFloatAttr(type, v));
}

Value DeviceBuilder::zero(Type type) { return b.create<arith::ConstantOp>(loc, b.getZeroAttr(type)); }

Value DeviceBuilder::add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(loc, x, y); }
Value DeviceBuilder::mul(Value x, Value y) { return b.createOrFold<arith::MulIOp>(loc, x, y); }

Value DeviceBuilder::wide(Value x) {
  return x.getType().isInteger(64) ? x : b.createOrFold<arith::ExtUIOp>(loc, i64Type(), x);
}

Value DeviceBuilder::narrow(Value x) {
  return x.getType().isInteger(32) ? x : b.createOrFold<arith::TruncIOp>(loc, i32Type(), x);
}

Value DeviceBuilder::fma(Value x, Value y, Value z) { return b.create<math::FmaOp>(loc, x, y, z); }
Value DeviceBuilder::maxF(Value x, Value y) { return b.create<arith::MaxNumFOp>(loc, x, y); }

Value DeviceBuilder::convertF(Value x, Type element) {
  Type from = getElementTypeOrSelf(x.getType());
  if (from == element)
    return x;
  Type to = element;
  if (auto v = dyn_cast<VectorType>(x.getType()))
    to = VectorType::get(v.getShape(), element);
  if (from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
    return b.create<arith::ExtFOp>(loc, to, x);
  if (from.getIntOrFloatBitWidth() == element.getIntOrFloatBitWidth()) // bf16 <-> f16
    return convertF(convertF(x, f32Type()), element);
  return b.create<arith::TruncFOp>(loc, to, x);
}

Value DeviceBuilder::convert(Value x, Type element, bool isUnsigned) {
  if (isFloat(x))
    return convertF(x, element);
  Type to = element;
  if (auto v = dyn_cast<VectorType>(x.getType()))
    to = VectorType::get(v.getShape(), element);
  if (to == x.getType())
    return x;
  return isUnsigned ? Value(b.create<arith::ExtUIOp>(loc, to, x)) : Value(b.create<arith::ExtSIOp>(loc, to, x));
}

Value DeviceBuilder::dotBytes(Value x, Value y, Value z, bool leftIsUnsigned, bool rightIsUnsigned) {
  auto type = [](bool isUnsigned) { return isUnsigned ? ".u32" : ".s32"; };
  std::string text = std::string("dp4a") + type(leftIsUnsigned) + type(rightIsUnsigned) + " $0, $1, $2, $3;";
  return ptx(text, "=r,r,r,r", {x, y, z}, i32Type(), false)[0];
}

Value DeviceBuilder::pickBytes(Value x, Value y, Value which) {
  return ptx("prmt.b32 $0, $1, $2, $3;", "=r,r,r,r", {x, y, which}, i32Type(), false)[0];
}

Values DeviceBuilder::turnBytes(llvm::ArrayRef<Value> words) {
  auto pick = [&](Value x, Value y, int64_t which) { return pickBytes(x, y, i32(which)); };
  Value lowFirst = pick(words[0], words[1], 0x5140), lowLast = pick(words[2], words[3], 0x5140);
  Value highFirst = pick(words[0], words[1], 0x7362), highLast = pick(words[2], words[3], 0x7362);
  return {pick(lowFirst, lowLast, 0x5410), pick(lowFirst, lowLast, 0x7632), pick(highFirst, highLast, 0x5410), pick(highFirst, highLast, 0x7632)};
}

Value DeviceBuilder::exp2(Value x) { return intrinsic("llvm.nvvm.ex2.approx.ftz.f", x, f32Type()); }
Value DeviceBuilder::reciprocal(Value x) { return b.create<arith::DivFOp>(loc, f32(1.0), x); }

Value DeviceBuilder::extract(Value v, int64_t i) {
  if (!isa<VectorType>(v.getType()))
    return v;
  return b.createOrFold<vector::ExtractOp>(loc, v, i);
}

Value DeviceBuilder::insert(Value v, Value x, int64_t i) {
  if (!isa<VectorType>(v.getType()))
    return x;
  return b.create<vector::InsertOp>(loc, x, v, i);
}

Value DeviceBuilder::splat(Value x, int64_t width) {
  return width == 1 ? x : b.create<vector::BroadcastOp>(loc, vector(width, x.getType()), x).getResult();
}

Value DeviceBuilder::at(Value pointer, Value offset, Type element) {
  if (element.isInteger(1))
    element = b.getI8Type();
  return b.create<LLVM::GEPOp>(loc, pointer.getType(), element, pointer, ValueRange{offset});
}

Value DeviceBuilder::load(Type type, Value pointer, unsigned alignment) {
  return b.create<LLVM::LoadOp>(loc, type, pointer, alignment);
}

void DeviceBuilder::store(Value v, Value pointer, unsigned alignment) {
  b.create<LLVM::StoreOp>(loc, v, pointer, alignment);
}

Value DeviceBuilder::loadIf(Value ok, Type type, Value pointer, unsigned alignment, Value fill) {
  return choose(ok, [&] { return Values{load(type, pointer, alignment)}; }, [&] { return Values{fill}; })[0];
}

Values DeviceBuilder::loop(Value from, Value to, Value step, ValueRange init,
                           llvm::function_ref<Values(Value, ValueRange)> body) {
  auto op = b.create<scf::ForOp>(loc, from, to, step, init);
  OpBuilder::InsertionGuard guard(b);
  if (init.empty())
    b.setInsertionPoint(op.getBody()->getTerminator());
  else
    b.setInsertionPointToEnd(op.getBody());
  Values yields = body(op.getInductionVar(), op.getRegionIterArgs());
  if (!init.empty())
    b.create<scf::YieldOp>(loc, yields);
  return Values(op.getResults());
}

void DeviceBuilder::loop(Value from, Value to, Value step, llvm::function_ref<void(Value)> body) {
  loop(from, to, step, {}, [&](Value iv, ValueRange) {
    body(iv);
    return Values{};
  });
}

void DeviceBuilder::when(Value c, llvm::function_ref<void()> then) {
  auto op = b.create<scf::IfOp>(loc, c, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op.thenBlock()->getTerminator());
  then();
}

void DeviceBuilder::branch(Value c, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise) {
  auto op = b.create<scf::IfOp>(loc, c, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op.thenBlock()->getTerminator());
  then();
  b.setInsertionPoint(op.elseBlock()->getTerminator());
  otherwise();
}

Values DeviceBuilder::choose(Value c, llvm::function_ref<Values()> then, llvm::function_ref<Values()> otherwise) {
  auto build = [&](llvm::function_ref<Values()> side) {
    return [this, side](OpBuilder &, Location) {
      Values v = side();
      b.create<scf::YieldOp>(loc, v);
    };
  };
  return Values(b.create<scf::IfOp>(loc, c, build(then), build(otherwise)).getResults());
}

Value DeviceBuilder::special(llvm::StringRef name) {
  return intrinsic(("llvm.nvvm.read.ptx.sreg." + name).str(), {}, i32Type());
}

Value DeviceBuilder::intrinsic(llvm::StringRef name, ValueRange args, Type result) {
  auto attr = b.getStringAttr(name);
  if (!result) {
    b.create<LLVM::CallIntrinsicOp>(loc, TypeRange{}, attr, args, LLVM::FastmathFlagsAttr());
    return {};
  }
  return b.create<LLVM::CallIntrinsicOp>(loc, result, attr, args).getResult(0);
}

void DeviceBuilder::barrier() { b.create<NVVM::Barrier0Op>(loc); }

void DeviceBuilder::barrier(Value id, int64_t threads) {
  ptx("bar.sync $0, " + std::to_string(threads) + ";", "r,~{memory}", id);
}

Value DeviceBuilder::shuffle(llvm::StringRef mode, Value x, int64_t amount, int64_t clamp) {
  Type t = x.getType();
  unsigned bits = t.getIntOrFloatBitWidth();
  if (bits == 64) {
    Value pair = bitcast(x, vector(2, i32Type()));
    Value lo = shuffle(mode, extract(pair, 0), amount, clamp), hi = shuffle(mode, extract(pair, 1), amount, clamp);
    return bitcast(insert(insert(pair, lo, 0), hi, 1), t);
  }
  if (bits < 32) {
    Type carrier = b.getIntegerType(bits);
    Value wideBits = b.create<arith::ExtUIOp>(loc, i32Type(), bitcast(x, carrier));
    return bitcast(b.create<arith::TruncIOp>(loc, carrier, shuffle(mode, wideBits, amount, clamp)), t);
  }
  std::string name = ("llvm.nvvm.shfl.sync." + mode + ".i32").str();
  return bitcast(intrinsic(name, {i32(-1), bitcast(x, i32Type()), i32(amount), i32(clamp)}, i32Type()), t);
}

Value DeviceBuilder::shuffleXor(Value x, int64_t mask) { return shuffle("bfly", x, mask, 31); }
Value DeviceBuilder::shuffleUp(Value x, int64_t by) { return shuffle("up", x, by, 0); }

void DeviceBuilder::addOverLanes(Values &sums, Value lane) {
  for (unsigned mask = 16; mask; mask /= 2) {
    if (sums.size() == 1) {
      sums[0] = sum(sums[0], shuffleXor(sums[0], mask));
      continue;
    }
    size_t half = sums.size() / 2;
    Value upper = equal(bitAnd(lane, mask), mask);
    for (size_t i = 0; i < half; ++i) {
      Value keep = select(upper, sums[i + half], sums[i]), give = select(upper, sums[i], sums[i + half]);
      sums[i] = sum(keep, shuffleXor(give, mask));
    }
    sums.resize(half);
  }
}

Value DeviceBuilder::combineUpTo(Value x, Value lane, llvm::function_ref<Value(Value, Value)> combined) {
  for (unsigned by = 1; by < 32; by *= 2) {
    Value before = shuffleUp(x, by);
    x = select(less(lane, i32(by)), x, combined(before, x));
  }
  return x;
}

Value DeviceBuilder::matchAny(Value x) { return intrinsic("llvm.nvvm.match.any.sync.i32", {i32(-1), x}, i32Type()); }

Value DeviceBuilder::ballot(Value holds) { return intrinsic("llvm.nvvm.vote.ballot.sync", {i32(-1), holds}, i32Type()); }

Value DeviceBuilder::warpUniform(Value x) {
  return intrinsic("llvm.nvvm.shfl.sync.idx.i32", {i32(-1), x, i32(0), i32(31)}, i32Type());
}

Value DeviceBuilder::electOne() {
  Value picked = ptx("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 $0, 1, 0, p; }", "=r", {}, {i32Type()}, true)[0];
  return equal(picked, 1);
}

Values DeviceBuilder::ptx(llvm::StringRef text, llvm::StringRef constraints, ValueRange args, llvm::ArrayRef<Type> results,
                          bool effects) {
  Type res;
  if (results.size() == 1)
    res = results[0];
  if (results.size() > 1)
    res = LLVM::LLVMStructType::getLiteral(b.getContext(), results);
  auto op = b.create<LLVM::InlineAsmOp>(loc, res ? TypeRange(res) : TypeRange(), args, text, constraints, effects, false,
                                        LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
  Values out;
  if (results.size() == 1)
    out.push_back(op.getResult(0));
  for (size_t i = 0; results.size() > 1 && i < results.size(); ++i)
    out.push_back(b.create<LLVM::ExtractValueOp>(loc, op.getResult(0), i));
  return out;
}
