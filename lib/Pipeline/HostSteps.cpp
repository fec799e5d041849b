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
    : builder(builder), program(program), module(module), kernels(kernels), late(ir::lateSymbols(module)) {}

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
  for (Value v : op.getOutputs())
    operands.push_back(bufferFor(v));
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
  first.push_back({counter, Expr(0)});
  next.push_back({counter, count + Expr(1)});
  if (!op.getCondition())
    first.push_back({going, Expr(1)});
  program.assign(first);
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
    program.allocate(arguments.back(), bytesOf(types.getInput(i)));
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
    bool grows = isLate(whole.getType());
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
  if (Error e = run(body, arguments, results))
    return e;
  if (flags)
    program.read(results[0].buffer, 0, going);
  for (auto [i, target] : llvm::enumerate(collected)) {
    ir::Dims all = ir::dimsOf(op.getResult(numCarried + i)), one = ir::dimsOf(types.getResult(flags + numCarried + i));
    for (auto [before, now] : llvm::zip(ArrayRef<Expr>(all).drop_front(), one))
      if (before != now)
        program.check((now - before) * Expr::min(Expr(1), count), Expr(0), "each iteration adds to a result what the first one did");
    Expr bytes = bytesOf(types.getResult(flags + numCarried + i));
    if (target.allocate)
      program.grow(target.buffer, bytes * (count + Expr(1)));
    program.copyPart(results[flags + numCarried + i].buffer, target.buffer, bytes, bytes * count);
  }
  for (auto [a, b] : llvm::zip(arguments, nexts))
    program.swap(a, b);
  program.assign(next);
  program.jump(head);
  program.place(end);
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
  for (Operation &op : block)
    if (Error e = addOp(op))
      return e;
  finish(ret, results);
  return Error::success();
}
