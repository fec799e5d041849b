//===- Heads.h - The heads of attentions -----------------------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_OPS_HEADS_H
#define LATHE_LIB_IMPORT_ONNX_OPS_HEADS_H

#include "Node.h"

namespace lathe::onnx {

/// Queries, keys and values as [batch, heads, sequence, size] that fit together.
void requireMatchingHeads(Node &n, Value q, Value k, Value v);
/// Each head of x, for the heads / its own heads neighbouring query heads that share it.
Value repeatHeads(Node &n, Value x, const Expr &heads);
/// The scores times attribute 'scale', else times 1 / sqrt(size of a head). Without `zeroIsUnset` a scale of 0 is one.
Value scaled(Node &n, Value scores, const Expr &headSize, bool zeroIsUnset = false);
/// cap * tanh(scores / cap); the scores themselves where the cap is not positive.
Value softcapped(Node &n, Value scores, double cap);
/// Past keys or values [batch, heads, past, size], where there are any, in front of this call's.
Value withPast(Node &n, Value past, Value x);
/// [batch, sequence, heads * size] as [batch, heads, sequence, size], and back.
Value splitHeads(Node &n, Value x, int64_t heads);
Value mergeHeads(Node &n, Value x);
/// Pairs of elements of each head of x, [batch, heads, sequence, size], turned by the angles of the tables, which broadcast to
/// [batch, heads, sequence, half of what turns]: neighbours (`interleaved`), or those that lie that half apart.
Value rotated(Node &n, Value x, Value cos, Value sin, bool interleaved);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_OPS_HEADS_H
