//===- GraphImporter.cpp - The walk over a model's graph -------------------===//

#include "GraphImporter.h"
#include "OpTable.h"
#include "Tensors.h"
#include "lathe/Dialect/Lathe/ElementTypes.h"
#include "lathe/Dialect/Lathe/GraphBuilder.h"
#include "lathe/Dialect/Lathe/ModelNode.h"
#include "lathe/Import/Elements.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::onnx;

/// Models that grow beyond this many nodes by inlining are refused.
static constexpr size_t kMaxNodes = 1000000;
/// Of a node's place only so many characters are kept, the last ones: every node that a call inlines has one.
static constexpr size_t kMaxPlace = 500;

GraphImporter::GraphImporter(Session &session) : state(session), b(session.context), nodesLeft(kMaxNodes) {}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

static std::string domainPrefix(const NodeProto &node) {
  return node.domain().empty() || node.domain() == "ai.onnx" ? "" : node.domain() + ".";
}

std::string GraphImporter::placeOf(const NodeProto &node, const Scope &scope) {
  std::string place = scope.path + nameOf(node);
  if (place.size() <= kMaxPlace)
    return place;
  size_t cut = place.size() - kMaxPlace;
  while (cut < place.size() && (place[cut] & 0xc0) == 0x80) // within a character
    ++cut;
  return "..." + place.substr(cut);
}

void GraphImporter::report(const NodeProto *node, const Scope *scope, int64_t version, const Failure &failure) {
  Report r;
  r.isUnsupported = failure.isUnsupported;
  r.opset = version;
  if (node) {
    r.node = placeOf(*node, *scope);
    r.op = domainPrefix(*node) + node->op_type();
    r.message = llvm::formatv("{0}: node '{1}' ({2}, opset {3}): {4}", state.file.name(), r.node, r.op, version, failure.message);
  } else {
    r.message = llvm::formatv("{0}: {1}", state.file.name(), failure.message);
  }
  if (messages.insert(r.message).second)
    failures.push_back(std::move(r));
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::optional<Value> GraphImporter::lookup(const std::string &name, Scope &scope) {
  for (Scope *s = &scope; s; s = s->sealed ? nullptr : s->parent) {
    if (auto it = s->values.find(name); it != s->values.end())
      return bring(it->second);
    if (auto it = s->initializers.find(name); it != s->initializers.end()) {
      auto loc = NameLoc::get(b.getStringAttr(name));
      OpBuilder::InsertionGuard guard(b);
      if (s->region && s->region != region)
        b.setInsertionPointToStart(&s->region->function.getBody().front());
      s->values[name] = constantValue(*it->second, loc);
      return bring(s->values[name]);
    }
  }
  return std::nullopt;
}

bool GraphImporter::isAbsent(const std::string &name, const Scope &scope) const {
  for (const Scope *s = &scope; s; s = s->sealed ? nullptr : s->parent)
    if (s->absent.count(name))
      return true;
  return name.empty();
}

void GraphImporter::define(const std::string &name, Value v, Scope &scope) {
  if (scope.initializers.count(name) || !scope.values.emplace(name, v).second)
    failWrong("value '{0}' is defined twice", name);
}

void GraphImporter::addInitializers(const GraphProto &graph, Scope &scope) {
  for (const TensorProto &t : graph.initializer())
    if (!t.name().empty() && !scope.initializers.emplace(t.name(), &t).second)
      failWrong("initializer '{0}' is there twice", t.name());
  if (graph.sparse_initializer_size())
    failUnsupported("sparse initializer '{0}'", graph.sparse_initializer(0).values().name());
}

ElementsAttr GraphImporter::constant(const TensorProto &tensor) {
  ElementsAttr &value = state.constants[&tensor];
  if (!value)
    value = tensorValue(tensor, state.file, state.context);
  return value;
}

Value GraphImporter::constantValue(const TensorProto &tensor, Location loc) {
  Value v = b.create<ir::ConstantOp>(loc, constant(tensor));
  Type element = elementType(tensor.data_type(), state.context);
  const ir::NarrowType *narrow = ir::narrowType(element);
  if (!narrow)
    return v;
  ir::GraphBuilder g(b, loc, state.sizes.facts());
  if (narrow->bits < 8 && !narrow->isInteger())
    v = g.cast(v, b.getIntegerType(narrow->bits, false));
  return narrow->isInteger() ? g.cast(v, element) : g.bitcast(v, element);
}

std::map<std::string, int64_t>
GraphImporter::opsetsOf(const google::protobuf::RepeatedPtrField<OperatorSetIdProto> &imports) const {
  std::map<std::string, int64_t> opsets;
  for (const OperatorSetIdProto &i : imports)
    opsets[i.domain() == "ai.onnx" ? "" : i.domain()] = i.version();
  return opsets;
}

namespace {
/// A node that cannot be read for a reason that is in the report already.
struct Reported {};
} // namespace

int64_t GraphImporter::versionFor(const NodeProto &node, const Scope &scope) {
  std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
  auto it = scope.opsets.find(domain);
  if (it != scope.opsets.end())
    return it->second;
  if (missingDomains.insert(domain).second)
    failWrong("the model imports no operator set for {0}", domain.empty() ? "the default domain" : "the domain '" + domain + "'");
  throw Reported{};
}

Attributes GraphImporter::resolveAttributes(const NodeProto &node, const Scope &scope) const {
  Attributes out;
  for (const AttributeProto &a : node.attribute()) {
    const AttributeProto *value = &a;
    if (!a.ref_attr_name().empty()) {
      auto it = scope.attributes.find(a.ref_attr_name());
      if (it == scope.attributes.end())
        continue; // an attribute that the caller leaves to its default
      value = it->second;
    }
    if (!out.emplace(a.name(), value).second)
      failWrong("attribute '{0}' is there twice", a.name());
  }
  return out;
}

const FunctionProto *GraphImporter::findFunction(const NodeProto &node) const {
  for (const FunctionProto &f : state.file.model().functions())
    if (f.name() == node.op_type() && f.domain() == node.domain() && f.overload() == node.overload())
      return &f;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// Whether an operand may be a sequence or an empty optional (Ops/Sequences.h).
static bool takesList(StringRef op, unsigned operand) {
  struct Range {
    unsigned first, last;
  };
  static const std::map<StringRef, Range> operands = {
      {"Identity", {0, 0}},      {"Optional", {0, 0}},       {"OptionalGetElement", {0, 0}}, {"OptionalHasElement", {0, 0}},
      {"SequenceAt", {0, 0}},    {"SequenceInsert", {0, 0}}, {"SequenceErase", {0, 0}},      {"SequenceLength", {0, 0}},
      {"SequenceMap", {0, ~0u}}, {"Loop", {2, ~0u}},         {"ConcatFromSequence", {0, 0}}};
  auto it = operands.find(op);
  return it != operands.end() && operand >= it->second.first && operand <= it->second.last;
}

static bool isTensor(Value v) { return isa<RankedTensorType>(v.getType()); }

void GraphImporter::checkResult(Value v) const {
  if (!isTensor(v))
    return;
  int64_t count = 1;
  for (const Expr &e : ir::dimsOf(v)) {
    if (e.isUnknown())
      failUnsupported("a size of the result does not fit 64-bit arithmetic");
    std::optional<int64_t> c = e.constant();
    if (c && *c < 0)
      failWrong("a size of the result is {0}: {1}", *c, describe(v.getType()));
    if (c && !multiplyElements(count, *c))
      failWrong("the result has too many elements: {0}", describe(v.getType()));
  }
}

/// What no handler reads might change what the node means.
static void checkAttributes(const NodeProto &node, const OpEntry &entry) {
  if (!node.attribute_size())
    return;
  StringRef known = attributesOf(entry.domain, entry.name);
  SmallVector<StringRef> names;
  known.split(names, ' ', -1, /*KeepEmpty=*/false);
  for (const AttributeProto &a : node.attribute())
    if (!llvm::is_contained(names, StringRef(a.name())))
      failWrong("attribute '{0}' is none of this operator's; it has {1}", a.name(), names.empty() ? "none" : llvm::join(names, ", "));
}

std::vector<Value> GraphImporter::runHandler(const NodeProto &node, Scope &scope, int64_t version) {
  const OpEntry *entry = findOp(node.domain(), node.op_type(), version);
  if (!entry) {
    const OpEntry *newer = findOp(node.domain(), node.op_type(), std::numeric_limits<int64_t>::max());
    for (const OpEntry &e : opTable())
      if (newer && e.domain == newer->domain && e.name == newer->name && e.since < newer->since)
        newer = &e;
    if (newer)
      failUnsupported("lathe knows this operator from opset {0} on; convert the model to a newer one", newer->since);
    failUnsupported("lathe does not know this operator");
  }
  checkAttributes(node, *entry);
  std::vector<Value> inputs;
  for (const std::string &name : node.input()) {
    std::optional<Value> v = isAbsent(name, scope) ? Value() : lookup(name, scope);
    if (!v)
      failWrong("operand '{0}' is neither an input, nor an initializer, nor the result of a node", name);
    if (*v && !isTensor(*v) && !takesList(node.op_type(), inputs.size()))
      failUnsupported("operand '{0}' is a sequence or an optional", name);
    inputs.push_back(*v);
  }
  Location loc = ir::nodeLocation(b.getContext(), placeOf(node, scope), node.op_type());
  Node n(*this, node, version, resolveAttributes(node, scope), std::move(inputs), loc);
  Scope *outer = std::exchange(current, &scope);
  try {
    entry->handler(n);
  } catch (...) {
    current = outer;
    throw;
  }
  current = outer;
  if (!n.g.misfit.empty())
    failWrong("sizes do not fit: {0}", n.g.misfit);
  for (unsigned i = 0; i < n.numOutputs(); ++i) {
    if (n.wants(i) && (i >= n.results().size() || !n.results()[i]))
      failUnsupported("its result {0} ('{1}')", i, node.output(i));
    if (n.wants(i))
      checkResult(n.results()[i]);
  }
  return n.results();
}

/// True where an operand's producer failed (and is reported); the node is left out then.
bool GraphImporter::readsFailure(const NodeProto &node, Scope &scope) {
  return llvm::any_of(node.input(), [&](const std::string &name) {
    std::optional<Value> v = isAbsent(name, scope) ? std::nullopt : lookup(name, scope);
    return v && !*v;
  });
}

void GraphImporter::importNode(const NodeProto &node, Scope &scope) {
  int64_t version = 0;
  try {
    if (nodesLeft-- == 0)
      throw LimitReached{llvm::formatv("the model has more than {0} nodes once its functions and loops are written out", kMaxNodes)};
    const FunctionProto *function = findFunction(node);
    version = versionFor(node, scope);
    if (!readsFailure(node, scope)) {
      if (function)
        return importCall(node, *function, scope);
      std::vector<Value> results = runHandler(node, scope, version);
      for (int i = 0; i < node.output_size(); ++i)
        if (!node.output(i).empty())
          define(node.output(i), results[i], scope);
      return;
    }
  } catch (const Failure &failure) {
    report(&node, &scope, version, failure);
  } catch (const Reported &) {
  } catch (const std::bad_alloc &) {
    report(&node, &scope, version, {false, "needs more memory than there is"});
  }
  for (const std::string &name : node.output())
    if (!name.empty())
      scope.values.emplace(name, Value());
}

void GraphImporter::importNodes(const Nodes &nodes, Scope &scope) {
  for (const NodeProto *node : sortedNodes(nodes))
    importNode(*node, scope);
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

static Type inputElement(const ValueInfoProto &input, MLIRContext *context) {
  if (input.type().value_case() != TypeProto::kTensorType) {
    if (input.type().value_case() == TypeProto::VALUE_NOT_SET)
      failWrong("input '{0}' has no type", input.name());
    failUnsupported("input '{0}' is not a tensor (a sequence, a map, an optional or a sparse tensor)", input.name());
  }
  try {
    return elementType(input.type().tensor_type().elem_type(), context);
  } catch (const Failure &failure) {
    throw Failure{failure.isUnsupported, "input '" + input.name() + "': " + failure.message};
  }
}

/// Whether it is a tensor of a type that is read. What reads another is left out, so that the other findings are reported, too.
bool GraphImporter::checkInput(const ValueInfoProto &input) {
  try {
    inputElement(input, state.context);
    return true;
  } catch (const Failure &failure) {
    report(nullptr, nullptr, 0, failure);
    top.values.emplace(input.name(), Value());
    return false;
  }
}

void GraphImporter::importInputs(const GraphProto &graph, func::FuncOp main, ArrayRef<const ValueInfoProto *> inputs) {
  SmallVector<Type> types;
  for (auto [i, input] : llvm::enumerate(inputs))
    types.push_back(ir::tensorType(state.sizes.inputDims(i), inputElement(*input, state.context)));
  main.setType(b.getFunctionType(types, {}));
  Block *block = main.addEntryBlock();
  for (auto [i, input] : llvm::enumerate(inputs)) {
    main.setArgAttr(i, "lathe.name", b.getStringAttr(input->name()));
    block->getArgument(i).setLoc(NameLoc::get(b.getStringAttr(input->name())));
    checkResult(block->getArgument(i));
  }
  // The signature keeps the model's names, by which the entry binds sizes; within, sizes that are known to be equal read the
  // same.
  b.setInsertionPointToEnd(block);
  for (auto [i, input] : llvm::enumerate(inputs)) {
    ir::GraphBuilder g(b, block->getArgument(i).getLoc(), state.sizes.facts());
    ir::Dims dims;
    for (const Expr &e : state.sizes.inputDims(i))
      dims.push_back(g.facts.simplify(e));
    Value bound = boundInput(i, *input, block->getArgument(i));
    define(input->name(), bound ? bound : g.reshape(block->getArgument(i), dims), top);
  }
}

void GraphImporter::importOutputs(const GraphProto &graph, func::FuncOp main) {
  SmallVector<Value> results;
  if (graph.output_size() == 0)
    failWrong("the graph has no outputs");
  for (const ValueInfoProto &output : graph.output()) {
    std::optional<Value> v = lookup(output.name(), top);
    if (!v)
      failWrong("output '{0}' is neither an input, nor an initializer, nor the result of a node", output.name());
    if (!*v)
      return; // its producer failed and is reported
    if (!isTensor(*v))
      failUnsupported("output '{0}' is a sequence or an optional; lathe's results are tensors", output.name());
    int32_t declared = output.type().tensor_type().elem_type();
    if (declared && elementType(declared, state.context) != ir::elementOf(*v))
      failWrong("output '{0}' is declared as {1}, but is computed as {2}", output.name(), elementTypeName(declared),
                describe(v->getType()));
    results.push_back(*v);
  }
  b.create<func::ReturnOp>(main.getLoc(), results);
  main.setType(b.getFunctionType(main.getArgumentTypes(), ValueRange(results).getTypes()));
  for (auto [i, output] : llvm::enumerate(graph.output()))
    main.setResultAttr(i, "lathe.name", b.getStringAttr(output.name()));
}

OwningOpRef<ModuleOp> GraphImporter::run() {
  const ModelProto &model = state.file.model();
  const GraphProto &graph = model.graph();
  Location loc = NameLoc::get(b.getStringAttr(graph.name().empty() ? "graph" : graph.name()));
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  try {
    top.opsets = opsetsOf(model.opset_import());
    if (auto it = top.opsets.find(""); it != top.opsets.end() && (it->second < kOldestOpset || it->second > kNewestOpset))
      failUnsupported("opset {0} of the default domain; this version reads {1} to {2}", it->second, kOldestOpset, kNewestOpset);
    addInitializers(graph, top);
    // Before version 4 of the format every initializer also was an input.
    std::vector<const ValueInfoProto *> inputs;
    for (const ValueInfoProto &input : graph.input())
      if (!top.initializers.count(input.name()))
        inputs.push_back(&input);
    checkBoundInputs(inputs);
    state.sizes.checkOptions(inputs);
    llvm::erase_if(inputs, [&](const ValueInfoProto *input) { return !checkInput(*input); });
    if (!std::exchange(state.declared, true))
      state.sizes.declareInputs(inputs);
    state.sizes.startRound();
    b.setInsertionPointToEnd(module->getBody());
    auto main = b.create<func::FuncOp>(loc, "main", b.getFunctionType({}, {}));
    root.function = main;
    top.region = &root;
    importInputs(graph, main, inputs);
    importNodes(graph.node(), top);
    importOutputs(graph, main);
    b.setInsertionPointToStart(module->getBody());
    state.sizes.emit(b, loc);
  } catch (const Failure &failure) {
    report(nullptr, nullptr, 0, failure);
  } catch (const LimitReached &limit) {
    report(nullptr, nullptr, 0, {true, limit.message});
  } catch (const std::bad_alloc &) {
    report(nullptr, nullptr, 0, {false, "the model needs more memory than there is"});
  }
  return module;
}
