//===- ContractionTile.h - Micro-kernels of a contraction ------------------===//
#ifndef LATHE_TARGET_CPU_CONTRACTIONTILE_H
#define LATHE_TARGET_CPU_CONTRACTIONTILE_H

#include "Contraction.h"
#include "../Rows/RowGroups.h"
#include <functional>

namespace lathe::cpu {

/// Emits the product of a tile of rows with one panel of columns.
class ContractionTile {
public:
  /// `panelType`: element type of the panel in memory.
  ContractionTile(VectorBuilder &v, const ContractionShape &shape, mlir::Type panelType, mlir::Value lhs);

  /// The largest number of rows that the table has a kernel for.
  unsigned maxRows() const;
  /// Makes it at most this.
  void limitRows(unsigned rows) { rowLimit = rows; }
  /// Whether emit() may be given a width that ends with half a vector. Behind whole vectors the halves of two rows share one, so that 24 columns of two rows
  /// are three multiply-adds instead of four; their elements are joined by units that no product waits for (Zen 4 and 5).
  bool takesHalves() const { return v.lanes * 2 == panelColumns && panelType == v.element; }
  /// rows (i64, 1 .. maxRows) rows from flat row `row`, at the batch point `base`, times the first `width` columns of the
  /// panel, into tile[row][panelColumns]; behind half a vector come zeros. `depth`: the number of reduced points.
  void emit(const lower::BodyEmitter &base, mlir::Value panel, mlir::Value row, mlir::Value rows, mlir::Value depth,
            mlir::Value tile, unsigned width = panelColumns);
  /// Panels that a single row is multiplied with together, as many streams from memory: of operands that no second-level cache holds. None where one is
  /// all that registers or sizes allow.
  std::optional<unsigned> streams() const;
  /// That row times `panels` whole panels that lie one behind the other, into tile[panel][panelColumns]. Sums are made in one order, however many panels.
  void emitStreams(const lower::BodyEmitter &base, mlir::Value panel, mlir::Value depth, unsigned panels, mlir::Value tile);
  /// Calls of emit() from here on give a vector of sums, of a row of the tile and a column of the panel, to `taker`, not to their tile; null: to that again.
  using Taker = std::function<void(unsigned, mlir::Value, mlir::Value)>;
  void setTaker(Taker taker) { takeSums = std::move(taker); }
  /// `count` rows are split into tiles of at most maxRows, the first ones with one row more than the rest: calls of emit()
  /// from here on are for tiles of these heights only. Several calls add to the heights; without one there is a micro-kernel
  /// for each.
  void allowHeightsOf(int64_t count);
  /// So many tiles read each panel one after the other, in some calls no more than the second number.
  void setReaders(int64_t most, int64_t least);
  /// The same where they are split into groups first.
  void allowHeightsOf(const RowGroups &groups, int64_t count) { groups.addHeights(heights, count); }
  /// Calls of emit() from here on are for tiles of maxRows() only, for lower ones only, or for those that are allowed.
  enum class Which { Allowed, Highest, Lower };
  void setWhich(Which tiles) { which = tiles; }
  /// Calls of emit() from here on find the first operand at `memory`.
  void setRows(mlir::Value memory) { lhs = memory; }
  /// The next calls of emit() add to the sums that lie at `memory` as they do in a tile.
  void setSumsBefore(mlir::Value memory) { sumsBefore = memory; }
  /// Calls of emit() from here on read rows that lie at `rows` one after the other, `elements` elements each, and are numbered as they lie there.
  void setPackedRows(mlir::Value rows, int64_t elements) { lhs = rows, packedRow = elements; }
  /// The rows lie at `rows`, `pitch` elements apart, and those and the panel are pairs of bf16 (HalfPairs.h): row 0 is the tile's first.
  void setPairs(mlir::Value rows, int64_t pitch) { lhs = rows, packedRow = pitch, pairs = true, prefetched = false; }
  /// The panel is pairs of bf16, [depth / 2][panelColumns][2] as words, and depth is a number of these; the rows are such pairs, too, or elements.
  void setPairedPanel(bool rowsToo) { pairs = rowsToo, pairedPanel = !rowsToo; }
  /// Calls of emit() from here on read their tile's rows from `memory`: for each reduced point side by side, points `pitch` elements apart.
  void setTileOfRows(mlir::Value memory, int64_t pitch) { tileOfRows = memory, tilePitch = pitch; }
  /// Rows that share lines of memory, `pitch` elements apart: a summed axis goes by so many lines, or by elements of one (0). An element lies as far behind
  /// `memory` as its point says, and `rowStep` elements for each row in front of it.
  struct Lines {
    struct Level {
      int64_t extent, lines;
    };
    mlir::Value memory, pitch;
    int64_t rowStep = 0;
    llvm::SmallVector<Level> levels; ///< the outermost first
  };
  /// Calls of emit() from here on read the tile's rows there. Their depth is a multiple of what one point of the outermost axis has.
  void setLines(Lines of) { rowsInLines = std::move(of); }
  /// The panel is one of several that lie in memory one after the other, and the next call of emit() is for its tile number
  /// `tile`. The first four tiles of a panel request a quarter of the next one each, or of fewer the first two a half, so that it is in the
  /// second-level cache by the time of its first tile, which would wait for memory otherwise. Does nothing for operands that caches hold anyway,
  /// as far as the sizes are known.
  /// `tiles`: of a panel, where it matters that their number is found in a run; null: as setReaders says.
  void requestNext(mlir::Value panel, mlir::Value tile, mlir::Value depth, mlir::Value tiles = {});
  /// The same where the panel that comes after this one lies elsewhere.
  void request(mlir::Value next, mlir::Value tile, mlir::Value tiles = {});

private:
  using Values = VectorBuilder::Values;
  /// A row of the first operand: element (row, k) lies displacement + k * stride elements behind the pointer.
  struct Row {
    mlir::Value start;
    int64_t displacement;
    mlir::Value steps; ///< and so many elements more; null: none
  };
  llvm::SmallVector<int64_t> heightsToEmit() const;
  bool mayHave(int64_t elements) const;
  bool requestsRows(unsigned rows) const;
  unsigned vectorsFor(unsigned rows, unsigned width) const;
  bool isHalf(unsigned vector, unsigned vectors) const { return endsInHalf && vector + 1 == vectors; }
  /// Does the last vector of row `r` hold the half of the next row behind its own?
  bool holdsTwo(unsigned r, unsigned rows, unsigned vectors) const { return endsInHalf && vectors > 1 && r % 2 == 0 && r + 1 < rows; }
  mlir::Value halvesOf(mlir::Value first, mlir::Value second);
  Values firstSums(unsigned sets, unsigned rows, unsigned vectors, mlir::Value column);
  mlir::Value finalSum(llvm::ArrayRef<mlir::Value> sums, unsigned r, unsigned q, unsigned rows, unsigned vectors);
  mlir::Value repeated(mlir::Value half);
  mlir::Value narrowed(mlir::Value vector, mlir::Type type);
  mlir::Value widened(mlir::Value vector);
  llvm::SmallVector<Row> rowsAt(lower::BodyEmitter point, mlir::Value row, unsigned count) const;
  Values sumOver(size_t level, lower::BodyEmitter point, mlir::Value row, mlir::Value panel, unsigned rows, unsigned vectors,
                 Values sums);
  Values innerLoop(lower::BodyEmitter &point, mlir::Value row, mlir::Value panel, mlir::Value count, mlir::Value stride,
                   unsigned rows, unsigned vectors, Values sums);
  Values columnsAt(mlir::Value panelRow, unsigned u, unsigned rows, unsigned vectors);
  Values overPairs(llvm::ArrayRef<Row> starts, mlir::Value panel, mlir::Value words, unsigned vectors, Values sums);
  void requestPart(mlir::Value k, unsigned u, unsigned rows);
  void addProducts(unsigned r, unsigned rows, mlir::Value element, llvm::ArrayRef<mlir::Value> columns, llvm::MutableArrayRef<mlir::Value> sums);
  int64_t pointsFrom(size_t level) const;
  mlir::Value inLines(mlir::Value memory, mlir::Value lines, mlir::Value elements);
  Values overLines(size_t level, mlir::Value memory, mlir::Value panel, mlir::Value first, mlir::Value count, unsigned rows, unsigned vectors, Values sums);
  Values addPoints(size_t level, mlir::Value memory, mlir::Value panel, mlir::Value first, unsigned rows, unsigned vectors, Values sums);
  void emitRows(const lower::BodyEmitter &base, mlir::Value panel, mlir::Value row, unsigned rows, mlir::Value depth,
                mlir::Value tile, unsigned width);

  VectorBuilder &v;
  const ContractionShape &shape;
  mlir::Type panelType;
  mlir::Value lhs;
  std::set<unsigned> heights; ///< empty: all
  Which which = Which::Allowed;
  unsigned rowLimit = 12;
  std::optional<int64_t> packedRow;
  mlir::Value tileOfRows;
  int64_t tilePitch = 0;
  Lines rowsInLines;
  bool pairs = false;       ///< of both operands
  bool pairedPanel = false; ///< of the panel alone
  bool endsInHalf = false; ///< the width that is being emitted
  bool prefetched; ///< the panel comes from memory, not from scratch
  std::optional<int64_t> readers;
  unsigned requestingTiles = 4; ///< that request a part of the next panel each
  mlir::Value firstOfTwo; ///< an element of the first of two rows whose halves share a vector
  Taker takeSums;
  mlir::Value sumsBefore; ///< null for zeros
  mlir::Value nextPanel, requesting; ///< the latter: which of the tiles that request it this one is; null for nothing
  mlir::Value ahead;                 ///< what a pass requests of the next panel, so many elements for each row of its own one
  unsigned aheadElements = 0;
  mlir::Value fewRequest; ///< where it is found in a run whether two tiles request a half each, not four a quarter
  mlir::Value aheadStep;  ///< elements from a row's request to the next one's then
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_CONTRACTIONTILE_H
