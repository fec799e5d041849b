//===- Importer.cpp - Inputs, weights and outputs of a program --------------===//

#include "Importer.h"
#include "mlir/IR/Verifier.h"

using namespace lathe;
using namespace lathe::fx;
using llvm::StringRef;

Importer::Importer(std::string file, Program program, Symbols symbols, Weights &weights, Needs &needs, const ImportOptions &options,
                   mlir::MLIRContext &context)
    : file(std::move(file)), program(std::move(program)), symbols(std::move(symbols)), weights(weights), needs(needs), options(options),
      builder(&context), unknown(mlir::UnknownLoc::get(&context)),
      g(builder, unknown, this->symbols.facts()) {
  for (const OutputSpec &output : this->program.outputs)
    this->program.gives.push_back(output.argument);
  read = readTensors(this->program);
  findStates();
  late.isLate = [this](const std::string &symbol) { return this->symbols.isLate(symbol); };
  for (const std::string &why : this->symbols.uncheckable())
    refused.push_back({"", "guard", 0, why});
}

static mlir::Location locationOf(mlir::MLIRContext *context, StringRef name) {
  return mlir::NameLoc::get(mlir::StringAttr::get(context, name));
}

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
  auto meta = graph->tensors.find(tensor.str());
  if (meta == graph->tensors.end())
    return userError("{0}: {1}: the file does not describe the tensor '{2}'", file, what, tensor);
  bool pairs = isComplexType(meta->second.dtype);
  Type element = elementType(pairs ? partsType(meta->second.dtype) : meta->second.dtype, builder.getContext());
  if (!element)
    return lathe::unsupported("{0}: {1}: '{2}' has the type {3}, which the compiler does not have", file, what, tensor,
                              dtypeName(meta->second.dtype));
  Dims dims;
  for (const Size &s : meta->second.sizes) {
    if (!symbols.knows(s))
      return lathe::unsupported("{0}: {1}: '{2}' has the size {3}, which depends on the data or is no size expression", file,
                                what, tensor, s.expr ? s.expr->str() : s.text);
    Expr e = canonical ? g.facts.simplify(*s.expr) : *s.expr;
    if (!canonical && !g.facts.provablyLessEqual(Expr(0), e)) // needSizes has looked at those of nodes
      return userError("{0}: {1}: '{2}' has the size {3}, which may be negative", file, what, tensor, e.str());
    dims.push_back(e);
  }
  if (pairs)
    dims.push_back(Expr(2));
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

/// A weight, as the graph describes it.
llvm::Expected<mlir::ElementsAttr> Importer::weightValue(const InputSpec &spec) {
  auto meta = program.tensors.find(spec.value);
  if (meta == program.tensors.end())
    return userError("{0}: the file does not describe the tensor '{1}' ('{2}')", file, spec.value, spec.key);
  LATHE_TRY(type, typeOf(spec.value, "weight", /*canonical=*/true));
  LATHE_TRY(attribute, weights.value(spec, meta->second, builder.getContext()));
  if (attribute.getType() == type)
    return attribute;
  std::string stored, wanted;
  llvm::raw_string_ostream(stored) << attribute.getType();
  llvm::raw_string_ostream(wanted) << type;
  return userError("{0}: weight '{1}' is {2} in the archive and {3} in the graph", file, spec.key, stored, wanted);
}

llvm::Error Importer::addWeight(const InputSpec &spec) {
  LATHE_TRY(attribute, weightValue(spec));
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
                    : states.count(spec.value)            ? addState(spec)
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
// Outputs and the whole
//===----------------------------------------------------------------------===//

llvm::Error Importer::addOutputs() {
  SmallVector<Value> results;
  SmallVector<mlir::Attribute> attributes;
  for (auto [place, spec] : llvm::enumerate(program.outputs)) {
    if (!spec.user) {
      if (spec.what != "token" && spec.buffer.empty())
        refuse(spec.what, "the model writes to its input (" + spec.what + "), and inputs are only read: return the new value as an "
                              "output, or register the tensor as a buffer (register_buffer), which makes it a state");
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
      refuse(name, "output '" + name + "' may share memory with a tensor that '" + *writer + "' has written in place, or be a copy of it: the file does not say which");
    note(values.refresh(name), name, "output");
    results.push_back(values.current().at(name));
    attributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr("lathe.name", builder.getStringAttr(name))));
  }
  if (llvm::Error e = addNewStates(results, attributes))
    return e;
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
  main = builder.create<mlir::func::FuncOp>(unknown, "main", builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(main.addEntryBlock());
  if (llvm::Error e = addInputs())
    return e;
  for (const Node &node : program.nodes)
    if (llvm::Error e = addNode(node))
      return e;
  if (llvm::Error e = addOutputs())
    return e;
  if (isClean())
    for (const std::string &why : symbols.uncheckable(late))
      refused.push_back({"", "guard", 0, why});
  if (!isClean())
    return llvm::Error::success();
  for (auto function : module->getOps<mlir::func::FuncOp>())
    eraseDead(function);
  builder.setInsertionPointToStart(module->getBody());
  symbols.declare(builder, unknown, late);
  for (const std::string &counter : counters)
    builder.create<ir::SymbolOp>(unknown, counter, 0, -1, llvm::ArrayRef<int64_t>(), mlir::StringAttr(), mlir::DenseI64ArrayAttr());
  for (const auto &[name, same] : late.again) {
    builder.create<ir::SymbolOp>(unknown, name, same.isUnknown() ? 0 : INT64_MIN, -1, llvm::ArrayRef<int64_t>(), mlir::StringAttr(),
                                 mlir::DenseI64ArrayAttr());
    if (same.isUnknown())
      continue;
    builder.create<ir::RelationOp>(unknown, shape::Expr::symbol(name).str(), "eq", same.str(), late.scopeOf(shape::Expr::symbol(name), "", builder.getContext()),
                                   mlir::StringAttr());
  }
  for (const auto &[name, says] : late.asserted) {
    shape::Expr held = shape::Expr::symbol(name);
    builder.create<ir::SymbolOp>(unknown, name, 0, 1, llvm::ArrayRef<int64_t>(), mlir::StringAttr(), mlir::DenseI64ArrayAttr());
    builder.create<ir::RelationOp>(unknown, "1", "holds", held.str(), late.scopeOf(held, "", builder.getContext()), builder.getStringAttr(says));
  }
  std::string problems;
  mlir::ScopedDiagnosticHandler handler(builder.getContext(), [&](mlir::Diagnostic &d) {
    problems += (problems.empty() ? "" : "; ") + d.str();
    return mlir::success();
  });
  if (mlir::failed(mlir::verify(*module)))
    return bug("{0}: the imported graph does not verify: {1}", file, problems);
  return llvm::Error::success();
}
