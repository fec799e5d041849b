//===- ContractionShape.cpp - The roles of a contraction's axes ------------===//

#include "Contraction.h"
#include "lathe/Lower/BodySlices.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::AxisSet;
using lower::BodyInfo;
using shape::Expr;

static bool isOperandType(Type t) { return t.isF32() || t.isF64() || t.isBF16() || t.isF16(); }

/// True when all accesses of the epilogue step through the group at one stride.
static bool isFlatInBody(const AxisGroup &group, const BodyInfo &info) {
  return llvm::all_of(info.ops, [&](Operation *op) {
    return !isa<kernel::LoadOp, kernel::StoreOp, kernel::IndexOp>(op) || group.strideOf(info.exprOf(op));
  });
}

void ContractionShape::findFlatGroups(const BodyInfo &info) {
  rowsFlat = isFlatInBody(rows, info);
  columnsFlat = isFlatInBody(columns, info);
  batchFlat = isFlatInBody(batch, info) && batch.strideOf(lhs) && (rhsValue || batch.strideOf(rhs));
}

std::optional<ContractionShape> ContractionShape::of(const BodyInfo &info) {
  ContractionShape s;
  kernel::ContractOp op;
  for (Operation *o : info.ops)
    if (auto c = dyn_cast<kernel::ContractOp>(o))
      op = c;
  if (!op)
    return std::nullopt;
  s.lhsRef = op.getLhs();
  s.rhsRef = op.getRhs();
  s.result = op.getResult();
  s.lhs = op.getLhsExpr();
  s.rhs = op.getRhsExpr();
  s.lhsType = op.getLhs().getType().getElementType();
  s.rhsType = op.getRhs().getType().getElementType();
  auto result = dyn_cast<FloatType>(op.getResult().getType());
  bool bytes = s.rhsType.isInteger(8) && op.getPackedAttr();
  if (!isOperandType(s.lhsType) || !(bytes || isOperandType(s.rhsType)) || !result || !(result.isF32() || result.isF64()))
    return std::nullopt;
  if (result.isF32() && (s.lhsType.isF64() || s.rhsType.isF64()))
    return std::nullopt;
  s.accumulator = result;
  s.accumulatorBytes = result.getWidth() / 8;

  AxisSet left = info.axesOf(s.lhs), right = info.axesOf(s.rhs), summed = info.axesOf(op.getAxes());
  AxisSet outer = allAxes(info) & ~summed;
  s.reduced = AxisGroup::of(info, summed);
  s.rows = AxisGroup::of(info, outer & left & ~right);
  s.columns = AxisGroup::of(info, outer & right & ~left);
  s.batch = AxisGroup::of(info, outer & ~(left ^ right));
  if ((s.rows.extent().isOne() || s.reduced.extent().isOne()) && !op.getPackedAttr())
    return std::nullopt; // one row is a row of products: nothing is used twice
  s.findFlatGroups(info);
  if (DictionaryAttr packed = op.getPackedAttr()) {
    auto panel = packed.getAs<IntegerAttr>("n_panel");
    if (!panel || panel.getInt() != panelColumns || !s.columns.strideOf(s.rhs) || !s.reduced.strideOf(s.rhs))
      return std::nullopt;
    for (unsigned a : s.batch.axes)
      if (s.rhs.mentions(info.axes[a]))
        return std::nullopt;
    s.packed = true;
  }
  return s;
}
