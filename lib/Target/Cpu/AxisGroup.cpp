//===- AxisGroup.cpp - Several axes walked as one --------------------------===//

#include "AxisGroup.h"
#include "lathe/Lower/ContractionRoles.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using shape::Expr;

AxisGroup AxisGroup::of(const lower::BodyInfo &info, lower::AxisSet set) {
  return AxisGroup(info, lower::axesIn(info, set));
}

lower::AxisSet AxisGroup::set() const {
  lower::AxisSet set = 0;
  for (unsigned a : axes)
    set |= lower::AxisSet(1) << a;
  return set;
}

unsigned AxisGroup::carrier() const {
  for (unsigned a : llvm::reverse(axes))
    if (!info->extents[a].isOne())
      return a;
  return axes.back();
}

Expr AxisGroup::extent() const {
  Expr e(1);
  for (unsigned a : axes)
    e = e * info->extents[a];
  return e;
}

bool AxisGroup::isMentionedBy(const Expr &e) const {
  return llvm::any_of(axes, [&](unsigned a) { return e.mentions(info->axes[a]); });
}

std::optional<Expr> AxisGroup::strideOf(const Expr &e) const { return axes.empty() ? Expr(0) : lower::strideAlong(*info, axes, e); }

void AxisGroup::bind(VectorBuilder &v, lower::BodyEmitter &point, Value index, bool flat) const {
  if (axes.empty())
    return;
  unsigned last = carrier();
  for (size_t k = axes.size(); k-- > 0;) {
    const std::string &name = info->axes[axes[k]];
    if (info->extents[axes[k]].isOne() && axes[k] != last) {
      point.bindAxis(name, v.i(0));
    } else if (flat) {
      point.bindAxis(name, axes[k] == last ? index : v.i(0));
    } else if (k == 0) {
      point.bindAxis(name, index);
    } else {
      Value extent = v.max(point.emitExpr(info->extents[axes[k]]), v.i(1));
      Value outer = v.div(index, extent);
      point.bindAxis(name, v.sub(index, v.mul(outer, extent)));
      index = outer;
    }
  }
}

void AxisGroup::bindFirst(VectorBuilder &v, lower::BodyEmitter &point) const {
  for (unsigned a : axes)
    point.bindAxis(info->axes[a], v.i(0));
}

void AxisGroup::advance(VectorBuilder &v, lower::BodyEmitter &point) const {
  Value carry = v.i(1);
  for (size_t k = axes.size(); k-- > 0;) {
    const std::string &name = info->axes[axes[k]];
    if (info->extents[axes[k]].isOne() && axes[k] != carrier())
      continue;
    Value next = v.add(point.axisValue(name), carry);
    if (k == 0)
      return point.bindAxis(name, next);
    Value stays = v.less(next, v.max(point.emitExpr(info->extents[axes[k]]), v.i(1)));
    point.bindAxis(name, v.select(stays, next, v.i(0)));
    carry = v.select(stays, v.i(0), v.i(1));
  }
}
