//===- ExprImpl.h - The polynomial behind an expression --------------------===//
//
// Private to lib/Shape. A term is a coefficient and a sorted list of atoms; terms are sorted by falling degree, then by
// text. An atom exists once for each text (Atoms.cpp), so that two atoms are equal where their nodes are one, and two expressions
// where their terms are; text is written only where somebody asks for it.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_SHAPE_EXPRIMPL_H
#define LATHE_LIB_SHAPE_EXPRIMPL_H

#include "lathe/Shape/Expr.h"
#include "llvm/Support/MathExtras.h"
#include <mutex>

namespace lathe::shape {

/// An atom with its text, shared between all terms that hold it.
struct AtomNode {
  Atom atom;
  std::string text;
  size_t hash = 0;                                      ///< of the text
  unsigned depth = 0;                                   ///< of nested opaque terms
  std::vector<std::shared_ptr<const AtomNode>> symbols; ///< of an opaque term: those in it, each once, by their text
};
using AtomRef = std::shared_ptr<const AtomNode>;

/// The one node with this text; `make` gives what is in it where there is none yet. Threads may ask at the same time.
AtomRef internAtom(std::string text, llvm::function_ref<AtomNode()> make);

inline bool atomLess(const AtomRef &a, const AtomRef &b) { return a != b && a->text < b->text; }

struct Monomial {
  int64_t coefficient = 0;
  std::vector<AtomRef> atoms;
};
using Monomials = std::vector<Monomial>;

/// Limits that keep the work on any expression, also one read from a file, small.
constexpr size_t maxTerms = 1024, maxTextLength = 1 << 16;
constexpr unsigned maxDepth = 32;

struct Expr::Impl {
  Monomials terms;
  size_t hash = 0;
  unsigned depth = 0;
  bool unknown = false;
  /// Written when it is first asked for.
  const std::string &text() const;
  /// Collected when they are first asked for.
  const std::vector<AtomRef> &symbols() const;

private:
  mutable std::once_flag isWritten, isCollected;
  mutable std::string written;
  mutable std::vector<AtomRef> collected;
};

/// The door to Expr's representation for the files of this folder.
struct ExprBuilder {
  static const Monomials &terms(const Expr &e) { return e.impl->terms; }
  /// The symbols that occur, each once, by their text.
  static const std::vector<AtomRef> &symbols(const Expr &e) { return e.impl->symbols(); }
  static Expr fromTerms(Monomials terms);
  /// The same of terms in order, of which some may have the same atoms.
  static Expr fromSorted(Monomials terms);
  /// Adds the terms of e to those of a sum that fromTerms ends; false when the sum is unknown.
  static bool append(Monomials &all, const Expr &e);
  static Expr fromTerm(int64_t coefficient, std::vector<AtomRef> atoms) { return fromTerms({{coefficient, std::move(atoms)}}); }
  /// An opaque term as it stands, with no simplification.
  static Expr opaque(Atom::Kind kind, const Expr &a, const Expr &b);
};

/// The text of a name: in quotes where it is no identifier or looks like an axis.
std::string quotedName(llvm::StringRef name);

/// a - b as multisets of sorted atoms; nothing when b is no part of a.
std::optional<std::vector<AtomRef>> removeAtoms(const std::vector<AtomRef> &a, const std::vector<AtomRef> &b);
/// What two sorted lists of atoms share.
std::vector<AtomRef> commonAtoms(const std::vector<AtomRef> &a, const std::vector<AtomRef> &b);

inline int64_t floorQuotient(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }

} // namespace lathe::shape

#endif // LATHE_LIB_SHAPE_EXPRIMPL_H
