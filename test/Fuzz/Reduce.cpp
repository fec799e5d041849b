//===- Reduce.cpp - The smallest model that still fails --------------------===//

#include "Reduce.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::fuzz;
using llvm::Expected;

void fuzz::collectUses(const onnx::NodeProto &node, std::set<std::string> &used) {
  used.insert(node.input().begin(), node.input().end());
  for (const auto &a : node.attribute())
    for (const onnx::NodeProto &inner : a.g().node())
      collectUses(inner, used);
}

namespace {

class Reducer {
public:
  Reducer(Case start, bool open, unsigned tries, StillFails fails, MLIRContext &context)
      : best(std::move(start)), open(open), tries(tries), fails(fails), context(context) {}
  Case run();

private:
  bool accept(Case candidate);
  void findValues();
  Case with(const std::set<std::string> &results, const std::set<std::string> &given) const;
  bool fewerResults();
  bool innerResults();
  bool laterStart();
  bool givenValues();
  bool smallerSizes();

  Case best;
  bool open;
  unsigned tries;
  StillFails fails;
  MLIRContext &context;
  Tensors values; ///< what each value of the model is
};

} // namespace

static std::set<std::string> resultsOf(const Model &m) {
  std::set<std::string> out;
  for (const auto &o : m.graph().output())
    out.insert(o.name());
  return out;
}

bool Reducer::accept(Case candidate) {
  if (!tries || candidate.model.graph().node().empty() ||
      candidate.model.SerializeAsString() == best.model.SerializeAsString())
    return false;
  --tries;
  if (!fails(candidate))
    return false;
  best = std::move(candidate);
  return true;
}

/// The model without what these results do not need; values in `given` become inputs.
Case Reducer::with(const std::set<std::string> &results, const std::set<std::string> &given) const {
  Case out{best.model, {}};
  onnx::GraphProto &graph = *out.model.mutable_graph();
  graph.clear_node(), graph.clear_input(), graph.clear_output(), graph.clear_initializer();
  std::set<std::string> needed = results;
  std::vector<const onnx::NodeProto *> kept;
  const onnx::GraphProto &from = best.model.graph();
  for (int i = from.node_size() - 1; i >= 0; --i) {
    const onnx::NodeProto &node = from.node(i);
    if (llvm::none_of(node.output(), [&](const std::string &o) { return needed.count(o) && !given.count(o); }))
      continue;
    kept.push_back(&node);
    collectUses(node, needed);
  }
  for (const onnx::NodeProto *node : llvm::reverse(kept))
    *graph.add_node() = *node;
  for (const auto &t : from.initializer())
    if (needed.count(t.name()))
      *graph.add_initializer() = t;
  auto addInput = [&](const std::string &name, const Tensor &t) {
    out.inputs.emplace(name, t);
    std::vector<std::string> symbols;
    for (int64_t d = 0; open && d < t.type.getRank(); ++d)
      symbols.push_back(name + "_" + std::to_string(d));
    onnx::ValueInfoProto &info = *graph.add_input();
    info.set_name(name);
    setType(info, t, symbols);
  };
  for (const auto &[name, t] : best.inputs)
    if (needed.count(name))
      addInput(name, t);
  for (const std::string &name : given)
    if (auto it = values.find(name); needed.count(name) && it != values.end() && !best.inputs.count(name))
      addInput(name, it->second);
  for (const std::string &name : results)
    graph.add_output()->set_name(name);
  return out;
}

/// Interprets the model with each value of an element type that inputs can have as a result.
void Reducer::findValues() {
  values.clear();
  for (const onnx::NodeProto &node : best.model.graph().node())
    for (const std::string &o : node.output()) {
      Case one = with({o}, {});
      Expected<Module> module = import(one.model, context);
      if (!module) {
        llvm::consumeError(module.takeError());
        continue;
      }
      Expected<std::vector<Tensor>> got = interpret::interpret(**module, ordered(**module, one.inputs));
      if (!got)
        llvm::consumeError(got.takeError());
      else if (dataTypeOf(got->front().type.getElementType()))
        values.emplace(o, std::move(got->front()));
    }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

bool Reducer::fewerResults() {
  std::set<std::string> all = resultsOf(best.model);
  if (all.size() < 2)
    return false;
  for (const std::string &one : all)
    if (accept(with({one}, {})))
      return true;
  bool any = false;
  for (const std::string &one : all) {
    std::set<std::string> rest = resultsOf(best.model);
    rest.erase(one);
    any |= !rest.empty() && accept(with(rest, {}));
  }
  return any;
}

/// Results from further up: without the last nodes.
bool Reducer::innerResults() {
  for (int n = 1; n < best.model.graph().node_size(); ++n) {
    std::set<std::string> made, results = resultsOf(best.model);
    for (int i = 0; i < n; ++i)
      made.insert(best.model.graph().node(i).output().begin(), best.model.graph().node(i).output().end());
    std::set<std::string> frontier;
    for (int i = n; i < best.model.graph().node_size(); ++i)
      collectUses(best.model.graph().node(i), frontier);
    frontier.insert(results.begin(), results.end());
    std::set<std::string> kept;
    for (const std::string &name : made)
      if (frontier.count(name) && values.count(name))
        kept.insert(name);
    if (!kept.empty() && accept(with(kept, {})))
      return true;
  }
  return false;
}

/// Without the first nodes: what they give is given.
bool Reducer::laterStart() {
  for (int n = best.model.graph().node_size() - 1; n > 0; --n) {
    std::set<std::string> given;
    for (int i = 0; i < n; ++i)
      for (const std::string &o : best.model.graph().node(i).output())
        if (values.count(o))
          given.insert(o);
    if (accept(with(resultsOf(best.model), given)))
      return true;
  }
  return false;
}

/// One node after the other becomes an input.
bool Reducer::givenValues() {
  std::vector<std::string> names;
  for (const onnx::NodeProto &node : best.model.graph().node())
    names.insert(names.end(), node.output().begin(), node.output().end());
  bool any = false;
  for (const std::string &name : names)
    if (values.count(name) && !resultsOf(best.model).count(name))
      any |= accept(with(resultsOf(best.model), {name}));
  return any;
}

/// The part of a tensor where dimensions of size `from` have size `to`.
static Tensor cut(const Tensor &t, int64_t from, int64_t to) {
  Shape shape(t.shape());
  for (int64_t &d : shape)
    d = d == from ? to : d;
  Tensor out(RankedTensorType::get(shape, t.type.getElementType()));
  SmallVector<int64_t> strides = ir::stridesOf(t.shape()), mine = ir::stridesOf(shape);
  for (int64_t i = 0; i < out.size(); ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      at += i / mine[d] % shape[d] * strides[d];
    out.copyFrom(t, at, i);
  }
  return out;
}

/// Dimensions of one size become smaller, everywhere, and so do integers in constants that look like it.
bool Reducer::smallerSizes() {
  std::set<int64_t, std::greater<int64_t>> sizes;
  for (const auto &[name, t] : best.inputs)
    sizes.insert(t.shape().begin(), t.shape().end());
  bool any = false;
  for (int64_t from : sizes)
    for (int64_t to : {int64_t(1), int64_t(2), from / 2}) {
      if (to >= from || to < 1)
        continue;
      Case smaller = best;
      onnx::GraphProto &graph = *smaller.model.mutable_graph();
      graph.clear_initializer();
      for (const auto &p : best.model.graph().initializer()) {
        Tensor t = cut(fromProto(p, &context), from, to);
        if (p.data_type() == onnx::TensorProto::INT64)
          std::replace(t.ints.begin(), t.ints.end(), from, to);
        *graph.add_initializer() = toProto(t, p.name());
      }
      for (auto &info : *graph.mutable_input()) {
        Tensor &t = smaller.inputs.at(info.name()) = cut(best.inputs.at(info.name()), from, to);
        if (!open)
          setType(info, t);
      }
      if (accept(std::move(smaller))) {
        any = true;
        break;
      }
    }
  return any;
}

Case Reducer::run() {
  for (bool progress = true; progress && tries;) {
    progress = fewerResults();
    findValues();
    progress |= laterStart();
    progress |= innerResults();
    progress |= givenValues();
    progress |= smallerSizes();
  }
  return std::move(best);
}

Case fuzz::reduceCase(Case start, bool open, unsigned tries, StillFails fails, MLIRContext &context) {
  return Reducer(std::move(start), open, tries, fails, context).run();
}
