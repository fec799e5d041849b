//===- Conv.cpp - Convolutions ----------------------------------------------===//

#include "Families.h"
#include "lathe/Dialect/Lathe/TransposedConv.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

/// One number per spatial dimension; a single one stands for all.
static llvm::Expected<SmallVector<int64_t>> perDim(OpContext &c, const char *name, size_t spatial, int64_t lowest) {
  SmallVector<int64_t> values = c.integers(name);
  if (values.size() == 1)
    values.resize(spatial, values[0]);
  for (int64_t v : values)
    if (v < lowest || v > INT32_MAX)
      return c.wrong("{0} of {1}", name, v);
  if (values.size() != spatial)
    return c.wrong("'{0}' has {1} values for {2} spatial dimensions", name, values.size(), spatial);
  return values;
}

/// Lows, then highs. "same" keeps the size at stride 1, with the odd one at the end.
static llvm::Expected<SmallVector<int64_t>> pads(OpContext &c, size_t spatial, llvm::ArrayRef<Expr> kernel,
                                                 llvm::ArrayRef<int64_t> dilations) {
  std::string form = c.text("padding");
  if (form.empty()) {
    LATHE_TRY(amounts, perDim(c, "padding", spatial, 0));
    amounts.append(SmallVector<int64_t>(amounts));
    return amounts;
  }
  SmallVector<int64_t> result(2 * spatial, 0);
  if (form == "valid")
    return result;
  if (form != "same")
    return c.wrong("padding is '{0}'; torch knows 'same' and 'valid'", form);
  for (size_t i = 0; i < spatial; ++i) {
    int64_t total = dilations[i] * (kernel[i].constant().value_or(1) - 1);
    result[i] = total / 2;
    result[spatial + i] = total - total / 2;
  }
  return result;
}

static llvm::Expected<Value> addBias(OpContext &c, Value r, Value bias) {
  if (!bias)
    return r;
  Dims dims = dimsOf(r), channel(dims.size(), Expr(1));
  channel[1] = dims[1];
  if (typeOf(bias).getRank() != 1 || !c.fits(dimsOf(bias)[0], dims[1]))
    return c.wrong("a bias of {0} for {1} channels", bias.getType(), dims[1].str());
  return c.g.add(r, c.g.broadcastTo(c.g.reshape(c.g.cast(bias, elementOf(r)), channel), dims));
}

/// Pads are lows, then highs.
static llvm::Expected<Value> convolved(OpContext &c, Value x, Value w, llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<int64_t> dilations,
                                       llvm::ArrayRef<int64_t> amounts, int64_t groups) {
  const shape::Facts &facts = c.g.facts;
  Dims dx = dimsOf(x), dw = dimsOf(w), dims{dx[0], dw[0]}, padding;
  if (groups < 1 || !c.fits(dx[1], dw[1] * Expr(groups)) || !facts.provablyDivides(Expr(groups), dw[0]))
    return c.wrong("{0} groups of an input of {1} and a weight of {2}", groups, x.getType(), w.getType());
  size_t spatial = strides.size();
  for (int64_t amount : amounts)
    padding.push_back(Expr(amount));
  for (size_t i = 0; i < spatial; ++i) {
    Expr reach = Expr(dilations[i]) * (dw[i + 2] - Expr(1)) + Expr(1);
    Expr room = facts.simplify(dx[i + 2] + padding[i] + padding[spatial + i] - reach);
    if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, Expr(0), room)))
      return std::move(e);
    dims.push_back(facts.simplify(Expr::floordiv(room, Expr(strides[i])) + Expr(1)));
  }
  mlir::OpBuilder &b = c.g.b;
  return Value(b.create<ConvOp>(c.g.loc, tensorType(dims, elementOf(x)), x, w, strides, dilations, exprArray(b, padding), groups));
}

static llvm::Error transposedConv(OpContext &c);

static llvm::Error conv(OpContext &c) {
  Value x = c.tensor("input"), w = c.tensor("weight");
  if (c.flag("transposed"))
    return transposedConv(c);
  size_t rank = typeOf(w).getRank();
  bool unbatched = typeOf(x).getRank() + 1 == int64_t(rank);
  if (unbatched)
    x = c.g.unsqueeze(x, {0});
  if (rank < 3 || typeOf(x).getRank() != int64_t(rank) || elementOf(x) != elementOf(w))
    return c.wrong("an input of {0} and a weight of {1}", x.getType(), w.getType());
  Dims dw = dimsOf(w), kernel(dw.begin() + 2, dw.end());
  int64_t groups = c.integer("groups");
  LATHE_TRY(strides, perDim(c, "stride", rank - 2, 1));
  LATHE_TRY(dilations, perDim(c, "dilation", rank - 2, 1));
  LATHE_TRY(amounts, pads(c, rank - 2, kernel, dilations));
  LATHE_TRY(r, convolved(c, x, w, strides, dilations, amounts, groups));
  LATHE_TRY(biased, addBias(c, r, c.tensor("bias")));
  return c.give(unbatched ? c.g.squeeze(biased, {0}) : biased);
}

/// [C, O / groups, k..] -> [N, O, ..].
static llvm::Error transposedConv(OpContext &c) {
  Value x = c.tensor("input"), w = c.tensor("weight");
  size_t rank = typeOf(w).getRank();
  int64_t groups = c.integer("groups");
  const shape::Facts &facts = c.g.facts;
  bool unbatched = typeOf(x).getRank() + 1 == int64_t(rank);
  if (unbatched)
    x = c.g.unsqueeze(x, {0});
  if (rank < 3 || typeOf(x).getRank() != int64_t(rank) || elementOf(x) != elementOf(w) || groups < 1 ||
      !c.fits(dimsOf(x)[1], dimsOf(w)[0]))
    return c.wrong("an input of {0} and a weight of {1} in {2} groups", x.getType(), w.getType(), groups);
  auto perGroup = Expr::divideExactly(dimsOf(w)[0], Expr(groups));
  if (!perGroup)
    return c.wrong("{0} channels do not form {1} groups", dimsOf(w)[0].str(), groups);
  LATHE_TRY(strides, perDim(c, "stride", rank - 2, 1));
  LATHE_TRY(dilations, perDim(c, "dilation", rank - 2, 1));
  LATHE_TRY(padding, perDim(c, "padding", rank - 2, 0));
  LATHE_TRY(extra, perDim(c, "output_padding", rank - 2, 0));
  SmallVector<TransposedDim> geometry;
  for (size_t i = 0; i + 2 < rank; ++i) {
    Expr n = dimsOf(x)[i + 2];
    std::optional<int64_t> kernel = dimsOf(w)[i + 2].constant();
    if (!kernel || *kernel < 1)
      return c.wrong("dimension {0} of {1} may be empty", i + 2, w.getType());
    if (llvm::Error e = c.need(Condition::compare(Condition::Kind::Less, Expr(0), n)))
      return e;
    Expr out =
        facts.simplify((n - Expr(1)) * Expr(strides[i]) + Expr(dilations[i] * (*kernel - 1) + 1 - 2 * padding[i] + extra[i]));
    if (out.isZero()) // the padding takes all of it away
      return c.give(c.g.splat(0, c.resultDims(), elementOf(x)));
    if (llvm::Error e = c.need(Condition::compare(Condition::Kind::Less, Expr(0), out)))
      return e;
    geometry.push_back({*kernel, strides[i], dilations[i], Expr(padding[i]), out});
  }
  Value bias = c.tensor("bias");
  Expr channels = facts.simplify(dimsOf(w)[1] * Expr(groups));
  if (bias && (typeOf(bias).getRank() != 1 || !c.fits(dimsOf(bias)[0], channels)))
    return c.wrong("a bias of {0} for {1} channels", bias.getType(), channels.str());
  bias = bias ? c.g.cast(bias, elementOf(x)) : bias;
  Value r = transposedConv(c.g, x, w, bias, groups, geometry);
  return c.give(unbatched ? c.g.squeeze(r, {0}) : r);
}

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

namespace {
struct Convolution {
  SmallVector<int64_t> strides, dilations, padding; ///< padding of either side
  int64_t groups;
};
} // namespace

/// The first places of the spatial dimensions.
static llvm::Expected<Value> cut(OpContext &c, Value x, llvm::ArrayRef<Expr> sizes) {
  for (auto [i, size] : llvm::enumerate(sizes)) {
    if (!c.g.facts.provablyLessEqual(size, dimsOf(x)[i + 2]))
      return c.wrong("{0} places of the gradient {1}", size.str(), x.getType());
    if (!c.g.facts.provablyEqual(dimsOf(x)[i + 2], size))
      x = c.g.slice(x, int64_t(i) + 2, Expr(0), size);
  }
  return x;
}

static llvm::Expected<Value> forward(OpContext &c, Value x, Value w, const Convolution &v) {
  SmallVector<int64_t> amounts(v.padding);
  amounts.append(v.padding);
  return convolved(c, x, w, v.strides, v.dilations, amounts, v.groups);
}

/// Of the weight [O, C / groups, k..] of a convolution from x [N, C, ..] to `grad` [N, O, ..]: a convolution of x by `grad`, in which
/// batch and channels change places, and strides and dilations.
static llvm::Expected<Value> gradientOfWeight(OpContext &c, Value x, Value grad, const Convolution &v, llvm::ArrayRef<Expr> kernel) {
  Dims dims = dimsOf(x);
  auto perGroup = Expr::divideExactly(dims[1], Expr(v.groups));
  if (!perGroup)
    return c.wrong("{0} channels do not form {1} groups", dims[1].str(), v.groups);
  Dims split{dims[0], Expr(v.groups), *perGroup}, merged{*perGroup, c.g.facts.simplify(dims[0] * Expr(v.groups))};
  split.append(dims.begin() + 2, dims.end());
  merged.append(dims.begin() + 2, dims.end());
  SmallVector<int64_t> order{2, 1, 0}, turned{1, 0};
  for (int64_t d = 2; d < int64_t(dims.size()); ++d) {
    order.push_back(d + 1);
    turned.push_back(d);
  }
  Value channels = c.g.reshape(c.g.transpose(c.g.reshape(x, split), order), merged);
  LATHE_TRY(r, forward(c, channels, c.g.transpose(grad, turned), {v.dilations, v.strides, v.padding, v.groups}));
  LATHE_TRY(places, cut(c, r, kernel));
  return c.g.transpose(places, turned);
}

/// Of the operand of a convolution: the transposed one with the same weight.
static llvm::Expected<Value> gradientOfOperand(OpContext &c, Value grad, Value w, const Convolution &v, llvm::ArrayRef<Expr> sizes) {
  SmallVector<TransposedDim> geometry;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    std::optional<int64_t> kernel = dimsOf(w)[i + 2].constant();
    if (!c.g.facts.provablyPositive(dimsOf(grad)[i + 2]) || !c.g.facts.provablyPositive(size) || !kernel || *kernel < 1)
      return c.wrong("dimension {0} of {1} or of {2} may be empty", i + 2, grad.getType(), w.getType());
    geometry.push_back({*kernel, v.strides[i], v.dilations[i], Expr(v.padding[i]), size});
  }
  return transposedConv(c.g, grad, w, Value(), v.groups, geometry);
}

/// Of operand, weight and bias.
static llvm::Error convBackward(OpContext &c) {
  Value grad = c.tensor("grad_output"), x = c.tensor("input"), w = c.tensor("weight");
  int64_t rank = typeOf(w).getRank();
  if (rank < 3 || typeOf(x).getRank() != rank || typeOf(grad).getRank() != rank || elementOf(x) != elementOf(w) || elementOf(grad) != elementOf(w))
    return c.wrong("gradients of {0} for an input of {1} and a weight of {2}", grad.getType(), x.getType(), w.getType());
  LATHE_TRY(strides, perDim(c, "stride", rank - 2, 1));
  LATHE_TRY(dilations, perDim(c, "dilation", rank - 2, 1));
  LATHE_TRY(padding, perDim(c, "padding", rank - 2, 0));
  Convolution v{strides, dilations, padding, c.integer("groups")};
  bool transposed = c.flag("transposed");
  // Channels of what the convolution reads and writes; a transposed one is that convolution from its result to its operand.
  Dims from = dimsOf(transposed ? grad : x), to = dimsOf(transposed ? x : grad), dw = dimsOf(w);
  if (v.groups < 1 || !c.fits(dw[0], to[1]) || !c.fits(dw[1] * Expr(v.groups), from[1]) || !c.fits(from[0], to[0]))
    return c.wrong("gradients of {0} for an input of {1} and a weight of {2} in {3} groups", grad.getType(), x.getType(), w.getType(), v.groups);
  Dims dx = dimsOf(x), sizes(dx.begin() + 2, dx.end()), kernel(dw.begin() + 2, dw.end());
  Value none;
  if (c.asked(0)) {
    LATHE_TRY(r, transposed ? forward(c, grad, w, v) : gradientOfOperand(c, grad, w, v, sizes));
    LATHE_TRY(places, cut(c, r, sizes));
    (void)c.give(places);
  } else {
    (void)c.give(none);
  }
  if (c.asked(1)) {
    LATHE_TRY(r, transposed ? gradientOfWeight(c, grad, x, v, kernel) : gradientOfWeight(c, x, grad, v, kernel));
    (void)c.give(r);
  } else {
    (void)c.give(none);
  }
  SmallVector<int64_t> others{0};
  for (int64_t d = 2; d < rank; ++d)
    others.push_back(d);
  return c.give(c.asked(2) ? c.g.reduce(ReduceKind::Sum, grad, others, false) : none);
}

llvm::ArrayRef<OpEntry> fx::convOps() {
  static const char *const direct = "input:T weight:T bias:T? stride:I*=1 padding:I*=0 dilation:I*=1 groups:I=1";
  static const char *const named = "input:T weight:T bias:T? stride:I*=1 padding:X=valid dilation:I*=1 groups:I=1";
  static const char *const transposed =
      "input:T weight:T bias:T? stride:I*=1 padding:I*=0 output_padding:I*=0 groups:I=1 dilation:I*=1";
  static const OpEntry table[] = {
      {"conv_transpose1d.default", transposed, transposedConv},
      {"conv_transpose2d.input", transposed, transposedConv},
      {"conv_transpose3d.input", transposed, transposedConv},
      {"conv1d.default", direct, conv},
      {"conv2d.default", direct, conv},
      {"conv3d.default", direct, conv},
      {"conv1d.padding", named, conv},
      {"conv2d.padding", named, conv},
      {"conv3d.padding", named, conv},
      {"convolution.default",
       "input:T weight:T bias:T? stride:I* padding:I* dilation:I* transposed:B output_padding:I*=0 groups:I", conv},
      {"convolution_backward.default",
       "grad_output:T input:T weight:T bias_sizes:I*? stride:I* padding:I* dilation:I* transposed:B output_padding:I* groups:I output_mask:B*",
       convBackward},
  };
  return table;
}
