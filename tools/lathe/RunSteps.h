//===- RunSteps.h - Several runs of one context ----------------------------===//
#ifndef LATHE_TOOLS_RUNSTEPS_H
#define LATHE_TOOLS_RUNSTEPS_H

#include "LoadedModel.h"

namespace lathe::tool {

/// A run for each slice of the inputs along a dimension in front of their own, in one context, whose states live on from one to the
/// next. The outputs get such a dimension, too.
llvm::Expected<std::vector<HostTensor>> runSteps(LoadedModel &model, llvm::MutableArrayRef<HostTensor> inputs);

} // namespace lathe::tool

#endif // LATHE_TOOLS_RUNSTEPS_H
