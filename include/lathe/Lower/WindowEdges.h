//===- WindowEdges.h - Where lines of a window leave the image -------------===//
#ifndef LATHE_LOWER_WINDOWEDGES_H
#define LATHE_LOWER_WINDOWEDGES_H

#include "lathe/Lower/BodyInfo.h"

namespace lathe::lower {

/// A window's taps along an axis of the image, of which those outside are zeros: at place `p` of the result along an axis, tap `t` is inside where
/// p * apart + t * step + rest is at least the limit (low), or less.
struct WindowEdges {
  struct Edge {
    bool low;
    int64_t apart, step;
    shape::Expr rest, limit; ///< sizes
  };
  unsigned place = 0, tap = 0;
  llvm::SmallVector<Edge, 2> edges;

  /// Of a value that is zero where its predicate does not hold, along the first of the summed axes `taps` that the predicate asks for. The innermost
  /// axis of the rows does not count: neighbours along it are rows of one tile.
  static std::optional<WindowEdges> of(const BodyInfo &info, mlir::Value image, AxisSet rows, llvm::ArrayRef<unsigned> taps);
  /// The part of the taps at all places that is outside; nothing where that is found in a run.
  std::optional<double> outside(const BodyInfo &info) const;
};

} // namespace lathe::lower

#endif // LATHE_LOWER_WINDOWEDGES_H
