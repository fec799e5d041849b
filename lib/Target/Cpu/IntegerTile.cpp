//===- IntegerTile.cpp - Micro-kernels of sums of products of bytes --------===//

#include "IntegerTile.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using Values = VectorBuilder::Values;

constexpr unsigned unroll = 4;
/// Words of the panel that are requested from memory ahead of their use.
constexpr unsigned prefetchWords = 32;
/// Sums in flight that hide the latency of a dot product.
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

namespace {
/// Words as the instructions of this machine take them.
struct Words {
  Value whole, even, odd;

  static Words of(VectorBuilder &v, Value words, bool isSigned) {
    if (v.target.dotsBytes())
      return {words, {}, {}};
    auto [even, odd] = splitBytes(v, words, isSigned);
    return {{}, even, odd};
  }
};
} // namespace

static Value dot(VectorBuilder &v, Value acc, const Words &rows, const Words &columns) {
  if (v.target.dotsBytes())
    return intrinsic(v, v.target.vectorBytes == 64 ? "llvm.x86.avx512.vpdpbusd.512" : "llvm.x86.avx512.vpdpbusd.256", v.intVec,
                     {acc, rows.whole, columns.whole});
  acc = v.b.create<arith::AddIOp>(v.loc, acc, addPairs(v, rows.even, columns.even));
  return v.b.create<arith::AddIOp>(v.loc, acc, addPairs(v, rows.odd, columns.odd));
}

Value lathe::cpu::dotBytes(VectorBuilder &v, Value acc, Value rows, Value columns) {
  return dot(v, acc, Words::of(v, rows, false), Words::of(v, columns, true));
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Registers beside the sums, of two vectors a row: the columns, one word of the rows, and where bytes are split their halves.
unsigned IntegerTile::maxRows() const {
  unsigned spare = v.target.dotsBytes() ? 3 : 7;
  return std::min(v.target.dotsBytes() ? 14u : 12u, (v.target.registers - spare) / 2);
}

void IntegerTile::allowHeightsOf(int64_t count) { addEvenHeights(heights, count, maxRows()); }

void IntegerTile::emit(Value panel, Value first, const WordRows &at, Value rows, Value words, Value sums, Value rowStart,
                       Value columnStart, bool prefetched, unsigned width) {
  OpBuilder &b = v.b;
  SmallVector<int64_t> cases(heights.begin(), heights.end());
  for (unsigned r = 1; heights.empty() && r <= maxRows(); ++r)
    cases.push_back(r);
  auto one = [&](unsigned r) { emitRows(panel, first, at, r, words, sums, rowStart, columnStart, prefetched, width); };
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

void IntegerTile::emitRows(Value panel, Value first, const WordRows &at, unsigned rows, Value words, Value sums, Value rowStart,
                           Value columnStart, bool prefetched, unsigned width) {
  Type i32 = v.b.getI32Type(), i64 = v.b.getI64Type();
  unsigned all = std::max(1u, width / v.lanes), vectors = std::min(all, 2u), sets = 1, count = rows * vectors;
  while (count * sets < sumsInFlight && sets < unroll)
    sets *= 2;
  SmallVector<Value> starts;
  for (unsigned r = 0; r < rows; ++r)
    starts.push_back(v.mul(at.rowStep, r));
  auto pass = [&](Value column) {
    Values state(count * sets, v.intSplat(0));
    for (unsigned k = 0; k < count; ++k) {
      Value start = rowStart ? loadWord(v, rowStart, v.i(k / vectors)) : Value();
      Value other = columnStart ? loadWords(v, columnStart, v.add(column, k % vectors * v.lanes)) : Value();
      state[k] = start && other ? v.b.create<arith::AddIOp>(v.loc, start, other).getResult() : start ? start : other ? other : state[k];
    }
    Value from = v.at(panel, column, i32);
    state = v.unrolled(v.i(0), words, unroll, state, [&](Value w, unsigned u, Values s) {
      Value word = v.add(w, u), row = v.at(from, v.mul(word, panelColumns), i32);
      SmallVector<Words> columns;
      for (unsigned q = 0; q < vectors; ++q) {
        if (prefetched && q * v.lanes % 16 == 0)
          v.prefetch(row, v.i(prefetchWords * panelColumns + q * v.lanes), i32);
        columns.push_back(Words::of(v, loadWords(v, row, v.i(q * v.lanes)), true));
      }
      Value offset = at.table ? v.b.create<LLVM::LoadOp>(v.loc, i64, v.at(at.table, word, i64), 8).getResult() : v.mul(word, at.wordStep);
      Value base = v.at(first, offset, i32);
      for (unsigned r = 0; r < rows; ++r) {
        Words x = Words::of(v, loadWord(v, base, starts[r]), false);
        for (unsigned q = 0; q < vectors; ++q) {
          Value &sum = s[(u % sets) * count + r * vectors + q];
          sum = dot(v, sum, x, columns[q]);
        }
      }
      return s;
    });
    for (unsigned live = sets; live > 1; live /= 2)
      for (unsigned k = 0; k < count * live / 2; ++k)
        state[k] = v.b.create<arith::AddIOp>(v.loc, state[k], state[k + count * live / 2]);
    for (unsigned k = 0; k < count; ++k)
      v.b.create<LLVM::StoreOp>(v.loc, state[k],
                                v.at(sums, v.add(column, k / vectors * panelColumns + k % vectors * v.lanes), i32), 4);
  };
  if (vectors == all)
    pass(v.i(0));
  else
    v.loop(v.i(0), v.i(width), vectors * v.lanes, pass);
}
