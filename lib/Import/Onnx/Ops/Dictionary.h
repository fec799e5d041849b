//===- Dictionary.h - Elements looked up among constant keys ---------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_OPS_DICTIONARY_H
#define LATHE_LIB_IMPORT_ONNX_OPS_DICTIONARY_H

#include "Node.h"

namespace lathe::onnx {

/// Where each element of x stands among the keys (the first of equal ones), and the number of keys where it is none of them: an i64 for each. The keys
/// are of x's element type, integers or floats, of which NaN is a key like any other. Keys that lie close together are a table of all places between
/// the least and the greatest; others are searched in their order, so that the work grows with the logarithm of their number.
Value placeAmong(Node &n, Value x, llvm::ArrayRef<int64_t> keys);
Value placeAmong(Node &n, Value x, llvm::ArrayRef<double> keys);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_OPS_DICTIONARY_H
