//===- IntegerTile.h - Micro-kernels of sums of products of bytes ----------===//
#ifndef LATHE_TARGET_CPU_INTEGERTILE_H
#define LATHE_TARGET_CPU_INTEGERTILE_H

#include "IntegerProduct.h"
#include "TileHeights.h"

namespace lathe::cpu {

/// Where the words of a tile's rows lie, from a pointer to its first row on: word w of row r at offset(w) + r * rowStep words.
struct WordRows {
  mlir::Value rowStep;
  mlir::Value wordStep; ///< the offset of word w is w * wordStep; null: it is in the table
  mlir::Value table;    ///< i64 per word
};

/// Emits the product of a tile of rows with one panel of columns.
class IntegerTile {
public:
  explicit IntegerTile(VectorBuilder &v) : v(v) {}
  unsigned maxRows() const;
  /// `count` rows are split into tiles of nearly equal height: calls of emit() from here on are for such tiles only.
  void allowHeightsOf(int64_t count);
  /// `sums`: words [row][panelColumns] in which the sums lie afterwards. `rowStart` (a word per row) and `columnStart` (a word per
  /// column) are what the sums start with; null for zero.
  void emit(mlir::Value panel, mlir::Value first, const WordRows &at, mlir::Value rows, mlir::Value words, mlir::Value sums,
            mlir::Value rowStart, mlir::Value columnStart, bool prefetched, unsigned width = panelColumns);

private:
  using Values = VectorBuilder::Values;
  void emitRows(mlir::Value panel, mlir::Value first, const WordRows &at, unsigned rows, mlir::Value words, mlir::Value sums,
                mlir::Value rowStart, mlir::Value columnStart, bool prefetched, unsigned width);

  VectorBuilder &v;
  std::set<unsigned> heights; ///< empty: all
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_INTEGERTILE_H
