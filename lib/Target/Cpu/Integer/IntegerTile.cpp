//===- IntegerTile.cpp - Micro-kernels of sums of products of bytes --------===//

#include "IntegerTile.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using Values = VectorBuilder::Values;
using schedule::ByteForm;

constexpr unsigned cacheLine = 64;
constexpr unsigned wordsOfTrip = 4;
/// Sums in flight that hide the latency of a dot product. In the other forms what a sum waits for is an addition.
constexpr unsigned sumsInFlight = 10;

/// Registers beside the sums, of two vectors a row: the columns, one word of the rows, what is added; where rows are split here their halves. Of 32 registers a tile
/// of 14 rows would leave one for the constants of what follows, and the code generator keeps sums in memory instead (64 channels of 56x56, 3x3: 700 us, with 13
/// rows 470, on Ice Lake).
unsigned IntegerTile::maxRows() const {
  unsigned spare = form == ByteForm::Dots ? 3 : form == ByteForm::Pairs || split ? 4 : 7;
  return std::min(form == ByteForm::Dots ? 13u : 12u, (v.target.registers - spare) / 2);
}

void IntegerTile::emit(const ColumnPanel &panel, Value first, const WordRows &at, Value rows, Value words, Value sums, Value rowStart,
                       Value columnStart, const Request &request, unsigned width) {
  SmallVector<int64_t> cases(heights.begin(), heights.end());
  for (unsigned r = 1; heights.empty() && r <= maxRows(); ++r)
    cases.push_back(r);
  v.choose(rows, cases, [&](int64_t r) { emitRows(panel, first, at, r, words, sums, rowStart, columnStart, request, width); });
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

/// A word of each row times one of the columns.
void IntegerTile::addWords(const Rows &tile, ByteForm form, Value base, ArrayRef<ByteWords> columns, MutableArrayRef<Value> sums) {
  for (unsigned r = 0; r < tile.rows; ++r) {
    ByteWords x = ByteWords::of(v, form, loadWord(v, base, tile.starts[r]), false);
    for (unsigned q = 0; q < tile.vectors; ++q)
      sums[r * tile.vectors + q] = dotBytes(v, form, sums[r * tile.vectors + q], x, columns[q]);
  }
}

/// A half of a word of each row, at `base`, times the same half of the columns.
void IntegerTile::addHalves(const Rows &tile, Value base, ArrayRef<Value> columns, MutableArrayRef<Value> sums) {
  for (unsigned r = 0; r < tile.rows; ++r) {
    Value x = v.b.create<vector::BitCastOp>(v.loc, halvesOf(v), loadWord(v, base, v.i(r)));
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
  while (form == ByteForm::Dots && tile.count() * tile.sets < sumsInFlight && tile.sets < wordsOfTrip)
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
      SmallVector<ByteWords> columns;
      for (unsigned q = 0; q < tile.vectors; ++q)
        columns.push_back(ByteWords::of(v, form, loadWords(v, v.at(from, v.mul(word, panelColumns), i32), v.i(q * v.lanes)), true));
      Value base = v.at(first, at.table ? loadOffset(v, at.table, word) : v.mul(word, rows), i32);
      addWords(tile, form, base, columns, MutableArrayRef<Value>(s).slice(u % tile.sets * tile.count(), tile.count()));
      return s;
    };
    Values state = startingSums(tile, column, rowStart, columnStart);
    state = split ? allHalves(tile, from, first, words, state, requestAt) : eachWord(v, form, panel.list, words, state, wordsOfTrip, addWord);
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
