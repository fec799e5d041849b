//===- ConvolutionShape.cpp - The roles of a convolution's axes ------------===//

#include "Convolution.h"
#include "../MatrixUnit.h"
#include "lathe/Dialect/Kernel/FilterSpans.h"
#include "lathe/Dialect/Kernel/Winograd.h"
#include "lathe/Lower/BodySlices.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::AxisSet;
using lower::BodyInfo;
using shape::Expr;

/// What a factor was before it was widened.
static Value narrowOf(Value factor) {
  auto wide = factor.getDefiningOp<arith::ExtFOp>();
  return wide ? wide.getIn() : factor;
}

/// The filter that was packed, for this form or another, among the factors of the kernel's sum.
static kernel::LoadOp packedFilter(const BodyInfo &info, kernel::ReduceOp &sum, Value &image) {
  for (Operation *op : info.ops) {
    auto r = dyn_cast<kernel::ReduceOp>(op);
    auto mul = r ? r.getValue().getDefiningOp<arith::MulFOp>() : arith::MulFOp();
    for (unsigned side = 0; mul && side < 2; ++side)
      if (auto load = narrowOf(mul->getOperand(side)).getDefiningOp<kernel::LoadOp>(); load && (load->hasAttr("packed") || load->hasAttr(kernel::winogradName))) {
        sum = r;
        image = mul->getOperand(1 - side);
        return load;
      }
  }
  return {};
}

/// Pixels that lie further apart are gathered.
constexpr int64_t widestPixels = 4;

/// Do neighbouring pixels lie side by side in what the image is made of, or a few elements apart? And neighbouring points of the sum?
static void findNeighbours(ConvolutionShape &c, const BodyInfo &info, const llvm::DenseSet<Operation *> &ops) {
  const ContractionShape &s = c.product;
  if (s.rows.axes.empty() || s.reduced.axes.empty())
    return;
  bool pixels = false, points = false;
  for (Operation *op : ops) {
    if (!isa<kernel::LoadOp>(op))
      continue;
    std::optional<Expr::Linear> pixel = info.exprOf(op).linearIn(info.axes[s.rows.axes.back()]);
    std::optional<Expr::Linear> channel = info.exprOf(op).linearIn(info.axes[s.reduced.axes.back()]);
    if (!pixel || !channel)
      return;
    points |= channel->coefficient.isOne();
    int64_t apart = pixel->coefficient.constant().value_or(0);
    pixels |= apart >= 1 && apart <= widestPixels;
  }
  c.pixelsTogether = pixels;
  c.pointsTogether = points;
}

std::optional<int64_t> ConvolutionShape::unitStep() const {
  constexpr int64_t fewestRows = MatrixUnit::rows;
  std::optional<int64_t> rows = product.rows.extent().constant();
  if (!inPairs || !spans.empty() || product.reduced.axes.empty() || (rows && *rows < fewestRows))
    return std::nullopt;
  int64_t lines = *product.reduced.info->extents[product.reduced.axes.front()].constant();
  return MatrixUnit::stepOf(depth / 2 / std::max<int64_t>(product.reduced.axes.size() > 1 ? lines : 1, 1));
}

std::optional<ConvolutionShape> ConvolutionShape::of(const BodyInfo &info) {
  ConvolutionShape c;
  kernel::ReduceOp sum;
  kernel::LoadOp filter = packedFilter(info, sum, c.image);
  if (!filter)
    return std::nullopt;
  ContractionShape &s = c.product;
  AxisSet reduced = info.axesOf(sum.getAxes()), right = info.axesOf(filter.getResult());
  AxisSet all = lower::allAxes(info);
  s.reduced = AxisGroup::of(info, reduced);
  s.columns = AxisGroup::of(info, right & ~reduced);
  s.rows = AxisGroup::of(info, all & ~(right | reduced));
  s.batch = AxisGroup::of(info, 0);
  s.rhsRef = filter.getRef();
  s.rhs = info.exprOf(filter);
  s.result = sum.getResult();
  s.rhsType = filter.getType();
  s.lhsType = s.accumulator = cast<FloatType>(sum.getType());
  c.inPairs = filter.getType().isBF16();
  s.packed = s.batchFlat = true;
  c.depth = s.reduced.extent().constant().value_or(0);
  c.columns = s.columns.extent().constant().value_or(0);
  if (auto spans = filter->getAttrOfType<DenseI64ArrayAttr>(kernel::filterSpansName))
    c.spans = spans.asArrayRef();

  llvm::DenseSet<Operation *> imageOps = lower::opsBelow(c.image);
  auto flat = [&](const AxisGroup &group) {
    return llvm::all_of(info.ops, [&](Operation *op) {
      return !isa<kernel::LoadOp, kernel::StoreOp, kernel::IndexOp>(op) || op == filter || imageOps.contains(op) ||
             group.strideOf(info.exprOf(op));
    });
  };
  s.rowsFlat = flat(s.rows);
  s.columnsFlat = flat(s.columns);
  findNeighbours(c, info, imageOps);
  auto load = c.image.getDefiningOp<kernel::LoadOp>();
  if (load && !load.getPredicate() && load.getIndices().empty()) {
    s.lhs = info.exprOf(load);
    s.lhsRef = load.getRef();
    std::optional<Expr> step = s.reduced.strideOf(s.lhs);
    c.direct = step && step->isOne() && s.rows.strideOf(s.lhs);
  }
  return c;
}
