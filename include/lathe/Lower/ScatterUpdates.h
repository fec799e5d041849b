//===- ScatterUpdates.h - The updates of a scatter on their own ------------===//
#ifndef LATHE_LOWER_SCATTERUPDATES_H
#define LATHE_LOWER_SCATTERUPDATES_H

#include "lathe/Lower/BodyInfo.h"

namespace lathe::lower {

/// What is left of a kernel of class scatter whose result lies where its data lie.
struct ScatterUpdates {
  kernel::StoreOp store; ///< without its predicate; written out, it loads what it combines with and replaces it
  mlir::Value update;    ///< what is stored, or combined with what is there
  std::optional<kernel::Combiner> combiner; ///< written out or not
  mlir::Value predicate; ///< null: every update is stored
};

/// Takes the cover and what only it needs off a kernel, and merges axes. Combinations are written out, unless the
/// target has instructions for them.
ScatterUpdates isolateUpdates(kernel::GenericOp kernel, bool writeOut = true);

/// How the axes of the updates may be walked through.
struct ScatterAxes {
  AxisSet own = 0;     ///< each place writes elements of its own: the places run in any order
  AxisSet serial = 0;  ///< the others, which run in the order of the axes
  AxisSet indexed = 0; ///< those along which the indices or the predicate vary
  AxisSet all() const { return own | serial; }
};
ScatterAxes axesOf(ScatterUpdates updates, const BodyInfo &info);

/// An index whose places threads can share out, each taking the updates that fall into its part.
struct SharedIndex {
  mlir::Value index;  ///< of the body
  shape::Expr places; ///< it is below this
};
/// How many elements of the result the updates may be stored at; unknown where an index has no known end.
shape::Expr placesOf(ScatterUpdates updates, const BodyInfo &info);
/// The one with the most places; nothing where none has a known end.
std::optional<SharedIndex> widestIndex(ScatterUpdates updates);

} // namespace lathe::lower

#endif // LATHE_LOWER_SCATTERUPDATES_H
