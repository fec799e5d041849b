//===- FactsImpl.h - What a Facts holds, and the prover over it ------------===//
//
// Private to lib/Shape.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_SHAPE_FACTSIMPL_H
#define LATHE_LIB_SHAPE_FACTSIMPL_H

#include "ExprImpl.h"
#include "lathe/Shape/Facts.h"
#include <array>
#include <mutex>
#include <set>
#include <unordered_map>

namespace lathe::shape {

struct HashOfExpr {
  size_t operator()(const Expr &e) const { return e.hash(); }
};

/// What expressions are at a few points; nothing where a term has no value there.
constexpr unsigned sampleCount = 6;
using SampleValues = std::array<std::optional<int64_t>, sampleCount>;

/// A known relation e >= 0 with what is asked of it again and again.
struct SampledRelation {
  Expr relation;
  std::vector<AtomRef> symbols; ///< by their text
  SampleValues values;
};

struct SampledRelations {
  std::vector<SampledRelation> all;
  std::array<bool, sampleCount> hold; ///< the points at which all of them do
};

struct Facts::State {
  std::map<std::string, Range> ranges;
  std::map<std::string, Expr> axes;          ///< axis -> extent
  std::map<std::string, Expr> substitutions; ///< closed: no value mentions a replaced symbol
  /// An equality that no symbol could be solved from: coefficient * product = value. For 2*m = 3*n, 6*m*k becomes 9*n*k.
  struct Rewrite {
    std::vector<AtomRef> product;
    Expr value;
    int64_t coefficient = 1; ///< above 0
  };
  std::vector<Rewrite> rewrites;
  std::vector<Expr> nonNegative; ///< known relations e >= 0 that no single range holds
  std::vector<std::pair<std::string, Expr>> derived;
  std::map<std::string, size_t> late; ///< and in which order

  mutable std::mutex cacheMutex;
  mutable std::unordered_map<Expr, Expr, HashOfExpr> cache;  ///< simplify
  mutable std::unordered_map<Expr, bool, HashOfExpr> proofs; ///< of e >= 0
  mutable std::shared_ptr<const SampledRelations> sampled;   ///< of nonNegative
  mutable std::optional<std::string> relations;              ///< what relationsKey() gives
  mutable std::set<std::string> inRelations;                 ///< the symbols that it depends on

  State() = default;
  /// What is known of the relations goes along: a kernel's facts are a model's, and its axes.
  State(const State &o)
      : ranges(o.ranges), axes(o.axes), substitutions(o.substitutions), rewrites(o.rewrites), nonNegative(o.nonNegative),
        derived(o.derived), late(o.late) {
    std::lock_guard<std::mutex> lock(o.cacheMutex);
    sampled = o.sampled;
    relations = o.relations;
    inRelations = o.inRelations;
  }
  void changed() {
    cache.clear();
    proofs.clear();
    forgetRelations();
  }
  /// Relations, or ranges of symbols in them, are no longer those that were asked of.
  void forgetRelations() {
    sampled.reset();
    relations.reset();
  }
  /// Equal where the relations are, and all that is known of the symbols in them.
  std::string relationsKey() const;
  /// The same where the symbol gets an extent, of which most relations do not speak.
  void changedBy(const std::string &axis);
  /// The same where a symbol gets a range: within the old one, only what speaks of the symbol is asked anew.
  void changedBy(const std::string &symbol, const Range &range);
};

/// What expressions are at a few points within all ranges and axes. A point with e < 0 says that e >= 0 has no proof; most questions
/// have the answer no, and end here instead of with the last step of a search.
class Samples {
public:
  using Values = SampleValues;

  explicit Samples(const Facts::State &state) : state(state) {}
  Values of(const Expr &e);
  /// The known relations with their values.
  const std::vector<SampledRelation> &relations() { return sampled().all; }
  /// Some point has e < 0; with relations, one where these hold.
  bool refute(const Values &values, bool useRelations);
  /// No point has e < g.
  static bool isAbove(const SampledRelation &g, const Values &values);

private:
  Values ofSize(const std::string &name) const;
  Values ofAxis(const std::string &name, const Expr &extent);
  const Values &ofSymbol(const AtomRef &node);
  const Values &ofAtom(const AtomRef &node);
  const SampledRelations &sampled();

  const Facts::State &state;
  std::unordered_map<const AtomNode *, std::pair<AtomRef, Values>> atoms;
  std::shared_ptr<const SampledRelations> known;
};

/// Proves e >= 0 by intervals and by setting symbols to their extreme values. One Prover answers one question: it holds
/// the steps left, and what the question itself implies (a point on an axis: the axis is not empty).
class Prover {
public:
  explicit Prover(const Facts::State &state) : state(state) {}
  bool nonNegative(const Expr &e);
  /// Answers.cpp: the same with nothing assumed, or for a question that stands under a division; answers are kept.
  static bool nonNegative(const Facts::State &state, const Expr &e);
  static bool nonNegative(const Facts::State &state, const Expr &e, const Expr &divisor);
  Range interval(const Expr &e);

private:
  /// The question stands under a division by this size: its symbols are not 0.
  void assumeDivisor(const Expr &divisor);
  bool prove(const Expr &e, bool useRelations);
  bool proveByRelations(const Expr &e, const Samples::Values &values);
  void raiseMinimum(const std::string &name);
  std::optional<bool> eliminateOpaque(const Expr &e, bool useRelations);
  std::optional<bool> eliminateSymbol(const Expr &e, bool useRelations);
  std::optional<bool> eliminateSymbols(const Expr &e, bool wantAxes, bool useRelations);
  bool allTermsNonNegative(const Expr &e);
  Range atomInterval(const Atom &a);
  Range intervalOf(const AtomRef &node);
  Range symbolRange(const std::string &name);

  const Facts::State &state;
  Samples samples{state};
  std::map<std::string, int64_t> raisedMinimum;
  std::unordered_map<const AtomNode *, std::pair<AtomRef, Range>> intervals; ///< under these minima
  unsigned fuel = 400; ///< steps over short expressions; those over long ones count more
  unsigned intervalDepth = 0;
};

/// Rewrites.cpp: e = 0 without the factors of all its terms that are proven to be above 0.
Expr withoutPositiveFactors(const Facts::State &state, const Expr &e);
/// What the rule says together with those before it (each = 0).
std::vector<Expr> addRule(Facts::State &state, Facts::State::Rewrite rule);
/// Takes out the rules for products with a symbol that is written as a value from now on; what they say of the value (each = 0).
std::vector<Expr> takeRulesOf(Facts::State &state, const std::string &symbol, const Expr &value);
/// e = 0, which cannot be solved for a symbol: its leading term becomes a rewrite, or two bounds where that term has its value too
/// late. What it says together with the rewrites before it (each = 0).
std::vector<Expr> addRewrite(Facts::State &state, const Expr &e, bool late);

/// What holds of a symbol of which nothing was said.
Range defaultRange(llvm::StringRef symbol);
/// Simplify.cpp: the work behind Facts::simplify.
Expr simplifyWith(const Facts::State &state, const Expr &e);
/// Every mod(a, b) written as a - b*floordiv(a, b).
Expr expandMod(const Expr &e);

} // namespace lathe::shape

#endif // LATHE_LIB_SHAPE_FACTSIMPL_H
