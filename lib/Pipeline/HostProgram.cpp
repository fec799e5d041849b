//===- HostProgram.cpp - The steps of @main as an artifact's program -------===//

#include "HostProgram.h"
#include "Constants.h"
#include "lathe/Support/Diagnostics.h"

using namespace mlir;
using namespace lathe;
using llvm::Error;
using llvm::Expected;
using artifact::BufferId;
using shape::Expr;

func::FuncOp pipeline::mainOf(ModuleOp module) { return module.lookupSymbol<func::FuncOp>("main"); }

static Expr parsed(StringRef text) {
  Expected<Expr> e = Expr::parse(text);
  if (e)
    return *e;
  llvm::consumeError(e.takeError());
  return Expr(0);
}

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
      builder.addDerived(s.getName(), parsed(*s.getDefinition()));
  for (ir::RelationOp r : module.getOps<ir::RelationOp>()) {
    Expr a = parsed(r.getLeft()), b = parsed(r.getRight());
    static const std::map<StringRef, std::pair<LatheCheckKind, const char *>> kinds = {
        {"eq", {LATHE_CHECK_EQ, " = "}}, {"le", {LATHE_CHECK_LE, " <= "}}, {"ne", {LATHE_CHECK_NE, " != "}}};
    auto says = [&](StringRef between) {
      return r.getSays() ? r.getSays()->str() : (r.getLeft() + between + r.getRight()).str();
    };
    bool ofValues = r.getSays().has_value();
    if (auto kind = kinds.find(r.getKind()); kind != kinds.end())
      builder.addCheck(kind->second.first, a, b, says(kind->second.second), ofValues);
    else
      builder.addCheck(LATHE_CHECK_EQ, Expr::mod(b, a), Expr(0), says(" divides "), ofValues);
  }
  return Error::success();
}

namespace {

/// Gives every tensor of @main a buffer and every kernel a step.
class ProgramWriter {
public:
  ProgramWriter(artifact::ArtifactBuilder &builder, artifact::Program &program) : builder(builder), program(program) {}
  Error run(func::FuncOp main, ArrayRef<artifact::KernelId> ids);

private:
  Error addKernel(kernel::GenericOp op, artifact::KernelId id);
  Expected<BufferId> constant(Type type, Expected<artifact::ByteSource> bytes);
  Error finish(func::ReturnOp ret);

  static Expr bytesOf(Type type) {
    return shape::product(ir::dimsOf(type)) * Expr(pipeline::elementBytes(cast<RankedTensorType>(type).getElementType()));
  }
  static LatheDType dtypeOf(Value v) { return pipeline::dtypeOf(ir::elementOf(v)); }

  artifact::ArtifactBuilder &builder;
  artifact::Program &program;
  llvm::DenseMap<Value, BufferId> buffers;
  llvm::DenseMap<Value, unsigned> outputOf; ///< kernels' results that are an output's memory
};

Expected<BufferId> ProgramWriter::constant(Type type, Expected<artifact::ByteSource> bytes) {
  if (!bytes)
    return bytes.takeError();
  Expected<artifact::ConstantId> id = builder.addConstant(std::move(*bytes));
  if (!id)
    return id.takeError();
  return program.constant(pipeline::dtypeOf(cast<RankedTensorType>(type).getElementType()), *id);
}

Error ProgramWriter::addKernel(kernel::GenericOp op, artifact::KernelId id) {
  std::vector<BufferId> operands;
  for (Value v : op.getInputs())
    operands.push_back(buffers.lookup(v));
  for (Value v : op.getOutputs()) {
    auto output = outputOf.find(v);
    buffers[v] = output != outputOf.end() ? program.output(output->second) : program.temp(dtypeOf(v), bytesOf(v.getType()));
    operands.push_back(buffers[v]);
  }
  std::vector<Expr> sizes;
  for (const std::string &s : op.getSizeSymbols())
    sizes.push_back(Expr::symbol(s));
  program.kernel(id, operands, sizes);
  return Error::success();
}

/// What is returned twice, or an operand returned as it is, is copied to its second place.
Error ProgramWriter::finish(func::ReturnOp ret) {
  for (auto [i, v] : llvm::enumerate(ret.getOperands())) {
    Value base = v;
    while (auto r = base.getDefiningOp<ir::ReshapeOp>())
      base = r.getX();
    auto it = outputOf.find(base);
    if (it == outputOf.end() || it->second != i)
      program.copy(buffers.lookup(base), program.output(i), bytesOf(v.getType()));
  }
  return Error::success();
}

Error ProgramWriter::run(func::FuncOp main, ArrayRef<artifact::KernelId> ids) {
  auto ret = cast<func::ReturnOp>(main.getBody().front().getTerminator());
  for (auto [i, v] : llvm::enumerate(ret.getOperands())) {
    Value base = v;
    while (auto r = base.getDefiningOp<ir::ReshapeOp>())
      base = r.getX();
    if (base.getDefiningOp<kernel::GenericOp>())
      outputOf.try_emplace(base, i);
  }
  for (BlockArgument a : main.getArguments())
    buffers[a] = program.input(a.getArgNumber());
  unsigned next = 0;
  for (Operation &op : main.getBody().front()) {
    if (auto k = dyn_cast<kernel::GenericOp>(op)) {
      if (Error e = addKernel(k, ids[next++]))
        return e;
      continue;
    }
    Expected<BufferId> id = BufferId(0);
    if (auto c = dyn_cast<ir::ConstantOp>(op)) {
      if (llvm::all_of(op.getUsers(), [](Operation *u) { return isa<kernel::PackOp>(u); }))
        continue;
      id = constant(c.getType(), pipeline::constantBytes(c));
    } else if (auto p = dyn_cast<kernel::PackOp>(op)) {
      id = constant(p.getType(), pipeline::packedBytes(p));
    } else if (auto r = dyn_cast<ir::ReshapeOp>(op)) {
      id = program.view(dtypeOf(r.getResult()), buffers.lookup(r.getX()), bytesOf(r.getType()));
    } else if (!isa<func::ReturnOp>(op)) {
      return bug("'{0}' is left after fusion", op.getName().getStringRef());
    }
    if (!id)
      return id.takeError();
    if (op.getNumResults())
      buffers[op.getResult(0)] = *id;
  }
  return finish(ret);
}

} // namespace

Error pipeline::addProgram(artifact::ArtifactBuilder &builder, uint32_t deviceType, ModuleOp module,
                           ArrayRef<artifact::KernelId> kernelIds) {
  return ProgramWriter(builder, builder.program(deviceType)).run(mainOf(module), kernelIds);
}
