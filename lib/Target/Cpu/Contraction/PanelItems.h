//===- PanelItems.h - Blocks of rows by panels of columns -------------------===//
//
// The items of a product whose columns lie in panels are (block of rows, panel), the last fastest: a thread prepares a block once for
// the panels that it takes of it. Rows are split exactly: the first blocks have one more than the rest, and so have the first tiles of a
// block.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_CPU_PANELITEMS_H
#define LATHE_LIB_TARGET_CPU_PANELITEMS_H

#include "Contraction.h"
#include "ContractionTile.h"
#include "../KernelEmitters.h"

namespace lathe::cpu {

class PanelItems {
public:
  /// `halves`: the last panel may end with half a vector.
  PanelItems(VectorBuilder &v, int64_t columns, bool halves = false) : v(v), columns(columns), halves(halves) {}
  int64_t count() const { return (columns + panelColumns - 1) / panelColumns; }
  /// Columns of the last panel that are worth computing, where that is less than the panel.
  unsigned lastWidth() const;
  /// Few panels ask for more blocks than the usual ones, of at least so many rows.
  shape::Expr blocksFor(const shape::Expr &rows, const shape::Expr &usual, int64_t fewestRows) const;
  /// Of rows and blocks that are known, the heights of a block's tiles.
  void allowHeights(ContractionTile &tiles, const RowGroups &groups, const shape::Expr &rows, const shape::Expr &blocks) const;

  using Rows = llvm::function_ref<void(mlir::Value first, mlir::Value count)>;
  using PanelOfRows = llvm::function_ref<void(mlir::Value panel, mlir::Value first, mlir::Value count)>;
  /// The items of a call: `prepare` for each block, `panel` for each of its panels.
  void emit(const KernelFunction &f, mlir::Value rows, mlir::Value blocks, Rows prepare, PanelOfRows panel) const;
  /// The panel in the width that it is computed in.
  void inWidth(mlir::Value panel, llvm::function_ref<void(unsigned width)> emit) const;
  using Tile = llvm::function_ref<void(mlir::Value tile, mlir::Value local, mlir::Value row, mlir::Value rows)>;
  /// So many rows in tiles of at most `maxRows`.
  struct Split {
    mlir::Value tiles, high, low, highTiles;
  };
  Split split(mlir::Value count, unsigned maxRows) const;
  /// The body gets a tile's number, where it begins among the rows and among all, which are from `first` on, and its rows.
  void eachTile(const Split &split, mlir::Value first, Tile body) const;

private:
  VectorBuilder &v;
  int64_t columns;
  bool halves;
};

} // namespace lathe::cpu

#endif // LATHE_LIB_TARGET_CPU_PANELITEMS_H
