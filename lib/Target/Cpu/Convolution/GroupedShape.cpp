//===- GroupedShape.cpp - The roles of a grouped convolution's axes --------===//

#include "GroupedConvolution.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::AxisSet;
using lower::BodyInfo;
using shape::Expr;

PatchDim::Form PatchDim::form() const {
  if (stride == 1 || !tap)
    return Form::EachPixel;
  return dilation == 1 && taps >= stride ? Form::EachPlace : Form::Apart;
}

int64_t PatchDim::tapStep() const {
  switch (form()) {
  case Form::EachPixel:
    return dilation;
  case Form::EachPlace:
    return 1;
  case Form::Apart:
    return block;
  }
  return 1;
}

/// The filter that is packed by groups, and the sum over its products.
static kernel::ReduceOp findSum(GroupedShape &s, const BodyInfo &info) {
  for (Operation *op : info.ops) {
    auto sum = dyn_cast<kernel::ReduceOp>(op);
    auto mul = sum ? sum.getValue().getDefiningOp<arith::MulFOp>() : arith::MulFOp();
    for (unsigned side = 0; mul && side < 2; ++side)
      if (auto load = mul->getOperand(side).getDefiningOp<kernel::LoadOp>();
          load && load->getAttrOfType<DenseI64ArrayAttr>("grouped")) {
        s.filter = load;
        s.image = mul->getOperand(1 - side);
        s.result = sum.getResult();
        return sum;
      }
  }
  return {};
}

/// What the image is made of: loads and indices.
static SmallVector<Operation *> accessesBelow(Value v) {
  llvm::DenseSet<Operation *> seen;
  SmallVector<Operation *> accesses;
  SmallVector<Value> work{v};
  while (!work.empty())
    if (Operation *op = work.pop_back_val().getDefiningOp(); op && seen.insert(op).second) {
      work.append(op->operand_begin(), op->operand_end());
      if (isa<kernel::LoadOp, kernel::IndexOp>(op))
        accesses.push_back(op);
    }
  return accesses;
}

/// The smallest stride and dilation with which everything steps through a pixel axis and a tap axis as through one.
static std::optional<std::pair<int64_t, int64_t>> together(const BodyInfo &info, ArrayRef<Operation *> accesses, unsigned pixel,
                                                           unsigned tap) {
  constexpr int64_t largestStride = 16, largestDilation = 64;
  std::optional<std::pair<int64_t, int64_t>> best;
  for (int64_t stride = 1; stride <= largestStride; ++stride)
    for (int64_t dilation = 1; dilation <= largestDilation; ++dilation) {
      if (best && stride * dilation >= best->first * best->second)
        break;
      bool mentioned = false;
      bool all = llvm::all_of(accesses, [&](Operation *op) {
        std::optional<Expr::Linear> p = info.exprOf(op).linearIn(info.axes[pixel]), t = info.exprOf(op).linearIn(info.axes[tap]);
        if (!p || !t)
          return false;
        mentioned |= !t->coefficient.isZero();
        return p->coefficient * Expr(dilation) == t->coefficient * Expr(stride);
      });
      if (all && mentioned)
        best = {stride, dilation};
    }
  return best;
}

/// Pairs pixels with taps, the innermost first; pixels without one are of items alone, but for the innermost.
static bool findDims(GroupedShape &s, const BodyInfo &info, std::vector<unsigned> pixels, std::vector<unsigned> taps) {
  SmallVector<Operation *> accesses = accessesBelow(s.image);
  for (unsigned tap : llvm::reverse(taps)) {
    std::optional<PatchDim> best;
    for (unsigned pixel : llvm::reverse(pixels)) {
      bool used = llvm::any_of(s.dims, [&](const PatchDim &d) { return d.pixels == pixel; });
      std::optional<std::pair<int64_t, int64_t>> steps = used ? std::nullopt : together(info, accesses, pixel, tap);
      if (steps && (!best || steps->first * steps->second < best->stride * best->dilation))
        best = PatchDim{pixel, tap, steps->first, steps->second, *info.extents[tap].constant()};
    }
    if (!best)
      return false;
    s.dims.push_back(*best);
  }
  if (llvm::none_of(s.dims, [&](const PatchDim &d) { return d.pixels == pixels.back(); }))
    s.dims.push_back({pixels.back(), std::nullopt});
  llvm::sort(s.dims, [](const PatchDim &x, const PatchDim &y) { return x.pixels < y.pixels; });
  for (unsigned p : pixels)
    if (llvm::none_of(s.dims, [&](const PatchDim &d) { return d.pixels == p; }))
      s.outer.push_back(p);
  return true;
}

std::optional<GroupedShape> GroupedShape::of(const BodyInfo &info) {
  GroupedShape s;
  kernel::ReduceOp sum = findSum(s, info);
  if (!sum)
    return std::nullopt;
  ArrayRef<int64_t> grouped = s.filter->getAttrOfType<DenseI64ArrayAttr>("grouped").asArrayRef();
  s.blockColumns = grouped[0];
  AxisSet reduced = info.axesOf(sum.getAxes()), filter = info.axesOf(s.filter.getResult()), image = info.axesOf(s.image);
  AxisSet shared = filter & image & ~reduced, columns = filter & ~image & ~reduced, channel = 0;
  s.outChannels = AxisGroup::of(info, shared | columns);
  s.groups = *AxisGroup::of(info, shared).extent().constant();
  s.outPerGroup = *AxisGroup::of(info, columns).extent().constant();
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (reduced >> a & 1)
      s.reduced.push_back(a);
  if (grouped[1] >= 0)
    channel = AxisSet(1) << s.reduced[grouped[1]];
  s.inChannels = AxisGroup::of(info, shared | channel);
  s.inPerGroup = *AxisGroup::of(info, channel).extent().constant();
  std::vector<unsigned> pixels, taps;
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if ((reduced & ~channel) >> a & 1)
      taps.push_back(a);
    else if (!(filter >> a & 1))
      pixels.push_back(a);
  if (pixels.empty() || !findDims(s, info, pixels, taps))
    return std::nullopt;
  return s.findOrders(info) ? std::optional(s) : std::nullopt;
}

/// Everything steps through the channels as through one axis.
bool GroupedShape::findOrders(const BodyInfo &info) {
  SmallVector<Operation *> inImage = accessesBelow(image);
  auto steps = [&](const AxisGroup &group, Operation *op, bool &together) {
    std::optional<Expr> stride = group.strideOf(info.exprOf(op));
    together &= stride && (stride->isOne() || (stride->isZero() && !isa<kernel::StoreOp>(op)));
    return stride && (!isa<kernel::IndexOp>(op) || stride->isZero());
  };
  channelsTogether = resultTogether = true;
  bool indices = true, others = true;
  for (Operation *op : info.ops) {
    if (!isa<kernel::LoadOp, kernel::StoreOp, kernel::IndexOp>(op) || op == filter)
      continue;
    bool ofImage = llvm::is_contained(inImage, op);
    bool &together = isa<kernel::IndexOp>(op)   ? indices
                     : ofImage                  ? channelsTogether
                     : isa<kernel::StoreOp>(op) ? resultTogether
                                                : others;
    if (!steps(ofImage ? inChannels : outChannels, op, together))
      return false;
    if (auto store = dyn_cast<kernel::StoreOp>(op))
      stores.push_back(store);
  }
  return true;
}
