//===- Simplify.cpp - Substitutions, and opaque terms that ranges resolve --===//

#include "FactsImpl.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

namespace lathe::shape {

using Kind = Atom::Kind;

namespace {
class Simplifier {
public:
  explicit Simplifier(const Facts::State &state) : state(state) {}
  Expr run(const Expr &e);

private:
  Expr once(const Expr &e);
  Expr rewriteProducts(Expr e);
  const Expr &simplifyAtom(const AtomRef &a);
  Expr simplifyAtomAnew(const AtomRef &a);
  /// floordiv and mod at once: a = quotient * b + remainder with 0 <= remainder < b.
  std::optional<Expr::Division> resolve(const Expr &a, const Expr &b);
  std::optional<Expr::Division> resolveByFactor(const Expr &a, const Expr &b);
  std::optional<Expr::Division> resolveOneOfTwo(const Expr::Division &d, const Expr &b);
  bool nonNegative(const Expr &e) { return Prover::nonNegative(state, e); }
  bool nonNegativeUnder(const Expr &divisor, const Expr &e) { return Prover::nonNegative(state, e, divisor); }
  bool inRange(const Expr &r, const Expr &b) { return nonNegativeUnder(b, b - r - Expr(1)) && nonNegativeUnder(b, r); }

  const Facts::State &state;
  std::unordered_map<const AtomNode *, std::pair<AtomRef, Expr>> done; ///< nested atoms occur again and again
};
} // namespace

std::optional<Expr::Division> Simplifier::resolve(const Expr &a, const Expr &b) {
  if (inRange(a, b))
    return Expr::Division{Expr(0), a};
  Expr::Division d = Expr::divide(a, b);
  if (!d.quotient.isZero() && inRange(d.remainder, b))
    return d;
  // One divisor too much or too little: (h*D - 1) / D.
  for (int step : {-1, 1}) {
    Expr r = d.remainder - Expr(step) * b;
    if (inRange(r, b))
      return Expr::Division{d.quotient + Expr(step), r};
  }
  if (std::optional<Expr::Division> byFactor = resolveByFactor(a, b))
    return byFactor;
  return resolveOneOfTwo(d, b);
}

/// A remainder between -b and b - 1 is one divisor too little where it is negative. The quotient says so without a division by an open size, which
/// each point would do: rows that are read at a skew, T*i + j in rows of T + 1.
std::optional<Expr::Division> Simplifier::resolveOneOfTwo(const Expr::Division &d, const Expr &b) {
  const Expr &r = d.remainder;
  bool isOne = !b.constant() && !d.quotient.isZero() && !r.isUnknown() && !r.hasOpaque() &&
               nonNegativeUnder(b, b - r - Expr(1)) && nonNegativeUnder(b, r + b);
  if (!isOne)
    return std::nullopt;
  Expr less = Expr::min(Expr(0), Expr::max(Expr(-1), r));
  return Expr::Division{d.quotient + less, r - b * less};
}

/// For b = m*n and a = m*x + y with 0 <= y < m: floordiv(a, b) = floordiv(x, n) and mod(a, b) = m*mod(x, n) + y. The m tried
/// are what single terms of a share with b.
std::optional<Expr::Division> Simplifier::resolveByFactor(const Expr &a, const Expr &b) {
  const Monomials &divisor = ExprBuilder::terms(b);
  if (divisor.size() != 1 || divisor[0].coefficient <= 0)
    return std::nullopt;
  std::vector<Expr> tried;
  for (const Monomial &t : ExprBuilder::terms(a)) {
    if (t.coefficient == INT64_MIN)
      continue;
    Expr m = ExprBuilder::fromTerm(std::gcd(t.coefficient, divisor[0].coefficient), commonAtoms(t.atoms, divisor[0].atoms));
    if (m.isOne() || m == b || llvm::is_contained(tried, m))
      continue;
    tried.push_back(m);
    Expr::Division d = Expr::divide(a, m);
    std::optional<Expr> n = Expr::divideExactly(b, m);
    if (!n || !inRange(d.remainder, m) || !nonNegativeUnder(b, *n))
      continue;
    Expr q = Expr::floordiv(d.quotient, *n), r = Expr::mod(d.quotient, *n);
    return Expr::Division{q, m * r + d.remainder};
  }
  return std::nullopt;
}

const Expr &Simplifier::simplifyAtom(const AtomRef &node) {
  if (auto it = done.find(node.get()); it != done.end())
    return it->second.second;
  Expr result = simplifyAtomAnew(node);
  return done.emplace(node.get(), std::pair(node, std::move(result))).first->second.second;
}

Expr Simplifier::simplifyAtomAnew(const AtomRef &node) {
  const Atom &a = node->atom;
  if (a.kind == Kind::Symbol)
    return ExprBuilder::fromTerm(1, {node});
  Expr x = once(a.operands[0]), y = once(a.operands[1]);
  if (x.isUnknown() || y.isUnknown())
    return Expr::unknown();
  if (a.kind == Kind::Min || a.kind == Kind::Max) {
    bool isMin = a.kind == Kind::Min;
    if (nonNegative(y - x))
      return isMin ? x : y;
    if (nonNegative(x - y))
      return isMin ? y : x;
    return isMin ? Expr::min(x, y) : Expr::max(x, y);
  }
  if (!y.isZero())
    if (std::optional<Expr::Division> d = resolve(x, y))
      return a.kind == Kind::FloorDiv ? d->quotient : d->remainder;
  return a.kind == Kind::FloorDiv ? Expr::floordiv(x, y) : Expr::mod(x, y);
}

Expr Simplifier::rewriteProducts(Expr e) {
  for (unsigned step = 0; step < 64; ++step) {
    bool changed = false;
    for (const auto &[product, value, coefficient] : state.rewrites) {
      for (const Monomial &t : ExprBuilder::terms(e)) {
        std::optional<std::vector<AtomRef>> factor = removeAtoms(t.atoms, product);
        if (!factor || t.coefficient % coefficient)
          continue;
        Expr rest = ExprBuilder::fromTerm(t.coefficient / coefficient, std::move(*factor));
        e = e - rest * ExprBuilder::fromTerm(coefficient, product) + rest * value;
        changed = true;
        break;
      }
      if (changed)
        break;
    }
    if (!changed)
      break;
  }
  return e;
}

Expr Simplifier::once(const Expr &e) {
  if (!e.hasOpaque())
    return rewriteProducts(e);
  Monomials all;
  for (const Monomial &t : ExprBuilder::terms(e)) {
    Expr term(t.coefficient);
    for (const AtomRef &a : t.atoms)
      term = term * simplifyAtom(a);
    if (!ExprBuilder::append(all, term))
      return Expr::unknown();
  }
  return rewriteProducts(ExprBuilder::fromTerms(std::move(all)));
}

/// k*floordiv(a, k) + mod(a, k) is a: where writing a remainder by its quotient leaves neither, they go.
static Expr joinQuotients(Expr e) {
  for (unsigned step = 0; step < 8 && e.hasOpaque(); ++step) {
    Expr joined = e;
    for (const Monomial &t : ExprBuilder::terms(e)) {
      auto mod = llvm::find_if(t.atoms, [](const AtomRef &a) { return a->atom.kind == Kind::Mod; });
      if (mod == t.atoms.end())
        continue;
      const Expr &a = (*mod)->atom.operands[0], &k = (*mod)->atom.operands[1];
      Monomial factor{t.coefficient, t.atoms};
      factor.atoms.erase(factor.atoms.begin() + (mod - t.atoms.begin()));
      Expr f = ExprBuilder::fromTerms({factor}), quotient = f * k * Expr::floordiv(a, k);
      Expr without = e - f * ExprBuilder::fromTerm(1, {*mod}) - quotient;
      if (ExprBuilder::terms(without).size() + 2 <= ExprBuilder::terms(e).size()) {
        joined = without + f * a;
        break;
      }
    }
    if (joined == e || joined.isUnknown())
      break;
    e = joined;
  }
  return e;
}

Expr Simplifier::run(const Expr &e) {
  Expr now = e.substitute(state.substitutions);
  for (unsigned round = 0; round < 6; ++round) {
    Expr next = joinQuotients(once(now).substitute(state.substitutions));
    if (next == now || next.isUnknown())
      return next;
    now = next;
  }
  return now;
}

Expr simplifyWith(const Facts::State &state, const Expr &e) {
  if (e.isUnknown() || (!e.hasOpaque() && state.substitutions.empty() && state.rewrites.empty()))
    return e;
  {
    std::lock_guard<std::mutex> lock(state.cacheMutex);
    if (auto it = state.cache.find(e); it != state.cache.end())
      return it->second;
  }
  Expr result = Simplifier(state).run(e);
  std::lock_guard<std::mutex> lock(state.cacheMutex);
  if (state.cache.size() > 100000)
    state.cache.clear();
  return state.cache.emplace(e, result).first->second;
}

Expr expandMod(const Expr &e) {
  if (!e.hasOpaque())
    return e;
  Expr sum(0);
  for (const Monomial &t : ExprBuilder::terms(e)) {
    Expr term(t.coefficient);
    for (const AtomRef &node : t.atoms) {
      const Atom &a = node->atom;
      if (a.kind == Kind::Symbol) {
        term = term * ExprBuilder::fromTerm(1, {node});
        continue;
      }
      Expr x = expandMod(a.operands[0]), y = expandMod(a.operands[1]);
      term = term * (a.kind == Kind::Mod ? x - y * Expr::floordiv(x, y) : Expr::fromAtom({a.kind, "", {x, y}}));
    }
    sum = sum + term;
  }
  return sum;
}

} // namespace lathe::shape
