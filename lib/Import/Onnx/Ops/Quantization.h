//===- Quantization.h - Integers with a scale ------------------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_OPS_QUANTIZATION_H
#define LATHE_LIB_IMPORT_ONNX_OPS_QUANTIZATION_H

#include "Node.h"

namespace lathe::onnx {

/// round(x) + zero, saturated. `zero` has x's shape, or is null.
Value rounded(Node &n, Value x, Value zero, Type to);
/// x - zero in a wider type; the zero point may be per row or per column of a matrix.
Value centered(Node &n, Value x, Value zero, Type to, bool perRow);
/// uint8 with the range of the operand and 0.
struct DynamicBytes {
  Value bytes, scale, zero;
};
DynamicBytes dynamicBytes(Node &n, Value x);
/// A vector per channel as [1, .., C, 1, ..] of y's rank, or a number as ones.
Value perChannel(Node &n, Value v, Value y, int64_t axis);
/// Scales of y's operands and of y itself of one shape: as small as they are, or as y where only a run knows which of them are numbers.
void fitTogether(Node &n, llvm::MutableArrayRef<Value> scales, Value y);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_OPS_QUANTIZATION_H
