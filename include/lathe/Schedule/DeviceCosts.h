//===- DeviceCosts.h - What kernels are expected to take on a GPU -----------===//
//
// Cycles of one processor that did all of a kernel alone: how many processors a device has is not known here. A kernel is bound by memory or by
// arithmetic; launches, and processors that wait for the last blocks, are left out.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_SCHEDULE_DEVICECOSTS_H
#define LATHE_SCHEDULE_DEVICECOSTS_H

#include "lathe/Lower/AttentionRoles.h"
#include "lathe/Schedule/ThreadRows.h"

namespace lathe::schedule {

/// A row program: everything is read once, and once more in each later pass that neither registers nor shared memory remember it for.
/// `rows`: how each section is laid; empty: as a program would be that remembers everything.
shape::Expr costOfRows(const lower::BodyInfo &info, llvm::ArrayRef<lower::RowSection> sections, llvm::ArrayRef<ThreadRows> rows, const Machine &machine);

/// A contraction on the units that multiply its operands' type. Unknown where the kernel has none.
shape::Expr costOfProducts(const lower::BodyInfo &info, const Machine &machine);

/// An attention whose queries come in tiles of so many, on the units that multiply its operands' type.
shape::Expr costOfAttention(const lower::BodyInfo &info, const lower::AttentionRoles &roles, int64_t tile, const Machine &machine);

} // namespace lathe::schedule

#endif // LATHE_SCHEDULE_DEVICECOSTS_H
