//===- ScatterRuns.h - Sums of updates in the order of their places --------===//
#ifndef LATHE_LIB_TARGET_CUDA_SCATTERRUNS_H
#define LATHE_LIB_TARGET_CUDA_SCATTERRUNS_H

#include "../Generator.h"
#include "lathe/Lower/ScatterUpdates.h"

namespace lathe::cuda {

/// An operand lists the updates, those of the first place first (createOrderScatters).
std::optional<unsigned> orderOperandOf(kernel::GenericOp kernel);

/// Words of a plan.
struct RunsLaunch {
  Value sums, joins, grid, scratch;
};

/// Adds the entry points. `info`: of the updates alone.
llvm::Expected<RunsLaunch> addScatterRuns(Generator &g, const lower::BodyInfo &info, lower::ScatterUpdates updates, const lower::ScatterAxes &axes,
                                          unsigned order);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_SCATTERRUNS_H
