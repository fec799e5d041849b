//===- Contraction.h - CPU code for contraction kernels --------------------===//
//
// One design for all shapes: the second operand is read as panels of 32 columns ([K][32], packed at compile time or into
// scratch here), the rows are split exactly into tiles of nearly equal height, and a table of micro-kernels has one entry for
// each height. A tile is left in an L1-resident buffer, and a loop over its rows applies the epilogue with the columns in
// the lanes. An item of the parallel loop is one tile, times a group of panels; items walk the rows of a group first, so that its panels
// stay in L2. How many panels a group has follows in a call from the sizes and the machine that runs (Contraction.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CPU_CONTRACTION_H
#define LATHE_TARGET_CPU_CONTRACTION_H

#include "../AxisGroup.h"

namespace lathe::cpu {

constexpr unsigned panelColumns = 32;

/// The roles of a contraction's axes and what its operands look like.
struct ContractionShape {
  mlir::Value lhsRef, rhsRef, result;
  mlir::Value rhsValue; ///< instead of rhs, rhsRef and rhsType: a value of the body, evaluated when a panel is packed
  AxisGroup batch, rows, columns, reduced;
  shape::Expr lhs, rhs;
  mlir::Type lhsType, rhsType;
  mlir::FloatType accumulator;
  mlir::Type resultType; ///< of sums that are integers of the accumulator's width; null: the accumulator
  unsigned accumulatorBytes = 4;
  bool packed = false;
  bool mayRound = false; ///< the first operand to the second one's type (lathe/Dialect/Kernel/HalfPairs.h)
  bool rowsFlat = false, columnsFlat = false, batchFlat = false; ///< in the body's accesses

  /// Fills in the ...Flat members.
  void findFlatGroups(const lower::BodyInfo &info);
  /// Nothing for a kernel that this scheme does not cover.
  static std::optional<ContractionShape> of(const lower::BodyInfo &info);
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_CONTRACTION_H
