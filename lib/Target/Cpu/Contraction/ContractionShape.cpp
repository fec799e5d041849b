//===- ContractionShape.cpp - The roles of a contraction's axes ------------===//

#include "Contraction.h"
#include "lathe/Dialect/Kernel/HalfPairs.h"
#include "lathe/Lower/ContractionRoles.h"
#include "lathe/Schedule/Choose.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyInfo;
using shape::Expr;

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
  if (!op || schedule::tilingOf(info, op) != schedule::Tiling::Multiply)
    return std::nullopt;
  s.lhsRef = op.getLhs();
  s.rhsRef = op.getRhs();
  s.result = op.getResult();
  s.lhs = op.getLhsExpr();
  s.rhs = op.getRhsExpr();
  s.lhsType = op.getLhs().getType().getElementType();
  s.rhsType = op.getRhs().getType().getElementType();
  s.accumulator = cast<FloatType>(op.getResult().getType());
  s.accumulatorBytes = s.accumulator.getWidth() / 8;
  s.mayRound = op->hasAttr(kernel::mayRoundName);

  lower::ContractionRoles roles(info, op);
  s.reduced = AxisGroup::of(info, roles.reduced);
  s.rows = AxisGroup::of(info, roles.rows);
  s.columns = AxisGroup::of(info, roles.columns);
  s.batch = AxisGroup::of(info, roles.batch | roles.others);
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
