//===- Others.cpp - Steps: sequences, transforms, sizes of other values ----===//

#include "Graph.h"

using namespace lathe;
using namespace lathe::fuzz;

static bool hasAxes(const Value &v) { return v.rank() > 0; }

/// Tensors in a list and out of it again.
static bool sequence(Graph &g) {
  auto x = g.pickFloat(hasAxes);
  auto y = x ? g.pick([&](const Value &v) { return v.element() == g[*x].element() && v.shape() == g[*x].shape(); })
             : std::nullopt;
  if (!y)
    return false;
  Name list = g.name("n"), out = g.name("t");
  onnx::NodeProto make = makeNode("SequenceConstruct", {*x, *y, *x}, {list});
  if (g.rng.chance(0.5))
    return g.addGroup({make, makeNode("ConcatFromSequence", {list}, {out},
                                      {{"axis", g.rng.range(0, g[*x].rank() - 1)}, {"new_axis", g.rng.range(0, 1)}})},
                      {out});
  return g.addGroup({make, makeNode("SequenceAt", {list, g.scalar(g.build.getI64Type(), g.rng.range(-3, 2))}, {out})},
                    {out});
}

static bool splitSequence(Graph &g) {
  auto x = g.pickFloat(hasAxes);
  if (!x)
    return false;
  Name list = g.name("n"), out = g.name("t");
  int64_t axis = g.rng.range(0, g[*x].rank() - 1);
  return g.addGroup(
      {makeNode("SplitToSequence", {*x}, {list}, {{"axis", axis}, {"keepdims", g.rng.range(0, 1)}}),
       makeNode("SequenceAt", {list, g.scalar(g.build.getI64Type(), g.rng.range(0, g[*x].dim(axis) - 1))}, {out})},
      {out});
}

static bool transform(Graph &g) {
  auto x = g.pickFloat(
      [](const Value &v) { return (v.element().isF32() || v.element().isF64()) && v.rank() >= 2 && v.rank() < 5; });
  if (!x || !g.add("Unsqueeze", {*x, g.ints({g[*x].rank()})}))
    return false;
  bool inverse = g.rng.chance(0.3);
  return g.add("DFT", {g.last[0], "", g.scalar(g.build.getI64Type(), g.rng.range(0, g[*x].rank() - 1))},
               {{"inverse", inverse ? 1 : 0}, {"onesided", inverse ? 0 : g.rng.range(0, 1)}});
}

static bool rotary(Graph &g) {
  auto x = g.pickFloat([](const Value &v) { return v.rank() == 4 && v.dim(3) % 2 == 0 && !v.element().isF64(); });
  if (!x)
    return false;
  Shape cache{g[*x].dim(0), g[*x].dim(2), g[*x].dim(3) / 2};
  auto e = g[*x].element();
  return g.add("RotaryEmbedding", {*x, g.random(e, cache), g.random(e, cache)}, {{"interleaved", g.rng.range(0, 1)}});
}

static bool unpool(Graph &g) {
  auto x = g.pickFloat([](const Value &v) { return v.rank() == 4 && v.dim(2) >= 2 && v.dim(3) >= 2; });
  std::vector<Attr> attrs{{"kernel_shape", Shape{2, 2}}, {"strides", Shape{2, 2}}};
  if (!x || !g.add("MaxPool", {*x}, attrs, 2))
    return false;
  Name pooled = g.last[0], at = g.last[1];
  return g.add("MaxUnpool", {pooled, at}, attrs);
}

static bool deform(Graph &g) {
  auto x = g.pickFloat([](const Value &v) { return v.rank() == 4 && v.dim(2) >= 3 && v.dim(3) >= 3; });
  if (!x)
    return false;
  auto e = g[*x].element();
  int64_t filters = g.rng.range(1, 4);
  Name offsets = g.random(e, {g[*x].dim(0), 8, g[*x].dim(2) - 1, g[*x].dim(3) - 1}, 0.4);
  return g.add("DeformConv", {*x, g.random(e, {filters, g[*x].dim(1), 2, 2}, 0.3), offsets},
               {{"kernel_shape", Shape{2, 2}}, {"pads", Shape{0, 0, 0, 0}}});
}

/// Shapes that come from another value's.
static bool likeAnother(Graph &g) {
  auto x = g.pickFloat(hasAxes);
  auto y =
      x ? g.pick([&](const Value &v) { return v.rank() > 0 && v.value.size() == g[*x].value.size(); }) : std::nullopt;
  return y && g.add("Shape", {*y}) && g.add("Reshape", {*x, g.last[0]});
}

static bool expandLike(Graph &g) {
  auto y = g.pick(hasAxes);
  auto x = y ? g.pick([&](const Value &v) {
    return v.rank() == 0 || (v.rank() == 1 && (v.dim(0) == 1 || v.dim(0) == g[*y].shape().back()));
  })
             : std::nullopt;
  return x && g.add("Shape", {*y}) && g.add("Expand", {*x, g.last[0]});
}

static bool filled(Graph &g) {
  auto x = g.pick(hasAxes);
  return x && g.add("Shape", {*x}) && g.add("ConstantOfShape", {g.last[0]}) &&
         g.add("Add", {g.last[0], g.scalar(g.build.getF32Type(), 0.5)});
}

/// The first half of a dimension, whatever its size.
static bool sliceBySizes(Graph &g) {
  auto x = g.pick(hasAxes);
  int64_t axis = x ? g.rng.range(0, g[*x].rank() - 1) : 0;
  if (!x || !g.add("Shape", {*x}, {{"start", axis}, {"end", axis + 1}}) || !g.add("Add", {g.last[0], g.ints({1})}) ||
      !g.add("Div", {g.last[0], g.ints({2})}))
    return false;
  Name half = g.last[0];
  return g.rng.chance(0.5) ? g.add("Slice", {*x, g.ints({0}), half, g.ints({axis})})
                           : g.add("Slice", {*x, half, g.ints({INT64_MAX}), g.ints({axis})});
}

static bool suppression(Graph &g) {
  int64_t n = g.rng.range(2, 8);
  auto scores = g.pick([](const Value &v) { return v.element().isF32() && v.rank() == 3 && v.dim(2) < 12; });
  if (!scores)
    return false;
  n = g[*scores].dim(2);
  return g.add("NonMaxSuppression", {g.random(g.build.getF32Type(), {g[*scores].dim(0), n, 4}), *scores, g.ints({3}),
                                     g.scalar(g.build.getF32Type(), 0.4)});
}

std::vector<Family> fuzz::otherSteps() {
  return {{3, sequence},    {2, splitSequence}, {3, transform}, {4, rotary},       {2, unpool},     {2, deform},
          {4, likeAnother}, {4, expandLike},    {2, filled},    {5, sliceBySizes}, {1, suppression}};
}
