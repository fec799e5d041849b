//===- CollapseAxes.h - Fewer, longer axes ---------------------------------===//
#ifndef LATHE_LOWER_COLLAPSEAXES_H
#define LATHE_LOWER_COLLAPSEAXES_H

#include "lathe/Dialect/Kernel/Kernel.h"

namespace lathe::lower {

/// Merges pairs of axes that every expression steps through as one, and drops axes of extent 1. Contractions and attention
/// stay as they are: their emitters look for matrix structure in the axes.
void collapseAxes(kernel::GenericOp kernel);

} // namespace lathe::lower

#endif // LATHE_LOWER_COLLAPSEAXES_H
