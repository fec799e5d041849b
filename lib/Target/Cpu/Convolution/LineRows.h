//===- LineRows.h - Rows of windows that share lines of an image ------------===//
//
// Windows that follow each other along a line of pixels read the same elements of it again and again. A block of rows is part of such a line: what all of
// its windows read of the image is copied to scratch as lines, once, places outside of the image as zeros. A tile's product takes elements one by
// one, wherever they lie: those of row r at tap k lie at r * step + k.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_CPU_CONVOLUTION_LINEROWS_H
#define LATHE_LIB_TARGET_CPU_CONVOLUTION_LINEROWS_H

#include "Convolution.h"
#include "../Contraction/ContractionTile.h"
#include "../Rows/EdgeCompares.h"
#include "lathe/Lower/SlidingWindow.h"

namespace lathe::cpu {

/// What `rows` neighbouring rows from the point on read some lines of results further on is requested: a model's input comes from memory, from pages that lines
/// of other channels lie between. Of the window's lines the last ones are new to it. Large windows have products enough to wait behind.
void requestLine(VectorBuilder &v, const ConvolutionShape &shape, const lower::BodyEmitter &point, int64_t rows);

class LineRows {
public:
  /// Nothing where rows do not share lines.
  static std::optional<LineRows> of(const lower::BodyInfo &info, const ConvolutionShape &shape, unsigned lanes);

  const shape::Expr &rows() const { return line.places; } ///< of each block
  shape::Expr elements() const { return shape::Expr(line.lines) * pitch; } ///< of scratch
  /// Whether lines of the window may be left out: the outermost summed axis is not along the line.
  bool hasLinesOfWindow() const { return line.taps != shape->product.reduced.axes.front(); }
  /// Packs the block that begins with row `first`. `from`, `to`: of the outermost summed axis.
  void pack(VectorBuilder &v, const lower::BodyEmitter &body, mlir::Value first, mlir::Value from, mlir::Value to, mlir::Value scratch);
  /// Where a tile finds its rows, of which `row` of the block is the first, from a point of the outermost summed axis on.
  ContractionTile::Lines tileAt(VectorBuilder &v, const lower::BodyEmitter &body, mlir::Value scratch, mlir::Value row, mlir::Value outermost) const;

private:
  void packLines(VectorBuilder &v, const lower::BodyEmitter &point, size_t level, mlir::Value from, mlir::Value to, mlir::Value at) const;
  void packLine(VectorBuilder &v, const lower::BodyEmitter &point, mlir::Value at) const;
  int64_t extentOf(unsigned axis) const { return *info->extents[axis].constant(); }
  int64_t linesOf(size_t level) const;
  const lower::BodyInfo *info = nullptr;
  const ConvolutionShape *shape = nullptr;
  Interior interior; ///< along the line
  mlir::Value scratch, apart; ///< of the block that is packed: its memory, and elements from line to line
  lower::LineOfWindow line;
  shape::Expr pitch = shape::Expr(0);
};

} // namespace lathe::cpu

#endif // LATHE_LIB_TARGET_CPU_CONVOLUTION_LINEROWS_H
