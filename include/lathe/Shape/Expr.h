//===- Expr.h - Symbolic sizes and index expressions -----------------------===//
//
// A size or an index is a polynomial with integer coefficients over atoms. An atom is a symbol ("batch", an axis name, an
// indirect index "$0") or an opaque term: floordiv(a, b), mod(a, b), min(a, b), max(a, b) of normalised operands.
// The polynomial is kept in one normal form, so two expressions that are equal as polynomials are equal as values, print
// the same text and hash the same. Text form: "2*batch*seq + 768", "floordiv(n, 4)", "mod(n, 4)", "min(a, b)",
// "max(a, b)"; the parser also takes '-', '//', '%', ceildiv and parentheses. A symbol whose name is no identifier is
// written in single quotes, with those of its own doubled.
//
// Arithmetic is checked. Where a coefficient would leave 64 bits, or an expression would grow without bound, the result is
// the unknown expression: it equals nothing (not even itself), so nothing can be proven of it.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_SHAPE_EXPR_H
#define LATHE_SHAPE_EXPR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lathe::shape {

class Expr;

/// One factor of a monomial: a symbol, or an opaque term over normalised operands.
struct Atom {
  enum class Kind { Symbol, FloorDiv, Mod, Min, Max };
  Kind kind;
  std::string name;           ///< for Symbol
  std::vector<Expr> operands; ///< two, for the others
};

/// An immutable polynomial; cheap to copy (a shared pointer).
class Expr {
public:
  Expr(int64_t value = 0);
  static Expr symbol(llvm::StringRef name);
  /// What arithmetic gives when it cannot represent its result.
  static Expr unknown();
  bool isUnknown() const;
  /// Parses the text form; the error names the column.
  static llvm::Expected<Expr> parse(llvm::StringRef text);

  Expr operator+(const Expr &o) const;
  Expr operator-(const Expr &o) const;
  Expr operator*(const Expr &o) const;
  Expr operator-() const { return Expr(0) - *this; }
  /// Floor division, exact where the divisor is a monomial that divides every term; otherwise the divisible terms are split
  /// off and the rest becomes an atom: floordiv(4*a + b, 4) = a + floordiv(b, 4).
  static Expr floordiv(const Expr &a, const Expr &b);
  /// a - b * floordiv(a, b), kept as an atom where it does not simplify.
  static Expr mod(const Expr &a, const Expr &b);
  static Expr ceildiv(const Expr &a, const Expr &b) { return -floordiv(-a, b); }
  static Expr min(const Expr &a, const Expr &b);
  static Expr max(const Expr &a, const Expr &b);
  /// The q of a = q * b as polynomials; nothing when b does not divide a.
  static std::optional<Expr> divideExactly(const Expr &a, const Expr &b);
  /// a = quotient * b + remainder, by the leading term of b (exact for every value; no claim on the remainder's size).
  struct Division;
  static Division divide(const Expr &a, const Expr &b);

  bool operator==(const Expr &o) const;
  bool operator!=(const Expr &o) const { return !(*this == o); }
  bool operator<(const Expr &o) const; ///< a total order, for sorted containers (not the numeric order)
  size_t hash() const;
  /// The canonical text form.
  std::string str() const;

  std::optional<int64_t> constant() const; ///< the value, when no atom is left
  bool isZero() const { return constant() == std::optional<int64_t>(0); }
  bool isOne() const { return constant() == std::optional<int64_t>(1); }
  /// The symbol's name when the expression is exactly one symbol with coefficient 1.
  std::optional<std::string> asSymbol() const;
  /// Every symbol that occurs, also inside opaque terms.
  std::set<std::string> symbols() const;
  bool mentions(llvm::StringRef symbol) const;

  /// this = coefficient * symbol + rest, with neither mentioning the symbol; nothing when it occurs with a higher power or
  /// inside an opaque term.
  struct Linear;
  std::optional<Linear> linearIn(llvm::StringRef symbol) const;

  /// The sum's terms: coefficient and sorted atoms of each (an atom repeated for a power).
  struct Term {
    int64_t coefficient;
    std::vector<Atom> atoms;
  };
  std::vector<Term> terms() const;
  static Expr fromAtom(const Atom &a);
  /// True when a floordiv, mod, min or max occurs.
  bool hasOpaque() const;

  /// Replaces symbols (simultaneously) and renormalises.
  Expr substitute(const std::map<std::string, Expr> &with) const;
  /// The value, given one for every symbol; nothing on a missing symbol, overflow or a division by zero.
  std::optional<int64_t> evaluate(const std::map<std::string, int64_t> &values) const;

private:
  friend struct ExprBuilder;
  struct Impl;
  explicit Expr(std::shared_ptr<const Impl> impl) : impl(std::move(impl)) {}
  std::shared_ptr<const Impl> impl;
};

struct Expr::Linear {
  Expr coefficient;
  Expr rest;
};

struct Expr::Division {
  Expr quotient;
  Expr remainder;
};

/// The name of a symbol that stands for an element of a tensor, read when the model runs: "shape[1]", of rank 0 "k[]". Its
/// value may be negative.
std::string elementName(llvm::StringRef tensor, std::optional<int64_t> element);
bool isElementName(llvm::StringRef symbol);

/// The product of all of them (1 for none).
Expr product(llvm::ArrayRef<Expr> factors);

} // namespace lathe::shape

#endif // LATHE_SHAPE_EXPR_H
