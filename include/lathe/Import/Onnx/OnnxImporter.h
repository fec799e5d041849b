//===- OnnxImporter.h - ONNX models as lathe graphs ------------------------===//
//
// Reads model.onnx (protobuf, with external data beside it) or model.textproto (the same message as protobuf text) and builds
// one module: size symbols, relations, and the function @main.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_IMPORT_ONNX_ONNXIMPORTER_H
#define LATHE_IMPORT_ONNX_ONNXIMPORTER_H

#include "lathe/Import/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace lathe {

/// The module, or every mistake and every unsupported node of the model. Large constants are `dense_resource`s whose bytes
/// stay in the parsed or mapped file for as long as the context lives.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> importOnnx(llvm::StringRef path, const ImportOptions &options,
                                                             mlir::MLIRContext &context);

/// As importOnnx for a model that is already in memory; `name` stands in messages, external data is refused.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> importOnnxBytes(llvm::StringRef bytes, llvm::StringRef name, bool isText,
                                                                  const ImportOptions &options,
                                                                  mlir::MLIRContext &context);

/// Every node of the model that cannot be compiled, with its reason; an error when the file cannot be read at all.
llvm::Expected<std::vector<NodeReport>> checkOnnx(llvm::StringRef path, const ImportOptions &options,
                                                  mlir::MLIRContext &context);

} // namespace lathe

#endif // LATHE_IMPORT_ONNX_ONNXIMPORTER_H
