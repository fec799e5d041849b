//===- Fourier.h - Discrete Fourier transforms ------------------------------===//
//
// Complex numbers are pairs: a tensor [batch, 2, n] holds n real parts, then n imaginary ones; [batch, 1, n] holds real
// numbers.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_DIALECT_LATHE_FOURIER_H
#define LATHE_DIALECT_LATHE_FOURIER_H

#include "lathe/Dialect/Lathe/GraphBuilder.h"

namespace lathe::ir {

/// What a transform of length n gives: all n frequencies; those up to n / 2 of real numbers; or the n real numbers that
/// half of the frequencies stand for.
enum class FourierResult { All, Half, Real };

/// The longest transform of constant length: its roots of unity are constants, and so is the filter of a large prime's
/// convolution.
constexpr int64_t longestFourier = int64_t(1) << 22;

struct FourierTransform {
  shape::Expr length;
  bool inverse = false; ///< the sign of the exponent is plus
  FourierResult result = FourierResult::All;
  std::optional<double> scale = std::nullopt; ///< what everything is multiplied with
  bool onHost = true;                         ///< where the length is open: by a function of the runtime
  bool whole = false;                         ///< of lathe.fft that a kernel holds, where the length is constant
  bool partsLast = false;                     ///< of stages: in what the result becomes the parts lie side by side, and the places follow one another
};

/// Over the last dimension of x [batch, 1 or 2, m], of f32 or f64: m is the length, or length / 2 + 1 for
/// FourierResult::Real. Gives [batch, 2, ..], or [batch, 1, length] for FourierResult::Real. The work is that of a fast
/// transform, in kernels where the length is constant; where it is not, by the runtime's lathe_host_fourier, or else a product with the matrix
/// of the roots of unity.
mlir::Value fourier(GraphBuilder &g, mlir::Value x, const FourierTransform &transform);

/// A lathe.fft of constant length: along a dimension of x, whose dimension `parts` has 1 or 2 places.
mlir::Value wholeTransform(GraphBuilder &g, mlir::Value x, int64_t axis, int64_t parts, const FourierTransform &transform);

} // namespace lathe::ir

#endif // LATHE_DIALECT_LATHE_FOURIER_H
