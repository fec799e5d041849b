//===- Control.cpp - Steps: branches, loops, recurrences -------------------===//

#include "Graph.h"

using namespace lathe;
using namespace lathe::fuzz;

namespace {
/// The body of a branch or a loop.
struct Body {
  onnx::GraphProto graph;
  Graph &g;
  Name now;

  Body(Graph &g, Name first) : g(g), now(std::move(first)) { graph.set_name(g.name("body")); }
  void node(const char *op, const Names &inputs, const std::vector<Attr> &attrs = {}) {
    now = g.name("b");
    *graph.add_node() = makeNode(op, inputs, {now}, attrs);
  }
  /// A chain of ops that keep the shape; `constant` has one element.
  void chain(const Name &constant) {
    for (int64_t n = g.rng.range(1, 3); n > 0; --n)
      if (g.rng.chance(0.5))
        node(g.rng.of<const char *>({"Relu", "Tanh", "Sigmoid", "Neg", "Abs"}), {now});
      else
        node(g.rng.of<const char *>({"Add", "Mul", "Sub", "Max"}), {now, constant});
  }
  void argument(const Name &n, mlir::Type e, const Shape &shape) {
    onnx::ValueInfoProto &info = *graph.add_input();
    info.set_name(n);
    setType(info, Tensor(mlir::RankedTensorType::get(shape, e)));
  }
  void result(const Name &n) { graph.add_output()->set_name(n); }
};
} // namespace

/// A condition that the model computes from a value.
static bool condition(Graph &g, const Name &x) {
  return g.add("ReduceMean", {x}, {{"keepdims", 0}}) &&
         g.add(g.rng.of<const char *>({"Greater", "Less"}), {g.last[0], g.scalar(g[x].element(), 0.1)});
}

static bool branch(Graph &g) {
  auto x = g.pickFloat([](const Value &) { return true; });
  auto y = x ? g.pick([&](const Value &v) { return v.element() == g[*x].element() && v.shape() == g[*x].shape(); })
             : std::nullopt;
  if (!y || !condition(g, *x))
    return false;
  Name chosen = g.last[0], c = g.scalar(g[*x].element(), 0.5 + g.rng.unit());
  Body then(g, *x), otherwise(g, *y);
  then.chain(c);
  otherwise.chain(c);
  then.result(then.now);
  otherwise.result(otherwise.now);
  return g.add("If", {chosen}, {{"then_branch", then.graph}, {"else_branch", otherwise.graph}}, 1, {*x, *y, c});
}

static bool loop(Graph &g) {
  auto x = g.pickFloat([](const Value &v) { return v.value.size() < 500; });
  if (!x)
    return false;
  const Value &v = g[*x];
  Name state = g.name("b"), go = g.name("b"), step = g.name("b"), c = g.scalar(v.element(), 0.7);
  Body body(g, state);
  body.argument(step, g.build.getI64Type(), {});
  body.argument(go, g.build.getI1Type(), {});
  body.argument(state, v.element(), Shape(v.shape()));
  body.chain(c);
  Name next = body.now;
  body.node("Identity", {go});
  body.result(body.now);
  body.result(next);
  bool collects = g.rng.chance(0.5);
  if (collects) {
    body.node("ReduceMax", {next}, {{"keepdims", 0}});
    body.result(body.now);
  }
  return g.add("Loop", {g.scalar(g.build.getI64Type(), g.rng.range(1, 20)), "", *x}, {{"body", body.graph}},
               collects ? 2 : 1, {c});
}

static bool scan(Graph &g) {
  auto x = g.pickFloat([](const Value &v) { return v.rank() >= 2 && v.value.size() < 1000; });
  if (!x)
    return false;
  const Value &v = g[*x];
  Shape row(v.shape().drop_front());
  Name state = g.name("b"), part = g.name("b"), first = g.random(v.element(), row), c = g.scalar(v.element(), 0.6);
  Body body(g, state);
  body.argument(state, v.element(), row);
  body.argument(part, v.element(), row);
  body.node("Mul", {state, c});
  body.node("Add", {body.now, part});
  body.node("Tanh", {body.now});
  Name next = body.now;
  body.node("Neg", {next});
  body.result(next);
  body.result(body.now);
  return g.add("Scan", {first, *x}, {{"body", body.graph}, {"num_scan_inputs", 1}}, 2, {c});
}

static bool recurrence(Graph &g) {
  auto x = g.pickFloat([](const Value &v) { return v.rank() == 3; });
  if (!x)
    return false;
  auto e = g[*x].element();
  const char *op = g.rng.of<const char *>({"LSTM", "GRU", "RNN"});
  std::string direction = g.rng.of<const char *>({"forward", "reverse", "bidirectional"});
  int64_t gates = op[0] == 'L'   ? 4
                  : op[0] == 'G' ? 3
                                 : 1,
          both = direction[0] == 'b' ? 2 : 1, hidden = g.rng.range(2, 6), width = g[*x].dim(2);
  Names in{*x, g.random(e, {both, gates * hidden, width}, 0.4), g.random(e, {both, gates * hidden, hidden}, 0.4)};
  if (g.rng.chance(0.6))
    in.push_back(g.random(e, {both, 2 * gates * hidden}, 0.3));
  if (g.rng.chance(0.2)) {
    in.resize(4);
    Tensor lengths(mlir::RankedTensorType::get({g[*x].dim(1)}, g.build.getI32Type()));
    for (int64_t &n : lengths.ints)
      n = g.rng.range(1, g[*x].dim(0));
    in.push_back(g.constant(lengths));
  }
  std::vector<Attr> attrs{{"hidden_size", hidden}, {"direction", direction}};
  if (op[0] == 'G')
    attrs.push_back({"linear_before_reset", g.rng.range(0, 1)});
  return g.add(op, in, attrs, g.rng.chance(0.5) ? 1 : 2);
}

std::vector<Family> fuzz::controlSteps() { return {{6, branch}, {4, loop}, {3, scan}, {8, recurrence}}; }
