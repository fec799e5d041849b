//===- SizeModel.h - The sizes of a model ----------------------------------===//
//
// Names the dynamic dimensions of the model's inputs, applies what the user says of them, and collects the relations that
// the operators need (past + seq = total, 4 divides n). A relation found while importing changes the types of values that
// exist already, so the graph is imported again with all relations known from the start.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_SIZEMODEL_H
#define LATHE_LIB_IMPORT_ONNX_SIZEMODEL_H

#include "OnnxModel.pb.h"
#include "lathe/Dialect/Lathe/Lathe.h"
#include "lathe/Import/Options.h"
#include <map>

namespace lathe::onnx {

class SizeModel {
public:
  /// `leastUnnamed`: what a dimension without a name is at least, 0 or 1, where the user says nothing.
  explicit SizeModel(const ImportOptions &options, int64_t leastUnnamed = 0) : options(options), leastUnnamed(leastUnnamed) {}

  const ImportOptions &importOptions() const { return options; }
  /// Throws Failure where --shape names none of them.
  void checkOptions(llvm::ArrayRef<const ValueInfoProto *> inputs) const;
  /// The dimensions of every input, from the file and the options. Throws Failure (unknown names, no shape, ...).
  void declareInputs(llvm::ArrayRef<const ValueInfoProto *> inputs);
  /// The dimensions of a declared input, by its place, in the model's own names.
  const ir::Dims &inputDims(unsigned index) const { return inputs[index]; }

  /// Records that the sizes are equal; false when they cannot be.
  bool assumeEqual(const shape::Expr &a, const shape::Expr &b);
  /// Records that k divides e; false when it cannot.
  bool assumeDivides(const shape::Expr &k, const shape::Expr &e);

  /// Whether large sizes of the inputs, all of them equal, leave some: what is below 0 for small ones alone is meant as a size.
  bool countsElements(const shape::Expr &e) const;
  /// Records that it is no less than 0; false when it is.
  bool assumeNotNegative(const shape::Expr &e);

  /// An element of an input of rank 0 (no place) or 1 as a symbol, of either sign until `restrict` says more.
  shape::Expr inputElement(unsigned input, const std::string &name, std::optional<int64_t> place);
  /// The symbol (its text) of a size that is not the model's own. Any text may be the name of one of the inputs' sizes; it gets
  /// another name then.
  std::string ownSize(const std::string &name) const;
  /// An element that the host reads while the model runs.
  shape::Expr lateElement(const std::string &symbol);
  /// A size >= 0 that a branch or a loop decides while the model runs.
  shape::Expr lateSize(const std::string &symbol);
  /// The body of a branch or a loop is built, until it is left: what is required there is required only when the body runs. Sizes
  /// that a branch, or a loop in one, needs equal are so in there alone; a loop of the model itself is taken to run. `name` is
  /// the same whenever the same body is built again.
  void enterBody(const std::string &function, const std::string &name, bool isBranch);
  void leaveBody();
  /// Whether the value is known only while the model runs.
  bool isLate(const shape::Expr &e) const;
  /// Elements are bound at run time only where a size mentions them.
  void use(const shape::Expr &e);
  /// The expression's value lies within the ends, which the artifact checks; false when it cannot.
  bool restrict(const shape::Expr &e, std::optional<int64_t> min, std::optional<int64_t> max, const std::string &says);
  /// left KIND right (eq, le, ne), checked by the artifact, of which nothing is concluded.
  void require(const shape::Expr &left, const char *kind, const shape::Expr &right, const std::string &says);
  /// A name for a value of at least `min` >= 0 that is no polynomial, so that sizes stay readable. The name is the same whenever the same node
  /// is imported again.
  shape::Expr define(const std::string &name, const shape::Expr &value, std::optional<int64_t> max, int64_t min = 0);
  /// The same; a value that has a name already keeps it.
  shape::Expr defineOnce(const std::string &name, const shape::Expr &value);
  /// Whether an element, or what was defined of one, occurs.
  bool readsElement(const shape::Expr &e) const;
  /// Whether either of two sizes that meet in a broadcast may be 1 in one run and the other's in the next. Sizes for which the
  /// model has one name are one size; sums and constants that meet a named size are taken to be equal to it (BroadcastSizes.cpp).
  bool mayBroadcast(const shape::Expr &a, const shape::Expr &b) const;
  /// The size that a broadcast of the two has; that they are equal or one of them is 1 is checked when it runs. The same for the
  /// same sizes; `name` is for the first that asks.
  shape::Expr broadcastSize(const std::string &name, const shape::Expr &a, const shape::Expr &b);
  /// Checked when it runs: a is `whole`, or 1.
  void requireBroadcasts(const shape::Expr &a, const shape::Expr &whole);
  /// That it is at least 1 and no more than `most`, unless that is 0.
  void requireUpTo(const shape::Expr &size, const shape::Expr &most);
  /// That so many elements beside a window are not less than none, or a whole stride less, where no place is left for any rounding.
  void requireRoom(const shape::Expr &room, const shape::Expr &stride);
  /// Whether it is the size of an input's dimension.
  bool isNamed(const std::string &symbol) const { return seen.count(symbol) != 0; }
  /// Whether an input has a dimension without a name.
  bool hasUnnamed() const { return !unnamed.empty(); }
  /// What was defined and required is said anew by each import.
  void startRound();
  /// Everything that is known, to come back to when what was built is thrown away.
  struct Snapshot;
  std::shared_ptr<const Snapshot> save() const;
  void restore(const Snapshot &snapshot);

  const shape::Facts &facts() const { return known; }
  /// How much has been assumed so far.
  size_t numAssumptions() const { return numFound; }

  /// Builds the symbol and relation ops.
  void emit(mlir::OpBuilder &b, mlir::Location loc) const;

private:
  shape::Expr inputDim(const std::string &input, unsigned index, const TensorShapeProto::Dimension *dim,
                       const std::string *option);
  bool assumeLimit(const shape::Expr &a, const shape::Expr &b);
  void declare(const std::string &name);
  bool isIsolated() const;
  shape::Expr named(const std::string &name, int64_t least = 1);
  shape::Expr unnamedDim(const std::string &input, unsigned index);
  shape::Expr declareSymbol(const std::string &name, int64_t least);
  void collectNames(llvm::ArrayRef<const ValueInfoProto *> inputs);

  struct Symbol {
    std::string name; ///< the symbol's text, as everywhere but in what the user and the file say
    int64_t min, max;
    std::vector<int64_t> hints;
    std::vector<int64_t> element; ///< input and place, of a symbol that is an element
    bool used = true;
    bool late = false;
    std::string home = {}; ///< the body that knows it
  };
  struct Relation {
    shape::Expr left, right;
    const char *kind;
    std::string says;
    std::string body, place = {}; ///< the function, and the name that it always has
  };
  /// What there was before a body was entered. `facts`: where the body has its own.
  struct Outside {
    std::string body, place;
    std::optional<shape::Facts> facts;
  };
  void conclude(const Relation &relation);
  void concludeEqual(const shape::Expr &a, const shape::Expr &b);
  bool assume(const shape::Expr &a, const char *kind, const shape::Expr &b);
  struct Definition {
    std::string name;
    shape::Expr value;
    std::optional<int64_t> max;
    bool fromElement, late;
    int64_t min = 0;
  };
  Symbol *find(const std::string &name);
  /// The one of this name, if there is one.
  llvm::ArrayRef<Definition> definition(const std::string &name) const;
  /// Whether it is the name of a definition, of an earlier round perhaps.
  bool isComputed(const std::string &name) const { return meanings.count(name) != 0; }
  std::vector<Definition> earlierDefinitions() const;
  bool isUnnamed(const shape::Expr &e) const;
  bool isLeftOver(const shape::Expr &e) const;
  std::vector<shape::Expr> partsOf(const shape::Expr &size) const;
  bool broadcastsTo(const shape::Expr &a, const shape::Expr &whole) const;
  void requireOnce(const shape::Expr &condition, const std::string &says);
  shape::Expr lateSymbol(const std::string &symbol, int64_t min);
  const ImportOptions &options;
  int64_t leastUnnamed;
  std::vector<Symbol> symbols;
  std::set<std::string> plainNames; ///< names that stand alone as a dimension somewhere
  std::set<std::string> seen;       ///< every name that an input has, fixed or not
  std::set<std::string> unnamed;    ///< symbols of dimensions to which the model gives no name
  std::map<std::string, std::vector<shape::Expr>> broadcasts; ///< a size that is defined as a broadcast's, and of what
  std::vector<Relation> relations; ///< that the facts know
  std::vector<Relation> checks;
  std::vector<Definition> definitions;
  std::map<std::string, shape::Expr> meanings; ///< of names of definitions, in all rounds
  std::map<std::string, size_t> definedAt;    ///< places of the definitions, by name
  std::map<std::string, unsigned> nextNumber; ///< that may make a name another one
  std::vector<ir::Dims> inputs;
  std::string body, place; ///< empty for the model itself
  std::vector<Outside> outside;
  std::map<std::string, unsigned> places;                       ///< how often a name was entered in this round
  std::vector<std::string> fresh;                               ///< symbols that an isolated body made
  std::vector<std::pair<std::string, shape::Expr>> quotients;   ///< those of isolated bodies
  shape::Facts known;
  size_t numFound = 0;
};

struct SizeModel::Snapshot {
  std::vector<Symbol> symbols;
  std::vector<Relation> relations, checks;
  std::vector<Definition> definitions;
  std::map<std::string, unsigned> places;
  shape::Facts known;
  size_t numFound;
};

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_SIZEMODEL_H
