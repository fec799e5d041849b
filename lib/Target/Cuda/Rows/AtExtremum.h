//===- AtExtremum.h - Reductions of what stands at a row's extremum ---------===//
#ifndef LATHE_LIB_TARGET_CUDA_ATEXTREMUM_H
#define LATHE_LIB_TARGET_CUDA_ATEXTREMUM_H

#include "lathe/Lower/BodyInfo.h"

namespace lathe::cuda {

/// Where an element is the row's extremum, or no number, the reduced value may be anything; everywhere else it is `other`. The place of a
/// largest element is such a reduction.
struct AtExtremum {
  kernel::ReduceOp extremum;
  mlir::Value other;
};

/// Nothing where the reduction is none of those, or where it matters how often `other` comes.
std::optional<AtExtremum> atExtremum(const lower::BodyInfo &info, kernel::ReduceOp reduce);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_ATEXTREMUM_H
