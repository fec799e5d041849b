//===- OpenKernel.cpp - Convolutions whose kernel has open sizes -----------===//
//
// A filter that the model computes or takes as an input may have sizes that are known only when the model runs. The elements of each
// window are gathered, and the sum over them is a product like any other.
//
//===----------------------------------------------------------------------===//

#include "Windows.h"

using namespace lathe;
using llvm::SmallVector;

namespace lathe::onnx {

namespace {
/// Along one dimension.
struct Slide {
  Expr low, high, out;
};
} // namespace

static Slide slideOf(Node &n, const std::string &mode, const Expr &size, const Expr &reach, const Expr &stride, const Expr &low, const Expr &high) {
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    Expr out = n.simplify(Expr::ceildiv(size, stride));
    Expr total = n.simplify(Expr::max(Expr(0), (out - Expr(1)) * stride + reach - size)), half = n.simplify(Expr::floordiv(total, Expr(2)));
    Expr other = n.simplify(total - half);
    return mode == "SAME_UPPER" ? Slide{half, other, out} : Slide{other, half, out};
  }
  Slide s{mode == "VALID" ? Expr(0) : low, mode == "VALID" ? Expr(0) : high, Expr(0)};
  Expr room = n.simplify(size + s.low + s.high - reach);
  n.requireAtLeast(room, 0, "the size less the window");
  s.out = n.simplify(Expr::floordiv(room, stride) + Expr(1));
  return s;
}

/// x [N, C, spatial...] and weights [O, C / groups, kernel...].
Value convolveOpen(Node &n, Value x, Value weights, const OpenWindows &w, int64_t groups) {
  Dims dx = n.dims(x), dw = n.dims(weights), low(2, Expr(0)), high(2, Expr(0));
  size_t count = dx.size() - 2;
  SmallVector<Slide> slides;
  for (size_t i = 0; i < count; ++i) {
    n.requireAtLeast(dw[i + 2], 1, "a size of the kernel");
    Expr reach = n.simplify((dw[i + 2] - Expr(1)) * Expr(w.dilations[i]) + Expr(1));
    slides.push_back(slideOf(n, w.mode, n.simplify(dx[i + 2]), reach, Expr(w.strides[i]), w.low[i], w.high[i]));
    low.push_back(slides.back().low);
    high.push_back(slides.back().high);
  }
  Value y = padWith(n, x, n.g.scalar(0, n.element(x)), low, high);
  Type i64 = n.g.b.getI64Type();
  for (size_t i = 0; i < count; ++i) { // each dimension becomes places and, in each, the window's
    Dims pair{slides[i].out, dw[i + 2]};
    Value at = n.g.binary<ir::MulOp>(n.g.iota(pair, 0, i64), double(w.strides[i]));
    y = n.g.gather(y, n.g.add(at, n.g.binary<ir::MulOp>(n.g.iota(pair, 1, i64), double(w.dilations[i]))), 2 + 2 * i);
  }
  Expr g(groups), filters = n.exactQuotient(dw[0], g, "the number of result channels");
  Dims image = n.dims(y), grouped{image[0], g, dw[1]}, kernel{g, filters}, result{dx[0], dw[0]};
  grouped.append(image.begin() + 2, image.end());
  kernel.append(dw.begin() + 1, dw.end());
  SmallVector<int64_t> overImage{2}, overKernel{2}, order{1, 0, int64_t(count) + 2};
  for (size_t i = 0; i < count; ++i) {
    overImage.push_back(4 + 2 * i);
    overKernel.push_back(3 + i);
    order.push_back(2 + i);
    result.push_back(slides[i].out);
  }
  // [groups, N, places..., filters]
  Value sum = n.g.contract(n.reshape(y, grouped), n.reshape(weights, kernel), {1}, {0}, overImage, overKernel);
  return n.reshape(n.g.transpose(sum, order), result);
}

} // namespace lathe::onnx
