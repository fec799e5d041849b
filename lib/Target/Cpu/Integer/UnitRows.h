//===- UnitRows.h - Packed rows of products by the matrix unit --------------===//
#ifndef LATHE_TARGET_CPU_UNITROWS_H
#define LATHE_TARGET_CPU_UNITROWS_H

#include "IntegerRows.h"
#include "../MatrixUnit.h"

namespace lathe::cpu {

/// The rows of a block lie in scratch as the unit's registers take them: [tile][step][row of the tile][words of a step]. Two tiles are a
/// group. All tiles have one height, that the last ones may not fill: rows past the block are of no matter.
/// Where the last step would reach past the sum it begins earlier, and rows have zeros for the words that were multiplied already: so
/// panels of columns are not read past their end, and need no filling.
class UnitRows {
public:
  explicit UnitRows(VectorBuilder &v) : v(v) {}
  /// Words of scratch for a block of so many rows.
  static shape::Expr size(const shape::Expr &wordsOfRow, int64_t rows);
  /// Words of scratch in which rows are evaluated.
  static int64_t roomFor(int64_t rows, unsigned lanes) { return MatrixUnit::words * pitchFor(rows, lanes); }

  /// Where blocks lie, and the words of a row.
  void place(mlir::Value at, mlir::Value wordsOfRow);
  /// Packs `count` rows from `first` on.
  void pack(WordPacker &packer, const lower::BodyEmitter &point, mlir::Value first, mlir::Value count, mlir::Value room, int64_t mostRows);

  mlir::Value steps() const { return stepCount; }
  /// Words of a step, of which at least one is multiplied.
  mlir::Value depth() const { return v.max(v.min(words, v.i(MatrixUnit::words)), v.i(1)); }
  /// Rows of a tile, of the block that was packed.
  mlir::Value height() const { return tileHeight; }
  mlir::Value groups() const { return v.ceilDiv(count, v.mul(tileHeight, MatrixUnit::tilesOfGroup)); }
  mlir::Value tileAt(mlir::Value tile, mlir::Value step) const;
  /// The first word of the sum that a step multiplies.
  mlir::Value firstWord(mlir::Value step) const { return v.min(v.mul(step, MatrixUnit::words), lastStart); }

private:
  static int64_t pitchFor(int64_t rows, unsigned lanes) { return (rows + lanes - 1) / lanes * lanes + lanes; }
  void copyRuns(WordPacker &packer, const lower::BodyEmitter &point, mlir::Value first);
  void transpose(mlir::Value room, int64_t pitch, mlir::Value last);
  mlir::Value bytesBetween(mlir::Value first, mlir::Value end);

  VectorBuilder &v;
  mlir::Value block, words, stepCount, lastStart, skipped, count, tileHeight;
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_UNITROWS_H
