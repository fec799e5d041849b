//===- Compare.h - Outputs against expected values -------------------------===//
#ifndef LATHE_TOOLS_COMPARE_H
#define LATHE_TOOLS_COMPARE_H

#include "HostTensor.h"

namespace lathe::tool {

/// |got - want| <= atol + rtol * |want|, elementwise, as numpy's allclose; NaN equals NaN, an infinity itself.
struct Tolerance {
  std::optional<double> rtol, atol;
  /// The defaults: 1e-3 and 1e-5, with rtol raised to two units in the last place of a narrower type.
  double rtolFor(DLDataType type) const;
  double atolFor() const { return atol.value_or(1e-5); }
};

/// Compares every `stride`-th element of the flattened output (1: all, and the shapes too) with `want`. The error says how
/// many elements differ and shows the worst.
llvm::Error compare(llvm::StringRef name, const DLTensor &got, const HostTensor &want, uint64_t stride, const Tolerance &tolerance);

} // namespace lathe::tool

#endif // LATHE_TOOLS_COMPARE_H
