//===- EdgeCompares.h - Where a row's predicates begin and end to hold ------===//
#ifndef LATHE_TARGET_CPU_EDGECOMPARES_H
#define LATHE_TARGET_CPU_EDGECOMPARES_H

#include "lathe/Lower/BodyInfo.h"

namespace lathe::cpu {

/// A comparison of the lane's place with something that is the same along the row, as padding has them:
/// lane * step + rest is at least the limit (low), or less.
struct EdgeCompare {
  mlir::Operation *op;
  bool low;
  int64_t step;
  shape::Expr rest, limit;
  /// Where it begins to hold (a low one), or to fail.
  shape::Expr place() const { return shape::Expr::ceildiv(limit - rest, shape::Expr(step)); }
};

/// Those of a kernel with lanes along an axis, where the axes of `bound` have values.
std::vector<EdgeCompare> edgeCompares(const lower::BodyInfo &info, unsigned lane, lower::AxisSet bound);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_EDGECOMPARES_H
