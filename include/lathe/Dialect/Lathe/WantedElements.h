//===- WantedElements.h - Which elements an op computes with ---------------===//
#ifndef LATHE_DIALECT_LATHE_WANTEDELEMENTS_H
#define LATHE_DIALECT_LATHE_WANTEDELEMENTS_H

#include "mlir/IR/Operation.h"

namespace lathe::ir {

/// What an elementwise op wants its operands' elements to be, "floats" or "integers or booleans", where they are something else. Importers
/// whose formats state the types of results themselves ask before they believe it.
std::optional<llvm::StringRef> wantedElements(mlir::Operation *op);

} // namespace lathe::ir

#endif // LATHE_DIALECT_LATHE_WANTEDELEMENTS_H
