//===- Definedness.h - K8: where the values of a kernel mean something -----===//
//
// Private to lib/Dialect/Kernel.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_DIALECT_KERNEL_DEFINEDNESS_H
#define LATHE_LIB_DIALECT_KERNEL_DEFINEDNESS_H

#include "lathe/Dialect/Kernel/Legality.h"

namespace lathe::kernel {

/// What must hold for each value of a body to be defined. A load under a predicate without a fill is undefined where the
/// predicate is false, and so is what is computed from it, up to a select that takes another value there.
class Definedness {
public:
  Definedness(GenericOp kernel, ConditionReader &reader);

  /// The first op that uses a value at points where it is undefined; null when there is none.
  mlir::Operation *firstMisuse() const { return misuse; }

private:
  using Needs = std::vector<Conjunct>;

  void visit(mlir::Operation *op);
  Needs needsOf(mlir::Operation *op);
  Needs operandNeeds(mlir::ValueRange values) const;
  /// `needs` less what `given` implies.
  Needs without(Needs needs, llvm::ArrayRef<Conjunct> given) const;
  void add(Needs &to, const Needs &more) const;

  ConditionReader &reader;
  llvm::DenseMap<mlir::Value, Needs> needs; ///< of values that are not defined everywhere
  mlir::Operation *misuse = nullptr;
};

} // namespace lathe::kernel

#endif // LATHE_LIB_DIALECT_KERNEL_DEFINEDNESS_H
