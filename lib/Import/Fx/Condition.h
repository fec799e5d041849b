//===- Condition.h - What a program asserts of its sizes --------------------===//
#ifndef LATHE_LIB_IMPORT_FX_CONDITION_H
#define LATHE_LIB_IMPORT_FX_CONDITION_H

#include "lathe/Shape/Facts.h"
#include <vector>

namespace lathe::fx {

/// A condition between sizes, as guards and runtime assertions state them.
struct Condition {
  enum class Kind { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, And, Or, Not };
  Kind kind = Kind::And;
  shape::Expr left, right;             ///< of a comparison
  std::vector<Condition> operands = {}; ///< of And (of none: true), Or (of none: false) and Not
  /// What a comparison's sides divide by, where that is no constant: Python raises an error where one is 0.
  std::vector<shape::Expr> divisors = {};

  static Condition compare(Kind kind, const shape::Expr &left, const shape::Expr &right, std::vector<shape::Expr> divisors = {}) {
    return {kind, left, right, {}, std::move(divisors)};
  }
  static Condition all(std::vector<Condition> operands) { return {Kind::And, {}, {}, std::move(operands), {}}; }
  static Condition any(std::vector<Condition> operands) { return {Kind::Or, {}, {}, std::move(operands), {}}; }
  static Condition negation(Condition operand) { return {Kind::Not, {}, {}, {std::move(operand)}, {}}; }

  bool isComparison() const { return kind < Kind::And; }
  /// In Python: "s0 < s1 or not (s0 == 3 and s1 != 4)".
  std::string str() const;
  std::set<std::string> symbols() const;
  Condition substitute(const std::map<std::string, shape::Expr> &with) const;
  /// What holds exactly where all of these hold: comparisons and disjunctions. No division by zero is left out.
  std::vector<Condition> conjuncts() const;
  /// The condition holds exactly where this is at most 0: a comparison is a difference, `and` a maximum, `or` a minimum.
  shape::Expr excess() const;
  bool follows(const shape::Facts &facts) const;

private:
  Condition negated() const;
};

/// A condition that is checked (nothing where it could not be read), and how a message names it.
struct Statement {
  std::optional<Condition> condition;
  std::string text;
  std::string place = {}; ///< the branch that needs it, as the importer calls it; empty: every run does
};

} // namespace lathe::fx

#endif // LATHE_LIB_IMPORT_FX_CONDITION_H
