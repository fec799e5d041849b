//===- Heads.h - The heads of attentions -----------------------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_OPS_HEADS_H
#define LATHE_LIB_IMPORT_ONNX_OPS_HEADS_H

#include "Node.h"

namespace lathe::onnx {

/// Queries, keys and values as [batch, heads, sequence, size] that fit together.
void requireMatchingHeads(Node &n, Value q, Value k, Value v);
/// Each head of x, for the heads / its own heads neighbouring query heads that share it.
Value repeatHeads(Node &n, Value x, const Expr &heads);
/// The attribute, else what the size of a head gives.
double headScale(Node &n, const Expr &headSize);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_OPS_HEADS_H
