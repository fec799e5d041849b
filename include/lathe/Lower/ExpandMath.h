//===- ExpandMath.h - Math functions as arithmetic -------------------------===//
//
// Artifacts depend on libc alone, which has no math functions, and vector code wants them inline. Every op of the math
// dialect (and arith.remf) on f32 and f64, scalars and vectors, becomes polynomials, rational functions and bit operations.
//
// Accuracy: f32 within about 2 ulp (exp, log, tanh, erf, ... have f32 code of their own; the rarer functions are computed
// in f64 and rounded), f64 within some 1e-15 relative (erf: 1e-13). NaN, infinities and signed zeros are as in C.
// sin, cos and tan lose accuracy from |x| = 1e8 on.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LOWER_EXPANDMATH_H
#define LATHE_LOWER_EXPANDMATH_H

#include "mlir/IR/Operation.h"

namespace lathe::lower {

struct ExpandMathOptions {
  bool hasFma = true;      ///< math.fma is one instruction; otherwise it becomes a product and a sum
  bool hasRounding = true; ///< floor, ceil, trunc and roundeven are instructions
  bool hasScalef = false;  ///< AVX-512: x * 2^n is one instruction on vectors of 16 f32
};

/// Expands every math op below `root`. Ops that it does not know (on other types, say) stay.
void expandMath(mlir::Operation *root, const ExpandMathOptions &options);

} // namespace lathe::lower

#endif // LATHE_LOWER_EXPANDMATH_H
