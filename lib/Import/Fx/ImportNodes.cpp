//===- ImportNodes.cpp - The nodes of a program -----------------------------===//

#include "Importer.h"
#include "Views.h"
#include "lathe/Dialect/Lathe/ElementTypes.h"
#include "lathe/Dialect/Lathe/ModelNode.h"
#include "lathe/Dialect/Lathe/WantedElements.h"
#include "llvm/ADT/ScopeExit.h"

using namespace lathe;
using namespace lathe::fx;
using llvm::StringRef;

/// A number that is read from a tensor is a tensor of rank 0 here.
std::vector<std::string> fx::resultNames(const Node &node) {
  std::vector<std::string> names;
  for (const Argument &a : node.outputs)
    if (a.kind == Argument::Kind::Tensor || a.kind == Argument::Kind::Tensors)
      names.insert(names.end(), a.tensors.begin(), a.tensors.end());
    else
      names.push_back("");
  return names;
}

static bool computesNumbers(const Node &node) {
  StringRef target = node.target;
  for (StringRef prefix : {"_operator.", "torch.sym_", "math.", "aten.sym_size", "aten.sym_stride", "aten.sym_numel",
                           "aten.sym_storage_offset", "sym_", "aten.promote_types", "aten.result_type", "torchvision._cuda_version"})
    if (target.starts_with(prefix))
      return true;
  return false;
}

/// Nodes that only compute sizes: the file gives their results as expressions, so that nothing is left to do. Those that
/// read a size from a tensor's elements are not among them.
static bool computesSizes(const Node &node) {
  return computesNumbers(node) && llvm::all_of(resultNames(node), [](const std::string &name) { return name.empty(); });
}

/// Floating numbers of which only sizes are computed need not be there. A tensor whose size is asked for must, where the size is data.
std::set<std::string> fx::readTensors(const Graph &graph) {
  std::set<std::string> names;
  for (const Argument &result : graph.gives)
    names.insert(result.tensors.begin(), result.tensors.end());
  for (const Node &node : llvm::reverse(graph.nodes)) {
    auto isRead = [&](const std::string &name) { return names.count(name) != 0; };
    if (!computesNumbers(node) || StringRef(node.target).starts_with("aten.") || llvm::any_of(resultNames(node), isRead))
      for (const NamedArgument &input : node.inputs)
        names.insert(input.value.tensors.begin(), input.value.tensors.end());
  }
  return names;
}

void Importer::placeholders(const Node &node) {
  for (const std::string &name : resultNames(node))
    if (!name.empty() && !values.has(name)) {
      if (auto type = typeOf(name, "node", true))
        values.define(name, values.placeholder(builder, unknown, *type));
      else
        llvm::consumeError(type.takeError());
    }
}

/// " (on tensor<2x3xf32>, ...)", for messages.
std::string Importer::operandTypes(const Node &node) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const NamedArgument &input : node.inputs)
    for (const std::string &tensor : input.value.tensors)
      if (values.has(tensor))
        os << (text.empty() ? " (on " : ", ") << values.current().at(tensor).getType();
  return text.empty() ? text : text + ")";
}

llvm::Error Importer::addNode(const Node &node) {
  if (computesSizes(node))
    return llvm::Error::success();
  // A node that reads what an earlier refused one could not even describe adds nothing to the report.
  for (const NamedArgument &input : node.inputs)
    for (const std::string &tensor : input.value.tensors)
      if (!tensor.empty() && !values.has(tensor) && !isClean())
        return llvm::Error::success();
  StringRef op = node.target;
  bool isAten = op.consume_front("aten.");
  // relu_.default is relu.default that also writes its input.
  auto [base, overload] = op.split('.');
  const OpEntry *own = findOp(op);
  bool renamed = isAten && base.ends_with("_") && !base.ends_with("__") && !own, inPlace = renamed || (own && own->flags & WritesOut);
  std::vector<std::string> results = resultNames(node);
  bool isRead = llvm::any_of(results, [&](const std::string &r) { return read.count(r) != 0; });
  if (!inPlace && !isRead && llvm::any_of(results, [](const std::string &r) { return !r.empty(); }))
    return llvm::Error::success(); // nobody asks for what it computes
  std::string name = renamed ? (base.drop_back() + "." + overload).str() : op.str();
  bool grew = std::exchange(needs.grew, false);
  bool isScan = op == "higher_order.map_impl" || op == "higher_order.scan" || op == "higher_order.associative_scan";
  llvm::Error e = op == "higher_order.while_loop" ? whileLoop(node)
                  : isScan                        ? scanLoop(node)
                  : op == "higher_order.cond"     ? branches(node)
                  : findOp(name)                  ? translate(node, name, inPlace)
                                                  : lathe::unsupported("{0}this operator is not supported{1}", placeOf(file, node),
                                                                       operandTypes(node));
  if (needs.grew && e) // the next attempt translates it; this one looks for what others need
    e = lathe::unsupported("{0}", llvm::toString(std::move(e)));
  needs.grew |= grew;
  note(std::move(e), node.name, node.target);
  placeholders(node);
  return llvm::Error::success();
}

/// What a write to another name of the same memory left behind.
llvm::Error Importer::refreshOperands(const Node &node) {
  for (const NamedArgument &input : node.inputs)
    for (const std::string &tensor : input.value.tensors) {
      if (auto writer = values.overwrittenBy(tensor))
        return lathe::unsupported("{0}'{1}' may share memory with a tensor that '{2}' has written in place, or be a copy of it: the "
                                  "file does not say which",
                                  placeOf(file, node), tensor, *writer);
      if (llvm::Error e = values.refresh(tensor))
        return e;
    }
  return llvm::Error::success();
}

/// A size of values that no earlier node computes has none.
llvm::Error Importer::requireBound(const Node &node, const Expr &size, StringRef what) const {
  for (const std::string &symbol : size.symbols())
    if (symbols.isLate(symbol) && !late.bound.count(symbol))
      return lathe::unsupported("{0}{1} is {2}, which depends on data that this version does not read", placeOf(file, node), what,
                                size.str());
  return llvm::Error::success();
}

/// Sizes are not negative; where that does not follow from the inputs' sizes, as of (s - s // 2) * (s - s // 2), runs are checked.
llvm::Error Importer::needSizes(const OpContext &c, const std::string &tensor) const {
  auto meta = graph->tensors.find(tensor);
  for (const Size &s : meta == graph->tensors.end() ? std::vector<Size>() : meta->second.sizes)
    if (symbols.knows(s))
      if (llvm::Error e = c.need(Condition::compare(Condition::Kind::GreaterEqual, g.facts.simplify(*s.expr), Expr(0))))
        return e;
  return llvm::Error::success();
}

/// Of a result that nobody reads: its dimensions may be those of one that is read. One that the file does not describe, or that cannot
/// be represented, has a type that says nothing.
mlir::RankedTensorType Importer::unreadType(const std::string &name) {
  if (!name.empty() && graph->tensors.count(name)) {
    llvm::Expected<mlir::RankedTensorType> type = typeOf(name, "", true);
    if (type)
      return *type;
    llvm::consumeError(type.takeError());
  }
  return mlir::RankedTensorType::get({}, builder.getF32Type());
}

llvm::Error Importer::readResultTypes(OpContext &c, bool inPlace) {
  for (const std::string &name : resultNames(c.node)) {
    c.wanted.push_back(!name.empty() && (inPlace || read.count(name)));
    if (!c.wanted.back()) {
      c.resultTypes.push_back(unreadType(name));
      continue;
    }
    if (values.has(name))
      return c.wrong("'{0}' is defined twice", name);
    if (llvm::Error e = needSizes(c, name))
      return e;
    LATHE_TRY(type, typeOf(name, StringRef(c.place()).drop_front(file.size() + 2).drop_back(2), true));
    c.resultTypes.push_back(type);
  }
  return llvm::Error::success();
}

llvm::Error Importer::runHandler(OpContext &c, const OpEntry &entry) {
  if (!isComplex(c.node))
    return runAlone(c, entry);
  c.part = ComplexPart::Both;
  if (entry.flags & TakesPairs)
    return runAlone(c, entry);
  const OpEntry *own = findComplexOp(entry.name);
  return own ? runAlone(c, *own) : runOnParts(c, entry);
}

/// Floats of 8 bits are moved, chosen between and converted; nothing is computed with them (Matmul.cpp converts those that it multiplies).
static bool computesWithFloat8(mlir::Operation *op) {
  bool moves = mlir::isa<ir::ConstantOp, ir::CastOp, ir::BitcastOp, ir::SelectOp, ir::TransposeOp, ir::BroadcastOp, ir::ReshapeOp, ir::SliceOp,
                         ir::ConcatOp, ir::PadOp, ir::GatherOp, ir::GatherNdOp>(op);
  return !moves && llvm::any_of(op->getOperandTypes(), [](Type t) {
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(t);
    return tensor && ir::isFloat8(tensor.getElementType());
  });
}

llvm::Error Importer::runAlone(OpContext &c, const OpEntry &entry) {
  if (llvm::Error e = c.bind(entry.arguments))
    return e;
  mlir::Block *block = builder.getInsertionBlock();
  mlir::Operation *before = block->empty() ? nullptr : &block->back();
  if (llvm::Error e = entry.handler(c))
    return e;
  // The file says what its results are; an operator that does not compute such elements is not believed.
  for (mlir::Operation *op = before ? before->getNextNode() : block->empty() ? nullptr : &block->front(); op; op = op->getNextNode()) {
    if (computesWithFloat8(op))
      return c.cannot("it computes with floats of 8 bits, which are converted and multiplied alone");
    if (std::optional<StringRef> wanted = ir::wantedElements(op))
      return c.wrong("it computes with {0}, the file says that they are {1}", *wanted, ir::elementOf(op->getOperand(0)));
  }
  return llvm::Error::success();
}

OpContext Importer::contextOf(const Node &node) {
  OpContext c(g, node, values.current(), needs);
  c.file = file;
  c.metas = &graph->tensors;
  c.late = &late;
  c.seed = options.seed;
  c.unrolledSteps = options.unrolledSteps;
  c.hostTransforms = options.hostTransforms;
  c.hostPositions = options.hostPositions;
  return c;
}

llvm::Error Importer::translate(const Node &node, StringRef op, bool inPlace) {
  const OpEntry &entry = *findOp(op);
  if (!entry.arguments) // an assertion
    return llvm::Error::success();
  if (llvm::Error e = refreshOperands(node))
    return e;
  g.loc = ir::nodeLocation(builder.getContext(), node.name, node.target);
  OpContext c = contextOf(node);
  if (llvm::Error e = readResultTypes(c, inPlace))
    return e;
  if (c.resultTypes.empty() && !(entry.flags & Checks))
    return c.wrong("the node has no results");
  for (const NamedArgument &input : node.inputs)
    for (const Size &size : input.value.ints)
      if (size.expr && !size.expr->isUnknown()) {
        if (!symbols.knows(size))
          return c.cannot("argument '{0}' is the size {1}, which follows from no input's size", input.name, size.expr->str());
        if (llvm::Error e = requireBound(node, g.facts.simplify(*size.expr), "argument '" + input.name + "'"))
          return e;
      }
  g.misfit.clear();
  if (llvm::Error e = runHandler(c, entry))
    return e;
  if (!g.misfit.empty())
    return c.wrong("sizes do not fit: {0}", g.misfit);
  for (mlir::RankedTensorType type : c.resultTypes)
    for (const Expr &size : ir::dimsOf(type))
      if (llvm::Error e = requireBound(node, size, "a result's size"))
        return e;
  return giveResults(c, entry, inPlace);
}

/// torch describes the states of an LSTM with a rank too many, and with them what is computed of them.
bool Importer::isMisdescribed(const Node &node) const {
  return llvm::any_of(node.inputs, [this](const NamedArgument &input) {
    return llvm::any_of(input.value.tensors, [this](const std::string &name) { return misdescribed.count(name) != 0; });
  });
}

/// The result with the sizes that the file gives it. Sizes that may be equal, but are not known to be, are relied on to be.
llvm::Expected<Value> Importer::conform(const OpContext &c, Value v, mlir::RankedTensorType want, size_t i) {
  auto have = ir::typeOf(v);
  Dims from = ir::dimsOf(have), to = ir::dimsOf(want);
  bool same = have.getElementType() == want.getElementType() && from.size() == to.size();
  for (size_t d = 0; same && d < to.size(); ++d)
    same = g.facts.provablyEqual(from[d], to[d]) || g.facts.clone().addEquality(from[d], to[d]);
  if (!same && have.getElementType() == want.getElementType() && isMisdescribed(c.node)) {
    misdescribed.insert(resultNames(c.node)[i]);
    return v;
  }
  if (!same) {
    std::string built, told;
    llvm::raw_string_ostream(built) << have;
    llvm::raw_string_ostream(told) << want;
    return c.wrong("result {0} is {1} by the node's arguments, and {2} in the file", i, built, told);
  }
  for (size_t d = 0; d < to.size(); ++d)
    if (!g.facts.provablyEqual(from[d], to[d]))
      if (llvm::Error e = c.needEqual(from[d], to[d]))
        return std::move(e);
  return g.reshape(v, to);
}

//===----------------------------------------------------------------------===//
// Results that share memory
//===----------------------------------------------------------------------===//

Sharing Importer::sharingWith(const Node &node, const OpEntry &entry, const std::string &self, const std::string &result) const {
  auto operand = graph->tensors.find(self), meta = graph->tensors.find(result);
  if (entry.flags & IsView)
    return Sharing::Yes;
  if (entry.flags & SharesEach) // an expansion of it in general, which is not written back
    return Sharing::Maybe;
  if (!(entry.flags & (MayCopy | Converts)) || operand == graph->tensors.end() || meta == graph->tensors.end())
    return Sharing::No;
  if (entry.flags & MayCopy)
    return sharingOf(operand->second, meta->second, g.facts);
  bool copies = llvm::any_of(node.inputs, [](const NamedArgument &a) {
    return a.name == "copy" && a.value.kind == Argument::Kind::Bool && !a.value.ints[0].expr->isZero();
  });
  if (copies || operand->second.dtype != meta->second.dtype)
    return Sharing::No;
  return sameStrides(operand->second, meta->second, g.facts);
}

llvm::Error Importer::readViewTypes(OpContext &c) {
  for (const std::string &name : resultNames(c.node)) {
    c.wanted.push_back(read.count(name) != 0);
    auto type = read.count(name) ? typeOf(name, "a view", true) : mlir::RankedTensorType::get({}, builder.getF32Type());
    if (!type)
      return type.takeError();
    c.resultTypes.push_back(*type);
  }
  return llvm::Error::success();
}

/// The i-th result of a node when `self` has the value `of`.
llvm::Expected<Value> Importer::viewAgain(const Node &node, const OpEntry &entry, const std::string &self, size_t i, Value of) {
  mlir::Location before = g.loc;
  g.loc = ir::nodeLocation(builder.getContext(), node.name, node.target);
  auto restore = llvm::make_scope_exit([&] { g.loc = before; });
  OpContext c = contextOf(node);
  c.replaced = {self, of};
  if (llvm::Error e = readViewTypes(c))
    return std::move(e);
  if (llvm::Error e = runHandler(c, entry))
    return std::move(e);
  return conform(c, c.results[i], c.resultTypes[i], i);
}

ViewLink Importer::linkTo(const Node &node, const OpEntry &entry, const std::string &self, size_t i) {
  auto read = [this, &node, &entry, self, i](Value of) { return viewAgain(node, entry, self, i, of); };
  auto write = [this, &node, &entry, self, i](Value of, Value written) -> llvm::Expected<Value> {
    if (isComplex(self) && !(entry.flags & TakesPairs))
      return writeParts(node, entry, self, i, of, written);
    Value stand = values.placeholder(builder, unknown, of.getType());
    LATHE_TRY(view, viewAgain(node, entry, self, i, stand));
    if (Value whole = writeThrough(g, view, stand, of, written))
      return whole;
    return lathe::unsupported("{0}a later node writes to its result, whose elements share memory", placeOf(file, node));
  };
  return {read, write};
}

/// The result of relu_ and the like is its operand, with another value; that of unsqueeze_ is its operand, seen otherwise.
llvm::Error Importer::giveInPlace(OpContext &c, const OpEntry &entry, const std::string &self, const std::string &name, Value v) {
  if (entry.flags & IsView) {
    values.defineView(name, v, self, Sharing::Yes, linkTo(c.node, entry, self, 0));
    values.become(self, name);
    return llvm::Error::success();
  }
  return writeOperand(c, self, name, v);
}

/// `name`: another one for the same memory, or its own.
llvm::Error Importer::writeOperand(const OpContext &c, const std::string &self, const std::string &name, Value v) {
  Value before = values.current().at(self);
  if (before.getType() != v.getType())
    return c.wrong("it gives {0} and writes it to '{1}', which is {2}", v.getType(), self, before.getType());
  if (const std::string &root = values.rootOf(self); given.count(root) && v != before)
    return becomesState(root) ? c.cannot("it writes to '{0}'", root)
                              : c.cannot("it writes to the input '{0}', and inputs are only read: clone it before, or register the tensor "
                                         "as a buffer (register_buffer), which makes it a state of the model",
                                         root);
  return values.overwrite(self, name, v, c.node.name);
}

llvm::Error Importer::giveResults(OpContext &c, const OpEntry &entry, bool inPlace) {
  const Node &node = c.node;
  std::vector<std::string> names = resultNames(node);
  std::string self;
  if (!node.inputs.empty() && !node.inputs[0].value.tensors.empty())
    self = node.inputs[0].value.tensors[0];
  if (entry.flags & WritesOut)
    for (const NamedArgument &input : node.inputs)
      if (input.name == "out")
        self = input.value.tensors[0];
  if (!c.shared.empty())
    self = c.shared;
  for (size_t i = 0; i < names.size(); ++i) {
    bool wanted = inPlace || read.count(names[i]);
    if (names[i].empty() || !wanted)
      continue; // torch describes some results wrongly that nobody reads
    if (i >= c.results.size() || !c.results[i])
      return c.cannot("its result {0} ('{1}') is used, which this version does not compute", i, names[i]);
    mlir::RankedTensorType want = c.resultTypes[i];
    if (entry.flags & OwnElements) { // nor ranks: those of an LSTM's states
      bool sameRank = want.getRank() == ir::typeOf(c.results[i]).getRank();
      if (!sameRank)
        misdescribed.insert(names[i]);
      want = ir::tensorType(sameRank ? ir::dimsOf(want) : ir::dimsOf(c.results[i]), ir::elementOf(c.results[i]));
    }
    LATHE_TRY(v, conform(c, c.results[i], want, i));
    if (self.empty() || (inPlace && i > 0)) {
      values.define(names[i], v);
    } else if (inPlace) {
      if (llvm::Error e = giveInPlace(c, entry, self, names[i], v))
        return e;
    } else {
      const std::vector<std::string> &list = node.inputs[0].value.tensors;
      const std::string &of = entry.flags & SharesEach && i < list.size() ? list[i] : self;
      Sharing sharing = i == 0 && !c.shared.empty() ? Sharing::Yes : sharingWith(node, entry, of, names[i]);
      values.defineView(names[i], v, of, sharing, linkTo(node, entry, of, i));
    }
  }
  for (auto &[name, v] : c.written)
    if (llvm::Error e = writeOperand(c, name, name, v))
      return e;
  return llvm::Error::success();
}
