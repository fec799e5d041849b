//===- ExtentVariables.cpp - Bounds in terms of the axes' extents ----------===//

#include "ExtentVariables.h"

using namespace lathe;
using namespace lathe::kernel;
using shape::Expr;

/// Quotients and the like of sizes are symbols of which the range is known; what varies over the points has no place here.
Expr ExtentVariables::quotientsAsSymbols(const Expr &e) {
  Expr out(0);
  for (const Expr::Term &t : e.terms()) {
    Expr product(t.coefficient);
    for (const shape::Atom &a : t.atoms) {
      Expr atom = Expr::fromAtom(a);
      if (a.kind == shape::Atom::Kind::Symbol) {
        product = product * atom;
        continue;
      }
      known &= llvm::none_of(atom.symbols(), [&](const std::string &s) { return facts.extentOf(s).has_value(); });
      auto [it, isNew] = quotients.try_emplace(atom.str(), Expr::variable("s" + std::to_string(quotients.size())).str());
      if (isNew)
        mine.setRange(it->second, facts.bounds(atom));
      product = product * Expr::symbol(it->second);
    }
    out = out + product;
  }
  return out;
}

Expr ExtentVariables::rewrite(const Expr &e) {
  Expr out = quotientsAsSymbols(e);
  for (const std::map<std::string, Expr> &change : changes)
    out = out.substitute(change);
  return out;
}

static bool isFixed(llvm::StringRef symbol) {
  shape::SymbolKind kind = shape::kindOf(symbol);
  return kind != shape::SymbolKind::Indirect && kind != shape::SymbolKind::Variable;
}

/// What is known of the symbols that were there before.
void ExtentVariables::declare(const Expr &e) {
  for (const std::string &s : e.symbols())
    if (isFixed(s) && !facts.extentOf(s))
      mine.setRange(s, facts.rangeOf(s));
}

ExtentVariables::ExtentVariables(const shape::Facts &facts, std::vector<Extent> given) : facts(facts), axes(std::move(given)) {
  for (Extent &a : axes)
    a.size = quotientsAsSymbols(a.size);
  for (size_t n = 0; n < axes.size(); ++n) {
    Expr extent = axes[n].size;
    if (extent.constant() || extent.asSymbol())
      continue;
    for (const std::string &name : extent.symbols()) {
      std::optional<Expr::Linear> linear = extent.linearIn(name);
      bool one = linear && linear->coefficient.isOne(), minusOne = linear && linear->coefficient == Expr(-1);
      if (!one && !minusOne)
        continue;
      Expr variable = Expr::variable("e" + std::to_string(n)), value = variable - linear->rest;
      changes.push_back({{name, one ? value : -value}});
      mine.setRange(variable.str(), {1, std::nullopt}); // a point on the axis exists
      for (Extent &a : axes)
        a.size = a.size.substitute(changes.back());
      break;
    }
  }
  for (const Extent &a : axes)
    declare(a.size);
  for (const Extent &a : axes)
    mine.setAxis(a.axis, a.size);
}

bool ExtentVariables::isBetween(const Expr &offset, const Expr &size) {
  if (changes.empty() && quotients.empty())
    return false; // nothing is said in another way
  Expr e = rewrite(offset), end = rewrite(size);
  if (!known)
    return false;
  declare(e);
  declare(end);
  return mine.provablyLessEqual(Expr(0), e) && mine.provablyLess(e, end);
}
