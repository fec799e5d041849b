//===- LoopTracks.cpp - Which loops are one launch, and their stages --------===//

#include "LoopTracks.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

/// Bodies with more want kernels of their own, and products of more rows tensor cores.
constexpr unsigned mostKernels = 6;
constexpr int64_t mostRows = 64;
/// Loops of one launch.
constexpr unsigned mostTracks = 4;

func::ReturnOp Track::result() const {
  return cast<func::ReturnOp>(const_cast<func::FuncOp &>(body).getBody().front().getTerminator());
}

std::optional<GemmProblem> BodyKernel::productOf(const lower::BodyInfo &info) {
  std::optional<GemmProblem> p = gemmProblem(info);
  if (!p || !p->sumType().isF32() || !p->lhs.isDirect() || !p->rhs.isDirect() || !p->shape.batchAxes.empty() || p->shape.rowAxes.size() > 1 ||
      p->shape.columnAxes.size() != 1 || !p->n.constant() || !p->k.constant() || *p->k.constant() < 1)
    return std::nullopt;
  bool steps =
      p->shape.stepAlong(p->lhs.offset, p->shape.depthAxes) && p->shape.stepAlong(p->rhs.offset, p->shape.depthAxes);
  return steps && p->m.constant().value_or(1) <= mostRows ? p : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Which loops
//===----------------------------------------------------------------------===//

static bool mentionsAny(const Expr &e, const std::set<std::string> &symbols) {
  return llvm::any_of(e.symbols(), [&](const std::string &s) { return symbols.count(s) != 0; });
}

static bool isPlain(BodyKernel &k) {
  using kernel::KernelClass;
  if (k.op->hasAttr("in_place"))
    return false;
  if (k.product)
    return true;
  return k.op.getKernelClass() == KernelClass::Loop && llvm::none_of(k.info.ops, [](Operation *op) {
           return llvm::any_of(op->getResults(), [](Value v) { return lower::isRootValue(v); }) || op->getNumRegions();
         });
}

/// The sizes of all tensors and kernels are known at the entry, but for the counter in offsets.
static bool sizesAreKnown(Track &t, std::set<std::string> late) {
  auto known = [&](Value v) {
    return llvm::none_of(ir::dimsOf(v), [&](const Expr &e) { return mentionsAny(e, late); });
  };
  if (mentionsAny(t.steps(), late) || !llvm::all_of(t.loop->getOperands(), known) ||
      !llvm::all_of(t.loop->getResults(), known))
    return false;
  std::set<std::string> others = late;
  others.erase(t.loop.getCounter().str());
  for (auto &k : t.kernels) {
    if (!llvm::all_of(k->op.getOutputs(), known))
      return false;
    for (unsigned i = 0; i < k->info.axes.size(); ++i)
      if (mentionsAny(k->info.extents[i], late))
        return false;
    for (const std::string &s : k->info.sizes)
      if (others.count(s))
        return false;
  }
  return true;
}

/// Each result is a kernel's, and collected once at most: that is where it lies.
static bool resultsHavePlaces(Track &t) {
  llvm::DenseSet<Value> collected;
  for (auto [i, v] : llvm::enumerate(t.result().getOperands()))
    if (!v.getDefiningOp<kernel::GenericOp>() || (i >= t.numCarried() && !collected.insert(v).second))
      return false;
  return true;
}

static bool hasChecks(ModuleOp module, StringRef body) {
  return llvm::any_of(module.getOps<ir::RelationOp>(), [&](ir::RelationOp r) { return r.getScope() == body; });
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// How far from its own column the kernel reads the product's result, each time that it does; nothing when it reads
/// elsewhere, or runs over other points than rows and columns.
static std::optional<std::set<int64_t>> shiftsOf(BodyKernel &other, BodyKernel &product) {
  const GemmProblem &p = *product.product;
  size_t rank = p.shape.rowAxes.size() + 1;
  if (p.stores.size() != 1 || other.product || other.info.axes.size() != rank ||
      (rank == 2 && other.info.extents[0] != p.m))
    return std::nullopt;
  Expr column = Expr::symbol(other.info.axes.back());
  std::map<std::string, Expr> here{{product.info.axes[p.shape.columnAxes[0]], column}};
  if (rank == 2)
    here.insert({product.info.axes[p.shape.rowAxes[0]], Expr::symbol(other.info.axes[0])});
  kernel::StoreOp store = p.stores[0];
  auto linear = product.info.exprOf(store).linearIn(product.info.axes[p.shape.columnAxes[0]]);
  if (!linear || !linear->coefficient.isOne())
    return std::nullopt;
  Expr stored = product.info.exprOf(store).substitute(here);
  std::set<int64_t> shifts;
  std::optional<int64_t> own = other.info.extents.back().constant();
  for (Operation *op : other.info.ops) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    if (!load || other.op.getInputs()[cast<BlockArgument>(load.getRef()).getArgNumber()] != product.op->getResult(0))
      continue;
    std::optional<int64_t> shift = (other.info.exprOf(load) - stored).constant();
    if (!shift || !own || *shift < 0 || *shift + *own > *p.n.constant() || !load.getIndices().empty())
      return std::nullopt;
    shifts.insert(*shift);
  }
  return shifts;
}

/// The kernels behind a product that need nothing of it but the block's own columns join its stage.
static void formStages(Track &t) {
  for (size_t i = 0; i < t.kernels.size(); ++i) {
    BodyKernel *first = t.kernels[i].get();
    LoopStage stage;
    if (!first->product) {
      stage.others.push_back(first);
      t.stages.push_back(std::move(stage));
      continue;
    }
    stage.product = first;
    stage.units = *first->product->n.constant();
    stage.shifts = {0};
    BodyKernel *next = i + 1 < t.kernels.size() ? t.kernels[i + 1].get() : nullptr;
    std::optional<std::set<int64_t>> shifts = next ? shiftsOf(*next, *first) : std::nullopt;
    if (shifts && !shifts->empty() && first->op->getNumResults() == 1 && first->op->hasOneUse()) {
      stage.others.push_back(next);
      stage.units = *next->info.extents.back().constant();
      stage.shifts.assign(shifts->begin(), shifts->end());
      ++i;
    }
    t.stages.push_back(std::move(stage));
  }
}

std::optional<Track> cuda::trackOf(ir::LoopOp loop) {
  auto module = loop->getParentOfType<ModuleOp>();
  Track t;
  t.loop = loop;
  t.body = module.lookupSymbol<func::FuncOp>(loop.getBody());
  if (loop.getCondition() || loop.getConditional() || loop.getLimit().empty() || !loop.getCount().empty() ||
      !loop.getSymbols().empty() || hasChecks(module, loop.getBody()))
    return std::nullopt;
  for (Operation &op : t.body.getBody().front().without_terminator()) {
    if (auto constant = dyn_cast<ir::ConstantOp>(op))
      t.constants.push_back(constant);
    else if (auto kernel = dyn_cast<kernel::GenericOp>(op); kernel && kernel.getNumAxes() <= lower::maxAxes)
      t.kernels.push_back(std::make_unique<BodyKernel>(kernel));
    else
      return std::nullopt;
  }
  if (t.kernels.empty() || t.kernels.size() > mostKernels ||
      !llvm::all_of(t.kernels, [](auto &k) { return isPlain(*k); }) || !sizesAreKnown(t, ir::lateSymbols(module)) ||
      !resultsHavePlaces(t))
    return std::nullopt;
  formStages(t);
  return t;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

static void addLoop(LoopGroup &group, Track &t) {
  group.loops.push_back(t.loop);
  llvm::append_range(group.operands, t.loop->getOperands());
  for (ir::ConstantOp c : t.constants)
    group.operands.push_back(c.getResult());
  llvm::append_range(group.results, t.loop->getResults());
  std::set<std::string> sizes(group.sizes.begin(), group.sizes.end());
  auto add = [&](const Expr &e) {
    for (const std::string &s : e.symbols())
      sizes.insert(s);
  };
  add(t.steps());
  for (auto &k : t.kernels) {
    group.kernels.push_back(k->op);
    sizes.insert(k->info.sizes.begin(), k->info.sizes.end());
    for (Value v : k->op.getOutputs())
      llvm::for_each(ir::dimsOf(v), add);
  }
  for (Value v : t.loop->getResults())
    llvm::for_each(ir::dimsOf(v), add);
  sizes.erase(t.loop.getCounter().str());
  group.sizes.assign(sizes.begin(), sizes.end());
}

/// Whether nothing in front of the operation needs what the loops make, or writes over what they read.
static bool mayWaitFor(const LoopGroup &group, Operation *later) {
  ir::LoopOp first = group.loops.front();
  if (first->getBlock() != later->getBlock())
    return false;
  for (Operation *op = first; op && op != later; op = op->getNextNode())
    if (op->hasAttr("in_place"))
      return false;
  return llvm::all_of(group.loops, [&](ir::LoopOp loop) {
    return llvm::all_of(loop->getUsers(), [&](Operation *user) {
      return user != later && user->getBlock() == later->getBlock() && later->isBeforeInBlock(user);
    });
  });
}

std::vector<LoopGroup> cuda::loopGroups(ModuleOp module) {
  std::vector<LoopGroup> groups;
  module.walk([&](ir::LoopOp loop) {
    std::optional<Track> t = trackOf(loop);
    if (!t)
      return;
    if (groups.empty() || groups.back().loops.size() == mostTracks || !mayWaitFor(groups.back(), loop)) {
      groups.emplace_back();
      groups.back().name = t->kernels[0]->op.getName().str();
    }
    addLoop(groups.back(), *t);
  });
  return groups;
}
