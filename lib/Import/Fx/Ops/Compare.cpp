//===- Compare.cpp - Comparisons and selections -----------------------------===//

#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

template <CompareKind kind> static llvm::Error compare(OpContext &c) {
  Operand both[] = {c.operand("self"), c.operand("other")};
  LATHE_TRY(xy, c.pair(both[0], both[1], c.promote(both)));
  return c.give(c.g.compare(kind, xy.first, xy.second));
}

/// condition ? x : y, brought to the common shape.
static llvm::Error choose(OpContext &c, Value condition, const Operand &x, const Operand &y) {
  Type element = c.resultElement();
  Value all[] = {c.g.cast(condition, c.g.b.getI1Type()), c.materialize(x, element), c.materialize(y, element)};
  if (llvm::Error e = c.broadcast(all))
    return e;
  return c.give(c.g.select(all[0], all[1], all[2]));
}

static llvm::Error where(OpContext &c) { return choose(c, c.tensor("condition"), c.operand("self"), c.operand("other")); }

static llvm::Error maskedFill(OpContext &c) { return choose(c, c.tensor("mask"), c.operand("value"), c.operand("self")); }

/// A condition between sizes: its excess is at most 0.
static llvm::Error holds(OpContext &c) {
  Value excess = c.g.size(c.size("excess"));
  return c.give(c.g.compare(CompareKind::LE, excess, c.g.splatLike(0, excess)));
}

llvm::ArrayRef<OpEntry> fx::compareOps() {
  static const char *const two = "self:TS other:TS";
  static const char *const choice = "condition:T self:TZ other:TZ";
  static const OpEntry table[] = {
      {"_holds.default", "excess:N", holds}, // made by Regions.cpp
      {"eq.Tensor", two, compare<CompareKind::EQ>},
      {"eq.Scalar", two, compare<CompareKind::EQ>},
      {"ne.Tensor", two, compare<CompareKind::NE>},
      {"ne.Scalar", two, compare<CompareKind::NE>},
      {"lt.Tensor", two, compare<CompareKind::LT>},
      {"lt.Scalar", two, compare<CompareKind::LT>},
      {"le.Tensor", two, compare<CompareKind::LE>},
      {"le.Scalar", two, compare<CompareKind::LE>},
      {"gt.Tensor", two, compare<CompareKind::GT>},
      {"gt.Scalar", two, compare<CompareKind::GT>},
      {"ge.Tensor", two, compare<CompareKind::GE>},
      {"ge.Scalar", two, compare<CompareKind::GE>},
      {"where.self", choice, where},
      {"where.ScalarSelf", choice, where},
      {"where.ScalarOther", choice, where},
      {"where.Scalar", choice, where},
      {"masked_fill.Scalar", "self:T mask:T value:TZ", maskedFill},
      {"masked_fill.Tensor", "self:T mask:T value:T", maskedFill},
  };
  return table;
}
