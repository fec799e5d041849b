//===- IntegerEmitter.h - What integer products and convolutions share -----===//
#ifndef LATHE_TARGET_CPU_INTEGEREMITTER_H
#define LATHE_TARGET_CPU_INTEGEREMITTER_H

#include "../Contraction/ContractionEpilogue.h"
#include "IntegerRows.h"
#include "IntegerTile.h"
#include "PlaceTile.h"
#include "../KernelEmitters.h"

namespace lathe::cpu {

/// Panels of columns, their corrections and tiles; how rows come into words is for who derives from it.
class IntegerEmitter {
public:
  /// `tileRows`: of the largest tile, where it is not IntegerTile's.
  IntegerEmitter(KernelFunction &f, const IntegerShape &shape, unsigned tileRows = 0);
  const std::string &error() const { return body.error(); }

protected:
  mlir::Value refOf(mlir::Value ref) { return f.refs[mlir::cast<mlir::BlockArgument>(ref).getArgNumber()]; }
  mlir::Value rowsRef();
  shape::Expr panels() const { return shape::Expr::ceildiv(shape.product.columns.extent(), shape::Expr(int64_t(panelColumns))); }
  /// Words of scratch behind the rows: a panel, and what sums start with.
  shape::Expr panelWords() const;
  mlir::Value word(mlir::Value pointer, mlir::Value at) { return v.at(pointer, at, v.b.getI32Type()); }
  /// Items are (batch point, block of rows, panel), the last fastest; blocks have nearly equal numbers of rows. For each block of which the function has
  /// items: pack(point, first, rows), then emit(point, batch, panel, first, rows) for each of its panels.
  void eachBlock(const shape::Expr &blocks,
                 llvm::function_ref<void(const lower::BodyEmitter &, mlir::Value, mlir::Value)> pack,
                 llvm::function_ref<void(const lower::BodyEmitter &, mlir::Value, mlir::Value, mlir::Value, mlir::Value)> emit);
  /// What these items are: `cycles` of a word with a panel, for a row; words of scratch in front of the panel; and panels that a thread takes at least.
  KernelPlan planOfBlocks(const shape::Expr &blocks, int64_t cycles, const shape::Expr &rowWords, int64_t panelsTogether) const;
  /// The panel of a batch point as packed columns, and the start of its sums in scratch at `room`.
  ColumnPanel panelAt(const lower::BodyEmitter &point, mlir::Value batch, mlir::Value panelIndex, mlir::Value room);
  /// What a tile, one of so many, requests of the panel behind.
  Request requestOf(const ColumnPanel &panel, mlir::Value tile, mlir::Value tiles, unsigned width);
  /// The same for the matrix unit, at a step of its product.
  void requestStep(const ColumnPanel &panel, mlir::Value tile, mlir::Value tiles, mlir::Value step, mlir::Value steps);
  mlir::Value columnStart() { return shape.rowsSigned ? starts : mlir::Value(); }
  /// The sums of all columns of a panel at `count` places that are rows `row` on, with the places in the lanes, and their epilogue. Where there is a
  /// `pitch` these are lines of `length` places, so far apart. `part` of `parts`, of which the panel's requests are made.
  struct PlaceRun {
    PlaceWords words;
    mlir::Value row, count;
    mlir::Value lines, length, pitch;
    mlir::Value part, parts;
  };
  void emitPlaces(const lower::BodyEmitter &point, const ColumnPanel &panel, mlir::Value panelIndex, const PlaceRun &run, mlir::Value rowStart);
  /// Calls body(width) with the number of columns of this panel that are worth computing.
  void forWidth(mlir::Value panelIndex, llvm::function_ref<void(unsigned)> body);

  KernelFunction &f;
  const IntegerShape &shape;
  VectorBuilder v;
  lower::BodyEmitter body;
  IntegerTile tiles;
  std::optional<PlaceTile> placeTile; ///< in its stead
  ContractionEpilogue epilogue;
  WordPacker packer;
  mlir::Value words, panelCount, starts;
};

/// Words that the matrix unit multiplies in a step of a convolution, which lie side by side in the image; none where it does not take it.
std::optional<int64_t> stepOfImage(const lower::BodyInfo &info, const IntegerShape &shape);
llvm::Expected<bool> emitIntegerConvolution(KernelFunction &f, const IntegerShape &shape, KernelPlan &plan);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_INTEGEREMITTER_H
