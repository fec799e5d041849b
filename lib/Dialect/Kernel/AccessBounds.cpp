//===- AccessBounds.cpp - K7: no access leaves its buffer ------------------===//
//
// An offset is bounded by the extents of the axes, which the shape engine knows how to use, and by what the access's predicate
// says of index expressions. The latter become axes: where `low <= x < high` holds, x is low plus a new axis of high - low
// places, and the offset is written with that axis instead.
//
//===----------------------------------------------------------------------===//

#include "ExtentVariables.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::kernel;
using shape::Expr;

namespace {

/// low <= x < high for every admitted point; x has no constant part of its own.
struct Interval {
  Expr x;
  std::optional<Expr> low, high;
};

class Bounds {
public:
  Bounds(ArrayRef<Conjunct> given, const shape::Facts &facts);
  bool isInside(Expr offset, const Expr &size);

private:
  void limit(const Expr &notNegative);
  void closeEnds();
  std::optional<Expr> extreme(const Expr &e, bool upper) const;
  std::optional<std::pair<std::string, Expr>> solve(const Interval &i, const Expr &value) const;
  Expr rewrite(Expr offset, std::vector<Interval> by, bool solving);
  Expr quotientsAsAxes(const Expr &e);
  Expr quotientAsAxis(const shape::Atom &a);
  Expr minimumAsAxis(const Expr &whole, const Expr &x, const Expr &y);
  Expr axisFor(const Expr &whole, const Expr &last);
  std::vector<Extent> axesOf(const Expr &offset) const;
  bool isBlockInside(const Expr &offset, const Expr &size) const;
  bool holds(const Expr &offset, const Expr &size);

  std::vector<Interval> intervals;
  shape::Facts facts;
  std::map<std::string, std::string> quotients; ///< the axes that stand for them, by text
};

} // namespace

/// The part of an expression that varies over the points: terms that mention an axis or an index read at run time.
static bool varies(const Expr::Term &t, const shape::Facts &facts) {
  return llvm::any_of(t.atoms, [&](const shape::Atom &a) {
    return llvm::any_of(Expr::fromAtom(a).symbols(), [&](const std::string &s) {
      shape::SymbolKind kind = shape::kindOf(s);
      return kind == shape::SymbolKind::Indirect || kind == shape::SymbolKind::Variable || facts.extentOf(s);
    });
  });
}

static Expr termExpr(const Expr::Term &t) {
  Expr e(t.coefficient);
  for (const shape::Atom &a : t.atoms)
    e = e * Expr::fromAtom(a);
  return e;
}

/// e >= 0 bounds its varying part x from below, or -x from above.
void Bounds::limit(const Expr &e) {
  Expr x(0), fixed(0);
  for (const Expr::Term &t : e.terms())
    (varies(t, facts) ? x : fixed) = (varies(t, facts) ? x : fixed) + termExpr(t);
  if (x.isZero())
    return;
  for (bool low : {true, false}) {
    Expr key = low ? x : -x, end = low ? -fixed : fixed + Expr(1); // x >= -fixed; or -x <= fixed
    auto it = llvm::find_if(intervals, [&](const Interval &i) { return i.x == key; });
    if (it == intervals.end())
      it = intervals.insert(it, {key, std::nullopt, std::nullopt});
    std::optional<Expr> &known = low ? it->low : it->high;
    if (!known || (low ? facts.provablyLessEqual(*known, end) : facts.provablyLessEqual(end, *known)))
      known = end;
  }
}

/// A bound of an expression over all points: axes at the end where it is largest or smallest.
std::optional<Expr> Bounds::extreme(const Expr &e, bool upper) const {
  Expr bound = e;
  for (const std::string &name : e.symbols()) {
    std::optional<Expr> extent = facts.extentOf(name);
    if (!extent)
      continue;
    std::optional<Expr::Linear> linear = bound.linearIn(name);
    if (!linear)
      return std::nullopt;
    bool up = facts.provablyLessEqual(Expr(0), linear->coefficient);
    if (!up && !facts.provablyLessEqual(linear->coefficient, Expr(0)))
      return std::nullopt;
    bound = linear->rest + linear->coefficient * (up == upper ? *extent - Expr(1) : Expr(0));
  }
  return bound;
}

/// A comparison that was not needed, since the extents say the same, is found again.
void Bounds::closeEnds() {
  llvm::erase_if(intervals, [&](Interval &i) {
    shape::Range range = facts.bounds(i.x);
    if (!i.low)
      i.low = range.min ? Expr(*range.min) : extreme(i.x, false);
    if (!i.high)
      if (std::optional<Expr> last = range.max ? Expr(*range.max) : extreme(i.x, true))
        i.high = *last + Expr(1);
    return !i.low || !i.high;
  });
  // Of x and -x, which say the same, one stays.
  std::vector<Interval> kept;
  for (Interval &i : intervals)
    if (llvm::none_of(kept, [&](const Interval &k) { return k.x == -i.x; }))
      kept.push_back(i);
  intervals = std::move(kept);
}

Bounds::Bounds(ArrayRef<Conjunct> given, const shape::Facts &known) : facts(known.clone()) {
  for (const Conjunct &c : given)
    if (!c.value && !c.notNegative.isUnknown())
      limit(facts.simplify(c.notNegative));
  closeEnds();
}

/// The axis that x has with coefficient 1 or -1, and what it then is.
std::optional<std::pair<std::string, Expr>> Bounds::solve(const Interval &i, const Expr &value) const {
  for (const std::string &name : i.x.symbols()) {
    std::optional<Expr::Linear> linear = i.x.linearIn(name);
    bool one = linear && linear->coefficient.isOne(), minusOne = linear && linear->coefficient == Expr(-1);
    if ((one || minusOne) && facts.extentOf(name))
      return std::make_pair(name, one ? value - linear->rest : linear->rest - value);
  }
  return std::nullopt;
}

/// The offset with low + (new axis) for each x: by solving for an axis, which also reaches into quotients, or by dividing the
/// offset by x.
Expr Bounds::rewrite(Expr offset, std::vector<Interval> by, bool solving) {
  for (size_t n = 0; n < by.size(); ++n) {
    Expr place = Expr::variable("in" + std::to_string(n)), value = *by[n].low + place;
    facts.setAxis(place.str(), facts.simplify(*by[n].high - *by[n].low));
    auto axis = solving ? solve(by[n], value) : std::nullopt;
    if (!axis) {
      Expr::Division d = Expr::divide(offset, by[n].x);
      if (!d.quotient.isZero())
        offset = facts.simplify(d.quotient * value + d.remainder);
      continue;
    }
    std::map<std::string, Expr> with{{axis->first, axis->second}};
    offset = facts.simplify(offset.substitute(with));
    for (size_t later = n + 1; later < by.size(); ++later)
      by[later].x = facts.simplify(by[later].x.substitute(with));
  }
  return offset;
}

/// Quotients and remainders of what is not negative are axes, too: floordiv(x, k) with x < n has floordiv(n - 1, k) + 1 places,
/// mod(x, k) has k, and so has min(x, k - 1). An offset over axes is bounded one axis after the other, without the slack of x - k < k*floordiv(x, k).
Expr Bounds::quotientsAsAxes(const Expr &e) {
  Expr out(0);
  for (const Expr::Term &t : e.terms()) {
    Expr product(t.coefficient);
    for (const shape::Atom &a : t.atoms)
      product = product * quotientAsAxis(a);
    out = out + product;
  }
  return out;
}

Expr Bounds::quotientAsAxis(const shape::Atom &a) {
  if (a.kind == shape::Atom::Kind::Symbol)
    return Expr::fromAtom(a);
  Expr x = quotientsAsAxes(a.operands[0]), y = quotientsAsAxes(a.operands[1]);
  Expr whole = Expr::fromAtom({a.kind, "", {x, y}});
  if (a.kind == shape::Atom::Kind::Min)
    return minimumAsAxis(whole, x, y);
  bool mod = a.kind == shape::Atom::Kind::Mod;
  if ((!mod && a.kind != shape::Atom::Kind::FloorDiv) || !facts.provablyPositive(y) || !facts.provablyLessEqual(Expr(0), x))
    return whole;
  std::optional<Expr> last = mod ? y - Expr(1) : extreme(x, true);
  if (!last)
    return whole;
  return axisFor(whole, mod ? *last : Expr::floordiv(*last, y));
}

/// The least of a size and what varies.
Expr Bounds::minimumAsAxis(const Expr &whole, const Expr &x, const Expr &y) {
  auto isFixed = [&](const Expr &e) { return llvm::none_of(e.terms(), [&](const Expr::Term &t) { return varies(t, facts); }); };
  if (isFixed(x) == isFixed(y) || !facts.provablyLessEqual(Expr(0), x) || !facts.provablyLessEqual(Expr(0), y))
    return whole;
  return axisFor(whole, isFixed(x) ? x : y);
}

Expr Bounds::axisFor(const Expr &whole, const Expr &last) {
  auto [it, isNew] = quotients.try_emplace(whole.str(), Expr::variable("q" + std::to_string(quotients.size())).str());
  if (isNew)
    facts.setAxis(it->second, facts.simplify(last + Expr(1)));
  return Expr::symbol(it->second);
}

static bool isBetween(const Expr &e, const Expr &size, const shape::Facts &facts) {
  return facts.provablyLessEqual(Expr(0), e) && facts.provablyLess(e, size);
}

/// The offset's axes, with their extents.
std::vector<Extent> Bounds::axesOf(const Expr &offset) const {
  std::vector<Extent> axes;
  for (const std::string &name : offset.symbols())
    if (std::optional<Expr> extent = facts.extentOf(name))
      axes.push_back({name, facts.simplify(*extent)});
  return axes;
}

bool Bounds::isBlockInside(const Expr &offset, const Expr &size) const {
  std::optional<ElementRange> block = blockOf(offset, axesOf(offset), facts);
  return block && facts.provablyLessEqual(Expr(0), block->begin) && facts.provablyLessEqual(block->begin + block->size, size);
}

bool Bounds::holds(const Expr &offset, const Expr &size) {
  Expr e = facts.simplify(offset), length = facts.simplify(size);
  if (isBetween(e, length, facts) || isBlockInside(e, length) || ExtentVariables(facts, axesOf(e)).isBetween(e, length))
    return true;
  if (!e.hasOpaque())
    return false;
  Expr flat = facts.simplify(quotientsAsAxes(e));
  return flat != e && (isBetween(flat, length, facts) || ExtentVariables(facts, axesOf(flat)).isBetween(flat, length));
}

bool Bounds::isInside(Expr offset, const Expr &size) {
  offset = facts.simplify(offset);
  if (holds(offset, size))
    return true;
  for (const Interval &i : intervals) { // the offset itself is what was compared
    Expr rest = offset - i.x;
    bool fixed = llvm::none_of(rest.terms(), [&](const Expr::Term &t) { return varies(t, facts); });
    if (fixed && facts.provablyLessEqual(Expr(0), *i.low + rest) && facts.provablyLessEqual(*i.high + rest, size))
      return true;
  }
  if (intervals.empty())
    return false;
  std::vector<Interval> sorted = intervals; // the most that is known together first
  llvm::stable_sort(sorted, [](const Interval &a, const Interval &b) { return a.x.terms().size() > b.x.terms().size(); });
  return holds(rewrite(offset, intervals, true), size) || holds(rewrite(offset, sorted, false), size) ||
         holds(rewrite(offset, sorted, true), size);
}

/// What a guard says, word for word: 0 <= offset and offset < size.
static bool isGiven(const Expr &offset, const Expr &size, ArrayRef<Conjunct> given, const shape::Facts &facts) {
  auto says = [&](const Expr &e) {
    return llvm::any_of(given, [&](const Conjunct &c) { return !c.value && !c.notNegative.isUnknown() && facts.provablyEqual(c.notNegative, e); });
  };
  return says(offset) && says(size - offset - Expr(1));
}

bool kernel::isInside(const Expr &offset, const Expr &size, ArrayRef<Conjunct> given, const shape::Facts &facts) {
  if (isGiven(offset, size, given, facts))
    return true;
  if (llvm::any_of(given, [&](const Conjunct &c) { return !c.value && facts.provablyLess(c.notNegative, Expr(0)); }))
    return true; // there is no such point
  return Bounds(given, facts).isInside(offset, size);
}

shape::Facts kernel::factsIn(GenericOp kernel, const shape::Facts &facts) {
  shape::Facts mine = facts.clone();
  for (unsigned i = 0; i < kernel.getNumAxes(); ++i)
    mine.setAxis(kernel.getAxisName(i), kernel.getAxisExtent(i));
  return mine;
}

std::pair<Expr, Expr> kernel::splitBy(const Expr &offset, const Expr &stride) {
  if (stride.terms().size() > 1) {
    Expr::Division d = Expr::divide(offset, stride);
    return {d.quotient, d.remainder};
  }
  Expr quotient(0), rest(0);
  for (const Expr::Term &t : offset.terms()) {
    Expr term = termExpr(t);
    if (std::optional<Expr> q = Expr::divideExactly(term, stride)) {
      quotient = quotient + *q;
    } else if (std::optional<int64_t> c = term.constant(), k = stride.constant(); c && k && *k) {
      int64_t q = (*c + (*c < 0 ? -*k / 2 : *k / 2)) / *k;
      quotient = quotient + Expr(q);
      rest = rest + Expr(*c - q * *k);
    } else {
      rest = rest + term;
    }
  }
  return {quotient, rest};
}

/// An offset is inside where each of its coordinates is: extents that are halves of a dimension bound a coordinate, but not an
/// offset. Which part of a constant belongs to which coordinate is found by trying the neighbours of the nearest.
static bool coordinatesInside(const Expr &offset, ArrayRef<Expr> dims, ArrayRef<Conjunct> given, const shape::Facts &facts) {
  while (!dims.empty() && dims.front().isOne())
    dims = dims.drop_front();
  if (dims.size() <= 1)
    return kernel::isInside(offset, shape::product(dims), given, facts);
  Expr stride = facts.simplify(shape::product(dims.drop_front()));
  auto [coordinate, rest] = splitBy(offset, stride);
  for (int64_t shift : {0, -1, 1, -2, 2})
    if (kernel::isInside(coordinate + Expr(shift), dims.front(), given, facts))
      if (coordinatesInside(rest - stride * Expr(shift), dims.drop_front(), given, facts))
        return true;
  return false;
}

bool kernel::accessStaysInside(Operation *access, ArrayRef<Expr> dims, ConditionReader &reader) {
  Value predicate = isa<LoadOp>(access) ? cast<LoadOp>(access).getPredicate() : cast<StoreOp>(access).getPredicate();
  Expr offset = reader.facts.simplify(reader.offsetOf(access)), size = reader.facts.simplify(shape::product(dims));
  std::vector<Conjunct> given = reader.conjunctsOf(predicate);
  return kernel::isInside(offset, size, given, reader.facts) || coordinatesInside(offset, dims, given, reader.facts);
}
