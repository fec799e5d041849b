//===- IntegerTile.cpp - Micro-kernels of sums of products of bytes --------===//

#include "IntegerTile.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using Values = VectorBuilder::Values;
using schedule::ByteForm;

constexpr unsigned cacheLine = 64;
/// Words a trip, of dot products. The other forms have a word a trip: of several the code generator adds up products first, and of these
/// there are more than registers.
constexpr unsigned unroll = 4;
/// Sums in flight that hide the latency of a dot product. In the other forms what a sum waits for is an addition.
constexpr unsigned sumsInFlight = 10;

//===----------------------------------------------------------------------===//
// Four products in a word
//===----------------------------------------------------------------------===//

static Value intrinsic(VectorBuilder &v, StringRef name, Type result, ValueRange operands) {
  return v.b.create<LLVM::CallIntrinsicOp>(v.loc, result, v.b.getStringAttr(name), operands).getResult(0);
}

/// The vector's bits as 16-bit lanes.
static VectorType halves(VectorBuilder &v) { return VectorType::get(2 * v.lanes, v.b.getI16Type()); }

/// x[2i] * y[2i] + x[2i + 1] * y[2i + 1] of 16-bit lanes, in 32 bits.
static Value addPairs(VectorBuilder &v, Value x, Value y) {
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
  return v.b.create<arith::ConstantOp>(v.loc, DenseElementsAttr::get(halves(v), Attribute(v.b.getI16IntegerAttr(value))));
}

/// Bytes 0 and 2 of each word, then bytes 1 and 3, as 16-bit lanes.
static std::pair<Value, Value> splitBytes(VectorBuilder &v, Value words, bool isSigned) {
  Value h = v.b.create<vector::BitCastOp>(v.loc, halves(v), words), eight = splat16(v, 8);
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
  return intrinsic(v, name, halves(v), {as(rows), as(columns)});
}

/// Words as the instructions of a form take them.
struct IntegerTile::Words {
  Value whole, even, odd;

  static Words of(VectorBuilder &v, ByteForm form, Value words, bool isSigned) {
    if (form != ByteForm::Halves)
      return {words, {}, {}};
    auto [even, odd] = splitBytes(v, words, isSigned);
    return {{}, even, odd};
  }
};

Value IntegerTile::dot(VectorBuilder &v, ByteForm form, Value acc, const Words &rows, const Words &columns) {
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

Value IntegerTile::dot(VectorBuilder &v, Value acc, Value rows, Value columns) {
  ByteForm form = schedule::byteForm(v.target, false);
  return dot(v, form, acc, Words::of(v, form, rows, false), Words::of(v, form, columns, true));
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Registers beside the sums, of two vectors a row: the columns, one word of the rows, what is added; where rows are split here their halves.
unsigned IntegerTile::maxRows() const {
  unsigned spare = form == ByteForm::Dots ? 3 : form == ByteForm::Pairs || split ? 4 : 7;
  return std::min(form == ByteForm::Dots ? 14u : 12u, (v.target.registers - spare) / 2);
}

void IntegerTile::emit(const ColumnPanel &panel, Value first, const WordRows &at, Value rows, Value words, Value sums, Value rowStart,
                       Value columnStart, const Request &request, unsigned width) {
  OpBuilder &b = v.b;
  SmallVector<int64_t> cases(heights.begin(), heights.end());
  for (unsigned r = 1; heights.empty() && r <= maxRows(); ++r)
    cases.push_back(r);
  auto one = [&](unsigned r) { emitRows(panel, first, at, r, words, sums, rowStart, columnStart, request, width); };
  if (cases.size() == 1)
    return one(cases[0]);
  Value index = b.create<arith::IndexCastOp>(v.loc, b.getIndexType(), rows);
  auto op = b.create<scf::IndexSwitchOp>(v.loc, TypeRange{}, index, cases, cases.size());
  OpBuilder::InsertionGuard guard(b);
  for (auto [i, r] : llvm::enumerate(cases)) {
    b.createBlock(&op.getCaseRegions()[i]);
    one(r);
    b.create<scf::YieldOp>(v.loc);
  }
  b.createBlock(&op.getDefaultRegion());
  b.create<scf::YieldOp>(v.loc);
}

static Value loadWords(VectorBuilder &v, Value pointer, Value word) {
  return v.b.create<LLVM::LoadOp>(v.loc, v.intVec, v.at(pointer, word, v.b.getI32Type()), 4);
}

static Value loadWord(VectorBuilder &v, Value pointer, Value word) {
  Value x = v.b.create<LLVM::LoadOp>(v.loc, v.b.getI32Type(), v.at(pointer, word, v.b.getI32Type()), 4);
  return v.b.create<vector::SplatOp>(v.loc, x, v.intVec);
}

static Value loadOffset(VectorBuilder &v, Value table, Value word) {
  return v.b.create<LLVM::LoadOp>(v.loc, v.b.getI64Type(), v.at(table, word, v.b.getI64Type()), 8);
}

Values IntegerTile::startingSums(const Rows &tile, Value column, Value rowStart, Value columnStart) {
  Values sums(tile.count() * tile.sets, v.intSplat(0));
  for (unsigned k = 0; k < tile.count(); ++k) {
    Value start = rowStart ? loadWord(v, rowStart, v.i(k / tile.vectors)) : Value();
    Value other = columnStart ? loadWords(v, columnStart, v.add(column, k % tile.vectors * v.lanes)) : Value();
    sums[k] = start && other ? v.b.create<arith::AddIOp>(v.loc, start, other).getResult() : start ? start : other ? other : sums[k];
  }
  return sums;
}

/// What is listed ends a stretch of words, as does the number of all words behind it.
Values IntegerTile::allWords(Value list, Value words, Values sums, Word word) {
  auto stretch = [&](Value from, Value to, Values s) {
    if (form == ByteForm::Dots)
      return v.unrolled(from, to, unroll, s, [&](Value w, unsigned u, Values in) { return word(form, v.add(w, u), u, in); });
    return v.loop(from, to, 1, s, [&](Value w, Values in) { return word(form, w, 0, in); });
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

/// A word of each row times one of the columns.
void IntegerTile::addWords(const Rows &tile, ByteForm form, Value base, ArrayRef<Words> columns, MutableArrayRef<Value> sums) {
  for (unsigned r = 0; r < tile.rows; ++r) {
    Words x = Words::of(v, form, loadWord(v, base, tile.starts[r]), false);
    for (unsigned q = 0; q < tile.vectors; ++q)
      sums[r * tile.vectors + q] = dot(v, form, sums[r * tile.vectors + q], x, columns[q]);
  }
}

/// A half of a word of each row, at `base`, times the same half of the columns.
void IntegerTile::addHalves(const Rows &tile, Value base, ArrayRef<Value> columns, MutableArrayRef<Value> sums) {
  for (unsigned r = 0; r < tile.rows; ++r) {
    Value x = v.b.create<vector::BitCastOp>(v.loc, halves(v), loadWord(v, base, v.i(r)));
    for (unsigned q = 0; q < tile.vectors; ++q) {
      Value &sum = sums[r * tile.vectors + q];
      sum = v.b.create<arith::AddIOp>(v.loc, sum, addPairs(v, x, columns[q]));
    }
  }
}

/// Rows that are split: all words with one half of them and of the columns, and then with the other. In one loop the code generator adds up the
/// two products of a word first, and of these there are more than registers, but in low tiles.
Values IntegerTile::allHalves(const Rows &tile, Value from, Value first, Value words, Values sums, function_ref<void(Value)> request) {
  auto half = [&](Value word, unsigned part, Values s) {
    SmallVector<Value> columns;
    for (unsigned q = 0; q < tile.vectors; ++q) {
      auto [even, odd] = splitBytes(v, loadWords(v, from, v.add(v.mul(word, panelColumns), q * v.lanes)), true);
      columns.push_back(part ? odd : even);
    }
    Value start = v.at(first, TiledWords::partStart(v, words, v.i(tile.rows), part), v.b.getI32Type());
    addHalves(tile, v.at(start, v.mul(word, tile.rows), v.b.getI32Type()), columns, s);
    return s;
  };
  bool together = 2 * tile.count() + 4 <= v.target.registers;
  sums = v.loop(v.i(0), words, 1, sums, [&](Value word, Values s) {
    request(word);
    s = half(word, 0, s);
    return together ? half(word, 1, s) : s;
  });
  return together ? sums : v.loop(v.i(0), words, 1, sums, [&](Value word, Values s) { return half(word, 1, s); });
}

void IntegerTile::emitRows(const ColumnPanel &panel, Value first, const WordRows &at, unsigned rows, Value words, Value sums,
                           Value rowStart, Value columnStart, const Request &request, unsigned width) {
  Type i32 = v.b.getI32Type();
  unsigned all = std::max(1u, width / v.lanes);
  Rows tile{rows, vectorsOf(width), 1, {}};
  while (form == ByteForm::Dots && tile.count() * tile.sets < sumsInFlight && tile.sets < unroll)
    tile.sets *= 2;
  for (unsigned r = 0; r < rows; ++r)
    tile.starts.push_back(v.mul(at.rowStep, r));
  auto pass = [&](Value column) {
    Value from = v.at(panel.words, column, i32), ahead;
    if (request.from)
      ahead = v.at(request.from, v.mul(v.div(column, tile.vectors * v.lanes), request.passStep), v.b.getI8Type());
    auto requestAt = [&](Value word) {
      for (unsigned line = 0; ahead && line < tile.vectors * v.target.vectorBytes; line += cacheLine)
        v.prefetch(ahead, v.add(v.mul(word, request.step), line), v.b.getI8Type());
    };
    auto addWord = [&](ByteForm form, Value word, unsigned u, Values s) {
      requestAt(word);
      SmallVector<Words> columns;
      for (unsigned q = 0; q < tile.vectors; ++q)
        columns.push_back(Words::of(v, form, loadWords(v, v.at(from, v.mul(word, panelColumns), i32), v.i(q * v.lanes)), true));
      Value base = v.at(first, at.table ? loadOffset(v, at.table, word) : v.mul(word, rows), i32);
      addWords(tile, form, base, columns, MutableArrayRef<Value>(s).slice(u % tile.sets * tile.count(), tile.count()));
      return s;
    };
    Values state = startingSums(tile, column, rowStart, columnStart);
    state = split ? allHalves(tile, from, first, words, state, requestAt) : allWords(panel.list, words, state, addWord);
    for (unsigned live = tile.sets; live > 1; live /= 2)
      for (unsigned k = 0; k < tile.count() * live / 2; ++k)
        state[k] = v.b.create<arith::AddIOp>(v.loc, state[k], state[k + tile.count() * live / 2]);
    for (unsigned k = 0; k < tile.count(); ++k)
      v.b.create<LLVM::StoreOp>(v.loc, state[k],
                                v.at(sums, v.add(column, k / tile.vectors * panelColumns + k % tile.vectors * v.lanes), i32), 4);
  };
  if (tile.vectors == all)
    pass(v.i(0));
  else
    v.loop(v.i(0), v.i(width), tile.vectors * v.lanes, pass);
}
