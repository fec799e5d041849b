//===- Divisibility.h - What is known to divide sizes ----------------------===//
#ifndef LATHE_LOWER_DIVISIBILITY_H
#define LATHE_LOWER_DIVISIBILITY_H

#include "lathe/Lower/BodyInfo.h"

namespace lathe::lower {

/// Sizes that code takes as multiples of a number, because a plan has looked before it chose the code. Open sizes get the wide accesses
/// of fixed ones that way.
class Divisibility {
public:
  explicit Divisibility(const lower::BodyInfo &info) : info(&info) {}
  /// Adds what makes `e` a multiple of `by` at all points of the kernel, where the symbol `free` counts as one. False, and
  /// nothing is added, when no condition on sizes does.
  bool assume(const shape::Expr &e, int64_t by, llvm::StringRef free = "");
  /// What a condition says: the product of sizes is a multiple.
  void add(const shape::Expr &size, int64_t by) { multiples[size] = std::max(multiples[size], by); }
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

} // namespace lathe::lower

#endif // LATHE_LOWER_DIVISIBILITY_H
