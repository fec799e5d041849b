//===- Expr.h - Symbolic sizes and index expressions -----------------------===//
//
// A size or an index is a polynomial with integer coefficients over atoms. An atom is a symbol of some kind (a size, an axis,
// an indirect index, ...) or an opaque term: floordiv(a, b), mod(a, b), min(a, b), max(a, b) of normalised operands.
// The polynomial is kept in one normal form, so two expressions that are equal as polynomials are equal as values, print
// the same text and hash the same. Text form: "2*batch*seq + 768", "floordiv(n, 4)", "mod(n, 4)", "min(a, b)",
// "max(a, b)"; the parser also takes '-', '//', '%', ceildiv and parentheses.
//
// A symbol has a kind and a name, and the name says nothing of the kind: names come from files and may be any text. Each kind
// is written in its own way, so that a symbol's text is a key for both, and is what the functions below take and give:
//
//   size      batch, 'i0', '$batch', 'it''s'   in quotes where it is no identifier or looks like an axis
//   axis      i0, i1, ...                      an axis of a kernel
//   indirect  $0, $1, ...                      an index that is read when a kernel runs: the op's operands, in order
//   element   shape[1], k[], 'a b'[0]          an element of a tensor, read when the model runs
//   host      %loop0, %'a b'                   a value of the program that runs the kernels
//   variable  $q0, $in1, ...                   stands for something within a proof
//
// (A kernel that is written by hand may call its axes as it likes; see KernelOps.td.)
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

/// What a symbol stands for.
enum class SymbolKind : uint8_t { Size, Axis, Indirect, Element, Host, Variable };

/// One factor of a monomial: a symbol, or an opaque term over normalised operands.
struct Atom {
  enum class Kind { Symbol, FloorDiv, Mod, Min, Max };
  Kind kind;
  std::string name;           ///< for Symbol: its text
  std::vector<Expr> operands; ///< two, for the others
  SymbolKind symbol = SymbolKind::Size;
};

/// An immutable polynomial; cheap to copy (a shared pointer).
class Expr {
public:
  Expr(int64_t value = 0);
  /// A size by its name, which may be any text.
  static Expr size(llvm::StringRef name);
  static Expr axis(unsigned number);
  static Expr indirect(unsigned number);
  /// The element at a place of a tensor of rank 1, or of one of rank 0. Its value may be negative.
  static Expr element(llvm::StringRef tensor, std::optional<int64_t> place);
  static Expr host(llvm::StringRef name);
  static Expr variable(llvm::StringRef name);
  /// The symbol with this text, as symbols() and the intermediate forms have it.
  static Expr symbol(llvm::StringRef text);
  /// What arithmetic gives when it cannot represent its result.
  static Expr unknown();
  bool isUnknown() const;
  /// Parses the text form; the error names the column.
  static llvm::Expected<Expr> parse(llvm::StringRef text);
  /// Of a text that a verifier has read; the unknown expression where it has none after all.
  static Expr parsed(llvm::StringRef text);
  /// As parse, for what a user or a model's file wrote: every name is a size's.
  static llvm::Expected<Expr> parseSizes(llvm::StringRef text);

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
  /// The symbol's text when the expression is exactly one symbol with coefficient 1.
  std::optional<std::string> asSymbol() const;
  /// The text of every symbol that occurs, also inside opaque terms.
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

/// The kind of the symbol with this text.
SymbolKind kindOf(llvm::StringRef symbol);
/// The name of the symbol with this text, for messages and for the artifact: without the quotes.
std::string nameOf(llvm::StringRef symbol);
/// Whether this is the text of a symbol as it is written: `'a'` is not, for `a` needs no quotes.
bool isSymbolText(llvm::StringRef text);

/// The product of all of them (1 for none).
Expr product(llvm::ArrayRef<Expr> factors);

} // namespace lathe::shape

#endif // LATHE_SHAPE_EXPR_H
