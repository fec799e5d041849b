//===- CodedFragments.h - Codes as operands of tensor cores -------------------===//
//
// A word's codes lie side by side in depth. A mask picks two of them that are half a word apart, and puts them into the low bits of a number
// of a half type whose unit they then are: 1024 + code in f16, 128 + code in bf16. So a pair takes two instructions and a difference, and
// pairs are of codes 0 and 4, 1 and 5, and so on. A sum has no order: the other operand is paired in the same way.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_CODEDFRAGMENTS_H
#define LATHE_LIB_TARGET_CUDA_CODEDFRAGMENTS_H

#include "../DeviceBuilder.h"

namespace lathe::cuda {

class CodedFragments {
public:
  /// `half`: the type that tensor cores multiply.
  CodedFragments(DeviceBuilder &d, Type half, unsigned bits) : d(d), half(half), bits(bits) {}
  /// The word's codes less the middle of their range, exactly, in pairs (i32).
  Values codes(Value word) const;
  /// As many elements (a vector of the half type, or of f32), paired alike: those of a half type as one list of pairs, those of f32 as three whose sum
  /// they are, exactly.
  llvm::SmallVector<Values> elements(Value vector) const;
  Value one() const { return d.i32(half.isF16() ? 0x3c003c00 : 0x3f803f80); } ///< a pair of them
  /// Lists of pairs that an element of this type makes.
  static unsigned partsOf(Type element) { return element.isF32() ? 3 : 1; }

private:
  unsigned perWord() const { return 32 / bits; }
  Value difference(Value pair, double less, Type element) const;
  Values pairs(llvm::ArrayRef<Value> words) const;
  Values upperHalves(llvm::ArrayRef<Value> floats) const;
  DeviceBuilder &d;
  Type half;
  unsigned bits;
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_CODEDFRAGMENTS_H
