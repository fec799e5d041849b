//===- PlaceTile.h - Sums of products of bytes, with places in the lanes ---===//
//
// Where the places of an image lie side by side in the results, a tile of sums with the columns in the lanes has to be transposed before it is
// stored, which takes longer than a short sum. Here a vector has the words of neighbouring places, a column's word is in all lanes, and the sums
// of a column come out as they are stored. It reads the same panels and the same packed words as IntegerTile.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CPU_PLACETILE_H
#define LATHE_TARGET_CPU_PLACETILE_H

#include "../Rows/RowGroups.h"
#include "ByteDots.h"

namespace lathe::cpu {

/// Words of neighbouring places: word w of place p lies at table[w] + p words, or without a table at w * pitch + p.
struct PlaceWords {
  mlir::Value first;
  mlir::Value table, pitch;
};

class PlaceTile {
public:
  /// Reserves the sums of so many places, on the stack, where the builder stands: at the function's entry.
  PlaceTile(VectorBuilder &v, schedule::ByteForm form, int64_t mostPlaces);
  /// Columns whose sums there are at a time; they divide a panel.
  unsigned columns() const { return columnCount; }
  /// Calls of emit() from here on are for such numbers of places only.
  void allowCountOf(int64_t places) { groups.addHeights(counts, (places + v.lanes - 1) / v.lanes); }
  /// About as many tiles as so many places have.
  mlir::Value tilesOf(mlir::Value count) { return groups.tilesOf(v, v.ceilDiv(count, v.lanes)); }
  /// The sums of columns from `column` of the panel on at `count` places, and with whole vectors of those behind them. `rowStart` (a word per place)
  /// and `columnStart` (a word per column of the panel) are what sums start with; null for zero. `request`: of a tile's number.
  void emit(const ColumnPanel &panel, mlir::Value column, const PlaceWords &at, mlir::Value count, mlir::Value words, mlir::Value rowStart,
            mlir::Value columnStart, llvm::function_ref<Request(mlir::Value)> request);
  /// Lines of `length` places, each `pitch` behind the one before, become neighbours.
  void joinLines(mlir::Value lines, mlir::Value length, mlir::Value pitch);
  /// [column][pitch()].
  mlir::Value sums() const { return current; }
  mlir::Value pitch() { return v.i(room); }

private:
  using Values = VectorBuilder::Values;
  void emitVectors(unsigned vectors, const ColumnPanel &panel, mlir::Value column, const PlaceWords &at, mlir::Value place, mlir::Value words,
                   mlir::Value rowStart, mlir::Value columnStart, const Request &request);
  Values startingSums(unsigned vectors, mlir::Value column, mlir::Value place, mlir::Value rowStart, mlir::Value columnStart);
  mlir::Value word(mlir::Value pointer, mlir::Value at) { return v.at(pointer, at, v.b.getI32Type()); }

  VectorBuilder &v;
  schedule::ByteForm form;
  unsigned columnCount;
  RowGroups groups; ///< of vectors
  std::set<unsigned> counts; ///< empty: all
  int64_t room;     ///< of a column's sums
  mlir::Value computed, joined, current;
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_PLACETILE_H
