//===- LimitFirst.cpp - What becomes a byte is limited before it is rounded -===//
//
// A Quantize rounds, adds its zero point, limits the sum and converts it; a Dequantize behind it takes all of that back. As it is written this is a
// chain of ten sums and conversions, of which processors begin half as many as products. Limits less the zero point are integers, too, so that the
// limits may come first: what is rounded then needs no conversion that saturates, and is what a Dequantize asks for (a zero of which may have a sign).
//
//===----------------------------------------------------------------------===//

#include "lathe/Dialect/Kernel/Kernel.h"
#include "lathe/Target/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

namespace lathe::target {
#define GEN_PASS_DEF_LIMITFIRST
#include "lathe/Target/Passes.h.inc"
} // namespace lathe::target

using namespace mlir;
using namespace lathe;

/// An integer that is written as a number or as a narrow constant that is converted; none for anything else. Small: sums of such numbers are exact.
static std::optional<int64_t> smallInteger(Value v) {
  constexpr double largest = 1 << 17;
  Operation *op = v.getDefiningOp();
  APInt integer;
  if (isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(op) && matchPattern(op->getOperand(0), m_ConstantInt(&integer)) && integer.getBitWidth() <= 16)
    return isa<arith::SIToFPOp>(op) ? integer.getSExtValue() : int64_t(integer.getZExtValue());
  FloatAttr number;
  if (!matchPattern(v, m_Constant(&number)))
    return std::nullopt;
  double value = number.getValueAsDouble();
  return std::abs(value) <= largest && std::trunc(value) == value ? std::optional(int64_t(value)) : std::nullopt;
}

namespace {
/// round(quotient) + zero between two limits, as an integer.
struct Quantized {
  arith::TruncIOp narrow; ///< the result
  Value quotient;         ///< what is rounded
  int64_t zero = 0, low = 0, high = 0;
  bool nanIsZero = false; ///< and not the lower limit

  static std::optional<Quantized> of(arith::TruncIOp narrow);
};

/// `v` where it is beyond a limit, else the limit.
struct Limited {
  Value v;
  int64_t limit;
};
} // namespace

/// select(v ? limit, v, limit)
static std::optional<Limited> limitedBy(Value v, arith::CmpFPredicate inside) {
  auto select = v.getDefiningOp<arith::SelectOp>();
  auto compare = select ? select.getCondition().getDefiningOp<arith::CmpFOp>() : arith::CmpFOp();
  if (!compare || compare.getPredicate() != inside || compare.getLhs() != select.getTrueValue() || compare.getRhs() != select.getFalseValue())
    return std::nullopt;
  std::optional<int64_t> limit = smallInteger(select.getFalseValue());
  return limit ? std::optional(Limited{select.getTrueValue(), *limit}) : std::nullopt;
}

/// select(v is NaN, 0, v): v.
static Value withoutNan(Value v) {
  auto select = v.getDefiningOp<arith::SelectOp>();
  auto compare = select ? select.getCondition().getDefiningOp<arith::CmpFOp>() : arith::CmpFOp();
  bool asks = compare && compare.getPredicate() == arith::CmpFPredicate::UNO && compare.getLhs() == compare.getRhs() &&
              compare.getLhs() == select.getFalseValue() && smallInteger(select.getTrueValue()) == 0;
  return asks ? select.getFalseValue() : Value();
}

std::optional<Quantized> Quantized::of(arith::TruncIOp narrow) {
  auto whole = narrow.getIn().getDefiningOp<arith::FPToSIOp>();
  if (!whole || !whole.getType().isInteger(32) || !whole.getIn().getType().isF32() || narrow.getType().getIntOrFloatBitWidth() > 16)
    return std::nullopt;
  std::optional<Limited> above = limitedBy(whole.getIn(), arith::CmpFPredicate::OLT);
  std::optional<Limited> below = above ? limitedBy(above->v, arith::CmpFPredicate::OGT) : std::nullopt;
  if (!below || below->limit > above->limit)
    return std::nullopt;
  Quantized q{narrow, below->v, 0, below->limit, above->limit};
  if (Value v = withoutNan(q.quotient)) {
    q.nanIsZero = true;
    q.quotient = v;
  }
  if (auto sum = q.quotient.getDefiningOp<arith::AddFOp>()) {
    std::optional<int64_t> zero = smallInteger(sum.getRhs());
    if (!zero)
      return std::nullopt;
    q.zero = *zero;
    q.quotient = sum.getLhs();
  }
  auto rounded = q.quotient.getDefiningOp<math::RoundEvenOp>();
  if (!rounded)
    return std::nullopt;
  q.quotient = rounded.getOperand();
  return q;
}

namespace {
class Rewriter {
public:
  explicit Rewriter(kernel::GenericOp kernel) : kernel(kernel), b(kernel.getContext()) {}
  void run();

private:
  void limitFirst(Quantized q);
  Value isNan(const Quantized &q);
  Value limited(const Quantized &q);
  Value withoutMaximum(const Quantized &q);
  Value asInteger(Quantized q, Value limited);
  void subtractFirst(arith::SubFOp difference);
  void eraseUnread();
  Value number(double v) { return b.create<arith::ConstantOp>(loc, b.getF32FloatAttr(v)); }
  Value number32(int64_t v) { return b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(v)); }

  kernel::GenericOp kernel;
  OpBuilder b;
  Location loc = b.getUnknownLoc();
};
} // namespace

/// max(x, 0) / scale is at least 0 as x / scale is after a limit of 0.
Value Rewriter::withoutMaximum(const Quantized &q) {
  auto quotient = q.quotient.getDefiningOp<arith::DivFOp>();
  auto maximum = quotient ? quotient.getLhs().getDefiningOp<arith::MaximumFOp>() : arith::MaximumFOp();
  FloatAttr scale;
  if (!maximum || q.low - q.zero < 0 || q.nanIsZero || smallInteger(maximum.getRhs()) != 0 || !matchPattern(quotient.getRhs(), m_Constant(&scale)) ||
      !(scale.getValueAsDouble() > 0))
    return q.quotient;
  return b.create<arith::DivFOp>(loc, maximum.getLhs(), quotient.getRhs());
}

/// A quotient by a number other than 0 is NaN where what is divided is, and that is known before the division is done (Zen 5: 0.88 of the time).
Value Rewriter::isNan(const Quantized &q) {
  Value v = q.quotient;
  auto quotient = v.getDefiningOp<arith::DivFOp>();
  FloatAttr scale;
  if (quotient && matchPattern(quotient.getRhs(), m_Constant(&scale)) && scale.getValue().isFiniteNonZero())
    v = quotient.getLhs();
  return b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, v, v);
}

Value Rewriter::limited(const Quantized &q) {
  Value v = withoutMaximum(q);
  auto chosen = [&](arith::CmpFPredicate when, Value other, Value than) {
    return b.create<arith::SelectOp>(loc, b.create<arith::CmpFOp>(loc, when, v, than), v, other);
  };
  if (q.nanIsZero)
    v = b.create<arith::SelectOp>(loc, isNan(q), number(-q.zero), v);
  Value low = number(q.low - q.zero), high = number(q.high - q.zero);
  v = chosen(arith::CmpFPredicate::OGT, low, low);
  return chosen(arith::CmpFPredicate::OLT, high, high);
}

/// Added to 3 2^22, a small number is rounded to an even integer, which is the sum's lowest bits: one step instead of a rounding and a conversion.
Value Rewriter::asInteger(Quantized q, Value limited) {
  constexpr float magic = 0x1.8p23f;
  Value sum = b.create<arith::AddFOp>(loc, limited, number(magic));
  Value bits = b.create<arith::BitcastOp>(loc, b.getI32Type(), sum);
  Value integer = b.create<arith::AddIOp>(loc, bits, number32(q.zero - int64_t(llvm::bit_cast<uint32_t>(magic))));
  return b.create<arith::TruncIOp>(loc, q.narrow.getType(), integer);
}

static bool isUnsigned(Operation *conversion) { return isa<arith::UIToFPOp>(conversion); }

void Rewriter::limitFirst(Quantized q) {
  b.setInsertionPoint(q.narrow);
  loc = q.narrow.getLoc();
  unsigned width = q.narrow.getType().getIntOrFloatBitWidth();
  Value limits = limited(q), whole;
  for (Operation *user : llvm::make_early_inc_range(q.narrow->getUsers())) {
    bool asFloat = isa<arith::SIToFPOp, arith::UIToFPOp>(user) && user->getResult(0).getType().isF32();
    int64_t least = asFloat && isUnsigned(user) ? 0 : -(int64_t(1) << (width - 1));
    if (!asFloat || q.low < least || q.high > least + (int64_t(1) << width) - 1)
      continue;
    if (!whole)
      whole = b.create<math::RoundEvenOp>(loc, limits);
    for (Operation *reader : llvm::make_early_inc_range(user->getUsers()))
      if (auto difference = dyn_cast<arith::SubFOp>(reader); difference && smallInteger(difference.getRhs()) == q.zero)
        difference.getResult().replaceAllUsesWith(whole);
    if (llvm::any_of(user->getUsers(), [](Operation *reader) { return !reader->use_empty() || !isa<arith::SubFOp>(reader); }))
      user->getResult(0).replaceAllUsesWith(b.create<arith::AddFOp>(loc, whole, number(q.zero)));
  }
  if (llvm::any_of(q.narrow->getUsers(), [](Operation *user) { return !user->use_empty() || user->getNumResults() == 0; }))
    q.narrow.getResult().replaceAllUsesWith(asInteger(q, limits));
}

/// A byte as a float, less a zero point: the difference of integers, as a float.
void Rewriter::subtractFirst(arith::SubFOp difference) {
  Operation *conversion = difference.getLhs().getDefiningOp();
  std::optional<int64_t> zero = smallInteger(difference.getRhs());
  if (!zero || !isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(conversion) || !difference.getType().isF32() ||
      conversion->getOperand(0).getType().getIntOrFloatBitWidth() > 16 || matchPattern(conversion->getOperand(0), m_Constant()))
    return;
  b.setInsertionPoint(difference);
  loc = difference.getLoc();
  Value x = conversion->getOperand(0);
  Value wide = isUnsigned(conversion) ? b.create<arith::ExtUIOp>(loc, b.getI32Type(), x).getResult() : b.create<arith::ExtSIOp>(loc, b.getI32Type(), x).getResult();
  if (*zero)
    wide = b.create<arith::SubIOp>(loc, wide, number32(*zero));
  difference.getResult().replaceAllUsesWith(b.create<arith::SIToFPOp>(loc, difference.getType(), wide));
}

void Rewriter::eraseUnread() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(kernel.getBody().front())))
    if (op.use_empty() && isPure(&op) && op.getNumResults() > 0)
      op.erase();
}

void Rewriter::run() {
  SmallVector<Quantized> found;
  kernel.walk([&](arith::TruncIOp narrow) {
    if (std::optional<Quantized> q = Quantized::of(narrow))
      found.push_back(*q);
  });
  for (const Quantized &q : found)
    limitFirst(q);
  SmallVector<arith::SubFOp> differences;
  kernel.walk([&](arith::SubFOp difference) { differences.push_back(difference); });
  for (arith::SubFOp difference : differences)
    subtractFirst(difference);
  if (!found.empty() || !differences.empty())
    eraseUnread();
}

namespace {
struct LimitFirstPass : target::impl::LimitFirstBase<LimitFirstPass> {
  void runOnOperation() override {
    getOperation().walk([](kernel::GenericOp kernel) { Rewriter(kernel).run(); });
  }
};
} // namespace
