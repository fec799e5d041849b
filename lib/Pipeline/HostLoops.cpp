//===- HostLoops.cpp - Loops as steps of a program -------------------------===//
//
// Carried values lie in two buffers each, one read and one written, that change places behind each iteration; collected ones
// are appended.
//
//===----------------------------------------------------------------------===//

#include "HostSteps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::pipeline;
using llvm::Error;
using shape::Expr;

struct StepWriter::Loop {
  ir::LoopOp op;
  func::FuncOp body;
  FunctionType types;          ///< of the body
  std::string going;           ///< a symbol: whether there is another iteration
  Expr count;                  ///< iterations so far
  unsigned numCarried, flags;  ///< the body's first results are `flags` conditions
  std::vector<BufferId> arguments, nexts; ///< of carried values: read and written
  std::vector<Target> results, collected;
  std::vector<std::string> known;      ///< symbols of the body
  std::map<std::string, Expr> soFar;   ///< what is known behind the loop, as the body knows it
  Values finals;                       ///< the values of these symbols behind the loop

  Loop(ir::LoopOp op, func::FuncOp body, std::string going);
  Type resultType(unsigned i) const { return types.getResult(flags + i); }
};

StepWriter::Loop::Loop(ir::LoopOp op, func::FuncOp body, std::string going)
    : op(op), body(body), types(body.getFunctionType()), going(std::move(going)), count(Expr::symbol(op.getCounter())),
      numCarried(op.getCarried().size()), flags(op.getConditional() ? 1 : 0) {
  for (StringRef s : ir::bodySymbols(op))
    known.push_back(s.str());
  for (auto [final, symbol] : llvm::zip(op.getFinals(), op.getSymbols())) {
    Expr inside = Expr::symbol(cast<StringAttr>(symbol).getValue());
    soFar.insert({cast<StringAttr>(final).str(), inside});
    finals.push_back({cast<StringAttr>(final).str(), inside});
  }
  if (!op.getCount().empty())
    finals.push_back({op.getCount().str(), count});
}

/// The symbols as the first iteration knows them.
void StepWriter::startLoop(Loop &loop) {
  Values first = assignments(loop.op.getSymbols(), loop.op.getInitial());
  first.push_back({loop.op.getCounter().str(), Expr(0)});
  if (!loop.op.getCondition())
    first.push_back({loop.going, Expr(1)});
  program.assign(first, /*checked=*/false);
  if (loop.op.getCondition())
    program.read(buffers.lookup(loop.op.getCondition()), 0, loop.going);
}

void StepWriter::placeCarried(Loop &loop) {
  for (auto [i, v] : llvm::enumerate(loop.op.getCarried())) {
    BufferId argument = program.dynamic(dtypeOfValue(v)), next = program.dynamic(dtypeOfValue(v));
    program.allocate(argument, bytesOf(v.getType()));
    program.copy(buffers.lookup(v), argument, bytesOf(v.getType()));
    bool varies = isLate(loop.resultType(i));
    if (!varies)
      program.allocate(next, bytesOf(loop.resultType(i)));
    loop.arguments.push_back(argument);
    loop.nexts.push_back(next);
    loop.results.push_back({next, varies});
  }
}

void StepWriter::placeCollected(Loop &loop) {
  for (Value whole : loop.op.getOutputs().drop_front(loop.numCarried)) {
    loop.results.push_back(newTarget(loop.types.getResult(loop.results.size())));
    bool grows = isLate(whole.getType()) || !loop.op.getCount().empty(); // how many there are, only the end says
    loop.collected.push_back({grows ? program.dynamic(dtypeOfValue(whole)) : newTarget(whole.getType()).buffer, grows});
    if (grows)
      program.allocate(loop.collected.back().buffer, Expr(0));
    buffers[whole] = loop.collected.back().buffer;
  }
}

/// Appends what an iteration adds to a collected result.
void StepWriter::collect(Loop &loop, unsigned index) {
  Type one = loop.resultType(loop.numCarried + index);
  ir::Dims all = ir::dimsOf(loop.op.getResult(loop.numCarried + index));
  for (auto [whole, now] : llvm::zip(ArrayRef<Expr>(all).drop_front(), ir::dimsOf(one)))
    if (Expr before = whole.substitute(loop.soFar); before != now)
      program.check(LATHE_CHECK_EQ, (now - before) * Expr::min(Expr(1), loop.count), Expr(0),
                    "each iteration adds to a result what the first one did");
  const Target &target = loop.collected[index];
  if (target.allocate)
    program.grow(target.buffer, bytesOf(one) * (loop.count + Expr(1)));
  BufferId added = loop.results[loop.flags + loop.numCarried + index].buffer;
  program.copyPart(added, target.buffer, bytesOf(one), bytesOf(one) * loop.count);
}

Error StepWriter::addIteration(Loop &loop) {
  program.verify(loop.known);
  available.insert(loop.known.begin(), loop.known.end());
  std::vector<BufferId> arguments = loop.arguments;
  for (Value v : loop.op.getCaptured())
    arguments.push_back(buffers.lookup(v));
  if (Error e = run(loop.body, arguments, loop.results))
    return e;
  if (loop.flags)
    program.read(loop.results[0].buffer, 0, loop.going);
  for (unsigned i = 0; i < loop.collected.size(); ++i)
    collect(loop, i);
  for (auto [a, b] : llvm::zip(loop.arguments, loop.nexts))
    program.swap(a, b);
  Values next = assignments(loop.op.getSymbols(), loop.op.getNext());
  next.push_back({loop.op.getCounter().str(), loop.count + Expr(1)});
  program.assign(next, /*checked=*/false);
  return Error::success();
}

Error StepWriter::addLoop(ir::LoopOp op) {
  Loop loop(op, function(op.getBodyAttr()), Expr::host("loop" + std::to_string(numFlags++)).str());
  startLoop(loop);
  if (loop.flags)
    loop.results.push_back(newTarget(loop.types.getResult(0)));
  placeCarried(loop);
  placeCollected(loop);
  auto head = program.newLabel(), end = program.newLabel();
  std::vector<BufferId> kept;
  for (const Target &t : loop.collected)
    kept.push_back(t.buffer);
  program.place(head, kept);
  Expr more = Expr::symbol(loop.going);
  if (!op.getLimit().empty())
    more = more * Expr::min(Expr(1), Expr::max(Expr(0), Expr::parsed(op.getLimit()) - loop.count));
  program.branchIfZero(more, end);
  if (Error e = addIteration(loop))
    return e;
  program.jump(head);
  program.place(end);
  program.assign(loop.finals);
  for (unsigned i = 0; i < loop.numCarried; ++i)
    buffers[op.getResult(i)] = loop.arguments[i];
  return Error::success();
}
