//===- Passes.h - Target-specific passes on kernels ------------------------===//
#ifndef LATHE_TARGET_PASSES_H
#define LATHE_TARGET_PASSES_H

#include "lathe/Dialect/Kernel/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace lathe::target {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lathe/Target/Passes.h.inc"
} // namespace lathe::target

#endif // LATHE_TARGET_PASSES_H
