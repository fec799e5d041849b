//===- SplitAxes.h - Axes as the quotients and remainders that are taken of them ===//
#ifndef LATHE_LOWER_SPLITAXES_H
#define LATHE_LOWER_SPLITAXES_H

#include "lathe/Dialect/Kernel/Kernel.h"

namespace lathe::lower {

/// Splits axes of which offsets take quotients and remainders by a divisor of the extent, and merges what can be merged
/// then. Loops and reductions alone.
void splitAxes(kernel::GenericOp kernel);

} // namespace lathe::lower

#endif // LATHE_LOWER_SPLITAXES_H
