//===- CodedFragments.cpp - Codes as operands of tensor cores -----------------===//

#include "CodedFragments.h"

using namespace mlir;
using namespace lathe::cuda;

Value CodedFragments::difference(Value pair, double less, Type element) const {
  Type two = d.vector(2, element);
  return d.subF(d.bitcast(pair, two), d.real(two, less));
}

Values CodedFragments::codes(Value word) const {
  // The unit of a bf16 that holds a code of 8 bits beside another number is more than 1; an f16 has room.
  bool inHalf = half.isBF16() && bits == 4;
  Type element = inHalf ? half : Type(d.b.getF16Type());
  int64_t magic = inHalf ? 0x43004300 : 0x64006400, base = inHalf ? 128 : 1024, mask = bits == 4 ? 0x000f000f : 0x00ff00ff;
  Values out;
  for (unsigned i = 0; i < perWord() / 2; ++i) {
    Value shifted = i ? d.shr(word, i * bits) : word;
    Value pair = difference(d.bitOr(d.bitAnd(shifted, mask), d.i32(magic)), base + (1 << (bits - 1)), element);
    if (element != half)
      pair = d.convertF(d.convertF(pair, d.f32Type()), half);
    out.push_back(d.bitcast(pair, d.i32Type()));
  }
  return out;
}

/// Of words of two halves each.
Values CodedFragments::pairs(llvm::ArrayRef<Value> words) const {
  Values out;
  for (unsigned i = 0; i < words.size() / 2; ++i)
    for (int64_t which : {0x5410, 0x7632})
      out.push_back(d.pickBytes(words[i], words[i + words.size() / 2], d.i32(which)));
  return out;
}

/// The upper 16 bits of floats are numbers of bf16, rounded towards zero.
Values CodedFragments::upperHalves(llvm::ArrayRef<Value> floats) const {
  Values out;
  for (unsigned i = 0; i < floats.size() / 2; ++i)
    out.push_back(d.pickBytes(d.bitcast(floats[i], d.i32Type()), d.bitcast(floats[i + floats.size() / 2], d.i32Type()), d.i32(0x7632)));
  return out;
}

llvm::SmallVector<Values> CodedFragments::elements(Value vector) const {
  unsigned count = perWord();
  if (!cast<VectorType>(vector.getType()).getElementType().isF32()) {
    Value words = d.bitcast(vector, d.vector(count / 2, d.i32Type()));
    Values all;
    for (unsigned i = 0; i < count / 2; ++i)
      all.push_back(d.extract(words, i));
    return {pairs(all)};
  }
  // 24 bits of a float are three times 8. What is infinite has no rest.
  Values rest;
  for (unsigned i = 0; i < count; ++i)
    rest.push_back(d.extract(vector, i));
  llvm::SmallVector<Values> parts;
  for (unsigned part = 0; part < partsOf(d.f32Type()); ++part) {
    parts.push_back(upperHalves(rest));
    for (Value &x : rest) {
      Value bits = d.bitcast(x, d.i32Type()), upper = d.bitAnd(bits, int64_t(int32_t(0xffff0000)));
      Value finite = d.compare(arith::CmpIPredicate::ult, d.bitAnd(bits, 0x7fffffff), d.i32(0x7f800000));
      x = d.select(finite, d.subF(x, d.bitcast(upper, d.f32Type())), d.f32(0));
    }
  }
  return parts;
}
