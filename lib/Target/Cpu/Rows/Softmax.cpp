//===- Softmax.cpp - What a softmax needs less than its parts do ------------===//
//
//     m = max x,  d = x - m,  e = exp d,  s = sum e,  y = e / s  or  y = d - log s
//
// Where an x is NaN or they are all infinite, some d is NaN whatever m is, and with it s and each y. So m may pass over NaNs, which saves
// two of its three instructions. Else 0 <= e <= 1 <= s: with r = 1 / s, which is the same all along the row, and q = e r the quotient is
// q + r (e - q s), rounded right but in rare cases (Markstein). A division of a vector takes as long as 16 of these steps.
// An e that would be subnormal is none beside the s: it may be 0, and 2^n is one factor then.
//
//===----------------------------------------------------------------------===//

#include "Softmax.h"
#include "lathe/Lower/ExpandMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace lathe;
using kernel::Combiner;
using kernel::ReduceOp;

static constexpr llvm::StringLiteral overNan = "lathe.over_nan";

bool cpu::passesOverNan(ReduceOp op) { return op->hasAttr(overNan); }

namespace {
struct Softmax {
  ReduceOp maximum, sum;
  math::ExpOp exponential;
  SmallVector<arith::DivFOp> quotients;
};
} // namespace

template <typename Op> static Op onlyUserOf(Value v) {
  return llvm::hasSingleElement(v.getUsers()) ? dyn_cast<Op>(*v.user_begin()) : Op();
}

/// Reads the exponentials: their sum, and quotients of them and it.
static bool readExponentials(Value e, Softmax &s) {
  for (Operation *user : e.getUsers()) {
    if (auto sum = dyn_cast<ReduceOp>(user); sum && sum.getKind() == Combiner::Add && sum.getAxes() == s.maximum.getAxes() && !s.sum)
      s.sum = sum;
    else if (auto quotient = dyn_cast<arith::DivFOp>(user); quotient && quotient.getLhs() == e)
      s.quotients.push_back(quotient);
    else
      return false;
  }
  return s.sum && llvm::all_of(s.quotients, [&](arith::DivFOp q) { return q.getRhs() == s.sum.getResult(); });
}

/// A softmax with this maximum, of which nothing else is used.
static std::optional<Softmax> softmaxOf(ReduceOp maximum) {
  Softmax s{maximum, {}, {}, {}};
  auto d = onlyUserOf<arith::SubFOp>(maximum.getResult());
  if (maximum.getKind() != Combiner::Max || !d || d.getLhs() != maximum.getValue() || d.getRhs() != maximum.getResult())
    return std::nullopt;
  math::ExpOp e;
  SmallVector<arith::SubFOp> differences;
  for (Operation *user : d->getUsers()) {
    if (auto difference = dyn_cast<arith::SubFOp>(user); difference && difference.getLhs() == d.getResult())
      differences.push_back(difference);
    else if (isa<math::ExpOp>(user) && !e)
      e = cast<math::ExpOp>(user);
    else
      return std::nullopt;
  }
  if (!e || !readExponentials(e.getResult(), s))
    return std::nullopt;
  for (arith::SubFOp difference : differences)
    if (auto log = difference.getRhs().getDefiningOp<math::LogOp>(); !log || log.getOperand() != s.sum.getResult())
      return std::nullopt;
  s.exponential = e;
  return s;
}

void cpu::simplifySoftmax(kernel::GenericOp kernel) {
  for (ReduceOp maximum : llvm::to_vector(kernel.getBody().front().getOps<ReduceOp>())) {
    std::optional<Softmax> s = softmaxOf(maximum);
    if (!s)
      continue;
    maximum->setAttr(overNan, UnitAttr::get(kernel.getContext()));
    s->exponential->setAttr(lower::expUpToOneName, UnitAttr::get(kernel.getContext()));
    if (s->quotients.empty())
      continue;
    OpBuilder b(kernel.getContext());
    b.setInsertionPointAfter(s->sum);
    Location loc = s->sum.getLoc();
    Type type = s->sum.getType();
    Value one = b.create<arith::ConstantOp>(loc, b.getFloatAttr(type, 1.0));
    Value reciprocal = b.create<arith::DivFOp>(loc, one, s->sum.getResult());
    Value negative = b.create<arith::NegFOp>(loc, s->sum.getResult());
    for (arith::DivFOp quotient : s->quotients) {
      b.setInsertionPoint(quotient);
      Value near = b.create<arith::MulFOp>(loc, quotient.getLhs(), reciprocal);
      Value rest = b.create<math::FmaOp>(loc, near, negative, quotient.getLhs());
      quotient.replaceAllUsesWith(b.create<math::FmaOp>(loc, rest, reciprocal, near).getResult());
      quotient.erase();
    }
  }
}
