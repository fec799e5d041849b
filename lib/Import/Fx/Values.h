//===- Values.h - The values that a graph's names stand for -----------------===//
//
// The dialect is functional; a graph before functionalisation is not: relu_ writes its input, and views share memory. As
// PyTorch's functionalisation does, each tensor that is a view knows how to read itself out of the tensor that it is a view of,
// and how to write itself back into it. A write goes up to the tensor at the root; the others that share its memory are read
// anew when they are next used. Names of one tensor (a and the result of relu_(a)) change together.
//
// Whether some operators copy (reshape of a permuted tensor) may not be known. Where it is not, both are taken to share
// memory only in so far as they become stale: after a write to one, a node that reads the other is refused.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_IMPORT_FX_VALUES_H
#define LATHE_LIB_IMPORT_FX_VALUES_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lathe::fx {

/// How a view depends on the tensor that it is a view of.
struct ViewLink {
  /// Its value, of that tensor's.
  std::function<llvm::Expected<mlir::Value>(mlir::Value of)> read;
  /// The other tensor's value when the view has the value `written`.
  std::function<llvm::Expected<mlir::Value>(mlir::Value of, mlir::Value written)> write;
};

enum class Sharing { No, Maybe, Yes };

class Values {
public:
  bool has(llvm::StringRef name) const { return byName.count(name.str()) != 0; }
  const std::map<std::string, mlir::Value> &current() const { return byName; }

  /// Defines a name of a tensor of its own.
  void define(const std::string &name, mlir::Value v);
  /// Defines a name of what is, or may be, a view of another.
  void defineView(const std::string &name, mlir::Value v, const std::string &of, Sharing sharing, ViewLink link);
  /// Brings the name's value up to date.
  llvm::Error refresh(const std::string &name);
  /// `self` is written in place and also goes by the name `result` now.
  llvm::Error overwrite(const std::string &self, const std::string &result, mlir::Value v, const std::string &writer);
  /// What was `self` is the tensor of the name `view` from now on (unsqueeze_ and the like).
  void become(const std::string &self, const std::string &view);
  /// The node that made this name stale.
  std::optional<std::string> overwrittenBy(const std::string &name) const;
  /// The first name of the memory that this one is in, or may be in.
  const std::string &rootOf(const std::string &name) const;

  /// Stands for a value that could not be built.
  mlir::Value placeholder(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type);

private:
  struct Tensor {
    mlir::Value value;
    unsigned memory = 0, version = 0;
    int parent = -1; ///< the tensor that it is a view of
    ViewLink link;
    std::vector<std::string> names;
  };
  struct Memory {
    std::string root;
    unsigned version = 0;
    unsigned kin; ///< the same for memories that may be one
  };
  void setValue(unsigned tensor, mlir::Value v);
  std::vector<unsigned> pathTo(unsigned tensor) const;
  unsigned addTensor(const std::string &name, mlir::Value v, unsigned memory);
  unsigned addMemory(const std::string &root, std::optional<unsigned> kin);

  std::map<std::string, mlir::Value> byName;
  std::map<std::string, unsigned> tensorOf;
  std::vector<Tensor> tensors;
  std::vector<Memory> memories;
  std::map<std::string, std::string> stale;
};

} // namespace lathe::fx

#endif // LATHE_LIB_IMPORT_FX_VALUES_H
