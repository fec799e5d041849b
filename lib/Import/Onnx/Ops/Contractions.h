//===- Contractions.h - Matrix products ------------------------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_OPS_CONTRACTIONS_H
#define LATHE_LIB_IMPORT_ONNX_OPS_CONTRACTIONS_H

#include "Node.h"

namespace lathe::onnx {

/// numpy.matmul; a Failure where the sizes do not fit.
Value matrixProduct(Node &n, Value x, Value y);
/// What Gemm computes of the node's operands and attributes.
Value gemmOf(Node &n);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_OPS_CONTRACTIONS_H
