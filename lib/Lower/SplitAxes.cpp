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
#include "mlir/Dialect/Arith/IR/Arith.h"
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
  void findDivisors(const Expr &e, unsigned axis, SmallVectorImpl<Expr> &divisors) const;
  std::optional<Expr> divisorOf(unsigned axis) const;
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
void Splitter::findDivisors(const Expr &e, unsigned axis, SmallVectorImpl<Expr> &divisors) const {
  if (!e.hasOpaque())
    return;
  for (const Expr::Term &t : e.terms())
    for (const Atom &a : t.atoms) {
      if (a.kind == Atom::Kind::Symbol)
        continue;
      bool divides = a.kind == Atom::Kind::FloorDiv || a.kind == Atom::Kind::Mod;
      if (divides && a.operands[0] == Expr::symbol(axes[axis].name) && isDivisor(a.operands[1], axis))
        divisors.push_back(a.operands[1]);
      for (const Expr &operand : a.operands)
        findDivisors(operand, axis, divisors);
    }
}

/// The first, or the largest multiple of it: what is left may be short enough to stay whole (`isShortRest`), in whatever order the terms are.
std::optional<Expr> Splitter::divisorOf(unsigned axis) const {
  SmallVector<Expr> divisors;
  for (const lower::Indexing &i : exprs)
    findDivisors(i.expr, axis, divisors);
  if (divisors.empty())
    return std::nullopt;
  Expr largest = divisors.front();
  for (const Expr &n : divisors)
    if (largest.constant() && n.constant() && *n.constant() % *largest.constant() == 0)
      largest = n;
  return largest;
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
static std::pair<std::string, std::string> splitOf(lower::KernelAxes &k, unsigned axis, const Expr &inner) {
  unsigned number = k.axes.size();
  std::string before = k.axes[axis].name;
  Expr hi = freshName(k.axes, number), lo = freshName(k.axes, number), outer = *Expr::divideExactly(k.axes[axis].extent, inner);
  k.axes[axis] = {hi.str(), outer};
  k.axes.insert(k.axes.begin() + axis + 1, {lo.str(), inner});
  shape::Facts facts;
  for (const lower::Axis &a : k.axes)
    facts.setAxis(a.name, a.extent);
  for (auto &[op, key, e] : k.exprs)
    if (e.mentions(before))
      e = facts.simplify(e.substitute({{before, inner * hi + lo}}));
  for (auto &[op, names] : k.reductions)
    if (names.erase(before))
      names.insert({hi.str(), lo.str()});
  return {hi.str(), lo.str()};
}

void Splitter::split(unsigned axis, const Expr &inner) {
  rests.erase(axes[axis].name);
  rests.insert(splitOf(*this, axis, inner).second);
}

std::pair<std::string, std::string> lower::splitAxis(kernel::GenericOp kernel, const std::string &axis, const Expr &inner) {
  KernelAxes k(kernel);
  auto names = splitOf(k, &k.axis(axis) - k.axes.data(), inner);
  k.writeBack();
  return names;
}

void lower::cutAxis(kernel::GenericOp kernel, const std::string &axis, const Expr &first, const Expr &extent) {
  KernelAxes k(kernel);
  k.axis(axis).extent = extent;
  for (Indexing &i : k.exprs)
    i.expr = i.expr.substitute({{axis, first + Expr::symbol(axis)}});
  k.writeBack();
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
    if (std::optional<Expr> inner = divisorOf(axis)) {
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

/// Accesses only where this holds as well; a load that was everywhere is zero elsewhere.
static void accessWhere(kernel::LoadOp load, kernel::StoreOp store, Value holds) {
  OpBuilder b(load ? load.getOperation() : store.getOperation());
  Value before = load ? load.getPredicate() : store.getPredicate();
  if (before)
    holds = b.create<arith::AndIOp>(holds.getLoc(), before, holds);
  else if (load)
    load.getFillMutable().assign(b.create<arith::ConstantOp>(holds.getLoc(), b.getZeroAttr(load.getType())));
  (load ? load.getPredicateMutable() : store.getPredicateMutable()).assign(holds);
}

/// What mentions the axis is read and written only where it is below its extent, and what a window's taps reach from there only as far as they do from
/// the last place.
static void keepInside(lower::KernelAxes k, const lower::Residues &r, const Expr &extent) {
  kernel::GenericOp kernel = k.kernel;
  OpBuilder b = OpBuilder::atBlockBegin(&kernel.getBody().front());
  auto below = [&](const Expr &at, const Expr &end) {
    auto index = [&](const Expr &e) { return b.create<kernel::IndexOp>(kernel.getLoc(), b.getI64Type(), e.str(), ValueRange()); };
    return b.create<arith::CmpIOp>(kernel.getLoc(), arith::CmpIPredicate::slt, index(at), index(end)).getResult();
  };
  Expr at = Expr::symbol(r.axis), apart(r.parts), reach = apart * (k.axis(r.taps).extent - Expr(1));
  Value ofPlace = below(at, extent), ofWindow = below(at + apart * Expr::symbol(r.taps), extent + reach);
  for (const lower::Indexing &i : k.exprs) {
    auto load = dyn_cast<kernel::LoadOp>(i.op);
    auto store = dyn_cast<kernel::StoreOp>(i.op);
    if ((load || store) && i.expr.mentions(r.axis))
      accessWhere(load, store, i.expr.mentions(r.taps) ? ofWindow : ofPlace);
  }
}

void lower::splitResidues(kernel::GenericOp kernel, const Residues &r, const std::string &before) {
  Expr extent = KernelAxes(kernel).axis(r.axis).extent, parts(r.parts);
  std::optional<Expr> even = Expr::divideExactly(extent, parts);
  if (!even)
    keepInside(KernelAxes(kernel), r, extent);
  KernelAxes k(kernel); // with the accesses' new conditions
  unsigned number = k.axes.size();
  Expr quotient = Expr::symbol(r.axis), residue = freshName(k.axes, number);
  k.axis(r.axis).extent = even ? *even : Expr::ceildiv(extent, parts);
  k.axes.insert(k.axes.begin() + (&k.axis(before) - k.axes.data()), {residue.str(), parts});
  for (Indexing &i : k.exprs)
    i.expr = i.expr.substitute({{r.axis, parts * quotient + residue}});
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
