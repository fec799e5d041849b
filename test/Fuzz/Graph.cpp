//===- Graph.cpp - A random graph while it grows ---------------------------===//

#include "Graph.h"
#include "Process.h"
#include "Reduce.h"
#include <cmath>

using namespace mlir;
using namespace lathe;
using namespace lathe::fuzz;
using llvm::Expected;

double fuzz::roundingOf(Type e) { return e.isBF16() ? 4e-3 : e.isF16() ? 5e-4 : e.isF64() ? 1e-15 : 1e-7; }

Graph::Graph(uint64_t seed, MLIRContext &context) : rng(seed), context(context), build(&context) {}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Moves each number a little, up or down.
void Graph::disturb(Tensor &t, double scale) {
  Type e = t.type.getElementType();
  for (double &v : t.floats)
    v = ir::roundTo(v * (rng.chance(0.5) ? 1 + scale : 1 - scale), e);
}

Name Graph::input(Type element, Shape shape) {
  Value v{Tensor(RankedTensorType::get(shape, element)), {}, false};
  for (double &x : v.value.floats)
    x = ir::roundTo(rng.normal(), element);
  for (int64_t &x : v.value.ints)
    x = element.isInteger(1) ? rng.range(0, 1) : ir::isUnsignedElement(element) ? rng.range(0, 20) : rng.range(-10, 10);
  v.twin = v.value;
  disturb(v.twin, 20 * roundingOf(element));
  Name n = name("x");
  values.emplace(n, std::move(v));
  order.push_back(n);
  inputs.push_back(n);
  return n;
}

Name Graph::constant(Tensor t) {
  Name n = name("c");
  values.emplace(n, Value{t, t, true});
  return n;
}

Name Graph::random(Type element, Shape shape, double scale) {
  Tensor t(RankedTensorType::get(shape, element));
  for (double &x : t.floats)
    x = ir::roundTo(rng.normal() * scale, element);
  for (int64_t &x : t.ints)
    x = element.isInteger(1) ? rng.range(0, 1) : ir::isUnsignedElement(element) ? rng.range(0, 12) : rng.range(-6, 6);
  return constant(std::move(t));
}

Name Graph::ints(const Shape &numbers, const Shape &shape) {
  Tensor t(RankedTensorType::get(shape, build.getI64Type()));
  t.ints = numbers;
  return constant(std::move(t));
}

Name Graph::scalar(Type element, double v) {
  Tensor t(RankedTensorType::get({}, element));
  if (t.isFloat())
    t.floats[0] = ir::roundTo(v, element);
  else
    t.ints[0] = ir::wrapTo(int64_t(v), element);
  return constant(std::move(t));
}

std::optional<Name> Graph::pick(llvm::function_ref<bool(const Value &)> ok) {
  Names fit;
  for (const Name &n : order)
    if (values.at(n).value.size() && ok(values.at(n)))
      fit.push_back(n);
  if (fit.empty())
    return std::nullopt;
  size_t recent = rng.chance(0.7) && fit.size() > 6 ? fit.size() - 6 : 0;
  return fit[recent + rng.next() % (fit.size() - recent)];
}

std::optional<Name> Graph::pickFloat(llvm::function_ref<bool(const Value &)> ok) {
  return pick([&](const Value &v) { return v.isFloat() && ok(v); });
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// A model of these nodes alone. `inputs` become the names of its inputs, those of subgraphs among them.
Model Graph::single(const std::vector<onnx::NodeProto> &group, const Names &results, const Names &captures,
                    Names &inputs) {
  Model m = emptyModel();
  std::set<Name> used(captures.begin(), captures.end());
  for (const onnx::NodeProto &node : group) {
    used.insert(node.input().begin(), node.input().end());
    *m.mutable_graph()->add_node() = node;
  }
  for (const Name &n : used) {
    auto it = values.find(n);
    if (it == values.end()) // made by one of the group
      continue;
    if (it->second.constant) {
      *m.mutable_graph()->add_initializer() = toProto(it->second.value, n);
      continue;
    }
    inputs.push_back(n);
    onnx::ValueInfoProto &info = *m.mutable_graph()->add_input();
    info.set_name(n);
    setType(info, it->second.value);
  }
  for (const Name &o : results)
    m.mutable_graph()->add_output()->set_name(o);
  return m;
}

std::optional<std::vector<Tensor>> Graph::evaluate(ModuleOp module, const Names &inputs, bool twin) {
  std::vector<Tensor> in;
  for (const Name &n : inputs)
    in.push_back(twin ? values.at(n).twin : values.at(n).value);
  Expected<std::vector<Tensor>> out = interpret::interpret(module, in);
  if (out)
    return std::move(*out);
  llvm::consumeError(out.takeError());
  return std::nullopt;
}

bool Graph::sound(const Value &v) const {
  constexpr int64_t maxElements = 4000;
  if (v.value.size() > maxElements || v.value.shape() != v.twin.shape() || v.rank() > 6)
    return false;
  if (!v.isFloat())
    return v.value.ints == v.twin.ints;
  double most = 0, off = 0, limit = v.element().isF16() ? 200 : 1000;
  for (auto [x, y] : llvm::zip(v.value.floats, v.twin.floats)) {
    if (!std::isfinite(x) || std::fabs(x) > limit)
      return false;
    most = std::max(most, std::fabs(x));
    off = std::max(off, std::fabs(x - y));
  }
  double allowed = std::max(5e-3, 25 * roundingOf(v.element()));
  return off <= allowed * std::max(most, 1e-2);
}

bool Graph::add(const std::string &op, const Names &inputs, const std::vector<Attr> &attrs, unsigned outputs,
                const Names &captures) {
  Names results;
  for (unsigned i = 0; i < outputs; ++i)
    results.push_back(name("t"));
  return addGroup({makeNode(op, inputs, results, attrs)}, results, captures);
}

bool Graph::addGroup(const std::vector<onnx::NodeProto> &group, const Names &results, const Names &captures) {
  for (const onnx::NodeProto &node : group) {
    ++tried[node.op_type()].first;
    enter("generate " + node.op_type());
  }
  Names from;
  Expected<Module> module = import(single(group, results, captures, from), context);
  if (!module) {
    llvm::consumeError(module.takeError());
    return false;
  }
  std::optional<std::vector<Tensor>> value = evaluate(**module, from, false), twin = evaluate(**module, from, true);
  if (!value || !twin)
    return false;
  std::vector<Value> made;
  for (unsigned i = 0; i < results.size(); ++i) {
    made.push_back({std::move((*value)[i]), std::move((*twin)[i]), false});
    if (!sound(made.back()))
      return false;
    disturb(made.back().twin, 5 * roundingOf(made.back().element()));
  }
  for (unsigned i = 0; i < results.size(); ++i) {
    values.emplace(results[i], std::move(made[i]));
    order.push_back(results[i]);
  }
  for (const onnx::NodeProto &node : group) {
    nodes.push_back(node);
    ++tried[node.op_type()].second;
  }
  last = results;
  return true;
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

Tensors Graph::inputValues() const {
  Tensors out;
  std::set<Name> used;
  for (const onnx::NodeProto &n : nodes)
    collectUses(n, used);
  for (const Name &n : inputs)
    if (used.count(n))
      out.emplace(n, values.at(n).value);
  return out;
}

Model Graph::finish(bool open) {
  Model m = emptyModel();
  std::set<Name> used;
  for (const onnx::NodeProto &n : nodes) {
    collectUses(n, used);
    *m.mutable_graph()->add_node() = n;
  }
  for (const auto &[n, v] : values)
    if (v.constant && used.count(n))
      *m.mutable_graph()->add_initializer() = toProto(v.value, n);
  for (const auto &[n, v] : inputValues()) {
    onnx::ValueInfoProto &info = *m.mutable_graph()->add_input();
    info.set_name(n);
    std::vector<std::string> symbols;
    for (int64_t d = 0; open && d < v.type.getRank(); ++d)
      symbols.push_back(n + "_" + std::to_string(d));
    setType(info, v, symbols);
  }
  for (const onnx::NodeProto &n : nodes)
    for (const std::string &o : n.output())
      if (values.count(o) && (!used.count(o) || rng.chance(0.15)))
        m.mutable_graph()->add_output()->set_name(o);
  return m;
}

//===----------------------------------------------------------------------===//
// Growth
//===----------------------------------------------------------------------===//

bool fuzz::grow(Graph &g) {
  static const std::vector<Family> all = [] {
    std::vector<Family> out;
    for (auto list : {elementwiseSteps, viewSteps, reductionSteps, windowSteps, productSteps, indexSteps, integerSteps,
                      quantizationSteps, controlSteps, otherSteps})
      llvm::append_range(out, list());
    return out;
  }();
  static const uint64_t total = [] {
    uint64_t sum = 0;
    for (const Family &f : all)
      sum += f.weight;
    return sum;
  }();
  uint64_t at = g.rng.next() % total;
  for (const Family &f : all) {
    if (at < f.weight)
      return f.step(g);
    at -= f.weight;
  }
  return false;
}

/// The element types of a graph: one kind of float throughout, integers beside it in some.
static Type floatType(Graph &g) {
  double q = g.rng.unit();
  return q < 0.76   ? g.build.getF32Type()
         : q < 0.84 ? g.build.getF64Type()
         : q < 0.93 ? g.build.getF16Type()
                    : Type(g.build.getBF16Type());
}

static Shape inputShape(Graph &g) {
  Rng &r = g.rng;
  if (r.chance(0.45))
    return {r.range(1, 3), r.of<int64_t>({1, 3, 4, 8, 16, 17}), r.range(3, 9), r.range(3, 9)};
  Shape shape(r.range(1, 4));
  for (int64_t &d : shape)
    d = r.range(1, 9);
  return shape;
}

void fuzz::generate(Graph &g) {
  Type type = floatType(g);
  for (int64_t i = g.rng.range(1, 3); i > 0; --i)
    g.input(type, inputShape(g));
  if (g.rng.chance(0.25))
    g.input(g.rng.of<Type>({g.build.getI64Type(), g.build.getI32Type(), g.build.getI8Type(),
                            g.build.getIntegerType(8, false), g.build.getI16Type(), g.build.getIntegerType(32, false)}),
            inputShape(g));
  if (g.rng.chance(0.1))
    g.input(g.build.getI1Type(), inputShape(g));
  size_t wanted = g.rng.range(3, 14);
  for (int tries = 0; g.numNodes() < wanted && tries < 60; ++tries)
    grow(g);
}
