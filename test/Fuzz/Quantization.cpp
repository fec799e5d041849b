//===- Quantization.cpp - Steps: numbers in a byte -------------------------===//

#include "Graph.h"

using namespace lathe;
using namespace lathe::fuzz;

static mlir::Type byteType(Graph &g, bool isSigned) {
  return isSigned ? mlir::Type(g.build.getI8Type()) : mlir::Type(g.build.getIntegerType(8, false));
}
static bool isF32(const Value &v) { return v.element().isF32(); }
static bool isByte(const Value &v) { return v.isInt() && v.element().getIntOrFloatBitWidth() == 8; }

/// Scales for the slices along an axis, or one for all.
static Name scales(Graph &g, std::optional<int64_t> count) {
  Tensor t(mlir::RankedTensorType::get(count ? Shape{*count} : Shape{}, g.build.getF32Type()));
  for (double &s : t.floats)
    s = float(0.02 + 0.05 * g.rng.unit());
  return g.constant(t);
}

static Name zeros(Graph &g, mlir::Type e, std::optional<int64_t> count) {
  return g.random(e, count ? Shape{*count} : Shape{});
}

static bool quantize(Graph &g) {
  auto x = g.pick(isF32);
  if (!x)
    return false;
  bool perAxis = g[*x].rank() > 0 && g.rng.chance(0.4);
  int64_t axis = perAxis ? g.rng.range(0, g[*x].rank() - 1) : 1;
  std::optional<int64_t> count = perAxis ? std::optional(g[*x].dim(axis)) : std::nullopt;
  Name scale = scales(g, count), zero = zeros(g, byteType(g, g.rng.chance(0.5)), count);
  if (!g.add("QuantizeLinear", {*x, scale, zero}, {{"axis", axis}}))
    return false;
  return g.rng.chance(0.3) || g.add("DequantizeLinear", {g.last[0], scale, zero}, {{"axis", axis}});
}

static bool dequantize(Graph &g) {
  auto x = g.pick(isByte);
  return x && g.add("DequantizeLinear", {*x, scales(g, std::nullopt), zeros(g, g[*x].element(), std::nullopt)});
}

/// There and back through four bits.
static bool fourBits(Graph &g) {
  auto x = g.pick(isF32);
  if (!x)
    return false;
  Name narrow = g.name("n"), back = g.name("t"), scale = scales(g, std::nullopt);
  return g.addGroup({makeNode("QuantizeLinear", {*x, scale}, {narrow},
                              {{"output_dtype", g.rng.of<int>({onnx::TensorProto::INT4, onnx::TensorProto::UINT4})}}),
                     makeNode("DequantizeLinear", {narrow, scale}, {back})},
                    {back});
}

static bool dynamic(Graph &g) {
  auto x = g.pick(isF32);
  return x && g.add("DynamicQuantizeLinear", {*x}, {}, 3);
}

static bool integerProduct(Graph &g) {
  auto x = g.pick([](const Value &v) { return isByte(v) && v.rank() >= 2; });
  if (!x)
    return false;
  auto other = byteType(g, g.rng.chance(0.5));
  int64_t k = g[*x].shape().back(), n = g.rng.range(1, 9);
  Name w = g.random(other, {k, n});
  if (g.rng.chance(0.5))
    return g.add("MatMulInteger", {*x, w, zeros(g, g[*x].element(), std::nullopt), zeros(g, other, std::nullopt)});
  auto e = byteType(g, g.rng.chance(0.5));
  return g.add("QLinearMatMul",
               {*x, scales(g, std::nullopt), zeros(g, g[*x].element(), std::nullopt), w, scales(g, std::nullopt),
                zeros(g, other, std::nullopt), scales(g, std::nullopt), zeros(g, e, std::nullopt)});
}

static bool integerConv(Graph &g) {
  auto x = g.pick([](const Value &v) { return isByte(v) && v.rank() == 4; });
  if (!x)
    return false;
  auto other = byteType(g, g.rng.chance(0.5));
  int64_t filters = g.rng.range(1, 5);
  Name w = g.random(other, {filters, g[*x].dim(1), g.rng.range(1, 3), g.rng.range(1, 3)});
  std::vector<Attr> attrs{{"pads", Shape{0, 1, 1, 0}}, {"strides", Shape{g.rng.range(1, 2), 1}}};
  if (g.rng.chance(0.4))
    return g.add("ConvInteger", {*x, w, zeros(g, g[*x].element(), std::nullopt), zeros(g, other, std::nullopt)}, attrs);
  auto e = byteType(g, g.rng.chance(0.5));
  return g.add("QLinearConv",
               {*x, scales(g, std::nullopt), zeros(g, g[*x].element(), std::nullopt), w, scales(g, filters),
                zeros(g, other, std::nullopt), scales(g, std::nullopt), zeros(g, e, std::nullopt)},
               attrs);
}

std::vector<Family> fuzz::quantizationSteps() {
  return {{6, quantize}, {3, dequantize}, {2, fourBits}, {2, dynamic}, {5, integerProduct}, {4, integerConv}};
}
