//===- Convolutions.cpp - Convolution and its geometry ---------------------===//

#include "../Advice.h"
#include "Windows.h"
#include "lathe/Dialect/Lathe/TransposedConv.h"

using namespace lathe;
using llvm::SmallVector;

namespace lathe::onnx {

static SmallVector<int64_t> positive(Node &n, const char *name, size_t count, int64_t otherwise) {
  SmallVector<int64_t> values = n.integers(name);
  if (values.empty())
    values.assign(count, otherwise);
  if (values.size() != count)
    failWrong("attribute '{0}' has {1} entries, expected {2}", name, values.size(), count);
  for (int64_t v : values)
    if (v < 1 || v > (1 << 20))
      failWrong("attribute '{0}' holds {1}", name, v);
  return values;
}

static void explicitPads(Node &n, Windows &w, size_t count) {
  SmallVector<int64_t> pads = n.integers("pads");
  if (pads.empty())
    pads.assign(2 * count, 0);
  if (pads.size() != 2 * count)
    failWrong("attribute 'pads' has {0} entries, expected {1}", pads.size(), 2 * count);
  for (size_t i = 0; i < count; ++i) {
    if (pads[i] < 0 || pads[count + i] < 0 || pads[i] > (1 << 20) || pads[count + i] > (1 << 20))
      failWrong("attribute 'pads' holds {0} and {1}", pads[i], pads[count + i]);
    w.low.push_back(pads[i]);
    w.high.push_back(pads[count + i]);
  }
}

Windows windowsOf(Node &n, const Dims &spatial, llvm::ArrayRef<int64_t> kernel) {
  Windows w;
  size_t count = spatial.size();
  w.kernel.assign(kernel.begin(), kernel.end());
  w.strides = positive(n, "strides", count, 1);
  w.dilations = positive(n, "dilations", count, 1);
  std::string mode = n.text("auto_pad", "NOTSET");
  if (mode != "NOTSET" && mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER")
    failWrong("attribute 'auto_pad' is '{0}'", mode);
  if (mode == "NOTSET")
    explicitPads(n, w, count);
  bool ceil = n.flag("ceil_mode", false);
  for (size_t i = 0; i < count; ++i) {
    Expr size = n.simplify(spatial[i]), stride(w.strides[i]), reach((kernel[i] - 1) * w.dilations[i] + 1);
    if (mode == "VALID") {
      w.low.push_back(0);
      w.high.push_back(0);
    } else if (mode != "NOTSET") { // the result has size / stride, rounded up
      Expr count = Expr::ceildiv(size, stride);
      Expr total = n.simplify(Expr::max(Expr(0), (count - Expr(1)) * stride + reach - size));
      Expr half = n.simplify(Expr::floordiv(total, Expr(2)));
      w.low.push_back(mode == "SAME_UPPER" ? half : n.simplify(total - half));
      w.high.push_back(mode == "SAME_UPPER" ? n.simplify(total - half) : half);
      w.out.push_back(n.simplify(count));
      continue;
    }
    Expr room = w.room.emplace_back(n.simplify(size + w.low[i] + w.high[i] - reach));
    Expr steps = ceil ? Expr::ceildiv(room, stride) : Expr::floordiv(room, stride);
    // Rounded up, there is one place for a window that is larger than what there is by less than a stride; rounded down there is none, and
    // the result is empty. A number of places below zero is none.
    if (std::optional<int64_t> last = n.simplify(steps).constant(); last && *last < -1)
      failWrong("the window of {0} does not fit into dimension {1} of size {2}", reach.str(), i, size.str());
    // Rounding up must not make a window that starts in the padding after the end.
    Expr inFront = size + w.low[i], count = steps + Expr(1);
    if (ceil && !n.g.facts.provablyLess(steps * stride, inFront))
      count = n.g.facts.provablyLessEqual(inFront, steps * stride) ? steps : Expr::min(count, Expr::ceildiv(inFront, stride));
    w.out.push_back(n.simplify(count));
  }
  return w;
}

Value channelsSecond(Node &n, Value x) {
  SmallVector<int64_t> order{0, n.rank(x) - 1};
  for (int64_t d = 1; d + 1 < n.rank(x); ++d)
    order.push_back(d);
  return n.g.transpose(x, order);
}

Value channelsLast(Node &n, Value x) {
  SmallVector<int64_t> order{0};
  for (int64_t d = 2; d < n.rank(x); ++d)
    order.push_back(d);
  order.push_back(1);
  return n.g.transpose(x, order);
}

Value convolve(Node &n, Value x, Value weights, const Windows &w, int64_t groups) {
  Dims pads = w.low, dims{n.dim(x, 0), n.dim(weights, 0)};
  pads.append(w.high.begin(), w.high.end());
  dims.append(w.out.begin(), w.out.end());
  return n.g.b.create<ir::ConvOp>(n.g.loc, ir::tensorType(dims, n.element(x)), x, weights, w.strides, w.dilations,
                                  ir::exprArray(n.g.b, pads), groups);
}

SmallVector<int64_t> kernelOf(Node &n, Value weights) {
  SmallVector<int64_t> kernel;
  Dims dims = n.dims(weights);
  for (const Expr &e : llvm::ArrayRef<Expr>(dims).drop_front(2)) {
    std::optional<int64_t> c = n.simplify(e).constant();
    if (!c)
      failUnsupported("a kernel of the symbolic size {0}{1}", e.str(), adviceFor(n, e));
    if (*c < 1)
      failWrong("a kernel of size {0}", *c);
    kernel.push_back(*c);
  }
  if (n.hasAttribute("kernel_shape") && n.integers("kernel_shape") != kernel)
    failWrong("attribute 'kernel_shape' contradicts the weights {0}", describe(weights.getType()));
  return kernel;
}

Value addBias(Node &n, Value y, unsigned input) {
  Value bias = n.maybe(input);
  if (!bias)
    return y;
  n.requireRank(bias, 1);
  n.requireSameElement({y, bias});
  Dims dims(n.rank(y) - 1, Expr(1));
  dims[0] = n.dim(bias, 0);
  return n.g.add(y, n.broadcastTo(n.reshape(bias, dims), n.dims(y)));
}

static void checkConvolution(Node &n, Value x, Value weights, int64_t groups) {
  n.requireSameElement({x, weights});
  n.requireFloat(x);
  n.requireRankAtLeast(x, 3);
  n.requireRank(weights, n.rank(x));
  if (groups < 1)
    failWrong("attribute 'group' is {0}", groups);
}

/// Whether a size of the kernel is open though the node does not say it, either. Where it does, the weights are made to have it.
static bool hasOpenKernel(Node &n, Value &weights) {
  Dims dims = n.dims(weights);
  SmallVector<int64_t> said = n.integers("kernel_shape");
  bool isSaid = said.size() + 2 == dims.size(), open = false;
  for (size_t i = 2; i < dims.size(); ++i) {
    if (n.simplify(dims[i]).constant())
      continue;
    if (isSaid)
      n.requireEqual(dims[i], Expr(said[i - 2]), "a size of the weights and 'kernel_shape'");
    if (isSaid)
      dims[i] = Expr(said[i - 2]);
    open |= !isSaid;
  }
  weights = n.reshape(weights, dims);
  return open;
}

static OpenWindows openWindowsOf(Node &n, size_t count) {
  Windows pads;
  std::string mode = n.text("auto_pad", "NOTSET");
  if (mode != "NOTSET" && mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER")
    failWrong("attribute 'auto_pad' is '{0}'", mode);
  explicitPads(n, pads, count);
  return {mode, positive(n, "strides", count, 1), positive(n, "dilations", count, 1), pads.low, pads.high};
}

Value convolution(Node &n) {
  Value x = n.in(0), weights = n.in(1);
  int64_t groups = n.integer("group", 1);
  checkConvolution(n, x, weights, groups);
  Dims dx = n.dims(x), dw = n.dims(weights), spatial(dx.begin() + 2, dx.end());
  n.requireEqual(dx[1], dw[1] * Expr(groups), "the channels of the operand and of the weights times the groups");
  n.exactQuotient(dw[0], Expr(groups), "the number of result channels");
  if (hasOpenKernel(n, weights))
    return addBias(n, convolveOpen(n, x, weights, openWindowsOf(n, spatial.size()), groups), 2);
  Windows w = windowsOf(n, spatial, kernelOf(n, weights));
  return addBias(n, convolve(n, x, weights, w, groups), 2);
}

void conv(Node &n) { n.out(convolution(n)); }

void convTranspose(Node &n) {
  Value x = n.in(0), weights = n.in(1);
  int64_t groups = n.integer("group", 1), count = n.rank(x) - 2;
  checkConvolution(n, x, weights, groups);
  n.requireEqual(n.dim(x, 1), n.dim(weights, 0), "the channels of the operand and of the weights");
  SmallVector<int64_t> kernel = kernelOf(n, weights), strides = positive(n, "strides", count, 1);
  SmallVector<int64_t> dilations = positive(n, "dilations", count, 1);
  SmallVector<int64_t> extra = n.integers("output_padding"), shape = n.integers("output_shape"), pads = n.integers("pads");
  std::string mode = n.text("auto_pad", "NOTSET");
  if (extra.empty())
    extra.assign(count, 0);
  if (pads.empty())
    pads.assign(2 * count, 0);
  if (int64_t(extra.size()) != count || int64_t(pads.size()) != 2 * count || (!shape.empty() && int64_t(shape.size()) != count))
    failWrong("'output_padding', 'pads' or 'output_shape' has the wrong number of entries for {0} dimensions", count);
  for (int64_t v : llvm::concat<int64_t>(extra, pads, shape))
    if (v < 0 || v > (1 << 30))
      failWrong("'output_padding', 'pads' or 'output_shape' holds {0}", v);
  SmallVector<ir::TransposedDim> geometry;
  for (int64_t i = 0; i < count; ++i) {
    Expr size = n.simplify(n.dims(x)[i + 2]), reach((kernel[i] - 1) * dilations[i] + 1), stride(strides[i]);
    Expr full = stride * (size - Expr(1)) + Expr(extra[i]) + reach; // without pads
    Expr low(pads[i]), out = full - low - Expr(pads[count + i]);
    bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
    if (!shape.empty() || same) {
      out = shape.empty() ? size * stride : Expr(shape[i]);
      Expr total = n.simplify(full - out);
      Expr half = n.simplify(Expr::floordiv(total, Expr(2)));
      low = mode == "SAME_UPPER" ? half : n.simplify(total - half);
    } else if (mode == "VALID") {
      low = Expr(0);
      out = full;
    }
    out = n.simplify(out);
    if (out.constant() && *out.constant() < 0)
      failWrong("the result would have the size {0}", out.str());
    geometry.push_back({kernel[i], strides[i], dilations[i], n.simplify(low), out});
  }
  n.exactQuotient(n.dim(weights, 0), Expr(groups), "the number of channels");
  Value bias = n.maybe(2);
  if (bias) {
    n.requireRank(bias, 1);
    n.requireSameElement({x, bias});
    n.requireEqual(n.dim(bias, 0), n.simplify(n.dim(weights, 1) * Expr(groups)), "the bias and the number of result channels");
  }
  n.out(ir::transposedConv(n.g, x, weights, bias, groups, geometry));
}

} // namespace lathe::onnx
