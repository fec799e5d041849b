//===- Backward.cpp - Derivatives that programs compute ----------------------===//

#include "Families.h"
#include "lathe/Dialect/Lathe/Scatter.h"
#include "lathe/Dialect/Lathe/Windows.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

static Value keepSum(OpContext &c, Value x, llvm::ArrayRef<int64_t> axes) {
  return c.g.broadcastTo(c.g.reduce(ReduceKind::Sum, x, axes, true), dimsOf(x));
}

template <bool log> static llvm::Error softmaxBackward(OpContext &c) {
  LATHE_TRY(xy, c.pair(c.operand("grad_output"), c.operand("output"), c.resultElement()));
  auto [grad, y] = xy;
  LATHE_TRY(axis, c.axis("dim", y));
  if (typeOf(y).getRank() == 0)
    return c.give(c.g.splatLike(0, y));
  if (log)
    return c.give(c.g.sub(grad, c.g.mul(c.g.unary<ExpOp>(y), keepSum(c, grad, {axis}))));
  Value product = c.g.mul(grad, y);
  return c.give(c.g.sub(product, c.g.mul(y, keepSum(c, product, {axis}))));
}

using Derivative = Value (*)(OpContext &, Value);
/// Of the operand or the result that it is computed from.
template <Derivative derivative> static llvm::Error chain(OpContext &c) {
  LATHE_TRY(xy, c.pair(c.operand("grad_output"), c.operand(c.has("output") ? "output" : "self"), c.resultElement()));
  return c.give(c.g.mul(xy.first, derivative(c, xy.second)));
}
static Value ofSigmoid(OpContext &c, Value y) { return c.g.mul(y, c.g.sub(c.g.splatLike(1, y), y)); }
static Value ofTanh(OpContext &c, Value y) { return c.g.sub(c.g.splatLike(1, y), c.g.mul(y, y)); }

static llvm::Error thresholdBackward(OpContext &c) {
  LATHE_TRY(xy, c.pair(c.operand("grad_output"), c.operand("self"), c.resultElement()));
  Value low = c.g.compare(CompareKind::LE, xy.second, c.g.splatLike(c.real("threshold"), xy.second));
  return c.give(c.g.select(low, c.g.splatLike(0, xy.first), xy.first));
}

static llvm::Error dropoutBackward(OpContext &c) {
  LATHE_TRY(xy, c.pair(c.operand("grad_output"), c.operand("mask"), c.resultElement()));
  return c.give(c.g.mul(c.g.mul(xy.first, xy.second), c.g.splatLike(c.real("scale"), xy.first)));
}

/// Rows of gradients are added where the table was read.
static llvm::Error embeddingBackward(OpContext &c) {
  Value grad = c.tensor("grad_output"), indices = c.tensor("indices");
  if (!isIndex(indices) || c.flag("scale_grad_by_freq") || typeOf(grad).getRank() != typeOf(indices).getRank() + 1)
    return c.cannot("gradients of {0} at {1}, or by frequency", grad.getType(), indices.getType());
  Expr count = c.g.facts.simplify(shape::product(dimsOf(indices))), width = dimsOf(grad).back(),
       rows = c.size("num_weights");
  Value at = c.g.cast(c.g.reshape(indices, {count}), c.g.b.getI64Type());
  if (int64_t padding = c.integer("padding_idx"); padding >= 0)
    at = c.g.select(c.g.compare(CompareKind::EQ, at, c.g.splatLike(double(padding), at)),
                    c.g.broadcastTo(c.g.size(rows), {count}), at);
  Dims dims{count, width};
  Value flat = c.g.reshape(grad, dims), to = c.g.broadcastTo(c.g.unsqueeze(at, {1}), dims);
  return c.give(scatterAlong(c.g, ScatterKind::Add, c.g.splat(0, {rows, width}, elementOf(grad)), to, flat, 0));
}

/// Of (x - mean) * rstd * weight + bias over the last dimensions from `axis` on: of the operand, the weight and the
/// bias.
static llvm::Error layerNormBackward(OpContext &c) {
  Type type = c.g.b.getF32Type(), element = elementOf(c.tensor("input"));
  type = element.isF64() ? element : type;
  Value x = c.g.cast(c.tensor("input"), type), grad = c.g.cast(c.tensor("grad_out"), type), weight = c.tensor("weight");
  Dims dims = dimsOf(x), shape = c.sizes("normalized_shape");
  if (shape.empty() || shape.size() > dims.size() || dimsOf(grad).size() != dims.size())
    return c.wrong("{0} normalised over {1} dimensions", x.getType(), shape.size());
  SmallVector<int64_t> lead, axes;
  for (int64_t d = 0; d < int64_t(dims.size()); ++d)
    (d < int64_t(dims.size() - shape.size()) ? lead : axes).push_back(d);
  auto wide = [&](const char *name) -> llvm::Expected<Value> {
    return c.broadcastTo(c.g.cast(c.tensor(name), type), dims);
  };
  LATHE_TRY(mean, wide("mean"));
  LATHE_TRY(inverse, wide("rstd"));
  Value normal = c.g.mul(c.g.sub(x, mean), inverse), scaled = grad;
  if (weight) {
    LATHE_TRY(w, wide("weight"));
    scaled = c.g.mul(grad, w);
  }
  auto average = [&](Value v) { return c.g.broadcastTo(c.g.mean(v, axes, true), dims); };
  Value inner = c.g.sub(c.g.sub(scaled, average(scaled)), c.g.mul(normal, average(c.g.mul(scaled, normal))));
  Value own = c.g.mul(inner, inverse);
  auto over = [&](Value v) { return lead.empty() ? v : c.g.reduce(ReduceKind::Sum, v, lead, false); };
  Value all[] = {own, over(c.g.mul(grad, normal)), over(grad)};
  for (size_t i = 0; i < 3 && i < c.resultTypes.size(); ++i)
    (void)c.give(c.asked(i) ? c.g.cast(all[i], c.resultElement(i)) : Value());
  return llvm::Error::success();
}

/// Each gradient goes to where the maximum was.
static llvm::Error maxPoolBackward(OpContext &c) {
  Value grad = c.tensor("grad_output"), at = c.tensor("indices"), x = c.tensor("self");
  Dims dims = dimsOf(x), out = dimsOf(grad);
  if (dims.size() != out.size() || dims.size() < 3 || !isIndex(at))
    return c.wrong("gradients of {0} for {1}", grad.getType(), x.getType());
  return giveInPlanes(c, ScatterKind::Add, grad, at, dims, dims.size() - 2);
}

/// Each window's gradient is shared out among its elements, and windows that overlap are added.
static llvm::Error averagePoolBackward(OpContext &c) {
  Value grad = c.tensor("grad_output"), x = c.tensor("self");
  SmallVector<int64_t> kernel = c.integers("kernel_size"), stride = c.integers("stride"),
                       padding = c.integers("padding");
  for (auto *values : {&kernel, &stride, &padding})
    if (values->size() == 1)
      values->push_back((*values)[0]);
  if (stride.empty())
    stride = kernel;
  Dims dims = dimsOf(x), out = dimsOf(grad);
  bool pads = llvm::any_of(padding, [](int64_t v) { return v != 0; });
  if (kernel.size() != 2 || stride.size() != 2 || padding.size() != 2 || dims.size() != 4 || out.size() != 4 ||
      kernel[0] < 1 || kernel[1] < 1)
    return c.wrong("gradients of {0} for {1}", grad.getType(), x.getType());
  if (c.flag("ceil_mode") || (pads && !c.flag("count_include_pad") && !c.has("divisor_override")))
    return c.cannot("windows that reach beyond what is counted");
  double count = c.has("divisor_override") ? c.real("divisor_override") : double(kernel[0]) * double(kernel[1]);
  Value each = c.g.reshape(c.g.binary<DivOp>(grad, count), {out[0], out[1], Expr(1), Expr(1), out[2], out[3]});
  Value blocks = c.g.broadcastTo(each, {out[0], out[1], Expr(kernel[0]), Expr(kernel[1]), out[2], out[3]});
  return c.give(sumBlocks(c.g, blocks, {dims[2], dims[3]}, stride, {1, 1}, padding));
}

/// Of a group norm over input [N, C, ..], with each group's mean and inverse deviation [N, groups].
static llvm::Error groupNormBackward(OpContext &c) {
  Type element = elementOf(c.tensor("input")), type = element.isF64() ? element : Type(c.g.b.getF32Type());
  Value given = c.tensor("input"), weight = c.tensor("weight");
  Expr batch = c.size("N"), groups = c.size("group"), channels = c.size("C"), area = c.size("HxW");
  auto known = groups.constant(), count = channels.constant();
  if (!known || !count || *known < 1 || *count % *known)
    return c.cannot("{0} channels in {1} groups", channels.str(), groups.str());
  Expr each(*count / *known);
  Dims dims{batch, groups, each, area}, one{batch, groups, Expr(1), Expr(1)};
  for (Value v : {given, c.tensor("grad_out")})
    if (!c.g.facts.provablyEqual(shape::product(dimsOf(v)), shape::product(dims)))
      return c.wrong("{0} for {1} channels of {2} elements", v.getType(), channels.str(), area.str());
  for (llvm::StringRef name : {"mean", "rstd"})
    if (!c.g.facts.provablyEqual(shape::product(dimsOf(c.tensor(name))), batch * groups))
      return c.wrong("'{0}' is {1}", name, c.tensor(name).getType());
  if (weight && !c.g.facts.provablyEqual(shape::product(dimsOf(weight)), channels))
    return c.wrong("'weight' is {0}", weight.getType());
  auto wide = [&](Value v, llvm::ArrayRef<Expr> as) {
    return c.g.broadcastTo(c.g.reshape(c.g.cast(v, type), as), dims);
  };
  Value x = wide(given, dims), grad = wide(c.tensor("grad_out"), dims), inverse = wide(c.tensor("rstd"), one);
  Value normal = c.g.mul(c.g.sub(x, wide(c.tensor("mean"), one)), inverse);
  Value scaled = weight ? c.g.mul(grad, wide(weight, {Expr(1), groups, each, Expr(1)})) : grad;
  auto average = [&](Value v) { return c.g.broadcastTo(c.g.mean(v, {2, 3}, true), dims); };
  Value inner = c.g.sub(c.g.sub(scaled, average(scaled)), c.g.mul(normal, average(c.g.mul(scaled, normal))));
  auto over = [&](Value v) { return c.g.reshape(c.g.reduce(ReduceKind::Sum, v, {0, 3}, false), {channels}); };
  Value all[] = {c.g.reshape(c.g.mul(inner, inverse), dimsOf(given)), over(c.g.mul(grad, normal)), over(grad)};
  for (size_t i = 0; i < 3 && i < c.resultTypes.size(); ++i)
    (void)c.give(c.asked(i) ? c.g.cast(all[i], c.resultElement(i)) : Value());
  return llvm::Error::success();
}

/// [out, in]: what each place of a dimension counts in each window of an adaptive average.
static Value adaptiveWeights(OpContext &c, int64_t in, int64_t out, Type element) {
  std::vector<float> shares(size_t(in * out), 0);
  for (int64_t o = 0; o < out; ++o) {
    int64_t first = o * in / out, last = ((o + 1) * in + out - 1) / out;
    for (int64_t i = first; i < last; ++i)
      shares[o * in + i] = 1.0f / float(last - first);
  }
  auto type = mlir::RankedTensorType::get({out, in}, c.g.b.getF32Type());
  return c.g.cast(c.g.b.create<ConstantOp>(c.g.loc, mlir::DenseElementsAttr::get(type, llvm::ArrayRef<float>(shares))),
                  element);
}

/// Each gradient goes back in equal shares to the places of its window, one dimension after the other.
static llvm::Error adaptiveAverageBackward(OpContext &c) {
  Value grad = c.tensor("grad_output"), x = c.tensor("self");
  int64_t rank = typeOf(x).getRank();
  constexpr int64_t mostShares = int64_t(1) << 20;
  if (rank < 3 || typeOf(grad).getRank() != rank || !elementOf(grad).isF32())
    return c.cannot("gradients of {0} for {1}", grad.getType(), x.getType());
  for (int64_t d : {rank - 1, rank - 2}) {
    auto in = dimsOf(x)[d].constant(), out = dimsOf(grad)[d].constant();
    if (!in || !out || *in < 1 || *out < 1 || *in > mostShares / *out)
      return c.cannot("gradients of {0} for {1}", grad.getType(), x.getType());
    SmallVector<int64_t> back;
    for (int64_t i = 0; i + 1 < rank; ++i)
      back.push_back(i);
    back.insert(back.begin() + d, rank - 1);
    grad = c.g.transpose(c.g.contract(grad, adaptiveWeights(c, *in, *out, elementOf(grad)), {}, {}, {d}, {0}), back);
  }
  return c.give(grad);
}

llvm::ArrayRef<OpEntry> fx::backwardOps() {
  static const OpEntry table[] = {
      {"_softmax_backward_data.default", "grad_output:T output:T dim:I input_dtype:D", softmaxBackward<false>},
      {"_log_softmax_backward_data.default", "grad_output:T output:T dim:I input_dtype:D", softmaxBackward<true>},
      {"sigmoid_backward.default", "grad_output:T output:T", chain<ofSigmoid>},
      {"tanh_backward.default", "grad_output:T output:T", chain<ofTanh>},
      {"threshold_backward.default", "grad_output:T self:T threshold:F", thresholdBackward},
      {"native_dropout_backward.default", "grad_output:T mask:T scale:F", dropoutBackward},
      {"embedding_dense_backward.default", "grad_output:T indices:T num_weights:N padding_idx:I scale_grad_by_freq:B",
       embeddingBackward},
      {"native_layer_norm_backward.default",
       "grad_out:T input:T normalized_shape:N* mean:T rstd:T weight:T? bias:T? output_mask:B*", layerNormBackward},
      {"native_group_norm_backward.default",
       "grad_out:T input:T mean:T rstd:T weight:T? N:N C:N HxW:N group:N output_mask:B*", groupNormBackward},
      {"_adaptive_avg_pool2d_backward.default", "grad_output:T self:T", adaptiveAverageBackward},
      {"avg_pool2d_backward.default",
       "grad_output:T self:T kernel_size:I* stride:I*? padding:I* ceil_mode:B count_include_pad:B divisor_override:I?",
       averagePoolBackward},
      {"max_pool2d_with_indices_backward.default",
       "grad_output:T self:T kernel_size:I* stride:I*? padding:I* dilation:I* ceil_mode:B indices:T", maxPoolBackward},
  };
  return table;
}
