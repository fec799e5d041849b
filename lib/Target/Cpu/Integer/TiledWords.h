//===- TiledWords.h - Packed rows of integer products, tile by tile --------===//
//
// A tile reads a word of each of its rows, and then the next words: the rows of a block lie in scratch as [tile][part][word][row of the tile], so
// that what a tile reads is one stretch of memory. Where words lay a whole block apart, those of a long sum shared few sets of a cache.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CPU_TILEDWORDS_H
#define LATHE_TARGET_CPU_TILEDWORDS_H

#include "../Rows/RowGroups.h"
#include "lathe/Shape/Expr.h"

namespace lathe::cpu {

class TiledWords {
public:
  using Part = RowGroups::Part;
  /// `split`: the first part is bytes 0 and 2 of all words as 16-bit numbers, the second one bytes 1 and 3. Else there is one.
  TiledWords(VectorBuilder &v, const RowGroups &groups, bool split) : v(v), groups(groups), split(split) {}
  /// Where the block lies, and the words of a row.
  void place(mlir::Value at, mlir::Value wordsOfRow) {
    block = at;
    words = wordsOfRow;
  }
  mlir::Value wordsOfRow() const { return words; }
  unsigned parts() const { return split ? 2 : 1; }
  /// Of a block of so many rows.
  shape::Expr size(const shape::Expr &wordsOfRow, int64_t rows) const;
  /// A tile, of which this is the first row.
  mlir::Value tileAt(mlir::Value number, mlir::Value row) const {
    return word(block, v.mul(v.add(v.mul(row, words), v.mul(number, v.lanes)), parts()));
  }
  /// Where a part begins, in words from the tile's start on. Behind each is a gap: words are stored in vectors of rows.
  static mlir::Value partStart(VectorBuilder &v, mlir::Value wordsOfRow, mlir::Value rows, unsigned part) {
    return v.mul(v.add(v.mul(wordsOfRow, rows), v.lanes), part);
  }
  /// Calls body(tile) for the tiles of `count` rows, in order.
  void eachTile(mlir::Value count, llvm::function_ref<void(const Part &)> body) const;
  /// Calls body(row) for vectors of the tile's rows, the last first: it reaches into the first rows of the next word.
  void eachVector(const Part &tile, llvm::function_ref<void(mlir::Value)> body) const;
  /// Words of rows from `row` of the tile on: of a vector, or one.
  void store(mlir::Value value, const Part &tile, mlir::Value number, mlir::Value row) const;
  /// The same read again, whole.
  mlir::Value load(const Part &tile, mlir::Value number, mlir::Value row) const;

private:
  mlir::Value word(mlir::Value pointer, mlir::Value at) const { return v.at(pointer, at, v.b.getI32Type()); }
  mlir::Value partAt(const Part &tile, mlir::Value number, unsigned part, mlir::Value row) const;

  VectorBuilder &v;
  const RowGroups &groups;
  bool split;
  mlir::Value block, words;
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_TILEDWORDS_H
