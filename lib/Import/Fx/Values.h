//===- Values.h - The values that a graph's names stand for -----------------===//
//
// The dialect is functional; a graph before functionalisation is not: relu_ writes its input, and views share memory. A
// name's value may therefore change. Names of one tensor (a and the result of relu_(a)) change together; names that share its
// memory in another shape become stale, and a node that reads one is refused.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_IMPORT_FX_VALUES_H
#define LATHE_LIB_IMPORT_FX_VALUES_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <optional>
#include <set>
#include <string>

namespace lathe::fx {

class Values {
public:
  bool has(llvm::StringRef name) const { return byName.count(name.str()) != 0; }
  const std::map<std::string, mlir::Value> &current() const { return byName; }

  /// Defines a name; one that is a view of another shares its memory.
  void define(const std::string &name, mlir::Value v, const std::string &viewOf = "");
  /// `self` is written in place and also goes by the name `result` now.
  void overwrite(const std::string &self, const std::string &result, mlir::Value v, const std::string &writer);
  /// The node that made this name stale.
  std::optional<std::string> overwrittenBy(const std::string &name) const;
  /// Whether the name shares memory with one of these.
  bool sharesWith(const std::string &name, const std::set<std::string> &others) const;

  /// Stands for a value that could not be built.
  mlir::Value placeholder(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type);

private:
  struct Place {
    unsigned tensor = 0, memory = 0;
  };
  std::map<std::string, mlir::Value> byName;
  std::map<std::string, Place> places;
  std::map<std::string, std::string> stale;
  unsigned next = 0;
};

} // namespace lathe::fx

#endif // LATHE_LIB_IMPORT_FX_VALUES_H
