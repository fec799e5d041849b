//===- AxisGroup.h - Several axes walked as one ----------------------------===//
//
// Contractions and attention walk a group of axes (rows, columns, reduced axes, batch) with one flat index. Where every
// expression that mentions the group steps through it at one stride, the flat index can stand for the innermost axis with
// the others at zero, which costs nothing; elsewhere the axes are recovered by division.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CPU_AXISGROUP_H
#define LATHE_TARGET_CPU_AXISGROUP_H

#include "VectorBuilder.h"
#include "lathe/Lower/BodyEmitter.h"

namespace lathe::cpu {

class AxisGroup {
public:
  AxisGroup() = default;
  /// `axes`: indices of kernel axes, outermost first.
  AxisGroup(const lower::BodyInfo &info, std::vector<unsigned> axes) : info(&info), axes(std::move(axes)) {}
  /// Kernel axes in `set`, in the kernel's order.
  static AxisGroup of(const lower::BodyInfo &info, lower::AxisSet set);

  const lower::BodyInfo *info = nullptr;
  std::vector<unsigned> axes;

  bool empty() const { return axes.empty(); }
  lower::AxisSet set() const;
  shape::Expr extent() const;
  /// The one stride at which `e` steps through the group; nothing when there is none. Zero when e does not mention it.
  std::optional<shape::Expr> strideOf(const shape::Expr &e) const;
  bool isMentionedBy(const shape::Expr &e) const;
  /// The innermost axis that has more than one point: the flat index stands for it. The group must not be empty.
  unsigned carrier() const;
  /// Binds the group's axes to a flat index. `flat`: all expressions of interest have a stride.
  void bind(VectorBuilder &v, lower::BodyEmitter &point, mlir::Value index, bool flat) const;
  /// Binds them to their first point.
  void bindFirst(VectorBuilder &v, lower::BodyEmitter &point) const;
  /// Binds the axes of a point, bound to a flat index and not flat, to the next one: no division.
  void advance(VectorBuilder &v, lower::BodyEmitter &point) const;
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_AXISGROUP_H
