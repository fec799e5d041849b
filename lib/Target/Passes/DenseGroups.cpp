//===- DenseGroups.cpp - Narrow groups of a convolution as one product ------===//
//
// A group of few channels leaves most of a tile of tensor cores empty, and its image is gathered in short pieces. All groups together are a plain
// convolution whose filter has zeros where an output channel does not see an input channel: as many times the products as there are groups, each of them
// at the rate of whole tiles, from an image that bulk copies fetch.
//
//===----------------------------------------------------------------------===//

#include "Filters.h"
#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include "lathe/Lower/ContractionRoles.h"
#include "lathe/Target/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe::target {
#define GEN_PASS_DEF_DENSEGROUPS
#include "lathe/Target/Passes.h.inc"
} // namespace lathe::target

using namespace mlir;
using namespace lathe;
using namespace lathe::target;
using lower::AxisSet;
using lower::BodyInfo;
using shape::Expr;

/// Output channels of a group that fill half of the smallest tile, and bytes of a filter with its zeros.
constexpr int64_t widestGroup = 32, mostBytes = 8 << 20;

namespace {
struct Groups {
  unsigned group, column, channel; ///< axes
  int64_t count, columns, channels; ///< of groups; of each
  std::vector<unsigned> others;     ///< summed, beside the channel
  Filter filter;

  static std::optional<Groups> of(const BodyInfo &info);
  bool follows(const BodyInfo &info) const;
  Value denseFilter(kernel::GenericOp kernel, const BodyInfo &info) const;
  void rewrite(kernel::GenericOp kernel, const BodyInfo &info) const;
};
} // namespace

std::optional<Groups> Groups::of(const BodyInfo &info) {
  std::optional<Filter> f = Filter::of(info, /*halves=*/true);
  if (!f || f->isDense() || f->isDepthwise() || llvm::popcount(f->shared) != 1 || llvm::popcount(f->columns) != 1 || f->load.getType().isF32())
    return std::nullopt;
  Groups g;
  g.filter = *f;
  g.group = llvm::countr_zero(f->shared), g.column = llvm::countr_zero(f->columns);
  std::optional<unsigned> channel = channelOfGroups(info, *f);
  if (!channel)
    return std::nullopt;
  g.channel = *channel;
  for (unsigned a : lower::axesIn(info, f->reduced))
    if (a != g.channel)
      g.others.push_back(a);
  for (auto [axis, n] : {std::pair(g.group, &g.count), std::pair(g.column, &g.columns), std::pair(g.channel, &g.channels)})
    *n = info.extents[axis].constant().value_or(0);
  int64_t elements = g.count * g.columns * g.count * g.channels;
  for (unsigned a : g.others)
    elements *= info.extents[a].constant().value_or(0);
  bool pays = g.count > 1 && g.columns > 0 && g.columns <= widestGroup && elements > 0 && 2 * elements <= mostBytes;
  return pays && g.follows(info) ? std::optional(g) : std::nullopt;
}

/// Are group and column one axis to all that is not the filter or the image, and group and channel to the image?
bool Groups::follows(const BodyInfo &info) const {
  return llvm::all_of(info.ops, [&](Operation *op) {
    if (!isa<kernel::LoadOp, kernel::StoreOp, kernel::IndexOp>(op) || op == kernel::LoadOp(filter.load))
      return true;
    const Expr &e = info.exprOf(op);
    if (!e.mentions(info.axes[group]) && !e.mentions(info.axes[column]) && !e.mentions(info.axes[channel]))
      return true;
    bool image = isa<kernel::LoadOp>(op) && (info.domainOf(op) & filter.reduced);
    unsigned inner = image ? channel : column;
    std::optional<Expr> step = stepAlong(info, op, inner);
    return !isa<kernel::IndexOp>(op) && step && stepAlong(info, op, group) == std::optional(*step * info.extents[inner]) &&
           !e.mentions(info.axes[image ? column : channel]);
  });
}

/// [column of all][channel of all][others], zeros between groups.
Value Groups::denseFilter(kernel::GenericOp kernel, const BodyInfo &info) const {
  SmallVector<unsigned> axes{group, column, channel};
  axes.append(others.begin(), others.end());
  std::optional<ir::ConstantTensor> from = elementsBy(info, filter, axes);
  if (!from)
    return {};
  int64_t taps = from->size() / (count * columns * channels);
  ir::ConstantTensor to(RankedTensorType::get({count * columns, count * channels, taps}, from->type.getElementType()));
  int64_t run = channels * taps; // of a group's column
  for (int64_t i = 0; i < from->size(); ++i) {
    int64_t column = i / run, ofGroup = column / columns * run;
    to.copyFrom(*from, i, column * count * run + ofGroup + i % run);
  }
  OpBuilder b(kernel);
  return b.create<ir::ConstantOp>(sourceOf(kernel, filter).getLoc(), to.type, ir::writeConstant(to, "dense"));
}

void Groups::rewrite(kernel::GenericOp kernel, const BodyInfo &info) const {
  Value dense = denseFilter(kernel, info);
  if (!dense)
    return;
  kernel::LoadOp load = filter.load;
  std::map<std::string, Expr> zero{{info.axes[group], Expr(0)}};
  for (Operation *op : info.ops) {
    if (op == load || !isa<kernel::LoadOp, kernel::StoreOp>(op) || !info.exprOf(op).mentions(info.axes[group]))
      continue;
    auto text = StringAttr::get(kernel.getContext(), info.exprOf(op).substitute(zero).str());
    isa<kernel::LoadOp>(op) ? cast<kernel::LoadOp>(op).setOffsetAttr(text) : cast<kernel::StoreOp>(op).setOffsetAttr(text);
  }
  int64_t taps = 1;
  Expr place(0);
  for (unsigned a : llvm::reverse(others)) {
    place = place + Expr::symbol(info.axes[a]) * Expr(taps);
    taps *= *info.extents[a].constant();
  }
  Expr row = Expr::symbol(info.axes[column]) * Expr(count * channels) + Expr::symbol(info.axes[channel]);
  load.setOffset((row * Expr(taps) + place).str());
  kernel.getInputsMutable()[cast<BlockArgument>(load.getRef()).getArgNumber()].set(dense);
  SmallVector<Attribute> names, extents;
  for (unsigned a = 0; a < info.axes.size(); ++a) {
    if (a == group)
      continue;
    Expr extent = info.extents[a] * Expr(a == column || a == channel ? count : 1);
    names.push_back(kernel.getAxisNames()[a]);
    extents.push_back(StringAttr::get(kernel.getContext(), extent.str()));
  }
  kernel.setAxisNamesAttr(ArrayAttr::get(kernel.getContext(), names));
  kernel.setAxisExtentsAttr(ArrayAttr::get(kernel.getContext(), extents));
}

namespace {
struct DenseGroupsPass : target::impl::DenseGroupsBase<DenseGroupsPass> {
  using DenseGroupsBase::DenseGroupsBase;
  void runOnOperation() override {
    getOperation().walk([&](kernel::GenericOp kernel) {
      if (kernel.getKernelClass() != kernel::KernelClass::Reduction)
        return;
      BodyInfo info(kernel);
      if (std::optional<Groups> groups = Groups::of(info))
        groups->rewrite(kernel, info);
    });
  }
};
} // namespace
