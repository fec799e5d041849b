//===- Quantize.cpp - Quantisation as PyTorch 2 exports it -------------------===//

#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

namespace {
/// What has a scale and a zero point of its own.
enum class Per { Tensor, Channel, Token };

/// What brings elements to whole numbers and back, of the elements' dims.
struct Scales {
  Value scale, zero;
};
} // namespace

/// Numbers, tensors of one, or tensors along a dimension (or, per token, along all but the last).
static llvm::Expected<Scales> scalesFor(OpContext &c, llvm::ArrayRef<Expr> dims, Per per, Type type) {
  auto brought = [&](const char *name) -> llvm::Expected<Value> {
    if (!c.has(name))
      return c.g.splat(0, dims, type);
    Value v = c.materialize(c.operand(name), type);
    if (per == Per::Channel) {
      auto axis = c.axisOf(c.integer("axis"), dims.size());
      if (!axis)
        return axis.takeError();
      Dims along(dims.size(), Expr(1));
      if (dims.empty() || typeOf(v).getRank() != 1)
        return c.wrong("{0} along dimension {1}", v.getType(), *axis);
      along[*axis] = dimsOf(v)[0];
      v = c.g.reshape(v, along);
    }
    if (c.g.facts.provablyEqual(shape::product(dimsOf(v)), Expr(1)))
      v = c.g.reshape(v, {});
    return c.broadcastTo(v, dims);
  };
  LATHE_TRY(scale, brought(c.has("scales") ? "scales" : "scale"));
  LATHE_TRY(zero, brought(c.has("zero_points") ? "zero_points" : "zero_point"));
  return Scales{scale, zero};
}

/// f32; per token the scales' own type, which may be f64.
static Type computesIn(OpContext &c, Per per) {
  Type f64 = c.g.b.getF64Type();
  return per == Per::Token && elementOf(c.tensor("scales")) == f64 ? f64 : Type(c.g.b.getF32Type());
}

static Value bounded(OpContext &c, Value v, double low, double high) { return c.g.binary<MinOp>(c.g.binary<MaxOp>(v, low), high); }

/// Per token what is rounded has the zero point in it, which halves see.
template <Per per> static llvm::Error quantize(OpContext &c) {
  Value x = c.g.cast(c.tensor("input"), computesIn(c, per));
  LATHE_TRY(s, scalesFor(c, dimsOf(x), per, elementOf(x)));
  Value scaled = c.g.mul(x, c.g.div(c.g.splatLike(1, x), s.scale));
  Value q = per == Per::Token ? c.g.unary<RoundOp>(c.g.add(scaled, s.zero)) : c.g.add(c.g.unary<RoundOp>(scaled), s.zero);
  return c.give(c.g.cast(bounded(c, q, c.real("quant_min"), c.real("quant_max")), c.resultElement()));
}

template <Per per> static llvm::Error dequantize(OpContext &c) {
  Value x = c.g.cast(c.tensor("input"), computesIn(c, per));
  LATHE_TRY(s, scalesFor(c, dimsOf(x), per, elementOf(x)));
  return c.give(c.g.cast(c.g.mul(c.g.sub(x, s.zero), s.scale), c.resultElement()));
}

/// There and back.
template <Per per> static llvm::Error quantizeAndBack(OpContext &c) {
  Value x = c.g.cast(c.tensor("self"), c.g.b.getF32Type());
  LATHE_TRY(s, scalesFor(c, dimsOf(x), per, elementOf(x)));
  Value q = c.g.add(c.g.unary<RoundOp>(c.g.mul(x, c.g.div(c.g.splatLike(1, x), s.scale))), s.zero);
  Value cut = bounded(c, q, c.real("quant_min"), c.real("quant_max"));
  return c.give(c.g.cast(c.g.mul(c.g.sub(cut, s.zero), s.scale), c.resultElement()));
}

/// A scale for each token's whole numbers from -127 to 127.
static llvm::Error chooseByToken(OpContext &c) {
  Value x = c.tensor("input");
  if (typeOf(x).getRank() == 0)
    return c.wrong("the input has rank 0");
  Value most = c.g.reduce(ReduceKind::Max, c.g.unary<AbsOp>(x), {typeOf(x).getRank() - 1}, true);
  if (elementOf(x).isF16())
    most = c.g.cast(most, c.g.b.getF32Type());
  Value scale = c.g.binary<DivOp>(c.g.binary<MaxOp>(most, 1e-5), 127);
  (void)c.give(scale);
  return c.give(c.g.splatLike(0, scale));
}

/// And a zero point in -128 to 127, by the end of the range whose error is less.
static llvm::Error chooseByTokenWithZero(OpContext &c) {
  Value x = c.g.cast(c.tensor("input"), c.g.b.getF32Type());
  if (typeOf(x).getRank() == 0)
    return c.wrong("the input has rank 0");
  constexpr double low = -128, high = 127;
  int64_t last = typeOf(x).getRank() - 1;
  Value least = c.g.binary<MinOp>(c.g.reduce(ReduceKind::Min, x, {last}, true), 0);
  Value most = c.g.binary<MaxOp>(c.g.reduce(ReduceKind::Max, x, {last}, true), 0);
  Value scale = c.g.binary<MaxOp>(c.g.binary<DivOp>(c.g.sub(most, least), high - low), 0x1p-23);
  Value from = c.g.div(least, scale), to = c.g.div(most, scale);
  Value errors = c.g.add(c.g.binary<AddOp>(from, low), c.g.binary<AddOp>(to, high));
  auto behind = [&](double end, Value v) { return c.g.sub(c.g.splatLike(end, v), v); };
  Value zero = c.g.select(c.g.compare(CompareKind::GT, errors, c.g.splatLike(0, errors)), behind(low, from), behind(high, to));
  (void)c.give(c.g.cast(scale, c.resultElement()));
  return c.give(c.g.cast(c.g.unary<RoundOp>(bounded(c, zero, low, high)), c.resultElement(1)));
}

/// The scale and the zero point for a range that has 0 in it.
static llvm::Error chooseParameters(OpContext &c, bool symmetric) {
  Value x = c.g.cast(c.tensor("input"), c.g.b.getF32Type());
  SmallVector<int64_t> axes;
  for (int64_t d = 0; d < typeOf(x).getRank(); ++d)
    axes.push_back(d);
  double low = c.real("quant_min"), high = c.real("quant_max");
  if (!(low < high))
    return c.wrong("whole numbers from {0} to {1}", low, high);
  Value least = c.g.binary<MinOp>(c.g.reduce(ReduceKind::Min, x, axes, false), 0), most = c.g.binary<MaxOp>(c.g.reduce(ReduceKind::Max, x, axes, false), 0);
  Value scale, zero;
  if (symmetric) {
    scale = c.g.binary<DivOp>(c.g.binary<MaxOp>(c.g.unary<NegOp>(least), most), (high - low) / 2);
    zero = c.g.splatLike(double(int64_t((low + high + 1) / 2)), scale);
  } else {
    scale = c.g.binary<DivOp>(c.g.sub(most, least), high - low);
  }
  scale = c.g.binary<MaxOp>(scale, c.real("eps"));
  if (!symmetric) {
    zero = c.g.sub(c.g.splatLike(low, scale), c.g.unary<RoundOp>(c.g.div(least, scale)));
    zero = bounded(c, zero, low, high);
  }
  for (auto [i, v] : llvm::enumerate(SmallVector<Value>{scale, zero}))
    if (i < c.resultTypes.size())
      (void)c.give(c.g.reshape(c.g.cast(v, c.resultElement(i)), Dims(c.resultDims(i).size(), Expr(1))));
  return llvm::Error::success();
}
static llvm::Error choose(OpContext &c) { return chooseParameters(c, false); }
static llvm::Error chooseSymmetric(OpContext &c) { return chooseParameters(c, true); }

llvm::ArrayRef<OpEntry> fx::quantizeOps() {
  static const char *const tensor = "input:T scale:TS zero_point:TS quant_min:F quant_max:F dtype:D out_dtype:D?";
  static const char *const channel = "input:T scales:T zero_points:T? axis:I quant_min:F quant_max:F dtype:D out_dtype:D?";
  static const char *const token = "input:T scales:T zero_points:T quant_min:F quant_max:F dtype:D output_dtype:D?";
  static const char *const fakeTensor = "self:T scale:TS zero_point:TS quant_min:I quant_max:I";
  static const char *const fakeChannel = "self:T scale:T zero_point:T axis:I quant_min:I quant_max:I";
  static const char *const range = "input:T quant_min:F quant_max:F eps:F dtype:D";
  static const OpEntry table[] = {
      {"quantized_decomposed.quantize_per_tensor.default", tensor, quantize<Per::Tensor>},
      {"quantized_decomposed.quantize_per_tensor.tensor", tensor, quantize<Per::Tensor>},
      {"quantized_decomposed.dequantize_per_tensor.default", tensor, dequantize<Per::Tensor>},
      {"quantized_decomposed.dequantize_per_tensor.tensor", tensor, dequantize<Per::Tensor>},
      {"quantized_decomposed.quantize_per_channel.default", channel, quantize<Per::Channel>},
      {"quantized_decomposed.dequantize_per_channel.default", channel, dequantize<Per::Channel>},
      {"quantized_decomposed.quantize_per_token.default", token, quantize<Per::Token>},
      {"quantized_decomposed.dequantize_per_token.default", token, dequantize<Per::Token>},
      {"quantized_decomposed.choose_qparams_per_token.default", "input:T dtype:D", chooseByToken, OwnElements},
      {"quantized_decomposed.choose_qparams_per_token_asymmetric.default", "input:T dtype:D", chooseByTokenWithZero},
      {"fake_quantize_per_tensor_affine.default", fakeTensor, quantizeAndBack<Per::Tensor>},
      {"fake_quantize_per_tensor_affine.tensor_qparams", fakeTensor, quantizeAndBack<Per::Tensor>},
      {"fake_quantize_per_channel_affine.default", fakeChannel, quantizeAndBack<Per::Channel>},
      {"quantized_decomposed.choose_qparams.tensor", range, choose},
      {"quantized_decomposed.choose_qparams_symmetric.tensor", range, chooseSymmetric},
  };
  return table;
}
