//===- ContractShape.cpp - The axes of a contraction or an attention -------===//

#include "ContractShape.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::AxisSet;
using shape::Expr;

static std::vector<unsigned> axesIn(const lower::BodyInfo &info, AxisSet set) {
  std::vector<unsigned> out;
  for (unsigned i = 0; i < info.axes.size(); ++i)
    if (set >> i & 1)
      out.push_back(i);
  return out;
}

ContractShape::ContractShape(const lower::BodyInfo &info, kernel::ContractOp op)
    : info(info), contracted(info.axesOf(op.getAxes())), lhs(op.getLhsExpr()), rhs(op.getRhsExpr()) {
  AxisSet left = info.axesOf(lhs), right = info.axesOf(rhs);
  batch = left & right & ~contracted;
  rows = left & ~right & ~contracted;
  columns = right & ~left & ~contracted;
  batchAxes = axesIn(info, batch);
  rowAxes = axesIn(info, rows);
  columnAxes = axesIn(info, columns);
  depthAxes = axesIn(info, contracted);
  DictionaryAttr packed = op.getPackedAttr();
  if (!packed)
    return;
  auto panelAttr = packed.getAs<IntegerAttr>("n_panel");
  int64_t panel = panelAttr ? panelAttr.getInt() : 0;
  Expr n = flatIndex(columnAxes), k = flatIndex(depthAxes), depth = extent(depthAxes);
  if (panel)
    rhs = (Expr::floordiv(n, panel) * depth + k) * panel + Expr::mod(n, panel);
  else
    rhs = n * depth + k;
}

Expr ContractShape::extent(ArrayRef<unsigned> axes) const {
  Expr e(1);
  for (unsigned a : axes)
    e = e * info.extents[a];
  return e;
}

Expr ContractShape::flatIndex(ArrayRef<unsigned> axes) const {
  Expr e(0);
  for (unsigned a : axes)
    e = e * info.extents[a] + Expr::symbol(info.axes[a]);
  return e;
}

std::optional<Expr> ContractShape::stepAlong(const Expr &offset, ArrayRef<unsigned> axes) const {
  Expr step(1), run(1);
  bool first = true;
  for (unsigned i = axes.size(); i-- > 0;) {
    auto linear = offset.linearIn(info.axes[axes[i]]);
    if (!linear)
      return std::nullopt;
    for (unsigned a = 0; a < info.axes.size(); ++a)
      if (linear->coefficient.mentions(info.axes[a]))
        return std::nullopt;
    if (info.extents[axes[i]].isOne())
      continue;
    if (first)
      step = linear->coefficient;
    else if (linear->coefficient != step * run)
      return std::nullopt;
    first = false;
    run = run * info.extents[axes[i]];
  }
  return first ? Expr(0) : step;
}

AttentionShape::AttentionShape(const lower::BodyInfo &info, kernel::AttentionOp op) {
  query = info.axisIndex(op.getQueryAxis()).value_or(0);
  key = info.axisIndex(op.getKeyAxis()).value_or(0);
  depth = info.axisIndex(op.getDepthAxis()).value_or(0);
  value = info.axisIndex(op.getValueAxis()).value_or(0);
  q = Expr::parsed(op.getQOffset());
  k = Expr::parsed(op.getKOffset());
  v = Expr::parsed(op.getVOffset());
  AxisSet own = AxisSet(1) << query | AxisSet(1) << key | AxisSet(1) << depth | AxisSet(1) << value;
  for (unsigned i = 0; i < info.axes.size(); ++i)
    if (!(own >> i & 1))
      batchAxes.push_back(i);
}
