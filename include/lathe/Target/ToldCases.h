//===- ToldCases.h - What is told of the ways that a kernel runs in --------===//
#ifndef LATHE_TARGET_TOLDCASES_H
#define LATHE_TARGET_TOLDCASES_H

#include "lathe/Schedule/ScheduledKernel.h"
#include "lathe/Target/Backend.h"

namespace lathe::target {

/// One way, in the names of the choice, and what it is expected to cost at some of the sizes that it serves.
CompiledCase toldCase(const schedule::Choice &choice, const schedule::Candidate &candidate, llvm::StringRef form);

/// What was told in canonical names, in the names of one of the kernels that share the code.
CompiledKernel inOwnNames(CompiledKernel compiled, const schedule::ScheduledKernel &kernel);

} // namespace lathe::target

#endif // LATHE_TARGET_TOLDCASES_H
