//===- EmptyTaps.cpp - Taps of a window that read nothing -------------------===//

#include "EmptyTaps.h"
#include "lathe/Dialect/Lathe/GraphBuilder.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;
using shape::Expr;

namespace {
/// A convolution along one of its dimensions.
struct Line {
  int64_t size, places, taps, stride, dilation, low, high;

  static std::optional<Line> of(ConvOp conv, size_t dim);
  bool reads(int64_t tap) const;
  std::optional<Line> withoutEmptyTaps(int64_t &first) const;
};
} // namespace

std::optional<Line> Line::of(ConvOp conv, size_t dim) {
  size_t spatial = conv.getStrides().size();
  Dims pads = exprsOf(conv.getPads());
  std::optional<int64_t> size = dimsOf(conv.getX())[2 + dim].constant(), places = dimsOf(conv.getResult())[2 + dim].constant();
  std::optional<int64_t> taps = dimsOf(conv.getW())[2 + dim].constant(), low = pads[dim].constant(), high = pads[spatial + dim].constant();
  if (!size || !places || !taps || !low || !high)
    return std::nullopt;
  return Line{*size, *places, *taps, conv.getStrides()[dim], conv.getDilations()[dim], *low, *high};
}

/// Whether the tap is inside of the image at some place.
bool Line::reads(int64_t tap) const {
  int64_t at = tap * dilation - low, first = at >= 0 ? 0 : (-at + stride - 1) / stride; // the first place where it is not in front
  return first < places && at + first * stride < size;
}

/// Those from the first to the last that reads something; nothing where these are all, or none.
std::optional<Line> Line::withoutEmptyTaps(int64_t &first) const {
  int64_t last = taps - 1;
  for (first = 0; first < taps && !reads(first); ++first)
    ;
  while (last > first && !reads(last))
    --last;
  Line line = *this;
  line.taps = last + 1 - first;
  line.low -= first * dilation;
  line.high -= (taps - 1 - last) * dilation;
  return first < taps && line.taps < taps && line.low >= 0 && line.high >= 0 ? std::optional(line) : std::nullopt;
}

Value opt::withoutEmptyTaps(Operation *op, OpBuilder &b) {
  auto conv = cast<ConvOp>(op);
  if (!isa<FloatType>(elementOf(conv.getX())))
    return {};
  shape::Facts none;
  GraphBuilder g(b, op->getLoc(), none);
  Dims pads = exprsOf(conv.getPads());
  size_t spatial = conv.getStrides().size();
  Value w = conv.getW();
  for (size_t dim = 0; dim < spatial; ++dim) {
    int64_t first = 0;
    std::optional<Line> line = Line::of(conv, dim), shorter = line ? line->withoutEmptyTaps(first) : std::nullopt;
    if (!shorter)
      continue;
    w = g.slice(w, 2 + dim, Expr(first), Expr(shorter->taps));
    pads[dim] = Expr(shorter->low);
    pads[spatial + dim] = Expr(shorter->high);
  }
  if (w == conv.getW())
    return {};
  return b.create<ConvOp>(op->getLoc(), conv.getResult().getType(), conv.getX(), w, conv.getStridesAttr(), conv.getDilationsAttr(), exprArray(b, pads),
                          conv.getGroupsAttr());
}
