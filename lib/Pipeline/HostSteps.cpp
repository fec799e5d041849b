//===- HostSteps.cpp - A function as steps of a program --------------------===//

#include "HostSteps.h"
#include "Constants.h"
#include "lathe/Dialect/Lathe/States.h"
#include "lathe/Support/Diagnostics.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::pipeline;
using llvm::Error;
using llvm::Expected;
using shape::Expr;

Expr StepWriter::bytesOf(Type type) {
  return shape::product(ir::dimsOf(type)) * Expr(elementBytes(cast<RankedTensorType>(type).getElementType()));
}
LatheDType StepWriter::dtypeOfValue(Value v) { return dtypeOf(ir::elementOf(v)); }

static Value baseOf(Value v) {
  while (auto r = v.getDefiningOp<ir::ReshapeOp>())
    v = r.getX();
  return v;
}

StepWriter::StepWriter(artifact::ArtifactBuilder &builder, artifact::Program &program, ModuleOp module,
                       const llvm::DenseMap<Operation *, artifact::KernelId> &kernels, ArrayRef<LaunchedTogether> together)
    : builder(builder), program(program), module(module), kernels(kernels) {
  for (const LaunchedTogether &launch : together)
    for (Operation *op : launch.ops)
      launched[op] = &launch;
  late.roots = ir::lateSymbols(module);
  for (ir::SymbolOp s : module.getOps<ir::SymbolOp>())
    if (s.getDefinition()) {
      late.derived.insert({s.getName().str(), Expr::parsed(*s.getDefinition())});
      if (s->hasAttr(ir::launchSizeAttr))
        launchSizes.insert(s.getName().str());
      late.roots.erase(s.getName().str());
    }
  for (ir::RelationOp r : module.getOps<ir::RelationOp>())
    if (r.getScope())
      scoped[*r.getScope()].push_back(checkOf(r));
}

SizeCheck pipeline::checkOf(ir::RelationOp r) {
  Expr a = Expr::parsed(r.getLeft()), b = Expr::parsed(r.getRight());
  static const std::map<StringRef, std::pair<LatheCheckKind, const char *>> kinds = {
      {"eq", {LATHE_CHECK_EQ, " = "}}, {"le", {LATHE_CHECK_LE, " <= "}}, {"ne", {LATHE_CHECK_NE, " != "}}, {"holds", {LATHE_CHECK_HOLDS, " <= "}}};
  auto says = [&](StringRef between) { return r.getSays() ? r.getSays()->str() : (r.getLeft() + between + r.getRight()).str(); };
  if (auto kind = kinds.find(r.getKind()); kind != kinds.end())
    return {kind->second.first, a, b, says(kind->second.second)};
  return {LATHE_CHECK_EQ, Expr::mod(b, a), Expr(0), says(" divides ")};
}

/// Writes the checks whose sizes are known by now, and keeps the others.
void StepWriter::addChecks(std::vector<SizeCheck> &due) {
  llvm::erase_if(due, [&](const SizeCheck &c) {
    for (const Expr &e : {c.a, c.b})
      for (const std::string &root : late.rootsOf(e))
        if (!available.count(root))
          return false;
    program.check(c.kind, c.a, c.b, c.says);
    return true;
  });
}

bool StepWriter::isLate(Type type) const {
  return llvm::any_of(ir::dimsOf(type), [&](const Expr &e) { return late.isLate(e); });
}

func::FuncOp StepWriter::function(FlatSymbolRefAttr ref) { return module.lookupSymbol<func::FuncOp>(ref.getValue()); }

StepWriter::Target StepWriter::newTarget(Type type) {
  LatheDType dtype = dtypeOf(cast<RankedTensorType>(type).getElementType());
  bool dynamic = isLate(type);
  // The arena is laid out for branches as well that do not run, and whose sizes then need not make sense.
  Expr bytes = numBranches ? Expr::max(Expr(0), bytesOf(type)) : bytesOf(type);
  return {dynamic ? program.dynamic(dtype) : program.temp(dtype, bytes), dynamic};
}

/// Where a result goes: its place if it is returned, else memory of its own.
StepWriter::Target StepWriter::targetFor(Value v) {
  auto given = targetOf.find(v);
  return given != targetOf.end() ? given->second.first : newTarget(v.getType());
}

/// The buffer that a result is written to, with memory.
StepWriter::BufferId StepWriter::bufferFor(Value v) {
  Target target = targetFor(v);
  if (target.allocate)
    program.allocate(target.buffer, bytesOf(v.getType()));
  return buffers[v] = target.buffer;
}

/// A result that lies where an operand lies. A dynamic buffer moves when it is allocated, and its views with it.
StepWriter::BufferId StepWriter::inPlaceOf(BufferId operand, Value v) {
  return buffers[v] = program.view(dtypeOfValue(v), operand, isLate(v.getType()) ? Expr(0) : bytesOf(v.getType()));
}

/// The operand in whose place a kernel's result lies; null where it has memory of its own. A scatter has its data nowhere else.
Value StepWriter::replacedBy(kernel::GenericOp op) {
  auto number = op->getAttrOfType<IntegerAttr>("in_place");
  bool moves = isLate(op.getOutputs()[0].getType()) && op.getKernelClass() != kernel::KernelClass::Scatter;
  return number && !moves ? op.getInputs()[number.getInt()] : Value();
}

Expected<StepWriter::BufferId> StepWriter::constant(Type type, Expected<artifact::ByteSource> bytes) {
  if (!bytes)
    return bytes.takeError();
  artifact::ConstantId id = builder.addConstant(std::move(*bytes));
  return program.constant(dtypeOf(cast<RankedTensorType>(type).getElementType()), id);
}

std::vector<Expr> StepWriter::sizesOf(ArrayRef<std::string> symbols) const {
  std::vector<Expr> sizes;
  for (const std::string &s : symbols)
    sizes.push_back(launchSizes.count(s) ? late.derived.at(s) : Expr::symbol(s));
  return sizes;
}

/// `when`: where that is 0, it is left out; nothing: it never is.
void StepWriter::addKernel(kernel::GenericOp op, const std::optional<Expr> &when) {
  std::vector<BufferId> operands;
  for (Value v : op.getInputs())
    operands.push_back(buffers.lookup(v));
  Value replaced = replacedBy(op);
  for (Value v : op.getOutputs())
    operands.push_back(replaced ? inPlaceOf(buffers.lookup(replaced), v) : bufferFor(v));
  program.kernel(kernels.lookup(op), operands, sizesOf(op.getSizeSymbols()), when);
}

/// Each op's results have their places where it stands, so that views of them have; the step is where the last one stands.
Error StepWriter::addTogether(const LaunchedTogether &together, Operation *op) {
  bool always = together.apart.isZero();
  if (always)
    for (Value v : op->getResults())
      bufferFor(v);
  else
    addKernel(cast<kernel::GenericOp>(op), together.apart);
  if (op != together.ops.back())
    return Error::success();
  std::vector<BufferId> all;
  for (Value v : together.operands) {
    if (auto constant = v.getDefiningOp<ir::ConstantOp>(); constant && !buffers.count(v)) // of a loop's body
      if (Error e = addOp(*constant))
        return e;
    all.push_back(buffers.lookup(v));
  }
  for (Value v : together.results)
    all.push_back(buffers.lookup(v));
  std::optional<Expr> when;
  if (!always)
    when = Expr::max(Expr(0), Expr(1) - together.apart);
  program.kernel(together.id, all, sizesOf(together.sizes), when);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The host's part
//===----------------------------------------------------------------------===//

void StepWriter::addRead(ir::ReadOp op) {
  for (auto [i, symbol] : llvm::enumerate(op.getSymbols()))
    program.read(buffers.lookup(op.getX()), int64_t(i), cast<StringAttr>(symbol).getValue());
}

void StepWriter::addCall(ir::CallOp op) {
  std::vector<BufferId> all;
  for (Value v : op.getInputs())
    all.push_back(buffers.lookup(v));
  for (Value v : op.getOutputs())
    all.push_back(bufferFor(v));
  program.call("lathe_host_" + op.getFunction().str(), all, ir::exprsOf(op.getSizes()));
}

StepWriter::Values StepWriter::assignments(ArrayAttr symbols, ArrayAttr values) {
  Values out;
  for (auto [s, v] : llvm::zip(symbols, ir::exprsOf(values)))
    out.push_back({cast<StringAttr>(s).str(), v});
  return out;
}

Error StepWriter::addIf(ir::IfOp op) {
  std::string condition = Expr::host("if" + std::to_string(numFlags++)).str();
  std::vector<BufferId> operands;
  for (Value v : op.getPassed())
    operands.push_back(buffers.lookup(v));
  std::vector<Target> results;
  for (Value v : op.getOutputs()) {
    results.push_back(targetFor(v));
    buffers[v] = results.back().buffer;
  }
  program.read(buffers.lookup(op.getCondition()), 0, condition);
  auto otherwise = program.newLabel(), end = program.newLabel();
  ++numBranches;
  program.branchIfZero(Expr::symbol(condition), otherwise);
  if (Error e = run(function(op.getThenBodyAttr()), operands, results))
    return e;
  program.assign(assignments(op.getSymbols(), op.getThenSizes()));
  program.jump(end);
  program.place(otherwise);
  if (Error e = run(function(op.getElseBodyAttr()), operands, results))
    return e;
  program.assign(assignments(op.getSymbols(), op.getElseSizes()));
  program.place(end);
  --numBranches;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Whether the value lies where a state lies: kernels have updated it there.
bool StepWriter::endsInPlace(Value v) {
  for (v = baseOf(v); auto kernel = v.getDefiningOp<kernel::GenericOp>();) {
    Value replaced = replacedBy(kernel);
    if (!replaced)
      return false;
    v = baseOf(replaced);
  }
  return ir::isStateBefore(v);
}

/// Whether a kernel may write a state's new value over the old one: nobody needs that, or what lies in its place, any more.
bool StepWriter::mayBeWrittenEarly(func::ReturnOp ret, unsigned result) {
  auto main = cast<func::FuncOp>(ret->getParentOp());
  Operation *writer = baseOf(ret.getOperand(result)).getDefiningOp();
  StringAttr name = ir::stateOfResult(main, result);
  for (BlockArgument before : main.getArguments())
    if (ir::stateOfArgument(main, before.getArgNumber()) == name)
      return llvm::all_of(before.getUsers(), [&](Operation *user) {
        auto kernel = dyn_cast<kernel::GenericOp>(user);
        return kernel && kernel->getBlock() == writer->getBlock() && kernel->isBeforeInBlock(writer) && !replacedBy(kernel);
      });
  return false;
}

/// Where kernels and branches write what is returned: each into its result's place, and what is updated in place on the way there, too.
void StepWriter::place(func::ReturnOp ret, ArrayRef<Target> results) {
  auto function = cast<func::FuncOp>(ret->getParentOp());
  for (auto [i, v] : llvm::enumerate(ret.getOperands())) {
    Value base = baseOf(v);
    if (base.getDefiningOp<ir::IfOp>() && !ir::stateOfResult(function, i))
      targetOf.try_emplace(base, results[i], i);
    if (!base.getDefiningOp<kernel::GenericOp>() || endsInPlace(base))
      continue;
    if (ir::stateOfResult(function, i) && !mayBeWrittenEarly(ret, i))
      continue;
    for (; base && base.getDefiningOp<kernel::GenericOp>(); base = replacedBy(base.getDefiningOp<kernel::GenericOp>()))
      if (!targetOf.try_emplace(base, results[i], i).second)
        break;
  }
}

/// What is returned twice, or is no kernel's or branch's own result, is copied to its place.
void StepWriter::finish(func::ReturnOp ret, ArrayRef<Target> results) {
  auto function = cast<func::FuncOp>(ret->getParentOp());
  for (auto [i, v] : llvm::enumerate(ret.getOperands())) {
    if (ir::stateOfResult(function, i))
      continue;
    Value base = baseOf(v);
    auto it = targetOf.find(base);
    if (it != targetOf.end() && it->second.second == i)
      continue;
    if (results[i].allocate)
      program.allocate(results[i].buffer, bytesOf(v.getType()));
    program.copy(buffers.lookup(base), results[i].buffer, bytesOf(v.getType()));
  }
  finishStates(ret, results);
}

/// New values that do not lie where they belong yet. They are copied last, when nobody reads the old ones; one that lies in the place
/// of another state goes over memory of its own, as two states may change places.
void StepWriter::finishStates(func::ReturnOp ret, ArrayRef<Target> results) {
  auto main = cast<func::FuncOp>(ret->getParentOp());
  std::vector<std::tuple<BufferId, BufferId, Expr>> copies;
  for (auto [i, v] : llvm::enumerate(ret.getOperands())) {
    StringAttr name = ir::stateOfResult(main, i);
    if (!name)
      continue;
    Value base = baseOf(v), first = base;
    for (; auto kernel = first.getDefiningOp<kernel::GenericOp>(); first = baseOf(replacedBy(kernel)))
      if (!replacedBy(kernel))
        break;
    auto it = targetOf.find(base);
    bool inState = ir::isStateBefore(first);
    if ((it != targetOf.end() && it->second.second == i) ||
        (inState && ir::stateOfArgument(main, cast<BlockArgument>(first).getArgNumber()) == name))
      continue;
    BufferId from = buffers.lookup(base);
    Expr bytes = bytesOf(v.getType());
    if (inState || (it != targetOf.end() && ir::stateOfResult(main, it->second.second))) {
      BufferId between = newTarget(v.getType()).buffer;
      program.copy(from, between, bytes);
      from = between;
    }
    copies.push_back({from, results[i].buffer, bytes});
  }
  for (auto &[from, to, bytes] : copies)
    program.copy(from, to, bytes);
}

Error StepWriter::addOp(Operation &op) {
  if (const LaunchedTogether *together = launched.lookup(&op))
    return addTogether(*together, &op);
  if (auto k = dyn_cast<kernel::GenericOp>(op)) {
    addKernel(k);
  } else if (auto c = dyn_cast<ir::ConstantOp>(op)) {
    if (llvm::all_of(op.getUsers(), [](Operation *u) { return isa<kernel::PackOp>(u); }))
      return Error::success();
    Expected<BufferId> id = constant(c.getType(), constantBytes(c));
    if (!id)
      return id.takeError();
    buffers[c.getResult()] = *id;
  } else if (auto p = dyn_cast<kernel::PackOp>(op)) {
    Expected<BufferId> id = constant(p.getType(), packedBytes(p));
    if (!id)
      return id.takeError();
    buffers[p.getResult()] = *id;
  } else if (auto r = dyn_cast<ir::ReshapeOp>(op)) {
    // A dynamic buffer moves when it is allocated, and its views with it.
    Expr bytes = isLate(r.getType()) ? Expr(0) : bytesOf(r.getType());
    buffers[r.getResult()] = program.view(dtypeOfValue(r.getResult()), buffers.lookup(r.getX()), bytes);
  } else if (auto read = dyn_cast<ir::ReadOp>(op)) {
    addRead(read);
  } else if (auto call = dyn_cast<ir::CallOp>(op)) {
    addCall(call);
  } else if (auto branch = dyn_cast<ir::IfOp>(op)) {
    return addIf(branch);
  } else if (auto loop = dyn_cast<ir::LoopOp>(op)) {
    return addLoop(loop);
  } else if (!isa<func::ReturnOp>(op)) {
    return bug("'{0}' is left after fusion", op.getName().getStringRef());
  }
  return Error::success();
}

Error StepWriter::run(func::FuncOp function, ArrayRef<BufferId> arguments, ArrayRef<Target> results) {
  Block &block = function.getBody().front();
  auto ret = cast<func::ReturnOp>(block.getTerminator());
  place(ret, results);
  for (auto [argument, buffer] : llvm::zip(block.getArguments(), arguments))
    buffers[argument] = buffer;
  std::vector<SizeCheck> checks = scoped.lookup(function.getName());
  addChecks(checks);
  for (Operation &op : block) {
    if (Error e = addOp(op))
      return e;
    if (!ir::isHostOp(&op))
      continue;
    for (StringRef s : ir::definedSymbols(&op))
      available.insert(s.str());
    addChecks(checks);
  }
  if (!checks.empty())
    return bug("'{0}' is required in '{1}', where it is not known", checks.front().says, function.getName());
  finish(ret, results);
  return Error::success();
}
