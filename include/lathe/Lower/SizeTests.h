//===- SizeTests.h - What a kernel asks of its sizes ------------------------===//
#ifndef LATHE_LOWER_SIZETESTS_H
#define LATHE_LOWER_SIZETESTS_H

#include "lathe/Dialect/Kernel/Kernel.h"
#include "lathe/Shape/Facts.h"

namespace lathe::lower {

/// Comparisons of sizes with numbers that the facts decide become constants, and what follows from them, in place. A search for places in a sorted row of
/// open length has a step for each power of two that a length may have: of short rows most say nothing.
void settleSizeTests(kernel::GenericOp kernel, const shape::Facts &facts);

/// The sizes that the kernel asks whether they reach a number that hardly any does (2^32 or more).
llvm::SmallVector<shape::Expr> testedSizes(kernel::GenericOp kernel);

} // namespace lathe::lower

#endif // LATHE_LOWER_SIZETESTS_H
