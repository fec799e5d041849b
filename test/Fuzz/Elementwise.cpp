//===- Elementwise.cpp - Steps: one element at a time ----------------------===//

#include "Graph.h"

using namespace lathe;
using namespace lathe::fuzz;

static bool unary(Graph &g) {
  auto x = g.pickFloat();
  return x && g.add(g.rng.of<const char *>({"Relu",     "Sigmoid",  "Tanh",  "Abs",  "Neg",      "Exp",
                                            "Softplus", "Erf",      "Sin",   "Cos",  "Softsign", "HardSwish",
                                            "Mish",     "Identity", "Atan",  "Sinh", "Cosh",     "Asinh",
                                            "Floor",    "Ceil",     "Round", "Sign", "Relu",     "Sigmoid"}),
                    {*x});
}

static bool activation(Graph &g) {
  auto x = g.pickFloat();
  if (!x)
    return false;
  double a = g.rng.unit();
  switch (g.rng.range(0, 10)) {
  case 0:
    return g.add("LeakyRelu", {*x}, {{"alpha", a}});
  case 1:
    return g.add("Elu", {*x}, {{"alpha", a}});
  case 2:
    return g.add("Selu", {*x});
  case 3:
    return g.add("Celu", {*x}, {{"alpha", a + 0.1}});
  case 4:
    return g.add("HardSigmoid", {*x}, {{"alpha", a}, {"beta", 0.4}});
  case 5:
    return g.add("ThresholdedRelu", {*x}, {{"alpha", a}});
  case 6:
    return g.add("Gelu", {*x}, {{"approximate", g.rng.chance(0.5) ? "none" : "tanh"}});
  case 7:
    return g.add("Shrink", {*x}, {{"lambd", a}, {"bias", a}});
  case 8:
    return g.add("Clip", {*x, g.scalar(g[*x].element(), -a), g.scalar(g[*x].element(), 1.5 - a)});
  case 9:
    return g.add("PRelu", {*x, g.random(g[*x].element(), {g[*x].rank() ? g[*x].shape().back() : 1})});
  default:
    return g.add("Clip", {*x, "", g.scalar(g[*x].element(), a)});
  }
}

/// Functions that are defined for positive numbers, or between -1 and 1, alone.
static bool bounded(Graph &g) {
  auto x = g.pickFloat();
  if (!x)
    return false;
  if (g.rng.chance(0.3))
    return g.add("Tanh", {*x}) && g.add("Mul", {g.last[0], g.scalar(g[g.last[0]].element(), 0.9)}) &&
           g.add(g.rng.of<const char *>({"Asin", "Acos", "Atanh"}), {g.last[0]});
  return g.add("Abs", {*x}) && g.add("Add", {g.last[0], g.scalar(g[g.last[0]].element(), 0.5)}) &&
         g.add(g.rng.of<const char *>({"Sqrt", "Log", "Reciprocal", "Acosh"}), {g.last[0]});
}

/// Whether the shapes agree but for ones, from the right.
static bool broadcast(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b) {
  for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i)
    if (int64_t x = a[a.size() - i], y = b[b.size() - i]; x != y && x != 1 && y != 1)
      return false;
  return true;
}

/// A constant whose shape is a tail of the value's, with ones here and there.
static Name tailConstant(Graph &g, const Name &x) {
  Shape shape;
  for (int64_t i = g.rng.range(0, g[x].rank()); i < g[x].rank(); ++i)
    shape.push_back(g.rng.chance(0.6) ? g[x].dim(i) : 1);
  return g.random(g[x].element(), shape);
}

/// Another value that goes with the first, or a constant.
static std::optional<Name> partner(Graph &g, const Name &x) {
  if (g.rng.chance(0.5))
    return tailConstant(g, x);
  return g.pick([&](const Value &v) { return v.element() == g[x].element() && broadcast(v.shape(), g[x].shape()); });
}

static bool binary(Graph &g) {
  auto x = g.pickFloat();
  auto y = x ? partner(g, *x) : std::nullopt;
  if (!y)
    return false;
  if (g.rng.chance(0.3))
    std::swap(x, y);
  return g.add(g.rng.of<const char *>({"Add", "Sub", "Mul", "Max", "Min", "Add", "Mul", "Mean", "Sum"}), {*x, *y});
}

static bool quotient(Graph &g) {
  auto x = g.pickFloat();
  auto y = x ? partner(g, *x) : std::nullopt;
  return y && g.add("Mul", {*y, *y}) && g.add("Add", {g.last[0], g.scalar(g[*x].element(), 0.7)}) &&
         g.add(g.rng.of<const char *>({"Div", "Div", "Mod", "Pow"}), {*x, g.last[0]}, {});
}

static bool power(Graph &g) {
  auto x = g.pickFloat();
  return x && g.add("Pow", {*x, g.scalar(g[*x].element(), g.rng.of({2.0, 3.0, 2.0, 1.0, 4.0}))});
}

static bool compare(Graph &g) {
  auto x = g.pickFloat();
  auto y = x ? partner(g, *x) : std::nullopt;
  if (!y || !g.add(g.rng.of<const char *>({"Greater", "Less", "GreaterOrEqual", "LessOrEqual"}), {*x, *y}))
    return false;
  if (g.rng.chance(0.25))
    return true;
  Name condition = g.last[0];
  auto z = partner(g, *x);
  return z && g.add("Where", {condition, *x, *z});
}

static bool logic(Graph &g) {
  auto x = g.pick([](const Value &v) { return v.isBool(); });
  if (!x)
    return false;
  auto y = g.pick([&](const Value &v) { return v.isBool() && broadcast(v.shape(), g[*x].shape()); });
  if (g.rng.chance(0.25))
    return g.add("Not", {*x});
  return y && g.add(g.rng.of<const char *>({"And", "Or", "Xor", "Equal"}), {*x, *y});
}

static bool select(Graph &g) {
  auto c = g.pick([](const Value &v) { return v.isBool(); });
  auto x =
      c ? g.pick([&](const Value &v) { return !v.isBool() && broadcast(v.shape(), g[*c].shape()); }) : std::nullopt;
  auto y = x ? partner(g, *x) : std::nullopt;
  return y && g.add("Where", {*c, *x, *y});
}

static bool test(Graph &g) {
  auto x = g.pickFloat();
  return x && g.add(g.rng.of<const char *>({"IsNaN", "IsInf"}), {*x});
}

std::vector<Family> fuzz::elementwiseSteps() {
  return {{60, unary}, {30, activation}, {15, bounded}, {70, binary}, {12, quotient},
          {6, power},  {12, compare},    {6, logic},    {10, select}, {1, test}};
}
