//===- Symbols.h - The size symbols of a program and what is known of them ---===//
#ifndef LATHE_LIB_IMPORT_FX_SYMBOLS_H
#define LATHE_LIB_IMPORT_FX_SYMBOLS_H

#include "OpContext.h"
#include "lathe/Import/Options.h"
#include "lathe/Shape/Facts.h"
#include "mlir/IR/Builders.h"

namespace lathe::fx {

/// The inputs' sizes by name, in the order of the inputs.
std::vector<std::pair<std::string, std::vector<shape::Expr>>> inputSizes(const Program &program);

class Symbols {
public:
  /// Applies the user's options to the program (its symbols are renamed or fixed in place), then learns from its ranges,
  /// guards and assertions, and from what its operators need.
  static llvm::Expected<Symbols> learn(Program &program, const ImportOptions &options, llvm::ArrayRef<Statement> needed,
                                       llvm::StringRef file);

  const shape::Facts &facts() const { return known; }
  /// The body of a branch or a loop is built until `leave`: what its graph asserts, and what is stated besides, holds in there alone
  /// and is checked whenever the function runs.
  llvm::Error enter(const Graph &graph, std::vector<Statement> stated, llvm::StringRef function, llvm::StringRef file);
  void leave();
  /// Whether the size is an expression of symbols that an input or a node binds.
  bool knows(const Size &size) const;
  /// Whether it is a symbol of a value that is known only while the program runs (u0), until a node binds it.
  bool isLate(const std::string &symbol) const { return late.count(symbol) != 0; }
  /// What the program asserts and the entry cannot check, as messages.
  const std::vector<std::string> &uncheckable() const { return unsupported; }
  /// The same of what is about values that no node computed.
  std::vector<std::string> uncheckable(const LateSizes &sizes) const;
  /// Emits the lathe.symbol and lathe.relation ops that say what `facts` says.
  /// Of late symbols those that are bound.
  void declare(mlir::OpBuilder &b, mlir::Location loc, const LateSizes &sizes) const;

private:
  struct Symbol {
    std::string name; ///< its text
    shape::Range range;
    std::vector<int64_t> hints;
  };
  struct Relation {
    shape::Expr left;
    const char *kind;
    shape::Expr right;
    std::string says, body; ///< `body`: the function where it holds; empty: everywhere
  };
  /// Symbols of values that torch has found to be known sizes, and writes as these wherever a tensor has them.
  std::map<std::string, shape::Expr> replaced(const LateSizes &sizes) const;
  void collect(const Program &program);
  void collectLate(Program &program);
  llvm::Error learnConditions(const Program &program, llvm::ArrayRef<Statement> needed, llvm::StringRef file);
  llvm::Error learnAll(llvm::ArrayRef<Statement> stated, const std::set<std::string> &offsets, llvm::StringRef file);
  bool learn(const Condition &c);
  bool learnEquality(const Condition &c);
  void relate(const shape::Expr &left, const char *kind, const shape::Expr &right, std::string says = "");
  Symbol *find(llvm::StringRef name);
  llvm::Error applyShapes(Program &program, const ImportOptions &options, llvm::StringRef file);
  llvm::Error applyDims(Program &program, const ImportOptions &options, llvm::StringRef file);

  std::vector<Symbol> symbols;
  std::vector<Relation> relations;
  std::set<std::string> late;
  std::vector<std::pair<std::string, std::string>> aboutLate; ///< a late symbol, and a message if it stays without a value
  std::vector<std::string> unsupported;
  shape::Facts known;
  std::string body; ///< which is being built
  std::vector<std::pair<shape::Facts, std::string>> outside; ///< what was known, and the body, around it
  std::vector<std::pair<std::string, shape::Expr>> quotients; ///< of bodies that were left
};

} // namespace lathe::fx

#endif // LATHE_LIB_IMPORT_FX_SYMBOLS_H
