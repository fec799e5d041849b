//===- HalfFunctions.cpp - Functions between numbers of 16 bits ------------===//

#include "HalfFunctions.h"
#include "KernelFrame.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe;

static bool isBetweenHalves(Operation *op) {
  auto function = op->getParentOfType<LLVM::LLVMFuncOp>();
  return function && function->hasAttr(cuda::halvesAttr) && getElementTypeOrSelf(op->getResult(0).getType()).isF32();
}

namespace {
/// Arithmetic on f32 numbers or vectors of them.
struct Arithmetic {
  PatternRewriter &b;
  Location loc;
  Type type;
  Value number(float v) const {
    Attribute attr = b.getF32FloatAttr(v);
    if (auto vector = dyn_cast<VectorType>(type))
      attr = DenseElementsAttr::get(vector, attr);
    return b.create<arith::ConstantOp>(loc, cast<TypedAttr>(attr));
  }
  Value times(Value x, Value y) const { return b.create<arith::MulFOp>(loc, x, y); }
  Value timesPlus(Value x, Value y, Value z) const { return b.create<math::FmaOp>(loc, x, y, z); }
  /// An instruction of one number, lane by lane.
  Value each(StringRef intrinsic, Value x) const {
    Type f32 = b.getF32Type();
    auto one = [&](Value v) { return b.create<LLVM::CallIntrinsicOp>(loc, f32, b.getStringAttr(intrinsic), v).getResult(0); };
    auto vector = dyn_cast<VectorType>(type);
    if (!vector)
      return one(x);
    Value out = b.create<LLVM::UndefOp>(loc, vector);
    for (int64_t i = 0; i < vector.getNumElements(); ++i)
      out = b.create<vector::InsertOp>(loc, one(b.create<vector::ExtractOp>(loc, x, i)), out, i);
    return out;
  }
  Value power(Value x) const { return each("llvm.nvvm.ex2.approx.f", x); } ///< of two
  Value quotient(Value x) const { return each("llvm.nvvm.rcp.approx.ftz.f", x); } ///< 1 / x
};

/// The exponential function between halves, as a power of two: what the product with log2(e) is rounded by makes an error of at most 89 * 2^-23
/// of the result, beside which half a unit of f16 is 2^-11. libdevice's takes nine instructions to have the last bits of an f32.
struct Exponential : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ExpOp op, PatternRewriter &rewriter) const override {
    if (!isBetweenHalves(op))
      return failure();
    Arithmetic a{rewriter, op.getLoc(), op.getType()};
    rewriter.replaceOp(op, a.power(a.times(op.getOperand(), a.number(1.44269502f))));
    return success();
  }
};

/// 1 + erf(x), the normal distribution of a GELU: the complementary function of |x|, or 2 less that. It is exp(-x^2) times a polynomial in
/// 1 / (1 + p |x|) (Abramowitz and Stegun, 7.1.26, with two more terms, fitted to the relative error): 2e-6 of the result, and what the square is rounded by. A sum of 1 and
/// libdevice's erf has no digits left there, and selects each of eight coefficients.
struct OnePlusErf : OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::AddFOp op, PatternRewriter &rewriter) const override {
    Value sides[] = {op.getLhs(), op.getRhs()};
    for (unsigned i = 0; i < 2 && isBetweenHalves(op); ++i)
      if (auto erf = sides[i].getDefiningOp<math::ErfOp>(); erf && matchPattern(sides[1 - i], m_OneFloat())) {
        rewriter.replaceOp(op, complement(Arithmetic{rewriter, op.getLoc(), op.getType()}, erf.getOperand()));
        return success();
      }
    return failure();
  }

  /// erfc(-x)
  static Value complement(const Arithmetic &a, Value x) {
    constexpr float p = 0.375f, coefficients[] = {-0.135094702f, 0.387933612f, -0.129591435f, 0.283057362f, 0.16666615f, 0.215688884f, 0.211339474f};
    Value size = a.b.create<math::AbsFOp>(a.loc, x), u = a.quotient(a.timesPlus(size, a.number(p), a.number(1)));
    Value sum = a.number(coefficients[0]);
    for (float c : ArrayRef(coefficients).drop_front())
      sum = a.timesPlus(sum, u, a.number(c));
    Value scaled = a.times(a.times(x, x), a.number(-1.44269502f));
    Value rest = a.times(a.times(sum, u), a.power(scaled));
    Value negative = a.b.create<arith::CmpFOp>(a.loc, arith::CmpFPredicate::OLT, x, a.number(0));
    Value other = a.b.create<arith::SubFOp>(a.loc, a.number(2), rest);
    return a.b.create<arith::SelectOp>(a.loc, negative, rest, other);
  }
};
} // namespace

void cuda::populateHalfFunctions(RewritePatternSet &patterns) { patterns.add<Exponential, OnePlusErf>(patterns.getContext()); }
