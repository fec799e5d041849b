//===- Regions.cpp - Higher-order operators as plain nodes ------------------===//

#include "Regions.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSwitch.h"

using namespace lathe;
using namespace lathe::fx;
using llvm::StringRef;
using shape::Expr;
using Kind = Argument::Kind;

namespace {

/// More nodes than this are not made of a loop that is written out.
constexpr size_t maxNodes = 200000;

Argument tensorArgument(const std::string &name) {
  Argument a;
  a.kind = Kind::Tensor;
  a.tensors.push_back(name);
  return a;
}

Argument intArgument(const Expr &value) {
  Argument a;
  a.kind = Kind::Int;
  a.ints.push_back({value, value.str()});
  return a;
}

Node makeNode(const std::string &name, const char *target, std::vector<NamedArgument> inputs, Argument output) {
  Node n;
  n.name = name;
  n.target = target;
  n.inputs = std::move(inputs);
  n.outputs.push_back(std::move(output));
  return n;
}

class Flattener {
public:
  Flattener(Graph &program, const std::set<std::string> &kept) : program(program), kept(kept) {}
  void run();

private:
  void add(const Node &node);
  void keep(const Node &node);
  bool flatten(const Node &node);
  bool region(const Node &node, size_t graphAt);
  bool branches(const Node &node);
  bool loop(const Node &node, bool carries);
  bool associative(const Node &node);
  bool inlineGraph(const Graph &graph, const std::vector<Argument> &operands, const std::vector<std::string> &results,
                   const std::string &prefix, std::optional<DType> precision = std::nullopt);
  void castOperands(Node &node, DType precision, const std::string &prefix);
  std::string taken(const std::string &like, const std::string &name);
  void define(const std::string &name, const TensorMeta &meta) { program.tensors.emplace(name, meta); }

  Graph &program;
  const std::set<std::string> &kept; ///< conds
  std::string branch;                ///< the outermost cond whose branch is being added
  std::vector<Node> nodes;
};

} // namespace

static void flattenGraph(Graph &graph, const std::set<std::string> &kept);

/// The arguments from one on, lists of tensors one by one.
static std::vector<Argument> operandsFrom(const Node &node, size_t first) {
  std::vector<Argument> all;
  for (size_t i = first; i < node.inputs.size(); ++i) {
    const Argument &a = node.inputs[i].value;
    if (a.kind == Kind::Tensors)
      for (const std::string &name : a.tensors)
        all.push_back(tensorArgument(name));
    else if (a.kind == Kind::Tensor || a.kind == Kind::Int)
      all.push_back(a);
  }
  return all;
}

/// The names of the results; "" for one that is no tensor.
static std::vector<std::string> resultsOf(const Node &node) {
  std::vector<std::string> names;
  for (const Argument &a : node.outputs)
    if (a.kind == Kind::Tensor || a.kind == Kind::Tensors)
      names.insert(names.end(), a.tensors.begin(), a.tensors.end());
    else
      names.push_back("");
  return names;
}

static const Graph *graphAt(const Node &node, size_t i) {
  return i < node.inputs.size() ? node.inputs[i].value.graph.get() : nullptr;
}

/// Operators that autocast runs in the region's precision whatever their operands have.
static bool isNarrowed(StringRef op) {
  return llvm::StringSwitch<bool>(op)
      .Cases("matmul", "mm", "bmm", "addmm", "addbmm", "baddbmm", "linear", true)
      .Cases("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution", true)
      .Cases("scaled_dot_product_attention", "einsum", "chain_matmul", "linalg_multi_dot", "prelu", true)
      .Default(false);
}

/// What autocast does within an operator: operands get the result's type.
void Flattener::castOperands(Node &node, DType precision, const std::string &prefix) {
  StringRef op = node.target;
  op.consume_front("aten.");
  std::vector<std::string> results = resultsOf(node);
  auto result = results.empty() ? program.tensors.end() : program.tensors.find(results[0]);
  constexpr DType f32 = 7;
  if (result == program.tensors.end() || result->second.dtype != precision || !isNarrowed(op.split('.').first))
    return;
  for (NamedArgument &input : node.inputs)
    for (std::string &name : input.value.tensors) {
      auto operand = program.tensors.find(name);
      if (operand == program.tensors.end() || operand->second.dtype != f32)
        continue;
      TensorMeta meta = operand->second;
      meta.dtype = precision;
      std::string cast = taken(prefix, name);
      define(cast, meta);
      nodes.push_back(makeNode(cast, "aten._to_copy.default", {{"self", tensorArgument(name)}}, tensorArgument(cast)));
      name = cast;
    }
}

/// A name that no tensor has.
std::string Flattener::taken(const std::string &like, const std::string &name) {
  std::string free = like + name;
  for (int i = 1; program.tensors.count(free); ++i)
    free = like + name + "_" + std::to_string(i);
  return free;
}

bool Flattener::inlineGraph(const Graph &graph, const std::vector<Argument> &operands, const std::vector<std::string> &results,
                            const std::string &prefix, std::optional<DType> precision) {
  if (operands.size() != graph.takes.size() || results.size() > graph.gives.size() || nodes.size() > maxNodes)
    return false;
  std::map<std::string, std::string> names, conditions;
  for (auto [inner, outer] : llvm::zip(graph.takes, operands))
    if (inner.kind == Kind::Tensor && outer.kind == Kind::Tensor)
      names[inner.tensors[0]] = outer.tensors[0];
    else if (inner.kind != Kind::Int)
      return false;
  std::set<std::string> made;
  for (const Node &n : graph.nodes)
    for (const std::string &name : resultsOf(n))
      made.insert(name);
  std::vector<size_t> copied; // results that are an operand, or the same as another
  for (auto [i, outer] : llvm::enumerate(results)) {
    if (graph.gives[i].kind != Kind::Tensor)
      return false;
    const std::string &inner = graph.gives[i].tensors[0];
    if (outer.empty() || !made.count(inner) || !names.emplace(inner, outer).second)
      copied.push_back(i);
  }
  for (const auto &[name, meta] : graph.tensors)
    if (!names.count(name)) {
      names[name] = taken(prefix, name);
      define(names[name], meta);
    }
  for (const auto &[name, condition] : graph.conditions) {
    conditions[name] = prefix + name;
    program.conditions.emplace(prefix + name, condition);
  }
  auto rename = [&](Argument &a) {
    for (std::string &tensor : a.tensors)
      if (auto found = names.find(tensor); found != names.end())
        tensor = found->second;
    if (auto found = conditions.find(a.symbol); found != conditions.end())
      a.symbol = found->second;
  };
  for (Node n : graph.nodes) {
    n.name = prefix + n.name;
    for (NamedArgument &input : n.inputs)
      rename(input.value);
    llvm::for_each(n.outputs, rename);
    if (precision)
      castOperands(n, *precision, prefix);
    add(n);
  }
  for (size_t i : copied)
    if (!results[i].empty()) {
      Argument from = graph.gives[i];
      rename(from);
      nodes.push_back(makeNode(results[i], "aten.alias.default", {{"self", from}}, tensorArgument(results[i])));
    }
  return true;
}

/// A graph that runs once, with what follows it.
bool Flattener::region(const Node &node, size_t at) {
  const Graph *graph = graphAt(node, at);
  std::optional<DType> precision;
  if (at == 4 && node.inputs[1].value.kind == Kind::DType && node.inputs[2].value.kind == Kind::Bool &&
      !node.inputs[2].value.ints[0].expr->isZero())
    precision = node.inputs[1].value.ints[0].expr->constant();
  return graph && inlineGraph(*graph, operandsFrom(node, at + 1), resultsOf(node), node.name + ".", precision);
}

/// Whether more comes of running the graph than its results: a loop may never end, and an assertion may not hold.
static bool hasEffect(const Graph &graph) {
  return llvm::any_of(graph.nodes, [](const Node &n) {
    StringRef target = n.target;
    return target.contains("while_loop") || target.contains("_assert_async") || target.contains("_assert_scalar") ||
           target.contains("sym_constrain_range") ||
           llvm::any_of(n.inputs, [](const NamedArgument &a) { return a.value.graph && hasEffect(*a.value.graph); });
  });
}

/// Both branches run, if that has no effect beside their results; else the importer makes branches of them.
bool Flattener::branches(const Node &node) {
  const Graph *graphs[] = {graphAt(node, 1), graphAt(node, 2)};
  if (!graphs[0] || !graphs[1] || node.inputs.size() < 4)
    return false;
  Argument condition = node.inputs[0].value;
  std::vector<Argument> operands = operandsFrom(node, 3);
  std::vector<std::string> results = resultsOf(node), parts[2];
  if (condition.kind == Kind::Bool)
    return inlineGraph(*graphs[condition.ints[0].expr->isZero() ? 1 : 0], operands, results, node.name + ".");
  if (auto known = program.conditions.find(condition.symbol); condition.kind == Kind::Other && known != program.conditions.end()) {
    if (!known->second.condition)
      return false;
    TensorMeta meta;
    meta.dtype = 12; // bool
    std::string name = taken(node.name + ".", "condition");
    define(name, meta);
    nodes.push_back(makeNode(name, "aten._holds.default", {{"excess", intArgument(known->second.condition->excess())}}, tensorArgument(name)));
    std::string symbol = condition.symbol;
    condition = tensorArgument(name);
    condition.symbol = symbol;
  }
  if (condition.kind != Kind::Tensor)
    return false;
  if (kept.count(node.name) || hasEffect(*graphs[0]) || hasEffect(*graphs[1])) {
    Node kept = node;
    kept.inputs[0].value = condition;
    keep(kept);
    return true;
  }
  std::string outer = branch;
  auto leave = llvm::make_scope_exit([&] { branch = outer; });
  if (branch.empty())
    branch = node.name;
  for (int i = 0; i < 2; ++i) {
    std::string prefix = node.name + (i ? ".else." : ".then.");
    for (const std::string &result : results) {
      auto meta = program.tensors.find(result);
      if (meta == program.tensors.end())
        return false;
      parts[i].push_back(taken(prefix, "result." + result));
      define(parts[i].back(), meta->second);
    }
    if (!inlineGraph(*graphs[i], operands, parts[i], prefix))
      return false;
  }
  for (size_t i = 0; i < results.size(); ++i)
    nodes.push_back(makeNode(results[i], "aten.where.self",
                             {{"condition", condition}, {"self", tensorArgument(parts[0][i])}, {"other", tensorArgument(parts[1][i])}},
                             tensorArgument(results[i])));
  return true;
}

/// map(f, xs, others), and scan(f, carried, xs, others): f takes what is carried, the i-th slices and the others, and gives what
/// is carried next and what is stacked.
bool Flattener::loop(const Node &node, bool carries) {
  size_t first = carries ? 2 : 1;
  const Graph *graph = graphAt(node, 0);
  auto isList = [&](size_t i) { return i < node.inputs.size() && node.inputs[i].value.kind == Kind::Tensors; };
  if (!graph || !isList(first) || (carries && !isList(1)))
    return false;
  std::vector<std::string> carried = carries ? node.inputs[1].value.tensors : std::vector<std::string>(), results = resultsOf(node);
  const std::vector<std::string> &lists = node.inputs[first].value.tensors;
  auto list = lists.empty() ? program.tensors.end() : program.tensors.find(lists[0]);
  if (list == program.tensors.end() || list->second.sizes.empty() || !list->second.sizes[0].expr || results.size() < carried.size())
    return false;
  std::optional<int64_t> length = list->second.sizes[0].expr->constant();
  if (!length || *length < 1 || *length > 256 || graph->takes.size() < carried.size() + lists.size() || graph->gives.size() != results.size())
    return false;
  std::vector<std::vector<std::string>> stacked(results.size() - carried.size());
  for (int64_t i = 0; i < *length; ++i) {
    std::string prefix = node.name + "." + std::to_string(i) + ".";
    std::vector<Argument> operands;
    for (const std::string &name : carried)
      operands.push_back(tensorArgument(name));
    for (auto [k, name] : llvm::enumerate(lists)) {
      const Argument &inner = graph->takes[carried.size() + k];
      auto meta = inner.kind == Kind::Tensor ? graph->tensors.find(inner.tensors[0]) : graph->tensors.end();
      if (meta == graph->tensors.end())
        return false;
      std::string slice = taken(prefix, "slice." + name);
      define(slice, meta->second);
      nodes.push_back(makeNode(slice, "aten.select_copy.int",
                               {{"self", tensorArgument(name)}, {"dim", intArgument(Expr(0))}, {"index", intArgument(Expr(i))}},
                               tensorArgument(slice)));
      operands.push_back(tensorArgument(slice));
    }
    for (const Argument &a : operandsFrom(node, first + 1))
      operands.push_back(a);
    std::vector<std::string> gives;
    for (auto [k, a] : llvm::enumerate(graph->gives)) {
      auto meta = a.kind == Kind::Tensor ? graph->tensors.find(a.tensors[0]) : graph->tensors.end();
      if (meta == graph->tensors.end())
        return false;
      gives.push_back(taken(prefix, "result" + std::to_string(k)));
      define(gives.back(), meta->second);
    }
    if (!inlineGraph(*graph, operands, gives, prefix))
      return false;
    carried.assign(gives.begin(), gives.begin() + carried.size());
    for (size_t k = carried.size(); k < gives.size(); ++k)
      stacked[k - carried.size()].push_back(gives[k]);
  }
  for (auto [k, result] : llvm::enumerate(results)) {
    if (k < carried.size()) {
      nodes.push_back(makeNode(result, "aten.clone.default", {{"self", tensorArgument(carried[k])}}, tensorArgument(result)));
      continue;
    }
    Argument parts;
    parts.kind = Kind::Tensors;
    parts.tensors = stacked[k - carried.size()];
    nodes.push_back(makeNode(result, "aten.stack.default", {{"tensors", parts}, {"dim", intArgument(Expr(0))}}, tensorArgument(result)));
  }
  return true;
}

/// associative_scan(f, xs, others): the first slices, then f of the results so far and the next slices, stacked.
bool Flattener::associative(const Node &node) {
  const Graph *graph = graphAt(node, 0);
  if (!graph || node.inputs.size() < 2 || node.inputs[1].value.kind != Kind::Tensors)
    return false;
  const std::vector<std::string> &lists = node.inputs[1].value.tensors;
  std::vector<std::string> results = resultsOf(node), state;
  auto list = lists.empty() ? program.tensors.end() : program.tensors.find(lists[0]);
  if (list == program.tensors.end() || list->second.sizes.empty() || !list->second.sizes[0].expr)
    return false;
  std::optional<int64_t> length = list->second.sizes[0].expr->constant();
  if (!length || *length < 1 || *length > 256 || graph->takes.size() < 2 * lists.size() || graph->gives.size() != lists.size() ||
      results.size() != lists.size())
    return false;
  std::vector<std::vector<std::string>> stacked(lists.size());
  for (int64_t i = 0; i < *length; ++i) {
    std::string prefix = node.name + "." + std::to_string(i) + ".";
    std::vector<std::string> slices, next;
    for (auto [k, name] : llvm::enumerate(lists)) {
      const Argument &inner = graph->takes[lists.size() + k];
      auto meta = inner.kind == Kind::Tensor ? graph->tensors.find(inner.tensors[0]) : graph->tensors.end();
      if (meta == graph->tensors.end())
        return false;
      slices.push_back(taken(prefix, "slice." + name));
      define(slices.back(), meta->second);
      nodes.push_back(makeNode(slices.back(), "aten.select_copy.int",
                               {{"self", tensorArgument(name)}, {"dim", intArgument(Expr(0))}, {"index", intArgument(Expr(i))}},
                               tensorArgument(slices.back())));
      if (i == 0)
        continue;
      next.push_back(taken(prefix, "result" + std::to_string(k)));
      define(next.back(), meta->second);
    }
    if (i > 0) {
      std::vector<Argument> operands;
      for (const auto *names : {&state, &slices})
        for (const std::string &name : *names)
          operands.push_back(tensorArgument(name));
      llvm::append_range(operands, operandsFrom(node, 2));
      if (!inlineGraph(*graph, operands, next, prefix))
        return false;
    }
    state = i == 0 ? slices : next;
    for (size_t k = 0; k < state.size(); ++k)
      stacked[k].push_back(state[k]);
  }
  for (size_t k = 0; k < results.size(); ++k) {
    Argument parts;
    parts.kind = Kind::Tensors;
    parts.tensors = stacked[k];
    nodes.push_back(makeNode(results[k], "aten.stack.default", {{"tensors", parts}, {"dim", intArgument(Expr(0))}}, tensorArgument(results[k])));
  }
  return true;
}

bool Flattener::flatten(const Node &node) {
  StringRef op = node.target;
  if (!op.consume_front("higher_order."))
    return false;
  if (op == "wrap_with_set_grad_enabled")
    return region(node, 1);
  if (op == "wrap_with_autocast")
    return region(node, 4);
  if (op == "invoke_subgraph" || op == "wrap" || op == "hints_wrapper" || op == "tag_activation_checkpoint" || op == "strict_mode" ||
      op == "wrap_activation_checkpoint")
    return region(node, 0);
  if (op == "associative_scan")
    return associative(node);
  return op == "cond" ? branches(node) : op == "map_impl" ? loop(node, false) : op == "scan" ? loop(node, true) : false;
}

void Flattener::add(const Node &node) {
  size_t before = nodes.size();
  if (flatten(node))
    return;
  nodes.resize(before);
  keep(node);
}

/// A node that is left to the importer.
void Flattener::keep(const Node &node) {
  nodes.push_back(node);
  nodes.back().branch = branch;
  for (NamedArgument &input : nodes.back().inputs)
    if (input.value.graph) {
      input.value.graph = std::make_shared<Graph>(*input.value.graph);
      flattenGraph(*input.value.graph, kept);
    }
}

void Flattener::run() {
  for (const Node &node : std::exchange(program.nodes, {}))
    add(node);
  program.nodes = std::move(nodes);
}

static void flattenGraph(Graph &graph, const std::set<std::string> &kept) {
  if (llvm::any_of(graph.nodes, [](const Node &n) { return StringRef(n.target).starts_with("higher_order."); }))
    Flattener(graph, kept).run();
}

void fx::flattenRegions(Program &program, const std::set<std::string> &branches) { flattenGraph(program, branches); }
