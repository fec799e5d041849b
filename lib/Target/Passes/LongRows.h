//===- LongRows.h - Which reductions are done in parts ---------------------===//
#ifndef LATHE_LIB_TARGET_PASSES_LONGROWS_H
#define LATHE_LIB_TARGET_PASSES_LONGROWS_H

#include "lathe/Dialect/Kernel/Kernel.h"

namespace lathe::target {

/// A kernel's reductions: all go over the same axes, and leave values for the same few rows.
struct LongRows {
  std::set<std::string> axes; ///< of rows
  std::string cut;            ///< the axis of which a part has a range
  shape::Expr parts, part;    ///< how many there are, and how much of the axis each has
};

/// Reductions of the body, in its order.
std::vector<kernel::ReduceOp> reducesOf(kernel::GenericOp kernel);

/// The parts that a kernel's reductions are done in; nothing where its rows are many or short, and where parts would cost more than threads gain.
std::optional<LongRows> longRowsOf(kernel::GenericOp kernel);

} // namespace lathe::target

#endif // LATHE_LIB_TARGET_PASSES_LONGROWS_H
