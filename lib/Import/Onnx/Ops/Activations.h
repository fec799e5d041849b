//===- Activations.h - Functions that operators and recurrences share ------===//
#ifndef LATHE_LIB_IMPORT_ONNX_OPS_ACTIVATIONS_H
#define LATHE_LIB_IMPORT_ONNX_OPS_ACTIVATIONS_H

#include "Node.h"

namespace lathe::onnx {

/// A function of one value and up to two numbers, as the format defines it for recurrences.
struct Activation {
  const char *name;
  double alpha, beta; ///< where the model does not say
  bool hasAlpha, hasBeta;
  Value (*build)(ir::GraphBuilder &g, Value x, double alpha, double beta);
};

llvm::ArrayRef<Activation> activationTable();
/// Null for a name that the format does not know; upper and lower case are the same, as runtimes have it.
const Activation *findActivation(llvm::StringRef name);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_OPS_ACTIVATIONS_H
