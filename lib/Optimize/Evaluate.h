//===- Evaluate.h - Ops on constants ---------------------------------------===//
//
// Private to lib/Optimize: the value of an op whose operands are known, element by element.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_OPTIMIZE_EVALUATE_H
#define LATHE_LIB_OPTIMIZE_EVALUATE_H

#include "ConstantTensor.h"

namespace lathe::opt {

/// True when `evaluate` knows the op, given constant operands.
bool canEvaluate(mlir::Operation *op);
/// True when an element of the result costs much more than to load it would.
bool isCostly(mlir::Operation *op);

std::optional<ConstantTensor> evaluate(mlir::Operation *op, llvm::ArrayRef<const ConstantTensor *> operands);

// The two halves: nothing where the op belongs to the other.
std::optional<ConstantTensor> evaluateElementwise(mlir::Operation *op, llvm::ArrayRef<const ConstantTensor *> operands);
std::optional<ConstantTensor> evaluateStructured(mlir::Operation *op, llvm::ArrayRef<const ConstantTensor *> operands);
bool canEvaluateElementwise(mlir::Operation *op);

} // namespace lathe::opt

#endif // LATHE_LIB_OPTIMIZE_EVALUATE_H
