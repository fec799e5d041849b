//===- Weights.h - Parameters, buffers and constants ------------------------===//
#ifndef LATHE_LIB_IMPORT_FX_WEIGHTS_H
#define LATHE_LIB_IMPORT_FX_WEIGHTS_H

#include "Archive.h"
#include "Program.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace lathe::fx {

/// The element type of a serialised dtype; null where the compiler has none.
mlir::Type elementType(DType dtype, mlir::MLIRContext *context);
/// "float32", for messages.
std::string dtypeName(DType dtype);

/// complex64 and complex128: tensors with a last dimension of 2, for the real and the imaginary part, of the type that these have.
bool isComplexType(DType dtype);
DType partsType(DType dtype);

class Weights {
public:
  static llvm::Expected<Weights> open(const Archive &archive, llvm::StringRef model, llvm::StringRef file);

  /// The value of a parameter, buffer or constant. `meta` is what the graph says of it.
  llvm::Expected<mlir::ElementsAttr> value(const InputSpec &spec, const TensorMeta &meta, mlir::MLIRContext *context);
  /// The member of the archive with the bytes; empty where it has none.
  std::string memberOf(const InputSpec &spec) const;

private:
  struct Layout;
  llvm::Expected<const WeightEntry *> entryOf(const InputSpec &spec, std::string &folder) const;
  llvm::Error layoutOf(const InputSpec &spec, const TensorMeta &meta, Layout &layout) const;

  const Archive *archive = nullptr;
  std::string file;
  std::map<std::string, WeightEntry> parameters, constants;
  std::map<std::string, mlir::ElementsAttr> seen; ///< by place and type: tied weights are one attribute
};

} // namespace lathe::fx

#endif // LATHE_LIB_IMPORT_FX_WEIGHTS_H
