//===- ExprOpaque.cpp - Division, modulus, minimum, maximum ----------------===//
//
// Everything here holds for all values of the symbols for which the term is defined (a zero divisor defines nothing).
// What needs a range belongs in Simplify.cpp.
//
//===----------------------------------------------------------------------===//

#include "ExprImpl.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <numeric>

namespace lathe::shape {

using Kind = Atom::Kind;

//===-- Polynomial division ------------------------------------------------===//

Expr::Division Expr::divide(const Expr &a, const Expr &b) {
  Division d{Expr(0), a};
  const Monomials &divisor = ExprBuilder::terms(b);
  if (a.isUnknown() || b.isUnknown() || divisor.empty())
    return d;
  const Monomial &lead = divisor.front();
  // Each step removes one term that the lead divides. The order of terms is close to, but not quite, a monomial order, so
  // the number of steps is bounded for itself.
  for (unsigned step = 0; step < 64; ++step) {
    const Monomials &terms = ExprBuilder::terms(d.remainder);
    Expr part(0);
    for (const Monomial &t : terms) {
      std::optional<std::vector<AtomRef>> rest = removeAtoms(t.atoms, lead.atoms);
      bool fits = lead.coefficient == -1 ? t.coefficient != INT64_MIN : true;
      if (rest && fits && t.coefficient / lead.coefficient != 0) {
        part = ExprBuilder::fromTerm(t.coefficient / lead.coefficient, std::move(*rest));
        break;
      }
    }
    if (part.isZero())
      return d;
    d.quotient = d.quotient + part;
    d.remainder = d.remainder - part * b;
    if (d.quotient.isUnknown() || d.remainder.isUnknown())
      return {Expr(0), a};
  }
  return {Expr(0), a};
}

std::optional<Expr> Expr::divideExactly(const Expr &a, const Expr &b) {
  Division d = divide(a, b);
  if (!d.remainder.isZero() || b.isZero())
    return std::nullopt;
  return d.quotient;
}

//===-- Helpers ------------------------------------------------------------===//

namespace {
/// a = whole * divisor + rest, term by term, for a divisor of one term.
struct Split {
  Monomials whole, rest;
};
} // namespace

static Split splitByTerm(const Monomials &terms, const Monomial &divisor) {
  Split s;
  for (const Monomial &t : terms) {
    std::optional<std::vector<AtomRef>> factor = removeAtoms(t.atoms, divisor.atoms);
    if (!factor) {
      s.rest.push_back(t);
      continue;
    }
    // The constant's remainder is made non-negative; other coefficients keep their sign.
    bool isConstant = t.atoms.empty();
    int64_t q = isConstant ? floorQuotient(t.coefficient, divisor.coefficient) : t.coefficient / divisor.coefficient;
    int64_t r = t.coefficient - q * divisor.coefficient;
    if (q)
      s.whole.push_back({q, std::move(*factor)});
    if (r)
      s.rest.push_back({r, t.atoms});
  }
  return s;
}

static Expr build(Monomials terms) { return ExprBuilder::fromTerms(std::move(terms)); }

static uint64_t magnitude(int64_t v) { return v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v); }

/// The greatest factor (positive coefficient) that divides `divisor` and every term but, where asked, the constant one.
static Monomial commonFactor(const Monomials &terms, const Monomial &divisor, bool skipConstant) {
  uint64_t c = magnitude(divisor.coefficient);
  std::vector<AtomRef> atoms = divisor.atoms;
  for (const Monomial &t : terms) {
    if (skipConstant && t.atoms.empty())
      continue;
    c = std::gcd(c, magnitude(t.coefficient));
    atoms = commonAtoms(atoms, t.atoms);
  }
  if (c > INT64_MAX)
    return {1, {}};
  return {static_cast<int64_t>(c), std::move(atoms)};
}

static bool isTrivial(const Monomial &m) { return m.coefficient == 1 && m.atoms.empty(); }

static Monomial divideTerm(const Monomial &t, const Monomial &by) {
  return {t.coefficient / by.coefficient, removeAtoms(t.atoms, by.atoms).value_or(std::vector<AtomRef>())};
}

static Monomials divideTerms(const Monomials &terms, const Monomial &by) {
  Monomials out;
  for (const Monomial &t : terms)
    out.push_back(divideTerm(t, by));
  return out;
}

/// Takes the constant term out.
static int64_t takeConstant(Monomials &terms) {
  for (auto it = terms.begin(); it != terms.end(); ++it)
    if (it->atoms.empty()) {
      int64_t c = it->coefficient;
      terms.erase(it);
      return c;
    }
  return 0;
}

/// The one term that is exactly floordiv(x, constant), if any: its operands, and the other terms.
static std::optional<std::pair<Atom, Monomials>> takeInnerDivision(const Monomials &terms) {
  for (size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].coefficient != 1 || terms[i].atoms.size() != 1)
      continue;
    const Atom &a = terms[i].atoms[0]->atom;
    if (a.kind != Kind::FloorDiv || !a.operands[1].constant())
      continue;
    Monomials others = terms;
    others.erase(others.begin() + i);
    return std::make_pair(a, std::move(others));
  }
  return std::nullopt;
}

//===-- floordiv -----------------------------------------------------------===//

/// floor((x + t*mod(y, m)) / c), where c divides t*m and, but for a constant, x + t*y: a size that is padded to a multiple. It
/// is floor((x + t*y) / c) - t*m/c * floor(y / m).
static std::optional<Expr> dividePadded(const Expr &a, int64_t c) {
  for (const Monomial &t : ExprBuilder::terms(a)) {
    if (t.atoms.size() != 1 || t.atoms[0]->atom.kind != Kind::Mod)
      continue;
    const Expr &y = t.atoms[0]->atom.operands[0];
    std::optional<int64_t> m = t.atoms[0]->atom.operands[1].constant();
    int64_t step;
    if (!m || llvm::MulOverflow(t.coefficient, *m, step) || step % c != 0)
      continue;
    Split s = splitByTerm(ExprBuilder::terms(a - build({t}) + Expr(t.coefficient) * y), {c, {}});
    if (s.rest.empty() || (s.rest.size() == 1 && s.rest[0].atoms.empty()))
      return build(std::move(s.whole)) - Expr(step / c) * Expr::floordiv(y, Expr(*m));
  }
  return std::nullopt;
}

static Expr floordivByConstant(const Expr &a, int64_t c) {
  Split s = splitByTerm(ExprBuilder::terms(a), {c, {}});
  Expr whole = build(std::move(s.whole));
  Monomials rest = std::move(s.rest);
  int64_t k = takeConstant(rest); // 0 <= k < c
  if (rest.empty())
    return whole;
  Monomial g = commonFactor(rest, {c, {}}, false);
  if (g.coefficient > 1) {
    // floor((g*x + k) / (g*c')) = floor((x + floor(k/g)) / c')
    Expr x = build(divideTerms(rest, g)) + Expr(k / g.coefficient);
    return whole + Expr::floordiv(x, Expr(c / g.coefficient));
  }
  Expr x = build(rest) + Expr(k);
  if (auto inner = takeInnerDivision(ExprBuilder::terms(x))) {
    // floor((floor(y/d) + z) / c) = floor((y + d*z) / (d*c))
    Expr d = inner->first.operands[1];
    Expr flat = inner->first.operands[0] + d * build(std::move(inner->second)), by = d * Expr(c);
    if (!flat.isUnknown() && !by.isUnknown())
      return whole + Expr::floordiv(flat, by);
  }
  if (std::optional<Expr> padded = dividePadded(x, c))
    return whole + *padded;
  // One form for floor((-x) / c) and the ceiling that it is: -floor((x + c - 1) / c).
  if (rest.front().coefficient < 0)
    return whole - floordivByConstant(-x + Expr(c - 1), c);
  return whole + ExprBuilder::opaque(Kind::FloorDiv, x, Expr(c));
}

static Expr floordivByTerm(const Expr &a, const Monomial &divisor) {
  Split s = splitByTerm(ExprBuilder::terms(a), divisor);
  Expr whole = build(std::move(s.whole));
  if (s.rest.empty())
    return whole;
  Monomial g = commonFactor(s.rest, divisor, false);
  if (!isTrivial(g))
    return whole + Expr::floordiv(build(divideTerms(s.rest, g)), build({divideTerm(divisor, g)}));
  return whole + ExprBuilder::opaque(Kind::FloorDiv, build(std::move(s.rest)), build({divisor}));
}

/// Divisors are sizes. One like y - x keeps its sign, whatever stands first: code for it relies on what is positive.
static bool isNegative(const Monomials &divisor) {
  return llvm::all_of(divisor, [](const Monomial &m) { return m.coefficient < 0; });
}

Expr Expr::floordiv(const Expr &a, const Expr &b) {
  if (a.isUnknown() || b.isUnknown() || b.isZero())
    return unknown();
  if (b.isOne())
    return a;
  if (a.isZero())
    return a;
  const Monomials &divisor = ExprBuilder::terms(b);
  if (isNegative(divisor)) // The quotient keeps its value when both change sign.
    return llvm::any_of(divisor, [](const Monomial &m) { return m.coefficient == INT64_MIN; }) ? unknown() : floordiv(-a, -b);
  if (std::optional<int64_t> c = b.constant())
    return floordivByConstant(a, *c);
  if (divisor.size() == 1)
    return floordivByTerm(a, divisor.front());
  if (std::optional<Expr> q = divideExactly(a, b))
    return *q;
  return ExprBuilder::opaque(Kind::FloorDiv, a, b);
}

//===-- mod ----------------------------------------------------------------===//

static Expr modByConstant(const Expr &a, int64_t c) {
  Monomials rest = splitByTerm(ExprBuilder::terms(a), {c, {}}).rest;
  int64_t k = takeConstant(rest);
  if (rest.empty())
    return Expr(k);
  Monomial g = commonFactor(rest, {c, {}}, false);
  if (g.coefficient > 1) {
    // (g*x + k) mod (g*c') = g * ((x + floor(k/g)) mod c') + k mod g
    Expr x = build(divideTerms(rest, g)) + Expr(k / g.coefficient);
    return Expr(g.coefficient) * Expr::mod(x, Expr(c / g.coefficient)) + Expr(k % g.coefficient);
  }
  // (x mod (m*c)) mod c = x mod c
  for (size_t i = 0; i < rest.size(); ++i) {
    if (rest[i].atoms.size() != 1 || rest[i].atoms[0]->atom.kind != Kind::Mod)
      continue;
    const Atom inner = rest[i].atoms[0]->atom;
    std::optional<int64_t> m = inner.operands[1].constant();
    if (!m || *m % c != 0)
      continue;
    Expr factor(rest[i].coefficient);
    rest.erase(rest.begin() + i);
    return Expr::mod(build(std::move(rest)) + factor * inner.operands[0] + Expr(k), Expr(c));
  }
  return ExprBuilder::opaque(Kind::Mod, build(std::move(rest)) + Expr(k), Expr(c));
}

static Expr modByTerm(const Expr &a, const Monomial &divisor) {
  Monomials rest = splitByTerm(ExprBuilder::terms(a), divisor).rest;
  if (rest.empty())
    return Expr(0);
  Monomial g = commonFactor(rest, divisor, false);
  if (!isTrivial(g)) // (g*x) mod (g*y) = g * (x mod y)
    return build({g}) * Expr::mod(build(divideTerms(rest, g)), build({divideTerm(divisor, g)}));
  return ExprBuilder::opaque(Kind::Mod, build(std::move(rest)), build({divisor}));
}

Expr Expr::mod(const Expr &a, const Expr &b) {
  if (a.isUnknown() || b.isUnknown() || b.isZero())
    return unknown();
  if (a.isZero() || b.isOne())
    return Expr(0);
  const Monomials &divisor = ExprBuilder::terms(b);
  if (isNegative(divisor))
    return a - b * floordiv(a, b);
  if (std::optional<int64_t> c = b.constant())
    return modByConstant(a, *c);
  if (divisor.size() == 1)
    return modByTerm(a, divisor.front());
  if (divideExactly(a, b))
    return Expr(0);
  return ExprBuilder::opaque(Kind::Mod, a, b);
}

//===-- min, max -----------------------------------------------------------===//

static void flatten(Kind kind, const Expr &e, std::vector<Expr> &out) {
  const Monomials &t = ExprBuilder::terms(e);
  if (t.size() == 1 && t[0].coefficient == 1 && t[0].atoms.size() == 1 && t[0].atoms[0]->atom.kind == kind) {
    for (const Expr &o : t[0].atoms[0]->atom.operands)
      flatten(kind, o, out);
    return;
  }
  out.push_back(e);
}

/// Nested to the right over the sorted operands, without those that differ from another by a constant and lose.
static Expr extremum(Kind kind, const Expr &a, const Expr &b) {
  if (a.isUnknown() || b.isUnknown())
    return Expr::unknown();
  std::vector<Expr> all, kept;
  flatten(kind, a, all);
  flatten(kind, b, all);
  llvm::sort(all);
  for (const Expr &e : all) {
    bool lost = false;
    for (Expr &k : kept)
      if (std::optional<int64_t> d = (e - k).constant()) {
        if (kind == Kind::Min ? *d < 0 : *d > 0)
          k = e;
        lost = true;
        break;
      }
    if (!lost)
      kept.push_back(e);
  }
  llvm::sort(kept);
  Expr result = kept.back();
  for (size_t i = kept.size() - 1; i-- > 0;)
    result = ExprBuilder::opaque(kind, kept[i], result);
  return result;
}

Expr Expr::min(const Expr &a, const Expr &b) { return extremum(Kind::Min, a, b); }
Expr Expr::max(const Expr &a, const Expr &b) { return extremum(Kind::Max, a, b); }

} // namespace lathe::shape
