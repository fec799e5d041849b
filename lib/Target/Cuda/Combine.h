//===- Combine.h - Combining functions of reductions on a GPU --------------===//
#ifndef LATHE_LIB_TARGET_CUDA_COMBINE_H
#define LATHE_LIB_TARGET_CUDA_COMBINE_H

#include "DeviceBuilder.h"
#include "lathe/Dialect/Kernel/Kernel.h"

namespace lathe::cuda {

/// The value that changes nothing, of a scalar or vector type.
Value identityOf(DeviceBuilder &d, kernel::Combiner kind, Type type);
Value combine(DeviceBuilder &d, kernel::Combiner kind, Value x, Value y);
/// Of a vector's elements, in a fixed order.
Value combineLanes(DeviceBuilder &d, kernel::Combiner kind, Value v);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_COMBINE_H
