//===- Rewrites.cpp - Equalities of products as rules ----------------------===//
//
// An equality that no symbol can be solved for is a rule: its leading term (the highest degree, then by text) becomes the rest.
// Rules that share a factor are completed as in Buchberger's algorithm ("Ein Algorithmus zum Auffinden der Basiselemente ...", 1965):
// a*b = 4*a and b*c = 2*q say that 2*q*a = 4*a*c, and without that rule two ways of counting one tensor's elements would end in
// different normal forms.
//
//===----------------------------------------------------------------------===//

#include "FactsImpl.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetOperations.h"
#include <numeric>

namespace lathe::shape {

/// Beyond this many rules nothing is completed: models with hundreds of relations have few that meet.
constexpr size_t mostCompleted = 24;

/// e without the symbols and opaque terms that all its terms have and that are proven to be above 0.
static Expr withoutPositiveAtoms(const Facts::State &state, const Expr &e) {
  const Monomials &terms = ExprBuilder::terms(e);
  std::vector<AtomRef> common = terms.front().atoms;
  for (const Monomial &t : terms)
    common = commonAtoms(common, t.atoms);
  Expr left = e;
  for (const AtomRef &atom : common) {
    Expr factor = ExprBuilder::fromTerm(1, {atom});
    if (!Prover(state).nonNegative(factor - Expr(1)))
      continue;
    if (std::optional<Expr> rest = Expr::divideExactly(left, factor))
      left = *rest;
  }
  return left;
}

/// c*s + c*q, a polynomial of the first degree in a symbol s whose coefficient divides the rest, is c*(s + q): the one of the two
/// that is left when the other is proven to be above 0. (n + 2)*m = 9*(n + 2), as padded sizes give it, says that m is 9.
static std::optional<Expr> withoutPositiveSum(const Facts::State &state, const Expr &e) {
  for (const std::string &name : e.symbols()) {
    std::optional<Expr::Linear> l = e.linearIn(name);
    if (!l || l->coefficient.constant())
      continue;
    std::optional<Expr> q = Expr::divideExactly(l->rest, l->coefficient);
    if (!q || q->isUnknown() || l->coefficient * (Expr::symbol(name) + *q) != e)
      continue;
    Expr sum = Expr::symbol(name) + *q;
    if (Prover(state).nonNegative(sum - Expr(1)))
      return l->coefficient;
    if (Prover(state).nonNegative(l->coefficient - Expr(1)))
      return sum;
  }
  return std::nullopt;
}

Expr withoutPositiveFactors(const Facts::State &state, const Expr &e) {
  Expr left = withoutPositiveAtoms(state, e);
  for (std::optional<Expr> rest = withoutPositiveSum(state, left); rest; rest = withoutPositiveSum(state, left))
    left = *rest; // of a lower degree
  return left;
}

/// What two rules make of the smallest product that both apply to; zero where they share nothing.
static Expr difference(const Facts::State::Rewrite &x, const Facts::State::Rewrite &y) {
  std::vector<AtomRef> common = commonAtoms(x.product, y.product);
  if (common.empty())
    return Expr(0);
  int64_t g = std::gcd(x.coefficient, y.coefficient);
  Expr toX = ExprBuilder::fromTerm(y.coefficient / g, *removeAtoms(y.product, common));
  Expr toY = ExprBuilder::fromTerm(x.coefficient / g, *removeAtoms(x.product, common));
  return toX * x.value - toY * y.value;
}

std::vector<Expr> addRule(Facts::State &state, Facts::State::Rewrite rule) {
  std::vector<Expr> follow;
  if (state.rewrites.size() < mostCompleted)
    for (const Facts::State::Rewrite &other : state.rewrites)
      if (Expr d = difference(rule, other); !d.isUnknown() && !d.isZero())
        follow.push_back(d);
  state.rewrites.push_back(std::move(rule));
  state.changed();
  return follow;
}

std::vector<Expr> takeRulesOf(Facts::State &state, const std::string &symbol, const Expr &value) {
  std::vector<Expr> zeros;
  std::map<std::string, Expr> one{{symbol, value}};
  llvm::erase_if(state.rewrites, [&](const Facts::State::Rewrite &rule) {
    Expr product = ExprBuilder::fromTerm(rule.coefficient, rule.product), now = product.substitute(one);
    if (now == product || now.isUnknown())
      return false;
    zeros.push_back(now - rule.value.substitute(one));
    return true;
  });
  return zeros;
}

static std::set<std::string> symbolsOfOpaque(const Expr &e) {
  std::set<std::string> symbols;
  for (const Monomial &t : ExprBuilder::terms(e))
    for (const AtomRef &a : t.atoms)
      if (a->depth)
        symbols.merge(ExprBuilder::fromTerm(1, {a}).symbols());
  return symbols;
}

/// Whether what the rule writes may hold, within a division, minimum or maximum, what the rule applies to: by itself or by way of
/// the other rules. a*b = floordiv(a*b + a, c) would be written deeper and deeper.
static bool appliesToItself(const Facts::State &state, const Facts::State::Rewrite &rule) {
  std::vector<const Facts::State::Rewrite *> reached{&rule};
  for (size_t i = 0; i < reached.size(); ++i) {
    std::set<std::string> inside = symbolsOfOpaque(reached[i]->value);
    auto appliesInside = [&](const Facts::State::Rewrite &r) {
      return llvm::set_is_subset(ExprBuilder::fromTerm(1, r.product).symbols(), inside);
    };
    if (inside.empty())
      continue;
    if (appliesInside(rule))
      return true;
    for (const Facts::State::Rewrite &r : state.rewrites)
      if (!llvm::is_contained(reached, &r) && appliesInside(r))
        reached.push_back(&r);
  }
  return false;
}

std::vector<Expr> addRewrite(Facts::State &state, const Expr &e, bool late) {
  const Monomial &lead = ExprBuilder::terms(e).front();
  Expr term = ExprBuilder::fromTerm(lead.coefficient, lead.atoms);
  Facts::State::Rewrite rule{lead.atoms, lead.coefficient > 0 ? term - e : e - term, std::abs(lead.coefficient)};
  bool isRule = !late && !lead.atoms.empty() && !appliesToItself(state, rule);
  // A term that the coefficient does not divide is not rewritten, but bounded.
  if (!isRule || rule.coefficient != 1) {
    state.nonNegative.push_back(e);
    state.nonNegative.push_back(-e);
  }
  state.changed();
  return isRule ? addRule(state, std::move(rule)) : std::vector<Expr>();
}

} // namespace lathe::shape
