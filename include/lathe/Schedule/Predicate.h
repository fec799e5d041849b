//===- Predicate.h - Conditions on sizes -----------------------------------===//
//
// When a schedule serves: comparisons of expressions over the size symbols of a kernel, all of which hold. Text form:
//     n <= 128 and n > 64
//     mod(k, 4) = 0 and x0 = w0
// Ranges, divisibility, ratios and equality are all comparisons. Nothing at all always holds.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_SCHEDULE_PREDICATE_H
#define LATHE_SCHEDULE_PREDICATE_H

#include "lathe/Shape/Expr.h"

namespace lathe::schedule {

enum class Relation { LessEqual, Less, Equal };

/// left (relation) right.
struct Comparison {
  shape::Expr left, right;
  Relation relation;
};

class Predicate {
public:
  Predicate() = default;
  static llvm::Expected<Predicate> parse(llvm::StringRef text);

  bool always() const { return comparisons.empty(); }
  llvm::ArrayRef<Comparison> all() const { return comparisons; }
  Predicate &add(const shape::Expr &left, Relation relation, const shape::Expr &right);
  std::string str() const;
  /// What is left to ask where comparisons of numbers hold; nothing where one of them does not.
  std::optional<Predicate> unknown() const;
  std::set<std::string> symbols() const;
  /// Whether it holds; false where a symbol has no value.
  bool holds(const std::map<std::string, int64_t> &sizes) const;
  Predicate substitute(const std::map<std::string, shape::Expr> &with) const;
  /// What the equalities say of symbols: a size, by what it is there. Each symbol occurs once, on the left.
  std::map<std::string, shape::Expr> equalities() const;

private:
  std::vector<Comparison> comparisons;
};

} // namespace lathe::schedule

#endif // LATHE_SCHEDULE_PREDICATE_H
