//===- CausalConv.cpp - A depthwise convolution over the past --------------===//

#include "Windows.h"

using namespace lathe;

namespace lathe::onnx {

/// Each channel is convolved with its own kernel over itself and the k - 1 elements before, which the state carries on.
void causalConvWithState(Node &n) {
  Value x = n.in(0), weights = n.in(1);
  n.requireSameElement({x, weights});
  n.requireFloat(x);
  n.requireRank(x, 3);
  n.requireRank(weights, 3);
  std::string activation = n.text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    failWrong("attribute 'activation' is '{0}', expected none, silu or swish", activation);
  Dims d = n.dims(x);
  std::optional<int64_t> channels = n.simplify(d[1]).constant();
  if (!channels)
    failUnsupported("a symbolic number of channels ({0})", d[1].str());
  if (*channels < 1)
    failWrong("{0} channels", *channels);
  n.requireEqual(n.dim(weights, 0), d[1], "the channels of the operand and of the weights");
  n.requireEqual(n.dim(weights, 1), Expr(1), "the second dimension of the weights");
  int64_t k = kernelOf(n, weights)[0];
  Value before;
  if (n.has(3)) {
    n.requireSameElement({x, n.in(3)});
    n.requireRank(n.in(3), 3);
    Dims past = n.dims(n.in(3)), expected{d[0], d[1], Expr(k - 1)};
    for (int i = 0; i < 3; ++i)
      n.requireEqual(past[i], expected[i], "the past state");
    before = n.reshape(n.in(3), expected);
  } else {
    before = n.g.splat(0, {d[0], d[1], Expr(k - 1)}, n.element(x));
  }
  Value padded = n.g.concat({before, x}, 2);
  Windows w;
  w.kernel = {k};
  w.strides = w.dilations = {1};
  w.low = w.high = {Expr(0)};
  w.out = {n.simplify(d[2])};
  Value y = addBias(n, convolve(n, padded, weights, w, *channels), 2);
  if (activation != "none")
    y = n.g.cast(n.g.silu(n.wide(y)), n.element(y));
  n.out(0, y);
  n.out(1, n.g.slice(padded, 2, n.simplify(d[2]), Expr(k - 1)));
}

} // namespace lathe::onnx
