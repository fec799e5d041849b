//===- ExpandMath.h - Math functions as arithmetic -------------------------===//
//
// Artifacts depend on libc alone, which has no math functions, and vector code wants them inline. Every op of the math
// dialect (and arith.remf) on f32 and f64, scalars and vectors, becomes polynomials, rational functions and bit operations.
//
// docs/Rationale/Functions.md has the accuracy of each function, which test/Functions measures. NaN, infinities and signed zeros
// are as in C.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LOWER_EXPANDMATH_H
#define LATHE_LOWER_EXPANDMATH_H

#include "mlir/IR/Operation.h"

namespace lathe::lower {

struct ExpandMathOptions {
  bool hasFma = true;      ///< math.fma is one instruction; otherwise it becomes a product and a sum
  bool hasRounding = true; ///< floor, ceil, trunc and roundeven are instructions
  bool hasLongs = true;    ///< vectors of floats become integers of 64 bits by an instruction
  bool hasScalef = false;  ///< AVX-512: x * 2^n is one instruction on vectors of 16 f32
};

/// On a math.exp whose operand is at most 0 (or NaN): results that would be subnormal may be 0.
inline constexpr llvm::StringLiteral expUpToOneName = "lathe.up_to_one";

/// On a math.sin or math.cos of f32 whose operand was widened from a half type, to which the result goes back.
inline constexpr llvm::StringLiteral ofHalfName = "lathe.of_half";

/// Expands every math op below `root`. Ops that it does not know (on other types, say) stay.
void expandMath(mlir::Operation *root, const ExpandMathOptions &options);

/// Integer powers alone, for targets that have the other functions in a library.
void expandIntegerPowers(mlir::Operation *root);

} // namespace lathe::lower

#endif // LATHE_LOWER_EXPANDMATH_H
