//===- Expr.cpp - Polynomial arithmetic and queries ------------------------===//

#include "ExprImpl.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

namespace lathe::shape {

//===-- Monomials ----------------------------------------------------------===//

static int compareAtoms(const std::vector<AtomRef> &a, const std::vector<AtomRef> &b) {
  if (a.size() != b.size())
    return a.size() > b.size() ? -1 : 1;
  for (auto [x, y] : llvm::zip(a, b))
    if (x != y)
      if (int c = x->text.compare(y->text))
        return c;
  return 0;
}

std::optional<std::vector<AtomRef>> removeAtoms(const std::vector<AtomRef> &a, const std::vector<AtomRef> &b) {
  if (!std::includes(a.begin(), a.end(), b.begin(), b.end(), atomLess))
    return std::nullopt;
  std::vector<AtomRef> rest;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(rest), atomLess);
  return rest;
}

std::vector<AtomRef> commonAtoms(const std::vector<AtomRef> &a, const std::vector<AtomRef> &b) {
  std::vector<AtomRef> common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common), atomLess);
  return common;
}

static void appendTerm(std::string &out, const Monomial &t) {
  bool first = out.empty(), negative = t.coefficient < 0;
  if (!first)
    out += negative ? " - " : " + ";
  else if (negative)
    out += "-";
  // The magnitude of INT64_MIN is representable as unsigned only.
  uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(t.coefficient) : static_cast<uint64_t>(t.coefficient);
  bool bare = magnitude != 1 || t.atoms.empty();
  if (bare)
    out += std::to_string(magnitude);
  for (auto [i, a] : llvm::enumerate(t.atoms)) {
    if (bare || i)
      out += "*";
    out += a->text;
  }
}

static bool termLess(const Monomial &a, const Monomial &b) { return compareAtoms(a.atoms, b.atoms) < 0; }

Expr ExprBuilder::fromTerms(Monomials terms) {
  llvm::sort(terms, termLess);
  return fromSorted(std::move(terms));
}

/// Adds up neighbours with the same atoms, in place; false on overflow.
static bool addUpEqualTerms(Monomials &terms) {
  size_t kept = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (kept && terms[kept - 1].atoms == terms[i].atoms) {
      int64_t &c = terms[kept - 1].coefficient;
      if (llvm::AddOverflow(c, terms[i].coefficient, c))
        return false;
    } else {
      if (kept != i)
        terms[kept] = std::move(terms[i]);
      ++kept;
    }
    if (terms[kept - 1].coefficient == 0)
      --kept;
  }
  terms.resize(kept);
  return true;
}

Expr ExprBuilder::fromSorted(Monomials terms) {
  if (!addUpEqualTerms(terms) || terms.size() > maxTerms)
    return Expr::unknown();
  auto impl = std::make_shared<Expr::Impl>();
  size_t hash = 0, length = 0;
  auto mix = [&](size_t word) { hash = (hash ^ word ^ hash >> 29) * 0x9e3779b97f4a7c15ull; };
  for (const Monomial &t : terms) {
    mix(static_cast<size_t>(t.coefficient));
    for (const AtomRef &a : t.atoms) {
      impl->depth = std::max(impl->depth, a->depth);
      mix(a->hash);
      length += a->text.size();
    }
  }
  if (length > maxTextLength)
    return Expr::unknown();
  impl->hash = hash;
  impl->terms = std::move(terms);
  return Expr(std::shared_ptr<const Expr::Impl>(std::move(impl)));
}

const std::string &Expr::Impl::text() const {
  std::call_once(isWritten, [this] {
    for (const Monomial &t : terms)
      appendTerm(written, t);
    if (terms.empty())
      written = unknown ? "<unknown>" : "0";
  });
  return written;
}

bool ExprBuilder::append(Monomials &all, const Expr &e) {
  all.insert(all.end(), terms(e).begin(), terms(e).end());
  if (all.size() <= 8 * maxTerms)
    return !e.isUnknown();
  Expr sum = fromTerms(std::move(all));
  all = terms(sum);
  return !e.isUnknown() && !sum.isUnknown();
}

static std::vector<AtomRef> unionOf(const std::vector<AtomRef> &a, const std::vector<AtomRef> &b) {
  std::vector<AtomRef> all;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all), atomLess);
  return all;
}

const std::vector<AtomRef> &Expr::Impl::symbols() const {
  std::call_once(isCollected, [this] {
    for (const Monomial &t : terms)
      for (const AtomRef &a : t.atoms)
        if (a->depth)
          collected.insert(collected.end(), a->symbols.begin(), a->symbols.end());
        else
          collected.push_back(a);
    llvm::sort(collected, atomLess);
    collected.erase(std::unique(collected.begin(), collected.end()), collected.end());
  });
  return collected;
}

static const char *functionName(Atom::Kind kind) {
  switch (kind) {
  case Atom::Kind::Symbol:
    return "";
  case Atom::Kind::FloorDiv:
    return "floordiv";
  case Atom::Kind::Mod:
    return "mod";
  case Atom::Kind::Min:
    return "min";
  case Atom::Kind::Max:
    return "max";
  }
  return "";
}

Expr ExprBuilder::opaque(Atom::Kind kind, const Expr &a, const Expr &b) {
  unsigned depth = std::max(a.impl->depth, b.impl->depth) + 1;
  if (a.isUnknown() || b.isUnknown() || depth > maxDepth)
    return Expr::unknown();
  std::string text = std::string(functionName(kind)) + "(" + a.impl->text() + ", " + b.impl->text() + ")";
  return fromTerm(1, {internAtom(std::move(text), [&] {
                    return AtomNode{{kind, "", {a, b}}, "", 0, depth, unionOf(a.impl->symbols(), b.impl->symbols())};
                  })});
}

//===-- Construction -------------------------------------------------------===//

Expr::Expr(int64_t value) {
  static const Expr zero = ExprBuilder::fromTerms({}), one = ExprBuilder::fromTerm(1, {});
  *this = value == 0 ? zero : value == 1 ? one : ExprBuilder::fromTerm(value, {});
}

Expr Expr::symbol(llvm::StringRef text) {
  return ExprBuilder::fromTerm(1, {internAtom(text.str(), [&] {
                                 return AtomNode{{Atom::Kind::Symbol, text.str(), {}, kindOf(text)}, "", 0, 0, {}};
                               })});
}

Expr Expr::size(llvm::StringRef name) { return symbol(quotedName(name)); }
Expr Expr::axis(unsigned number) { return symbol("i" + std::to_string(number)); }
Expr Expr::indirect(unsigned number) { return symbol("$" + std::to_string(number)); }
Expr Expr::host(llvm::StringRef name) { return symbol("%" + quotedName(name)); }
Expr Expr::variable(llvm::StringRef name) { return symbol("$" + name.str()); }
Expr Expr::element(llvm::StringRef tensor, std::optional<int64_t> place) {
  return symbol(quotedName(tensor) + "[" + (place ? std::to_string(*place) : std::string()) + "]");
}

Expr Expr::unknown() {
  static const Expr value = [] {
    auto impl = std::make_shared<Impl>();
    impl->unknown = true;
    return Expr(std::shared_ptr<const Impl>(std::move(impl)));
  }();
  return value;
}

bool Expr::isUnknown() const { return impl->unknown; }

Expr Expr::fromAtom(const Atom &a) {
  switch (a.kind) {
  case Atom::Kind::Symbol:
    return symbol(a.name);
  case Atom::Kind::FloorDiv:
    return floordiv(a.operands[0], a.operands[1]);
  case Atom::Kind::Mod:
    return mod(a.operands[0], a.operands[1]);
  case Atom::Kind::Min:
    return min(a.operands[0], a.operands[1]);
  case Atom::Kind::Max:
    return max(a.operands[0], a.operands[1]);
  }
  return unknown();
}

//===-- Ring operations ----------------------------------------------------===//

Expr Expr::operator+(const Expr &o) const {
  if (isUnknown() || o.isUnknown())
    return unknown();
  if (impl->terms.empty())
    return o;
  if (o.impl->terms.empty())
    return *this;
  Monomials all;
  all.reserve(impl->terms.size() + o.impl->terms.size());
  std::merge(impl->terms.begin(), impl->terms.end(), o.impl->terms.begin(), o.impl->terms.end(), std::back_inserter(all), termLess);
  return ExprBuilder::fromSorted(std::move(all));
}

Expr Expr::operator-(const Expr &o) const { return *this + o * Expr(-1); }

Expr Expr::operator*(const Expr &o) const {
  if (isUnknown() || o.isUnknown())
    return unknown();
  if (impl->terms.size() * o.impl->terms.size() > maxTerms)
    return unknown();
  if (isOne())
    return o;
  if (o.isOne())
    return *this;
  Monomials all;
  for (const Monomial &a : impl->terms)
    for (const Monomial &b : o.impl->terms) {
      Monomial t;
      if (llvm::MulOverflow(a.coefficient, b.coefficient, t.coefficient))
        return unknown();
      std::merge(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end(), std::back_inserter(t.atoms), atomLess);
      all.push_back(std::move(t));
    }
  return ExprBuilder::fromTerms(std::move(all));
}

Expr product(llvm::ArrayRef<Expr> factors) {
  Expr p(1);
  for (const Expr &f : factors)
    p = p * f;
  return p;
}

//===-- Identity -----------------------------------------------------------===//

static bool sameTerms(const Monomials &a, const Monomials &b) {
  return llvm::equal(a, b, [](const Monomial &x, const Monomial &y) { return x.coefficient == y.coefficient && x.atoms == y.atoms; });
}

bool Expr::operator==(const Expr &o) const {
  if (isUnknown() || o.isUnknown())
    return false;
  return impl == o.impl || (impl->hash == o.impl->hash && sameTerms(impl->terms, o.impl->terms));
}
bool Expr::operator<(const Expr &o) const { return impl != o.impl && impl->text() < o.impl->text(); }
size_t Expr::hash() const { return impl->hash; }
std::string Expr::str() const { return impl->text(); }

//===-- Queries ------------------------------------------------------------===//

std::optional<int64_t> Expr::constant() const {
  if (isUnknown())
    return std::nullopt;
  if (impl->terms.empty())
    return 0;
  if (impl->terms.size() == 1 && impl->terms[0].atoms.empty())
    return impl->terms[0].coefficient;
  return std::nullopt;
}

std::optional<std::string> Expr::asSymbol() const {
  if (impl->terms.size() != 1 || impl->terms[0].coefficient != 1 || impl->terms[0].atoms.size() != 1)
    return std::nullopt;
  const Atom &a = impl->terms[0].atoms[0]->atom;
  if (a.kind != Atom::Kind::Symbol)
    return std::nullopt;
  return a.name;
}

std::set<std::string> Expr::symbols() const {
  std::set<std::string> out;
  for (const AtomRef &a : impl->symbols())
    out.insert(out.end(), a->text);
  return out;
}

static bool atomMentions(const AtomNode &a, llvm::StringRef symbol) {
  if (!a.depth)
    return a.text == symbol;
  auto at = llvm::partition_point(a.symbols, [&](const AtomRef &s) { return s->text < symbol; });
  return at != a.symbols.end() && (*at)->text == symbol;
}

bool Expr::mentions(llvm::StringRef symbol) const {
  for (const Monomial &t : impl->terms)
    for (const AtomRef &a : t.atoms)
      if (atomMentions(*a, symbol))
        return true;
  return false;
}

bool Expr::hasOpaque() const { return impl->depth > 0; }

std::optional<Expr::Linear> Expr::linearIn(llvm::StringRef symbol) const {
  if (isUnknown())
    return std::nullopt;
  Monomials with, without;
  for (const Monomial &t : impl->terms) {
    Monomial factor{t.coefficient, {}};
    unsigned hits = 0;
    for (const AtomRef &a : t.atoms) {
      if (!atomMentions(*a, symbol)) {
        factor.atoms.push_back(a);
        continue;
      }
      if (a->atom.kind != Atom::Kind::Symbol || ++hits > 1)
        return std::nullopt;
    }
    (hits ? with : without).push_back(std::move(factor));
  }
  return Linear{ExprBuilder::fromTerms(std::move(with)), ExprBuilder::fromTerms(std::move(without))};
}

std::vector<Expr::Term> Expr::terms() const {
  std::vector<Term> out;
  for (const Monomial &t : impl->terms) {
    Term term{t.coefficient, {}};
    for (const AtomRef &a : t.atoms)
      term.atoms.push_back(a->atom);
    out.push_back(std::move(term));
  }
  return out;
}

Expr Expr::substitute(const std::map<std::string, Expr> &with) const {
  if (isUnknown())
    return *this;
  Monomials all; // Collected and normalised once: a sum that is normalised term by term takes quadratic time.
  for (const Monomial &t : impl->terms) {
    Monomial same{t.coefficient, {}};
    std::vector<Expr> factors;
    for (const AtomRef &a : t.atoms) {
      if (a->atom.kind == Atom::Kind::Symbol) {
        auto it = with.find(a->atom.name);
        if (it == with.end())
          same.atoms.push_back(a);
        else
          factors.push_back(it->second);
        continue;
      }
      Expr x = a->atom.operands[0].substitute(with), y = a->atom.operands[1].substitute(with);
      if (x == a->atom.operands[0] && y == a->atom.operands[1])
        same.atoms.push_back(a);
      else
        factors.push_back(fromAtom({a->atom.kind, "", {x, y}}));
    }
    if (factors.empty())
      all.push_back(std::move(same));
    else if (!ExprBuilder::append(all, ExprBuilder::fromTerms({std::move(same)}) * product(factors)))
      return unknown();
  }
  return ExprBuilder::fromTerms(std::move(all));
}

static std::optional<int64_t> evaluateAtom(const Atom &a, const std::map<std::string, int64_t> &values) {
  if (a.kind == Atom::Kind::Symbol) {
    auto it = values.find(a.name);
    return it == values.end() ? std::nullopt : std::optional<int64_t>(it->second);
  }
  std::optional<int64_t> x = a.operands[0].evaluate(values), y = a.operands[1].evaluate(values);
  if (!x || !y)
    return std::nullopt;
  if (a.kind == Atom::Kind::Min)
    return std::min(*x, *y);
  if (a.kind == Atom::Kind::Max)
    return std::max(*x, *y);
  if (*y == 0 || (*y == -1 && *x == INT64_MIN))
    return std::nullopt;
  int64_t q = floorQuotient(*x, *y);
  return a.kind == Atom::Kind::FloorDiv ? q : *x - q * *y;
}

std::optional<int64_t> Expr::evaluate(const std::map<std::string, int64_t> &values) const {
  if (isUnknown())
    return std::nullopt;
  int64_t sum = 0;
  for (const Monomial &t : impl->terms) {
    int64_t value = t.coefficient;
    for (const AtomRef &a : t.atoms) {
      std::optional<int64_t> v = evaluateAtom(a->atom, values);
      if (!v || llvm::MulOverflow(value, *v, value))
        return std::nullopt;
    }
    if (llvm::AddOverflow(sum, value, sum))
      return std::nullopt;
  }
  return sum;
}

} // namespace lathe::shape
