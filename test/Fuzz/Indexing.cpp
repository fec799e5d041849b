//===- Indexing.cpp - Steps: elements that are picked or placed ------------===//

#include "Graph.h"

using namespace lathe;
using namespace lathe::fuzz;

static bool hasAxes(const Value &v) { return v.rank() > 0; }

/// So many indices below n, some of them counted from the end.
static Shape indices(Graph &g, int64_t count, int64_t n) {
  Shape out(count);
  for (int64_t &i : out)
    i = g.rng.range(-n, n - 1);
  return out;
}

/// Different numbers below n.
static Shape distinct(Graph &g, int64_t count, int64_t n) {
  Shape all(n);
  for (int64_t i = 0; i < n; ++i)
    all[i] = i;
  g.rng.shuffle(all);
  all.resize(count);
  return all;
}

static bool gather(Graph &g) {
  auto x = g.pick(hasAxes);
  if (!x)
    return false;
  int64_t axis = g.rng.range(0, g[*x].rank() - 1);
  Shape shape(g.rng.range(0, 2));
  for (int64_t &d : shape)
    d = g.rng.range(1, 5);
  return g.add("Gather", {*x, g.ints(indices(g, mlir::ShapedType::getNumElements(shape), g[*x].dim(axis)), shape)},
               {{"axis", axis}});
}

/// With indices that the model computes.
static bool gatherByValues(Graph &g) {
  auto i = g.pick([](const Value &v) {
    return v.isInt() && v.rank() > 0 && v.element().getIntOrFloatBitWidth() >= 32 && !v.element().isUnsignedInteger();
  });
  auto x = g.pickFloat(hasAxes);
  if (!i || !x)
    return false;
  int64_t axis = g.rng.range(0, g[*x].rank() - 1);
  return g.add("Mod", {*i, g.scalar(g[*i].element(), g[*x].dim(axis))}) &&
         g.add("Gather", {*x, g.last[0]}, {{"axis", axis}});
}

static bool gatherElements(Graph &g) {
  auto x = g.pick(hasAxes);
  if (!x)
    return false;
  int64_t axis = g.rng.range(0, g[*x].rank() - 1);
  Shape shape(g[*x].shape());
  shape[axis] = g.rng.range(1, 4);
  return g.add("GatherElements",
               {*x, g.ints(indices(g, mlir::ShapedType::getNumElements(shape), g[*x].dim(axis)), shape)},
               {{"axis", axis}});
}

static bool gatherNd(Graph &g) {
  auto x = g.pick([](const Value &v) { return v.rank() > 1; });
  if (!x)
    return false;
  int64_t batch = g.rng.range(0, 1), n = g.rng.range(1, g[*x].rank() - batch), count = g.rng.range(1, 4),
          vectors = count * (batch ? g[*x].dim(0) : 1);
  Shape picks;
  for (int64_t i = 0; i < vectors; ++i)
    for (int64_t d = 0; d < n; ++d)
      picks.push_back(g.rng.range(0, g[*x].dim(batch + d) - 1));
  Shape shape = batch ? Shape{g[*x].dim(0), count, n} : Shape{count, n};
  return g.add("GatherND", {*x, g.ints(picks, shape)}, {{"batch_dims", batch}});
}

/// A constant, or a value of just this shape.
static Name updates(Graph &g, const Name &x, const Shape &shape) {
  auto v = g.pick([&](const Value &v) { return v.element() == g[x].element() && v.shape() == llvm::ArrayRef(shape); });
  return v && g.rng.chance(0.7) ? *v : g.random(g[x].element(), shape);
}

static const char *reductionOf(Graph &g, const Name &x) {
  return g.rng.chance(0.6) || !g[x].isFloat() ? "none" : g.rng.of<const char *>({"add", "mul", "max", "min"});
}

/// Rows that updates go to: in any number where they are combined, each once where not.
static Shape places(Graph &g, int64_t count, int64_t n, bool combined) { return combined ? indices(g, count, n) : distinct(g, count, n); }

static bool scatterNd(Graph &g) {
  auto x = g.pick([](const Value &v) { return v.rank() > 0 && !v.isBool(); });
  if (!x)
    return false;
  std::string reduction = reductionOf(g, *x);
  bool combined = reduction != "none";
  int64_t n = g[*x].dim(0), k = g.rng.range(1, combined ? n + 3 : n);
  Shape shape(g[*x].shape());
  shape[0] = k;
  return g.add("ScatterND", {*x, g.ints(places(g, k, n, combined), {k, 1}), updates(g, *x, shape)},
               {{"reduction", reduction.c_str()}});
}

static bool scatterElements(Graph &g) {
  auto x = g.pick([](const Value &v) { return v.rank() > 0 && !v.isBool(); });
  if (!x)
    return false;
  std::string reduction = reductionOf(g, *x);
  bool combined = reduction != "none";
  int64_t axis = g.rng.range(0, g[*x].rank() - 1), n = g[*x].dim(axis), k = g.rng.range(1, combined ? n + 3 : n), inner = 1;
  Shape shape(g[*x].shape()), picked = places(g, k, n, combined);
  shape[axis] = k;
  for (int64_t d = axis + 1; d < g[*x].rank(); ++d)
    inner *= shape[d];
  Shape at(mlir::ShapedType::getNumElements(shape));
  for (size_t i = 0; i < at.size(); ++i)
    at[i] = picked[i / inner % k];
  return g.add("ScatterElements", {*x, g.ints(at, shape), updates(g, *x, shape)},
               {{"axis", axis}, {"reduction", reduction.c_str()}});
}

static bool oneHot(Graph &g) {
  auto x =
      g.pick([](const Value &v) { return v.isInt() && v.rank() < 4 && v.element().getIntOrFloatBitWidth() >= 32; });
  if (!x)
    return false;
  Tensor ends(mlir::RankedTensorType::get({2}, g.build.getF32Type()));
  ends.floats = {-0.5, 2};
  return g.add("OneHot", {*x, g.scalar(g.build.getI64Type(), g.rng.range(2, 6)), g.constant(ends)},
               {{"axis", g.rng.range(-1, g[*x].rank())}});
}

/// Sizes that depend on data.
static bool nonZero(Graph &g) {
  auto x = g.pick([](const Value &v) { return v.isBool() && v.rank() > 0; });
  return x && g.add("NonZero", {*x});
}

static bool compress(Graph &g) {
  auto c = g.pick([](const Value &v) { return v.isBool() && v.rank() == 1; });
  auto x = c ? g.pick([&](const Value &v) { return llvm::is_contained(v.shape(), g[*c].dim(0)); }) : std::nullopt;
  return x && g.add("Compress", {*x, *c}, {{"axis", llvm::find(g[*x].shape(), g[*c].dim(0)) - g[*x].shape().begin()}});
}

static bool unique(Graph &g) {
  auto x = g.pick([](const Value &v) { return v.isInt() && v.value.size() < 40; });
  return x && g.add("Unique", {*x});
}

std::vector<Family> fuzz::indexSteps() {
  return {{14, gather},         {5, gatherByValues}, {6, gatherElements}, {6, gatherNd}, {8, scatterNd},
          {8, scatterElements}, {2, oneHot},         {2, nonZero},        {2, compress}, {1, unique}};
}
