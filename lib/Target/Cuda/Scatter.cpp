//===- Scatter.cpp - Updates at computed places on a GPU -------------------===//
//
// The data lie in the result already. Integers are combined by atomic instructions, a thread for each update: their
// order changes no bit. Everything else keeps the order of the updates: a thread has places that write elements of
// their own, and a part of the data where these are too few; it goes through all updates and stores what falls to it.
//
//===----------------------------------------------------------------------===//

#include "Scatter.h"
#include "RowSchedule.h"
#include "lathe/Lower/ScatterUpdates.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using kernel::Combiner;
using lower::BodyEmitter;
using shape::Expr;

namespace {

constexpr unsigned threadsPerBlock = 128;
/// As many threads as keep a large GPU busy while each goes through all updates.
constexpr int64_t wantedThreads = 1 << 14;

/// Stores become atomic updates.
class AtomicHooks : public DeviceHooks {
public:
  AtomicHooks(const lower::BodyInfo &info, Combiner kind) : DeviceHooks(info), kind(kind) {}
  void store(OpBuilder &b, Location loc, const lower::Access &a, Value value) override;

private:
  Combiner kind;
};

class ScatterEmitter {
public:
  ScatterEmitter(KernelFrame &frame, lower::ScatterUpdates updates, const lower::ScatterAxes &axes,
                 lower::EmitHooks &hooks)
      : frame(frame), d(frame.d), info(frame.info), updates(updates), axes(axes),
        base(info, d.b, d.loc, frame.sizes, frame.refs, hooks) {}
  void emitAtomic();
  void emitInOrder(const std::optional<lower::SharedIndex> &shared, const Expr &parts);
  const std::string &error() const { return base.error(); }

private:
  void bind(BodyEmitter &point, lower::AxisSet set, Value index);
  void storeOne(BodyEmitter &point);

  KernelFrame &frame;
  DeviceBuilder &d;
  const lower::BodyInfo &info;
  lower::ScatterUpdates updates;
  lower::ScatterAxes axes;
  BodyEmitter base;
  Value part, first, last; ///< of the body: the index of which this thread has [first, last)
};

} // namespace

static std::optional<LLVM::AtomicBinOp> atomicOf(Combiner kind, Type element) {
  if (!element.isInteger(32) && !element.isInteger(64))
    return std::nullopt;
  switch (kind) {
  case Combiner::Add:
    return LLVM::AtomicBinOp::add;
  case Combiner::Max:
    return LLVM::AtomicBinOp::max;
  case Combiner::Min:
    return LLVM::AtomicBinOp::min;
  case Combiner::UMax:
    return LLVM::AtomicBinOp::umax;
  case Combiner::UMin:
    return LLVM::AtomicBinOp::umin;
  case Combiner::And:
    return LLVM::AtomicBinOp::_and;
  case Combiner::Or:
    return LLVM::AtomicBinOp::_or;
  case Combiner::Xor:
    return LLVM::AtomicBinOp::_xor;
  case Combiner::Mul:
  case Combiner::LogAddExp:
    break;
  }
  return std::nullopt;
}

void AtomicHooks::store(OpBuilder &b, Location loc, const lower::Access &a, Value value) {
  b.create<LLVM::AtomicRMWOp>(loc, *atomicOf(kind, value.getType()), a.pointer, value, LLVM::AtomicOrdering::monotonic);
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

void ScatterEmitter::bind(BodyEmitter &point, lower::AxisSet set, Value index) {
  Values extents;
  SmallVector<unsigned> order;
  for (unsigned i = 0; i < info.axes.size(); ++i)
    if (contains(set, i)) {
      order.push_back(i);
      extents.push_back(frame.size(info.extents[i]));
    }
  for (auto [axis, i] : llvm::zip(order, delinearize(d, index, extents)))
    point.bindAxis(info.axes[axis], i);
}

void ScatterEmitter::storeOne(BodyEmitter &point) {
  for (Value v : updates.store.getIndices())
    point.emit(v);
  Value stored;
  auto require = [&](Value c) { stored = stored ? d.both(stored, c) : c; };
  if (updates.predicate)
    require(point.emit(updates.predicate));
  if (part) {
    Value at = point.emit(part);
    require(d.compare(arith::CmpIPredicate::sge, at, first));
    require(d.less(at, last));
  }
  auto put = [&] {
    BodyEmitter inside = point;
    inside.emitStore(updates.store);
  };
  if (stored)
    d.when(stored, put);
  else
    put();
}

static Value threadOf(DeviceBuilder &d) {
  return d.add(d.mul(d.wide(d.blockId()), threadsPerBlock), d.wide(d.threadId()));
}

void ScatterEmitter::emitAtomic() {
  Value thread = threadOf(d), mine = d.less(thread, frame.size(extentOf(info, axes.all())));
  d.when(mine, [&] {
    BodyEmitter point = base;
    bind(point, axes.all(), thread);
    storeOne(point);
  });
}

void ScatterEmitter::emitInOrder(const std::optional<lower::SharedIndex> &shared, const Expr &parts) {
  Value thread = threadOf(d), own = frame.size(extentOf(info, axes.own)), shares = frame.size(parts);
  d.when(d.less(thread, d.mul(own, shares)), [&] {
    BodyEmitter outer = base;
    bind(outer, axes.own, d.rem(thread, own)); // neighbours in a warp write neighbours in memory
    if (shared) {
      Value size = frame.size(Expr::ceildiv(shared->places, parts)), number = d.div(thread, own);
      part = shared->index;
      first = d.mul(number, size);
      last = d.add(first, size);
    }
    d.loop(d.i64(0), frame.size(extentOf(info, axes.serial)), d.i64(1), [&](Value i) {
      BodyEmitter point = outer;
      bind(point, axes.serial, i);
      storeOne(point);
    });
  });
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

llvm::Expected<bool> cuda::generateScatter(Generator &g) {
  kernel::GenericOp kernel = g.info.kernel;
  if (kernel.getKernelClass() != kernel::KernelClass::Scatter)
    return false;
  if (!kernel->hasAttr("in_place"))
    return bug("kernel '{0}': a scatter's result does not lie where its data lie", kernel.getName());
  OpBuilder copies(kernel);
  auto copy = cast<kernel::GenericOp>(copies.clone(*kernel));
  auto erase = llvm::make_scope_exit([&] { copy.erase(); });
  std::optional<Combiner> atomic;
  for (auto store : copy.getBody().front().getOps<kernel::StoreOp>())
    if (std::optional<Combiner> kind = store.getCombiner(); kind && atomicOf(*kind, store.getValue().getType()))
      atomic = kind;
  lower::ScatterUpdates updates = lower::isolateUpdates(copy, /*writeOut=*/!atomic);
  lower::BodyInfo info(copy);
  info.sizes = g.info.sizes; // the parameters
  lower::ScatterAxes axes = lower::axesOf(updates, info);
  Expr threads = extentOf(info, axes.all()), parts(1);
  std::optional<lower::SharedIndex> part;
  if (!atomic) {
    Expr own = extentOf(info, axes.own);
    part = lower::widestIndex(updates);
    parts = Expr::max(1, Expr::min(part ? part->places : Expr(1), Expr::ceildiv(wantedThreads, Expr::max(1, own))));
    threads = own * parts;
  }
  PlanFunction &plan = g.plan;
  plan.set(LATHE_CUDA_GRID, plan.size(Expr::ceildiv(threads, threadsPerBlock)));
  plan.set(LATHE_CUDA_GRID + 1, 1);
  plan.set(LATHE_CUDA_GRID + 2, 1);
  plan.set(LATHE_CUDA_BLOCK, int64_t(threadsPerBlock));
  StringRef name = atomic ? "scatter_atomic" : "scatter_in_order";
  KernelFrame frame(info, g.device, name, threadsPerBlock, g.sm, 0, g.dependent());
  DeviceHooks plain(info);
  AtomicHooks atomics(info, atomic.value_or(Combiner::Add));
  ScatterEmitter emitter(frame, updates, axes, atomic ? static_cast<lower::EmitHooks &>(atomics) : plain);
  if (atomic)
    emitter.emitAtomic();
  else
    emitter.emitInOrder(part, parts);
  if (llvm::Error e = g.addEntry(frame, name, emitter.error()))
    return std::move(e);
  return true;
}
