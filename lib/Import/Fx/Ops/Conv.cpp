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
  Dims dx = dimsOf(x), dw = dimsOf(w), kernel(dw.begin() + 2, dw.end());
  int64_t groups = c.integer("groups");
  const shape::Facts &facts = c.g.facts;
  if (groups < 1 || !c.fits(dx[1], dw[1] * Expr(groups)) || !facts.provablyDivides(Expr(groups), dw[0]))
    return c.wrong("{0} groups of an input of {1} and a weight of {2}", groups, x.getType(), w.getType());
  LATHE_TRY(strides, perDim(c, "stride", rank - 2, 1));
  LATHE_TRY(dilations, perDim(c, "dilation", rank - 2, 1));
  LATHE_TRY(amounts, pads(c, rank - 2, kernel, dilations));
  Dims dims{dx[0], dw[0]}, padding;
  for (int64_t amount : amounts)
    padding.push_back(Expr(amount));
  for (size_t i = 0; i + 2 < rank; ++i) {
    Expr reach = Expr(dilations[i]) * (kernel[i] - Expr(1)) + Expr(1);
    Expr room = facts.simplify(dx[i + 2] + padding[i] + padding[rank - 2 + i] - reach);
    if (!facts.provablyLessEqual(Expr(0), room))
      return c.wrong("a kernel of {0} may not fit dimension {1} of {2}", reach.str(), i + 2, x.getType());
    dims.push_back(facts.simplify(Expr::floordiv(room, Expr(strides[i])) + Expr(1)));
  }
  mlir::OpBuilder &b = c.g.b;
  Value r = b.create<ConvOp>(c.g.loc, tensorType(dims, elementOf(x)), x, w, strides, dilations, exprArray(b, padding), groups);
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
    if (!facts.provablyPositive(n) || !kernel || *kernel < 1)
      return c.wrong("dimension {0} of {1} or of {2} may be empty", i + 2, x.getType(), w.getType());
    Expr out =
        facts.simplify((n - Expr(1)) * Expr(strides[i]) + Expr(dilations[i] * (*kernel - 1) + 1 - 2 * padding[i] + extra[i]));
    if (!facts.provablyPositive(out))
      return c.wrong("dimension {0} would have the size {1}", i + 2, out.str());
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
  };
  return table;
}
