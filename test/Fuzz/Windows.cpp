//===- Windows.cpp - Steps: what slides over images ------------------------===//

#include "Graph.h"

using namespace lathe;
using namespace lathe::fuzz;

static bool isImage(const Value &v) { return v.isFloat() && (v.rank() == 4 || v.rank() == 3); }

static Shape draw(Graph &g, int64_t n, std::initializer_list<int64_t> from) {
  Shape out(n);
  for (int64_t &v : out)
    v = g.rng.of(from);
  return out;
}

static bool conv(Graph &g, bool transposed) {
  auto x = g.pick(isImage);
  if (!x)
    return false;
  auto e = g[*x].element();
  int64_t c = g[*x].dim(1), spatial = g[*x].rank() - 2;
  Shape divisors;
  for (int64_t k = 1; k <= c; ++k)
    if (c % k == 0)
      divisors.push_back(k);
  int64_t groups = g.rng.of<int64_t>({1, 1, 1, c, g.rng.of(divisors)});
  int64_t filters = groups > 1 ? groups * g.rng.of<int64_t>({1, 1, 2, 3}) : g.rng.of<int64_t>({1, 2, 5, 8, 16});
  Shape kernel = draw(g, spatial, {1, 1, 2, 3, 3, 4, 5}), strides = draw(g, spatial, {1, 1, 2, 3});
  Shape weights = transposed ? Shape{c, filters / groups} : Shape{filters, c / groups};
  llvm::append_range(weights, kernel);
  Names in{*x, g.random(e, weights, 1.0 / std::max<int64_t>(1, c * kernel[0] / groups))};
  if (g.rng.chance(0.6))
    in.push_back(g.random(e, {filters}));
  std::vector<Attr> attrs{{"group", groups}, {"strides", strides}, {"dilations", draw(g, spatial, {1, 1, 1, 2})}};
  if (g.rng.chance(0.15))
    attrs.push_back({"auto_pad", transposed ? "VALID" : g.rng.of<const char *>({"SAME_UPPER", "SAME_LOWER", "VALID"})});
  else
    attrs.push_back({"pads", draw(g, 2 * spatial, {0, 0, 1, 2})});
  if (transposed && g.rng.chance(0.3)) {
    Shape extra(spatial);
    for (int64_t d = 0; d < spatial; ++d)
      extra[d] = g.rng.range(0, strides[d] - 1);
    attrs.push_back({"output_padding", extra});
  }
  return g.add(transposed ? "ConvTranspose" : "Conv", in, attrs);
}
static bool forward(Graph &g) { return conv(g, false); }
static bool backward(Graph &g) { return conv(g, true); }

/// Filters that the model computes, or takes.
static bool convOfValues(Graph &g) {
  auto x = g.pick(isImage);
  auto w = x ? g.pick([&](const Value &v) {
    return v.element() == g[*x].element() && v.rank() == g[*x].rank() && v.dim(1) == g[*x].dim(1) &&
           v.dim(2) <= g[*x].dim(2);
  })
             : std::nullopt;
  return w && g.add("Conv", {*x, *w}, {{"strides", draw(g, g[*x].rank() - 2, {1, 2})}});
}

static bool pool(Graph &g) {
  auto x = g.pick(isImage);
  if (!x)
    return false;
  int64_t spatial = g[*x].rank() - 2;
  Shape kernel = draw(g, spatial, {1, 2, 3}), pads(2 * spatial);
  for (int64_t d = 0; d < 2 * spatial; ++d)
    pads[d] = g.rng.range(0, std::min<int64_t>(1, kernel[d % spatial] - 1));
  std::vector<Attr> attrs{{"kernel_shape", kernel},
                          {"strides", draw(g, spatial, {1, 2})},
                          {"ceil_mode", g.rng.range(0, 1)},
                          {"pads", pads}};
  if (g.rng.chance(0.2))
    attrs.push_back({"dilations", draw(g, spatial, {1, 2})});
  switch (g.rng.range(0, 4)) {
  case 0:
    return g.add("LpPool", {*x}, attrs);
  case 1:
  case 2:
    attrs.push_back({"count_include_pad", g.rng.range(0, 1)});
    return g.add("AveragePool", {*x}, attrs);
  default:
    return g.add("MaxPool", {*x}, attrs, g.rng.chance(0.15) ? 2 : 1);
  }
}

static bool resize(Graph &g) {
  auto x = g.pickFloat([](const Value &v) { return v.rank() == 4; });
  if (!x)
    return false;
  std::string mode = g.rng.of<const char *>({"nearest", "linear", "cubic"});
  std::vector<Attr> attrs{
      {"mode", mode},
      {"coordinate_transformation_mode",
       g.rng.of<const char *>({"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"})}};
  if (mode == "nearest")
    attrs.push_back(
        {"nearest_mode", g.rng.of<const char *>({"floor", "round_prefer_floor", "ceil", "round_prefer_ceil"})});
  if (g.rng.chance(0.4))
    return g.add("Resize", {*x, "", "", g.ints({g[*x].dim(0), g[*x].dim(1), g.rng.range(2, 9), g.rng.range(2, 9)})},
                 attrs);
  Tensor scales(mlir::RankedTensorType::get({4}, g.build.getF32Type()));
  scales.floats = {1, 1, g.rng.of({1.0, 2.0, 3.0, 0.5}), g.rng.of({1.0, 2.0, 0.5})};
  return g.add("Resize", {*x, "", g.constant(scales)}, attrs);
}

static bool gridSample(Graph &g) {
  auto x = g.pickFloat([](const Value &v) { return v.rank() == 4; });
  if (!x)
    return false;
  auto e = g[*x].element();
  Name grid = g.random(e, {g[*x].dim(0), g.rng.range(1, 4), g.rng.range(1, 4), 2}, 0.4);
  return g.add("GridSample", {*x, grid},
               {{"mode", g.rng.of<const char *>({"linear", "nearest", "cubic"})},
                {"padding_mode", g.rng.of<const char *>({"zeros", "border", "reflection"})},
                {"align_corners", g.rng.range(0, 1)}});
}

static bool roi(Graph &g) {
  auto x = g.pickFloat([](const Value &v) { return v.rank() == 4; });
  if (!x)
    return false;
  Tensor boxes(mlir::RankedTensorType::get({2, 4}, g[*x].element()));
  boxes.floats = {0.25, 0.25, 2.5, 2.25, 0.5, 1, 3, 2};
  return g.add(
      "RoiAlign", {*x, g.constant(boxes), g.ints({0, g[*x].dim(0) - 1})},
      {{"output_height", 2}, {"output_width", 3}, {"sampling_ratio", 2}, {"mode", g.rng.chance(0.5) ? "avg" : "max"}});
}

static bool columns(Graph &g) {
  auto x = g.pickFloat([](const Value &v) { return v.rank() == 3 && v.dim(1) % 4 == 0 && v.dim(2) == 4; });
  return x && g.add("Col2Im", {*x, g.ints({3, 3}), g.ints({2, 2})});
}

std::vector<Family> fuzz::windowSteps() {
  return {{34, forward}, {22, backward},  {4, convOfValues}, {20, pool},
          {12, resize},  {3, gridSample}, {2, roi},          {1, columns}};
}
