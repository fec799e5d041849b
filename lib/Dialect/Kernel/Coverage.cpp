//===- Coverage.cpp - K6: every element of a result is written once --------===//
//
// A store writes at each point of the axes that its offset mentions. That is a block of the buffer, each element once, where the
// offset is a number in a mixed radix: sorted by stride, every coefficient is the product of the extents behind it.
//
//===----------------------------------------------------------------------===//

#include "lathe/Dialect/Kernel/Legality.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::kernel;
using shape::Expr;

namespace {
struct Digit {
  Expr stride, extent;
};
} // namespace

/// Takes digits from the last to the first; `inner` is what those that are taken span. Where several have the same stride, all
/// but one have a single place, and it is not known which. One that is known to have no more than a single place is always zero:
/// its stride says nothing (what an index modulo an extent is, was simplified as if it could be more).
static std::optional<Expr> spanOf(std::vector<Digit> &digits, const Expr &inner, const shape::Facts &facts, unsigned &fuel) {
  if (digits.empty())
    return inner;
  for (size_t i = 0; i < digits.size() && fuel; ++i) {
    if (!facts.provablyEqual(digits[i].stride, inner) && !facts.provablyLessEqual(digits[i].extent, 1))
      continue;
    --fuel;
    Digit taken = digits[i];
    digits.erase(digits.begin() + i);
    if (std::optional<Expr> all = spanOf(digits, facts.simplify(inner * taken.extent), facts, fuel))
      return all;
    digits.insert(digits.begin() + i, taken);
  }
  return std::nullopt;
}

std::optional<kernel::ElementRange> kernel::blockOf(const Expr &offset, ArrayRef<Extent> axes, const shape::Facts &facts) {
  std::vector<Digit> digits;
  Expr rest = offset;
  for (const Extent &a : axes) {
    if (!rest.mentions(a.axis))
      continue;
    std::optional<Expr::Linear> linear = rest.linearIn(a.axis);
    if (!linear || llvm::any_of(axes, [&](const Extent &o) { return linear->coefficient.mentions(o.axis); }))
      return std::nullopt;
    digits.push_back({linear->coefficient, a.size});
    rest = linear->rest;
  }
  unsigned fuel = 256;
  std::optional<Expr> size = spanOf(digits, Expr(1), facts, fuel);
  if (!size)
    return std::nullopt;
  return ElementRange{rest, *size};
}

/// Of c, which says that parts * quotient + residue < extent, and an offset that steps along these two axes as along one: the offset and the axes with that
/// one, under the residue's name, in their place. False where that is not proven.
static bool joinResidues(Expr &offset, std::vector<kernel::Extent> &axes, const Conjunct &c, const shape::Facts &facts) {
  for (Extent &residue : axes) {
    std::optional<Expr::Linear> one = c.notNegative.linearIn(residue.axis), step = offset.linearIn(residue.axis);
    if (!one || !step || one->coefficient != Expr(-1))
      continue;
    auto quotient = llvm::find_if(axes, [&](const Extent &q) {
      std::optional<Expr::Linear> parts = one->rest.linearIn(q.axis), strides = offset.linearIn(q.axis);
      if (&q == &residue || !parts || !strides || parts->coefficient != Expr(-1) * residue.size || strides->coefficient != residue.size * step->coefficient)
        return false;
      Expr extent = parts->rest + Expr(1);
      bool free = llvm::none_of(axes, [&](const Extent &a) { return extent.mentions(a.axis); });
      return free && facts.provablyEqual(q.size, Expr::ceildiv(extent, residue.size));
    });
    if (quotient == axes.end())
      continue;
    offset = offset.substitute({{quotient->axis, Expr(0)}});
    residue.size = one->rest.substitute({{quotient->axis, Expr(0)}}) + Expr(1);
    axes.erase(quotient);
    return true;
  }
  return false;
}

std::optional<kernel::ElementRange> kernel::blockOf(Expr offset, std::vector<Extent> axes, ArrayRef<Conjunct> given, const shape::Facts &facts) {
  for (const Conjunct &c : given)
    if (c.value || !joinResidues(offset, axes, c, facts))
      return std::nullopt;
  return blockOf(offset, axes, facts);
}
