//===- PlaceTile.cpp - Sums of products of bytes, places in the lanes ------===//

#include "PlaceTile.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using Values = VectorBuilder::Values;
using schedule::ByteForm;

/// Columns of a tile, and vectors of places: as many sums as leave registers for a word of each of these vectors, one of a column, and what the
/// form computes on the way.
static unsigned columnsOf(const VectorBuilder &v) { return v.target.registers >= 32 ? 8 : 4; }
static unsigned vectorsOf(const VectorBuilder &v, ByteForm form) { return form == ByteForm::Dots ? 3 : 2; }

PlaceTile::PlaceTile(VectorBuilder &v, ByteForm form, int64_t mostPlaces)
    : v(v), form(form), columnCount(columnsOf(v)), groups(v.target, vectorsOf(v, form), /*together=*/false),
      room((mostPlaces + v.lanes - 1) / v.lanes * v.lanes + v.lanes) {
  Type pointer = LLVM::LLVMPointerType::get(v.b.getContext());
  auto reserve = [&] { return v.b.create<LLVM::AllocaOp>(v.loc, pointer, v.b.getI32Type(), v.i(columnCount * room), 64).getResult(); };
  computed = current = reserve();
  joined = reserve();
}

void PlaceTile::emit(const ColumnPanel &panel, Value column, const PlaceWords &at, Value count, Value words, Value rowStart, Value columnStart,
                     function_ref<Request(Value)> request) {
  SmallVector<int64_t> cases(counts.begin(), counts.end());
  for (unsigned n = 1; counts.empty() && n <= groups.tileRows(); ++n)
    cases.push_back(n);
  current = computed;
  groups.each(v, v.ceilDiv(count, v.lanes), [&](const RowGroups::Part &tile) {
    Value place = v.mul(tile.first, v.lanes);
    Request ahead = request(tile.number);
    v.choose(tile.count, cases, [&](int64_t n) { emitVectors(n, panel, column, at, place, words, rowStart, columnStart, ahead); });
  });
}

Values PlaceTile::startingSums(unsigned vectors, Value column, Value place, Value rowStart, Value columnStart) {
  Values sums;
  for (unsigned c = 0; c < columnCount; ++c)
    for (unsigned q = 0; q < vectors; ++q) {
      Value row = rowStart ? loadWords(v, rowStart, v.add(place, q * v.lanes)) : Value();
      Value of = columnStart ? loadWord(v, columnStart, v.add(column, c)) : Value();
      sums.push_back(row && of ? v.b.create<arith::AddIOp>(v.loc, row, of).getResult() : row ? row : of ? of : v.intSplat(0));
    }
  return sums;
}

void PlaceTile::emitVectors(unsigned vectors, const ColumnPanel &panel, Value column, const PlaceWords &at, Value place, Value words, Value rowStart,
                            Value columnStart, const Request &request) {
  Value from = word(panel.words, column), rows = word(at.first, place);
  Values sums = startingSums(vectors, column, place, rowStart, columnStart);
  sums = eachWord(v, form, panel.list, words, sums, /*perTrip=*/1, [&](ByteForm form, Value w, unsigned, Values s) {
    if (request.from)
      v.prefetch(request.from, v.mul(w, request.step), v.b.getI8Type());
    Value line = word(rows, at.table ? loadOffset(v, at.table, w) : v.mul(w, at.pitch)), filter = word(from, v.mul(w, panelColumns));
    SmallVector<ByteWords> places;
    for (unsigned q = 0; q < vectors; ++q)
      places.push_back(ByteWords::of(v, form, loadWords(v, line, v.i(q * v.lanes)), false));
    for (unsigned c = 0; c < columnCount; ++c) {
      ByteWords weights = ByteWords::of(v, form, loadWord(v, filter, v.i(c)), true);
      for (unsigned q = 0; q < vectors; ++q)
        s[c * vectors + q] = dotBytes(v, form, s[c * vectors + q], places[q], weights);
    }
    return s;
  });
  for (unsigned c = 0; c < columnCount; ++c)
    for (unsigned q = 0; q < vectors; ++q)
      v.b.create<LLVM::StoreOp>(v.loc, sums[c * vectors + q], word(computed, v.add(place, c * room + q * v.lanes)), 4);
}

/// Into a buffer of its own: a short line's last vector would reach into lines that are still to come.
void PlaceTile::joinLines(Value lines, Value length, Value pitch) {
  v.loop(v.i(0), v.i(columnCount), 1, [&](Value column) {
    Value start = v.mul(column, room), from = word(computed, start), to = word(joined, start);
    v.loop(v.i(0), lines, 1, [&](Value line) {
      v.loop(v.i(0), length, v.lanes, [&](Value place) {
        Value moved = loadWords(v, from, v.add(v.mul(line, pitch), place));
        v.b.create<LLVM::StoreOp>(v.loc, moved, word(to, v.add(v.mul(line, length), place)), 4);
      });
    });
  });
  current = joined;
}
