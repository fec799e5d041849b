//===- ElementTypes.h - The narrow element types ---------------------------===//
//
// Types that models store and do not compute in: the one table that importers, passes and the artifact's signature share.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_DIALECT_LATHE_ELEMENTTYPES_H
#define LATHE_DIALECT_LATHE_ELEMENTTYPES_H

#include "lathe/Dialect/Lathe/Lathe.h"

namespace lathe::ir {

struct NarrowType {
  const char *name; ///< as ONNX spells it, in lower case
  uint8_t code;     ///< DLPack's type code
  uint8_t bits;
  mlir::Type (*get)(mlir::MLIRContext *);
  // Floats: how the bits divide. The exponent's bias; the code above which nothing finite lies; what is out of range and what
  // NaN become.
  uint8_t mantissa, bias, last, overflow, nan;
  bool hasNegativeZero;

  bool isInteger() const { return code <= 1; }
};

/// Null for types that the compiler computes in.
const NarrowType *narrowType(mlir::Type element);
const NarrowType *narrowType(llvm::StringRef name);
inline bool isNarrow(mlir::Type element) { return narrowType(element) != nullptr; }

/// The floats of 8 bits that machines convert and multiply. In kernels they are their codes (signless: i8).
inline bool isFloat8(mlir::Type element) { return llvm::isa<mlir::Float8E4M3FNType, mlir::Float8E5M2Type>(element); }

/// The largest finite number of a narrow float.
double largestOf(const NarrowType &type);

/// The width of an element, booleans taken as the bytes that they lie in.
unsigned bitsOf(mlir::Type element);

} // namespace lathe::ir

#endif // LATHE_DIALECT_LATHE_ELEMENTTYPES_H
