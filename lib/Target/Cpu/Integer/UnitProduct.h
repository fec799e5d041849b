//===- UnitProduct.h - Products of matrices of bytes by the matrix unit -----===//
#ifndef LATHE_TARGET_CPU_UNITPRODUCT_H
#define LATHE_TARGET_CPU_UNITPRODUCT_H

#include "IntegerEmitter.h"
#include "UnitRows.h"

namespace lathe::cpu {

/// A block of rows is packed, and each panel of columns goes by its groups of up to 32 rows: two by two tiles of sums, from which the
/// epilogue makes results.
class UnitEmitter : IntegerEmitter {
public:
  /// With fewer rows what takes the time is reading panels, which dot products of registers do faster (768x3072 on a Sapphire Rapids: 58 us with
  /// eight rows against 83, 111 against 92 with sixteen).
  static constexpr int64_t fewestRows = 12;
  /// Whether calls of the kernel may have so many.
  static bool serves(const IntegerShape &shape);
  UnitEmitter(KernelFunction &f, const IntegerShape &unshifted, bool rowsSigned, bool columnsSigned);
  void emit();
  KernelPlan plan() const;
  using IntegerEmitter::error;

private:
  shape::Expr blocks() const { return shape::Expr::ceildiv(shape.product.rows.extent(), shape::Expr(blockRows)); }
  shape::Expr packedWords() const { return UnitRows::size(shape.words(), blockRows); }
  shape::Expr rowWords() const { return packedWords() + shape::Expr(UnitRows::roomFor(blockRows, v.lanes)); }
  void emitPanel(const lower::BodyEmitter &point, mlir::Value batch, mlir::Value panelIndex, mlir::Value first, mlir::Value count);
  void multiply(const ColumnPanel &panel, mlir::Value group, mlir::Value groups, unsigned width);

  bool rowsSigned, columnsSigned;
  MatrixUnit unit;
  UnitRows packed;
  int64_t blockRows;
  mlir::Value line, room;
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_UNITPRODUCT_H
