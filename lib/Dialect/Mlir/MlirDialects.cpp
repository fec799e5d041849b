//===- MlirDialects.cpp - The dialects of MLIR itself ----------------------===//

#include "lathe/Dialect/MlirDialects.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"

void lathe::registerMlirDialects(mlir::DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
}
