//===- DilatedWindows.h - Lines that a window steps over --------------------===//
//
// A window whose taps lie `d` lines apart reads every d-th line: the lines y mod d are an image of their own, over which a plain window slides. As
// an axis of residues in front of the lines these are so many images, and minimal filtering knows them.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_PASSES_DILATEDWINDOWS_H
#define LATHE_LIB_TARGET_PASSES_DILATEDWINDOWS_H

#include "Filters.h"

namespace lathe::target {

/// Splits lines, and pixels where channels lie together, into residues of a dilation, the last of which may be shorter. Nothing is changed where there
/// is none.
bool splitDilatedWindow(kernel::GenericOp kernel);

} // namespace lathe::target

#endif // LATHE_LIB_TARGET_PASSES_DILATEDWINDOWS_H
