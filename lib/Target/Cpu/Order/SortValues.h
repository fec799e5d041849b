//===- SortValues.h - CPU code for sorts of whole rows without places -------===//
//
// Where all of a row is wanted, in order, and nothing asks where its elements stood, a word is a key alone: half of the memory, and of the time.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CPU_SORTVALUES_H
#define LATHE_TARGET_CPU_SORTVALUES_H

#include "../KernelEmitters.h"

namespace lathe::cpu {

/// Whether results of the kernel are made of sorted keys alone, which lie side by side.
bool sortsValues(const lower::BodyInfo &info, kernel::SortOp op);
llvm::Error emitValueSort(KernelFunction &f, kernel::SortOp op, KernelPlan &plan);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_SORTVALUES_H
