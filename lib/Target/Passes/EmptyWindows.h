//===- EmptyWindows.h - Results that are sums of nothing --------------------===//
//
// Minimal filtering computes each result from sums and differences of its tile, which cancel but for a rounding: a result that no
// element of the image or of the filter is a part of would be nearly zero, where the sum of nothing is zero. What is asked of it
// next (which is larger, is it positive) must not depend on that, so such convolutions are left to the direct form.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_PASSES_EMPTYWINDOWS_H
#define LATHE_LIB_TARGET_PASSES_EMPTYWINDOWS_H

#include "Filters.h"
#include "lathe/Lower/SlidingWindow.h"

namespace lathe::target {

/// Whether the image is padded by more than the window reaches, so that whole windows lie outside.
bool leavesImage(const lower::BodyInfo &info, const Filter &f, const lower::SlidingWindow &window);

/// Whether a column's taps at some place are all zeros, as transposed convolutions have them whose stride does not divide the kernel:
/// at a border nothing else may be left of the window. `source`: the filter; `step`: from column to column.
bool hasEmptyTap(const lower::BodyInfo &info, const Filter &f, const lower::SlidingWindow &window, mlir::Value source, int64_t columns,
                 int64_t step);

} // namespace lathe::target

#endif // LATHE_LIB_TARGET_PASSES_EMPTYWINDOWS_H
