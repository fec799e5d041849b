//===- GraphOps.cpp - Ops of the lathe dialect on tensors ------------------===//
//
// Most ops are what constant evaluation knows; here is what it has no need of.
//
//===----------------------------------------------------------------------===//

#include "Interpreter.h"
#include "lathe/Dialect/Lathe/ElementWalk.h"
#include "lathe/Dialect/Lathe/Evaluate.h"
#include "lathe/Support/Diagnostics.h"
#include <cmath>

using namespace mlir;
using namespace lathe;
using namespace lathe::interpret;
using ir::forEach, ir::stridesOf, ir::roundTo, ir::wrapTo;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

namespace {
/// The sizes of a convolution, and the sum for one element of its result.
struct Convolution {
  const Tensor &x, &w;
  ArrayRef<int64_t> strides, dilations;
  SmallVector<int64_t> lows, xs, ws;
  int64_t groups, spatial;

  /// Where the first channel of a tap lies in the image; -1 in the border.
  int64_t imageAt(ArrayRef<int64_t> at, ArrayRef<int64_t> tap) const {
    int64_t from = 0;
    for (int64_t d = 0; d < spatial; ++d) {
      int64_t c = at[2 + d] * strides[d] - lows[d] + tap[d] * dilations[d];
      if (c < 0 || c >= x.shape()[2 + d])
        return -1;
      from += c * xs[2 + d];
    }
    return from;
  }
  void sum(ArrayRef<int64_t> at, double &total, uint64_t &count) const;
};
} // namespace

void Convolution::sum(ArrayRef<int64_t> at, double &total, uint64_t &count) const {
  int64_t channels = w.shape()[1], outputs = w.shape()[0] / groups;
  int64_t first = at[0] * xs[0] + at[1] / outputs * channels * xs[1];
  forEach(w.shape().drop_front(2), [&](int64_t t, ArrayRef<int64_t> tap) {
    int64_t from = imageAt(at, tap);
    if (from < 0)
      return;
    for (int64_t c = 0; c < channels; ++c) {
      int64_t px = first + c * xs[1] + from, pw = at[1] * ws[0] + c * ws[1] + t;
      if (x.isFloat())
        total += x.floats[px] * w.floats[pw];
      else
        count += uint64_t(x.ints[px]) * uint64_t(w.ints[pw]);
    }
  });
}

Expected<Tensor> interpret::runConv(ir::ConvOp op, const Tensor &x, const Tensor &w) {
  Tensor out(ir::typeOf(op.getResult()));
  Type e = out.type.getElementType();
  Convolution c{x,
                w,
                op.getStrides(),
                op.getDilations(),
                {},
                stridesOf(x.shape()),
                stridesOf(w.shape()),
                int64_t(op.getGroups()),
                out.type.getRank() - 2};
  ir::Dims pads = ir::exprsOf(op.getPads());
  for (int64_t d = 0; d < c.spatial; ++d)
    c.lows.push_back(pads[d].constant().value_or(0));
  if (w.shape()[0] % c.groups || x.shape()[1] != w.shape()[1] * c.groups || out.shape()[1] != w.shape()[0])
    return bug("conv: {0} channels, {1} filters and {2} groups do not go together", x.shape()[1], w.shape()[0],
               c.groups);
  forEach(out.shape(), [&](int64_t i, ArrayRef<int64_t> at) {
    double total = 0;
    uint64_t count = 0;
    c.sum(at, total, count);
    if (out.isFloat())
      out.floats[i] = roundTo(total, e);
    else
      out.ints[i] = wrapTo(int64_t(count), e);
  });
  return out;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

void interpret::softmax(MutableArrayRef<double> scores, bool zeroMasked) {
  double most = -INFINITY, sum = 0;
  for (double s : scores)
    most = std::isnan(s) || std::isnan(most) ? NAN : std::max(most, s);
  bool masked = zeroMasked && most == -INFINITY;
  for (double &s : scores)
    sum += s = masked ? 0.0 : std::exp(s - most);
  for (double &s : scores)
    s = masked ? 0.0 : s / sum;
}

/// The arguments of the region besides the score: what extra operands hold at each place, and the places.
static std::vector<Tensor> scoreArguments(ir::AttentionOp op, Inputs in, const Tensor &scores) {
  std::vector<Tensor> out;
  for (const Tensor *extra : in.drop_front(3)) {
    out.emplace_back(RankedTensorType::get(scores.shape(), extra->type.getElementType()));
    SmallVector<int64_t> strides = stridesOf(extra->shape());
    forEach(scores.shape(), [&](int64_t i, ArrayRef<int64_t> at) {
      int64_t from = 0;
      for (int d = 0; d < 4; ++d)
        from += extra->shape()[d] == 1 ? 0 : at[d] * strides[d];
      out.back().copyFrom(*extra, from, i);
    });
  }
  for (int d = 0; d < 4; ++d) {
    out.emplace_back(RankedTensorType::get(scores.shape(), IntegerType::get(op.getContext(), 64)));
    forEach(scores.shape(), [&](int64_t i, ArrayRef<int64_t> at) { out.back().ints[i] = at[d]; });
  }
  return out;
}

static Expected<Tensor> modify(ir::AttentionOp op, Inputs in, Tensor scores) {
  Block &region = op.getScore().front();
  llvm::DenseMap<Value, Tensor> values;
  for (auto [arg, v] : llvm::zip(region.getArguments().drop_front(), scoreArguments(op, in, scores)))
    values.try_emplace(arg, std::move(v));
  SmallVector<int64_t> shape(scores.shape());
  values.try_emplace(region.getArgument(0), std::move(scores));
  for (Operation &inner : region.without_terminator()) {
    SmallVector<const Tensor *> operands;
    for (Value v : inner.getOperands())
      operands.push_back(&values.find(v)->second);
    Expected<Tensor> result = runScalarOp(&inner, operands, shape);
    if (!result)
      return result;
    values.try_emplace(inner.getResult(0), std::move(*result));
  }
  return values.find(region.getTerminator()->getOperand(0))->second;
}

Expected<Tensor> interpret::runAttention(ir::AttentionOp op, Inputs in) {
  const Tensor &q = *in[0], &k = *in[1], &v = *in[2];
  Tensor out(ir::typeOf(op.getResult()));
  int64_t heads = q.shape()[1], share = heads / std::max<int64_t>(1, k.shape()[1]), depth = q.shape()[3],
          keys = k.shape()[2], width = v.shape()[3];
  Tensor scores(RankedTensorType::get({q.shape()[0], heads, q.shape()[2], keys}, Float32Type::get(op.getContext())));
  auto group = [&](ArrayRef<int64_t> at) { return at[0] * k.shape()[1] + at[1] / share; };
  forEach(scores.shape(), [&](int64_t i, ArrayRef<int64_t> at) {
    double sum = 0;
    for (int64_t d = 0; d < depth; ++d)
      sum += q.floats[i / keys * depth + d] * k.floats[(group(at) * keys + at[3]) * depth + d];
    scores.floats[i] = float(sum);
  });
  Expected<Tensor> modified = modify(op, in, std::move(scores));
  if (!modified)
    return modified;
  for (int64_t row = 0; row * keys < modified->size(); ++row)
    softmax(MutableArrayRef(modified->floats).slice(row * keys, keys), op.getZeroMasked());
  forEach(out.shape(), [&](int64_t i, ArrayRef<int64_t> at) {
    double sum = keys || op.getZeroMasked() ? 0 : NAN;
    for (int64_t key = 0; key < keys; ++key)
      sum += modified->floats[i / width * keys + key] * v.floats[(group(at) * keys + key) * width + at[3]];
    out.floats[i] = roundTo(sum, out.type.getElementType());
  });
  return out;
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

static Expected<Tensor> constant(ir::ConstantOp op) {
  if (std::optional<Tensor> t = ir::readConstant(op.getValue()))
    return std::move(*t);
  return bug("a constant of {0} cannot be read", op.getType());
}

Expected<Tensor> interpret::runGraphOp(Operation *op, Inputs in) {
  if (auto c = dyn_cast<ir::ConstantOp>(op))
    return constant(c);
  if (auto c = dyn_cast<ir::ConvOp>(op))
    return runConv(c, *in[0], *in[1]);
  if (auto a = dyn_cast<ir::AttentionOp>(op))
    return runAttention(a, in);
  if (auto t = dyn_cast<ir::FftOp>(op))
    return runFft(t, *in[0]);
  if (isNarrowCast(op))
    return runNarrowCast(op, *in[0]);
  if (std::optional<Tensor> t = ir::evaluate(op, in))
    return std::move(*t);
  return bug("{0}: its operands do not fit, or it is not known", op->getName().getStringRef());
}
