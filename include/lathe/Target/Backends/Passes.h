//===- Passes.h - Kernels to code, stage by stage ---------------------------===//
#ifndef LATHE_TARGET_BACKENDS_PASSES_H
#define LATHE_TARGET_BACKENDS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace lathe::target {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lathe/Target/Backends/Passes.h.inc"
} // namespace lathe::target

#endif // LATHE_TARGET_BACKENDS_PASSES_H
