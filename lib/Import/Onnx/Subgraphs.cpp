//===- Subgraphs.cpp - Functions, subgraphs, and the bodies of the host program -===//
//
// A call of a model-local function and a subgraph whose choice or count is known are written out where they stand. The others
// become functions of their own that the host program runs (docs/Rationale/HostProgram.md).
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"
#include "lathe/Dialect/Lathe/GraphBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::onnx;

/// Functions and subgraphs within one another beyond this are refused: each takes stack.
static constexpr unsigned kMaxDepth = 64;
/// Longer tensors are data and say no sizes.
static constexpr int64_t kMaxElements = 64;

//===----------------------------------------------------------------------===//
// What is written out in place
//===----------------------------------------------------------------------===//

void GraphImporter::importCall(const NodeProto &node, const FunctionProto &function, Scope &scope) {
  for (const Scope *s = &scope; s; s = s->parent)
    if (s->function == &function)
      failWrong("the function '{0}' calls itself, directly or through others", function.name());
  if (scope.depth >= kMaxDepth)
    failUnsupported("functions call one another more than {0} deep", kMaxDepth);
  Scope inner;
  inner.parent = &scope;
  inner.function = &function;
  inner.region = region;
  inner.sealed = true;
  inner.depth = scope.depth + 1;
  inner.path = placeOf(node, scope) + "/";
  inner.opsets = opsetsOf(function.opset_import());
  inner.attributes = resolveAttributes(node, scope);
  for (const AttributeProto &a : function.attribute_proto())
    inner.attributes.emplace(a.name(), &a);
  if (node.input_size() > function.input_size() || node.output_size() > function.output_size())
    failWrong("the function takes {0} operands and has {1} results, the node {2} and {3}", function.input_size(),
              function.output_size(), node.input_size(), node.output_size());
  for (int i = 0; i < function.input_size(); ++i) {
    if (i >= node.input_size() || isAbsent(node.input(i), scope)) {
      inner.absent.insert(function.input(i));
      continue;
    }
    std::optional<Value> v = lookup(node.input(i), scope);
    if (!v)
      failWrong("operand '{0}' is neither an input, nor an initializer, nor the result of a node", node.input(i));
    define(function.input(i), *v, inner);
  }
  importNodes(function.node(), inner);
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty())
      continue;
    std::optional<Value> v = lookup(function.output(i), inner);
    if (!v)
      failWrong("the function does not define its result '{0}'", function.output(i));
    define(node.output(i), *v, scope);
  }
}

std::vector<Value> GraphImporter::inlineSubgraph(const GraphProto &graph, ArrayRef<Value> arguments) {
  if (current->depth >= kMaxDepth)
    failUnsupported("subgraphs and functions stand in one another more than {0} deep", kMaxDepth);
  Scope inner;
  inner.parent = current;
  inner.region = region;
  inner.depth = current->depth + 1;
  inner.path = current->path;
  inner.opsets = current->opsets;
  inner.attributes = current->attributes;
  addInitializers(graph, inner);
  if (graph.input_size() != int(arguments.size()))
    failWrong("the subgraph '{0}' takes {1} values, expected {2}", graph.name(), graph.input_size(), arguments.size());
  for (auto [input, v] : llvm::zip(graph.input(), arguments))
    define(input.name(), v, inner);
  size_t before = failures.size();
  importNodes(graph.node(), inner);
  std::vector<Value> results;
  for (const ValueInfoProto &output : graph.output()) {
    std::optional<Value> v = lookup(output.name(), inner);
    if (!v)
      failWrong("the subgraph '{0}' does not define its result '{1}'", graph.name(), output.name());
    if (!*v)
      failUnsupported("{0}", failures.size() > before ? "its subgraph has nodes that cannot be compiled"
                                                      : "its subgraph reads a value that cannot be compiled");
    results.push_back(*v);
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Elements that say sizes
//===----------------------------------------------------------------------===//

/// The place of an argument of the model, whose elements the entry reads.
static std::optional<unsigned> inputOf(Value v) {
  auto argument = dyn_cast<BlockArgument>(v);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return function && function.getName() == "main" ? std::optional<unsigned>(argument.getArgNumber()) : std::nullopt;
}

std::optional<ir::Dims> GraphImporter::elementsOf(Value v) {
  RankedTensorType type = ir::typeOf(v);
  if (type.getRank() > 1 || !type.hasStaticShape() || type.getNumElements() > kMaxElements)
    return std::nullopt;
  if (auto it = lateElements.find(v); it != lateElements.end())
    return it->second;
  auto place = [&](int64_t i) { return type.getRank() ? std::optional<int64_t>(i) : std::nullopt; };
  ir::Dims out;
  if (std::optional<unsigned> input = inputOf(v)) {
    std::string name = root.function.getArgAttrOfType<StringAttr>(*input, "lathe.name").str();
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      out.push_back(state.sizes.inputElement(*input, name, place(i)));
    return out;
  }
  auto loc = dyn_cast<NameLoc>(v.getLoc());
  std::string base = loc ? loc.getName().str() : "value", name = base;
  auto isInput = [&](const std::string &tensor) {
    for (unsigned i = 0; i < root.function.getNumArguments(); ++i)
      if (root.function.getArgAttrOfType<StringAttr>(i, "lathe.name") == tensor)
        return true;
    return false;
  };
  for (unsigned i = 2; isInput(name) || !lateNames.insert(name).second; ++i)
    name = base + "#" + std::to_string(i);
  SmallVector<Attribute> symbols;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    out.push_back(state.sizes.lateElement(shape::Expr::element(name, place(i)).str()));
    symbols.push_back(b.getStringAttr(out.back().str()));
  }
  b.create<ir::ReadOp>(v.getLoc(), v, b.getArrayAttr(symbols));
  return lateElements[v] = out;
}

//===----------------------------------------------------------------------===//
// Bodies that the host program runs
//===----------------------------------------------------------------------===//

Value GraphImporter::bring(Value v) { return v ? capture(v, *region) : v; }

Value GraphImporter::capture(Value v, Region &into) {
  if (!into.parent || v.getParentRegion() == &into.function.getBody())
    return v;
  if (auto it = into.captured.find(v); it != into.captured.end())
    return it->second;
  if (!isa<RankedTensorType>(v.getType())) { // a list is made anew of what it holds
    auto list = v.getDefiningOp<UnrealizedConversionCastOp>();
    SmallVector<Value> elements;
    for (Value element : list.getInputs())
      elements.push_back(capture(element, into));
    OpBuilder::InsertionGuard guard(b);
    return into.captured[v] = b.create<UnrealizedConversionCastOp>(v.getLoc(), TypeRange(v.getType()), elements, list->getAttrs()).getResult(0);
  }
  Value outer = capture(v, *into.parent), inner;
  Block &block = into.function.getBody().front();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&block);
  RankedTensorType type = ir::typeOf(v);
  std::optional<ir::Dims> sizes = type.getRank() <= 1 ? ir::symbolicValue(outer) : std::nullopt;
  if (auto constant = outer.getDefiningOp<ir::ConstantOp>()) {
    inner = b.clone(*constant)->getResult(0);
  } else if (sizes && type.getElementType().isSignlessInteger(64)) {
    ir::GraphBuilder g(b, v.getLoc(), state.sizes.facts());
    inner = type.getRank() ? g.sizes(*sizes) : g.size(sizes->front());
  } else {
    ir::Dims dims = ir::dimsOf(type); // as the body knows them
    for (shape::Expr &e : dims)
      e = into.facts.simplify(e);
    inner = block.addArgument(ir::tensorType(dims, type.getElementType()), v.getLoc());
    into.captures.push_back(outer);
  }
  return into.captured[v] = inner;
}

GraphImporter::Body GraphImporter::importBody(StringRef name, ArrayRef<Type> arguments, bool isBranch,
                                              llvm::function_ref<std::vector<Value>(ArrayRef<Value>)> build) {
  Region inner;
  OpBuilder::InsertionGuard guard(b);
  Location loc = NameLoc::get(b.getStringAttr(name));
  b.setInsertionPointToEnd(root.function->getBlock());
  inner.function = b.create<func::FuncOp>(loc, "body" + std::to_string(numBodies++), b.getFunctionType(arguments, {}));
  inner.parent = region;
  Block *block = inner.function.addEntryBlock();
  for (BlockArgument a : block->getArguments())
    a.setLoc(loc);
  b.setInsertionPointToEnd(block);
  state.sizes.enterBody(inner.function.getName().str(), name.str(), isBranch);
  inner.facts = state.sizes.facts();
  struct Restore {
    Region *&slot, *before;
    SizeModel &sizes;
    ~Restore() {
      slot = before;
      sizes.leaveBody();
    }
  } restore{region, region, state.sizes};
  region = &inner;
  std::vector<Value> values(block->getArguments().begin(), block->getArguments().end());
  std::vector<Value> results = build(values);
  return {inner.function, results, inner.captures, state.sizes.facts()};
}

void GraphImporter::abandon(const Attempt &attempt) {
  state.sizes.restore(*attempt.sizes);
  lateNames = attempt.lateNames;
  for (const Report &r : failuresSince(attempt))
    messages.erase(r.message);
  failures.resize(attempt.numFailures);
  auto module = root.function->getParentOfType<ModuleOp>();
  for (; numBodies > attempt.numBodies; --numBodies) {
    auto body = module.lookupSymbol<func::FuncOp>("body" + std::to_string(numBodies - 1));
    for (auto it = lateElements.begin(); it != lateElements.end(); ++it)
      if (it->first.getParentRegion() == &body.getBody())
        lateElements.erase(it);
    body.erase();
  }
}

void GraphImporter::finishBody(Body &body) {
  OpBuilder::InsertionGuard guard(b);
  Block &block = body.function.getBody().front();
  b.setInsertionPointToEnd(&block);
  b.create<func::ReturnOp>(body.function.getLoc(), body.results);
  body.function.setType(b.getFunctionType(block.getArgumentTypes(), ValueRange(body.results).getTypes()));
}
