//===- SoftmaxMatch.h - Softmax as it is written out -----------------------===//
//
// Private to lib/Optimize.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_OPTIMIZE_SOFTMAXMATCH_H
#define LATHE_LIB_OPTIMIZE_SOFTMAXMATCH_H

#include "ViewIndex.h"

namespace lathe::opt {

/// exp(x - max(x)) / sum over the last dimension of x.
struct Softmax {
  mlir::Value input;
  mlir::Value result;
  bool zeroMasked = false; ///< rows that are -inf throughout give 0
  llvm::SmallVector<mlir::Location> locations;
};

/// Matches the value of a softmax, with a guard that turns rows without any finite score into zeros where there is one. What is
/// matched has no use outside.
std::optional<Softmax> matchSoftmax(mlir::Value v, const shape::Facts &facts);

} // namespace lathe::opt

#endif // LATHE_LIB_OPTIMIZE_SOFTMAXMATCH_H
