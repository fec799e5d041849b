//===- Divisibility.cpp - What is known to divide sizes --------------------===//

#include "lathe/Lower/Divisibility.h"

using namespace lathe;
using namespace lathe::lower;
using shape::Atom;
using shape::Expr;

std::map<Expr, Expr> Divisibility::bySizes(const Expr &e, llvm::StringRef free) const {
  std::map<Expr, Expr> out;
  for (const Expr::Term &term : e.terms()) {
    Expr varying(1), size(term.coefficient);
    bool skip = false;
    for (const Atom &a : term.atoms) {
      Expr factor = Expr::fromAtom(a);
      skip |= !free.empty() && a.kind == Atom::Kind::Symbol && a.name == free;
      bool fixed = llvm::all_of(factor.symbols(), [&](const std::string &s) { return llvm::is_contained(info->sizes, s); });
      (fixed ? size : varying) = (fixed ? size : varying) * factor;
    }
    if (skip)
      continue;
    auto [it, fresh] = out.emplace(varying, size);
    if (!fresh)
      it->second = it->second + size;
  }
  return out;
}

bool Divisibility::known(const Expr &size, int64_t by) const {
  auto given = [&](const Expr &e) {
    auto it = multiples.find(e);
    return it != multiples.end() && it->second % by == 0;
  };
  return given(size) || llvm::all_of(size.terms(), [&](const Expr::Term &term) {
           if (term.coefficient % by == 0)
             return true;
           Expr product(1);
           for (const Atom &a : term.atoms)
             product = product * Expr::fromAtom(a);
           return given(product) || llvm::any_of(term.atoms, [&](const Atom &a) { return given(Expr::fromAtom(a)); });
         });
}

bool Divisibility::assume(const Expr &e, int64_t by, llvm::StringRef free) {
  std::vector<Expr> wanted;
  for (const auto &[varying, size] : bySizes(e, free)) {
    if (known(size, by))
      continue;
    if (size.constant() || size.isUnknown())
      return false;
    wanted.push_back(size);
  }
  for (const Expr &size : wanted)
    add(size, by);
  return true;
}

int64_t Divisibility::divisorOf(const Expr &e, int64_t limit, llvm::StringRef free) const {
  if (e.isUnknown())
    return 1;
  int64_t divisor = limit;
  for (const auto &[varying, size] : bySizes(e, free))
    while (divisor > 1 && !known(size, divisor))
      divisor /= 2;
  return divisor;
}
