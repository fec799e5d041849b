//===- HostSteps.cpp - A function as steps of a program --------------------===//

#include "HostSteps.h"
#include "Constants.h"
#include "lathe/Support/Diagnostics.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::pipeline;
using llvm::Error;
using llvm::Expected;
using shape::Expr;

static Expr bytesOf(Type type) {
  return shape::product(ir::dimsOf(type)) * Expr(elementBytes(cast<RankedTensorType>(type).getElementType()));
}
static LatheDType dtypeOfValue(Value v) { return dtypeOf(ir::elementOf(v)); }

static Value baseOf(Value v) {
  while (auto r = v.getDefiningOp<ir::ReshapeOp>())
    v = r.getX();
  return v;
}

StepWriter::StepWriter(artifact::ArtifactBuilder &builder, artifact::Program &program, ModuleOp module,
                       const llvm::DenseMap<Operation *, artifact::KernelId> &kernels)
    : builder(builder), program(program), module(module), kernels(kernels), late(ir::lateSymbols(module)) {
  for (ir::SymbolOp s : module.getOps<ir::SymbolOp>())
    if (s.getDefinition())
      definitions.insert({s.getName().str(), parsed(*s.getDefinition())});
  for (ir::RelationOp r : module.getOps<ir::RelationOp>())
    if (r.getScope())
      scoped[*r.getScope()].push_back(checkOf(r));
}

SizeCheck pipeline::checkOf(ir::RelationOp r) {
  Expr a = parsed(r.getLeft()), b = parsed(r.getRight());
  static const std::map<StringRef, std::pair<LatheCheckKind, const char *>> kinds = {
      {"eq", {LATHE_CHECK_EQ, " = "}}, {"le", {LATHE_CHECK_LE, " <= "}}, {"ne", {LATHE_CHECK_NE, " != "}}};
  auto says = [&](StringRef between) { return r.getSays() ? r.getSays()->str() : (r.getLeft() + between + r.getRight()).str(); };
  if (auto kind = kinds.find(r.getKind()); kind != kinds.end())
    return {kind->second.first, a, b, says(kind->second.second)};
  return {LATHE_CHECK_EQ, Expr::mod(b, a), Expr(0), says(" divides ")};
}

/// The late symbols that a size depends on and that steps give values.
std::set<std::string> StepWriter::rootsOf(const Expr &e) const {
  std::set<std::string> out, seen;
  std::vector<Expr> left{e};
  while (!left.empty()) {
    Expr next = left.back();
    left.pop_back();
    for (const std::string &name : next.symbols()) {
      if (!late.count(name) || !seen.insert(name).second)
        continue;
      if (auto it = definitions.find(name); it != definitions.end())
        left.push_back(it->second);
      else
        out.insert(name);
    }
  }
  return out;
}

/// Writes the checks whose sizes are known by now, and keeps the others.
void StepWriter::addChecks(std::vector<SizeCheck> &due) {
  llvm::erase_if(due, [&](const SizeCheck &c) {
    for (const Expr &e : {c.a, c.b})
      for (const std::string &root : rootsOf(e))
        if (!available.count(root))
          return false;
    program.check(c.kind, c.a, c.b, c.says);
    return true;
  });
}

bool StepWriter::isLate(Type type) const {
  for (const Expr &e : ir::dimsOf(type))
    for (const std::string &s : e.symbols())
      if (late.count(s))
        return true;
  return false;
}

func::FuncOp StepWriter::function(FlatSymbolRefAttr ref) { return module.lookupSymbol<func::FuncOp>(ref.getValue()); }

StepWriter::Target StepWriter::newTarget(Type type) {
  LatheDType dtype = dtypeOf(cast<RankedTensorType>(type).getElementType());
  bool dynamic = isLate(type);
  return {dynamic ? program.dynamic(dtype) : program.temp(dtype, bytesOf(type)), dynamic};
}

/// The buffer that a result is written to, with memory.
StepWriter::BufferId StepWriter::bufferFor(Value v) {
  auto given = targetOf.find(v);
  Target target = given != targetOf.end() ? given->second.first : newTarget(v.getType());
  if (target.allocate)
    program.allocate(target.buffer, bytesOf(v.getType()));
  return buffers[v] = target.buffer;
}

/// A result that lies where an operand lies.
StepWriter::BufferId StepWriter::inPlaceOf(BufferId operand, Value v) {
  return buffers[v] = program.view(dtypeOfValue(v), operand, bytesOf(v.getType()));
}

Expected<StepWriter::BufferId> StepWriter::constant(Type type, Expected<artifact::ByteSource> bytes) {
  if (!bytes)
    return bytes.takeError();
  artifact::ConstantId id = builder.addConstant(std::move(*bytes));
  return program.constant(dtypeOf(cast<RankedTensorType>(type).getElementType()), id);
}

void StepWriter::addKernel(kernel::GenericOp op) {
  std::vector<BufferId> operands;
  for (Value v : op.getInputs())
    operands.push_back(buffers.lookup(v));
  auto replaced = op->getAttrOfType<IntegerAttr>("in_place");
  for (Value v : op.getOutputs())
    operands.push_back(replaced && !isLate(v.getType()) ? inPlaceOf(operands[replaced.getInt()], v) : bufferFor(v));
  std::vector<Expr> sizes;
  for (const std::string &s : op.getSizeSymbols())
    sizes.push_back(Expr::symbol(s));
  program.kernel(kernels.lookup(op), operands, sizes);
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

using Values = std::vector<std::pair<std::string, Expr>>;

static Values assignments(ArrayAttr symbols, ArrayAttr values) {
  Values out;
  for (auto [s, v] : llvm::zip(symbols, ir::exprsOf(values)))
    out.push_back({cast<StringAttr>(s).str(), v});
  return out;
}

Error StepWriter::addIf(ir::IfOp op) {
  std::string condition = "%if" + std::to_string(numFlags++);
  std::vector<BufferId> operands;
  for (Value v : op.getPassed())
    operands.push_back(buffers.lookup(v));
  std::vector<Target> results;
  for (Value v : op.getOutputs()) {
    results.push_back(newTarget(v.getType()));
    buffers[v] = results.back().buffer;
  }
  program.read(buffers.lookup(op.getCondition()), 0, condition);
  auto otherwise = program.newLabel(), end = program.newLabel();
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
  return Error::success();
}

/// Carried values lie in two buffers each, one read and one written, that change places; collected ones are appended.
Error StepWriter::addLoop(ir::LoopOp op) {
  std::string counter = op.getCounter().str(), going = "%loop" + std::to_string(numFlags++);
  Expr count = Expr::symbol(counter);
  func::FuncOp body = function(op.getBodyAttr());
  auto types = body.getFunctionType();
  unsigned numCarried = op.getCarried().size(), flags = op.getConditional() ? 1 : 0;
  Values first = assignments(op.getSymbols(), op.getInitial()), next = assignments(op.getSymbols(), op.getNext());
  std::map<std::string, Expr> soFar; // what is known behind the loop, as the body knows it
  std::vector<std::string> known{counter};
  Values finals;
  for (auto [final, symbol] : llvm::zip(op.getFinals(), op.getSymbols())) {
    Expr inside = Expr::symbol(cast<StringAttr>(symbol).str());
    known.push_back(cast<StringAttr>(symbol).str());
    soFar.insert({cast<StringAttr>(final).str(), inside});
    finals.push_back({cast<StringAttr>(final).str(), inside});
  }
  if (!op.getCount().empty())
    finals.push_back({op.getCount().str(), count});
  first.push_back({counter, Expr(0)});
  next.push_back({counter, count + Expr(1)});
  if (!op.getCondition())
    first.push_back({going, Expr(1)});
  program.assign(first, /*checked=*/false);
  if (op.getCondition())
    program.read(buffers.lookup(op.getCondition()), 0, going);

  std::vector<BufferId> arguments, nexts;
  std::vector<Target> results;
  if (flags)
    results.push_back(newTarget(types.getResult(0)));
  for (auto [i, v] : llvm::enumerate(op.getCarried())) {
    LatheDType dtype = dtypeOfValue(v);
    arguments.push_back(program.dynamic(dtype));
    nexts.push_back(program.dynamic(dtype));
    program.allocate(arguments.back(), bytesOf(v.getType()));
    program.copy(buffers.lookup(v), arguments.back(), bytesOf(v.getType()));
    bool varies = isLate(types.getResult(flags + i));
    if (!varies)
      program.allocate(nexts.back(), bytesOf(types.getResult(flags + i)));
    results.push_back({nexts.back(), varies});
  }
  for (Value v : op.getCaptured())
    arguments.push_back(buffers.lookup(v));
  std::vector<Target> collected;
  for (unsigned i = flags + numCarried; i < types.getNumResults(); ++i) {
    results.push_back(newTarget(types.getResult(i)));
    Value whole = op.getResult(i - flags);
    bool grows = isLate(whole.getType()) || !op.getCount().empty(); // how many there are, only the end says
    collected.push_back({grows ? program.dynamic(dtypeOfValue(whole)) : newTarget(whole.getType()).buffer, grows});
    if (grows)
      program.allocate(collected.back().buffer, Expr(0));
    buffers[whole] = collected.back().buffer;
  }

  auto head = program.newLabel(), end = program.newLabel();
  std::vector<BufferId> kept;
  for (const Target &t : collected)
    kept.push_back(t.buffer);
  program.place(head, kept);
  Expr more = Expr::symbol(going);
  if (!op.getLimit().empty())
    more = more * Expr::min(Expr(1), Expr::max(Expr(0), parsed(op.getLimit()) - count));
  program.branchIfZero(more, end);
  program.verify(known);
  available.insert(known.begin(), known.end());
  if (Error e = run(body, arguments, results))
    return e;
  if (flags)
    program.read(results[0].buffer, 0, going);
  for (auto [i, target] : llvm::enumerate(collected)) {
    ir::Dims all = ir::dimsOf(op.getResult(numCarried + i)), one = ir::dimsOf(types.getResult(flags + numCarried + i));
    for (auto [whole, now] : llvm::zip(ArrayRef<Expr>(all).drop_front(), one))
      if (Expr before = whole.substitute(soFar); before != now)
        program.check(LATHE_CHECK_EQ, (now - before) * Expr::min(Expr(1), count), Expr(0),
                      "each iteration adds to a result what the first one did");
    Expr bytes = bytesOf(types.getResult(flags + numCarried + i));
    if (target.allocate)
      program.grow(target.buffer, bytes * (count + Expr(1)));
    program.copyPart(results[flags + numCarried + i].buffer, target.buffer, bytes, bytes * count);
  }
  for (auto [a, b] : llvm::zip(arguments, nexts))
    program.swap(a, b);
  program.assign(next, /*checked=*/false);
  program.jump(head);
  program.place(end);
  program.assign(finals);
  for (unsigned i = 0; i < numCarried; ++i)
    buffers[op.getResult(i)] = arguments[i];
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// What is returned twice, or is no kernel's own result, is copied to its place.
void StepWriter::finish(func::ReturnOp ret, ArrayRef<Target> results) {
  for (auto [i, v] : llvm::enumerate(ret.getOperands())) {
    Value base = baseOf(v);
    auto it = targetOf.find(base);
    if (it != targetOf.end() && it->second.second == i)
      continue;
    if (results[i].allocate)
      program.allocate(results[i].buffer, bytesOf(v.getType()));
    program.copy(buffers.lookup(base), results[i].buffer, bytesOf(v.getType()));
  }
}

Error StepWriter::addOp(Operation &op) {
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
  for (auto [i, v] : llvm::enumerate(ret.getOperands()))
    if (Value base = baseOf(v); base.getDefiningOp<kernel::GenericOp>())
      targetOf.try_emplace(base, results[i], i);
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
