//===- Tensors.h - Tensors of a model as constants -------------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_TENSORS_H
#define LATHE_LIB_IMPORT_ONNX_TENSORS_H

#include "ModelFile.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace lathe::onnx {

/// The name that the format gives to an element type.
llvm::StringRef elementTypeName(int32_t dataType);
/// The MLIR element type, or a Failure for what has none here (strings, complex numbers).
mlir::Type elementType(int32_t dataType, mlir::MLIRContext *context);

/// Fewer elements than this become inline attributes, which folding reads; more are resources that refer to the file.
constexpr int64_t kInlineElements = 1024;

/// The tensor's value, the codes of narrow types (ElementTypes.h) as ui8. Throws Failure when the message contradicts itself: a negative dimension, too few bytes, ...
mlir::ElementsAttr tensorValue(const TensorProto &tensor, ModelFile &file, mlir::MLIRContext *context);

/// The number of elements; a Failure when a dimension is negative or the product is beyond any memory.
int64_t elementCount(llvm::ArrayRef<int64_t> dims, llvm::StringRef what);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_TENSORS_H
