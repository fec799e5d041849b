//===- Order.h - Sorting --------------------------------------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_OPS_ORDER_H
#define LATHE_LIB_IMPORT_ONNX_OPS_ORDER_H

#include "Node.h"

namespace lathe::onnx {

/// GraphBuilder::sort, with the axis's size required to be one that can be sorted.
Value orderOf(Node &n, Value x, int64_t axis, bool descending, const Expr &count);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_OPS_ORDER_H
