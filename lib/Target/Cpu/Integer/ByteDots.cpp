//===- ByteDots.cpp - Sums of four products of bytes in a word -------------===//

#include "ByteDots.h"
#include "../BuildModule.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using Values = VectorBuilder::Values;
using schedule::ByteForm;

//===----------------------------------------------------------------------===//
// Four products in a word
//===----------------------------------------------------------------------===//

static Value intrinsic(VectorBuilder &v, StringRef name, Type result, ValueRange operands) {
  return v.b.create<LLVM::CallIntrinsicOp>(v.loc, result, v.b.getStringAttr(name), operands).getResult(0);
}

VectorType cpu::halvesOf(VectorBuilder &v) { return VectorType::get(2 * v.lanes, v.b.getI16Type()); }

Value cpu::addPairs(VectorBuilder &v, Value x, Value y) {
  if (v.target.arch == "x86_64") {
    StringRef name = v.target.vectorBytes == 64   ? "llvm.x86.avx512.pmaddw.d.512"
                     : v.target.vectorBytes == 32 ? "llvm.x86.avx2.pmadd.wd"
                                                  : "llvm.x86.sse2.pmadd.wd";
    return intrinsic(v, name, v.intVec, {x, y});
  }
  auto wide = VectorType::get(2 * v.lanes, v.b.getI32Type());
  auto widen = [&](Value h) { return v.b.create<arith::ExtSIOp>(v.loc, wide, h).getResult(); };
  Value products = v.b.create<arith::MulIOp>(v.loc, widen(x), widen(y));
  SmallVector<int64_t> even, odd;
  for (int64_t l = 0; l < v.lanes; ++l) {
    even.push_back(2 * l);
    odd.push_back(2 * l + 1);
  }
  return v.b.create<arith::AddIOp>(v.loc, v.shuffle(products, products, even), v.shuffle(products, products, odd));
}

static Value splat16(VectorBuilder &v, int16_t value) {
  return v.b.create<arith::ConstantOp>(v.loc, DenseElementsAttr::get(halvesOf(v), Attribute(v.b.getI16IntegerAttr(value))));
}

std::pair<Value, Value> cpu::splitBytes(VectorBuilder &v, Value words, bool isSigned) {
  Value h = v.b.create<vector::BitCastOp>(v.loc, halvesOf(v), words), eight = splat16(v, 8);
  if (!isSigned)
    return {v.b.create<arith::AndIOp>(v.loc, h, splat16(v, 255)), v.b.create<arith::ShRUIOp>(v.loc, h, eight)};
  Value low = v.b.create<arith::ShLIOp>(v.loc, h, eight);
  return {v.b.create<arith::ShRSIOp>(v.loc, low, eight), v.b.create<arith::ShRSIOp>(v.loc, h, eight)};
}

/// The products of neighbouring bytes in 16 bits, each pair added, saturating.
static Value addBytePairs(VectorBuilder &v, Value rows, Value columns) {
  auto bytes = VectorType::get(4 * v.lanes, v.b.getI8Type());
  auto as = [&](Value x) { return v.b.create<vector::BitCastOp>(v.loc, bytes, x).getResult(); };
  StringRef name = v.target.vectorBytes == 64   ? "llvm.x86.avx512.pmaddubs.w.512"
                   : v.target.vectorBytes == 32 ? "llvm.x86.avx2.pmadd.ub.sw"
                                                : "llvm.x86.ssse3.pmadd.ub.sw.128";
  return intrinsic(v, name, halvesOf(v), {as(rows), as(columns)});
}

ByteWords ByteWords::of(VectorBuilder &v, ByteForm form, Value words, bool isSigned) {
  if (form != ByteForm::Halves)
    return {words, {}, {}};
  auto [even, odd] = splitBytes(v, words, isSigned);
  return {{}, even, odd};
}

Value cpu::dotBytes(VectorBuilder &v, ByteForm form, Value acc, const ByteWords &rows, const ByteWords &columns) {
  switch (form) {
  case ByteForm::Dots:
    return intrinsic(v, v.target.vectorBytes == 64 ? "llvm.x86.avx512.vpdpbusd.512" : "llvm.x86.avx512.vpdpbusd.256", v.intVec,
                     {acc, rows.whole, columns.whole});
  case ByteForm::Pairs:
    return v.b.create<arith::AddIOp>(v.loc, acc, addPairs(v, addBytePairs(v, rows.whole, columns.whole), splat16(v, 1)));
  case ByteForm::Halves:
    acc = v.b.create<arith::AddIOp>(v.loc, acc, addPairs(v, rows.even, columns.even));
    return v.b.create<arith::AddIOp>(v.loc, acc, addPairs(v, rows.odd, columns.odd));
  }
  llvm_unreachable("no form");
}

Value cpu::dotBytes(VectorBuilder &v, Value acc, Value rows, Value columns, int64_t only) {
  ByteForm form = schedule::byteForm(v.target, false);
  ByteWords x = ByteWords::of(v, form, rows, false), y = ByteWords::of(v, form, columns, true);
  if (form == ByteForm::Halves && only == 1)
    return v.b.create<arith::AddIOp>(v.loc, acc, addPairs(v, x.even, y.even));
  return dotBytes(v, form, acc, x, y);
}

//===----------------------------------------------------------------------===//
// All words of a sum
//===----------------------------------------------------------------------===//

Value cpu::loadWords(VectorBuilder &v, Value pointer, Value word) {
  return v.b.create<LLVM::LoadOp>(v.loc, v.intVec, v.at(pointer, word, v.b.getI32Type()), 4);
}

Value cpu::loadWord(VectorBuilder &v, Value pointer, Value word) {
  Value x = v.b.create<LLVM::LoadOp>(v.loc, v.b.getI32Type(), v.at(pointer, word, v.b.getI32Type()), 4);
  return v.b.create<vector::SplatOp>(v.loc, x, v.intVec);
}

Value cpu::loadOffset(VectorBuilder &v, Value table, Value word) {
  return v.b.create<LLVM::LoadOp>(v.loc, v.b.getI64Type(), v.at(table, word, v.b.getI64Type()), 8);
}

/// Of forms that are no dot products words come one a trip: of several the code generator adds up products first, and of these there are more than
/// registers. What is listed ends a stretch of words, as does the number of all words behind it.
Values cpu::eachWord(VectorBuilder &v, ByteForm form, Value list, Value words, Values sums, unsigned perTrip, WordBody word) {
  auto stretch = [&](Value from, Value to, Values s) {
    if (form == ByteForm::Dots && perTrip > 1)
      return v.unrolled(from, to, perTrip, s, [&](Value w, unsigned u, Values in) { return word(form, v.add(w, u), u, in); });
    Values all = v.loop(from, to, 1, s, [&](Value w, Values in) { return word(form, w, 0, in); });
    if (perTrip == 1)
      keepAsWritten(all[0].getDefiningOp());
    return all;
  };
  if (!list)
    return stretch(v.i(0), words, sums);
  auto entry = [&](Value i) {
    Value number = v.b.create<LLVM::LoadOp>(v.loc, v.b.getI32Type(), v.at(list, i, v.b.getI32Type()), 4);
    return v.b.create<arith::ExtSIOp>(v.loc, v.b.getI64Type(), number).getResult();
  };
  Value count = entry(v.i(0));
  sums.push_back(v.i(0));
  sums = v.loop(v.i(0), v.add(count, 1), 1, sums, [&](Value e, Values s) {
    Value from = s.pop_back_val(), to = entry(v.add(e, 1));
    s = stretch(from, to, s);
    s = v.ifValues(v.less(e, count), [&] { return word(ByteForm::Halves, to, 0, s); }, [&] { return s; });
    s.push_back(v.add(to, 1));
    return s;
  });
  sums.pop_back();
  return sums;
}
