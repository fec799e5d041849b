//===- Float8.cpp - Conversions of floats of 8 bits ------------------------===//

#include "Float8.h"
#include "DeviceBuilder.h"
#include "HopperOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;

namespace {
/// How a format's bits divide, as in the dialect's table of narrow types. From `beyond` on, or above it, numbers are out of range.
struct Format {
  Type type;
  int64_t mantissa, bias, last, overflow, nan;
  double largest, beyond;
  bool beyondIsOut;

  static Format of(Type element) {
    if (element.isFloat8E5M2())
      return {element, 2, 15, 0x7B, 0x7C, 0x7F, 57344, 61440, true};
    return {element, 3, 7, 0x7E, 0x7F, 0x7F, 448, 464, false};
  }
};
} // namespace

static bool isFloat8(Type t) { return isa<Float8E4M3FNType, Float8E5M2Type>(getElementTypeOrSelf(t)); }

/// `like`'s type with other elements.
static Type shaped(Type like, Type element) {
  auto vector = dyn_cast<VectorType>(like);
  return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
}

static int64_t lanesOf(Type t) {
  auto vector = dyn_cast<VectorType>(t);
  return vector ? vector.getNumElements() : 1;
}

static Value integer(DeviceBuilder &d, Value like, int64_t v) {
  Type type = like.getType();
  auto a = d.b.getIntegerAttr(getElementTypeOrSelf(type), v);
  auto vector = dyn_cast<VectorType>(type);
  return vector ? d.b.create<arith::ConstantOp>(d.loc, DenseElementsAttr::get(vector, Attribute(a))) : d.b.create<arith::ConstantOp>(d.loc, a);
}

template <typename OpT> static Value with(DeviceBuilder &d, Value x, int64_t v) { return d.b.create<OpT>(d.loc, x, integer(d, x, v)); }
static Value bits(DeviceBuilder &d, Value x, Type element) { return d.b.create<arith::BitcastOp>(d.loc, shaped(x.getType(), element), x); }

Value cuda::asNumbers(DeviceBuilder &d, Value elements, Type as, Type format) {
  Type type = elements.getType();
  if (!isa_and_nonnull<FloatType>(format) || getElementTypeOrSelf(type) == as)
    return d.convert(elements, as, format && format.isUnsignedInteger());
  Value number = d.b.create<arith::BitcastOp>(d.loc, shaped(type, format), elements);
  return d.convertF(d.b.create<arith::ExtFOp>(d.loc, shaped(type, d.b.getF16Type()), number), as);
}

/// What `of` gives of the lanes, taken in twos: a vector, or the one value of up to two.
static Value inPairs(DeviceBuilder &d, int64_t lanes, Type pair, llvm::function_ref<Value(int64_t)> of) {
  if (lanes <= 2)
    return of(0);
  Value out = d.zero(d.vector(lanes / 2, pair));
  for (int64_t i = 0; i < lanes; i += 2)
    out = d.insert(out, of(i), i / 2);
  return out;
}

//===----------------------------------------------------------------------===//
// From codes to f16, which holds all of their numbers
//===----------------------------------------------------------------------===//

static Value halvesByInstruction(DeviceBuilder &d, Value codes, const Format &f) {
  int64_t lanes = lanesOf(codes.getType());
  Type i16 = d.b.getI16Type(), f16 = d.b.getF16Type();
  std::string text = "cvt.rn.f16x2." + nameOfNumbers(f.type).str() + "x2 $0, $1;";
  auto convert = [&](Value pair) { return d.ptx(text, "=r,h", pair, d.i32Type(), false)[0]; };
  if (lanes == 1) {
    bool isVector = isa<VectorType>(codes.getType());
    Value code = isVector ? d.extract(codes, 0) : codes, two = convert(d.b.create<arith::ExtUIOp>(d.loc, i16, code));
    Value half = bits(d, d.b.create<arith::TruncIOp>(d.loc, i16, two), f16);
    return isVector ? d.b.create<vector::BroadcastOp>(d.loc, shaped(codes.getType(), f16), half).getResult() : half;
  }
  Value pairs = d.bitcast(codes, d.vector(lanes / 2, i16));
  return d.bitcast(inPairs(d, lanes, d.i32Type(), [&](int64_t i) { return convert(d.extract(pairs, i / 2)); }), shaped(codes.getType(), f16));
}

/// A code of e5m2 is the upper half of an f16's. One of e4m3 has three digits more to the right of it, and an exponent that is 8 less.
static Value halvesByArithmetic(DeviceBuilder &d, Value codes, const Format &f) {
  Type i16 = d.b.getI16Type(), f16 = d.b.getF16Type();
  Value wide = d.b.create<arith::ExtUIOp>(d.loc, shaped(codes.getType(), i16), codes);
  if (f.type.isFloat8E5M2())
    return bits(d, with<arith::ShLIOp>(d, wide, 8), f16);
  Value magnitude = with<arith::ShLIOp>(d, with<arith::AndIOp>(d, wide, 0x7F), 7);
  Value number = bits(d, magnitude, f16);
  Value exact = bits(d, d.mulF(number, d.real(number.getType(), 256)), i16);
  Value isNan = d.equal(magnitude, integer(d, magnitude, 0x7F << 7));
  Value sign = with<arith::ShLIOp>(d, with<arith::AndIOp>(d, wide, 0x80), 8);
  return bits(d, d.bitOr(d.select(isNan, integer(d, magnitude, 0x7E00), exact), sign), f16);
}

//===----------------------------------------------------------------------===//
// From f32 to codes, to the nearest one, ties to even
//===----------------------------------------------------------------------===//

static std::optional<double> constantOf(Value v) {
  if (Operation *op = v.getDefiningOp(); isa_and_nonnull<vector::BroadcastOp, vector::SplatOp>(op))
    return constantOf(op->getOperand(0));
  Attribute a;
  if (!matchPattern(v, m_Constant(&a)))
    return std::nullopt;
  if (auto dense = dyn_cast<DenseElementsAttr>(a))
    a = dense.isSplat() ? dense.getSplatValue<Attribute>() : Attribute();
  auto number = dyn_cast_or_null<FloatAttr>(a);
  return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
}

/// What is limited to numbers that round to finite ones, by a minimum and a maximum; null where it is not.
static Value unlimited(Value x, const Format &f) {
  bool above = false, below = false;
  while (isa_and_nonnull<arith::MinimumFOp, arith::MaximumFOp>(x.getDefiningOp())) {
    Operation *op = x.getDefiningOp();
    bool isUpper = isa<arith::MinimumFOp>(op);
    std::optional<double> end = constantOf(op->getOperand(1));
    double limit = isUpper ? end.value_or(0) : -end.value_or(0);
    if (limit < f.largest || limit > f.largest + (f.beyond - f.largest) / 2)
      return {};
    (isUpper ? above : below) = true;
    x = op->getOperand(0);
    if (above && below)
      return x;
  }
  return {};
}

/// The instruction saturates, NaN apart, and so does a limit in front of it.
static Value codesByInstruction(DeviceBuilder &d, Value x, const Format &f) {
  Value free = unlimited(x, f), from = free ? free : x;
  int64_t lanes = lanesOf(x.getType());
  Type i8 = d.b.getI8Type(), i16 = d.b.getI16Type(), type = shaped(x.getType(), i8);
  std::string text = "cvt.rn.satfinite." + nameOfNumbers(f.type).str() + "x2.f32 $0, $1, $2;";
  auto lane = [&](int64_t i) { return i < lanes ? d.extract(from, i) : d.f32(0); };
  Value pairs = inPairs(d, lanes, i16, [&](int64_t i) { return d.ptx(text, "=h,f,f", {lane(i + 1), lane(i)}, i16, false)[0]; });
  Value codes;
  if (lanes > 1) {
    codes = d.bitcast(pairs, type);
  } else {
    codes = d.b.create<arith::TruncIOp>(d.loc, i8, pairs);
    if (isa<VectorType>(type))
      codes = d.b.create<vector::BroadcastOp>(d.loc, type, codes);
  }
  if (free)
    return codes;
  auto predicate = f.beyondIsOut ? arith::CmpFPredicate::OGE : arith::CmpFPredicate::OGT;
  Value out = d.b.create<arith::CmpFOp>(d.loc, predicate, d.b.create<math::AbsFOp>(d.loc, x), d.real(x.getType(), f.beyond));
  return d.select(out, d.bitOr(with<arith::AndIOp>(d, codes, -128), integer(d, codes, f.overflow)), codes);
}

/// Below the smallest normal number the codes count its fractions: a sum with a power of two whose last place is one of them rounds to that many.
static Value codesByArithmetic(DeviceBuilder &d, Value x, const Format &f) {
  Type i32 = d.i32Type();
  int64_t shift = 23 - f.mantissa;
  Value all = bits(d, x, i32), magnitude = with<arith::AndIOp>(d, all, 0x7FFFFFFF);
  Value odd = with<arith::AndIOp>(d, with<arith::ShRUIOp>(d, magnitude, shift), 1);
  Value rounded = with<arith::ShRUIOp>(d, d.add(with<arith::AddIOp>(d, magnitude, (int64_t(1) << (shift - 1)) - 1), odd), shift);
  Value normal = with<arith::SubIOp>(d, rounded, (127 - f.bias) << f.mantissa);
  int64_t place = (127 + 23 + 1 - f.bias - f.mantissa) << 23; // of the power of two
  Value sum = d.addF(bits(d, magnitude, d.f32Type()), bits(d, integer(d, magnitude, place), d.f32Type()));
  Value subnormal = with<arith::SubIOp>(d, bits(d, sum, i32), place);
  Value isSmall = d.less(magnitude, integer(d, magnitude, (128 - f.bias) << 23));
  Value code = d.select(isSmall, subnormal, normal);
  code = d.select(d.less(integer(d, code, f.last), code), integer(d, code, f.overflow), code);
  code = d.select(d.less(integer(d, magnitude, 0x7F800000), magnitude), integer(d, code, f.nan), code);
  Value sign = with<arith::AndIOp>(d, with<arith::ShRUIOp>(d, all, 24), 0x80);
  return d.b.create<arith::TruncIOp>(d.loc, shaped(x.getType(), d.b.getI8Type()), d.bitOr(code, sign));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static Value codesOf(DeviceBuilder &d, Value number) {
  if (auto bitcast = number.getDefiningOp<arith::BitcastOp>())
    return bitcast.getIn();
  return bits(d, number, d.b.getI8Type());
}

namespace {
struct Extend : OpRewritePattern<arith::ExtFOp> {
  Extend(MLIRContext *context, bool hasInstructions) : OpRewritePattern(context), hasInstructions(hasInstructions) {}
  bool hasInstructions;
  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &rewriter) const override {
    if (!isFloat8(op.getIn().getType()))
      return failure();
    DeviceBuilder d(rewriter, op.getLoc());
    Format f = Format::of(getElementTypeOrSelf(op.getIn().getType()));
    Value codes = codesOf(d, op.getIn());
    Value halves = hasInstructions ? halvesByInstruction(d, codes, f) : halvesByArithmetic(d, codes, f);
    rewriter.replaceOp(op, d.convertF(halves, getElementTypeOrSelf(op.getType())));
    return success();
  }
};

struct Round : OpRewritePattern<arith::TruncFOp> {
  Round(MLIRContext *context, bool hasInstructions) : OpRewritePattern(context), hasInstructions(hasInstructions) {}
  bool hasInstructions;
  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    if (!isFloat8(op.getType()))
      return failure();
    DeviceBuilder d(rewriter, op.getLoc());
    Format f = Format::of(getElementTypeOrSelf(op.getType()));
    Value x = d.convertF(op.getIn(), d.f32Type());
    Value codes = hasInstructions ? codesByInstruction(d, x, f) : codesByArithmetic(d, x, f);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), codes);
    return success();
  }
};

struct ConvertFloat8 : PassWrapper<ConvertFloat8, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertFloat8)
  explicit ConvertFloat8(bool hasInstructions) : hasInstructions(hasInstructions) {}
  StringRef getArgument() const override { return "lathe-cuda-float8"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, vector::VectorDialect, LLVM::LLVMDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<Extend, Round>(&getContext(), hasInstructions);
    arith::BitcastOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
  bool hasInstructions;
};
} // namespace

std::unique_ptr<Pass> cuda::createConvertFloat8(bool hasInstructions) { return std::make_unique<ConvertFloat8>(hasInstructions); }
