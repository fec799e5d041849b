//===- Prover.cpp - Inequalities over symbols ------------------------------===//

#include "FactsImpl.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace lathe::shape {

using Bound = std::optional<int64_t>;
using Kind = Atom::Kind;

//===-- Interval arithmetic ------------------------------------------------===//

namespace {
/// An end of an interval; infinite = -1 or +1.
struct End {
  int infinite = 0;
  int64_t value = 0;
};
} // namespace

static End lowEnd(const Range &r) { return r.min ? End{0, *r.min} : End{-1, 0}; }
static End highEnd(const Range &r) { return r.max ? End{0, *r.max} : End{1, 0}; }
static int signOf(const End &e) { return e.infinite ? e.infinite : (e.value > 0) - (e.value < 0); }
static bool endLess(const End &a, const End &b) {
  return a.infinite != b.infinite ? a.infinite < b.infinite : !a.infinite && a.value < b.value;
}

static End times(const End &a, const End &b) {
  int sign = signOf(a) * signOf(b);
  End out;
  if (sign && (a.infinite || b.infinite || llvm::MulOverflow(a.value, b.value, out.value)))
    return {sign, 0};
  return out;
}

static Range makeRange(End low, End high) {
  return {low.infinite ? Bound() : Bound(low.value), high.infinite ? Bound() : Bound(high.value)};
}

static Range multiply(const Range &a, const Range &b) {
  End ends[] = {times(lowEnd(a), lowEnd(b)), times(lowEnd(a), highEnd(b)), times(highEnd(a), lowEnd(b)),
                times(highEnd(a), highEnd(b))};
  // An end that overflowed upwards is no lower bound and the other way round; the extreme of the four still is right,
  // because an infinite end stands on its own side.
  End low = *std::min_element(std::begin(ends), std::end(ends), endLess);
  End high = *std::max_element(std::begin(ends), std::end(ends), endLess);
  if (low.infinite > 0)
    low = {0, INT64_MAX};
  if (high.infinite < 0)
    high = {0, INT64_MIN};
  return makeRange(low, high);
}

static Bound addBounds(Bound a, Bound b) {
  int64_t sum;
  if (!a || !b || llvm::AddOverflow(*a, *b, sum))
    return std::nullopt;
  return sum;
}
static Range add(const Range &a, const Range &b) { return {addBounds(a.min, b.min), addBounds(a.max, b.max)}; }

static Range floordivInterval(const Range &a, const Range &b) {
  // Divisors are sizes: a range that starts at 0 holds only positive divisors where the term is defined.
  if (!b.min || *b.min < 0)
    return {};
  int64_t smallest = std::max<int64_t>(*b.min, 1);
  Range q;
  if (a.min && *a.min >= 0)
    q.min = b.max && *b.max > 0 ? floorQuotient(*a.min, *b.max) : 0;
  else if (a.min)
    q.min = floorQuotient(*a.min, smallest);
  if (a.max && *a.max >= 0)
    q.max = floorQuotient(*a.max, smallest);
  else if (a.max)
    q.max = b.max && *b.max > 0 ? floorQuotient(*a.max, *b.max) : -1;
  return q;
}

Range Prover::symbolRange(const std::string &name) {
  Range r = defaultRange(name);
  if (auto it = state.ranges.find(name); it != state.ranges.end())
    r = it->second;
  if (auto it = state.axes.find(name); it != state.axes.end()) {
    r.min = std::max<int64_t>(r.min.value_or(0), 0);
    Range extent = interval(it->second);
    if (extent.max && *extent.max > 0)
      r.max = std::min(r.max.value_or(INT64_MAX), *extent.max - 1);
  }
  if (auto it = raisedMinimum.find(name); it != raisedMinimum.end())
    r.min = std::max(r.min.value_or(it->second), it->second);
  return r;
}

Range Prover::atomInterval(const Atom &a) {
  if (a.kind == Kind::Symbol)
    return symbolRange(a.name);
  Range x = interval(a.operands[0]), y = interval(a.operands[1]);
  switch (a.kind) {
  case Kind::FloorDiv:
    return floordivInterval(x, y);
  case Kind::Mod: {
    if (!y.min || *y.min < 0)
      return {};
    Range r{0, y.max && *y.max > 0 ? Bound(*y.max - 1) : Bound()};
    if (x.min && *x.min >= 0 && x.max) // The modulus of a small number is no greater than the number.
      r.max = std::min(r.max.value_or(INT64_MAX), *x.max);
    return r;
  }
  case Kind::Min:
    return {x.min && y.min ? Bound(std::min(*x.min, *y.min)) : Bound(),
            x.max && y.max ? Bound(std::min(*x.max, *y.max)) : (x.max ? x.max : y.max)};
  case Kind::Max:
    return {x.min && y.min ? Bound(std::max(*x.min, *y.min)) : (x.min ? x.min : y.min),
            x.max && y.max ? Bound(std::max(*x.max, *y.max)) : Bound()};
  case Kind::Symbol:
    break;
  }
  return {};
}

/// The same symbols and terms stand in many expressions of one question.
Range Prover::intervalOf(const AtomRef &node) {
  if (auto it = intervals.find(node.get()); it != intervals.end())
    return it->second.second;
  Range range = atomInterval(node->atom);
  return intervals.emplace(node.get(), std::pair(node, range)).first->second.second;
}

void Prover::raiseMinimum(const std::string &name) {
  int64_t &minimum = raisedMinimum[name];
  if (minimum < 1) {
    minimum = 1;
    intervals.clear();
  }
}

Range Prover::interval(const Expr &e) {
  if (e.isUnknown() || intervalDepth > 2 * maxDepth)
    return {};
  ++intervalDepth;
  Range sum{0, 0};
  for (const Monomial &t : ExprBuilder::terms(e)) {
    Range value{t.coefficient, t.coefficient};
    for (const AtomRef &a : t.atoms)
      value = multiply(value, intervalOf(a));
    sum = add(sum, value);
  }
  --intervalDepth;
  return sum;
}

//===-- Elimination --------------------------------------------------------===//

/// e = coefficient * atom + rest, where no term has the atom twice.
static std::optional<Expr::Linear> linearInAtom(const Expr &e, const AtomRef &atom) {
  Monomials with, without;
  for (const Monomial &t : ExprBuilder::terms(e)) {
    Monomial factor{t.coefficient, {}};
    unsigned hits = 0;
    for (const AtomRef &a : t.atoms)
      if (a == atom)
        ++hits;
      else
        factor.atoms.push_back(a);
    if (hits > 1)
      return std::nullopt;
    (hits ? with : without).push_back(std::move(factor));
  }
  return Expr::Linear{ExprBuilder::fromTerms(std::move(with)), ExprBuilder::fromTerms(std::move(without))};
}

static AtomRef firstOpaque(const Expr &e) {
  AtomRef deepest;
  for (const Monomial &t : ExprBuilder::terms(e))
    for (const AtomRef &a : t.atoms)
      if (a->depth && (!deepest || a->depth > deepest->depth))
        deepest = a;
  return deepest;
}

/// Replaces the deepest opaque term by what bounds it. Nothing when there is none of which that is possible.
std::optional<bool> Prover::eliminateOpaque(const Expr &e, bool useRelations) {
  AtomRef node = firstOpaque(e);
  if (!node)
    return std::nullopt;
  std::optional<Expr::Linear> l = linearInAtom(e, node);
  if (!l)
    return std::nullopt;
  const Expr &a = node->atom.operands[0], &b = node->atom.operands[1], &c = l->coefficient, &r = l->rest;
  Range sign = interval(c);
  bool up = sign.min && *sign.min >= 0, down = sign.max && *sign.max <= 0;
  auto holds = [&](const Expr &x) { return prove(x, useRelations); };
  if (node->atom.kind == Kind::Min || node->atom.kind == Kind::Max) {
    // c*min(a, b) is one of c*a and c*b, and with c <= 0 the greater of them.
    bool either = node->atom.kind == Kind::Min ? down : up;
    bool first = holds(c * a + r);
    return either ? first || holds(c * b + r) : first && holds(c * b + r);
  }
  Range divisor = interval(b);
  if (!divisor.min || *divisor.min < 0 || !(up || down))
    return std::nullopt;
  if (node->atom.kind == Kind::Mod) // 0 <= mod <= b - 1
    return up ? holds(r) : holds(c * (b - Expr(1)) + r);
  // a - b + 1 <= b*floordiv(a, b) <= a; and b*e >= 1 - b is enough, for e is an integer.
  return holds((up ? c * (a - b + Expr(1)) : c * a) + b * r + b - Expr(1));
}

/// Sets one symbol with a known upper end to its extreme values (e is linear in it, so they are at the ends). Axes go first:
/// their ends mention other symbols.
std::optional<bool> Prover::eliminateSymbol(const Expr &e, bool useRelations) {
  if (std::optional<bool> done = eliminateSymbols(e, true, useRelations))
    return done;
  return eliminateSymbols(e, false, useRelations);
}

std::optional<bool> Prover::eliminateSymbols(const Expr &e, bool wantAxes, bool useRelations) {
  for (const AtomRef &symbol : ExprBuilder::symbols(e)) {
    const std::string &name = symbol->text;
    auto axis = state.axes.find(name);
    bool isAxis = axis != state.axes.end() && !axis->second.mentions(name);
    if (isAxis != wantAxes)
      continue;
    Range range = intervalOf(symbol);
    if (!isAxis && (!range.max || !range.min))
      continue;
    std::optional<Expr::Linear> l = e.linearIn(name);
    if (!l || l->coefficient.isZero())
      continue;
    if (isAxis) // A point on the axis exists, so its extent is at least 1.
      if (std::optional<std::string> extent = axis->second.asSymbol())
        raiseMinimum(*extent);
    Expr low = isAxis ? Expr(0) : Expr(*range.min), high = isAxis ? axis->second - Expr(1) : Expr(*range.max);
    Range sign = interval(l->coefficient);
    auto at = [&](const Expr &value) { return prove(l->coefficient * value + l->rest, useRelations); };
    bool up = sign.min && *sign.min >= 0, down = sign.max && *sign.max <= 0;
    return (down || at(low)) && (up || at(high));
  }
  return std::nullopt;
}

/// Every symbol written as its minimum plus something non-negative: then non-negative coefficients suffice.
bool Prover::allTermsNonNegative(const Expr &e) {
  std::map<std::string, Expr> shift;
  if (e.hasOpaque())
    return false;
  // Nothing that the shift adds reaches the terms of the highest degree.
  const Monomials &terms = ExprBuilder::terms(e);
  for (const Monomial &t : terms)
    if (t.atoms.size() == terms.front().atoms.size() && t.coefficient < 0)
      return false;
  for (const AtomRef &symbol : ExprBuilder::symbols(e)) {
    Range r = intervalOf(symbol);
    if (!r.min)
      return false;
    if (*r.min)
      shift.emplace(symbol->text, ExprBuilder::fromTerm(1, {symbol}) + Expr(*r.min));
  }
  Expr shifted = e.substitute(shift);
  return !shifted.isUnknown() && llvm::all_of(ExprBuilder::terms(shifted), [](const Monomial &t) { return t.coefficient >= 0; });
}

bool Prover::prove(const Expr &e, bool useRelations) {
  if (e.isUnknown() || fuel == 0)
    return false;
  // A step takes as long as the expression is large: few steps for the largest ones.
  fuel -= std::min<size_t>(fuel, 1 + ExprBuilder::terms(e).size() / 16);
  if (std::optional<int64_t> c = e.constant())
    return *c >= 0;
  if (Range r = interval(e); r.min && *r.min >= 0)
    return true;
  Samples::Values values = samples.of(e);
  if (samples.refute(values, useRelations))
    return false;
  if (allTermsNonNegative(e))
    return true;
  if (std::optional<bool> done = eliminateOpaque(e, useRelations); done && *done)
    return true;
  if (std::optional<bool> done = eliminateSymbol(e, useRelations); done && *done)
    return true;
  // e >= g >= 0 for a known relation g.
  return useRelations && proveByRelations(e, values);
}

/// A relation that shares no symbol with e, nor with the extents of its axes, says nothing of it; models that read many sizes while
/// they run have hundreds.
bool Prover::proveByRelations(const Expr &e, const Samples::Values &values) {
  if (state.nonNegative.empty())
    return false;
  std::vector<AtomRef> symbols = ExprBuilder::symbols(e);
  for (const AtomRef &symbol : std::vector<AtomRef>(symbols))
    if (auto axis = state.axes.find(symbol->text); axis != state.axes.end())
      llvm::append_range(symbols, ExprBuilder::symbols(axis->second));
  auto bears = [&](const SampledRelation &g) {
    return llvm::any_of(g.symbols, [&](const AtomRef &symbol) { return llvm::is_contained(symbols, symbol); });
  };
  return llvm::any_of(samples.relations(), [&](const SampledRelation &g) {
    return Samples::isAbove(g, values) && bears(g) && fuel && prove(e - g.relation, false);
  });
}

void Prover::assumeDivisor(const Expr &divisor) {
  const Monomials &terms = ExprBuilder::terms(divisor);
  if (terms.size() != 1)
    return;
  for (const AtomRef &a : terms[0].atoms)
    if (a->atom.kind == Kind::Symbol && symbolRange(a->atom.name).min == Bound(0))
      raiseMinimum(a->atom.name);
}

bool Prover::nonNegative(const Expr &e) { return prove(e, true); }

} // namespace lathe::shape
