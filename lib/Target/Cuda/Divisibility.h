//===- Divisibility.h - What a launch knows of its sizes -------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_DIVISIBILITY_H
#define LATHE_LIB_TARGET_CUDA_DIVISIBILITY_H

#include "lathe/Lower/BodyInfo.h"

namespace lathe::cuda {

/// Sizes that an entry point takes as multiples of a number, because the plan has looked before it chose the entry point.
/// Open sizes get the wide accesses of fixed ones that way.
class Divisibility {
public:
  explicit Divisibility(const lower::BodyInfo &info) : info(&info) {}
  /// Adds what makes `e` a multiple of `by` at all points of the kernel, where the symbol `free` counts as one. False, and
  /// nothing is added, when no condition on sizes does.
  bool assume(const shape::Expr &e, int64_t by, llvm::StringRef free = "");
  /// The largest power of two up to `limit` that divides the expression under what is assumed.
  int64_t divisorOf(const shape::Expr &e, int64_t limit, llvm::StringRef free = "") const;
  /// Products of sizes and the numbers that divide them.
  const std::map<shape::Expr, int64_t> &conditions() const { return multiples; }

private:
  /// The expression as factors of what varies within a kernel, without those that the free symbol is in.
  std::map<shape::Expr, shape::Expr> bySizes(const shape::Expr &e, llvm::StringRef free) const;
  bool known(const shape::Expr &size, int64_t by) const;
  const lower::BodyInfo *info;
  std::map<shape::Expr, int64_t> multiples;
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_DIVISIBILITY_H
