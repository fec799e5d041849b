//===- InspectModel.cpp - What is in a model file, and what of it compiles --===//
#include "Commands.h"
#include "lathe/Dialect/Lathe/States.h"
#include "lathe/Import/Fx/ImportFx.h"
#include "lathe/Import/Onnx/OnnxImporter.h"
#include "lathe/Import/Signature.h"
#include "lathe/Pipeline/Compile.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace lathe;
using namespace lathe::tool;

static bool isFx(StringRef path) {
  StringRef extension = sys::path::extension(path);
  return extension == ".pt2" || extension == ".json" || sys::fs::is_directory(path);
}

bool lathe::tool::isModel(StringRef path) {
  StringRef extension = sys::path::extension(path);
  return isFx(path) || extension == ".onnx" || extension == ".textproto";
}

/// The file's programs, one where it is no archive of several; a title in front of each of several.
static Error forPrograms(const std::string &path, const ImportOptions &options, bool json, function_ref<Error(const EntryPoint &)> run) {
  CompileOptions compilation;
  compilation.entries = {{path, "", options}};
  if (Error e = expandEntries(compilation))
    return e;
  bool several = compilation.entries.size() > 1;
  Error errors = Error::success();
  for (const EntryPoint &entry : compilation.entries) {
    if (several && json)
      outs() << (&entry == &compilation.entries.front() ? "{" : ",") << json::Value(json::fixUTF8(entry.program)) << ": ";
    else if (several)
      outs() << "program " << entry.program << "\n";
    errors = joinErrors(std::move(errors), run(entry));
  }
  if (several && json)
    outs() << "}\n";
  return errors;
}

static Error checkProgram(const EntryPoint &entry, bool json) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto reports = isFx(entry.model) ? checkFx(entry.model, entry.import, context, entry.program)
                                   : checkOnnx(entry.model, entry.import, context);
  if (!reports)
    return reports.takeError();
  // Nodes may be fine and their sizes not: what ends a later stage is found by running it.
  if (reports->empty()) {
    CompileOptions compilation;
    compilation.entries = {entry};
    Expected<std::vector<TargetSpec>> targets = parseTargets("host");
    if (!targets)
      return targets.takeError();
    compilation.targets = *targets;
    if (Error e = checkStages(compilation))
      return e;
  }
  if (json) {
    json::Array nodes;
    for (const NodeReport &r : *reports)
      nodes.push_back(json::Object{{"node", json::fixUTF8(r.node)},
                                   {"op", json::fixUTF8(r.op)},
                                   {"opset", r.opset},
                                   {"kind", r.isUnsupported ? "unsupported" : "invalid"},
                                   {"reason", json::fixUTF8(r.reason)}});
    outs() << formatv("{0:2}\n", json::Value(json::Object{{"unsupported", std::move(nodes)}}));
  } else if (reports->empty()) {
    outs() << "every node can be compiled\n";
  }
  if (reports->empty())
    return Error::success();
  std::vector<std::string> items;
  Error error = Error::success();
  for (const NodeReport &r : *reports)
    if (r.isUnsupported)
      items.push_back(r.reason);
    else
      error = joinErrors(std::move(error), make_error<UserError>(r.reason));
  return items.empty() ? std::move(error) : joinErrors(std::move(error), make_error<UnsupportedError>(std::move(items)));
}

Error lathe::tool::checkModel(const std::string &path, const ImportOptions &options, bool json) {
  return forPrograms(path, options, json, [&](const EntryPoint &entry) { return checkProgram(entry, json); });
}

/// "f32 [batch, 3, 224]"
static std::string textOf(mlir::Type type) {
  std::string text;
  raw_string_ostream os(text);
  os << cast<mlir::RankedTensorType>(type).getElementType() << " [";
  for (auto [i, dim] : enumerate(ir::dimsOf(type)))
    os << (i ? ", " : "") << dim.str();
  return text + "]";
}

/// The tensors of those names; others are left out.
static json::Array describeTensors(ArrayRef<mlir::Type> types, function_ref<mlir::Attribute(unsigned)> name) {
  json::Array result;
  for (auto [i, type] : enumerate(types))
    if (auto text = dyn_cast_if_present<mlir::StringAttr>(name(i)))
      result.push_back(json::Object{{"name", json::fixUTF8(text.getValue())}, {"type", textOf(type)}});
  return result;
}

/// As JSON or as text; a size may have `min`, `max` and `is`.
static void printSignature(json::Array inputs, json::Array outputs, json::Array states, json::Array sizes, bool json) {
  if (json) {
    outs() << formatv("{0:2}\n", json::Value(json::Object{
                                     {"inputs", std::move(inputs)}, {"outputs", std::move(outputs)}, {"states", std::move(states)},
                                     {"sizes", std::move(sizes)}}));
    return;
  }
  for (auto &[title, all] : {std::pair<StringRef, json::Array &>{"input", inputs}, {"output", outputs}, {"state", states}})
    for (const json::Value &v : all)
      outs() << title << " " << *v.getAsObject()->getString("name") << ": " << *v.getAsObject()->getString("type") << "\n";
  for (const json::Value &v : sizes) {
    const json::Object &size = *v.getAsObject();
    outs() << "size " << *size.getString("name");
    if (auto min = size.getInteger("min"))
      outs() << ": " << *min << "..";
    if (auto max = size.getInteger("max"))
      outs() << *max;
    if (auto definition = size.getString("is"))
      outs() << " = " << *definition;
    outs() << "\n";
  }
}

/// What can be said of a model that cannot be compiled; why it cannot follows as an error.
static Error describeModel(const EntryPoint &entry, bool json, mlir::MLIRContext &context) {
  auto signature = isFx(entry.model) ? describeFx(entry.model, context, entry.program) : describeOnnx(entry.model, context);
  if (!signature) {
    consumeError(signature.takeError()); // the file cannot be read at all, which is said already
    return Error::success();
  }
  auto tensors = [](const std::vector<ModelSignature::Tensor> &all) {
    json::Array list;
    for (const ModelSignature::Tensor &t : all)
      list.push_back(json::Object{{"name", json::fixUTF8(t.name)}, {"type", json::fixUTF8(t.type)}});
    return list;
  };
  json::Array sizes;
  for (const std::string &name : signature->sizes)
    sizes.push_back(json::Object{{"name", json::fixUTF8(name)}});
  printSignature(tensors(signature->inputs), tensors(signature->outputs), json::Array(), std::move(sizes), json);
  return Error::success();
}

static Error inspectProgram(const EntryPoint &entry, bool json) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = isFx(entry.model) ? importFx(entry.model, entry.import, context, entry.program)
                                  : importOnnx(entry.model, entry.import, context);
  if (!module)
    return joinErrors(describeModel(entry, json, context), module.takeError());
  json::Array sizes;
  for (ir::SymbolOp s : (*module)->getOps<ir::SymbolOp>())
    sizes.push_back(json::Object{{"name", json::fixUTF8(shape::nameOf(s.getName()))},
                                 {"min", int64_t(s.getMin())},
                                 {"max", int64_t(s.getMax()) < 0 ? json::Value(nullptr) : json::Value(int64_t(s.getMax()))},
                                 {"is", s.getDefinition() ? json::Value(json::fixUTF8(*s.getDefinition())) : json::Value(nullptr)}});
  auto main = (*module)->lookupSymbol<mlir::func::FuncOp>("main");
  if (!main)
    return bug("{0}: the imported model has no main function", entry.model);
  auto ofArguments = [&](StringRef attribute) {
    return describeTensors(main.getArgumentTypes(), [&](unsigned i) { return main.getArgAttr(i, attribute); });
  };
  json::Array outputs = describeTensors(main.getResultTypes(), [&](unsigned i) { return main.getResultAttr(i, "lathe.name"); });
  printSignature(ofArguments("lathe.name"), std::move(outputs), ofArguments(ir::stateAttr), std::move(sizes), json);
  return Error::success();
}

Error lathe::tool::inspectModel(const std::string &path, const ImportOptions &options, bool json) {
  return forPrograms(path, options, json, [&](const EntryPoint &entry) { return inspectProgram(entry, json); });
}
