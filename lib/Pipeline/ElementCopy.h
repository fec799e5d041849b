//===- ElementCopy.h - Elements of one type as another ---------------------===//
#ifndef LATHE_LIB_PIPELINE_ELEMENTCOPY_H
#define LATHE_LIB_PIPELINE_ELEMENTCOPY_H

#include "mlir/IR/BuiltinTypes.h"

namespace lathe::pipeline {

/// Copies runs of elements, floats rounded to the nearest of the other type. Neither side needs to be aligned.
class ElementCopy {
public:
  ElementCopy(mlir::Type from, mlir::Type to);
  /// `count` elements, which lie `inStep` and `outStep` elements apart.
  void operator()(const char *in, int64_t inStep, char *out, int64_t outStep, int64_t count) const;

  /// Bytes are copied as they are.
  bool isPlain() const { return plain; }

  const unsigned inBytes, outBytes;

private:
  using Run = void (*)(const char *in, int64_t inStep, char *out, int64_t outStep, int64_t count);
  bool plain;
  Run run = nullptr; ///< null: any floats
  const llvm::fltSemantics *from = nullptr, *to = nullptr;
};

} // namespace lathe::pipeline

#endif // LATHE_LIB_PIPELINE_ELEMENTCOPY_H
