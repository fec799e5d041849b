//===- Facts.h - What is known of the symbols, and proofs from it ----------===//
//
// Ranges (from the model, from --dim, or of a kernel's axes), equalities and divisibilities, and the questions that the
// compiler asks of them. All answers are conservative: true means proven, false means not proven.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_SHAPE_FACTS_H
#define LATHE_SHAPE_FACTS_H

#include "lathe/Shape/Expr.h"

namespace lathe::shape {

/// An inclusive range of integers; a missing end is unbounded.
struct Range {
  std::optional<int64_t> min, max;
};

class Facts {
public:
  /// min <= symbol <= max (either may be missing); call for each declared symbol. Sizes default to [0, unbounded), elements
  /// of tensors (`k[0]`) to every integer.
  void setRange(llvm::StringRef symbol, Range range);
  Range rangeOf(llvm::StringRef symbol) const;
  /// The symbol has its value later than those that are not late, or were declared so before: no equality replaces one of
  /// these by it.
  void setLate(llvm::StringRef symbol);
  /// 0 <= axis < extent, for an axis of a kernel; lets (h*D + d) // D become h.
  void setAxis(llvm::StringRef axis, const Expr &extent);
  /// The extent of an axis; nothing for any other symbol.
  std::optional<Expr> extentOf(llvm::StringRef axis) const;
  /// a = b. Kept as a substitution of a symbol where one side can be solved for it (oriented so that no symbol is replaced
  /// by itself); returns false when the fact contradicts what is known.
  bool addEquality(const Expr &a, const Expr &b);
  /// a <= b.
  void addLessEqual(const Expr &a, const Expr &b);
  /// States known equalities again in the terms that simplify() gives now: an inequality that came later may have made some shorter.
  void restate();
  /// k divides e: e becomes k * q for a fresh symbol q (deterministically named after the two), also where k is symbolic;
  /// floordiv(e, k) then is q.
  void addDivides(const Expr &k, const Expr &e);
  /// The fresh symbols of addDivides and how to compute them, in the order of creation: (text, floordiv(e, k)).
  const std::vector<std::pair<std::string, Expr>> &derived() const;

  /// Applies the substitutions and simplifies floordiv, mod, min and max by the known ranges.
  Expr simplify(const Expr &e) const;
  /// Bounds of the value over all admissible symbols.
  Range bounds(const Expr &e) const;

  bool provablyEqual(const Expr &a, const Expr &b) const;
  bool provablyLess(const Expr &a, const Expr &b) const;      ///< a < b
  bool provablyLessEqual(const Expr &a, const Expr &b) const; ///< a <= b
  bool provablyPositive(const Expr &e) const { return provablyLess(Expr(0), e); }
  bool provablyDivides(const Expr &k, const Expr &e) const;

  /// A copy shares what is known; a clone is independent. A Facts is built by one thread and may then be read by many.
  Facts();
  Facts clone() const;
  struct State;

private:
  std::shared_ptr<State> state;
};

/// Dimensions of two shapes with the same number of elements, grouped from the left into the smallest runs with provably
/// equal products: [B*S, 768] and [B, S, 12, 64] give {([0],[0,1]), ([1],[2,3])}. Nothing when no such grouping is provable.
/// A size-1 dimension with no counterpart joins the neighbouring group.
struct DimGroup {
  std::vector<unsigned> left, right;
};
std::optional<std::vector<DimGroup>> matchReshape(llvm::ArrayRef<Expr> left, llvm::ArrayRef<Expr> right, const Facts &facts);

} // namespace lathe::shape

#endif // LATHE_SHAPE_FACTS_H
