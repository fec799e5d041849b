//===- EdgeCompares.h - Where a row's predicates begin and end to hold ------===//
#ifndef LATHE_TARGET_CPU_EDGECOMPARES_H
#define LATHE_TARGET_CPU_EDGECOMPARES_H

#include "../VectorBuilder.h"
#include "lathe/Lower/BodyEmitter.h"

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

/// Whether everything that a value's comparisons ask for holds at a number of places from one on: there the value needs no predicate.
class Interior {
public:
  Interior() = default;
  /// `bound`: axes that have values where it is asked.
  Interior(const lower::BodyInfo &info, mlir::Value value, unsigned lane, lower::AxisSet bound);

  bool isEverywhere() const { return edges.empty() && rows.empty(); }
  /// Where it holds at two points of an axis it holds between them.
  bool isLinearIn(llvm::StringRef axis) const;
  mlir::Value holds(VectorBuilder &v, const lower::BodyEmitter &point, mlir::Value place, unsigned count) const;
  void assume(VectorBuilder &v, lower::BodyEmitter &point) const;

private:
  std::vector<EdgeCompare> edges;     ///< along the lane axis
  std::vector<mlir::Operation *> rows; ///< the same along it
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_EDGECOMPARES_H
