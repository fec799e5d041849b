//===- OpTable.h - Which operators lathe reads -----------------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_OPTABLE_H
#define LATHE_LIB_IMPORT_ONNX_OPTABLE_H

#include "Node.h"

namespace lathe::onnx {

/// The operator sets of the default domain that the table knows.
constexpr int64_t kOldestOpset = 1, kNewestOpset = 28;

struct OpEntry {
  const char *domain, *name;
  int64_t since; ///< the first operator set in which the handler's semantics hold
  Handler handler;
};

llvm::ArrayRef<OpEntry> opTable();

/// The entry with the largest since-version that the operator set reaches; null when there is none.
const OpEntry *findOp(llvm::StringRef domain, llvm::StringRef name, int64_t opset);

/// The names of the attributes that the operator has, blanks between them (Attributes.def).
llvm::StringRef attributesOf(llvm::StringRef domain, llvm::StringRef name);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_OPTABLE_H
