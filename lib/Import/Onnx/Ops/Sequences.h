//===- Sequences.h - Sequences and optionals while importing ---------------===//
//
// A sequence whose elements are known one by one is a value only while the graph is built: it is a cast of its elements to a
// tuple, of which nothing is left once those are read. An optional that holds something is what it holds; an empty one is a
// value of type none.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_OPS_SEQUENCES_H
#define LATHE_LIB_IMPORT_ONNX_OPS_SEQUENCES_H

#include "Node.h"

namespace lathe::onnx {

inline bool isSequence(Value v) { return llvm::isa<mlir::TupleType>(v.getType()); }
inline bool isEmptyOptional(Value v) { return llvm::isa<mlir::NoneType>(v.getType()); }
std::vector<Value> elementsOf(Value sequence);
Value makeSequence(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<Value> elements);
/// The elements of the sequences among the values, in their places.
std::vector<Value> withoutSequences(llvm::ArrayRef<Value> values);
/// The values joined along a dimension, the others being equal.
Value concatenated(Node &n, llvm::SmallVector<Value> values, int64_t axis);
/// The values along a new dimension.
Value stacked(Node &n, llvm::SmallVector<Value> values, int64_t axis);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_OPS_SEQUENCES_H
