//===- SplitGroups.h - Grouped convolutions as batches of products ---------===//
#ifndef LATHE_LIB_TARGET_CUDA_SPLITGROUPS_H
#define LATHE_LIB_TARGET_CUDA_SPLITGROUPS_H

#include "lathe/Dialect/Kernel/Kernel.h"

namespace lathe::cuda {

/// Groups of fewer output channels leave a tile of a product mostly empty.
constexpr int64_t fewestPerGroup = 8;

/// Where a sum reads at a quotient of an axis (the group of an output channel), that axis becomes two: the quotient, along which
/// both factors vary, and what is left, along which the filter alone does.
void splitGroups(kernel::GenericOp kernel);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_SPLITGROUPS_H
