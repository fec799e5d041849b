//===- CollapseAxes.h - Fewer, longer axes ---------------------------------===//
#ifndef LATHE_LOWER_COLLAPSEAXES_H
#define LATHE_LOWER_COLLAPSEAXES_H

#include "lathe/Dialect/Kernel/Kernel.h"
#include <set>

namespace lathe::lower {

/// Merges pairs of axes that every expression steps through as one, and drops axes of extent 1. Contractions and attention
/// stay as they are: their emitters look for matrix structure in the axes.
void collapseAxes(kernel::GenericOp kernel);

/// Merges pairs of axes of a contraction whose operands are as the model has them: rows that were a batch and a sequence
/// become one axis, so that an epilogue need not take them apart again. Axes of extent 1 stay.
void collapseProductAxes(kernel::GenericOp kernel);

/// Merges pairs of these axes, by name, that every expression steps through as one. The others stay.
void mergeAxes(kernel::GenericOp kernel, const std::set<std::string> &names);

} // namespace lathe::lower

#endif // LATHE_LOWER_COLLAPSEAXES_H
