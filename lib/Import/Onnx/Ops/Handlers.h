//===- Handlers.h - The handlers of the operator table ---------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_OPS_HANDLERS_H
#define LATHE_LIB_IMPORT_ONNX_OPS_HANDLERS_H

#include "Node.h"

namespace lathe::onnx {

#define OP(name, since, handler) void handler(Node &n);
#define UNARY(name, since, op, accepts)
#define BINARY(name, since, op, accepts)
#define COMPARE(name, since, kind)
#define VARIADIC(name, since, op)
#include "OpTable.def"
#undef OP
#undef UNARY
#undef BINARY
#undef COMPARE
#undef VARIADIC

/// numpy.matmul; a Failure where the sizes do not fit.
Value matrixProduct(Node &n, Value x, Value y);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_OPS_HANDLERS_H
