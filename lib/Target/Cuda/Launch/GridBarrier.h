//===- GridBarrier.h - Blocks of a launch that wait for one another ---------===//
//
// All of them are on the device at once (LATHE_CUDA_TOGETHER). A counter in the launch's scratch memory, which an
// earlier launch has set to 0, tells how often blocks have arrived.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_GRIDBARRIER_H
#define LATHE_LIB_TARGET_CUDA_GRIDBARRIER_H

#include "../DeviceBuilder.h"

namespace lathe::cuda {

/// What the block has written is there for those who wait.
void arriveAtGrid(DeviceBuilder &d, Value counter);
/// Until the counter has come so far (i32).
void awaitGrid(DeviceBuilder &d, Value counter, Value target);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_GRIDBARRIER_H
