//===- HostProgram.cpp - The steps of @main as an artifact's program -------===//

#include "HostProgram.h"
#include "Constants.h"
#include "HostSteps.h"
#include "lathe/Support/Diagnostics.h"

using namespace mlir;
using namespace lathe;
using llvm::Error;
using llvm::Expected;
using artifact::BufferId;
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

Error pipeline::addSignature(artifact::ArtifactBuilder &builder, ModuleOp module) {
  std::set<std::string> late = ir::lateSymbols(module);
  for (ir::SymbolOp s : module.getOps<ir::SymbolOp>()) {
    if (s.getDefinition())
      continue;
    artifact::SymbolInfo info;
    info.name = s.getName().str();
    info.min = s.getMin();
    info.max = int64_t(s.getMax()) < 0 ? INT64_MAX : s.getMax();
    info.hints.assign(s.getHints().begin(), s.getHints().end());
    if (std::optional<ArrayRef<int64_t>> e = s.getElement(); e && e->size() == 2)
      info.element = LatheRead{uint32_t((*e)[0]), uint32_t((*e)[1])};
    info.late = late.count(info.name) != 0;
    builder.addSymbol(info);
  }
  func::FuncOp main = mainOf(module);
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    builder.addInput(tensorInfo(seenType(main.getArgument(i).getType(), main.getArgAttr(i, "lathe.type")), main.getArgAttrOfType<StringAttr>(i, "lathe.name"),
                                "in" + Twine(i)));
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    builder.addOutput(tensorInfo(seenType(main.getResultTypes()[i], main.getResultAttr(i, "lathe.type")), main.getResultAttrOfType<StringAttr>(i, "lathe.name"),
                                 "out" + Twine(i)));
  for (ir::SymbolOp s : module.getOps<ir::SymbolOp>())
    if (s.getDefinition())
      builder.addDerived(s.getName(), Expr::parsed(*s.getDefinition()));
  for (ir::RelationOp r : module.getOps<ir::RelationOp>())
    if (!r.getScope()) { // the others are steps of their functions
      SizeCheck c = checkOf(r);
      builder.addCheck(c.kind, c.a, c.b, c.says, r.getSays() && c.kind != LATHE_CHECK_HOLDS);
    }
  return Error::success();
}

std::vector<kernel::GenericOp> pipeline::kernelsOf(ModuleOp module) {
  std::vector<kernel::GenericOp> kernels;
  for (auto f : module.getOps<func::FuncOp>())
    f.walk([&](kernel::GenericOp op) { kernels.push_back(op); });
  return kernels;
}

Error pipeline::addProgram(artifact::ArtifactBuilder &builder, uint32_t deviceType, ModuleOp module,
                           ArrayRef<artifact::KernelId> kernelIds) {
  llvm::DenseMap<Operation *, artifact::KernelId> ids;
  for (auto [op, id] : llvm::zip(kernelsOf(module), kernelIds))
    ids[op] = id;
  artifact::Program &program = builder.program(deviceType);
  func::FuncOp main = mainOf(module);
  std::vector<BufferId> arguments;
  std::vector<StepWriter::Target> targets;
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    arguments.push_back(program.input(i));
  StepWriter writer(builder, program, module, ids);
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    targets.push_back({program.output(i), writer.isLate(main.getResultTypes()[i])});
  return writer.run(main, arguments, targets);
}
