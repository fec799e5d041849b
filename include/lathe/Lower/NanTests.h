//===- NanTests.h - Maxima of several numbers, one of which may be none -----===//
#ifndef LATHE_LOWER_NANTESTS_H
#define LATHE_LOWER_NANTESTS_H

#include "mlir/IR/Operation.h"

namespace lathe::lower {

/// A maximum (or minimum) is NaN where an operand is. Code for CPUs tests that each time, and chooses: three instructions in a chain. Here the numbers
/// of a tree of at least three are compared as if none were NaN, one instruction each, and the tree as a whole becomes NaN where one is, which
/// one instruction finds for two of them (3x3 windows: 0.65 to 0.8 of the time).
void shareNanTests(mlir::Operation *root);

} // namespace lathe::lower

#endif // LATHE_LOWER_NANTESTS_H
