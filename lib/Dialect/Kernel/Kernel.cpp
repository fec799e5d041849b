//===- Kernel.cpp - The kernel dialect -------------------------------------===//

#include "lathe/Dialect/Kernel/Kernel.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::kernel;

#include "lathe/Dialect/Kernel/KernelDialect.cpp.inc"
#include "lathe/Dialect/Kernel/KernelEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "lathe/Dialect/Kernel/KernelTypes.cpp.inc"

#define GET_OP_CLASSES
#include "lathe/Dialect/Kernel/KernelOps.cpp.inc"

void KernelDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "lathe/Dialect/Kernel/KernelTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "lathe/Dialect/Kernel/KernelOps.cpp.inc"
      >();
}
