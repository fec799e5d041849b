//===- TurnedRows.h - Rows that lie along another axis than they are read --===//
//
// A kernel that sums rows and computes their elements from the sums (a norm, a softmax) goes over them several times, with neighbouring elements in the
// lanes. Where a transpose stands in front of it or behind, either what it reads or what it stores would lie apart: then the elements are brought into
// order in a kernel of their own, whose tiles are transposed in registers, unless the other side is turned back.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_FUSE_TURNEDROWS_H
#define LATHE_LIB_FUSE_TURNEDROWS_H

#include "Domain.h"

namespace lathe::fuse {

/// Whether another dimension than the last becomes the last one, and both have elements enough to lie apart.
bool turnsRows(mlir::Operation *view);
/// Whether another dimension than the last becomes the last one, however few elements they have.
bool movesLast(mlir::Operation *view);
/// Whether a few neighbours in the result, of a number that is no power of two, come from as many places: the remainders of a transposed convolution. A
/// product's tiles weave powers of two; a pass of its own takes the others from whole vectors.
bool weavesOddly(mlir::Operation *view);
/// Whether one transpose takes elements back to where they were before the other.
bool turnsBack(ir::TransposeOp back, ir::TransposeOp turned);
/// A cast to the same type: elements that are brought into order.
bool isCopy(mlir::Operation *op);
/// How often a broadcast repeats each element, side by side; 0 where that is once, or as often as there are lanes.
int64_t repeatsElements(mlir::Operation *view);
/// Whether such repeated elements become neighbours in rows of more.
bool repeatsInRows(mlir::Operation *view);
/// Puts such copies behind transposes of which rows are reduced, where elements that are computed from the rows stay in that order, and behind those of
/// which each element is stored a few times side by side; where rows go through several passes (`inPasses`: they are not kept in registers), behind rows of
/// repeated elements, too.
void copyTurnedRows(mlir::Block &body, bool inPasses);

} // namespace lathe::fuse

#endif // LATHE_LIB_FUSE_TURNEDROWS_H
