//===- Binary.h - Elementwise operators of two operands --------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_OPS_BINARY_H
#define LATHE_LIB_IMPORT_ONNX_OPS_BINARY_H

#include "Unary.h"

namespace lathe::onnx {

void binaryOf(Node &n, Accepts accepts, Value (*build)(ir::GraphBuilder &, Value, Value));
void compareOf(Node &n, ir::CompareKind kind);
void variadicOf(Node &n, Value (*build)(ir::GraphBuilder &, Value, Value));

template <typename OpT, Accepts accepts> void binary(Node &n) {
  binaryOf(n, accepts, [](ir::GraphBuilder &g, Value x, Value y) { return g.binary<OpT>(x, y); });
}
template <ir::CompareKind kind> void compare(Node &n) { compareOf(n, kind); }
template <typename OpT> void variadic(Node &n) {
  variadicOf(n, [](ir::GraphBuilder &g, Value x, Value y) { return g.binary<OpT>(x, y); });
}

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_OPS_BINARY_H
