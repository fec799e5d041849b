//===- Reductions.cpp - Steps: what combines elements ----------------------===//

#include "Graph.h"

using namespace lathe;
using namespace lathe::fuzz;

static bool hasAxes(const Value &v) { return v.rank() > 0; }

static bool reduce(Graph &g) {
  auto x = g.pickFloat(hasAxes);
  if (!x)
    return false;
  Shape axes;
  for (int64_t d = 0; d < g[*x].rank(); ++d)
    if (g.rng.chance(0.45))
      axes.push_back(g.rng.chance(0.2) ? d - g[*x].rank() : d);
  if (axes.empty())
    axes.push_back(g.rng.range(0, g[*x].rank() - 1));
  const char *op =
      g.rng.of<const char *>({"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceLogSumExp",
                              "ReduceSumSquare", "ReduceL1", "ReduceSum", "ReduceMean", "ReduceMax", "ReduceProd"});
  Name y = *x;
  if (std::string(op) == "ReduceL2" && !(g.add("Abs", {y}) && g.add("Add", {g.last[0], g.scalar(g[y].element(), 0.3)})))
    return false;
  return g.add(op, {std::string(op) == "ReduceL2" ? g.last[0] : y, g.ints(axes)}, {{"keepdims", g.rng.range(0, 1)}});
}

static bool soft(Graph &g) {
  auto x = g.pickFloat(hasAxes);
  return x && g.add(g.rng.of<const char *>({"Softmax", "LogSoftmax", "Softmax", "Hardmax"}), {*x},
                    {{"axis", g.rng.range(-g[*x].rank(), g[*x].rank() - 1)}});
}

static bool batchNorm(Graph &g) {
  auto x = g.pickFloat([](const Value &v) { return v.rank() >= 2; });
  if (!x)
    return false;
  auto e = g[*x].element();
  int64_t c = g[*x].dim(1);
  Tensor variance(mlir::RankedTensorType::get({c}, e));
  for (double &v : variance.floats)
    v = ir::roundTo(0.5 + g.rng.unit(), e);
  return g.add("BatchNormalization", {*x, g.random(e, {c}), g.random(e, {c}), g.random(e, {c}), g.constant(variance)});
}

static bool layerNorm(Graph &g) {
  auto x = g.pickFloat(hasAxes);
  if (!x)
    return false;
  int64_t axis = g.rng.chance(0.7) ? g[*x].rank() - 1 : g.rng.range(0, g[*x].rank() - 1);
  Shape shape(g[*x].shape().drop_front(axis));
  auto e = g[*x].element();
  if (g.rng.chance(0.2))
    return g.add("RMSNormalization", {*x, g.random(e, shape)}, {{"axis", axis}});
  Names in{*x, g.random(e, shape)};
  if (g.rng.chance(0.7))
    in.push_back(g.random(e, shape));
  return g.add("LayerNormalization", in, {{"axis", axis}, {"epsilon", 1e-2}});
}

static bool channelNorm(Graph &g) {
  auto x = g.pickFloat([](const Value &v) { return v.rank() >= 3; });
  if (!x)
    return false;
  int64_t c = g[*x].dim(1);
  auto e = g[*x].element();
  Shape groups;
  for (int64_t k = 1; k <= c; ++k)
    if (c % k == 0)
      groups.push_back(k);
  if (g.rng.chance(0.5))
    return g.add("InstanceNormalization", {*x, g.random(e, {c}), g.random(e, {c})}, {{"epsilon", 1e-2}});
  return g.add("GroupNormalization", {*x, g.random(e, {c}), g.random(e, {c})},
               {{"epsilon", 1e-2}, {"num_groups", g.rng.of(groups)}});
}

static bool otherNorm(Graph &g) {
  auto x = g.pickFloat(hasAxes);
  if (!x)
    return false;
  if (g.rng.chance(0.5))
    return g.add("LpNormalization", {*x}, {{"axis", g.rng.range(0, g[*x].rank() - 1)}, {"p", g.rng.range(1, 2)}});
  if (g[*x].rank() < 3)
    return false;
  return g.rng.chance(0.5) ? g.add("LRN", {*x}, {{"size", g.rng.range(1, 3)}})
                           : g.add("MeanVarianceNormalization", {*x}, {{"axes", Shape{0, 2}}});
}

static bool cumulative(Graph &g) {
  auto x = g.rng.chance(0.7)
               ? g.pickFloat(hasAxes)
               : g.pick([](const Value &v) { return v.rank() > 0 && v.element().getIntOrFloatBitWidth() >= 32; });
  return x && g.add("CumSum", {*x, g.scalar(g.build.getI64Type(), g.rng.range(0, g[*x].rank() - 1))},
                    {{"exclusive", g.rng.range(0, 1)}, {"reverse", g.rng.range(0, 1)}});
}

static bool topK(Graph &g) {
  auto x =
      g.rng.chance(0.7) ? g.pickFloat(hasAxes) : g.pick([](const Value &v) { return v.rank() > 0 && !v.isBool(); });
  if (!x)
    return false;
  int64_t axis = g.rng.range(0, g[*x].rank() - 1);
  return g.add("TopK", {*x, g.ints({g.rng.range(1, g[*x].dim(axis))})},
               {{"axis", axis}, {"largest", g.rng.range(0, 1)}}, 2);
}

static bool arg(Graph &g) {
  auto x = g.pickFloat(hasAxes);
  return x && g.add(g.rng.chance(0.5) ? "ArgMax" : "ArgMin", {*x},
                    {{"axis", g.rng.range(0, g[*x].rank() - 1)},
                     {"keepdims", g.rng.range(0, 1)},
                     {"select_last_index", g.rng.range(0, 1)}});
}

static bool global(Graph &g) {
  auto x = g.pickFloat([](const Value &v) { return v.rank() >= 3; });
  return x && g.add(g.rng.of<const char *>({"GlobalAveragePool", "GlobalAveragePool", "GlobalMaxPool"}), {*x});
}

static bool loss(Graph &g) {
  auto x = g.pickFloat([](const Value &v) { return v.rank() >= 2; });
  if (!x)
    return false;
  Shape shape{g[*x].dim(0)};
  llvm::append_range(shape, g[*x].shape().drop_front(2));
  Shape labels(mlir::ShapedType::getNumElements(shape));
  for (int64_t &l : labels)
    l = g.rng.range(0, g[*x].dim(1) - 1);
  return g.add("SoftmaxCrossEntropyLoss", {*x, g.ints(labels, shape)},
               {{"reduction", g.rng.of<const char *>({"none", "sum", "mean"})}});
}

std::vector<Family> fuzz::reductionSteps() {
  return {{40, reduce},     {18, soft}, {14, batchNorm}, {14, layerNorm}, {12, channelNorm}, {6, otherNorm},
          {10, cumulative}, {8, topK},  {6, arg},        {8, global},     {2, loss}};
}
