//===- Constants.h - Constant operands that are numbers --------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_OPS_CONSTANTS_H
#define LATHE_LIB_IMPORT_ONNX_OPS_CONSTANTS_H

#include "Node.h"

namespace lathe::onnx {

/// The elements of a floating-point tensor that is constant, or short and follows from constants and known sizes; else nothing.
std::optional<llvm::SmallVector<double>> constantNumbers(Value v);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_OPS_CONSTANTS_H
