//===- Constants.h - Constant operands that are numbers --------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_OPS_CONSTANTS_H
#define LATHE_LIB_IMPORT_ONNX_OPS_CONSTANTS_H

#include "Node.h"

namespace lathe::onnx {

/// The elements of a constant floating-point tensor; nothing when it is not constant.
std::optional<llvm::SmallVector<double>> constantNumbers(Value v);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_OPS_CONSTANTS_H
