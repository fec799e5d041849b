//===- States.h - Inputs and outputs that are one tensor of the context -----===//
#ifndef LATHE_LIB_IMPORT_ONNX_STATES_H
#define LATHE_LIB_IMPORT_ONNX_STATES_H

#include "lathe/Import/Options.h"
#include "mlir/IR/BuiltinOps.h"

namespace lathe::onnx {

/// Makes states of the pairs that --state names.
llvm::Error addStates(mlir::ModuleOp module, const ImportOptions &options);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_STATES_H
