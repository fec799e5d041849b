//===- HostProgram.cpp - The steps of @main as an artifact's program -------===//

#include "HostProgram.h"
#include "Constants.h"
#include "HostSteps.h"
#include "lathe/Dialect/Lathe/States.h"
#include "lathe/Support/Diagnostics.h"

using namespace mlir;
using namespace lathe;
using artifact::BufferId;
using llvm::Error;
using llvm::Expected;
using shape::Expr;

func::FuncOp pipeline::mainOf(ModuleOp module) { return module.lookupSymbol<func::FuncOp>("main"); }

static artifact::TensorInfo tensorInfo(Type type, StringAttr name, const Twine &fallback) {
  artifact::TensorInfo t;
  t.name = name ? name.str() : fallback.str();
  t.dtype = pipeline::dtypeOf(cast<RankedTensorType>(type).getElementType());
  ir::Dims dims = ir::dimsOf(type);
  t.dims.assign(dims.begin(), dims.end());
  return t;
}

/// The type for the caller, where the model keeps its elements in another one.
static Type seenType(Type type, Attribute seen) { return seen ? cast<TypeAttr>(seen).getValue() : type; }

/// The number among the inputs of each argument, and among the outputs of each result: states are neither.
struct Places {
  std::vector<std::optional<unsigned>> inputs, outputs;

  explicit Places(func::FuncOp main) {
    unsigned count = 0;
    for (unsigned i = 0; i < main.getNumArguments(); ++i)
      inputs.push_back(ir::stateOfArgument(main, i) ? std::nullopt : std::optional<unsigned>(count++));
    count = 0;
    for (unsigned i = 0; i < main.getNumResults(); ++i)
      outputs.push_back(ir::stateOfResult(main, i) ? std::nullopt : std::optional<unsigned>(count++));
  }
};

static Error addState(artifact::ArtifactBuilder &builder, func::FuncOp main, unsigned argument) {
  Type type = seenType(main.getArgument(argument).getType(), main.getArgAttr(argument, "lathe.type"));
  artifact::StateInfo info{tensorInfo(type, ir::stateOfArgument(main, argument), ""), std::nullopt};
  if (auto initial = main.getArgAttrOfType<ElementsAttr>(argument, ir::initialAttr); initial && !ir::isZeros(initial)) {
    Expected<artifact::ByteSource> bytes = pipeline::attributeBytes(initial);
    if (!bytes)
      return bytes.takeError();
    info.initial = builder.addConstant(std::move(*bytes));
  }
  return builder.addState(std::move(info)).takeError();
}

static Error addTensors(artifact::ArtifactBuilder &builder, func::FuncOp main) {
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    if (ir::stateOfArgument(main, i)) {
      if (Error e = addState(builder, main, i))
        return e;
      continue;
    }
    builder.addInput(tensorInfo(seenType(main.getArgument(i).getType(), main.getArgAttr(i, "lathe.type")),
                                main.getArgAttrOfType<StringAttr>(i, "lathe.name"), "in" + Twine(i)));
  }
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    if (!ir::stateOfResult(main, i))
      builder.addOutput(tensorInfo(seenType(main.getResultTypes()[i], main.getResultAttr(i, "lathe.type")),
                                   main.getResultAttrOfType<StringAttr>(i, "lathe.name"), "out" + Twine(i)));
  return Error::success();
}

Error pipeline::addSignature(artifact::ArtifactBuilder &builder, ModuleOp module) {
  std::set<std::string> late = ir::lateSymbols(module);
  Places places(mainOf(module));
  for (ir::SymbolOp s : module.getOps<ir::SymbolOp>()) {
    if (s.getDefinition())
      continue;
    artifact::SymbolInfo info;
    info.name = s.getName().str();
    info.min = s.getMin();
    info.max = int64_t(s.getMax()) < 0 ? INT64_MAX : s.getMax();
    info.hints.assign(s.getHints().begin(), s.getHints().end());
    if (std::optional<ArrayRef<int64_t>> e = s.getElement(); e && e->size() == 2) {
      std::optional<unsigned> input = uint64_t((*e)[0]) < places.inputs.size() ? places.inputs[(*e)[0]] : std::nullopt;
      if (!input)
        return unsupported("the size '{0}' is an element of a state; only inputs may decide sizes", info.name);
      info.element = LatheRead{uint32_t(*input), uint32_t((*e)[1])};
    }
    info.late = late.count(info.name) != 0;
    builder.addSymbol(info);
  }
  if (Error e = addTensors(builder, mainOf(module)))
    return e;
  for (ir::SymbolOp s : module.getOps<ir::SymbolOp>())
    if (s.getDefinition())
      builder.addDerived(s.getName(), Expr::parsed(*s.getDefinition()));
  for (ir::RelationOp r : module.getOps<ir::RelationOp>())
    if (!r.getScope()) { // the others are steps of their functions
      SizeCheck c = checkOf(r);
      auto isLate = [&](const std::string &name) { return late.count(name) != 0; };
      bool ofValues = llvm::any_of(c.a.symbols(), isLate) || llvm::any_of(c.b.symbols(), isLate);
      builder.addCheck(c.kind, c.a, c.b, c.says, r.getSays() && (ofValues || c.kind != LATHE_CHECK_HOLDS));
    }
  return Error::success();
}

Error pipeline::addProgram(artifact::ArtifactBuilder &builder, uint32_t deviceType, ModuleOp module,
                           llvm::DenseMap<Operation *, artifact::KernelId> ids, std::vector<LaunchedTogether> together) {
  artifact::Program &program = builder.program(deviceType);
  func::FuncOp main = mainOf(module);
  Places places(main);
  std::vector<BufferId> arguments;
  std::vector<StepWriter::Target> targets;
  auto state = [&](StringAttr name) { return program.state(builder.stateNamed(name)); };
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    arguments.push_back(places.inputs[i] ? program.input(*places.inputs[i]) : state(ir::stateOfArgument(main, i)));
  StepWriter writer(builder, program, module, ids, together);
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    if (places.outputs[i])
      targets.push_back({program.output(*places.outputs[i]), writer.isLate(main.getResultTypes()[i])});
    else
      targets.push_back({state(ir::stateOfResult(main, i)), false});
  return writer.run(main, arguments, targets);
}
