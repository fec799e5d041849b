//===- Narrow.h - Conversions to narrow types ------------------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_OPS_NARROW_H
#define LATHE_LIB_IMPORT_ONNX_OPS_NARROW_H

#include "Node.h"
#include "lathe/Dialect/Lathe/ElementTypes.h"

namespace lathe::onnx {

/// x in any element type, with the node's attributes 'saturate' and 'round_mode' for the narrow floats.
Value convert(Node &n, Value x, Type to);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_OPS_NARROW_H
