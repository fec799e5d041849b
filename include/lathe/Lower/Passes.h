//===- Passes.h - Rewrites of kernels --------------------------------------===//
#ifndef LATHE_LOWER_PASSES_H
#define LATHE_LOWER_PASSES_H

#include "mlir/Pass/Pass.h"

namespace lathe::lower {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lathe/Lower/Passes.h.inc"

} // namespace lathe::lower

#endif // LATHE_LOWER_PASSES_H
