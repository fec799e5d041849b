//===- SymPyParser.h - The reader of sizes and conditions ------------------===//
//
// One small recursive-descent parser serves both notations: calls by name (srepr) and Python's infix (guards). Depth and the
// number of terms are limited: a product of many sums would take exponential space.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_IMPORT_FX_SYMPYPARSER_H
#define LATHE_LIB_IMPORT_FX_SYMPYPARSER_H

#include "SymPy.h"

namespace lathe::fx {

/// What a part of an expression stands for: an integer (bottom is 1), or a quotient that torch computes in double precision.
struct Quotient {
  shape::Expr top;
  shape::Expr bottom = shape::Expr(1);

  bool isInteger() const { return bottom.isOne(); }
};

/// The function or operator called `name`; nothing for one that is not known, or whose value is rounded.
std::optional<Quotient> applyFunction(llvm::StringRef name, const std::vector<Quotient> &args);
/// "0.5"; nothing for a number that is no small fraction of a power of two.
std::optional<Quotient> parseReal(llvm::StringRef text);
/// left KIND right over integers. Nothing where rounding of the quotients may decide it.
std::optional<Condition> compareQuotients(Condition::Kind kind, const Quotient &left, const Quotient &right);

class SymPyParser {
public:
  using Inputs = std::map<std::string, std::vector<shape::Expr>>;
  SymPyParser(llvm::StringRef text, const Inputs *inputs) : rest(text.trim()), inputs(inputs) {}

  std::optional<shape::Expr> size();
  std::optional<Condition> pythonCondition();
  std::optional<Condition> calledCondition();

private:
  bool atEnd() {
    rest = rest.ltrim();
    return rest.empty();
  }
  bool take(llvm::StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }
  bool takeWord(llvm::StringRef expected);
  llvm::StringRef word();
  std::optional<Quotient> sum();
  std::optional<Quotient> term();
  std::optional<Quotient> unary();
  std::optional<Quotient> power();
  std::optional<Quotient> primary();
  std::optional<Quotient> inputSize();
  std::optional<Quotient> call(llvm::StringRef name);
  std::optional<std::string> quotedText();
  std::optional<Quotient> quotedSymbol();
  std::optional<Quotient> quotedReal();
  std::optional<Quotient> apply(llvm::StringRef name, const std::vector<Quotient> &args);
  bool skipKeywords();
  bool arguments(std::vector<Quotient> &into);

  // SymPyConditions.cpp
  std::optional<Condition> disjunction();
  std::optional<Condition> conjunction();
  std::optional<Condition> negation();
  std::optional<Condition> comparison();
  std::optional<Condition> conditionCall();
  std::optional<Condition> comparisonCall(Condition::Kind kind);
  std::optional<Quotient> piecewise();
  std::optional<Condition> withDivisors(std::optional<Condition> condition);

  llvm::StringRef rest;
  const Inputs *inputs;
  std::vector<shape::Expr> divisors; ///< of the comparison that is being read, but constants
  unsigned depth = 0;
};

} // namespace lathe::fx

#endif // LATHE_LIB_IMPORT_FX_SYMPYPARSER_H
