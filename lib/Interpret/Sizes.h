//===- Sizes.h - The values of size symbols --------------------------------===//
#ifndef LATHE_LIB_INTERPRET_SIZES_H
#define LATHE_LIB_INTERPRET_SIZES_H

#include "lathe/Interpret/Interpret.h"

namespace lathe::interpret {

class Sizes {
public:
  explicit Sizes(mlir::ModuleOp module);
  /// From the inputs' dimensions and elements. Fails where they do not fit what the model says.
  llvm::Error bind(mlir::func::FuncOp main, llvm::ArrayRef<Tensor> inputs);
  /// A value that is known from here on, or another one than before; what is computed from it follows. Fails outside of
  /// its range.
  llvm::Error set(llvm::StringRef symbol, int64_t value);
  /// Without what the model claims of it.
  void assign(llvm::StringRef symbol, int64_t value);

  llvm::Expected<int64_t> value(const shape::Expr &e) const;
  llvm::Expected<int64_t> value(llvm::StringRef text) const;
  llvm::Expected<mlir::RankedTensorType> typeAt(mlir::Type type) const;
  /// What these symbols are computed from, and they themselves.
  std::set<std::string> roots(const std::set<std::string> &symbols) const;
  /// Relations that stand in the module for all (no scope), or for one function.
  llvm::Error checkRelations(std::optional<llvm::StringRef> scope);
  const std::map<std::string, int64_t> &all() const { return values; }

private:
  llvm::Error solve(const shape::Expr &dim, int64_t size, bool &progress, bool &open);
  void define();
  bool inRange(llvm::StringRef symbol, int64_t value) const;

  mlir::ModuleOp module;
  std::map<std::string, int64_t> values;
  std::map<std::string, std::pair<int64_t, int64_t>> ranges;
  std::vector<std::pair<std::string, shape::Expr>> definitions;
};

} // namespace lathe::interpret

#endif // LATHE_LIB_INTERPRET_SIZES_H
