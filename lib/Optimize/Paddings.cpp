//===- Paddings.cpp - Paddings of what is padded ----------------------------===//

#include "Paddings.h"
#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include "lathe/Dialect/Lathe/Lathe.h"
#include "lathe/Shape/Facts.h"
#include <cmath>

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;
using shape::Expr;

/// The padding that makes a value, where it takes no element away.
static PadOp paddingOf(Value v) {
  auto pad = v.getDefiningOp<PadOp>();
  shape::Facts none;
  auto isNoCrop = [&](const Expr &amount) { return none.provablyLessEqual(Expr(0), amount); };
  return pad && llvm::all_of(exprsOf(pad.getLow()), isNoCrop) && llvm::all_of(exprsOf(pad.getHigh()), isNoCrop) ? pad : PadOp();
}

/// Zeros of either sign are not the same.
static bool isSameSplat(Value x, Value y) {
  std::optional<double> a = splatValue(x), b = splatValue(y);
  return x == y || (a && b && *a == *b && std::signbit(*a) == std::signbit(*b) && elementOf(x) == elementOf(y));
}

static Dims sumOf(const Dims &x, const Dims &y) {
  Dims sum;
  for (auto [a, b] : llvm::zip(x, y))
    sum.push_back(a + b);
  return sum;
}

/// Both nodes are what the new op stands for.
static Location locationOf(PadOp pad, Operation *op) { return FusedLoc::get(op->getContext(), {pad.getLoc(), op->getLoc()}); }

Value opt::joinPaddings(Operation *op, OpBuilder &b) {
  auto outer = cast<PadOp>(op);
  PadOp inner = paddingOf(outer.getX());
  if (!inner || !isSameSplat(inner.getValue(), outer.getValue()))
    return {};
  Dims low = sumOf(exprsOf(inner.getLow()), exprsOf(outer.getLow())), high = sumOf(exprsOf(inner.getHigh()), exprsOf(outer.getHigh()));
  return b.create<PadOp>(locationOf(inner, op), outer.getType(), inner.getX(), outer.getValue(), exprArray(b, low), exprArray(b, high));
}

Value opt::takePadding(Operation *op, OpBuilder &b) {
  auto conv = cast<ConvOp>(op);
  PadOp pad = paddingOf(conv.getX());
  std::optional<double> value = pad ? splatValue(pad.getValue()) : std::nullopt;
  if (!value || *value != 0)
    return {};
  Dims low = exprsOf(pad.getLow()), high = exprsOf(pad.getHigh()), around(low.begin() + 2, low.end());
  around.append(high.begin() + 2, high.end());
  for (size_t d = 0; d < 2; ++d)
    if (!low[d].isZero() || !high[d].isZero())
      return {};
  Dims pads = sumOf(exprsOf(conv.getPads()), around);
  return b.create<ConvOp>(locationOf(pad, op), conv.getType(), pad.getX(), conv.getW(), conv.getStridesAttr(), conv.getDilationsAttr(), exprArray(b, pads),
                          conv.getGroupsAttr());
}
