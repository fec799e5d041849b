//===- Windows.h - Ways to compute sums over windows -----------------------===//
//
// Which convolutions are computed by Winograd's minimal filtering. A filter is packed for one way when the artifact is written, so
// this is asked then, before there is a machine: all that an artifact has code for read the same filter.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_SCHEDULE_WINDOWS_H
#define LATHE_SCHEDULE_WINDOWS_H

#include "lathe/Lower/SlidingWindow.h"
#include "lathe/Schedule/Choose.h"

namespace lathe::schedule {

/// A convolution whose window slides, in numbers.
struct WindowedSum {
  const lower::BodyInfo &info;
  lower::SlidingWindow window;
  int64_t columns, taps;
  int64_t readers = 1; ///< kernels that have the filter in common

  shape::Expr tiles(llvm::ArrayRef<int64_t> results) const;
  int64_t filterBytes(llvm::ArrayRef<int64_t> results) const;
  /// Cycles of the machine, of the direct form ({1, 1}) or of tiles of so many results.
  shape::Expr cost(llvm::ArrayRef<int64_t> results, const Machine &machine) const;
};

/// How a filter is packed.
struct WindowChoice {
  WinogradAttr tiles; ///< null: the direct form alone
  bool both = false;  ///< sizes decide when a model runs: both forms
};

/// The tiles that take the least time, where that is less than without them. What the kernel's cases say goes before.
WindowChoice chooseWinograd(const WindowedSum &sum);

/// Whether the kernel's filter, if it is one of a window's, is there as the schedule wants it.
bool isPackedFor(kernel::GenericOp kernel, mlir::Attribute schedule);

/// The ways of a kernel whose filter was packed so.
void proposeWinograd(const lower::BodyInfo &info, const Machine &machine, std::vector<Candidate> &candidates, Choice &choice);

} // namespace lathe::schedule

#endif // LATHE_SCHEDULE_WINDOWS_H
