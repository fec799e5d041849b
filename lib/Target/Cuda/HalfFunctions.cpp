//===- HalfFunctions.cpp - Functions between numbers of 16 bits ------------===//

#include "HalfFunctions.h"
#include "KernelFrame.h"
#include "lathe/Lower/ExpandMath.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe;

static bool isBetweenHalves(Operation *op) {
  auto function = op->getParentOfType<LLVM::LLVMFuncOp>();
  return function && function->hasAttr(cuda::halvesAttr) && getElementTypeOrSelf(op->getResult(0).getType()).isF32();
}

static bool isOfBfloats(Operation *op) {
  auto type = op->getParentOfType<LLVM::LLVMFuncOp>()->getAttrOfType<TypeAttr>(cuda::halvesAttr);
  return type && type.getValue().isBF16();
}

constexpr double log2e = 1.44269502f;

/// A function of one lane's f32, for each lane of a value such as `like`.
static Value laneByLane(cuda::DeviceBuilder &d, Value like, llvm::function_ref<Value(int64_t)> of) {
  Value out = like;
  auto vector = dyn_cast<VectorType>(like.getType());
  for (int64_t i = 0; i < (vector ? vector.getNumElements() : 1); ++i)
    out = d.insert(out, of(i), i);
  return out;
}

static Value inLanes(cuda::DeviceBuilder &d, StringRef intrinsic, Value x) {
  return laneByLane(d, x, [&](int64_t i) { return d.intrinsic(intrinsic, d.extract(x, i), d.f32Type()); });
}

static Value powerOfTwo(cuda::DeviceBuilder &d, Value x) { return inLanes(d, "llvm.nvvm.ex2.approx.f", x); }

namespace {
/// The exponential function between halves, as a power of two: what the product with log2(e) is rounded by makes an error of at most 89 * 2^-23
/// of the result, beside which half a unit of f16 is 2^-11. libdevice's takes nine instructions to have the last bits of an f32. Powers below 2^-126
/// take three instructions besides, and are left out where a power of 1 is beside them.
struct Exponential : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ExpOp op, PatternRewriter &rewriter) const override {
    if (!isBetweenHalves(op))
      return failure();
    cuda::DeviceBuilder d(rewriter, op.getLoc());
    Value x = d.mulF(op.getOperand(), d.real(op.getType(), log2e));
    rewriter.replaceOp(op, op->hasAttr(lower::expUpToOneName) ? inLanes(d, "llvm.nvvm.ex2.approx.ftz.f", x) : powerOfTwo(d, x));
    return success();
  }
};

/// 1 + erf(x), the normal distribution of a GELU: the complementary function of |x|, or 2 less that. A sum of 1 and libdevice's erf has no digits left
/// where they cancel out, and selects each of eight coefficients.
struct OnePlusErf : OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::AddFOp op, PatternRewriter &rewriter) const override {
    Value sides[] = {op.getLhs(), op.getRhs()};
    for (unsigned i = 0; i < 2 && isBetweenHalves(op); ++i)
      if (auto erf = sides[i].getDefiningOp<math::ErfOp>(); erf && matchPattern(sides[1 - i], m_OneFloat())) {
        rewriter.replaceOp(op, complement(cuda::DeviceBuilder(rewriter, op.getLoc()), op, erf.getOperand()));
        return success();
      }
    return failure();
  }

  /// erfc(-x)
  static Value complement(cuda::DeviceBuilder d, arith::AddFOp op, Value x) {
    auto number = [&](double v) { return d.real(x.getType(), v); };
    Value size = d.b.create<math::AbsFOp>(d.loc, x), rest = isOfBfloats(op) ? power(d, op, size) : product(d, size);
    Value negative = d.b.create<arith::CmpFOp>(d.loc, arith::CmpFPredicate::OLT, x, number(0));
    return d.select(negative, rest, d.subF(number(2), rest));
  }

  /// erfc(x) as exp(-x^2) times a polynomial in 1 / (1 + p x) (Abramowitz and Stegun, 7.1.26, with two more terms, fitted to the relative error): 2e-6 of
  /// the result, and what the square is rounded by.
  static Value product(cuda::DeviceBuilder d, Value x) {
    constexpr float p = 0.375f, coefficients[] = {-0.135094702f, 0.387933612f, -0.129591435f, 0.283057362f, 0.16666615f, 0.215688884f, 0.211339474f};
    auto number = [&](double v) { return d.real(x.getType(), v); };
    Value u = inLanes(d, "llvm.nvvm.rcp.approx.ftz.f", d.fma(x, number(p), number(1)));
    return d.mulF(d.mulF(polynomial(d, u, coefficients), u), powerOfTwo(d, d.mulF(d.mulF(x, x), number(-log2e))));
  }

  /// The same between numbers of bf16. The function's logarithm is smooth: a polynomial without a constant term is 4e-5 of the result off, down to 2^-133. Where the
  /// result is a factor, as in a GELU, those below 2^-126 may as well be 0.
  static Value power(cuda::DeviceBuilder d, arith::AddFOp op, Value x) {
    constexpr float coefficients[] = {-4.23166107e-08f, 2.19959202e-06f, -5.02336843e-05f, 0.000667103333f, -0.00576766068f,
                                      0.0346603729f,    -0.152647406f,   -0.917470455f,    -1.62784338f};
    Value logarithm = d.mulF(polynomial(d, x, coefficients), x);
    bool isFactor = llvm::all_of(op->getUsers(), [](Operation *user) { return isa<arith::MulFOp>(user); });
    return isFactor ? inLanes(d, "llvm.nvvm.ex2.approx.ftz.f", logarithm) : powerOfTwo(d, logarithm);
  }

  static Value polynomial(cuda::DeviceBuilder d, Value x, ArrayRef<float> coefficients) {
    Value sum = d.real(x.getType(), coefficients[0]);
    for (float c : coefficients.drop_front())
      sum = d.fma(sum, x, d.real(x.getType(), c));
    return sum;
  }
};

/// Whether nothing but a rounding to 16 bits sees the result.
static bool isRoundedAtOnce(Operation *op) {
  return isBetweenHalves(op) && llvm::all_of(op->getUsers(), [](Operation *user) { return isa<arith::TruncFOp>(user); });
}

/// Roots that are rounded to 16 bits at once, within a unit of f32's last place.
struct Root : OpRewritePattern<math::SqrtOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::SqrtOp op, PatternRewriter &rewriter) const override {
    if (!isRoundedAtOnce(op))
      return failure();
    cuda::DeviceBuilder d(rewriter, op.getLoc());
    rewriter.replaceOp(op, inLanes(d, "llvm.nvvm.sqrt.approx.f", op.getOperand()));
    return success();
  }
};

/// Quotients that are rounded to 16 bits at once, within two units of f32's last place: a few instructions for the dozen of a division that rounds
/// correctly. Between numbers of bf16 the result is still the nearest one: a quotient of two significands of 8 bits that is not a bf16 itself lies at least
/// 2^-18 of its size off the middle of two neighbours. Nothing may look at an f32 quotient but the rounding: its floor would be that of a number
/// a little smaller.
struct Quotient : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::DivFOp op, PatternRewriter &rewriter) const override {
    bool isNarrow = getElementTypeOrSelf(op.getType()).isBF16();
    if (!isNarrow && !isRoundedAtOnce(op))
      return failure();
    cuda::DeviceBuilder d(rewriter, op.getLoc());
    Type type = op.getType(), wide = d.b.getF32Type();
    if (auto vector = dyn_cast<VectorType>(type))
      wide = vector.clone(wide);
    auto widened = [&](Value x) { return isNarrow ? Value(d.b.create<arith::ExtFOp>(d.loc, wide, x)) : x; };
    Value x = widened(op.getLhs()), y = widened(op.getRhs());
    Value one = sameInLanes(d, y);
    Value out = one ? byOne(d, x, one) : laneByLane(d, x, [&](int64_t i) {
      return d.ptx("div.full.f32 $0, $1, $2;", "=f,f,f", {d.extract(x, i), d.extract(y, i)}, {d.f32Type()}, false)[0];
    });
    rewriter.replaceOp(op, isNarrow ? Value(d.b.create<arith::TruncFOp>(d.loc, type, out)) : out);
    return success();
  }

  /// By a number that all lanes share, and a whole row as a rule: what depends on it alone leaves the loop, two products are left. Numbers whose reciprocal
  /// is not normal are scaled first, and so is what they divide; results that this lets overflow do so anyway.
  static Value byOne(cuda::DeviceBuilder d, Value x, Value y) {
    constexpr float largest = 0x1p126f, smallest = 0x1p-126f, down = 0x1p-2f, up = 0x1p24f;
    auto number = [&](float v) { return d.real(y.getType(), v); };
    auto isLess = [&](Value a, Value b) { return d.b.create<arith::CmpFOp>(d.loc, arith::CmpFPredicate::OLT, a, b); };
    Value size = d.b.create<math::AbsFOp>(d.loc, y);
    Value scale = d.select(isLess(number(largest), size), number(down), d.select(isLess(size, number(smallest)), number(up), number(1)));
    Value reciprocal = inLanes(d, "llvm.nvvm.rcp.approx.ftz.f", d.mulF(y, scale));
    auto inAll = [&](Value v) { return Value(d.b.create<vector::BroadcastOp>(d.loc, x.getType(), v)); };
    return d.mulF(d.mulF(x, inAll(scale)), inAll(reciprocal));
  }

  /// The number that a vector has in all its lanes; null where they may differ.
  static Value sameInLanes(cuda::DeviceBuilder &d, Value v) {
    if (auto wide = v.getDefiningOp<arith::ExtFOp>()) {
      Value narrow = sameInLanes(d, wide.getIn());
      return narrow ? Value(d.b.create<arith::ExtFOp>(d.loc, d.f32Type(), narrow)) : Value();
    }
    if (auto splat = v.getDefiningOp<vector::SplatOp>())
      return splat.getInput();
    auto all = v.getDefiningOp<vector::BroadcastOp>();
    return all && !isa<VectorType>(all.getSourceType()) ? all.getSource() : Value();
  }
};
} // namespace

void cuda::populateHalfFunctions(RewritePatternSet &patterns) { patterns.add<Exponential, OnePlusErf, Quotient, Root>(patterns.getContext()); }
