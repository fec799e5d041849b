//===- IntegerTile.h - Micro-kernels of sums of products of bytes ----------===//
#ifndef LATHE_TARGET_CPU_INTEGERTILE_H
#define LATHE_TARGET_CPU_INTEGERTILE_H

#include "ByteDots.h"
#include "TiledWords.h"

namespace lathe::cpu {

/// Where the words of a tile's rows lie, from a pointer to its first row on: word w of row r at table[w] + r * rowStep words. Without a
/// table they are TiledWords.
struct WordRows {
  mlir::Value rowStep;
  mlir::Value table; ///< i64 per word
};

/// Emits the product of a tile of rows with one panel of columns.
class IntegerTile {
public:
  /// `tiled`: rows are TiledWords.
  IntegerTile(VectorBuilder &v, schedule::ByteForm form, bool tiled) : v(v), form(form), split(tiled && form == schedule::ByteForm::Halves) {}
  unsigned maxRows() const;
  /// Whether the words of rows are split where they are packed.
  bool splitsRows() const { return split; }
  /// Vectors of columns in a pass over the rows of a panel with so many columns.
  unsigned vectorsOf(unsigned width) const { return std::min(std::max(1u, width / v.lanes), 2u); }
  /// `count` rows are split into groups and these into tiles of nearly equal height: calls of emit() from here on are for such tiles only.
  void allowHeightsOf(const RowGroups &groups, int64_t count) { groups.addHeights(heights, count); }
  /// `sums`: words [row][panelColumns] in which the sums lie afterwards. `rowStart` (a word per row) and `columnStart` (a word per
  /// column) are what the sums start with; null for zero.
  void emit(const ColumnPanel &panel, mlir::Value first, const WordRows &at, mlir::Value rows, mlir::Value words, mlir::Value sums,
            mlir::Value rowStart, mlir::Value columnStart, const Request &request, unsigned width = panelColumns);

private:
  using Values = VectorBuilder::Values;
  /// A tile's rows and sums, those of a vector of columns side by side.
  struct Rows {
    unsigned rows, vectors, sets;
    llvm::SmallVector<mlir::Value> starts; ///< of the rows, in words
    unsigned count() const { return rows * vectors; }
  };
  void emitRows(const ColumnPanel &panel, mlir::Value first, const WordRows &at, unsigned rows, mlir::Value words, mlir::Value sums,
                mlir::Value rowStart, mlir::Value columnStart, const Request &request, unsigned width);
  Values startingSums(const Rows &tile, mlir::Value column, mlir::Value rowStart, mlir::Value columnStart);
  void addWords(const Rows &tile, schedule::ByteForm form, mlir::Value base, llvm::ArrayRef<ByteWords> columns, llvm::MutableArrayRef<mlir::Value> sums);
  void addHalves(const Rows &tile, mlir::Value base, llvm::ArrayRef<mlir::Value> columns, llvm::MutableArrayRef<mlir::Value> sums);
  Values allHalves(const Rows &tile, mlir::Value from, mlir::Value first, mlir::Value words, Values sums,
                   llvm::function_ref<void(mlir::Value)> request);

  VectorBuilder &v;
  schedule::ByteForm form;
  bool split;
  std::set<unsigned> heights; ///< empty: all
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_INTEGERTILE_H
