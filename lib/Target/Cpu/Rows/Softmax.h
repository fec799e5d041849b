//===- Softmax.h - What a softmax needs less than its parts do --------------===//
#ifndef LATHE_TARGET_CPU_SOFTMAX_H
#define LATHE_TARGET_CPU_SOFTMAX_H

#include "lathe/Dialect/Kernel/Kernel.h"

namespace lathe::cpu {

/// On a kernel that is about to be emitted: in softmaxes and their logarithms quotients by a row's sum become products with its
/// reciprocal, of which the rest is taken off, and the largest value need not be NaN where a value is (the sum is).
void simplifySoftmax(kernel::GenericOp kernel);
/// Whether NaNs may be passed over by this maximum.
bool passesOverNan(kernel::ReduceOp op);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_SOFTMAX_H
