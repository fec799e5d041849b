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

ContractShape::ContractShape(const lower::BodyInfo &info, AxisSet left, AxisSet right, AxisSet contracted)
    : info(info), contracted(contracted) {
  batch = left & right & ~contracted;
  rows = left & ~right & ~contracted;
  columns = right & ~left & ~contracted;
  batchAxes = axesIn(info, batch);
  rowAxes = axesIn(info, rows);
  columnAxes = axesIn(info, columns);
  depthAxes = axesIn(info, contracted);
}

ContractShape::ContractShape(const lower::BodyInfo &info, kernel::ContractOp op)
    : ContractShape(info, info.axesOf(op.getLhsExpr()), info.axesOf(op.getRhsExpr()), info.axesOf(op.getAxes())) {
  lhs = op.getLhsExpr();
  rhs = op.getRhsExpr();
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

Expr cuda::extentOf(const lower::BodyInfo &info, ArrayRef<unsigned> axes) {
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

std::optional<Expr> cuda::stepAlong(const lower::BodyInfo &info, const Expr &offset, ArrayRef<unsigned> axes) {
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

Expr cuda::atZero(const lower::BodyInfo &info, const Expr &offset, ArrayRef<unsigned> axes) {
  std::map<std::string, Expr> zeros;
  for (unsigned a : axes)
    zeros.emplace(info.axes[a], Expr(0));
  return offset.substitute(zeros);
}

size_t cuda::runLength(const lower::BodyInfo &info, const Expr &offset, ArrayRef<unsigned> axes) {
  auto isRun = [&](ArrayRef<unsigned> of) {
    std::optional<Expr> step = stepAlong(info, offset, of);
    return step && step->isOne();
  };
  return axes.empty() ? 0 : isRun(axes) ? axes.size() : isRun(axes.take_back(1)) ? 1 : 0;
}

std::optional<Expr> cuda::runAlong(const lower::BodyInfo &info, const Expr &offset, ArrayRef<unsigned> axes) {
  size_t count = runLength(info, offset, axes);
  return count ? std::optional(extentOf(info, axes.take_back(count))) : std::nullopt;
}

Expr cuda::startOf(const lower::BodyInfo &info, const Expr &offset, ArrayRef<unsigned> axes) {
  return atZero(info, offset, axes.take_back(runLength(info, offset, axes)));
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
