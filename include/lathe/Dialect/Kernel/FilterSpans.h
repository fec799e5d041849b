//===- FilterSpans.h - Rows of packed filters that are not zero ------------===//
#ifndef LATHE_DIALECT_KERNEL_FILTERSPANS_H
#define LATHE_DIALECT_KERNEL_FILTERSPANS_H

#include "llvm/ADT/StringRef.h"

namespace lathe::kernel {

/// Of a load of a filter that was packed into panels: outside of some rows the panels have zeros alone, whose products nobody needs. Three numbers
/// for each run of panels that are alike, one run after the other: the panels, the first row, and the rows from there on.
constexpr llvm::StringLiteral filterSpansName = "spans";

} // namespace lathe::kernel

#endif // LATHE_DIALECT_KERNEL_FILTERSPANS_H
