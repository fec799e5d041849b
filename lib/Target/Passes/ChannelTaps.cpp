//===- ChannelTaps.cpp - Lines of windows over few channels side by side ----===//

#include "ChannelTaps.h"
#include "lathe/Lower/BodySlices.h"
#include "lathe/Lower/CollapseAxes.h"
#include "lathe/Lower/ContractionRoles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::target;
using lower::AxisSet;
using lower::BodyInfo;
using shape::Expr;

/// The axis whose neighbours are as many elements apart as a pixel has, in all reads.
static std::optional<unsigned> tapsBeside(const BodyInfo &info, const Filter &f, unsigned channels) {
  for (unsigned a : lower::axesIn(info, f.reduced)) {
    bool all = a != channels;
    for (Operation *op : lower::opsBelow(f.image))
      all = all && (!isa<kernel::LoadOp>(op) || stepAlong(info, op, a) == std::optional(info.extents[channels]));
    if (all)
      return a;
  }
  return std::nullopt;
}

/// Of `index >= limit` and `index < limit`, where limits know nothing of the image, as many places as a pixel has elements may be asked for instead.
static bool mayBeElements(const BodyInfo &info, kernel::IndexOp index, unsigned taps, unsigned channels) {
  AxisSet both = AxisSet(1) << taps | AxisSet(1) << channels;
  if (!index.getIndices().empty() || (info.axesOf(index.getResult()) >> channels & 1) || stepAlong(info, index, taps) != std::optional(Expr(1)))
    return false;
  return llvm::all_of(index->getUsers(), [&](Operation *user) {
    auto compare = dyn_cast<arith::CmpIOp>(user);
    bool known = compare && compare.getLhs() == index.getResult() && llvm::is_contained({arith::CmpIPredicate::sge, arith::CmpIPredicate::slt}, compare.getPredicate());
    return known && !(info.axesOf(compare.getRhs()) & both);
  });
}

/// The filter's elements with the taps and channels innermost, in this order, and the offset of its load there.
static bool reorderFilter(kernel::GenericOp kernel, const BodyInfo &info, Filter f, unsigned taps, unsigned channels) {
  SmallVector<unsigned> axes;
  for (unsigned a : lower::axesIn(info, f.columns | f.reduced))
    if (a != taps && a != channels)
      axes.push_back(a);
  axes.append({taps, channels});
  std::optional<ir::ConstantTensor> ordered = elementsBy(info, f, axes);
  if (!ordered)
    return false;
  Expr offset(0);
  for (unsigned a : axes)
    offset = offset * info.extents[a] + Expr::symbol(info.axes[a]);
  OpBuilder b(kernel);
  auto constant = b.create<ir::ConstantOp>(sourceOf(kernel, f).getLoc(), ordered->type, ir::writeConstant(*ordered, "joined"));
  kernel.getInputsMutable()[cast<BlockArgument>(f.load.getRef()).getArgNumber()].set(constant);
  f.load.setOffset(offset.str());
  return true;
}

/// `count * limit`, in front of the comparison.
static Value timesAsMany(arith::CmpIOp compare, int64_t count) {
  OpBuilder b(compare);
  if (auto limit = compare.getRhs().getDefiningOp<kernel::IndexOp>(); limit && limit.getIndices().empty())
    return b.create<kernel::IndexOp>(compare.getLoc(), b.getI64Type(), b.getStringAttr((limit.getIndexExpr() * Expr(count)).str()), ValueRange());
  Value factor = b.create<arith::ConstantOp>(compare.getLoc(), b.getI64IntegerAttr(count));
  return b.createOrFold<arith::MulIOp>(compare.getLoc(), compare.getRhs(), factor);
}

bool target::joinChannelTaps(kernel::GenericOp kernel, const BodyInfo &info, const Filter &f, unsigned channels) {
  std::optional<unsigned> taps = tapsBeside(info, f, channels);
  std::optional<int64_t> count = info.extents[channels].constant();
  if (!taps || !count)
    return false;
  llvm::SetVector<kernel::IndexOp> places;
  for (Operation *op : info.ops) {
    auto index = dyn_cast<kernel::IndexOp>(op);
    bool mentions = (isa<kernel::IndexOp, kernel::LoadOp>(op)) && (info.exprOf(op).mentions(info.axes[*taps]) || info.exprOf(op).mentions(info.axes[channels]));
    if (!mentions || op == kernel::LoadOp(f.load))
      continue;
    if (index ? !mayBeElements(info, index, *taps, channels) : stepAlong(info, op, channels) != std::optional(Expr(1)))
      return false;
    if (index)
      places.insert(index);
  }
  if (!reorderFilter(kernel, info, f, *taps, channels))
    return false;
  for (kernel::IndexOp index : places) {
    for (Operation *user : index->getUsers())
      user->setOperand(1, timesAsMany(cast<arith::CmpIOp>(user), *count));
    index.setExpr((index.getIndexExpr() * Expr(*count) + Expr::symbol(info.axes[channels])).str());
  }
  SmallVector<unsigned> order;
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (a != *taps && a != channels)
      order.push_back(a);
  order.append({*taps, channels});
  orderAxes(kernel, order);
  lower::mergeAxes(kernel, {info.axes[*taps], info.axes[channels]});
  return true;
}
