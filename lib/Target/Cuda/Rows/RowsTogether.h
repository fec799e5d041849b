//===- RowsTogether.h - Rows that several blocks share ----------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_ROWSTOGETHER_H
#define LATHE_LIB_TARGET_CUDA_ROWSTOGETHER_H

#include "../KernelFrame.h"
#include "lathe/Schedule/ThreadRows.h"

namespace lathe::cuda {

/// The scratch memory begins with a counter of blocks and the number of those that share rows; what blocks have found follows, 8 bytes a
/// value, for one reduction after the other.
constexpr int64_t sharedHeadBytes = 128;
/// i32, in a launch whose blocks share rows.
Value sharersOf(KernelFrame &frame);
/// Values that a block leaves of a reduction.
inline int64_t sharedValues(const schedule::ThreadRows &s) { return s.layout == schedule::ThreadRows::Columns ? int64_t(s.columns) * s.width : 1; }

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_ROWSTOGETHER_H
