//===- MlirDialects.h - The dialects of MLIR itself ------------------------===//
#ifndef LATHE_DIALECT_MLIRDIALECTS_H
#define LATHE_DIALECT_MLIRDIALECTS_H

#include "mlir/IR/DialectRegistry.h"

namespace lathe {
/// Makes every dialect and extension of MLIR known. The headers that name them all take longer to compile than any file of lathe: they are
/// included in one place.
void registerMlirDialects(mlir::DialectRegistry &registry);
} // namespace lathe

#endif // LATHE_DIALECT_MLIRDIALECTS_H
