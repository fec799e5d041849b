//===- Hints.h - Sizes that are expected -----------------------------------===//
#ifndef LATHE_SCHEDULE_HINTS_H
#define LATHE_SCHEDULE_HINTS_H

#include "lathe/Dialect/Kernel/Kernel.h"
#include "mlir/IR/BuiltinOps.h"

namespace lathe::schedule {

/// What is known of one size parameter of a kernel.
struct SizeHints {
  int64_t min = 0;
  std::optional<int64_t> max;
  std::vector<int64_t> expected; ///< as the user gave them; empty: none were given
};

/// One per size parameter of the kernel, in their order: from the symbols of its module.
std::vector<SizeHints> hintsOf(kernel::GenericOp kernel);

/// Values for all sizes, by symbol.
using Point = std::map<std::string, int64_t>;

/// The points that ways to run a kernel are compared at: the expected sizes, each with each; where none are given, powers of two and
/// halves between them, of some vectors quarters and eighths too, in the size's range. Where that makes too many, one size varies at a time, and the least of all come together.
std::vector<Point> pointsOf(llvm::ArrayRef<std::string> sizes, llvm::ArrayRef<SizeHints> hints);

/// A text that equal hints share.
std::string textOf(llvm::ArrayRef<SizeHints> hints);

} // namespace lathe::schedule

#endif // LATHE_SCHEDULE_HINTS_H
