//===- Contraction.h - CPU code for contraction kernels --------------------===//
//
// One design for all shapes: the second operand is read as panels of 32 columns ([K][32], packed at compile time or into
// scratch here), the rows are split exactly into tiles of nearly equal height, and a table of micro-kernels has one entry for
// each height. A tile is left in an L1-resident buffer, and a loop over its rows applies the epilogue with the columns in
// the lanes. An item of the parallel loop is one tile; items walk the rows of a panel first, so that the panel stays in L2.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CPU_CONTRACTION_H
#define LATHE_TARGET_CPU_CONTRACTION_H

#include "AxisGroup.h"

namespace lathe::cpu {

constexpr unsigned panelColumns = 32;

/// The roles of a contraction's axes and what its operands look like.
struct ContractionShape {
  kernel::ContractOp op;
  AxisGroup batch, rows, columns, reduced;
  shape::Expr lhs, rhs;
  mlir::Type lhsType, rhsType;
  mlir::FloatType accumulator;
  bool packed = false;
  bool rowsFlat = false, columnsFlat = false, batchFlat = false; ///< in the body's accesses

  /// Nothing for a kernel that this scheme does not cover.
  static std::optional<ContractionShape> of(const lower::BodyInfo &info);
};

/// Everything that a kernel's code is emitted from. `begin`, `end`, `scratch`: the function's arguments, null in the plan.
struct KernelSite {
  const lower::BodyInfo &info;
  mlir::OpBuilder &b;
  mlir::Location loc;
  const VectorIsa &isa;
  mlir::ValueRange sizes, refs;
  lower::EmitHooks &hooks;
  mlir::Value begin, end, scratch;
};

/// i64 values: what the plan function stores.
struct KernelPlan {
  mlir::Value items, scratchBytes, itemCost, granularity;
};

/// False when the scheme does not cover the kernel; nothing is emitted then.
bool emitContraction(const KernelSite &site, std::string &error);
bool planContraction(const KernelSite &site, KernelPlan &plan);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_CONTRACTION_H
