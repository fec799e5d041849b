//===- Signature.h - What a model file says of its inputs and outputs -------===//
//
// For a model that cannot be compiled: what --dim, --shape and --value may speak of.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_IMPORT_SIGNATURE_H
#define LATHE_IMPORT_SIGNATURE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mlir {
class MLIRContext;
}

namespace lathe {

struct ModelSignature {
  struct Tensor {
    std::string name, type; ///< "f32 [batch, 3]", or what it is instead of a tensor
  };
  std::vector<Tensor> inputs, outputs;
  std::vector<std::string> sizes; ///< names that the inputs' dimensions have
};

llvm::Expected<ModelSignature> describeOnnx(llvm::StringRef path, mlir::MLIRContext &context);
llvm::Expected<ModelSignature> describeFx(llvm::StringRef path, mlir::MLIRContext &context, llvm::StringRef program = "");

} // namespace lathe

#endif // LATHE_IMPORT_SIGNATURE_H
