//===- FormKernels.cpp - Group ops into kernels by their domains -----------===//
//
// Trees.h decides what is computed where it is used, Groups.h which roots share a kernel; this file decides in which layout
// results are kept and writes the kernels.
//
//===----------------------------------------------------------------------===//

#include "BodyBuilder.h"
#include "KernelName.h"
#include "TornImages.h"
#include "TurnedRows.h"
#include "lathe/Dialect/Lathe/ModelNode.h"
#include "lathe/Fuse/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Threading.h"

namespace lathe::fuse {
#define GEN_PASS_DEF_FORMKERNELS
#include "lathe/Fuse/Passes.h.inc"
} // namespace lathe::fuse

using namespace mlir;
using namespace lathe;
using namespace lathe::fuse;
using shape::Expr;

namespace {

/// What a kernel stores: a member's value, in the layout of `storage`, which is the value or a view of it.
struct Stored {
  Value value, storage;
};

/// A kernel while it is made.
struct Draft {
  Group &group;
  unsigned place; ///< in the program's order
  std::vector<Stored> stored;
  std::unique_ptr<Block> body;
  SmallVector<Value> read; ///< whose buffers are its operands
  Operation *misplaced = nullptr;
  unsigned guardedLoads = 0;
};

class Former {
public:
  Former(func::FuncOp func, const shape::Facts &facts, llvm::StringMap<unsigned> &names, const FormKernelsOptions &options)
      : func(func), body(func.getBody().front()), facts(facts),
        running(ir::factsWhileRunning(func->getParentOfType<ModuleOp>(), func.getName())), names(names), options(options) {}
  LogicalResult run();

private:
  void copyOutputs();
  void cutViewChains();
  void copyGathered();
  void copyForHost(OpOperand &o);
  void emitHostOp(Operation *op, OpBuilder &b);
  bool usedOutside(Value v, unsigned group);
  std::vector<Stored> storedOf(Group &group, unsigned id);
  std::vector<Draft> draftKernels();
  void fill(Draft &draft) const;
  LogicalResult emitKernel(Draft &draft, OpBuilder &b);
  kernel::KernelClass classify(Group &group, bool reduces);
  Value finalValue(Value v, OpBuilder &b);

  func::FuncOp func;
  Block &body;
  const shape::Facts &facts;
  shape::Facts running; ///< what holds while a kernel runs
  std::unique_ptr<Trees> trees;
  std::unique_ptr<Grouper> grouper;
  /// Buffers: arguments, constants and kernels' results; the key is the value whose layout it has.
  llvm::DenseMap<Value, Value> buffers;
  /// From which place of the program on a value has one.
  llvm::DenseMap<Value, unsigned> inMemoryFrom;
  llvm::StringMap<unsigned> &names;
  FormKernelsOptions options;
};

/// Results must come out of a kernel in their own row-major order: views that move elements, arguments and constants are
/// copied.
void Former::copyOutputs() {
  Operation *ret = body.getTerminator();
  OpBuilder b(ret);
  for (OpOperand &o : ret->getOpOperands()) {
    Value v = o.get();
    while (v.getDefiningOp<ir::ReshapeOp>())
      v = v.getDefiningOp()->getOperand(0);
    if (ir::isHostOp(v.getDefiningOp()))
      continue;
    if (v.getDefiningOp() && (isPointwise(v.getDefiningOp()) || isHeavyRoot(v.getDefiningOp()) ||
                              hasOwnLoop(v.getDefiningOp())))
      continue;
    Location loc = v.getDefiningOp() ? v.getLoc() : ret->getLoc();
    o.set(b.create<ir::CastOp>(loc, o.get().getType(), o.get()));
  }
}

/// Views are followed one by one, in every kernel that reads through them: behind many of them the elements are copied into order.
/// A reshape of what was transposed may divide, and the next one divides that: few of these are followed.
void Former::cutViewChains() {
  constexpr unsigned mostViews = 32, mostCrossings = 3;
  struct Chain {
    unsigned views = 0, crossings = 0;
    bool moved = false; ///< by a transpose or slice that no reshape followed
  };
  llvm::DenseMap<Operation *, Chain> chains;
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (!isView(&op))
      continue;
    Chain chain = chains.lookup(op.getOperand(0).getDefiningOp());
    bool crosses = chain.moved && isa<ir::ReshapeOp>(op);
    if (chain.views == mostViews || (crosses && chain.crossings == mostCrossings)) {
      OpBuilder b(&op);
      op.setOperand(0, b.create<ir::CastOp>(op.getLoc(), op.getOperand(0).getType(), op.getOperand(0)));
      chain = {};
      crosses = false;
    }
    ++chain.views;
    chain.crossings += crosses;
    chain.moved = !isa<ir::ReshapeOp>(op) && (chain.moved || !isa<ir::BroadcastOp>(op));
    chains[&op] = chain;
  }
}

/// Rows that index vectors pick are read whole. Where a transpose stands before them, each of their elements would be read on its own,
/// at every pick: elements are copied into order first, unless fewer of them are picked than there are. Single elements (those that a selection
/// along an outer axis takes) are read on their own in any order.
void Former::copyGathered() {
  llvm::DenseMap<Value, Value> copies;
  for (ir::GatherNdOp gather : llvm::make_early_inc_range(body.getOps<ir::GatherNdOp>())) {
    Value x = gather.getX(), base = x;
    ir::Dims picked = ir::dimsOf(gather.getIndices());
    if (int64_t(ir::dimsOf(x).size()) == gather.getBatchDims() + picked.back().constant().value_or(0))
      continue;
    bool moved = false;
    for (; isView(base.getDefiningOp()); base = base.getDefiningOp()->getOperand(0))
      if (auto t = base.getDefiningOp<ir::TransposeOp>())
        moved |= t.getPerm().back() != int64_t(t.getPerm().size()) - 1;
    auto count = [](Value v) { return shape::product(ir::dimsOf(v)); };
    if (!moved || base.getDefiningOp<ir::ConstantOp>() || facts.provablyLess(count(gather.getResult()), count(x)))
      continue;
    OpBuilder b(gather);
    auto [copy, isNew] = copies.try_emplace(x);
    if (isNew)
      copy->second = b.create<ir::CastOp>(gather.getLoc(), x.getType(), x);
    gather.getXMutable().assign(copy->second);
  }
}

/// What the host program reads lies in its own row-major order: views that move elements, and what is no tensor in memory
/// (sizes, splats), are copied.
void Former::copyForHost(OpOperand &o) {
  Value v = o.get();
  while (v.getDefiningOp<ir::ReshapeOp>())
    v = v.getDefiningOp()->getOperand(0);
  Operation *op = v.getDefiningOp();
  if (Trees::isExternal(v) || isPointwise(op) || isHeavyRoot(op) || hasOwnLoop(op))
    return;
  OpBuilder b(o.getOwner());
  o.set(b.create<ir::CastOp>(op->getLoc(), o.get().getType(), o.get()));
}

void Former::emitHostOp(Operation *op, OpBuilder &b) {
  for (OpOperand &o : op->getOpOperands())
    o.set(finalValue(o.get(), b));
  op->moveBefore(body.getTerminator());
  for (Value r : op->getResults())
    buffers[r] = r;
}

/// Does anybody but this group read the value, directly, through views or in a tree?
bool Former::usedOutside(Value v, unsigned group) {
  for (Operation *user : v.getUsers()) {
    if (isa<func::ReturnOp>(user) || ir::isHostOp(user))
      return true;
    if (trees->isRoot(user)) {
      if (grouper->groupOf.lookup(user) != group)
        return true;
    } else if (usedOutside(user->getResult(0), group)) {
      return true;
    }
  }
  return false;
}

std::vector<Stored> Former::storedOf(Group &group, unsigned id) {
  std::vector<Stored> out;
  for (Operation *m : group.members)
    if (Value v = m->getResult(0); usedOutside(v, id)) {
      Domain domain = group.domain;
      out.push_back({v, grouper->storageOf(group, v, domain)});
      group.domain = domain;
    }
  return out;
}

kernel::KernelClass Former::classify(Group &group, bool reduces) {
  // A product of bytes is a sum of widened ones; a target knows it by that.
  auto product = dyn_cast<ir::ContractOp>(group.members.front());
  bool widens = product && ir::elementOf(product.getLhs()) != ir::elementOf(product.getResult());
  if (group.kind == GroupKind::Contraction && !widens)
    return kernel::KernelClass::Contraction;
  if (group.kind == GroupKind::Attention)
    return kernel::KernelClass::Attention;
  if (isa<ir::FftOp>(group.members.front()))
    return kernel::KernelClass::Transform;
  if (group.kind == GroupKind::Ordered)
    return isa<ir::ScanOp>(group.members.front()) ? kernel::KernelClass::Scan : kernel::KernelClass::Sort;
  if (isa<ir::CompactOp>(group.members.front()))
    return kernel::KernelClass::Scan;
  if (group.kind == GroupKind::Scatter)
    return kernel::KernelClass::Scatter;
  return reduces ? kernel::KernelClass::Reduction : kernel::KernelClass::Loop;
}

/// Model nodes of the group's ops, in order, without repetition. A broadcast is part of the node that needed it, and equal
/// ones of several nodes are one op: it says nothing about what a kernel covers.
/// Names of the model's nodes, with their operators.
static llvm::MapVector<Attribute, std::string> nodesOf(Group &group, Trees &trees) {
  llvm::MapVector<Attribute, std::string> nodes;
  std::function<void(Operation *)> visit = [&](Operation *op) {
    for (Value o : op->getOperands())
      if (Operation *d = o.getDefiningOp(); d && !trees.isRoot(d) && (isPointwise(d) || isView(d)))
        visit(d);
    if (isa<ir::BroadcastOp>(op))
      return;
    ir::forEachNode(op->getLoc(), [&](StringAttr name, StringRef node) { nodes.insert({name, node.str()}); });
  };
  for (Operation *m : group.members)
    visit(m);
  return nodes;
}

/// The operator that the kernel's reduction or product comes from; of several the last.
static std::string mainOperator(Group &group) {
  std::string last;
  for (Operation *m : group.members) {
    std::string op; // of nodes that became one the first
    ir::forEachNode(m->getLoc(), [&](StringAttr, StringRef node) { op = op.empty() ? node.str() : op; });
    if (isa<ir::ReduceOp, ir::ContractOp, ir::ConvOp>(m))
      last = op;
  }
  return last;
}

static std::string baseName(Group &group, const llvm::MapVector<Attribute, std::string> &nodes) {
  std::vector<std::string> ops;
  for (const auto &[node, op] : nodes)
    ops.push_back(op);
  if (std::string name = group.kind == GroupKind::Attention ? "" : nameOf(ops, mainOperator(group)); !name.empty())
    return name;
  switch (group.kind) { // what no model says the operators of
  case GroupKind::Contraction:
    return "contract";
  case GroupKind::Attention:
    return "attention";
  case GroupKind::Ordered:
    return isa<ir::FftOp>(group.members.front()) ? "fft" : isa<ir::ScanOp>(group.members.front()) ? "scan" : "sort";
  case GroupKind::Row:
  case GroupKind::Scatter:
  case GroupKind::Host:
    break;
  }
  std::string name = group.members.back()->getName().stripDialect().str();
  for (Operation *m : group.members)
    if (isa<ir::ReduceOp>(m))
      return "reduce_" + name;
  return name;
}

/// What each kernel stores, in the program's order.
std::vector<Draft> Former::draftKernels() {
  std::vector<Draft> drafts;
  for (auto [v, buffer] : buffers)
    inMemoryFrom[v] = 0;
  for (auto [place, id] : llvm::enumerate(grouper->order())) {
    Group &group = grouper->groups[id];
    Draft draft{group, unsigned(place), {}, std::make_unique<Block>(), {}};
    if (group.kind == GroupKind::Host)
      for (Value r : group.members.front()->getResults())
        inMemoryFrom[r] = place + 1;
    else
      draft.stored = storedOf(group, id);
    for (const Stored &s : draft.stored)
      inMemoryFrom[s.storage] = place + 1;
    drafts.push_back(std::move(draft));
  }
  return drafts;
}

/// The body, and with it what it reads. It depends on the graph and on which values have a buffer: bodies are written in all threads.
void Former::fill(Draft &draft) const {
  MLIRContext *context = body.getParentOp()->getContext();
  Group &group = draft.group;
  Block *block = draft.body.get();
  llvm::DenseMap<Value, Value> refs;
  OpBuilder inner(context);
  inner.setInsertionPointToEnd(block);
  auto inMemory = [&](Value v) {
    auto it = inMemoryFrom.find(v);
    return it != inMemoryFrom.end() && it->second <= draft.place;
  };
  auto refOf = [&](Value v) -> Value {
    Value &ref = refs[v];
    if (!ref) {
      draft.read.push_back(v);
      ref = block->insertArgument(draft.read.size() - 1, kernel::RefType::get(context, ir::signless(ir::elementOf(v))), v.getLoc());
    }
    return ref;
  };
  BodyBuilder builder(group, inner, running, inMemory, refOf);
  for (const Stored &s : draft.stored) {
    auto compact = s.value.getDefiningOp<ir::CompactOp>();
    Value v = compact ? Value() : builder.emit(s.value, group.domain.known.lookup(s.value));
    Type element = ir::elementOf(s.storage);
    BlockArgument out = block->addArgument(kernel::RefType::get(context, ir::signless(element)), s.value.getLoc());
    if (compact) {
      builder.storeCompact(compact, out);
      continue;
    }
    Expr offset = group.domain.facts.simplify(flatten(ir::dimsOf(s.storage), group.domain.known.lookup(s.storage)));
    inner.create<kernel::StoreOp>(s.value.getLoc(), v, out, inner.getStringAttr(offset.str()), ValueRange(), Value());
    if (auto scatter = s.value.getDefiningOp<ir::ScatterOp>(); scatter && group.kind == GroupKind::Scatter)
      builder.storeUpdates(scatter, out);
  }
  draft.misplaced = builder.misplaced();
  draft.guardedLoads = builder.guardedLoads();
}

LogicalResult Former::emitKernel(Draft &draft, OpBuilder &b) {
  Group &group = draft.group;
  if (Operation *op = draft.misplaced)
    return op->emitError("a kernel asks for '") << nodeName(op) << "' at a place where it does not compute it";
  if (unsigned n = draft.guardedLoads)
    group.unfused.push_back(nodeName(group.members.back()) + ": the bounds of " + std::to_string(n) +
                            " reads are not proven, they are checked in the kernel");
  SmallVector<Value> operands;
  for (Value v : draft.read)
    operands.push_back(buffers.lookup(v));
  SmallVector<Type> results;
  for (const Stored &s : draft.stored)
    results.push_back(s.storage.getType());
  bool reduces = false;
  draft.body->walk([&](kernel::ReduceOp) { reduces = true; });
  std::set<std::string> reduced = group.domain.reducedAxes();
  SmallVector<Attribute> axisNames, axisExtents;
  for (bool inside : {false, true}) // reduced axes last, else in the domain's order
    for (const Axis &a : group.domain.axes)
      if ((reduced.count(a.name) != 0) == inside) {
        axisNames.push_back(b.getStringAttr(a.name));
        axisExtents.push_back(b.getStringAttr(a.extent.str()));
      }
  llvm::MapVector<Attribute, std::string> nodes = nodesOf(group, *trees);
  std::string name = baseName(group, nodes);
  if (unsigned n = names[name]++)
    name += "_" + std::to_string(n);
  SmallVector<Attribute> nodeNames;
  for (const auto &[node, op] : nodes)
    nodeNames.push_back(node);
  SmallVector<Attribute> unfused;
  for (const std::string &u : group.unfused)
    unfused.push_back(b.getStringAttr(u));
  auto op = b.create<kernel::GenericOp>(
      group.members.front()->getLoc(), results, classify(group, reduces), name, b.getArrayAttr(axisNames),
      b.getArrayAttr(axisExtents), operands, b.getArrayAttr(nodeNames),
      unfused.empty() ? ArrayAttr() : b.getArrayAttr(unfused), DictionaryAttr());
  op.getBody().push_back(draft.body.release());
  for (auto [s, r] : llvm::zip(draft.stored, op.getOutputs()))
    buffers[s.storage] = r;
  return success();
}

/// A result of the function: its buffer, through the reshapes above it.
Value Former::finalValue(Value v, OpBuilder &b) {
  if (Value buffer = buffers.lookup(v))
    return buffer;
  auto reshape = cast<ir::ReshapeOp>(v.getDefiningOp());
  return b.create<ir::ReshapeOp>(v.getLoc(), v.getType(), finalValue(reshape.getX(), b));
}

/// What reduces everything stands alone. It reads the narrow elements that there are, and converts them itself: for itself and others they would be written, and read again, twice as
/// wide.
static void castForWholeSums(Block &body) {
  for (ir::ReduceOp reduce : body.getOps<ir::ReduceOp>()) {
    auto cast = reduce.getX().getDefiningOp<ir::CastOp>();
    bool isWhole = int64_t(reduce.getAxes().size()) == ir::typeOf(reduce.getX()).getRank();
    if (!cast || !isWhole || cast->hasOneUse() || ir::elementOf(cast.getX()).getIntOrFloatBitWidth() >= ir::elementOf(cast.getResult()).getIntOrFloatBitWidth())
      continue;
    Operation *own = OpBuilder(reduce).clone(*cast);
    reduce->replaceUsesOfWith(cast.getResult(), own->getResult(0));
  }
}

LogicalResult Former::run() {
  cutViewChains();
  copyGathered();
  copyTurnedRows(body, /*inPasses=*/options.extendsRows);
  copyTornImages(body, /*inTiles=*/options.extendsRows);
  castForWholeSums(body);
  copyOutputs();
  for (Operation &op : body)
    if (ir::isHostOp(&op))
      for (OpOperand &o : op.getOpOperands())
        copyForHost(o);
  HostOrder host(body);
  host.sort();
  trees = std::make_unique<Trees>(body, options.packsImages, /*gathersLanes=*/options.extendsRows);
  grouper = std::make_unique<Grouper>(body, facts, *trees, host, running, options.extendsRows, options.storesBothWays);
  grouper->run();
  Operation *ret = body.getTerminator();
  OpBuilder b(ret);
  for (BlockArgument a : body.getArguments())
    buffers[a] = a;
  for (auto c : body.getOps<ir::ConstantOp>())
    if (!Trees::isSplat(c.getResult()))
      buffers[c.getResult()] = c.getResult();
  std::vector<Draft> drafts = draftKernels();
  parallelForEach(func.getContext(), drafts, [&](Draft &d) { fill(d); });
  for (Draft &d : drafts)
    if (d.group.kind == GroupKind::Host)
      emitHostOp(d.group.members.front(), b);
    else if (!d.stored.empty() && failed(emitKernel(d, b))) // else dead
      return failure();
  SmallVector<Value> outputs;
  for (Value v : ret->getOperands())
    outputs.push_back(finalValue(v, b));
  ret->setOperands(outputs);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op) || (op.use_empty() && !ir::isHostOp(&op) && isa_and_nonnull<ir::LatheDialect>(op.getDialect())))
      op.erase();
  return success();
}

struct FormKernelsPass : lathe::fuse::impl::FormKernelsBase<FormKernelsPass> {
  using FormKernelsBase::FormKernelsBase;
  void runOnOperation() override {
    shape::Facts facts = ir::factsOf(getOperation());
    llvm::StringMap<unsigned> names; // of kernels, unique in the module
    for (auto f : getOperation().getOps<func::FuncOp>())
      if (failed(Former(f, facts, names, {packsImages, extendsRows, storesBothWays}).run()))
        return signalPassFailure();
  }
};

} // namespace
