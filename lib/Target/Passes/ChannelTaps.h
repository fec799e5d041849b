//===- ChannelTaps.h - Lines of windows over few channels side by side ------===//
//
// An image that comes with its few channels side by side, as photographs do, has the taps of a line of a window with all of their channels in one
// run of memory: they are taps of one axis over a line of elements, which pixels step along by as many as they have channels.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_PASSES_CHANNELTAPS_H
#define LATHE_LIB_TARGET_PASSES_CHANNELTAPS_H

#include "Filters.h"

namespace lathe::target {

/// Makes one axis of the taps along a line and of `channels`, which lie side by side in all that the image is made of. The filter is copied into that
/// order. False, with nothing changed, where the image is more than plain reads under predicates of the taps' places, or the filter is no constant.
bool joinChannelTaps(kernel::GenericOp kernel, const lower::BodyInfo &info, const Filter &filter, unsigned channels);

} // namespace lathe::target

#endif // LATHE_LIB_TARGET_PASSES_CHANNELTAPS_H
