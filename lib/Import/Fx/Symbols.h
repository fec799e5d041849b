//===- Symbols.h - The size symbols of a program and what is known of them ---===//
#ifndef LATHE_LIB_IMPORT_FX_SYMBOLS_H
#define LATHE_LIB_IMPORT_FX_SYMBOLS_H

#include "Program.h"
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
  /// Whether every symbol of the size is bound by an input; others (u0) are only known while the program runs.
  bool knows(const Size &size) const;
  /// What the program asserts and the entry cannot check, as messages.
  const std::vector<std::string> &uncheckable() const { return unsupported; }
  /// Emits the lathe.symbol and lathe.relation ops that say what `facts` says.
  void declare(mlir::OpBuilder &b, mlir::Location loc) const;

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
    std::string says;
  };
  void collect(const Program &program);
  llvm::Error learnConditions(const Program &program, llvm::ArrayRef<Statement> needed, llvm::StringRef file);
  bool learn(const Condition &c);
  bool learnEquality(const Condition &c);
  void relate(const shape::Expr &left, const char *kind, const shape::Expr &right, std::string says = "");
  Symbol *find(llvm::StringRef name);
  llvm::Error applyShapes(Program &program, const ImportOptions &options, llvm::StringRef file);
  llvm::Error applyDims(Program &program, const ImportOptions &options, llvm::StringRef file);

  std::vector<Symbol> symbols;
  std::vector<Relation> relations;
  std::vector<std::string> unsupported;
  shape::Facts known;
};

} // namespace lathe::fx

#endif // LATHE_LIB_IMPORT_FX_SYMBOLS_H
