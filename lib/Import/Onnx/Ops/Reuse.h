//===- Reuse.h - Operators that are others with other operands -------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_OPS_REUSE_H
#define LATHE_LIB_IMPORT_ONNX_OPS_REUSE_H

#include "Node.h"

namespace lathe::onnx {

/// What the handler makes of the same node with other operands, as the operator set has it.
std::vector<Value> resultsOf(Node &n, Handler handler, std::vector<Value> operands, int64_t opset);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_OPS_REUSE_H
