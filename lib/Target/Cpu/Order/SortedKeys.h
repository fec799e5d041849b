//===- SortedKeys.h - Results of a sort that are its keys ------------------===//
#ifndef LATHE_TARGET_CPU_SORTEDKEYS_H
#define LATHE_TARGET_CPU_SORTEDKEYS_H

#include "lathe/Lower/BodyInfo.h"

namespace lathe::cpu {

/// The loads that read, where the sort says that a key stands, this key: what they give is in the words already, and a gather from
/// all over a long row takes longer than sorting it.
llvm::SmallVector<kernel::LoadOp> loadsOfKeys(const lower::BodyInfo &info, kernel::SortOp sort);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_SORTEDKEYS_H
