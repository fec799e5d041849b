//===- SplitAxes.cpp - Axes as the quotients and remainders that are taken of them ===//
//
// A tiled tensor is read at mod(i, n): along i a gather with a division for each element. Where n divides the axis's
// extent, the axis is two, and along the inner one the elements lie side by side.
//
//===----------------------------------------------------------------------===//

#include "lathe/Lower/SplitAxes.h"
#include "KernelAxes.h"
#include "lathe/Lower/CollapseAxes.h"
#include "lathe/Lower/JoinPieces.h"
#include "lathe/Lower/LaneRuns.h"
#include "lathe/Lower/Passes.h"
#include "lathe/Shape/Facts.h"
#include "llvm/Support/MathExtras.h"
#include <set>

using namespace mlir;
using namespace lathe;
using shape::Atom;
using shape::Expr;

namespace lathe::lower {
#define GEN_PASS_DEF_SPLITAXES
#include "lathe/Lower/Passes.h.inc"
} // namespace lathe::lower

namespace {
/// Each axis is a loop, or a counter of the loop over items.
constexpr size_t mostAxes = 12;

class Splitter : public lower::KernelAxes {
public:
  using KernelAxes::KernelAxes;
  bool splitOne();

private:
  std::optional<Expr> divisorIn(const Expr &e, unsigned axis) const;
  bool isDivisor(const Expr &n, unsigned axis) const;
  void split(unsigned axis, const Expr &inner);
  bool isShortRest(unsigned axis) const;
  bool repeatsDifferently(unsigned axis) const;

  std::set<std::string> rests; ///< inner axes of splits
};
} // namespace

bool Splitter::isDivisor(const Expr &n, unsigned axis) const {
  std::optional<int64_t> constant = n.constant();
  if (constant && *constant < 2)
    return false;
  if (llvm::any_of(n.symbols(), [](const std::string &s) { return shape::kindOf(s) != shape::SymbolKind::Size; }))
    return false;
  std::optional<Expr> outer = Expr::divideExactly(axes[axis].extent, n);
  return outer && !outer->isOne() && !outer->isZero();
}

/// What an expression divides the axis's index by, and the extent divides by, too.
std::optional<Expr> Splitter::divisorIn(const Expr &e, unsigned axis) const {
  if (!e.hasOpaque())
    return std::nullopt;
  for (const Expr::Term &t : e.terms())
    for (const Atom &a : t.atoms) {
      if (a.kind == Atom::Kind::Symbol)
        continue;
      bool divides = a.kind == Atom::Kind::FloorDiv || a.kind == Atom::Kind::Mod;
      if (divides && a.operands[0] == Expr::symbol(axes[axis].name) && isDivisor(a.operands[1], axis))
        return a.operands[1];
      for (const Expr &operand : a.operands)
        if (std::optional<Expr> n = divisorIn(operand, axis))
          return n;
    }
  return std::nullopt;
}

/// The next name from `number` on that no axis has.
static Expr freshName(ArrayRef<lower::Axis> axes, unsigned &number) {
  for (;; ++number) {
    Expr name = Expr::axis(number);
    if (llvm::none_of(axes, [&](const lower::Axis &a) { return a.name == name.str(); })) {
      ++number;
      return name;
    }
  }
}

/// axis = inner * hi + lo.
void Splitter::split(unsigned axis, const Expr &inner) {
  unsigned number = axes.size();
  std::string before = axes[axis].name;
  rests.erase(before);
  Expr hi = freshName(axes, number), lo = freshName(axes, number), outer = *Expr::divideExactly(axes[axis].extent, inner);
  axes[axis] = {hi.str(), outer};
  axes.insert(axes.begin() + axis + 1, {lo.str(), inner});
  rests.insert(lo.str());
  shape::Facts facts;
  for (const lower::Axis &a : axes)
    facts.setAxis(a.name, a.extent);
  for (auto &[op, key, e] : exprs)
    if (e.mentions(before))
      e = facts.simplify(e.substitute({{before, inner * hi + lo}}));
  for (auto &[op, names] : reductions)
    if (names.erase(before))
      names.insert({hi.str(), lo.str()});
}

/// What is left of a division by few, divided again: images that are enlarged by 2, 4 and 8 side by side. Rows of two are no rows for lanes,
/// which read the same few elements as well.
bool Splitter::isShortRest(unsigned axis) const {
  constexpr int64_t fewest = 16;
  return rests.count(axes[axis].name) && axes[axis].extent.constant().value_or(fewest + 1) <= fewest;
}

/// Images that are enlarged by different powers of two, or beside one that is not, along the same axis: no split serves all of them, and of what is
/// repeated so, a vector is a shuffle of a shorter one.
bool Splitter::repeatsDifferently(unsigned axis) const {
  constexpr int64_t fewest = 8;
  std::set<int64_t> repeats;
  if (axes[axis].extent.constant().value_or(fewest) < fewest)
    return false;
  for (const lower::Indexing &i : exprs) {
    if (!i.expr.mentions(axes[axis].name))
      continue;
    std::optional<int64_t> n = lower::repeatsAlong(i.expr, axes[axis].name);
    if (!n || !llvm::isPowerOf2_64(*n))
      return false;
    if (isa<kernel::LoadOp>(i.op))
      repeats.insert(*n);
  }
  return repeats.size() > 1;
}

bool Splitter::splitOne() {
  for (unsigned axis = 0; axis < axes.size() && axes.size() < mostAxes; ++axis) {
    if (ordered.count(axes[axis].name) || isShortRest(axis) || repeatsDifferently(axis))
      continue;
    for (const lower::Indexing &i : exprs)
      if (std::optional<Expr> inner = divisorIn(i.expr, axis)) {
        split(axis, *inner);
        return true;
      }
  }
  return false;
}

void lower::splitAxes(kernel::GenericOp kernel) {
  using lathe::kernel::KernelClass;
  if (kernel.getKernelClass() != KernelClass::Loop && kernel.getKernelClass() != KernelClass::Reduction)
    return;
  Splitter splitter(kernel);
  if (!splitter.splitOne())
    return;
  while (splitter.splitOne())
    ;
  splitter.writeBack();
  collapseAxes(kernel);
}

void lower::arrangeAxes(kernel::GenericOp kernel) {
  collapseAxes(kernel);
  joinPieces(kernel);
  collapseAxes(kernel);
  splitAxes(kernel);
}

void lower::splitResidues(kernel::GenericOp kernel, const std::string &axis, int64_t parts, const std::string &before) {
  KernelAxes k(kernel);
  auto place = [&](const std::string &name) { return llvm::find_if(k.axes, [&](const Axis &a) { return a.name == name; }); };
  unsigned number = k.axes.size();
  Expr quotient = Expr::symbol(axis), residue = freshName(k.axes, number);
  place(axis)->extent = *Expr::divideExactly(place(axis)->extent, Expr(parts));
  k.axes.insert(place(before), {residue.str(), Expr(parts)});
  for (Indexing &i : k.exprs)
    i.expr = i.expr.substitute({{axis, Expr(parts) * quotient + residue}});
  k.writeBack();
}

namespace {
struct SplitAxesPass : lower::impl::SplitAxesBase<SplitAxesPass> {
  using SplitAxesBase::SplitAxesBase;
  void runOnOperation() override {
    getOperation()->walk([](kernel::GenericOp kernel) { lower::splitAxes(kernel); });
  }
};
} // namespace
