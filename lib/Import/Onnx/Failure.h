//===- Failure.h - How an operator's handler gives up ----------------------===//
//
// Handlers are straight-line code over untrusted input: each check that fails throws a Failure, which the graph importer
// catches at the node's border and turns into llvm::Error. Nothing is thrown through LLVM's or MLIR's own frames, and no
// Failure leaves this library.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_FAILURE_H
#define LATHE_LIB_IMPORT_ONNX_FAILURE_H

#include "llvm/Support/FormatVariadic.h"
#include <string>

namespace lathe::onnx {

struct Failure {
  bool isUnsupported; ///< else the model is wrong
  std::string message;
};

/// The model is beyond a limit: this ends the walk over it, where a Failure ends one node.
struct LimitReached {
  std::string message;
};

template <typename... Ts> [[noreturn]] void failWrong(const char *format, Ts &&...args) {
  throw Failure{false, llvm::formatv(format, std::forward<Ts>(args)...).str()};
}
template <typename... Ts> [[noreturn]] void failUnsupported(const char *format, Ts &&...args) {
  throw Failure{true, llvm::formatv(format, std::forward<Ts>(args)...).str()};
}

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_FAILURE_H
