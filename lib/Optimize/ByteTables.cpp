//===- ByteTables.cpp - Functions of a byte as tables ----------------------===//
//
// Quantised models compute activations between Dequantize and Quantize, often with more of both between the parts of one function.
// All of that has 256 results: they are computed when the model is compiled. Where each is the byte itself (what was quantised, is in
// another shape now and is quantised once more) nothing is left to compute.
//
//===----------------------------------------------------------------------===//

#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include "lathe/Dialect/Lathe/Evaluate.h"
#include "lathe/Dialect/Lathe/GraphBuilder.h"
#include "lathe/Optimize/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace lathe::opt {
#define GEN_PASS_DEF_BYTETABLES
#include "lathe/Optimize/Passes.h.inc"
} // namespace lathe::opt

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;

/// Instructions for a vector, about, that take as long as the loads of its elements from a table do.
constexpr unsigned leastWeight = 32, costlyWeight = 10;
/// Ops of one function.
constexpr unsigned mostOps = 256;
constexpr int64_t codes = 256;

static bool isByte(Value v) {
  auto i = dyn_cast<IntegerType>(elementOf(v));
  return i && i.getWidth() == 8;
}

namespace {

/// What a value is computed from alone, element by element and with numbers that are the same for all; null where from those alone.
struct Function {
  Value byte;
  unsigned weight = 0;
};

class Tables {
public:
  explicit Tables(const shape::Facts &facts) : facts(facts) {}
  void run(Block &block);

private:
  std::optional<Function> asOperand(Value v) const;
  std::optional<Function> functionOf(Operation *op) const;
  bool endsAt(Value v) const;
  const ConstantTensor *valuesOf(Value v, Value byte, OpBuilder &b);
  void replace(Operation *op, Value byte);
  void findFunctions(Block &block);
  bool isUniform(Value v) const;
  Value nearestByte(Value v, SmallVectorImpl<Operation *> &views) const;
  bool dropIdentities(Block &block);

  const shape::Facts &facts;
  llvm::DenseMap<Value, Function> functions;
  llvm::DenseMap<Value, std::unique_ptr<ConstantTensor>> values; ///< of one function, for each byte
};

} // namespace

/// A byte that several ops read is in memory: what follows starts from there.
std::optional<Function> Tables::asOperand(Value v) const {
  auto it = functions.find(v);
  if (it != functions.end() && !(it->second.byte && isByte(v) && !v.hasOneUse()))
    return it->second;
  return isByte(v) ? std::optional(Function{v, 0}) : std::nullopt;
}

std::optional<Function> Tables::functionOf(Operation *op) const {
  if (op->getNumResults() != 1)
    return std::nullopt;
  if (isa<BroadcastOp, ReshapeOp>(op)) { // one number for all stays one
    auto it = functions.find(op->getOperand(0));
    return it != functions.end() && !it->second.byte ? std::optional(it->second) : std::nullopt;
  }
  if (!isa<ElementwiseInterface>(op) || !canEvaluateElementwise(op))
    return std::nullopt;
  Function f{{}, isCostly(op) ? costlyWeight : 1};
  for (Value v : op->getOperands()) {
    if (splatValue(v))
      continue;
    std::optional<Function> part = asOperand(v);
    if (!part || (f.byte && part->byte && f.byte != part->byte))
      return std::nullopt;
    f.byte = part->byte ? part->byte : f.byte;
    f.weight = std::min(f.weight + part->weight, 1u << 20);
  }
  return f;
}

/// Does something read the value that is no part of the same function?
bool Tables::endsAt(Value v) const {
  std::optional<Function> mine = asOperand(v);
  return llvm::any_of(v.getUsers(), [&](Operation *user) {
    auto it = user->getNumResults() == 1 ? functions.find(user->getResult(0)) : functions.end();
    return it == functions.end() || it->second.byte != mine->byte;
  });
}

/// The value for each byte, in the order of the byte's bits; null where something cannot be computed.
const ConstantTensor *Tables::valuesOf(Value v, Value byte, OpBuilder &b) {
  if (auto it = values.find(v); it != values.end())
    return it->second.get();
  auto keep = [&](std::optional<ConstantTensor> t) {
    return (values[v] = t ? std::make_unique<ConstantTensor>(std::move(*t)) : nullptr).get();
  };
  auto type = RankedTensorType::get({codes}, elementOf(v));
  ConstantTensor t(type);
  std::optional<double> splat = splatValue(v);
  if (v == byte || splat) {
    for (int64_t i = 0; i < codes; ++i)
      if (t.isFloat())
        t.floats[i] = *splat;
      else
        t.ints[i] = splat ? int64_t(*splat) : wrapTo(i, type.getElementType());
    return keep(std::move(t));
  }
  Operation *op = v.getDefiningOp();
  if (values.size() > mostOps)
    return nullptr;
  if (isa<BroadcastOp, ReshapeOp, TransposeOp>(op))
    return valuesOf(op->getOperand(0), byte, b);
  SmallVector<const ConstantTensor *> operands;
  for (Value x : op->getOperands())
    if (const ConstantTensor *part = valuesOf(x, byte, b))
      operands.push_back(part);
    else
      return keep(std::nullopt);
  OperationState state(op->getLoc(), op->getName(), op->getOperands(), type, op->getAttrs());
  Operation *sized = b.create(state); // the same op of another length, for its types alone
  std::optional<ConstantTensor> result = evaluateElementwise(sized, operands);
  sized->erase();
  return keep(std::move(result));
}

/// A table of words: machines gather these.
void Tables::replace(Operation *op, Value byte) {
  OpBuilder b(op);
  values.clear();
  const ConstantTensor *all = valuesOf(op->getResult(0), byte, b);
  if (!all)
    return;
  GraphBuilder g(b, op->getLoc(), facts);
  Type element = all->type.getElementType(), stored = all->isFloat() ? element : Type(b.getI32Type());
  ConstantTensor table = *all;
  table.type = RankedTensorType::get({codes}, stored);
  Value words = b.create<ConstantOp>(op->getLoc(), writeConstant(table, "table"));
  Value result = g.cast(g.gather(words, g.cast(byte, b.getI64Type()), 0), element);
  op->getResult(0).replaceAllUsesWith(result);
}

void Tables::findFunctions(Block &block) {
  functions.clear();
  for (Operation &op : block)
    if (std::optional<Function> f = functionOf(&op))
      functions[op.getResult(0)] = *f;
}

bool Tables::isUniform(Value v) const {
  auto it = functions.find(v);
  return splatValue(v) || (it != functions.end() && !it->second.byte);
}

/// The byte that a value is computed from element by element, through `views` of elements in another order; null where nothing is computed.
Value Tables::nearestByte(Value v, SmallVectorImpl<Operation *> &views) const {
  bool computed = false;
  do {
    Operation *op = v.getDefiningOp();
    Value from;
    if (isa_and_nonnull<ReshapeOp, TransposeOp>(op)) {
      views.push_back(op);
      from = op->getOperand(0);
    } else if (op && op->getNumResults() == 1 && isa<ElementwiseInterface>(op) && canEvaluateElementwise(op)) {
      computed = true;
      for (Value x : op->getOperands()) {
        if (isUniform(x))
          continue;
        if (from && from != x)
          return {};
        from = x;
      }
    }
    if (!from)
      return {};
    v = from;
  } while (!isByte(v));
  return computed ? v : Value();
}

bool Tables::dropIdentities(Block &block) {
  bool changed = false;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    SmallVector<Operation *> views;
    Value byte = op.getNumResults() == 1 && isByte(op.getResult(0)) ? nearestByte(op.getResult(0), views) : Value();
    if (!byte || elementOf(byte) != elementOf(op.getResult(0)))
      continue;
    OpBuilder b(&op);
    values.clear();
    const ConstantTensor *all = valuesOf(op.getResult(0), byte, b), *same = valuesOf(byte, byte, b);
    if (!all || !same || all->ints != same->ints)
      continue;
    for (Operation *view : llvm::reverse(views)) {
      IRMapping operands;
      operands.map(view->getOperand(0), byte);
      Operation *copy = b.clone(*view, operands);
      auto type = cast<RankedTensorType>(view->getResult(0).getType());
      copy->getResult(0).setType(RankedTensorType::get(type.getShape(), elementOf(byte), type.getEncoding()));
      byte = copy->getResult(0);
    }
    op.getResult(0).replaceAllUsesWith(byte);
    changed = true;
  }
  return changed;
}

void Tables::run(Block &block) {
  findFunctions(block);
  if (dropIdentities(block))
    findFunctions(block);
  SmallVector<std::pair<Operation *, Value>> ends;
  for (Operation &op : block) {
    auto it = op.getNumResults() == 1 ? functions.find(op.getResult(0)) : functions.end();
    Type element = it == functions.end() || !it->second.byte ? Type() : elementOf(op.getResult(0));
    if (element && (element.isF32() || isByte(op.getResult(0))) && it->second.weight >= leastWeight && endsAt(op.getResult(0)))
      ends.push_back({&op, it->second.byte});
  }
  for (auto [op, byte] : llvm::reverse(ends)) // what is left of others is intact
    replace(op, byte);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.getNumResults() == 1 && functions.contains(op.getResult(0)) && op.use_empty())
      op.erase();
}

namespace {
struct ByteTablesPass : opt::impl::ByteTablesBase<ByteTablesPass> {
  void runOnOperation() override {
    shape::Facts facts = factsOf(getOperation());
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal())
        Tables(facts).run(func.getBody().front());
  }
};
} // namespace
