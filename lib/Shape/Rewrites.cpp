//===- Rewrites.cpp - Equalities of products as rules ----------------------===//
//
// An equality that no symbol can be solved for is a rule: its leading term (the highest degree, then by text) becomes the rest.
// Rules that share a factor are completed as in Buchberger's algorithm ("Ein Algorithmus zum Auffinden der Basiselemente ...", 1965):
// a*b = 4*a and b*c = 2*q say that 2*q*a = 4*a*c, and without that rule two ways of counting one tensor's elements would end in
// different normal forms.
//
//===----------------------------------------------------------------------===//

#include "FactsImpl.h"
#include <numeric>

namespace lathe::shape {

/// Beyond this many rules nothing is completed: models with hundreds of relations have few that meet.
constexpr size_t mostCompleted = 24;

Expr withoutPositiveFactors(const Facts::State &state, const Expr &e) {
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

std::vector<Expr> addRewrite(Facts::State &state, const Expr &e, bool late) {
  const Monomial &lead = ExprBuilder::terms(e).front();
  bool isRule = !late && !lead.atoms.empty();
  // A term that the coefficient does not divide is not rewritten, but bounded.
  if (!isRule || std::abs(lead.coefficient) != 1) {
    state.nonNegative.push_back(e);
    state.nonNegative.push_back(-e);
  }
  state.changed();
  if (!isRule)
    return {};
  Expr term = ExprBuilder::fromTerm(lead.coefficient, lead.atoms);
  return addRule(state, {lead.atoms, lead.coefficient > 0 ? term - e : e - term, std::abs(lead.coefficient)});
}

} // namespace lathe::shape
