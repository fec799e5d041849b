//===- JoinPieces.h - Concatenations along an outer axis, in longer rows ---===//
#ifndef LATHE_LOWER_JOINPIECES_H
#define LATHE_LOWER_JOINPIECES_H

#include "lathe/Dialect/Kernel/Kernel.h"

namespace lathe::lower {

/// Rows of longer bodies are not cut into stretches, each of which has code of its own.
constexpr size_t largestCutBody = 96;
/// Whether a row may be cut at the places: they come one after the other whatever the sizes are, and are few enough for the code.
bool canCutAt(llvm::ArrayRef<shape::Expr> places);

/// Where an axis's place says which operand is read, and it would be one with an axis inside of it but for that, asks the same of the place in
/// both: collapseAxes then makes them one. Loops only.
void joinPieces(kernel::GenericOp kernel);

} // namespace lathe::lower

#endif // LATHE_LOWER_JOINPIECES_H
