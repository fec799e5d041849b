//===- IntegerTile.h - Micro-kernels of sums of products of bytes ----------===//
#ifndef LATHE_TARGET_CPU_INTEGERTILE_H
#define LATHE_TARGET_CPU_INTEGERTILE_H

#include "IntegerProduct.h"
#include "RowGroups.h"

namespace lathe::cpu {

/// Where the words of a tile's rows lie, from a pointer to its first row on: word w of row r at offset(w) + r * rowStep words.
struct WordRows {
  mlir::Value rowStep;
  mlir::Value wordStep; ///< the offset of word w is w * wordStep; null: it is in the table
  mlir::Value table;    ///< i64 per word
};

/// A panel of columns, and behind it the list of its words that are multiplied in halves; null: none is.
struct ColumnPanel {
  mlir::Value words, list;
};

/// Emits the product of a tile of rows with one panel of columns.
class IntegerTile {
public:
  IntegerTile(VectorBuilder &v, schedule::ByteForm form) : v(v), form(form) {}
  unsigned maxRows() const;
  /// `count` rows are split into groups and these into tiles of nearly equal height: calls of emit() from here on are for such tiles only.
  void allowHeightsOf(const RowGroups &groups, int64_t count) { groups.addHeights(heights, count); }
  /// `sums`: words [row][panelColumns] in which the sums lie afterwards. `rowStart` (a word per row) and `columnStart` (a word per
  /// column) are what the sums start with; null for zero.
  void emit(const ColumnPanel &panel, mlir::Value first, const WordRows &at, mlir::Value rows, mlir::Value words, mlir::Value sums,
            mlir::Value rowStart, mlir::Value columnStart, bool prefetched, unsigned width = panelColumns);

private:
  using Values = VectorBuilder::Values;
  /// A tile's rows and sums, those of a vector of columns side by side.
  struct Rows {
    unsigned rows, vectors, sets;
    llvm::SmallVector<mlir::Value> starts; ///< of the rows, in words
    unsigned count() const { return rows * vectors; }
  };
  void emitRows(const ColumnPanel &panel, mlir::Value first, const WordRows &at, unsigned rows, mlir::Value words, mlir::Value sums,
                mlir::Value rowStart, mlir::Value columnStart, bool prefetched, unsigned width);
  Values startingSums(const Rows &tile, mlir::Value column, mlir::Value rowStart, mlir::Value columnStart);
  /// Calls word(form, word, number, sums) for all words.
  using Word = llvm::function_ref<Values(schedule::ByteForm, mlir::Value, unsigned, Values)>;
  Values allWords(mlir::Value list, mlir::Value words, Values sums, Word word);

  VectorBuilder &v;
  schedule::ByteForm form;
  std::set<unsigned> heights; ///< empty: all
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_INTEGERTILE_H
