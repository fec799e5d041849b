//===- PlainKernel.h - Contractions and attention as plain reductions ------===//
#ifndef LATHE_LOWER_PLAINKERNEL_H
#define LATHE_LOWER_PLAINKERNEL_H

#include "lathe/Dialect/Kernel/Kernel.h"

namespace lathe::lower {

/// Replaces a kernel's contraction or attention by loads, arithmetic and kernel.reduce, in place; the class becomes
/// `reduction`. For what a target's own emitters do not take: right for every type and every offset, not fast. False,
/// with the kernel as it was, when an operand was packed for an emitter.
bool makePlain(kernel::GenericOp kernel);

} // namespace lathe::lower

#endif // LATHE_LOWER_PLAINKERNEL_H
