//===- Divisibilities.cpp - Equalities that say what a remainder is --------===//

#include "lathe/Shape/Divisibilities.h"
#include "llvm/ADT/STLExtras.h"

namespace lathe::shape {

const Expr::Term *onlyOpaqueTerm(const std::vector<Expr::Term> &terms) {
  const Expr::Term *found = nullptr;
  for (const Expr::Term &t : terms)
    if (llvm::any_of(t.atoms, [](const Atom &a) { return a.kind != Atom::Kind::Symbol; })) {
      if (found)
        return nullptr;
      found = &t;
    }
  return found && found->atoms.size() == 1 ? found : nullptr;
}

/// k*floordiv(x, k) written as x - mod(x, k), wherever that is a factor.
static Expr withRemainders(const Expr &e) {
  Expr sum(0);
  for (const Expr::Term &t : e.terms()) {
    Expr term(t.coefficient), written = Expr::unknown();
    for (const Atom &a : t.atoms)
      term = term * Expr::fromAtom(a);
    for (size_t i = 0; i < t.atoms.size() && written.isUnknown(); ++i) {
      Expr others(t.coefficient);
      for (size_t j = 0; j < t.atoms.size(); ++j)
        if (j != i)
          others = others * Expr::fromAtom(t.atoms[j]);
      if (t.atoms[i].kind == Atom::Kind::FloorDiv) {
        const Expr &x = t.atoms[i].operands[0], &k = t.atoms[i].operands[1];
        if (auto factor = Expr::divideExactly(others, k))
          written = *factor * (x - Expr::mod(x, k));
      }
    }
    sum = sum + (written.isUnknown() ? term : written);
  }
  return sum;
}

std::optional<std::pair<Expr, Expr>> asDivisibility(const Expr &difference, const Facts &known) {
  Expr e = withRemainders(difference);
  std::vector<Expr::Term> terms = e.terms();
  const Expr::Term *term = onlyOpaqueTerm(terms);
  if (!term || term->atoms[0].kind != Atom::Kind::Mod)
    return std::nullopt;
  // c*mod(x, k) + rest = 0 says that x - r is a multiple of k, for r = -rest/c between 0 and k - 1.
  const Expr &x = term->atoms[0].operands[0], &k = term->atoms[0].operands[1];
  auto r = Expr::divideExactly(Expr(term->coefficient) * Expr::fromAtom(term->atoms[0]) - e, Expr(term->coefficient));
  if (!r || !known.provablyPositive(k) || !known.provablyLessEqual(Expr(0), *r) || !known.provablyLess(*r, k))
    return std::nullopt;
  // A multiple's negative is one, too; sizes are written without the sign.
  Expr multiple = x - *r;
  bool isNegative = llvm::all_of(multiple.terms(), [](const Expr::Term &t) { return t.coefficient < 0; });
  return std::pair(k, isNegative ? Expr(0) - multiple : multiple);
}

} // namespace lathe::shape
