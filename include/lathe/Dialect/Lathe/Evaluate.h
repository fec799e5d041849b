//===- Evaluate.h - Ops on constants ---------------------------------------===//
//
// The value of an op whose operands are known, element by element.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_DIALECT_LATHE_EVALUATE_H
#define LATHE_DIALECT_LATHE_EVALUATE_H

#include "lathe/Dialect/Lathe/ConstantTensor.h"

namespace lathe::ir {

/// True when `evaluate` knows the op, given constant operands.
bool canEvaluate(mlir::Operation *op);
/// True when an element of the result costs much more than to load it would.
bool isCostly(mlir::Operation *op);

/// The elements of a short tensor that follows from constants and from sizes that are known; nothing for a longer one.
std::optional<ConstantTensor> knownNumbers(mlir::Value v, const shape::Facts &facts);

std::optional<ConstantTensor> evaluate(mlir::Operation *op, llvm::ArrayRef<const ConstantTensor *> operands);

// The two halves: nothing where the op belongs to the other.
std::optional<ConstantTensor> evaluateElementwise(mlir::Operation *op, llvm::ArrayRef<const ConstantTensor *> operands);
std::optional<ConstantTensor> evaluateStructured(mlir::Operation *op, llvm::ArrayRef<const ConstantTensor *> operands);
bool canEvaluateElementwise(mlir::Operation *op);

// Scans and sorts, of one row along an axis and of all.
struct Row {
  int64_t first, step, size; ///< elements first + i * step
};
/// In place. `isUnsigned`: integers count as unsigned.
void scanRow(ScanKind kind, ConstantTensor &x, const Row &row, bool exclusive, bool reverse, bool isUnsigned);
/// The indices along the row in the order of its elements, as lathe.sort has it.
std::vector<int64_t> orderOfRow(const ConstantTensor &x, const Row &row, bool descending, bool isUnsigned);
std::optional<ConstantTensor> evaluateScan(ScanOp op, const ConstantTensor &x);
/// Nothing where the mask is not as often true as the result has elements.
std::optional<ConstantTensor> evaluateCompact(CompactOp op, const ConstantTensor &x, const ConstantTensor &mask);
std::optional<ConstantTensor> evaluateSort(SortOp op, const ConstantTensor &x);

} // namespace lathe::ir

#endif // LATHE_DIALECT_LATHE_EVALUATE_H
