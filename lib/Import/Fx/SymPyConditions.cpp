//===- SymPyConditions.cpp - Conditions as torch.export writes them --------===//
//
//   disjunction = conjunction { 'or' conjunction }
//   conjunction = negation { 'and' negation }
//   negation    = 'not' negation | comparison | '(' disjunction ')' | 'True' | 'False'
//   comparison  = sum ('==' | '!=' | '<=' | '<' | '>=' | '>') sum
//
//===----------------------------------------------------------------------===//

#include "SymPyParser.h"
#include "llvm/ADT/StringSwitch.h"

using namespace lathe;
using namespace lathe::fx;
using Kind = Condition::Kind;

static constexpr unsigned maxDepth = 64;

/// The comparison that was just read takes what it divided by with it.
std::optional<Condition> SymPyParser::withDivisors(std::optional<Condition> condition) {
  if (condition && condition->isComparison())
    condition->divisors = divisors;
  else if (condition) // the last one is the comparison itself
    condition->operands.back().divisors = divisors;
  divisors.clear();
  return condition;
}

std::optional<Condition> SymPyParser::disjunction() {
  if (depth > maxDepth)
    return std::nullopt;
  ++depth;
  auto first = conjunction();
  std::vector<Condition> all;
  while (first && takeWord("or")) {
    auto next = conjunction();
    if (!next)
      return std::nullopt;
    all.push_back(std::move(*next));
  }
  --depth;
  if (!first || all.empty())
    return first;
  all.insert(all.begin(), std::move(*first));
  return Condition::any(std::move(all));
}

std::optional<Condition> SymPyParser::conjunction() {
  auto first = negation();
  std::vector<Condition> all;
  while (first && takeWord("and")) {
    auto next = negation();
    if (!next)
      return std::nullopt;
    all.push_back(std::move(*next));
  }
  if (!first || all.empty())
    return first;
  all.insert(all.begin(), std::move(*first));
  return Condition::all(std::move(all));
}

std::optional<Condition> SymPyParser::negation() {
  bool negative = false;
  while (takeWord("not"))
    negative = !negative;
  auto wrap = [&](std::optional<Condition> c) { return c && negative ? Condition::negation(std::move(*c)) : c; };
  if (takeWord("True"))
    return wrap(Condition::all({}));
  if (takeWord("False"))
    return wrap(Condition::any({}));
  // A parenthesis opens a sum or a condition.
  llvm::StringRef before = rest;
  unsigned depthBefore = depth;
  if (auto c = comparison())
    return wrap(std::move(c));
  rest = before;
  depth = depthBefore;
  divisors.clear();
  if (!take("("))
    return std::nullopt;
  auto inner = disjunction();
  return inner && take(")") ? wrap(std::move(inner)) : std::nullopt;
}

std::optional<Condition> SymPyParser::comparison() {
  static const std::pair<const char *, Kind> signs[] = {{"==", Kind::Equal},        {"!=", Kind::NotEqual}, {"<=", Kind::LessEqual},
                                                        {">=", Kind::GreaterEqual}, {"<", Kind::Less},      {">", Kind::Greater}};
  auto left = sum();
  if (!left)
    return std::nullopt;
  for (auto [sign, kind] : signs)
    if (take(sign)) {
      auto right = sum();
      return right ? withDivisors(compareQuotients(kind, *left, *right)) : std::nullopt;
    }
  return std::nullopt;
}

std::optional<Condition> SymPyParser::comparisonCall(Kind kind) {
  std::vector<Quotient> args;
  if (!arguments(args) || args.size() != 2)
    return std::nullopt;
  return withDivisors(compareQuotients(kind, args[0], args[1]));
}

/// Or(StrictLessThan(Symbol('s0'), Integer(3)), Not(...)), true
std::optional<Condition> SymPyParser::conditionCall() {
  llvm::StringRef name = word();
  if (name == "true" || name == "True")
    return Condition::all({});
  if (name == "false" || name == "False")
    return Condition::any({});
  auto kind = llvm::StringSwitch<std::optional<Kind>>(name)
                  .Cases("Eq", "Equality", Kind::Equal)
                  .Cases("Ne", "Unequality", Kind::NotEqual)
                  .Cases("Lt", "StrictLessThan", Kind::Less)
                  .Cases("Le", "LessThan", Kind::LessEqual)
                  .Cases("Gt", "StrictGreaterThan", Kind::Greater)
                  .Cases("Ge", "GreaterThan", Kind::GreaterEqual)
                  .Case("And", Kind::And)
                  .Case("Or", Kind::Or)
                  .Case("Not", Kind::Not)
                  .Default(std::nullopt);
  if (!kind || !take("(") || depth > maxDepth)
    return std::nullopt;
  if (*kind < Kind::And)
    return comparisonCall(*kind);
  ++depth;
  std::vector<Condition> operands;
  do {
    auto c = conditionCall();
    if (!c)
      return std::nullopt;
    operands.push_back(std::move(*c));
  } while (take(","));
  --depth;
  if (!take(")") || (*kind == Kind::Not && operands.size() != 1))
    return std::nullopt;
  Condition result;
  result.kind = *kind;
  result.operands = std::move(operands);
  return result;
}

/// After "Piecewise(": ExprCondPair(Integer(2), Equality(..)), ExprCondPair(Integer(5), true)), as torch.sym_ite writes it. The first whose condition holds;
/// the last one's always does.
std::optional<Quotient> SymPyParser::piecewise() {
  std::vector<std::pair<shape::Expr, Condition>> pieces;
  std::vector<shape::Expr> outer = std::move(divisors);
  do {
    divisors.clear();
    if (depth > maxDepth || pieces.size() > maxDepth || !takeWord("ExprCondPair") || !take("("))
      return std::nullopt;
    auto value = sum();
    if (!value || !value->isInteger() || !divisors.empty() || !take(","))
      return std::nullopt;
    auto condition = conditionCall();
    if (!condition || !take(")"))
      return std::nullopt;
    pieces.push_back({value->top, std::move(*condition)});
  } while (take(","));
  divisors = std::move(outer);
  if (!take(")") || pieces.back().second.kind != Kind::And || !pieces.back().second.operands.empty())
    return std::nullopt;
  std::optional<Quotient> chosen = Quotient{pieces.back().first};
  for (size_t i = pieces.size() - 1; i-- > 0 && chosen;) {
    shape::Expr isFirst = shape::Expr::max(shape::Expr(0), shape::Expr(1) - shape::Expr::max(shape::Expr(0), pieces[i].second.excess()));
    auto first = applyFunction("Mul", {Quotient{pieces[i].first}, Quotient{isFirst}});
    auto other = applyFunction("Mul", {*chosen, Quotient{shape::Expr(1) - isFirst}});
    chosen = first && other ? applyFunction("Add", {*first, *other}) : std::nullopt;
  }
  return chosen;
}

std::optional<Condition> SymPyParser::pythonCondition() {
  auto c = disjunction();
  return c && atEnd() ? c : std::nullopt;
}

std::optional<Condition> SymPyParser::calledCondition() {
  auto c = conditionCall();
  return c && atEnd() ? c : std::nullopt;
}

std::optional<Condition> fx::parseSymPyCondition(llvm::StringRef text) { return SymPyParser(text, nullptr).calledCondition(); }

std::optional<Condition> fx::parseGuard(llvm::StringRef text, const std::map<std::string, std::vector<shape::Expr>> &inputs) {
  return SymPyParser(text, &inputs).pythonCondition();
}
