//===- ContractionShape.cpp - How a contraction's operands lie along its axes --===//

#include "ContractionShape.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

ContractionShape::ContractionShape(const lower::BodyInfo &info, const lower::ContractionRoles &roles)
    : info(info), contracted(roles.reduced), batch(roles.batch), rows(roles.rows), columns(roles.columns), batchAxes(axesIn(info, batch)),
      rowAxes(axesIn(info, rows)), columnAxes(axesIn(info, columns)), depthAxes(axesIn(info, contracted)) {}

ContractionShape::ContractionShape(const lower::BodyInfo &info, kernel::ContractOp op) : ContractionShape(info, lower::ContractionRoles(info, op)) {
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

Expr ContractionShape::flatIndex(ArrayRef<unsigned> axes) const {
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
