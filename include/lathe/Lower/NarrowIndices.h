//===- NarrowIndices.h - Places that fit into 32 bits -----------------------===//
#ifndef LATHE_LOWER_NARROWINDICES_H
#define LATHE_LOWER_NARROWINDICES_H

#include "lathe/Dialect/Kernel/Kernel.h"
#include "lathe/Shape/Facts.h"

namespace lathe::lower {

/// The first and the last places that the kernel searches for (argmax) are computed in 32 bits where that is known to be enough, in place.
void narrowIndices(kernel::GenericOp kernel, shape::Facts facts);

/// What must be at most `mostNarrow` for all of them to be; empty where there are none or where it is known.
llvm::SmallVector<shape::Expr> lengthsToNarrow(kernel::GenericOp kernel);
constexpr int64_t mostNarrow = 0x7ffffffe; ///< what is more stands for no place

} // namespace lathe::lower

#endif // LATHE_LOWER_NARROWINDICES_H
