//===- Facts.cpp - Recording facts, and the questions asked of them --------===//

#include "FactsImpl.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <numeric>

namespace lathe::shape {

Facts::Facts() : state(std::make_shared<State>()) {}

Facts Facts::clone() const {
  Facts f;
  f.state = std::make_shared<State>(*state);
  return f;
}

//===-- Recording ----------------------------------------------------------===//

static Range intersect(Range a, Range b) {
  if (b.min)
    a.min = std::max(a.min.value_or(*b.min), *b.min);
  if (b.max)
    a.max = std::min(a.max.value_or(*b.max), *b.max);
  return a;
}

/// What holds of a symbol of which nothing was said.
Range defaultRange(llvm::StringRef symbol) {
  // Sizes and axes start at 0; an index or an element read from memory may be anything.
  SymbolKind kind = kindOf(symbol);
  bool any = kind == SymbolKind::Indirect || kind == SymbolKind::Element || kind == SymbolKind::Variable;
  return any ? Range{} : Range{0, std::nullopt};
}

/// e = coefficient * atom + constant.
struct OfOneAtom {
  Atom atom;
  int64_t coefficient, constant;
};

static std::optional<OfOneAtom> asOfOneAtom(const Expr &e) {
  std::optional<OfOneAtom> found;
  int64_t constant = 0;
  for (const Monomial &t : ExprBuilder::terms(e)) {
    if (t.atoms.empty()) {
      constant = t.coefficient;
      continue;
    }
    if (found || t.atoms.size() != 1 || t.coefficient == INT64_MIN)
      return std::nullopt;
    found = OfOneAtom{t.atoms[0]->atom, t.coefficient, 0};
  }
  if (found)
    found->constant = constant;
  return found;
}

static void constrain(Facts::State &state, const Expr &e, Range range);

/// What a range of a quotient, minimum or maximum says of its operands.
static void constrainOperands(Facts::State &state, const Atom &atom, const Range &range) {
  const Expr &x = atom.operands[0], &y = atom.operands[1];
  auto end = [&](std::optional<int64_t> value, int64_t times, int64_t plus) {
    int64_t result;
    bool known = value && !llvm::MulOverflow(*value, times, result) && !llvm::AddOverflow(result, plus, result);
    return known ? std::optional(result) : std::nullopt;
  };
  std::optional<int64_t> k = y.constant();
  if (atom.kind == Atom::Kind::FloorDiv && k && *k > 0) {
    constrain(state, x, {end(range.min, *k, 0), end(range.max, *k, *k - 1)});
  } else if (atom.kind == Atom::Kind::Min || atom.kind == Atom::Kind::Max) {
    bool isMin = atom.kind == Atom::Kind::Min;
    for (const Expr &operand : {x, y})
      constrain(state, operand, isMin ? Range{range.min, {}} : Range{{}, range.max});
  }
}

/// Records that e lies in the range: as the range of its symbol where e is linear in one, else as relations.
static void constrain(Facts::State &state, const Expr &e, Range range) {
  state.forgetRelations();
  std::optional<OfOneAtom> one = asOfOneAtom(e);
  auto moved = [&](std::optional<int64_t> end) -> std::optional<int64_t> {
    int64_t result;
    return end && !llvm::SubOverflow(*end, one->constant, result) && result > INT64_MIN + 1 ? std::optional(result) : std::nullopt;
  };
  if (one) {
    Range scaled{moved(range.min), moved(range.max)};
    int64_t c = one->coefficient;
    if (c < 0) {
      c = -c;
      scaled = {scaled.max ? std::optional(-*scaled.max) : std::nullopt, scaled.min ? std::optional(-*scaled.min) : std::nullopt};
    }
    if (scaled.min)
      scaled.min = -floorQuotient(-*scaled.min, c);
    if (scaled.max)
      scaled.max = floorQuotient(*scaled.max, c);
    if (one->atom.kind == Atom::Kind::Symbol) {
      const std::string &symbol = one->atom.name;
      auto it = state.ranges.find(symbol);
      state.ranges[symbol] = intersect(it == state.ranges.end() ? defaultRange(symbol) : it->second, scaled);
      return;
    }
    constrainOperands(state, one->atom, scaled);
  }
  for (const Expr &relation : {range.min ? e - Expr(*range.min) : Expr(0), range.max ? Expr(*range.max) - e : Expr(0)})
    if (!relation.isUnknown() && !relation.constant() && Prover(state).interval(relation).min.value_or(-1) < 0)
      state.nonNegative.push_back(relation);
}

/// Replaces the symbol everywhere, keeping the substitutions closed. The result is zero, too: rules for products with the symbol
/// no longer apply, since nothing that is simplified has it, and are to be stated again.
static std::vector<Expr> substituteSymbol(Facts::State &state, const std::string &symbol, const Expr &value) {
  std::map<std::string, Expr> one{{symbol, value}};
  for (auto &[name, v] : state.substitutions)
    v = v.substitute(one);
  for (auto &[name, extent] : state.axes)
    extent = extent.substitute(one);
  for (Expr &relation : state.nonNegative)
    relation = relation.substitute(one);
  state.substitutions.emplace(symbol, value);
  std::vector<Expr> follow = takeRulesOf(state, symbol, value);
  state.changed();
  auto range = state.ranges.find(symbol);
  Range r = range == state.ranges.end() ? defaultRange(symbol) : range->second;
  if (!value.constant())
    constrain(state, value, r);
  return follow;
}

static bool isWithin(const Range &inner, const Range &outer) {
  return (!outer.min || (inner.min && *inner.min >= *outer.min)) && (!outer.max || (inner.max && *inner.max <= *outer.max));
}

template <typename Map> static void forgetWhatSpeaksOf(const std::string &symbol, Map &answers) {
  for (auto it = answers.begin(); it != answers.end();)
    it = it->first.mentions(symbol) ? answers.erase(it) : std::next(it);
}

void Facts::State::changedBy(const std::string &symbol, const Range &range) {
  auto known = ranges.find(symbol);
  if (!isWithin(range, known == ranges.end() ? defaultRange(symbol) : known->second) || substitutions.count(symbol) || axes.count(symbol))
    return changed();
  // Models have hundreds of counts that are read at run time, one after the other: what is known of one says nothing of the others.
  forgetWhatSpeaksOf(symbol, cache);
  forgetWhatSpeaksOf(symbol, proofs);
  forgetRelations();
}

void Facts::State::changedBy(const std::string &axis) {
  cache.clear();
  proofs.clear();
  if (!relations || inRelations.count(axis))
    forgetRelations();
}

void Facts::setRange(llvm::StringRef symbol, Range range) {
  std::string name = symbol.str();
  state->changedBy(name, range);
  state->ranges[name] = range;
  if (auto it = state->substitutions.find(name); it != state->substitutions.end())
    constrain(*state, it->second, range);
  else if (range.min && range.max && *range.min == *range.max && !state->axes.count(name))
    for (const Expr &zero : substituteSymbol(*state, name, Expr(*range.min)))
      addEquality(zero, Expr(0));
}

Range Facts::rangeOf(llvm::StringRef symbol) const { return bounds(Expr::symbol(symbol)); }

void Facts::setLate(llvm::StringRef symbol) { state->late.try_emplace(symbol.str(), state->late.size()); }

void Facts::setAxis(llvm::StringRef axis, const Expr &extent) {
  Expr simplified = simplify(extent);
  state->changedBy(axis.str()); // behind the question, whose answers are those of before
  state->axes.insert_or_assign(axis.str(), simplified);
}

std::optional<Expr> Facts::extentOf(llvm::StringRef axis) const {
  auto it = state->axes.find(axis.str());
  return it == state->axes.end() ? std::nullopt : std::optional<Expr>(it->second);
}

/// The late symbol that has its value last.
static std::optional<std::string> latestOf(const Expr &e, const Facts::State &state) {
  std::optional<std::string> latest;
  for (const std::string &name : e.symbols())
    if (state.late.count(name) && (!latest || state.late.at(*latest) < state.late.at(name)))
      latest = name;
  return latest;
}

/// The symbol (of those that occur alone in a term with coefficient 1 or -1) that e = 0 is best solved for.
static std::optional<std::string> chooseSolved(const Expr &e, const Expr &a, const Expr &b, const Facts::State &state) {
  auto solvable = [&](const std::string &name) {
    if (state.axes.count(name))
      return false;
    std::optional<Expr::Linear> l = e.linearIn(name);
    return l && (l->coefficient == Expr(1) || l->coefficient == Expr(-1));
  };
  if (std::optional<std::string> latest = latestOf(e, state))
    return solvable(*latest) ? latest : std::nullopt;
  for (const Expr &side : {a, b})
    if (std::optional<std::string> s = side.asSymbol(); s && solvable(*s))
      return s;
  for (const std::string &name : e.symbols())
    if (solvable(name))
      return name;
  return std::nullopt;
}

/// Ways to write one definition that are looked at, each shorter by what the one before says.
constexpr unsigned mostDefinitions = 4;

/// e = 0 that says what one division, modulus, minimum or maximum is: floordiv(n, 4) - m. The term is written as that from now
/// on, and what bounds it bounds that. A maximum that is one of its operands says nothing but their order. `follow`: what is
/// zero, too, because of other rules for products with the term.
static bool addDefinition(Facts::State &state, const Expr &e, std::vector<Expr> &follow) {
  const Monomial *term = nullptr;
  for (const Monomial &t : ExprBuilder::terms(e))
    for (const AtomRef &a : t.atoms)
      if (a->depth) {
        if (term || t.atoms.size() != 1 || (t.coefficient != 1 && t.coefficient != -1))
          return false;
        term = &t;
      }
  if (!term || latestOf(e, state))
    return false;
  const Atom &atom = term->atoms[0]->atom;
  const Expr &x = atom.operands[0], &y = atom.operands[1];
  Expr self = Expr::fromAtom(atom), value = term->coefficient == 1 ? self - e : self + e;
  bool isPositive = Prover(state).nonNegative(y - Expr(1));
  auto atLeast = [&](const Expr &more, const Expr &less) { constrain(state, more - less, {0, std::nullopt}); };
  if (atom.kind == Atom::Kind::Max || atom.kind == Atom::Kind::Min) {
    bool isMax = atom.kind == Atom::Kind::Max;
    for (const Expr &operand : {x, y})
      isMax ? atLeast(value, operand) : atLeast(operand, value);
    if (value != x && value != y)
      follow = addRule(state, {term->atoms, value});
  } else {
    if (isPositive && atom.kind == Atom::Kind::FloorDiv) {
      atLeast(x, y * value);
      atLeast(y * value + y - Expr(1), x);
    } else if (isPositive) {
      atLeast(value, Expr(0));
      atLeast(y - Expr(1), value);
    }
    follow = addRule(state, {term->atoms, value});
  }
  state.changed();
  return true;
}

/// Minima and maxima in one equality that are looked at.
constexpr size_t mostExtremes = 4;

/// Which operand a minimum or maximum in e = 0 is, where e could not be 0 if it were the other one: min(n, 109) - min(n, 23) = 86, a slice that a
/// constant matrix follows, says that n is 109 or more. The order is recorded; false where nothing follows.
static bool settleExtreme(Facts::State &state, const Facts &facts, const Expr &e) {
  std::vector<AtomRef> extremes;
  for (const Monomial &t : ExprBuilder::terms(e))
    for (const AtomRef &a : t.atoms)
      if ((a->atom.kind == Atom::Kind::Min || a->atom.kind == Atom::Kind::Max) && !llvm::is_contained(extremes, a))
        extremes.push_back(a);
  if (extremes.empty() || extremes.size() > mostExtremes || latestOf(e, state))
    return false;
  for (const AtomRef &extreme : extremes) {
    const Expr &x = extreme->atom.operands[0], &y = extreme->atom.operands[1];
    for (const auto &[less, more] : {std::pair(x, y), std::pair(y, x)}) {
      Facts trial = facts.clone();
      trial.addLessEqual(less + Expr(1), more);
      if (!trial.provablyPositive(e) && !trial.provablyPositive(-e))
        continue;
      constrain(state, less - more, {0, std::nullopt});
      state.changed();
      return true;
    }
  }
  return false;
}

bool Facts::addEquality(const Expr &a, const Expr &b) {
  Expr left = simplify(a), right = simplify(b), e = left - right;
  if (e.isUnknown())
    return true; // Nothing is known, so nothing is contradicted.
  if (e.constant())
    return e.isZero();
  if (provablyPositive(e) || provablyPositive(-e))
    return false;
  // The common factor of the coefficients is no part of the fact; a constant that it does not divide contradicts it.
  int64_t g = 0, constant = 0;
  for (const Monomial &t : ExprBuilder::terms(e)) {
    if (t.coefficient == INT64_MIN)
      return true;
    (t.atoms.empty() ? constant : g) = t.atoms.empty() ? t.coefficient : std::gcd(g, t.coefficient);
  }
  if (g > 1 && constant % g != 0 && !e.hasOpaque())
    return false;
  if (g > 1 && constant % g == 0)
    e = Expr::divideExactly(e, Expr(g)).value_or(e); // long ones are not divided
  e = withoutPositiveFactors(*state, e);
  std::vector<Expr> follow;
  auto holds = [&] { return llvm::all_of(std::exchange(follow, {}), [&](const Expr &zero) { return addEquality(zero, Expr(0)); }); };
  for (unsigned tries = 0; addDefinition(*state, e, follow); ++tries) {
    if (!holds())
      return false;
    // What bounds the value may leave the term one value, or none, or write it in another way.
    Expr rest = simplify(e);
    if (rest.constant())
      return rest.isZero();
    if (rest == e || tries == mostDefinitions)
      return true;
    e = rest;
  }
  std::optional<std::string> symbol = chooseSolved(e, left, right, *state);
  if (!symbol && settleExtreme(*state, *this, e) && simplify(e) != e)
    return addEquality(e, Expr(0));
  if (!symbol) {
    follow = addRewrite(*state, e, latestOf(e, *state).has_value());
    return holds();
  }
  Expr::Linear l = *e.linearIn(*symbol);
  follow = substituteSymbol(*state, *symbol, l.coefficient == Expr(1) ? -l.rest : l.rest);
  return holds();
}

void Facts::addLessEqual(const Expr &a, const Expr &b) {
  Expr e = simplify(b - a);
  if (e.isUnknown() || e.constant())
    return;
  constrain(*state, e, {0, std::nullopt});
  state->changed();
}

/// The term with its operands simplified; the lesser or the greater of two whose order is known. (To simplify the term itself
/// would use the very fact that is to be restated.)
static Expr restated(const Facts &facts, const Atom &a) {
  if (a.kind == Atom::Kind::Symbol)
    return Expr::fromAtom(a);
  Expr left = facts.simplify(a.operands[0]), right = facts.simplify(a.operands[1]);
  bool isMin = a.kind == Atom::Kind::Min;
  if ((isMin || a.kind == Atom::Kind::Max) && facts.provablyLessEqual(left, right))
    return isMin ? left : right;
  if ((isMin || a.kind == Atom::Kind::Max) && facts.provablyLessEqual(right, left))
    return isMin ? right : left;
  return Expr::fromAtom({a.kind, "", {left, right}});
}

void Facts::restate() {
  std::vector<State::Rewrite> known = state->rewrites; // addEquality adds to them
  for (const State::Rewrite &r : known) {
    Expr was(r.coefficient), now(r.coefficient);
    for (const AtomRef &a : r.product) {
      was = was * Expr::fromAtom(a->atom);
      now = now * restated(*this, a->atom);
    }
    if (now != was && !now.isUnknown())
      addEquality(now, r.value);
  }
}

static std::string wordOf(const Expr &e) {
  std::string word = e.str();
  for (char &c : word)
    if (!llvm::isAlnum(c) && !llvm::StringRef("_$.@#").contains(c))
      c = '_';
  return word;
}

void Facts::addDivides(const Expr &k, const Expr &e) {
  Expr divisor = simplify(k), value = simplify(e);
  if (divisor.isUnknown() || value.isUnknown() || divisor.isZero() || provablyDivides(divisor, value))
    return;
  std::string word = wordOf(e) + ".div." + wordOf(k), name = quotedName(word);
  while (state->ranges.count(name) || state->substitutions.count(name))
    name = quotedName(word += "_");
  Prover prover(*state);
  Range v = prover.interval(value), d = prover.interval(divisor);
  Range q{0, std::nullopt};
  if (v.min && *v.min > 0)
    q.min = d.max && *d.max > 0 ? std::max<int64_t>(1, -floorQuotient(-*v.min, *d.max)) : 1;
  if (v.max && *v.max >= 0)
    q.max = *v.max / std::max<int64_t>(1, d.min.value_or(1));
  state->ranges[name] = q;
  state->derived.emplace_back(name, Expr::floordiv(e, k));
  if (latestOf(value, *state) || latestOf(divisor, *state))
    setLate(name);
  addEquality(value, divisor * Expr::symbol(name));
}

const std::vector<std::pair<std::string, Expr>> &Facts::derived() const { return state->derived; }

//===-- Questions ----------------------------------------------------------===//

Expr Facts::simplify(const Expr &e) const { return simplifyWith(*state, e); }

Range Facts::bounds(const Expr &e) const {
  Expr s = simplify(e);
  Range r = Prover(*state).interval(s);
  if (!s.isUnknown() && (!r.min || *r.min < 0) && Prover::nonNegative(*state, s))
    r.min = 0;
  return r;
}

bool Facts::provablyEqual(const Expr &a, const Expr &b) const {
  if (a == b)
    return true;
  Expr d = simplify(a - b);
  if (d.isUnknown() || d.isZero())
    return !d.isUnknown();
  if (d.constant())
    return false;
  if (d.hasOpaque() && simplify(expandMod(d)).isZero())
    return true;
  return Prover::nonNegative(*state, d) && Prover::nonNegative(*state, -d);
}

bool Facts::provablyLessEqual(const Expr &a, const Expr &b) const { return Prover::nonNegative(*state, simplify(b - a)); }
bool Facts::provablyLess(const Expr &a, const Expr &b) const { return provablyLessEqual(a + Expr(1), b); }

bool Facts::provablyDivides(const Expr &k, const Expr &e) const {
  Expr divisor = simplify(k), value = simplify(e);
  if (divisor.isUnknown() || value.isUnknown() || divisor.isZero())
    return false;
  return Expr::divideExactly(value, divisor).has_value() || simplify(Expr::mod(value, divisor)).isZero();
}

} // namespace lathe::shape
