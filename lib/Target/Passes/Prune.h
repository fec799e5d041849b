//===- Prune.h - What a kernel no longer needs -----------------------------===//
#ifndef LATHE_LIB_TARGET_PASSES_PRUNE_H
#define LATHE_LIB_TARGET_PASSES_PRUNE_H

#include "lathe/Dialect/Kernel/Kernel.h"

namespace lathe::target {

/// Takes off what no store needs: ops, operands, axes (SplitScatters.cpp).
void prune(kernel::GenericOp kernel);

} // namespace lathe::target

#endif // LATHE_LIB_TARGET_PASSES_PRUNE_H
