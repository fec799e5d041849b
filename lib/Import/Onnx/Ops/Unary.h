//===- Unary.h - Elementwise operators of one operand ----------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_OPS_UNARY_H
#define LATHE_LIB_IMPORT_ONNX_OPS_UNARY_H

#include "Node.h"

namespace lathe::onnx {

enum class Accepts { Floats, Numbers, Integers, Bools };

void unaryOf(Node &n, Accepts accepts, Value (*build)(ir::GraphBuilder &, Value));

/// The handler of an operator that is one op of the dialect.
template <typename OpT, Accepts accepts> void unary(Node &n) {
  unaryOf(n, accepts, [](ir::GraphBuilder &g, Value x) { return g.unary<OpT>(x); });
}

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_OPS_UNARY_H
