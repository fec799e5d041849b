//===- ImportFx.cpp - torch.export programs into the lathe dialect ----------===//
//
// Order: the program is read, the user's sizes are applied to it, its symbols become facts, inputs and weights become
// values, and each node is translated in turn. A node that cannot be translated is noted and replaced by a placeholder of
// the type that the file gives, so that one run reports all of them. The file also says the type of every result, which is
// compared with what was built.
//
//===----------------------------------------------------------------------===//

#include "lathe/Import/Fx/ImportFx.h"
#include "OpContext.h"
#include "OpenProgram.h"
#include "Symbols.h"
#include "Values.h"
#include "Weights.h"
#include "lathe/Dialect/Lathe/WantedElements.h"
#include "lathe/Dialect/Lathe/ModelNode.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

using namespace lathe;
using namespace lathe::fx;
using llvm::StringRef;

namespace {

/// The tensors that nodes and outputs read.
std::set<std::string> readTensors(const Program &program) {
  std::set<std::string> names;
  for (const Node &node : program.nodes)
    for (const NamedArgument &input : node.inputs)
      names.insert(input.value.tensors.begin(), input.value.tensors.end());
  for (const OutputSpec &output : program.outputs)
    names.insert(output.argument.tensors.begin(), output.argument.tensors.end());
  return names;
}

class Importer {
public:
  Importer(std::string file, Program program, Symbols symbols, Weights &weights, Needs &needs, mlir::MLIRContext &context)
      : file(std::move(file)), program(std::move(program)), symbols(std::move(symbols)), weights(weights), needs(needs),
        read(readTensors(this->program)), builder(&context), unknown(mlir::UnknownLoc::get(&context)),
        g(builder, unknown, this->symbols.facts()) {
    for (const std::string &why : this->symbols.uncheckable())
      refused.push_back({"", "guard", 0, why});
  }

  llvm::Error build();
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Nodes, inputs and outputs that cannot be compiled, with reasons; also what is wrong in them.
  std::vector<NodeReport> refused;
  std::vector<std::string> bugs; ///< nodes that came out otherwise than they should
  bool isClean() const { return refused.empty() && bugs.empty(); }
  /// All of it.
  llvm::Error complaints() const;

private:
  llvm::Expected<mlir::RankedTensorType> typeOf(StringRef tensor, StringRef what, bool canonical);
  llvm::Error addInputs();
  llvm::Error addUserInput(const InputSpec &spec);
  llvm::Error addWeight(const InputSpec &spec);
  llvm::Error addNode(const Node &node);
  llvm::Error translate(const Node &node, StringRef op, bool inPlace);
  llvm::Error giveResults(const Node &node, OpContext &c, const OpEntry &entry, bool inPlace);
  llvm::Expected<Value> conform(const OpContext &c, Value v, mlir::RankedTensorType want, size_t i);
  llvm::Error addOutputs();
  void placeholders(const Node &node);
  std::string operandTypes(const Node &node) const;
  /// Notes what is unsupported, wrong, or our bug, so that one does not hide the others.
  void note(llvm::Error error, StringRef name, StringRef op);
  void refuse(StringRef name, const llvm::Twine &reason) { refused.push_back({name.str(), "", 0, (file + ": " + reason).str()}); }

  std::string file;
  Program program;
  Symbols symbols;
  Weights &weights;
  Needs &needs;
  std::set<std::string> read; ///< what some node or output reads
  mlir::OpBuilder builder;
  mlir::Location unknown;
  ir::GraphBuilder g;
  mlir::func::FuncOp main;
  Values values;
  std::set<std::string> given; ///< inputs and weights, which must not be written
};

/// The tensor results of a node in order; "" for one that it does not give.
std::vector<std::string> resultNames(const Node &node) {
  std::vector<std::string> names;
  for (const Argument &a : node.outputs)
    if (a.kind == Argument::Kind::Tensor || a.kind == Argument::Kind::Tensors)
      names.insert(names.end(), a.tensors.begin(), a.tensors.end());
    else
      names.push_back("");
  return names;
}

mlir::Location locationOf(mlir::MLIRContext *context, StringRef name) {
  return mlir::NameLoc::get(mlir::StringAttr::get(context, name));
}

} // namespace

void Importer::note(llvm::Error error, StringRef name, StringRef op) {
  llvm::handleAllErrors(
      std::move(error),
      [&](const UnsupportedError &e) {
        for (const std::string &item : e.items)
          refused.push_back({name.str(), op.str(), 0, item});
      },
      [&](const UserError &e) { refused.push_back({name.str(), op.str(), 0, e.message, /*isUnsupported=*/false}); },
      [&](const BugError &e) { bugs.push_back(e.message); });
}

llvm::Error Importer::complaints() const {
  llvm::Error all = llvm::Error::success();
  std::vector<std::string> items;
  for (const NodeReport &r : refused)
    if (r.isUnsupported)
      items.push_back(r.reason);
    else
      all = llvm::joinErrors(std::move(all), llvm::make_error<UserError>(r.reason));
  if (!items.empty())
    all = llvm::joinErrors(std::move(all), llvm::make_error<UnsupportedError>(std::move(items)));
  for (const std::string &message : bugs)
    all = llvm::joinErrors(std::move(all), llvm::make_error<BugError>(message));
  return all;
}

llvm::Expected<mlir::RankedTensorType> Importer::typeOf(StringRef tensor, StringRef what, bool canonical) {
  auto meta = program.tensors.find(tensor.str());
  if (meta == program.tensors.end())
    return userError("{0}: {1}: the file does not describe the tensor '{2}'", file, what, tensor);
  Type element = elementType(meta->second.dtype, builder.getContext());
  if (!element)
    return lathe::unsupported("{0}: {1}: '{2}' has the type {3}, which the compiler does not have", file, what, tensor,
                              dtypeName(meta->second.dtype));
  Dims dims;
  for (const Size &s : meta->second.sizes) {
    if (!symbols.knows(s))
      return lathe::unsupported("{0}: {1}: '{2}' has the size {3}, which depends on the data or is no size expression", file,
                                what, tensor, s.expr ? s.expr->str() : s.text);
    Expr e = canonical ? g.facts.simplify(*s.expr) : *s.expr;
    if (!g.facts.provablyLessEqual(Expr(0), e))
      return userError("{0}: {1}: '{2}' has the size {3}, which may be negative", file, what, tensor, e.str());
    dims.push_back(e);
  }
  return ir::tensorType(dims, element);
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

llvm::Error Importer::addUserInput(const InputSpec &spec) {
  if (spec.argument.kind == Argument::Kind::None)
    return llvm::Error::success();
  if (spec.argument.kind != Argument::Kind::Tensor)
    return lathe::unsupported("{0}: an input is {1}; only tensors may vary from run to run: export the model with the value fixed, "
                              "or pass it as a tensor",
                              file, describe(spec.argument));
  LATHE_TRY(type, typeOf(spec.value, "input", /*canonical=*/false));
  unsigned index = main.getNumArguments();
  mlir::Location loc = locationOf(builder.getContext(), spec.value);
  main.insertArgument(index, type, builder.getDictionaryAttr(builder.getNamedAttr("lathe.name", builder.getStringAttr(spec.value))), loc);
  Value v = main.getArgument(index);
  Dims dims;
  for (const Expr &e : ir::dimsOf(v))
    dims.push_back(g.facts.simplify(e));
  // Inside, sizes are in their canonical form (heads = groups * share); the argument keeps its own, which binds the symbol.
  g.loc = loc;
  values.define(spec.value, g.reshape(v, dims));
  given.insert(spec.value);
  return llvm::Error::success();
}

llvm::Error Importer::addWeight(const InputSpec &spec) {
  auto meta = program.tensors.find(spec.value);
  if (meta == program.tensors.end())
    return userError("{0}: the file does not describe the tensor '{1}' ('{2}')", file, spec.value, spec.key);
  LATHE_TRY(type, typeOf(spec.value, "weight", /*canonical=*/true));
  LATHE_TRY(attribute, weights.value(spec, meta->second, builder.getContext()));
  if (attribute.getType() != type) {
    std::string stored, wanted;
    llvm::raw_string_ostream(stored) << attribute.getType();
    llvm::raw_string_ostream(wanted) << type;
    return userError("{0}: weight '{1}' is {2} in the archive and {3} in the graph", file, spec.key, stored, wanted);
  }
  values.define(spec.value, builder.create<ir::ConstantOp>(locationOf(builder.getContext(), spec.key), attribute));
  given.insert(spec.value);
  return llvm::Error::success();
}

llvm::Error Importer::addInputs() {
  for (const InputSpec &spec : program.inputs) {
    if (values.has(spec.value) && !spec.value.empty())
      return userError("{0}: two inputs have the name '{1}'", file, spec.value);
    if (spec.kind == InputSpec::Kind::Fixed) // it is in the nodes, and no caller gives it
      continue;
    llvm::Error e = spec.kind == InputSpec::Kind::User    ? addUserInput(spec)
                    : spec.kind == InputSpec::Kind::Other ? lathe::unsupported("{0}: an input is a {1}", file, spec.key)
                                                          : addWeight(spec);
    note(std::move(e), spec.value, "input");
    if (!spec.value.empty() && !values.has(spec.value)) {
      if (auto type = typeOf(spec.value, "input", true))
        values.define(spec.value, values.placeholder(builder, unknown, *type));
      else
        llvm::consumeError(type.takeError());
    }
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// Nodes that only compute sizes: the file gives their results as expressions, so that nothing is left to do. Those that
/// read a size from a tensor's elements are not among them.
static bool computesSizes(const Node &node) {
  StringRef target = node.target;
  for (StringRef prefix : {"_operator.", "torch.sym_", "math.", "aten.sym_size", "aten.sym_stride", "aten.sym_numel",
                           "aten.sym_storage_offset", "sym_"})
    if (target.starts_with(prefix))
      return llvm::all_of(resultNames(node), [](const std::string &name) { return name.empty(); });
  return false;
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
  bool inPlace = isAten && base.ends_with("_") && !base.ends_with("__") && !findOp(op);
  std::vector<std::string> results = resultNames(node);
  bool isRead = llvm::any_of(results, [&](const std::string &r) { return read.count(r) != 0; });
  if (!inPlace && !isRead && llvm::any_of(results, [](const std::string &r) { return !r.empty(); }))
    return llvm::Error::success(); // nobody asks for what it computes
  std::string name = inPlace ? (base.drop_back() + "." + overload).str() : op.str();
  bool grew = std::exchange(needs.grew, false);
  llvm::Error e = isAten && findOp(name) ? translate(node, name, inPlace)
                                         : lathe::unsupported("{0}this operator is not supported{1}", placeOf(file, node),
                                                              operandTypes(node));
  if (needs.grew && e) // the next attempt translates it; this one looks for what others need
    e = lathe::unsupported("{0}", llvm::toString(std::move(e)));
  needs.grew |= grew;
  note(std::move(e), node.name, node.target);
  placeholders(node);
  return llvm::Error::success();
}

llvm::Error Importer::translate(const Node &node, StringRef op, bool inPlace) {
  const OpEntry &entry = *findOp(op);
  if (!entry.arguments) // an assertion
    return llvm::Error::success();
  g.loc = ir::nodeLocation(builder.getContext(), node.name, node.target);
  OpContext c(g, node, values.current(), needs);
  c.file = file;
  for (const NamedArgument &input : node.inputs)
    for (const std::string &tensor : input.value.tensors)
      if (auto writer = values.overwrittenBy(tensor))
        return c.cannot("'{0}' shares memory with a tensor that '{1}' has written in place", tensor, *writer);
  for (const std::string &name : resultNames(node)) {
    if (name.empty() || (!inPlace && !read.count(name))) {
      c.resultTypes.push_back(mlir::RankedTensorType::get({}, builder.getF32Type()));
      continue;
    }
    if (values.has(name))
      return c.wrong("'{0}' is defined twice", name);
    LATHE_TRY(type, typeOf(name, StringRef(c.place()).drop_front(file.size() + 2).drop_back(2), true));
    c.resultTypes.push_back(type);
  }
  if (c.resultTypes.empty())
    return c.wrong("the node has no results");
  for (const NamedArgument &input : node.inputs)
    for (const Size &size : input.value.ints)
      if (size.expr && !size.expr->isUnknown() && !symbols.knows(size))
        return c.cannot("argument '{0}' is the size {1}, which follows from no input's size", input.name, size.expr->str());
  if (llvm::Error e = c.bind(entry.arguments))
    return e;
  mlir::Block *block = builder.getInsertionBlock();
  mlir::Operation *before = block->empty() ? nullptr : &block->back();
  if (llvm::Error e = entry.handler(c))
    return e;
  // The file says what its results are; an operator that does not compute such elements is not believed.
  for (mlir::Operation *op = before ? before->getNextNode() : block->empty() ? nullptr : &block->front(); op; op = op->getNextNode())
    if (std::optional<StringRef> wanted = ir::wantedElements(op))
      return c.wrong("it computes with {0}, the file says that they are {1}", *wanted, ir::elementOf(op->getOperand(0)));
  return giveResults(node, c, entry, inPlace);
}

llvm::Expected<Value> Importer::conform(const OpContext &c, Value v, mlir::RankedTensorType want, size_t i) {
  auto have = ir::typeOf(v);
  Dims from = ir::dimsOf(have), to = ir::dimsOf(want);
  bool same = have.getElementType() == want.getElementType() && from.size() == to.size();
  for (size_t d = 0; same && d < to.size(); ++d)
    same = g.facts.provablyEqual(from[d], to[d]);
  if (same)
    return g.reshape(v, to);
  std::string built, told;
  llvm::raw_string_ostream(built) << have;
  llvm::raw_string_ostream(told) << want;
  return bug("{0}result {1} is {2} as built and {3} in the file", c.place(), i, built, told);
}

llvm::Error Importer::giveResults(const Node &node, OpContext &c, const OpEntry &entry, bool inPlace) {
  std::vector<std::string> names = resultNames(node);
  const std::string *self = nullptr;
  if ((inPlace || entry.flags & IsView) && !node.inputs.empty() && !node.inputs[0].value.tensors.empty())
    self = &node.inputs[0].value.tensors[0];
  if (inPlace && self && (given.count(*self) || values.sharesWith(*self, given)))
    return c.cannot("it writes to the model's input or weight '{0}'", *self);
  for (size_t i = 0; i < names.size(); ++i) {
    bool wanted = inPlace || read.count(names[i]);
    if (names[i].empty() || !wanted)
      continue; // torch describes some results wrongly that nobody reads
    if (i >= c.results.size() || !c.results[i])
      return c.cannot("its result {0} ('{1}') is used, which this version does not compute", i, names[i]);
    LATHE_TRY(v, conform(c, c.results[i], c.resultTypes[i], i));
    if (inPlace && self)
      values.overwrite(*self, names[i], v, node.name);
    else
      values.define(names[i], v, self && entry.flags & IsView ? *self : "");
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Outputs and the whole
//===----------------------------------------------------------------------===//

llvm::Error Importer::addOutputs() {
  SmallVector<Value> results;
  SmallVector<mlir::Attribute> attributes;
  for (auto [place, spec] : llvm::enumerate(program.outputs)) {
    if (!spec.user) {
      if (spec.what != "token")
        refuse(spec.what, "the model writes to its state (" + spec.what +
                              "); export it as a function of its inputs, with the state as input and output");
      continue;
    }
    if (spec.argument.kind == Argument::Kind::None)
      continue;
    if (spec.argument.kind != Argument::Kind::Tensor) {
      refuse("output", "output " + llvm::Twine(place) + " is " + describe(spec.argument) +
                           "; results are tensors: leave it out, or return torch.tensor of it");
      continue;
    }
    const std::string &name = spec.argument.tensors[0];
    if (!values.has(name)) {
      if (isClean())
        return userError("{0}: output '{1}' is given by no node", file, name);
      continue;
    }
    if (auto writer = values.overwrittenBy(name))
      refuse(name, "output '" + name + "' shares memory with a tensor that '" + *writer + "' has written in place");
    results.push_back(values.current().at(name));
    attributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr("lathe.name", builder.getStringAttr(name))));
  }
  if (results.empty() && isClean())
    return userError("{0}: the model has no outputs", file);
  builder.create<mlir::func::ReturnOp>(unknown, results);
  main.setType(builder.getFunctionType(main.getBody().getArgumentTypes(), mlir::ValueRange(results).getTypes()));
  main.setAllResultAttrs(attributes);
  return llvm::Error::success();
}

/// Statistics that nobody asked for, and weights that no node reads.
static void eraseDead(mlir::func::FuncOp main) {
  for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(main.getBody().front())))
    if (mlir::isOpTriviallyDead(&op))
      op.erase();
}

llvm::Error Importer::build() {
  module = mlir::ModuleOp::create(unknown);
  builder.setInsertionPointToStart(module->getBody());
  symbols.declare(builder, unknown);
  main = builder.create<mlir::func::FuncOp>(unknown, "main", builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(main.addEntryBlock());
  if (llvm::Error e = addInputs())
    return e;
  for (const Node &node : program.nodes)
    if (llvm::Error e = addNode(node))
      return e;
  if (llvm::Error e = addOutputs())
    return e;
  if (!isClean())
    return llvm::Error::success();
  eraseDead(main);
  std::string problems;
  mlir::ScopedDiagnosticHandler handler(builder.getContext(), [&](mlir::Diagnostic &d) {
    problems += (problems.empty() ? "" : "; ") + d.str();
    return mlir::success();
  });
  if (mlir::failed(mlir::verify(*module)))
    return bug("{0}: the imported graph does not verify: {1}", file, problems);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Attempts
//===----------------------------------------------------------------------===//

namespace {

/// An opened file, and the attempts to import it. Operators may need conditions that the program does not assert, and each
/// attempt starts with those that the ones before it asked for.
class Attempts {
public:
  Attempts(std::string file, Program program, Weights weights, const ImportOptions &options, mlir::MLIRContext &context)
      : file(std::move(file)), program(std::move(program)), weights(std::move(weights)), options(options), context(context) {}

  using Result = llvm::Expected<std::unique_ptr<Importer>>;
  Result run();

private:
  Result runWith(const Program &assumed);
  /// With sizes that may be 1; null where that is not possible.
  Result withOnes(Program base, llvm::ArrayRef<std::string> sizes);
  bool keepsResultsNonEmpty(const Program &assumed);

  std::string file;
  Program program;
  Weights weights;
  const ImportOptions &options;
  mlir::MLIRContext &context;
};

constexpr unsigned maxAttempts = 8;

} // namespace

Attempts::Result Attempts::runWith(const Program &assumed) {
  Needs needs;
  for (unsigned attempt = 1;; ++attempt) {
    needs.grew = false;
    Program copy = assumed;
    LATHE_TRY(symbols, Symbols::learn(copy, options, needs.stated, file));
    auto importer = std::make_unique<Importer>(file, std::move(copy), std::move(symbols), weights, needs, context);
    llvm::Error error = importer->build();
    if (needs.grew && attempt < maxAttempts) {
      llvm::consumeError(std::move(error));
      continue;
    }
    if (error)
      return error;
    return importer;
  }
}

/// Whether every size that is at least 1 in the program as it stands is so with these ranges.
bool Attempts::keepsResultsNonEmpty(const Program &assumed) {
  Program before = program, after = assumed;
  auto strict = Symbols::learn(before, options, {}, file), loose = Symbols::learn(after, options, {}, file);
  bool keeps = strict && loose;
  for (auto &[name, meta] : before.tensors)
    for (size_t i = 0; i < meta.sizes.size() && keeps; ++i)
      if (const auto &size = meta.sizes[i].expr)
        keeps = loose->facts().provablyPositive(*size) || !strict->facts().provablyPositive(*size);
  for (auto *learned : {&strict, &loose})
    if (!*learned)
      llvm::consumeError(learned->takeError());
  return keeps;
}

Attempts::Result Attempts::withOnes(Program base, llvm::ArrayRef<std::string> sizes) {
  for (const std::string &name : sizes)
    base.ranges[name].first = 1;
  if (sizes.empty() || !keepsResultsNonEmpty(base))
    return nullptr;
  Result result = runWith(base);
  if (result && (*result)->isClean())
    return result;
  if (!result)
    llvm::consumeError(result.takeError());
  return nullptr;
}

/// torch.export assumes that open sizes are at least 2, and PyTorch runs the program at 1 all the same. Where the program makes
/// sense there (no operator relies on the assumption, and no result becomes empty), so does the artifact: all sizes together if
/// that can be, else one after the other.
Attempts::Result Attempts::run() {
  std::vector<std::string> open;
  for (const auto &[name, range] : program.ranges)
    if (range.first == std::optional<int64_t>(2))
      open.push_back(name);
  if (Result all = withOnes(program, open); !all || *all)
    return all;
  Result best = runWith(program);
  if (!best || !(*best)->isClean() || open.size() > maxAttempts)
    return best;
  std::vector<std::string> taken;
  for (const std::string &name : open) {
    taken.push_back(name);
    Result more = withOnes(program, taken);
    if (!more)
      return more;
    if (*more)
      best = std::move(more);
    else
      taken.pop_back();
  }
  return best;
}

static llvm::Expected<std::unique_ptr<Importer>> import(StringRef path, const ImportOptions &options, mlir::MLIRContext &context) {
  context.loadDialect<mlir::func::FuncDialect, mlir::arith::ArithDialect, mlir::math::MathDialect, ir::LatheDialect>();
  std::string file = path.str();
  if (!options.values.empty())
    return userError("--value {0}: values are bound in ONNX models only; export the program with the value fixed", options.values[0].input);
  LATHE_TRY(opened, openProgram(path));
  LATHE_TRY(weights, Weights::open(*opened.archive, opened.model, file));
  return Attempts(file, std::move(opened.program), std::move(weights), options, context).run();
}

llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> lathe::importFx(StringRef path, const ImportOptions &options,
                                                                  mlir::MLIRContext &context) {
  LATHE_TRY(importer, import(path, options, context));
  if (llvm::Error error = importer->complaints())
    return error;
  return std::move(importer->module);
}

llvm::Expected<std::vector<NodeReport>> lathe::checkFx(StringRef path, const ImportOptions &options,
                                                       mlir::MLIRContext &context) {
  auto importer = import(path, options, context);
  if (importer && !(*importer)->bugs.empty())
    return (*importer)->complaints();
  if (importer)
    return std::move((*importer)->refused);
  std::vector<NodeReport> refused;
  llvm::Error rest = llvm::handleErrors(importer.takeError(), [&](const UnsupportedError &e) {
    for (const std::string &item : e.items)
      refused.push_back({"", "", 0, item});
  });
  if (rest)
    return rest;
  return refused;
}
