//===- FilterGroups.cpp - Filters of depthwise and grouped convolutions -----===//

#include "FilterPacker.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::target;
using lower::AxisSet;
using shape::Expr;

/// [channel][taps..] to [taps..][channel], where image and results have their channels together. On a CPU larger windows gain more from
/// an image that was packed with its border than packing costs.
bool FilterPacker::packDepthwise(Filter f) {
  constexpr int64_t mostTaps = 40;
  const Expr &offset = info.exprOf(f.load);
  std::optional<Strides> taps = Strides::of(info, f.reduced, offset), channels = Strides::of(info, f.shared, offset);
  if (!taps || !channels || llvm::popcount(f.shared) != 1 || !taps->single() || channels->strides[0] == 1 ||
      (panel && taps->count > mostTaps))
    return false;
  unsigned channel = llvm::countr_zero(f.shared);
  auto together = [&](Operation *op) {
    std::optional<Expr::Linear> linear = info.exprOf(op).linearIn(info.axes[channel]);
    return linear && linear->coefficient.isOne();
  };
  auto image = f.image.getDefiningOp<kernel::LoadOp>();
  if ((panel && (!image || !together(image))) ||
      llvm::any_of(info.ops, [&](Operation *op) { return isa<kernel::StoreOp>(op) && !together(op); }))
    return false;
  OpBuilder b(kernel);
  Value source = sourceOf(kernel, f);
  int64_t c = channels->count, t = taps->count;
  auto type = RankedTensorType::get({t, c}, f.load.getType());
  replace(f, b.create<kernel::PackOp>(source.getLoc(), type, source, c, t, channels->strides[0], *taps->single(), 0));
  Expr at = Expr::symbol(info.axes[channel]);
  int64_t stride = c;
  for (unsigned a = info.axes.size(); a-- > 0;)
    if (f.reduced >> a & 1) {
      at = at + Expr::symbol(info.axes[a]) * Expr(stride);
      stride *= *info.extents[a].constant();
    }
  f.load.setOffset(at.str());
  return true;
}

/// Groups that together fill vectors, of 16 elements where a machine has such, are a panel; others are panels of their own.
void FilterPacker::packGrouped(Filter f) {
  constexpr int64_t widest = 16;
  if (llvm::popcount(f.shared) != 1 || llvm::popcount(f.columns) > 1)
    return;
  const Expr &offset = info.exprOf(f.load);
  std::optional<Strides> k = Strides::of(info, f.reduced, offset), n = Strides::of(info, f.shared | f.columns, offset);
  std::optional<int64_t> step = n ? n->single() : std::nullopt;
  if (!k || !step)
    return;
  std::optional<unsigned> axis = channelOfGroups(info, f);
  int64_t channel = axis ? llvm::popcount(f.reduced & ((AxisSet(1) << *axis) - 1)) : -1; // its number among the summed axes
  int64_t perGroup = f.columns ? n->extents.back() : 1, channels = axis ? k->extents[channel] : 1;
  if (f.columns && llvm::countr_zero(f.columns) < llvm::countr_zero(f.shared))
    return;
  int64_t groups = std::max<int64_t>(widest / std::max(perGroup, channels), 1), panel = groups * perGroup;
  OpBuilder b(kernel);
  Value source = sourceOf(kernel, f);
  auto type = RankedTensorType::get({(n->count + panel - 1) / panel, k->count, panel}, b.getF32Type());
  replace(f, b.create<kernel::PackOp>(source.getLoc(), type, source, k->count, n->count, 0, *step, panel,
                                      b.getDenseI64ArrayAttr(k->extents), b.getDenseI64ArrayAttr(k->strides)));
  Expr group = Expr::symbol(info.axes[llvm::countr_zero(f.shared)]), column(0), row = placeIn(f.reduced);
  if (f.columns)
    column = Expr::symbol(info.axes[llvm::countr_zero(f.columns)]);
  Expr block = group;
  if (groups > 1) {
    block = Expr::floordiv(group, Expr(groups));
    column = column + Expr::mod(group, Expr(groups)) * Expr(perGroup);
  }
  f.load.setOffset(((block * Expr(k->count) + row) * Expr(panel) + column).str());
  f.load->setAttr("grouped", b.getDenseI64ArrayAttr({panel, channel}));
}
