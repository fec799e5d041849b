//===- DimNames.h - Names of dimensions that are none ----------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_DIMNAMES_H
#define LATHE_LIB_IMPORT_ONNX_DIMNAMES_H

#include "llvm/ADT/StringRef.h"

namespace lathe::onnx {

/// What exporters write where they know no name. Each occurrence is a size of its own.
bool saysNothing(llvm::StringRef name);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_DIMNAMES_H
