//===- AttentionRoles.cpp - The axes of an attention by their roles --------===//

#include "lathe/Lower/AttentionRoles.h"
#include "lathe/Lower/BodySlices.h"
#include "lathe/Lower/RowLevels.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::lower;
using shape::Expr;

kernel::AttentionOp lower::attentionOf(const BodyInfo &info) {
  kernel::AttentionOp found;
  for (Operation *op : info.ops)
    if (auto attention = dyn_cast<kernel::AttentionOp>(op))
      found = attention;
  return found;
}

std::optional<AttentionRoles> AttentionRoles::of(const BodyInfo &info) {
  kernel::AttentionOp op = attentionOf(info);
  return op ? of(info, op) : std::nullopt;
}

std::optional<AttentionRoles> AttentionRoles::of(const BodyInfo &info, kernel::AttentionOp op) {
  std::optional<unsigned> key = info.axisIndex(op.getKeyAxis()), depth = info.axisIndex(op.getDepthAxis()), value = info.axisIndex(op.getValueAxis());
  if (!key || !depth || !value)
    return std::nullopt;
  AttentionRoles r;
  r.query = info.axisIndex(op.getQueryAxis());
  r.key = *key;
  r.depth = *depth;
  r.value = *value;
  r.batch = allAxes(info);
  for (std::optional<unsigned> axis : {r.query, key, depth, value})
    if (axis)
      r.batch &= ~(AxisSet(1) << *axis);
  r.q = Expr::parsed(op.getQOffset());
  r.k = Expr::parsed(op.getKOffset());
  r.v = Expr::parsed(op.getVOffset());
  r.queries = r.query ? info.extents[*r.query] : Expr(1);
  r.keys = info.extents[r.key];
  r.depths = info.extents[r.depth];
  r.values = info.extents[r.value];
  r.batches = extentOf(info, r.batch);
  return r;
}
