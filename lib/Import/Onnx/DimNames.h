//===- DimNames.h - Names of dimensions that are none ----------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_DIMNAMES_H
#define LATHE_LIB_IMPORT_ONNX_DIMNAMES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

namespace lathe::onnx {

/// What exporters write where they know no name. Each occurrence is a size of its own.
bool saysNothing(llvm::StringRef name);
/// What the size of an input's dimension is called then.
inline std::string nameForDim(llvm::StringRef input, size_t index) { return (input + "_dim" + llvm::Twine(index)).str(); }

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_DIMNAMES_H
