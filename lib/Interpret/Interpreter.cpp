//===- Interpreter.cpp - Functions and the host program --------------------===//
//
// Runs the ops of a function one after the other. An op that mentions a size which a later step of the host program
// reads waits for it: the order of ops in a block says nothing.
//
//===----------------------------------------------------------------------===//

#include "Interpreter.h"
#include "Roundings.h"
#include "lathe/Support/Diagnostics.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::interpret;
using llvm::Error;
using llvm::Expected;
using Tensors = std::vector<Tensor>;

namespace {

class Interpreter {
public:
  Interpreter(ModuleOp module, const KernelObserver &observer, std::optional<Roundings> roundings)
      : module(module), observer(observer), roundings(std::move(roundings)), sizes(module) {}
  Expected<Tensors> main(ArrayRef<Tensor> inputs);

private:
  using Frame = llvm::DenseMap<Value, std::shared_ptr<const Tensor>>;
  Expected<Tensors> call(StringRef name, Tensors arguments);
  Error runBlock(Block &block, Frame &frame);
  Error run(Operation &op, Frame &frame);
  Error runHost(Operation &op, Inputs in, Tensors &out);
  Error read(ir::ReadOp op, const Tensor &x);
  Error branch(ir::IfOp op, Inputs in, Tensors &out);
  Error loop(ir::LoopOp op, Inputs in, Tensors &out);
  Error observe(kernel::GenericOp op, Inputs in, const Tensors &results);
  Expected<Operation *> atSizes(Operation *op);
  Error setAll(ArrayAttr symbols, ArrayAttr exprs);
  Error checkAt(Operation *op);
  bool waits(Operation &op, Block &block, const llvm::DenseSet<Operation *> &done);

  ModuleOp module;
  const KernelObserver &observer;
  std::optional<Roundings> roundings;
  Sizes sizes;
};

} // namespace

//===----------------------------------------------------------------------===//
// One op
//===----------------------------------------------------------------------===//

/// A copy of the op with static types and numbers for size expressions; outside of any block.
Expected<Operation *> Interpreter::atSizes(Operation *op) {
  std::vector<Type> types;
  for (Type t : op->getResultTypes()) {
    Expected<RankedTensorType> type = sizes.typeAt(t);
    if (!type)
      return type.takeError();
    types.push_back(*type);
  }
  SmallVector<NamedAttribute> numbers;
  for (NamedAttribute a : op->getAttrs()) {
    auto texts = dyn_cast<ArrayAttr>(a.getValue());
    if (!texts)
      continue;
    SmallVector<shape::Expr> values;
    for (const shape::Expr &e : ir::exprsOf(texts)) {
      Expected<int64_t> v = sizes.value(e);
      if (!v)
        return v.takeError();
      values.push_back(shape::Expr(*v));
    }
    Builder b(op->getContext());
    numbers.emplace_back(a.getName(), ir::exprArray(b, values));
  }
  Operation *copy = op->clone();
  for (auto [result, type] : llvm::zip(copy->getResults(), types))
    result.setType(type);
  for (NamedAttribute a : numbers)
    copy->setAttr(a.getName(), a.getValue());
  return copy;
}

static std::string nameOf(Operation &op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << op.getName().getStringRef();
  if (auto k = dyn_cast<kernel::GenericOp>(op))
    os << " @" << k.getName();
  if (auto name = dyn_cast<NameLoc>(op.getLoc()))
    os << " (" << name.getName().getValue() << ")";
  return text;
}

/// Which op the message is about; a user's error stays one.
static Error within(Operation &op, Error e) {
  return llvm::handleErrors(
      std::move(e), [](std::unique_ptr<UserError> u) { return Error(std::move(u)); },
      [&](const llvm::ErrorInfoBase &b) { return bug("{0}: {1}", nameOf(op), b.message()); });
}

Error Interpreter::observe(kernel::GenericOp op, Inputs in, const Tensors &results) {
  std::vector<int64_t> values;
  for (const std::string &name : op.getSizeSymbols()) {
    Expected<int64_t> v = sizes.value(shape::Expr::symbol(name));
    if (!v)
      return v.takeError();
    values.push_back(*v);
  }
  return observer(op, in, values, results);
}

Error Interpreter::run(Operation &op, Frame &frame) {
  SmallVector<const Tensor *> in;
  for (Value v : op.getOperands())
    in.push_back(frame.lookup(v).get());
  Tensors out;
  if (auto k = dyn_cast<kernel::GenericOp>(op)) {
    SmallVector<const Tensor *> unpacked;
    for (Value v : op.getOperands()) {
      auto pack = v.getDefiningOp<kernel::PackOp>();
      unpacked.push_back(pack ? frame.lookup(pack.getSource()).get() : nullptr);
    }
    Expected<Tensors> results = runKernel(k, in, unpacked, sizes);
    if (!results)
      return within(op, results.takeError());
    if (Error e = observer ? observe(k, in, *results) : Error::success())
      return within(op, std::move(e));
    out = std::move(*results);
  } else if (auto p = dyn_cast<kernel::PackOp>(op)) {
    Expected<Tensor> result = runPack(p, *in[0]);
    if (!result)
      return within(op, result.takeError());
    out.push_back(std::move(*result));
  } else if (ir::isHostOp(&op)) {
    if (Error e = runHost(op, in, out))
      return within(op, std::move(e));
  } else {
    Expected<Operation *> fixed = atSizes(&op);
    if (!fixed)
      return within(op, fixed.takeError());
    Expected<Tensor> result = runGraphOp(*fixed, in);
    if (result && roundings)
      roundings->apply(*fixed, in, *result);
    (*fixed)->destroy();
    if (!result)
      return within(op, result.takeError());
    out.push_back(std::move(*result));
  }
  for (auto [v, t] : llvm::zip(op.getResults(), out))
    frame[v] = std::make_shared<const Tensor>(std::move(t));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The host program
//===----------------------------------------------------------------------===//

Error Interpreter::runHost(Operation &op, Inputs in, Tensors &out) {
  if (auto r = dyn_cast<ir::ReadOp>(op))
    return read(r, *in[0]);
  if (auto b = dyn_cast<ir::IfOp>(op))
    return branch(b, in, out);
  if (auto l = dyn_cast<ir::LoopOp>(op))
    return loop(l, in, out);
  Expected<Tensors> results = runCall(cast<ir::CallOp>(op), in, sizes);
  if (!results)
    return results.takeError();
  out = std::move(*results);
  for (Tensor &t : roundings ? MutableArrayRef<Tensor>(out) : MutableArrayRef<Tensor>())
    roundings->apply(&op, in, t);
  return Error::success();
}

Error Interpreter::read(ir::ReadOp op, const Tensor &x) {
  for (auto [i, symbol] : llvm::enumerate(op.getSymbols()))
    if (Error e = sizes.set(cast<StringAttr>(symbol).getValue(), x.ints[i]))
      return e;
  return checkAt(op);
}

/// What holds between sizes of the function that `op` is in, where the operation has given new ones.
Error Interpreter::checkAt(Operation *op) {
  auto function = op->getParentOfType<func::FuncOp>();
  if (Error e = sizes.checkRelations(function.getName()))
    return e;
  return function.getName() == "main" ? sizes.checkRelations(std::nullopt) : Error::success();
}

/// All at once: the new values may mention the old ones.
Error Interpreter::setAll(ArrayAttr symbols, ArrayAttr exprs) {
  std::vector<int64_t> values;
  for (const shape::Expr &e : ir::exprsOf(exprs)) {
    Expected<int64_t> v = sizes.value(e);
    if (!v)
      return v.takeError();
    values.push_back(*v);
  }
  for (auto [symbol, v] : llvm::zip(symbols, values))
    sizes.assign(cast<StringAttr>(symbol).getValue(), v);
  return Error::success();
}

Error Interpreter::branch(ir::IfOp op, Inputs in, Tensors &out) {
  bool taken = in[0]->ints[0] != 0;
  Tensors passed;
  for (const Tensor *t : in.drop_front())
    passed.push_back(*t);
  Expected<Tensors> results = call(taken ? op.getThenBody() : op.getElseBody(), std::move(passed));
  if (!results)
    return results.takeError();
  out = std::move(*results);
  if (Error e = setAll(op.getSymbols(), taken ? op.getThenSizes() : op.getElseSizes()))
    return e;
  return checkAt(op);
}

/// Puts what each iteration gave side by side, along a new first dimension.
static Expected<Tensor> stacked(const Tensors &parts, RankedTensorType type) {
  Tensor out(type);
  int64_t to = 0;
  for (const Tensor &part : parts) {
    if (part.shape() != type.getShape().drop_front())
      return userError("an iteration adds {0} to a result of {1}", part.type, type);
    for (int64_t i = 0; i < part.size(); ++i)
      out.copyFrom(part, i, to++);
  }
  return out;
}

Error Interpreter::loop(ir::LoopOp op, Inputs in, Tensors &out) {
  size_t first = op.getCondition() ? 1 : 0, carried = op.getCarried().size(), flags = op.getConditional() ? 1 : 0;
  int64_t limit = INT64_MAX, count = 0;
  if (!op.getLimit().empty()) {
    Expected<int64_t> v = sizes.value(op.getLimit());
    if (!v)
      return v.takeError();
    limit = *v;
  }
  Tensors state;
  for (const Tensor *t : in.slice(first, carried))
    state.push_back(*t);
  std::vector<Tensors> collected(op.getNumResults() - carried);
  if (Error e = setAll(op.getSymbols(), op.getInitial()))
    return e;
  for (bool going = !first || in[0]->ints[0]; going && count < limit; ++count) {
    sizes.assign(op.getCounter(), count);
    Tensors arguments = state;
    for (const Tensor *t : in.drop_front(first + carried))
      arguments.push_back(*t);
    Expected<Tensors> results = call(op.getBody(), std::move(arguments));
    if (!results)
      return results.takeError();
    if (flags)
      going = results->front().ints[0] != 0;
    for (size_t i = 0; i < carried; ++i)
      state[i] = std::move((*results)[flags + i]);
    for (size_t i = 0; i < collected.size(); ++i)
      collected[i].push_back(std::move((*results)[flags + carried + i]));
    if (Error e = setAll(op.getSymbols(), op.getNext()))
      return e;
  }
  if (Error e = setAll(op.getFinals(), op.getSymbols()))
    return e;
  if (!op.getCount().empty())
    sizes.assign(op.getCount(), count);
  if (Error e = checkAt(op))
    return e;
  out = std::move(state);
  for (auto [i, parts] : llvm::enumerate(collected)) {
    Expected<RankedTensorType> type = sizes.typeAt(op.getResult(carried + i).getType());
    if (!type)
      return type.takeError();
    auto whole = *type;
    SmallVector<int64_t> shape(whole.getShape());
    if (!parts.empty()) // sizes that only the body knows
      llvm::copy(parts.front().shape(), shape.begin() + 1);
    shape[0] = parts.size();
    Expected<Tensor> t = stacked(parts, RankedTensorType::get(shape, whole.getElementType()));
    if (!t)
      return t.takeError();
    out.push_back(std::move(*t));
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

bool Interpreter::waits(Operation &op, Block &block, const llvm::DenseSet<Operation *> &done) {
  std::set<std::string> mentioned;
  ir::collectSymbols(&op, mentioned);
  mentioned = sizes.roots(mentioned);
  for (Operation &other : block)
    if (&other != &op && ir::isHostOp(&other) && !done.contains(&other))
      for (StringRef s : ir::definedSymbols(&other))
        if (mentioned.count(s.str()))
          return true;
  return false;
}

Error Interpreter::runBlock(Block &block, Frame &frame) {
  llvm::DenseSet<Operation *> done;
  bool late = llvm::any_of(block, [](Operation &op) { return ir::isHostOp(&op) && !ir::definedSymbols(&op).empty(); });
  for (bool progress = true; progress;) {
    progress = false;
    for (Operation &op : block.without_terminator()) {
      if (done.contains(&op) || llvm::any_of(op.getOperands(), [&](Value v) { return !frame.count(v); }))
        continue;
      if (late && waits(op, block, done))
        continue;
      if (Error e = run(op, frame))
        return e;
      done.insert(&op);
      progress = true;
    }
  }
  for (Operation &op : block.without_terminator())
    if (!done.contains(&op))
      return bug("{0}: waits for what no op gives", nameOf(op));
  return Error::success();
}

Expected<Tensors> Interpreter::call(StringRef name, Tensors arguments) {
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function || function.isExternal() || function.getNumArguments() != arguments.size())
    return bug("there is no function @{0} for {1} arguments", name, arguments.size());
  if (Error e = sizes.checkRelations(name))
    return std::move(e);
  Block &block = function.getBody().front();
  Frame frame;
  for (auto [arg, t] : llvm::zip(block.getArguments(), arguments))
    frame[arg] = std::make_shared<const Tensor>(std::move(t));
  if (Error e = runBlock(block, frame))
    return std::move(e);
  Tensors out;
  for (Value v : block.getTerminator()->getOperands()) {
    out.push_back(*frame.lookup(v));
    Expected<RankedTensorType> claimed = sizes.typeAt(v.getType());
    if (!claimed)
      return claimed.takeError();
    if (claimed->getShape() != out.back().shape())
      return bug("@{0} gives {1} where its type says {2}", name, out.back().type, *claimed);
  }
  return out;
}

Expected<Tensors> Interpreter::main(ArrayRef<Tensor> inputs) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  if (!function)
    return bug("there is no function @main");
  if (Error e = sizes.bind(function, inputs))
    return std::move(e);
  return call("main", Tensors(inputs));
}

Expected<std::vector<Tensor>> interpret::interpret(ModuleOp module, ArrayRef<Tensor> inputs,
                                                   const KernelObserver &observer,
                                                   std::optional<uint64_t> roundings) {
  return Interpreter(module, observer, roundings ? std::optional<Roundings>(*roundings) : std::nullopt).main(inputs);
}
