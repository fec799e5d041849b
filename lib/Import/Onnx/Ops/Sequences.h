//===- Sequences.h - Sequences and optionals while importing ---------------===//
//
// A sequence whose elements are known one by one is a value only while the graph is built: it is a cast of its elements to a
// tuple, of which nothing is left once those are read. Of the parts of a dimension whose size is known only when the model runs
// there is no such list: that sequence is a cast of the tensor, and says how it is split. Neither is there of one that a loop
// appends to: in the loop's body it is a cast of what was appended to it there. An optional that holds something is what it
// holds; an empty one is a value of type none.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_OPS_SEQUENCES_H
#define LATHE_LIB_IMPORT_ONNX_OPS_SEQUENCES_H

#include "Node.h"

namespace lathe::onnx {

inline bool isSequence(Value v) { return llvm::isa<mlir::TupleType>(v.getType()); }
inline bool isEmptyOptional(Value v) { return llvm::isa<mlir::NoneType>(v.getType()); }
/// A Failure where there is no such list.
std::vector<Value> elementsOf(Value sequence);
Value makeSequence(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<Value> elements);
/// A sequence in front of a loop's iteration, and what was appended to one; nothing for any other sequence.
Value makeGrowing(mlir::OpBuilder &b, mlir::Location loc);
std::optional<std::vector<Value>> appendedTo(Value sequence);
/// The sequence of the slices along the first dimension.
Value slicesOf(Node &n, Value whole);
/// The elements of the sequences among the values, in their places.
std::vector<Value> withoutSequences(llvm::ArrayRef<Value> values);
/// The values joined along a dimension, the others being equal.
Value concatenated(Node &n, llvm::SmallVector<Value> values, int64_t axis);
/// The values along a new dimension.
Value stacked(Node &n, llvm::SmallVector<Value> values, int64_t axis);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_OPS_SEQUENCES_H
