//===- ContractionRoles.cpp - The axes of a sum of products by their roles -===//

#include "lathe/Lower/ContractionRoles.h"
#include "lathe/Lower/BodySlices.h"

using namespace lathe;
using namespace lathe::lower;
using shape::Expr;

std::vector<unsigned> lower::axesIn(const BodyInfo &info, AxisSet set) {
  std::vector<unsigned> axes;
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (set >> a & 1)
      axes.push_back(a);
  return axes;
}

std::optional<Expr> lower::strideAlong(const BodyInfo &info, llvm::ArrayRef<unsigned> axes, const Expr &e) {
  std::optional<Expr> stride;
  Expr expected(0);
  Expr rest = e;
  for (unsigned a : llvm::reverse(axes)) {
    std::optional<Expr::Linear> linear = rest.linearIn(info.axes[a]);
    if (!linear)
      return std::nullopt;
    for (unsigned other : axes)
      if (linear->coefficient.mentions(info.axes[other]))
        return std::nullopt;
    rest = linear->rest;
    if (info.extents[a].isOne())
      continue; // its index is always zero
    if (!stride)
      stride = expected = linear->coefficient;
    else if (linear->coefficient != expected)
      return std::nullopt;
    expected = expected * info.extents[a];
  }
  return stride ? stride : Expr(0);
}

ContractionRoles::ContractionRoles(const BodyInfo &info, kernel::ContractOp op)
    : ContractionRoles(info, info.axesOf(op.getLhsExpr()), info.axesOf(op.getRhsExpr()), info.axesOf(op.getAxes())) {}

ContractionRoles::ContractionRoles(const BodyInfo &info, AxisSet left, AxisSet right, AxisSet reduced)
    : reduced(reduced), batch(left & right & ~reduced), rows(left & ~right & ~reduced), columns(right & ~left & ~reduced),
      others(allAxes(info) & ~(left | right | reduced)) {}
