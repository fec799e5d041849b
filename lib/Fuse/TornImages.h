//===- TornImages.h - Images whose lines are not lines in memory -----------===//
//
// A convolution reads each element of its image at several places, along lines. What interleaves lines (space to depth and back), takes them in steps or
// repeats their elements (enlargement to the nearest) leaves neighbours apart: each place would find its own. So such an image is brought into order in a
// kernel of its own, which costs a trip through memory.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_FUSE_TORNIMAGES_H
#define LATHE_LIB_FUSE_TORNIMAGES_H

#include "Trees.h"

namespace lathe::fuse {

/// Whether an image, or a window over one, has several places, by all of its sizes or a filter's.
bool hasPlaces(llvm::ArrayRef<shape::Expr> dims);
/// Whether neighbours along a line of an image of so many dimensions lie apart behind the view, or channels get another order, or become places: each has
/// lines of its own then, at no one distance.
bool tearsLines(mlir::Operation *view, size_t rank);
/// Whether a copy brings results of one of a kernel's members, a depthwise convolution whose lanes are places, into an order in which these are scattered.
bool tearsDepthwise(const Trees &trees, llvm::ArrayRef<mlir::Operation *> members, mlir::Operation *copy);
/// Puts copies (TurnedRows.h) in front of convolutions of several places, behind views that tear the lines of what they read, and in front of those of a single
/// one behind planes that are turned, where tiles read lines as they lie (`inTiles`).
void copyTornImages(mlir::Block &body, bool inTiles);

} // namespace lathe::fuse

#endif // LATHE_LIB_FUSE_TORNIMAGES_H
