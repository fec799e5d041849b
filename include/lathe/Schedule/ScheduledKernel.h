//===- ScheduledKernel.h - A kernel and what decides how it runs -----------===//
#ifndef LATHE_SCHEDULE_SCHEDULEDKERNEL_H
#define LATHE_SCHEDULE_SCHEDULEDKERNEL_H

#include "lathe/Lower/DetachKernel.h"
#include "lathe/Schedule/Choose.h"

namespace lathe::schedule {

/// A kernel in its canonical form, the sizes that are expected of it, and the cases that it came with, over the canonical sizes.
struct ScheduledKernel {
  lower::DetachedKernel detached;
  std::vector<SizeHints> hints;
  std::vector<Candidate> forced;
  std::vector<std::string> sizes; ///< the kernel's own, in the order of the canonical ones

  explicit ScheduledKernel(kernel::GenericOp kernel);
  /// Equal for kernels that are compiled to the same code.
  std::string key() const;
  /// The cases that it came with, or what templates and the tuning file say, over the canonical sizes.
  Choice choose(const Machine &machine, const ChooseOptions &options) const;
  /// The kernel's own sizes for the canonical ones, and the other way round.
  std::map<std::string, shape::Expr> toOwn() const, toCanonical() const;
};

} // namespace lathe::schedule

#endif // LATHE_SCHEDULE_SCHEDULEDKERNEL_H
