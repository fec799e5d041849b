//===- Samples.cpp - Questions that single points answer with no ----------===//

#include "FactsImpl.h"
#include <algorithm>

namespace lathe::shape {

/// How far above its least value a symbol lies at each point; the second number spreads symbols by their names, so that no point has
/// all sizes equal but the first.
struct Spread {
  int64_t base, byName;
};
constexpr Spread spreads[sampleCount] = {{0, 0}, {1, 0}, {0, 7}, {6, 3}, {30, 61}, {509, 211}};

static Samples::Values combine(const Samples::Values &a, const Samples::Values &b, bool (*apply)(int64_t, int64_t, int64_t &)) {
  Samples::Values out;
  for (unsigned p = 0; p < sampleCount; ++p)
    if (int64_t result; a[p] && b[p] && apply(*a[p], *b[p], result))
      out[p] = result;
  return out;
}

static bool sum(int64_t a, int64_t b, int64_t &out) { return !llvm::AddOverflow(a, b, out); }
static bool product(int64_t a, int64_t b, int64_t &out) { return !llvm::MulOverflow(a, b, out); }
static bool quotient(int64_t a, int64_t b, int64_t &out) {
  if (b <= 0) // Divisors are sizes; where one is not, the point says nothing.
    return false;
  out = floorQuotient(a, b);
  return true;
}
static bool modulus(int64_t a, int64_t b, int64_t &out) { return quotient(a, b, out) && (out = a - out * b, true); }
static bool least(int64_t a, int64_t b, int64_t &out) { return out = std::min(a, b), true; }
static bool greatest(int64_t a, int64_t b, int64_t &out) { return out = std::max(a, b), true; }

Samples::Values Samples::ofSize(const std::string &name) const {
  Range range = defaultRange(name);
  if (auto it = state.ranges.find(name); it != state.ranges.end())
    range = it->second;
  bool isSize = defaultRange(name).min.has_value();
  // A division by the size, or a point on its axis, says that it is 1 at least.
  int64_t low = std::max<int64_t>(range.min.value_or(isSize ? 1 : -20), isSize ? 1 : INT64_MIN);
  uint64_t word = 1469598103934665603ull;
  for (char c : name)
    word = (word ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  Values out;
  if (!range.max || low <= *range.max)
    for (unsigned p = 0; p < sampleCount; ++p) {
      int64_t step = spreads[p].base + (spreads[p].byName ? static_cast<int64_t>(word >> 33) % spreads[p].byName : 0), value;
      if (!llvm::AddOverflow(low, step, value))
        out[p] = range.max ? std::min(value, *range.max) : value;
    }
  return out;
}

/// An axis is at its ends by turns, within its own range; where it has no point, there is no sample.
Samples::Values Samples::ofAxis(const std::string &name, const Expr &extent) {
  Values last = of(extent - Expr(1)), out;
  Range range{0, std::nullopt};
  if (auto it = state.ranges.find(name); it != state.ranges.end())
    range = it->second;
  for (unsigned p = 0; p < sampleCount; ++p) {
    if (!last[p])
      continue;
    int64_t low = std::max<int64_t>(range.min.value_or(0), 0), high = std::min(*last[p], range.max.value_or(INT64_MAX));
    if (low <= high)
      out[p] = p % 2 ? high : low;
  }
  return out;
}

const Samples::Values &Samples::ofSymbol(const AtomRef &node) {
  auto [it, isNew] = atoms.try_emplace(node.get(), node, Values()); // An extent that leads back to its axis finds no value.
  if (!isNew)
    return it->second.second;
  auto axis = state.axes.find(node->text);
  Values values = axis == state.axes.end() ? ofSize(node->text) : ofAxis(node->text, axis->second);
  return atoms[node.get()].second = values;
}

const Samples::Values &Samples::ofAtom(const AtomRef &node) {
  const Atom &a = node->atom;
  if (a.kind == Atom::Kind::Symbol)
    return ofSymbol(node);
  if (auto it = atoms.find(node.get()); it != atoms.end())
    return it->second.second;
  constexpr bool (*functions[])(int64_t, int64_t, int64_t &) = {quotient, modulus, least, greatest};
  constexpr Atom::Kind kinds[] = {Atom::Kind::FloorDiv, Atom::Kind::Mod, Atom::Kind::Min, Atom::Kind::Max};
  Values values;
  for (auto [kind, function] : llvm::zip(kinds, functions))
    if (kind == a.kind)
      values = combine(of(a.operands[0]), of(a.operands[1]), function);
  return atoms.emplace(node.get(), std::pair(node, values)).first->second.second;
}

Samples::Values Samples::of(const Expr &e) {
  Values all;
  if (e.isUnknown())
    return all;
  all.fill(0);
  for (const Monomial &t : ExprBuilder::terms(e)) {
    Values term;
    term.fill(t.coefficient);
    for (const AtomRef &a : t.atoms)
      term = combine(term, ofAtom(a), product);
    all = combine(all, term, sum);
  }
  return all;
}

/// Many questions are asked of one state of knowledge: the first that needs the relations' values keeps them for all.
const SampledRelations &Samples::sampled() {
  if (known)
    return *known;
  {
    std::lock_guard<std::mutex> lock(state.cacheMutex);
    if ((known = state.sampled))
      return *known;
  }
  auto fresh = std::make_shared<SampledRelations>();
  fresh->hold.fill(true);
  for (const Expr &g : state.nonNegative) {
    Values values = of(g);
    for (unsigned p = 0; p < sampleCount; ++p)
      fresh->hold[p] = fresh->hold[p] && values[p] && *values[p] >= 0;
    fresh->all.push_back({g, ExprBuilder::symbols(g), values});
  }
  known = std::move(fresh);
  std::lock_guard<std::mutex> lock(state.cacheMutex);
  state.sampled = known;
  return *known;
}

bool Samples::refute(const Values &values, bool useRelations) {
  for (unsigned p = 0; p < sampleCount; ++p)
    if (values[p] && *values[p] < 0 && (!useRelations || sampled().hold[p]))
      return true;
  return false;
}

bool Samples::isAbove(const SampledRelation &g, const Values &values) {
  for (unsigned p = 0; p < sampleCount; ++p)
    if (values[p] && g.values[p] && *values[p] < *g.values[p])
      return false;
  return true;
}

} // namespace lathe::shape
