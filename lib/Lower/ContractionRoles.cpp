//===- ContractionRoles.cpp - The axes of a sum of products by their roles -===//

#include "lathe/Lower/ContractionRoles.h"
#include "lathe/Lower/BodySlices.h"

using namespace lathe;
using namespace lathe::lower;

std::vector<unsigned> lower::axesIn(const BodyInfo &info, AxisSet set) {
  std::vector<unsigned> axes;
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (set >> a & 1)
      axes.push_back(a);
  return axes;
}

ContractionRoles::ContractionRoles(const BodyInfo &info, kernel::ContractOp op)
    : ContractionRoles(info, info.axesOf(op.getLhsExpr()), info.axesOf(op.getRhsExpr()), info.axesOf(op.getAxes())) {}

ContractionRoles::ContractionRoles(const BodyInfo &info, AxisSet left, AxisSet right, AxisSet reduced)
    : reduced(reduced), batch(left & right & ~reduced), rows(left & ~right & ~reduced), columns(right & ~left & ~reduced),
      others(allAxes(info) & ~(left | right | reduced)) {}
