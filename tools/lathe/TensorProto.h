//===- TensorProto.h - ONNX's test data ------------------------------------===//
#ifndef LATHE_TOOLS_TENSORPROTO_H
#define LATHE_TOOLS_TENSORPROTO_H

#include "HostTensor.h"

namespace lathe::tool {

/// The tensor in the bytes of a serialized onnx.TensorProto; `origin` names it in messages.
llvm::Expected<HostTensor> parseTensorProto(llvm::StringRef bytes, llvm::StringRef origin);
llvm::Expected<HostTensor> readTensorProto(llvm::StringRef path);

} // namespace lathe::tool

#endif // LATHE_TOOLS_TENSORPROTO_H
