//===- BroadcastSizes.cpp - Sizes of which one may be 1 in a run ------------===//
//
// Where two sizes meet that are not known to be equal, ONNX allows one of them to be 1 in any run. For a size that has a name, a
// sum or a constant beside it says how large it is (total = past + seq, heads = 12), and equality is assumed. What a window leaves
// of another size does not. Then the size of the result is computed when the model runs. Two that follow from one size (h and
// 2*floordiv(h, 2), of a picture that is made smaller and larger again; s and min(2048, s), of a table that is cut to a length) are
// meant to be equal, too, unless they are at no size worth the name (h and min(1, h - 1), s and past + s).
//
//===----------------------------------------------------------------------===//

#include "Failure.h"
#include "SizeModel.h"

using namespace lathe;
using namespace lathe::onnx;
using shape::Expr;

/// |a - b|
static Expr distance(const Expr &a, const Expr &b) { return Expr::max(a - b, b - a); }

/// The quotient that the symbol stands for; null where it stands for none.
static const Expr *quotientOf(const shape::Facts &known, const std::string &symbol) {
  for (const auto &[name, value] : known.derived())
    if (name == symbol && !value.mentions(symbol))
      return &value;
  return nullptr;
}

/// A quotient of such a size is one, too: once 2 divides it, it is written as 2*q.
bool SizeModel::isUnnamed(const Expr &e) const {
  return llvm::any_of(e.symbols(), [&](const std::string &s) {
    const Expr *quotient = quotientOf(known, s);
    return unnamed.count(s) || broadcasts.count(s) || (quotient && isUnnamed(*quotient));
  });
}

/// Whether two that follow from one size are equal where that is a usual one: any of some dozens, or a large one that many numbers
/// divide, or one close to it.
static bool areEqualSomewhere(const Expr &a, const Expr &b) {
  constexpr int64_t smallest = 8, dozens = 64, large = 720720; // divisible by 1 to 16
  auto areEqualAt = [&](int64_t size) {
    std::map<std::string, int64_t> values;
    for (const Expr &e : {a, b})
      for (const std::string &s : e.symbols())
        values[s] = size;
    std::optional<int64_t> x = a.evaluate(values), y = b.evaluate(values);
    return !x || !y || (*x == *y && *x > 1);
  };
  return llvm::any_of(llvm::seq(smallest, dozens), areEqualAt) || llvm::any_of(llvm::seq(large - smallest, large + smallest), areEqualAt);
}

/// What windows, slices or the other sizes of a reshape leave of a size: it may well be 1, and does not say how large what stands
/// beside it is. A sum of sizes does.
bool SizeModel::isLeftOver(const Expr &e) const {
  if (std::optional<std::string> symbol = e.asSymbol())
    return quotientOf(known, *symbol);
  return e.hasOpaque() || llvm::any_of(e.terms(), [](const Expr::Term &t) { return t.coefficient < 0; });
}

bool SizeModel::mayBroadcast(const Expr &a, const Expr &b) const {
  auto mayBeEqual = [&](const Expr &x, const Expr &y) { return known.clone().addEquality(x, y); };
  auto isPlain = [&](const Expr &e) {
    std::optional<std::string> name = e.asSymbol();
    return name && llvm::any_of(symbols, [&](const Symbol &s) { return s.name == *name && !s.late && s.element.empty(); });
  };
  bool differ = isLeftOver(a) || isLeftOver(b) || isUnnamed(a) || isUnnamed(b) || (isPlain(a) && isPlain(b));
  // So may what is counted while the model runs (boxes that are left, distinct values), and any formula, where a constant stands
  // beside it; and such a count beside an input's size.
  auto mayBeOneBeside = [&](const Expr &e, const Expr &other) {
    return (other.constant() && (isLate(e) || !e.asSymbol())) || (isPlain(other) && isLate(e));
  };
  differ |= mayBeOneBeside(a, b) || mayBeOneBeside(b, a);
  // What is never more than 1 makes nothing else that small.
  auto isAtMostOne = [&](const Expr &e) { return known.bounds(e).max.value_or(2) <= 1; };
  differ |= isAtMostOne(a) != isAtMostOne(b);
  bool isRelated = llvm::any_of(a.symbols(), [&](const std::string &s) { return b.mentions(s); });
  return ((isRelated ? !areEqualSomewhere(a, b) : differ) || !mayBeEqual(a, b)) && (mayBeEqual(a, Expr(1)) || mayBeEqual(b, Expr(1)));
}

/// In each body once.
void SizeModel::requireOnce(const Expr &condition, const std::string &says) {
  if (condition.isUnknown())
    failUnsupported("a size does not fit 64-bit arithmetic");
  if (llvm::none_of(checks, [&](const Relation &r) { return r.body == body && r.says == says; }))
    checks.push_back({condition, Expr(0), "holds", says, body});
}

/// What meets in a broadcast of this size, however it is written; of any other, the size itself.
std::vector<Expr> SizeModel::partsOf(const Expr &size) const {
  for (const auto &[symbol, parts] : broadcasts)
    if (size.asSymbol() == symbol || known.simplify(Expr::symbol(symbol)) == size)
      return parts;
  return {size};
}

/// Whether a has met `whole` already.
bool SizeModel::broadcastsTo(const Expr &a, const Expr &whole) const {
  std::vector<Expr> parts = partsOf(whole);
  return llvm::all_of(partsOf(a), [&](const Expr &part) { return llvm::is_contained(parts, part); });
}

void SizeModel::requireBroadcasts(const Expr &a, const Expr &whole) {
  if (!broadcastsTo(a, whole))
    requireOnce(Expr::min(distance(a, whole), distance(a, Expr(1))), a.str() + " = 1 or " + a.str() + " = " + whole.str());
}

void SizeModel::requireUpTo(const Expr &size, const Expr &most) {
  requireOnce(Expr::max(Expr(0), Expr::max(size - most, Expr::min(Expr(1), most) - size)), size.str() + " is 1 to " + most.str());
}

void SizeModel::requireRoom(const Expr &room, const Expr &stride) {
  if (!known.provablyLessEqual(Expr(0), room))
    requireOnce(Expr::min(Expr::max(Expr(0), Expr(0) - room), distance(room, Expr(0) - stride)), room.str() + " >= 0, so that the window of a pool fits");
}

Expr SizeModel::broadcastSize(const std::string &name, const Expr &a, const Expr &b) {
  for (auto [part, whole] : {std::pair(a, b), std::pair(b, a)})
    if (broadcastsTo(part, whole))
      return whole;
  std::vector<Expr> parts = partsOf(a), others = partsOf(b);
  llvm::copy_if(others, std::back_inserter(parts), [&](const Expr &e) { return !llvm::is_contained(parts, e); });
  llvm::sort(parts);
  requireOnce(Expr::min(distance(a, b), Expr::min(distance(a, Expr(1)), distance(b, Expr(1)))),
              a.str() + " = " + b.str() + ", or one of them is 1");
  for (const auto &[symbol, of] : broadcasts)
    if (of == parts && !definition(symbol).empty()) { // an import that was given up may have defined it
      declare(symbol);
      if (isIsolated())
        fresh.push_back(symbol);
      return Expr::symbol(symbol);
    }
  Expr most(0), any(1); // a size of 0 beside a size of 1 is 0
  for (const Expr &part : parts) {
    most = Expr::max(most, part);
    if (!known.provablyLessEqual(Expr(1), part))
      any = any * Expr::min(Expr(1), part);
  }
  Expr size = define(name, known.simplify(most) * any, std::nullopt, any.isOne() ? 1 : 0);
  if (std::optional<std::string> symbol = size.asSymbol())
    broadcasts[*symbol] = parts;
  return size;
}
