//===- Transform.h - Which Fourier transforms are one kernel ---------------===//
#ifndef LATHE_DIALECT_KERNEL_TRANSFORM_H
#define LATHE_DIALECT_KERNEL_TRANSFORM_H

#include "lathe/Dialect/Kernel/Kernel.h"
#include <complex>

namespace lathe::kernel {

/// The largest prime that is a factor of a transform in registers: a product for each pair of its elements.
constexpr int64_t largestPrime = 13;

/// How many complex numbers of so many bits a part a block holds while it transforms them.
constexpr int64_t longestTransform(unsigned bits) { return bits > 32 ? 4096 : 8192; }

/// The number of complex numbers that are transformed: half as many where an even number of real ones goes in or comes out, two by two.
int64_t complexLength(TransformKind kind, int64_t length);

/// Whether a kernel holds a transform of this length, of f32 or f64.
bool isTransformLength(TransformKind kind, int64_t length, mlir::Type element);

/// e^(2 pi i turns / of); the angle is reduced in integers before its sine and cosine are taken, and what should be equal or 0 is.
std::complex<double> rootOfUnity(int64_t turns, int64_t of);

} // namespace lathe::kernel

#endif // LATHE_DIALECT_KERNEL_TRANSFORM_H
