//===- Quantize.cpp - Quantisation as PyTorch 2 exports it -------------------===//

#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

namespace {
/// What brings elements to whole numbers and back, of the elements' dims.
struct Scales {
  Value scale, zero;
};
} // namespace

/// Numbers, tensors of one, or tensors along a dimension (or, per token, along all but the last).
static llvm::Expected<Scales> scalesFor(OpContext &c, llvm::ArrayRef<Expr> dims, bool perChannel) {
  Type f32 = c.g.b.getF32Type();
  auto brought = [&](const char *name) -> llvm::Expected<Value> {
    if (!c.has(name))
      return c.g.splat(0, dims, f32);
    Value v = c.materialize(c.operand(name), f32);
    if (perChannel) {
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

template <bool perChannel> static llvm::Error quantize(OpContext &c) {
  Value x = c.g.cast(c.tensor("input"), c.g.b.getF32Type());
  LATHE_TRY(s, scalesFor(c, dimsOf(x), perChannel));
  Value whole = c.g.unary<RoundOp>(c.g.mul(x, c.g.div(c.g.splatLike(1, x), s.scale)));
  Value q = c.g.binary<MinOp>(c.g.binary<MaxOp>(c.g.add(whole, s.zero), c.real("quant_min")), c.real("quant_max"));
  return c.give(c.g.cast(q, c.resultElement()));
}

template <bool perChannel> static llvm::Error dequantize(OpContext &c) {
  Value x = c.g.cast(c.tensor("input"), c.g.b.getF32Type());
  LATHE_TRY(s, scalesFor(c, dimsOf(x), perChannel));
  return c.give(c.g.cast(c.g.mul(c.g.sub(x, s.zero), s.scale), c.resultElement()));
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
    zero = c.g.binary<MinOp>(c.g.binary<MaxOp>(zero, low), high);
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
  static const char *const range = "input:T quant_min:F quant_max:F eps:F dtype:D";
  static const OpEntry table[] = {
      {"quantized_decomposed.quantize_per_tensor.default", tensor, quantize<false>},
      {"quantized_decomposed.quantize_per_tensor.tensor", tensor, quantize<false>},
      {"quantized_decomposed.dequantize_per_tensor.default", tensor, dequantize<false>},
      {"quantized_decomposed.dequantize_per_tensor.tensor", tensor, dequantize<false>},
      {"quantized_decomposed.quantize_per_channel.default", channel, quantize<true>},
      {"quantized_decomposed.dequantize_per_channel.default", channel, dequantize<true>},
      {"quantized_decomposed.quantize_per_token.default", token, quantize<false>},
      {"quantized_decomposed.dequantize_per_token.default", token, dequantize<false>},
      {"quantized_decomposed.choose_qparams.tensor", range, choose},
      {"quantized_decomposed.choose_qparams_symmetric.tensor", range, chooseSymmetric},
  };
  return table;
}
