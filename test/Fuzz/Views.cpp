//===- Views.cpp - Steps: elements that move -------------------------------===//

#include "Graph.h"

using namespace lathe;
using namespace lathe::fuzz;

static bool any(const Value &) { return true; }
static bool hasAxes(const Value &v) { return v.rank() > 0; }

static bool transpose(Graph &g) {
  auto x = g.pick([](const Value &v) { return v.rank() > 1; });
  if (!x)
    return false;
  Shape perm(g[*x].rank());
  for (size_t i = 0; i < perm.size(); ++i)
    perm[i] = i;
  g.rng.shuffle(perm);
  return g.add("Transpose", {*x}, {{"perm", perm}});
}

/// A divisor of n.
static int64_t factor(Rng &r, int64_t n) {
  Shape all;
  for (int64_t k = 1; k <= n; ++k)
    if (n % k == 0)
      all.push_back(k);
  return r.of(all);
}

static bool reshape(Graph &g) {
  auto x = g.pick(any);
  if (!x)
    return false;
  Shape dims(g[*x].shape());
  double q = g.rng.unit();
  if (q < 0.35 && dims.size() > 1) {
    size_t i = g.rng.range(0, dims.size() - 2);
    dims[i] *= dims[i + 1];
    dims.erase(dims.begin() + i + 1);
  } else if (q < 0.75 && !dims.empty()) {
    size_t i = g.rng.range(0, dims.size() - 1);
    int64_t k = factor(g.rng, dims[i]);
    dims[i] /= k;
    dims.insert(dims.begin() + i, k);
  } else if (q < 0.85 && dims.size() > 1) { // another grid of the same elements
    g.rng.shuffle(dims);
  } else {
    dims = {-1};
  }
  if (!dims.empty() && g.rng.chance(0.4))
    dims[g.rng.range(0, dims.size() - 1)] = -1;
  for (size_t i = 0; i < dims.size() && i < g[*x].shape().size() && dims[i] == g[*x].dim(i); ++i)
    if (g.rng.chance(0.7))
      dims[i] = 0;
  return g.add("Reshape", {*x, g.ints(dims)});
}

/// Reshapes whose sizes the model computes from a tensor's own.
static bool reshapeBySizes(Graph &g) {
  auto x = g.pick([](const Value &v) { return v.rank() > 1; });
  if (!x || !g.add("Shape", {*x}, {{"start", 0}, {"end", 1}}))
    return false;
  Name first = g.last[0];
  return g.add("Concat", {first, g.ints({-1})}, {{"axis", 0}}) && g.add("Reshape", {*x, g.last[0]});
}

static bool slice(Graph &g) {
  auto x = g.pick(hasAxes);
  if (!x)
    return false;
  Shape starts, ends, axes, steps;
  for (int64_t axis = 0; axis < g[*x].rank(); ++axis) {
    if (!g.rng.chance(0.5))
      continue;
    int64_t n = g[*x].dim(axis), b = g.rng.range(0, n - 1), e = g.rng.range(b + 1, n),
            step = g.rng.of<int64_t>({1, 1, 1, 2, 3});
    if (g.rng.chance(0.2)) { // from the end to the begin
      steps.push_back(-step), starts.push_back(e - 1), ends.push_back(b ? b - 1 : -n - 1);
    } else {
      steps.push_back(step), starts.push_back(g.rng.chance(0.3) ? b - n : b),
          ends.push_back(e == n && g.rng.chance(0.5) ? INT64_MAX : e);
    }
    axes.push_back(axis);
  }
  return !axes.empty() && g.add("Slice", {*x, g.ints(starts), g.ints(ends), g.ints(axes), g.ints(steps)});
}

static bool concat(Graph &g) {
  auto x = g.pick(hasAxes);
  if (!x)
    return false;
  int64_t axis = g.rng.range(0, g[*x].rank() - 1);
  Names parts{*x};
  auto fits = [&](const Value &v) {
    if (v.element() != g[*x].element() || v.rank() != g[*x].rank())
      return false;
    for (int64_t d = 0; d < v.rank(); ++d)
      if (d != axis && v.dim(d) != g[*x].dim(d))
        return false;
    return true;
  };
  for (int64_t n = g.rng.range(1, 2); n > 0; --n)
    if (auto y = g.pick(fits))
      parts.push_back(*y);
  if (g.rng.chance(0.3)) {
    Shape shape(g[*x].shape());
    shape[axis] = g.rng.range(1, 3);
    parts.push_back(g.random(g[*x].element(), shape));
  }
  g.rng.shuffle(parts);
  return g.add("Concat", parts, {{"axis", axis}});
}

static bool pad(Graph &g) {
  auto x = g.pick(hasAxes);
  if (!x)
    return false;
  std::string mode = g.rng.of<const char *>({"constant", "constant", "edge", "reflect", "wrap"});
  int64_t rank = g[*x].rank();
  Shape amounts(2 * rank);
  for (int64_t i = 0; i < 2 * rank; ++i) {
    int64_t size = g[*x].dim(i % rank), most = mode == "reflect" ? size - 1 : mode == "wrap" ? size : 2;
    amounts[i] = g.rng.range(mode == "constant" && size > 2 && g.rng.chance(0.1) ? -1 : 0, std::min<int64_t>(2, most));
  }
  Names in{*x, g.ints(amounts)};
  if (mode == "constant" && g.rng.chance(0.6))
    in.push_back(g.scalar(g[*x].element(), g.rng.of({0.0, 1.5, -2.0, 1.0})));
  return g.add("Pad", in, {{"mode", mode}});
}

static bool expand(Graph &g) {
  auto x = g.pick([](const Value &v) { return llvm::is_contained(v.shape(), 1) || v.rank() < 2; });
  if (!x)
    return false;
  Shape dims(g[*x].shape());
  for (int64_t &d : dims)
    d = d > 1 ? (g.rng.chance(0.5) ? d : 1) : g.rng.range(1, 4);
  if (g.rng.chance(0.3))
    dims.insert(dims.begin(), g.rng.range(1, 3));
  return g.add("Expand", {*x, g.ints(dims)});
}

static bool tile(Graph &g) {
  auto x = g.pick(hasAxes);
  if (!x)
    return false;
  Shape repeats(g[*x].rank());
  for (int64_t &d : repeats)
    d = g.rng.of<int64_t>({1, 1, 2, 3});
  return g.add("Tile", {*x, g.ints(repeats)});
}

static bool split(Graph &g) {
  auto x = g.pick([](const Value &v) { return llvm::any_of(v.shape(), [](int64_t d) { return d > 1; }); });
  if (!x)
    return false;
  int64_t axis = g.rng.range(0, g[*x].rank() - 1), n = g[*x].dim(axis);
  if (n < 2)
    return false;
  if (g.rng.chance(0.5))
    return g.add("Split", {*x}, {{"axis", axis}, {"num_outputs", 2}}, 2);
  int64_t first = g.rng.range(1, n - 1);
  return g.add("Split", {*x, g.ints({first, n - first})}, {{"axis", axis}}, 2);
}

static bool squeeze(Graph &g) {
  if (g.rng.chance(0.5)) {
    auto x = g.pick([](const Value &v) { return v.rank() < 5; });
    return x && g.add("Unsqueeze", {*x, g.ints({g.rng.range(0, g[*x].rank())})});
  }
  auto x = g.pick([](const Value &v) { return llvm::is_contained(v.shape(), 1); });
  return x && g.add("Squeeze", {*x, g.ints({llvm::find(g[*x].shape(), 1) - g[*x].shape().begin()})});
}

static bool flatten(Graph &g) {
  auto x = g.pick(hasAxes);
  return x && g.add("Flatten", {*x}, {{"axis", g.rng.range(0, g[*x].rank())}});
}

static bool blocks(Graph &g) {
  bool toSpace = g.rng.chance(0.5);
  auto x = g.pick([&](const Value &v) {
    return v.rank() == 4 && (toSpace ? v.dim(1) % 4 == 0 : v.dim(2) % 2 == 0 && v.dim(3) % 2 == 0);
  });
  if (!x)
    return false;
  return toSpace ? g.add("DepthToSpace", {*x}, {{"blocksize", 2}, {"mode", g.rng.chance(0.5) ? "DCR" : "CRD"}})
                 : g.add("SpaceToDepth", {*x}, {{"blocksize", 2}});
}

static bool triangle(Graph &g) {
  auto x = g.pick([](const Value &v) { return v.rank() > 1; });
  return x && g.add("Trilu", {*x, g.scalar(g.build.getI64Type(), g.rng.range(-2, 2))}, {{"upper", g.rng.range(0, 1)}});
}

static bool reverse(Graph &g) {
  auto x = g.pick([](const Value &v) { return v.rank() > 1; });
  if (!x)
    return false;
  bool timeFirst = g.rng.chance(0.5);
  Shape lengths(g[*x].dim(timeFirst ? 1 : 0));
  for (int64_t &n : lengths)
    n = g.rng.range(1, g[*x].dim(timeFirst ? 0 : 1));
  return g.add("ReverseSequence", {*x, g.ints(lengths)},
               {{"time_axis", timeFirst ? 0 : 1}, {"batch_axis", timeFirst ? 1 : 0}});
}

static bool crop(Graph &g) {
  auto x = g.pick(hasAxes);
  if (!x)
    return false;
  int64_t axis = g.rng.range(0, g[*x].rank() - 1);
  return g.add("CenterCropPad", {*x, g.ints({std::max<int64_t>(1, g[*x].dim(axis) + g.rng.range(-2, 2))})},
               {{"axes", Shape{axis}}});
}

std::vector<Family> fuzz::viewSteps() {
  return {{24, transpose}, {26, reshape}, {5, reshapeBySizes}, {24, slice},  {14, concat},
          {14, pad},       {10, expand},  {5, tile},           {10, split},  {10, squeeze},
          {4, flatten},    {8, blocks},   {5, triangle},       {2, reverse}, {3, crop}};
}
