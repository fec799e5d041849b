//===- LargeAngle.cpp - Angles of any size as quadrants and a rest ----------===//
//
// Payne and Hanek's way: of x times 2 / pi only the bits below the multiples of 4 are computed, 128 of them, in integer
// arithmetic. That leaves more than 64 good bits of the rest, also of the doubles that lie closest to a multiple of pi
// / 2.
//
// It is a function of one number, which a kernel's module gets once: large angles are rare, and vectors call it for
// those lanes alone that need it.
//
//===----------------------------------------------------------------------===//

#include "FloatBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe::lower;

namespace {
constexpr llvm::StringLiteral functionName = "large_angle.body"; // bodies are not visible outside their object
constexpr llvm::StringLiteral tableName = "two_over_pi";
/// 2 / pi, 64 bits a word, behind a word of zeros.
constexpr uint64_t twoOverPi[] = {0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
                                  0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
                                  0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
                                  0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
                                  0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

/// Integer arithmetic on i64.
class Words {
public:
  Words(OpBuilder &b, Location loc) : b(b), loc(loc) {}
  Value constant(uint64_t v) { return b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(static_cast<int64_t>(v))); }
  Value add(Value x, Value y) { return b.create<arith::AddIOp>(loc, x, y); }
  Value sub(Value x, Value y) { return b.create<arith::SubIOp>(loc, x, y); }
  Value mul(Value x, Value y) { return b.create<arith::MulIOp>(loc, x, y); }
  Value bitAnd(Value x, uint64_t y) { return b.create<arith::AndIOp>(loc, x, constant(y)); }
  Value bitOr(Value x, Value y) { return b.create<arith::OrIOp>(loc, x, y); }
  Value shl(Value x, Value n) { return b.create<arith::ShLIOp>(loc, x, n); }
  Value shr(Value x, Value n) { return b.create<arith::ShRUIOp>(loc, x, n); }
  Value pick(Value c, Value x, Value y) { return b.create<arith::SelectOp>(loc, c, x, y); }
  Value less(Value x, Value y) { return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, x, y); }
  Value isNegative(Value x) { return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, x, constant(0)); }
  /// (high << n | low >> (64 - n)) for n < 64.
  Value joined(Value high, Value low, Value n) {
    return bitOr(shl(high, n), shr(shr(low, constant(1)), sub(constant(63), n)));
  }

  OpBuilder &b;
  Location loc;
};
} // namespace

/// The 192 bits of 2 / pi that matter for |x| = mantissa * 2^power, the highest first.
static std::array<Value, 3> windowOf(Words &w, Value power) {
  auto pointer = LLVM::LLVMPointerType::get(w.b.getContext());
  Value table = w.b.create<LLVM::AddressOfOp>(w.loc, pointer, tableName);
  Value at = w.add(power, w.constant(62)); // the first bit, whose product is below 4
  Value first = w.shr(at, w.constant(6)), shift = w.bitAnd(at, 63);
  Value words[4];
  for (unsigned i = 0; i < 4; ++i) {
    Value index = w.add(first, w.constant(i));
    Value p = w.b.create<LLVM::GEPOp>(w.loc, pointer, w.b.getI64Type(), table, ValueRange{index});
    words[i] = w.b.create<LLVM::LoadOp>(w.loc, w.b.getI64Type(), p);
  }
  return {w.joined(words[0], words[1], shift), w.joined(words[1], words[2], shift),
          w.joined(words[2], words[3], shift)};
}

/// The rest, of 2^126ths of a quadrant (high and low word, |rest| <= 1/2), in radians.
static Value radians(Words &w, Value high, Value low) {
  Value negative = w.isNegative(high), zero = w.constant(0);
  Value isZero = w.b.create<arith::CmpIOp>(w.loc, arith::CmpIPredicate::eq, low, zero);
  Value borrow = w.pick(isZero, zero, w.constant(1));
  high = w.pick(negative, w.sub(w.sub(zero, high), borrow), high);
  low = w.pick(negative, w.sub(zero, low), low);
  Value zeros = w.b.create<math::CountLeadingZerosOp>(w.loc, high);
  zeros = w.b.create<arith::MinUIOp>(w.loc, zeros, w.constant(63));
  Value top = w.shr(w.joined(high, low, zeros), w.constant(1)); // 63 bits
  Type f64 = w.b.getF64Type();
  Value scale = w.b.create<arith::BitcastOp>(w.loc, f64, w.shl(w.sub(w.constant(1023), zeros), w.constant(52)));
  Value unit = w.b.create<arith::ConstantOp>(w.loc, w.b.getF64FloatAttr(1.5707963267948966 * 0x1p-61));
  Value r = w.b.create<arith::MulFOp>(w.loc, w.b.create<arith::SIToFPOp>(w.loc, f64, top), unit);
  r = w.b.create<arith::MulFOp>(w.loc, r, scale);
  return w.pick(negative, w.b.create<arith::NegFOp>(w.loc, r), r);
}

/// x: a finite f64, |x| >= 2^20. Gives the rest and the quadrant.
static func::FuncOp addFunction(OpBuilder b, Location loc, ModuleOp module) {
  Type f64 = b.getF64Type(), i64 = b.getI64Type();
  b.setInsertionPointToStart(module.getBody());
  auto tableType = RankedTensorType::get({std::size(twoOverPi)}, i64);
  b.create<LLVM::GlobalOp>(loc, LLVM::LLVMArrayType::get(i64, std::size(twoOverPi)), /*isConstant=*/true,
                           LLVM::Linkage::Internal, tableName,
                           DenseElementsAttr::get(tableType, ArrayRef<uint64_t>(twoOverPi)), /*alignment=*/8);
  auto fn = b.create<func::FuncOp>(loc, functionName, b.getFunctionType({f64}, {f64, i64}));
  fn.setPrivate();
  b.setInsertionPointToStart(fn.addEntryBlock());
  Words w(b, loc);
  Value x = fn.getArgument(0), bits = b.create<arith::BitcastOp>(loc, i64, x);
  Value exponent = w.bitAnd(w.shr(bits, w.constant(52)), 0x7ff);
  Value mantissa = w.bitOr(w.bitAnd(bits, (uint64_t(1) << 52) - 1), w.constant(uint64_t(1) << 52));
  auto [top, middle, bottom] = windowOf(w, w.sub(exponent, w.constant(1075)));
  auto upper = [&](Value v) -> Value { return b.create<arith::MulUIExtendedOp>(loc, mantissa, v).getHigh(); };
  Value lowProduct = w.mul(mantissa, middle), low = w.add(lowProduct, upper(bottom));
  Value carry = w.pick(w.less(low, lowProduct), w.constant(1), w.constant(0));
  Value high = w.add(w.add(w.mul(mantissa, top), upper(middle)), carry);
  // The upper two bits count quadrants; the rest is signed.
  Value quadrant = w.shr(w.add(high, w.constant(uint64_t(1) << 61)), w.constant(62));
  Value rest = radians(w, w.sub(high, w.shl(quadrant, w.constant(62))), low);
  Value negative = w.isNegative(bits);
  Value turned = w.pick(negative, w.sub(w.constant(0), quadrant), quadrant);
  Value signedRest = w.pick(negative, b.create<arith::NegFOp>(loc, rest), rest);
  b.create<func::ReturnOp>(loc, ValueRange{signedRest, turned});
  return fn;
}

/// Calls the function in those lanes that are large; the others keep `given`.
static SmallVector<Value> perLane(FloatBuilder &f, func::FuncOp fn, Value x, double limit, ArrayRef<Value> given) {
  OpBuilder &b = f.b;
  auto ofLane = [&](Value lane, ValueRange old) -> SmallVector<Value> {
    FloatBuilder scalar(b, f.loc, b.getF64Type(), f.options);
    Fl a = scalar.abs(scalar.of(lane));
    Fl isLarge = (a >= scalar.c(limit)) & (a < scalar.inf());
    auto branch = b.create<scf::IfOp>(f.loc, TypeRange(old), isLarge.v, /*addThenBlock=*/true, /*addElseBlock=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    b.create<scf::YieldOp>(f.loc, b.create<func::CallOp>(f.loc, fn, ValueRange{lane}).getResults());
    b.setInsertionPointToStart(branch.elseBlock());
    b.create<scf::YieldOp>(f.loc, old);
    return branch.getResults();
  };
  if (f.shape.empty())
    return ofLane(x, given);
  auto index = [&](int64_t i) -> Value { return b.create<arith::ConstantIndexOp>(f.loc, i); };
  auto loop = b.create<scf::ForOp>(f.loc, index(0), index(f.shape[0]), index(1), given);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> old, out;
  for (Value v : loop.getRegionIterArgs())
    old.push_back(b.create<vector::ExtractElementOp>(f.loc, v, loop.getInductionVar()));
  Value lane = b.create<vector::ExtractElementOp>(f.loc, x, loop.getInductionVar());
  for (auto [v, all] : llvm::zip(ofLane(lane, old), loop.getRegionIterArgs()))
    out.push_back(b.create<vector::InsertElementOp>(f.loc, v, all, loop.getInductionVar()));
  b.create<scf::YieldOp>(f.loc, out);
  return loop.getResults();
}

std::pair<Fl, Fl> lathe::lower::largeAngles(Fl x, double limit, Fl r, Fl q) {
  FloatBuilder &f = *x.f;
  auto module = f.b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  auto fn = module.lookupSymbol<func::FuncOp>(functionName);
  if (!fn)
    fn = addFunction(f.b, f.loc, module);
  Value any = f.any(f.abs(x) >= f.c(limit)), no = f.b.create<arith::ConstantOp>(f.loc, f.b.getBoolAttr(false));
  any = f.b.create<LLVM::ExpectOp>(f.loc, any, no); // what the call spills is spilled where it is called
  auto branch = f.b.create<scf::IfOp>(f.loc, TypeRange{r.v.getType(), q.v.getType()}, any, true, true);
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(branch.thenBlock());
  f.b.create<scf::YieldOp>(f.loc, perLane(f, fn, x.v, limit, {r.v, q.v}));
  f.b.setInsertionPointToStart(branch.elseBlock());
  f.b.create<scf::YieldOp>(f.loc, ValueRange{r.v, q.v});
  return {f.of(branch.getResult(0)), f.of(branch.getResult(1))};
}
