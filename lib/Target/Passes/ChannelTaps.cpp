//===- ChannelTaps.cpp - Lines of windows over few channels side by side ----===//

#include "ChannelTaps.h"
#include "lathe/Dialect/Lathe/ConstantTensor.h"
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

static std::optional<Expr> coefficientOf(const BodyInfo &info, Operation *op, unsigned axis) {
  std::optional<Expr::Linear> linear = info.exprOf(op).linearIn(info.axes[axis]);
  return linear ? std::optional(linear->coefficient) : std::nullopt;
}

/// The axis whose neighbours are as many elements apart as a pixel has, in all reads.
static std::optional<unsigned> tapsBeside(const BodyInfo &info, const Filter &f, unsigned channels) {
  for (unsigned a : lower::axesIn(info, f.reduced)) {
    bool all = a != channels;
    for (Operation *op : lower::opsBelow(f.image))
      all = all && (!isa<kernel::LoadOp>(op) || coefficientOf(info, op, a) == std::optional(info.extents[channels]));
    if (all)
      return a;
  }
  return std::nullopt;
}

/// Of `index >= limit` and `index < limit`, where limits know nothing of the image, as many places as a pixel has elements may be asked for instead.
static bool mayBeElements(const BodyInfo &info, kernel::IndexOp index, unsigned taps, unsigned channels) {
  AxisSet both = AxisSet(1) << taps | AxisSet(1) << channels;
  if (!index.getIndices().empty() || (info.axesOf(index.getResult()) >> channels & 1) || coefficientOf(info, index, taps) != std::optional(Expr(1)))
    return false;
  return llvm::all_of(index->getUsers(), [&](Operation *user) {
    auto compare = dyn_cast<arith::CmpIOp>(user);
    bool known = compare && compare.getLhs() == index.getResult() && llvm::is_contained({arith::CmpIPredicate::sge, arith::CmpIPredicate::slt}, compare.getPredicate());
    return known && !(info.axesOf(compare.getRhs()) & both);
  });
}

/// The filter's elements with the taps and channels innermost, in this order, and the offset of its load there.
static bool reorderFilter(kernel::GenericOp kernel, const BodyInfo &info, Filter f, unsigned taps, unsigned channels) {
  OpOperand &input = kernel.getInputsMutable()[cast<BlockArgument>(f.load.getRef()).getArgNumber()];
  auto constant = input.get().getDefiningOp<ir::ConstantOp>();
  std::optional<ir::ConstantTensor> from = constant ? ir::readConstant(constant.getValue()) : std::nullopt;
  SmallVector<unsigned> axes;
  for (unsigned a : lower::axesIn(info, f.columns | f.reduced))
    if (a != taps && a != channels)
      axes.push_back(a);
  axes.append({taps, channels});
  SmallVector<int64_t> extents, strides;
  for (unsigned a : axes) {
    std::optional<Expr> stride = coefficientOf(info, f.load, a);
    if (!from || !info.extents[a].constant() || !stride || !stride->constant())
      return false;
    extents.push_back(*info.extents[a].constant());
    strides.push_back(*stride->constant());
  }
  SmallVector<int64_t> ordered = ir::stridesOf(extents);
  if (ordered.front() * extents.front() != from->size())
    return false;
  ir::ConstantTensor to(from->type);
  Expr offset(0);
  for (int64_t i = 0; i < to.size(); ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < axes.size(); ++d)
      at += i / ordered[d] % extents[d] * strides[d];
    to.copyFrom(*from, at, i);
  }
  for (auto [a, stride] : llvm::zip(axes, ordered))
    offset = offset + Expr::symbol(info.axes[a]) * Expr(stride);
  OpBuilder b(kernel);
  input.set(b.create<ir::ConstantOp>(constant.getLoc(), to.type, ir::writeConstant(to, "joined")));
  f.load.setOffset(offset.str());
  return true;
}

/// `count * limit`, in front of the comparison.
static Value timesAsMany(arith::CmpIOp compare, int64_t count) {
  OpBuilder b(compare);
  Value factor = b.create<arith::ConstantOp>(compare.getLoc(), b.getI64IntegerAttr(count));
  if (auto limit = compare.getRhs().getDefiningOp<kernel::IndexOp>(); limit && limit.getIndices().empty())
    return b.create<kernel::IndexOp>(compare.getLoc(), b.getI64Type(), b.getStringAttr((limit.getIndexExpr() * Expr(count)).str()), ValueRange());
  APInt known;
  if (matchPattern(compare.getRhs(), m_ConstantInt(&known)))
    return b.create<arith::ConstantOp>(compare.getLoc(), b.getI64IntegerAttr(known.getSExtValue() * count));
  return b.create<arith::MulIOp>(compare.getLoc(), compare.getRhs(), factor);
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
    if (index ? !mayBeElements(info, index, *taps, channels) : coefficientOf(info, op, channels) != std::optional(Expr(1)))
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
  SmallVector<Attribute> names, extents;
  auto add = [&](unsigned a) {
    names.push_back(kernel.getAxisNames()[a]);
    extents.push_back(kernel.getAxisExtents()[a]);
  };
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (a != *taps && a != channels)
      add(a);
  add(*taps);
  add(channels);
  kernel.setAxisNamesAttr(ArrayAttr::get(kernel.getContext(), names));
  kernel.setAxisExtentsAttr(ArrayAttr::get(kernel.getContext(), extents));
  lower::mergeAxes(kernel, {info.axes[*taps], info.axes[channels]});
  return true;
}
