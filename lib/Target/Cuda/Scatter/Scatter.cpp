//===- Scatter.cpp - Updates at computed places on a GPU -------------------===//
//
// The data lie in the result already. Integers are combined by atomic instructions, a thread for each update: their
// order changes no bit. The last of the updates, the largest of floats, sums and products of floats are found in memory of
// the kernel's own (ScatterPhases.cpp), in which, too, no order changes a bit. Of few elements, which many updates meet
// at, a block adds up integers and counts in its shared memory first. Everything else, and few updates for an
// element, keep the order of the updates: a thread has places that write elements of their own, and a part of the data
// where these are too few; it goes through all updates and stores what falls to it.
//
//===----------------------------------------------------------------------===//

#include "Scatter.h"
#include "lathe/Schedule/ThreadRows.h"
#include "ScatterEmitter.h"
#include "ScatterPhases.h"
#include "ScatterRuns.h"
#include "lathe/Dialect/Lathe/Lathe.h"
#include "lathe/Support/Diagnostics.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using kernel::Combiner;
using lower::BodyEmitter;
using shape::Expr;

namespace {

constexpr unsigned threadsPerBlock = scatterThreads;
/// As many threads as keep a large GPU busy while each goes through all updates.
constexpr int64_t wantedThreads = 1 << 14;
/// So many updates of an element, or fewer, are gone through in order.
constexpr int64_t fewUpdates = 16;
/// From so many elements for each update on, only memory of updated ones is touched.
constexpr int64_t sparseElements = 8;
/// Blocks on a multiprocessor of a launch that fills the device.
constexpr int64_t blocksPerProcessor = 8;

/// A block has words of its own for up to so many elements, from so many updates on.
constexpr int64_t mostPrivate = 1024, leastForPrivate = 1 << 14;

/// A copy of the kernel with the updates alone.
struct Isolated {
  Isolated(Generator &g, bool writeOut)
      : kernel(copyOf(g.info.kernel)), erase{kernel}, updates(lower::isolateUpdates(kernel, writeOut)), info(kernel) {
    info.sizes = g.info.sizes; // the parameters
    axes = lower::axesOf(updates, info);
  }
  static kernel::GenericOp copyOf(kernel::GenericOp kernel) {
    return cast<kernel::GenericOp>(OpBuilder(kernel).clone(*kernel));
  }
  struct Eraser {
    kernel::GenericOp kernel;
    ~Eraser() { kernel.erase(); }
  };
  kernel::GenericOp kernel;
  Eraser erase; ///< after all that speaks of the copy is gone
  lower::ScatterUpdates updates;
  lower::BodyInfo info;
  lower::ScatterAxes axes;
};

/// Launches one after the other, as words of a plan: entry points and grids.
struct ScatterLaunch {
  SmallVector<std::pair<Value, Value>> steps;
  Value scratch;
  /// This where the condition holds, else the other.
  ScatterLaunch orElse(DeviceBuilder &h, Value condition, ScatterLaunch other) {
    size_t count = std::max(steps.size(), other.steps.size());
    for (ScatterLaunch *launch : {this, &other})
      launch->steps.resize(count, {h.i64(0), h.i64(0)});
    for (auto [mine, its] : llvm::zip(steps, other.steps))
      mine = {h.select(condition, mine.first, its.first), h.select(condition, mine.second, its.second)};
    scratch = h.select(condition, scratch, other.scratch);
    return *this;
  }
};

class ScatterPlanner {
public:
  explicit ScatterPlanner(Generator &g) : g(g), plan(g.plan) {}
  llvm::Expected<ScatterLaunch> atomic(Isolated &s, Combiner kind);
  llvm::Expected<ScatterLaunch> privately(Isolated &s, const Expr &elements);
  llvm::Expected<ScatterLaunch> integers(Isolated &s, Combiner kind, const std::optional<Expr> &elements);
  llvm::Expected<ScatterLaunch> inOrder(Isolated &s);
  llvm::Expected<ScatterLaunch> inRuns(Isolated &s, unsigned order);
  llvm::Expected<ScatterLaunch> inPhases(Isolated &s, const ScatterPhases &phases, const Expr &elements);
  llvm::Expected<ScatterLaunch> inPhases(Isolated &s, const ScatterPhases &phases, const Expr &elements, bool sparse);

private:
  llvm::Error add(Isolated &s, StringRef name, lower::EmitHooks &hooks, KernelFrame &frame,
                  llvm::function_ref<void(ScatterEmitter &)> emit) {
    ScatterEmitter emitter(frame, s.updates, s.axes, hooks);
    emit(emitter);
    return g.addEntry(frame, name, emitter.error());
  }
  Value blocksFor(const Expr &threads) { return plan.size(Expr::ceildiv(threads, threadsPerBlock)); }
  /// The entry point that is added next, with so many threads.
  ScatterLaunch launchOf(const Expr &threads) {
    return {{{plan.constant(g.entries.size()), blocksFor(threads)}}, plan.constant(0)};
  }
  Value gridOf(Isolated &s, const ScatterPhase &phase, const Expr &elements);
  Generator &g;
  PlanFunction &plan;
};

} // namespace

llvm::Expected<ScatterLaunch> ScatterPlanner::atomic(Isolated &s, Combiner kind) {
  ScatterLaunch launch = launchOf(extentOf(s.info, s.axes.all()));
  KernelFrame frame(s.info, g.device, "scatter_atomic", threadsPerBlock, g.sm, 0, g.dependent());
  AtomicHooks hooks(s.info, kind);
  if (llvm::Error e = add(s, "scatter_atomic", hooks, frame, [](ScatterEmitter &e) { e.emitEach(); }))
    return std::move(e);
  return launch;
}

/// What all updates are, where they are one whole number.
static std::optional<int64_t> wholeNumberOf(lower::ScatterUpdates updates) {
  IntegerAttr value;
  if (!matchPattern(updates.store.getValue(), m_Constant(&value)))
    return std::nullopt;
  return value.getInt();
}

/// Sums of integers. Where all are one number, they are counted: shared memory has no instruction that adds 64 bits.
llvm::Expected<ScatterLaunch> ScatterPlanner::privately(Isolated &s, const Expr &elements) {
  ScatterLaunch launch{{{plan.constant(g.entries.size()), gridOf(s, {ScatterPhase::Private, {}}, elements)}}, plan.constant(0)};
  KernelFrame frame(s.info, g.device, "scatter_in_blocks", threadsPerBlock, g.sm, 0, g.dependent());
  DeviceBuilder &d = frame.d;
  Value result = frame.refs[cast<BlockArgument>(s.updates.store.getRef()).getArgNumber()];
  std::optional<int64_t> each = wholeNumberOf(s.updates);
  Type element = s.updates.store.getValue().getType(), word = each ? d.i32Type() : element;
  int64_t room = elements.constant().value_or(mostPrivate);
  PrivateWords words{frame.sharedArray("words", word, room), word, d.narrow(frame.size(elements)), /*counts=*/each.has_value()};
  PrivateHooks hooks(s.info, words, result);
  auto flush = [&](Value i, Value sum) {
    if (each)
      sum = d.mul(element.isInteger(64) ? d.wide(sum) : sum, *each);
    atomicUpdate(d, LLVM::AtomicBinOp::add, d.at(result, i, element), sum);
  };
  if (llvm::Error e = add(s, "scatter_in_blocks", hooks, frame, [&](ScatterEmitter &e) { e.emitPrivate(words, flush); }))
    return std::move(e);
  return launch;
}

/// Integers, of few elements in blocks' memory first.
llvm::Expected<ScatterLaunch> ScatterPlanner::integers(Isolated &s, Combiner kind, const std::optional<Expr> &elements) {
  Expr updates = extentOf(s.info, s.axes.all());
  std::optional<int64_t> most = elements ? elements->constant() : std::nullopt, all = updates.constant();
  if (kind != Combiner::Add || !elements || most.value_or(0) > mostPrivate || all.value_or(INT64_MAX) < leastForPrivate)
    return atomic(s, kind);
  llvm::Expected<ScatterLaunch> inBlocks = privately(s, *elements);
  if (most || !inBlocks)
    return inBlocks;
  llvm::Expected<ScatterLaunch> atOnce = atomic(s, kind);
  if (!atOnce)
    return atOnce;
  DeviceBuilder &h = plan.d;
  Value few = h.less(plan.size(*elements), plan.constant(mostPrivate + 1)), many = h.less(plan.constant(leastForPrivate - 1), plan.size(updates));
  return inBlocks->orElse(h, h.both(few, many), *atOnce);
}

llvm::Expected<ScatterLaunch> ScatterPlanner::inOrder(Isolated &s) {
  Expr own = extentOf(s.info, s.axes.own);
  std::optional<lower::SharedIndex> part = lower::widestIndex(s.updates);
  Expr parts = Expr::max(1, Expr::min(part ? part->places : Expr(1), Expr::ceildiv(wantedThreads, Expr::max(1, own))));
  ScatterLaunch launch = launchOf(own * parts);
  KernelFrame frame(s.info, g.device, "scatter_in_order", threadsPerBlock, g.sm, 0, g.dependent());
  DeviceHooks hooks(s.info);
  if (llvm::Error e = add(s, "scatter_in_order", hooks, frame, [&](ScatterEmitter &e) { e.emitInOrder(part, parts); }))
    return std::move(e);
  return launch;
}

llvm::Expected<ScatterLaunch> ScatterPlanner::inRuns(Isolated &s, unsigned order) {
  llvm::Expected<RunsLaunch> runs = addScatterRuns(g, s.info, s.updates, s.axes, order);
  if (!runs)
    return runs.takeError();
  return ScatterLaunch{{{runs->sums, runs->grid}, {runs->joins, runs->grid}}, runs->scratch};
}

Value ScatterPlanner::gridOf(Isolated &s, const ScatterPhase &phase, const Expr &elements) {
  Expr updates = extentOf(s.info, s.axes.all());
  if (phase.per == ScatterPhase::Update)
    return blocksFor(updates);
  if (phase.per == ScatterPhase::Element)
    return blocksFor(elements);
  DeviceBuilder &h = plan.d;
  Value filled = h.mul(plan.processors(), blocksPerProcessor);
  bool byUpdates = phase.per == ScatterPhase::Range || phase.per == ScatterPhase::Private;
  Value wanted = blocksFor(byUpdates ? Expr::ceildiv(updates, scatterAhead) : elements);
  return h.minU(h.minU(filled, plan.constant(ScatterPhases::mostBlocks)), wanted);
}

static void emitPhase(KernelFrame &frame, Isolated &s, const ScatterPhases &phases, const ScatterPhase &phase,
                      const PhaseMemory &memory, ScatterEmitter &e, PhaseHooks &hooks) {
  DeviceBuilder &d = frame.d;
  switch (phase.per) {
  case ScatterPhase::Update:
    phases.beforeUpdates(frame, memory, phase.name);
    return e.emitEach([&](Value thread) { hooks.setUpdate(thread); });
  case ScatterPhase::Element: {
    Value thread = scatterThread(d);
    return d.when(d.less(thread, memory.elements), [&] { phases.element(d, memory, thread); });
  }
  case ScatterPhase::Memory:
    return phases.memory(frame, memory);
  case ScatterPhase::Private:
    return; // is no work on one update at a time
  case ScatterPhase::Range:
    return phases.keepRange(frame, memory, e.emitRange(phases.rangeNumbers(), [&](Value value, Value counts) {
      return phases.range(d, value, counts);
    }));
  }
}

llvm::Expected<ScatterLaunch> ScatterPlanner::inPhases(Isolated &s, const ScatterPhases &phases, const Expr &elements,
                                                       bool sparse) {
  ScatterLaunch launch{{}, plan.size(phases.bytes(elements))};
  for (const ScatterPhase &phase : phases.phases(sparse)) {
    std::string name = "scatter_" + phase.name.str();
    size_t entry = llvm::find(g.entries, name) - g.entries.begin();
    launch.steps.push_back({plan.constant(entry), gridOf(s, phase, elements)});
    if (entry < g.entries.size()) // another way has it, too
      continue;
    KernelFrame frame(s.info, g.device, name, threadsPerBlock, g.sm, 0, g.dependent());
    Value result = frame.refs[cast<BlockArgument>(s.updates.store.getRef()).getArgNumber()];
    PhaseMemory memory{result, frame.scratch(), frame.size(elements), frame.size(extentOf(s.info, s.axes.all()))};
    if (phase.per == ScatterPhase::Private) {
      PrivateWords words{frame.sharedArray("words", frame.d.i32Type(), *elements.constant()), frame.d.i32Type(),
                         frame.d.i32(*elements.constant()), /*counts=*/true};
      PrivateHooks hooks(s.info, words, result);
      auto flush = [&](Value i, Value count) { phases.addCount(frame.d, memory, i, count); };
      if (llvm::Error e = add(s, name, hooks, frame, [&](ScatterEmitter &e) { e.emitPrivate(words, flush); }))
        return std::move(e);
      continue;
    }
    PhaseHooks hooks(s.info, phases, phase.name, memory);
    auto emit = [&](ScatterEmitter &e) { emitPhase(frame, s, phases, phase, memory, e, hooks); };
    if (llvm::Error e = add(s, name, hooks, frame, emit))
      return std::move(e);
  }
  return launch;
}

llvm::Expected<ScatterLaunch> ScatterPlanner::inPhases(Isolated &s, const ScatterPhases &phases, const Expr &elements) {
  Expr bound = extentOf(s.info, s.axes.all()) * Expr(sparseElements);
  std::optional<int64_t> some = elements.constant(), most = bound.constant();
  if (some && most)
    return inPhases(s, phases, elements, *some > *most);
  llvm::Expected<ScatterLaunch> sparse = inPhases(s, phases, elements, true);
  if (!sparse)
    return sparse;
  llvm::Expected<ScatterLaunch> dense = inPhases(s, phases, elements, false);
  if (!dense)
    return dense;
  return dense->orElse(plan.d, plan.d.compare(arith::CmpIPredicate::sle, plan.size(elements), plan.size(bound)),
                       *sparse);
}

/// How many elements the result has, where the launch knows.
static std::optional<Expr> elementsOf(Isolated &s) {
  unsigned output = cast<BlockArgument>(s.updates.store.getRef()).getArgNumber() - s.kernel.getInputs().size();
  Expr elements = shape::product(ir::dimsOf(s.kernel.getResult(output)));
  for (const std::string &symbol : elements.symbols())
    if (!llvm::is_contained(s.info.sizes, symbol))
      return std::nullopt;
  return elements;
}

/// What all updates are, where they are one number.
static std::optional<double> numberOf(lower::ScatterUpdates updates) {
  FloatAttr value;
  if (!matchPattern(updates.store.getValue(), m_Constant(&value)))
    return std::nullopt;
  return value.getValueAsDouble();
}

static void setLaunch(PlanFunction &plan, const ScatterLaunch &launch) {
  plan.launch(launch.steps[0].first, launch.steps[0].second, plan.constant(threadsPerBlock));
  plan.set(LATHE_CUDA_SCRATCH, launch.scratch);
  for (auto [entry, grid] : llvm::drop_begin(launch.steps))
    plan.follow(entry, grid, plan.constant(threadsPerBlock));
}

llvm::Expected<bool> cuda::generateScatter(Generator &g) {
  kernel::GenericOp kernel = g.info.kernel;
  if (kernel.getKernelClass() != kernel::KernelClass::Scatter)
    return false;
  if (!kernel->hasAttr("in_place"))
    return bug("kernel '{0}': a scatter's result does not lie where its data lie", kernel.getName());
  Isolated updates(g, /*writeOut=*/false), ordered(g, /*writeOut=*/true);
  std::optional<Combiner> kind;
  for (auto store : kernel.getBody().front().getOps<kernel::StoreOp>())
    if (store.getCombiner())
      kind = store.getCombiner();
  Type element = updates.updates.store.getValue().getType();
  std::optional<Expr> elements = elementsOf(updates);
  // Of one element, as far as anybody knows.
  std::optional<int64_t> all = extentOf(updates.info, updates.axes.all()).constant();
  bool meets = elements && elements->constant().value_or(INT64_MAX) <= mostPrivate && all.value_or(INT64_MAX) >= leastForPrivate;
  std::unique_ptr<ScatterPhases> phases = ScatterPhases::of(kind, element, numberOf(updates.updates), meets);
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  ScatterPlanner planner(g);
  if (std::optional<unsigned> order = orderOperandOf(kernel)) {
    llvm::Expected<ScatterLaunch> launch = planner.inRuns(updates, *order);
    if (!launch)
      return launch.takeError();
    setLaunch(plan, *launch);
    return true;
  }
  Expr serial = extentOf(ordered.info, ordered.axes.serial);
  std::optional<int64_t> many = serial.constant();
  bool takesPhases =
      phases && elements && many.value_or(INT64_MAX) > fewUpdates && all.value_or(0) <= phases->mostUpdates();
  bool mayBeTooMany = takesPhases && !all && phases->mostUpdates() != INT64_MAX;
  bool counted = kind && isAtomic(*kind, element);
  llvm::Expected<ScatterLaunch> launch =
      counted       ? planner.integers(updates, *kind, elements)
      : takesPhases ? planner.inPhases(updates, *phases, *elements)
                    : planner.inOrder(ordered);
  if (launch && takesPhases && (!many || mayBeTooMany)) {
    llvm::Expected<ScatterLaunch> few = planner.inOrder(ordered);
    if (!few)
      return few.takeError();
    Value several = h.less(plan.constant(fewUpdates), plan.size(serial));
    Value sum = plan.size(extentOf(updates.info, updates.axes.all()));
    several = h.both(several, h.compare(arith::CmpIPredicate::sle, sum, plan.constant(phases->mostUpdates())));
    launch = launch->orElse(h, several, *few);
  }
  if (!launch)
    return launch.takeError();
  setLaunch(plan, *launch);
  return true;
}
