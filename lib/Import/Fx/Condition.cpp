//===- Condition.cpp - What a program asserts of its sizes ------------------===//

#include "Condition.h"
#include "llvm/ADT/StringExtras.h"

using namespace lathe;
using namespace lathe::fx;
using shape::Expr;
using Kind = Condition::Kind;

static const char *signOf(Kind kind) {
  static const char *const signs[] = {" == ", " != ", " < ", " <= ", " > ", " >= ", " and ", " or ", "not "};
  return signs[size_t(kind)];
}

std::string Condition::str() const {
  if (isComparison())
    return left.str() + signOf(kind) + right.str();
  if (operands.empty())
    return kind == Kind::And ? "True" : "False";
  if (kind == Kind::Not)
    return "not (" + operands[0].str() + ")";
  std::vector<std::string> parts;
  for (const Condition &c : operands)
    parts.push_back(c.isComparison() || c.kind == Kind::Not ? c.str() : "(" + c.str() + ")");
  return llvm::join(parts, signOf(kind));
}

std::set<std::string> Condition::symbols() const {
  std::set<std::string> all;
  for (const Expr &e : {left, right})
    all.merge(e.symbols());
  for (const Expr &e : divisors)
    all.merge(e.symbols());
  for (const Condition &c : operands)
    all.merge(c.symbols());
  return all;
}

Condition Condition::substitute(const std::map<std::string, Expr> &with) const {
  Condition result{kind, left.substitute(with), right.substitute(with), {}, {}};
  for (const Condition &c : operands)
    result.operands.push_back(c.substitute(with));
  for (const Expr &e : divisors)
    result.divisors.push_back(e.substitute(with));
  return result;
}

/// The negation of this, with every `not` moved to the comparisons and resolved there.
Condition Condition::negated() const {
  static const Kind opposite[] = {Kind::NotEqual,  Kind::Equal, Kind::GreaterEqual, Kind::Greater,
                                  Kind::LessEqual, Kind::Less,  Kind::Or,           Kind::And};
  if (kind == Kind::Not)
    return operands[0];
  Condition result = *this;
  result.kind = opposite[size_t(kind)];
  for (Condition &c : result.operands)
    c = c.isComparison() ? c.negated() : negation(c);
  return result;
}

std::vector<Condition> Condition::conjuncts() const {
  if (kind == Kind::Not)
    return operands[0].negated().conjuncts();
  std::vector<Condition> result;
  if (kind == Kind::And) {
    for (const Condition &c : operands)
      for (Condition &part : c.conjuncts())
        result.push_back(std::move(part));
    return result;
  }
  for (const Expr &divisor : divisors)
    result.push_back(compare(Kind::NotEqual, divisor, Expr(0)));
  result.push_back(*this);
  result.back().divisors.clear();
  return result;
}

Expr Condition::excess() const {
  auto distance = [&] { return Expr::max(left - right, right - left); };
  auto unequal = [](const Expr &distance) { return Expr(1) - distance; };
  auto compared = [&] {
    switch (kind) {
    case Kind::Equal:
      return distance();
    case Kind::NotEqual:
      return unequal(distance());
    case Kind::Less:
      return left - right + Expr(1);
    case Kind::LessEqual:
      return left - right;
    case Kind::Greater:
      return right - left + Expr(1);
    default:
      return right - left;
    }
  };
  if (kind == Kind::Not)
    return operands[0].negated().excess();
  if (isComparison()) {
    Expr result = compared();
    for (const Expr &divisor : divisors)
      result = Expr::max(result, unequal(Expr::max(divisor, -divisor)));
    return result;
  }
  if (operands.empty())
    return Expr(kind == Kind::Or);
  Expr result = operands[0].excess();
  for (size_t i = 1; i < operands.size(); ++i)
    result = kind == Kind::And ? Expr::max(result, operands[i].excess()) : Expr::min(result, operands[i].excess());
  return result;
}

bool Condition::follows(const shape::Facts &facts) const {
  return facts.provablyLessEqual(excess(), Expr(0)) || (kind == Kind::Equal && facts.provablyEqual(left, right));
}
