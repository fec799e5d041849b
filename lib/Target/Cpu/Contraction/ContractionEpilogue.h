//===- ContractionEpilogue.h - From a tile of sums to results --------------===//
#ifndef LATHE_TARGET_CPU_CONTRACTIONEPILOGUE_H
#define LATHE_TARGET_CPU_CONTRACTIONEPILOGUE_H

#include "Contraction.h"
#include "../Rows/RowGroups.h"
#include "lathe/Schedule/Tiles.h"

namespace lathe::cpu {

/// Applies what follows the sum in a kernel's body to a tile of sums, row by row with the columns in the lanes, and stores.
/// Where it is rows that lie side by side in the results (an image with its channels first), the tile is transposed and the
/// rows are in the lanes.
class ContractionEpilogue {
public:
  /// Reserves the tile, on the stack, where the builder stands: at the function's entry. `grouped`: a group of tiles.
  ContractionEpilogue(VectorBuilder &v, const ContractionShape &shape, const lower::BodyInfo &info, lower::BodyEmitter &body,
                      unsigned maxRows, bool grouped = false);
  /// sums[row][panelColumns].
  mlir::Value buffer() const { return tile; }
  /// The same from a row on.
  mlir::Value bufferAt(mlir::Value row) { return v.at(tile, v.mul(row, panelColumns)); }
  /// The rows of a tile and more that are worth writing together.
  const RowGroups &rowGroups() const { return groups; }
  /// The sums lie elsewhere, with a vector of rows behind them that may be read.
  void setBuffer(mlir::Value sums) { tile = sums; }
  /// Rows row .. row + count - 1, columns from firstColumn on, at most `width` of them.
  void emit(const lower::BodyEmitter &point, mlir::Value row, mlir::Value count, mlir::Value firstColumn,
            unsigned width = panelColumns);

  /// Whether emitPlaces() may take sums: rows lie side by side in the results, and nothing between them.
  bool takesPlaces() const { return !lines.empty() && interleaved == 1; }
  /// Sums with the rows in the lanes, sums[column][pitch], as in emit(), and a vector of rows behind them that may be read.
  void emitPlaces(const lower::BodyEmitter &point, mlir::Value row, mlir::Value count, mlir::Value sums, mlir::Value pitch,
                  mlir::Value firstColumn, mlir::Value columnCount);

  /// Whether emitSums() may take sums as they leave their registers: with columns in the lanes.
  bool canTakeSums() const;
  /// Whether it is worth it: little is done with the sums of so many points.
  bool takesSums(std::optional<int64_t> depth) const;
  /// A vector of sums, all of whose columns there are where the panel is filled.
  void emitSums(const lower::BodyEmitter &point, mlir::Value row, mlir::Value column, mlir::Value sums, bool filled = true) {
    emitVectorAt(rowAt(point, row), column, filled ? mlir::Value() : v.firstLanes(v.sub(columns, column)), sums);
  }

  /// Requests what emit() will read at each row, so that it arrives while the tile's product is computed.
  void request(const lower::BodyEmitter &point, mlir::Value row, mlir::Value count, mlir::Value firstColumn,
               unsigned width = panelColumns);

private:
  void findRowReads(const lower::BodyInfo &info);
  void findLines(const lower::BodyInfo &info);
  bool storesStep(const AxisGroup &group, const lower::BodyInfo &info, bool byOne = true) const;
  bool areLines(const AxisGroup &group, const lower::BodyInfo &info, bool byOne = true) const;
  bool canFollowLines(const AxisGroup &group, const lower::BodyInfo &info) const;
  llvm::SmallVector<VectorBuilder::Values> valuesOf(const lower::BodyEmitter &point, llvm::ArrayRef<mlir::Value> sums, mlir::Value place,
                                                    mlir::Value column, mlir::Value mask);
  void emitColumns(const lower::BodyEmitter &point, llvm::ArrayRef<mlir::Value> values, mlir::Value place, mlir::Value to,
                   mlir::Value column, bool whole);
  /// Calls body(point, line, from, to, start) for the lines that rows row .. row + count - 1 are: their places from .. to - 1, where place 0 is row
  /// row + start.
  void eachLine(const lower::BodyEmitter &point, mlir::Value row, mlir::Value count,
                llvm::function_ref<void(const lower::BodyEmitter &, mlir::Value, mlir::Value, mlir::Value)> body);
  void emitLine(const lower::BodyEmitter &outer, mlir::Value from, mlir::Value to, mlir::Value tileRow, mlir::Value firstColumn, unsigned width);
  void emitRowColumns(const lower::BodyEmitter &point, mlir::Value tileRow, mlir::Value firstColumn, unsigned panelWidth,
                      bool partial);
  void emitRuns(const lower::BodyEmitter &point, mlir::Value tileRow, mlir::Value firstColumn, unsigned panelWidth);
  bool canStoreInPieces() const;
  void emitPieces(const lower::BodyEmitter &point, mlir::Value tileOffset, mlir::Value column, mlir::Value length);
  /// `single`: of one column.
  void emitVector(const lower::BodyEmitter &point, mlir::Value tileOffset, mlir::Value column, mlir::Value mask, bool single = false);
  void emitVectorAt(lower::BodyEmitter point, mlir::Value column, mlir::Value mask, mlir::Value sums);
  lower::BodyEmitter rowAt(const lower::BodyEmitter &point, mlir::Value row);
  bool lanesStayInAxis() const;
  mlir::Value sumOf(mlir::Value bits);

  VectorBuilder &v;
  const ContractionShape &shape;
  RowGroups groups;
  mlir::Value tile, columns, lineLength;
  llvm::SmallVector<kernel::StoreOp> stores;
  std::vector<mlir::Operation *> ops;         ///< what follows the sum
  llvm::SmallVector<kernel::LoadOp> rowReads; ///< what differs from row to row
  AxisGroup lines, lineAxes; ///< rows that lie side by side in the results, and the axes outside of them; empty: none do
  /// So many neighbouring columns lie between two neighbours of a line, as the innermost axis of the columns.
  int64_t interleaved = 1;
  /// What is stored is computed for each of these columns, and that is interleaved: what is read of a column does not lie between others.
  bool computedFirst = false;
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_CONTRACTIONEPILOGUE_H
