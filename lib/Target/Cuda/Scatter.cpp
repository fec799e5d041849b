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
#include "Combine.h"
#include "RowSchedule.h"
#include "ScatterPhases.h"
#include "lathe/Dialect/Lathe/Lathe.h"
#include "lathe/Lower/ScatterUpdates.h"
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
/// Blocks on a multiprocessor of a launch that fills the device, and updates of a thread of it that are in flight
/// together.
constexpr int64_t blocksPerProcessor = 8, ahead = 8;

/// A block has words of its own for up to so many elements, from so many updates on.
constexpr int64_t mostPrivate = 1024, leastForPrivate = 1 << 14;

/// Stores become atomic updates.
class AtomicHooks : public DeviceHooks {
public:
  AtomicHooks(const lower::BodyInfo &info, Combiner kind) : DeviceHooks(info), kind(kind) {}
  void store(OpBuilder &b, Location loc, const lower::Access &a, Value value) override;

private:
  Combiner kind;
};

/// Words in a block's shared memory, one for each element; updates are added to them, or counted.
struct PrivateWords {
  Value shared;
  Type word;
  int64_t elements;
  bool counts;
};

class PrivateHooks : public DeviceHooks {
public:
  PrivateHooks(const lower::BodyInfo &info, PrivateWords words, Value result)
      : DeviceHooks(info), words(words), result(result) {}
  void store(OpBuilder &b, Location loc, const lower::Access &a, Value value) override;

private:
  PrivateWords words;
  Value result;
};

class ScatterEmitter {
public:
  ScatterEmitter(KernelFrame &frame, lower::ScatterUpdates updates, const lower::ScatterAxes &axes,
                 lower::EmitHooks &hooks)
      : frame(frame), d(frame.d), info(frame.info), updates(updates), axes(axes),
        base(info, d.b, d.loc, frame.sizes, frame.refs, hooks) {}
  /// A thread for each update; its number, in the order of the updates, goes to `started`.
  void emitEach(llvm::function_ref<void(Value)> started = [](Value) {});
  void emitInOrder(const std::optional<lower::SharedIndex> &shared, const Expr &parts);
  /// As many threads as there are, each of which takes some updates; the largest of `count` numbers that `find` makes
  /// of an update's value, where it counts.
  Values emitRange(unsigned count, llvm::function_ref<Values(Value, Value)> find);
  /// The same threads; what a block's words hold behind the last of them goes to `flush`, by element.
  void emitPrivate(const PrivateWords &words, llvm::function_ref<void(Value, Value)> flush);
  const std::string &error() const { return base.error(); }

private:
  void bind(BodyEmitter &point, lower::AxisSet set, Value index);
  void storeOne(BodyEmitter &point, Value only = {});

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

/// Whether updates of integers may come in any order, one at a time.
static bool isAtomic(Combiner kind, Type element) {
  return (element.isInteger(32) || element.isInteger(64)) && kind != Combiner::LogAddExp;
}

/// Where no instruction combines: until nobody else has written in between.
static void exchangeUntilDone(DeviceBuilder &d, Combiner kind, Value pointer, Value value) {
  Type type = value.getType();
  Value old = d.load(type, pointer, type.getIntOrFloatBitWidth() / 8);
  auto attempt = [&](OpBuilder &b, Location loc, ValueRange carried) {
    DeviceBuilder in(b, loc);
    auto order = LLVM::AtomicOrdering::monotonic;
    Value exchanged = b.create<LLVM::AtomicCmpXchgOp>(loc, pointer, carried[0], combine(in, kind, carried[0], value), order, order);
    Value found = b.create<LLVM::ExtractValueOp>(loc, exchanged, 0), done = b.create<LLVM::ExtractValueOp>(loc, exchanged, 1);
    b.create<scf::ConditionOp>(loc, in.bitXor(done, in.i1(true)), found);
  };
  auto again = [](OpBuilder &b, Location loc, ValueRange found) { b.create<scf::YieldOp>(loc, found); };
  d.b.create<scf::WhileOp>(d.loc, TypeRange{type}, ValueRange{old}, attempt, again);
}

void AtomicHooks::store(OpBuilder &b, Location loc, const lower::Access &a, Value value) {
  DeviceBuilder d(b, loc);
  if (std::optional<LLVM::AtomicBinOp> op = atomicOf(kind, value.getType()))
    atomicUpdate(d, *op, a.pointer, value);
  else
    exchangeUntilDone(d, kind, a.pointer, value);
}

void PrivateHooks::store(OpBuilder &b, Location loc, const lower::Access &a, Value value) {
  DeviceBuilder d(b, loc);
  Value index = indexOfElement(d, a.pointer, result, value.getType());
  atomicUpdate(d, LLVM::AtomicBinOp::add, d.at(words.shared, d.narrow(index), words.word), words.counts ? d.i32(1) : value);
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

void ScatterEmitter::storeOne(BodyEmitter &point, Value only) {
  for (Value v : updates.store.getIndices())
    point.emit(v);
  Value stored = only;
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

void ScatterEmitter::emitEach(llvm::function_ref<void(Value)> started) {
  Value thread = threadOf(d), mine = d.less(thread, frame.size(extentOf(info, axes.all())));
  d.when(mine, [&] {
    started(thread);
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

/// The last update stands for what is past it: the largest of numbers is the same.
Values ScatterEmitter::emitRange(unsigned count, llvm::function_ref<Values(Value, Value)> find) {
  Value all = frame.size(extentOf(info, axes.all())), last = d.sub(all, d.i64(1));
  Value threads = d.mul(d.wide(d.gridSize()), threadsPerBlock);
  return d.loop(threadOf(d), all, d.mul(threads, ahead), Values(count, d.i32(0)), [&](Value first, ValueRange carried) {
    Values largest(carried), values, counts;
    for (int64_t i = 0; i < ahead; ++i) {
      BodyEmitter point = base;
      bind(point, axes.all(), d.minU(d.add(first, d.mul(threads, i)), last));
      values.push_back(point.emit(updates.store.getValue()));
      counts.push_back(updates.predicate ? point.emit(updates.predicate) : Value());
    }
    for (auto [value, one] : llvm::zip(values, counts))
      for (auto [old, found] : llvm::zip(largest, find(value, one)))
        old = d.b.create<arith::MaxUIOp>(d.loc, old, found);
    return largest;
  });
}

void ScatterEmitter::emitPrivate(const PrivateWords &w, llvm::function_ref<void(Value, Value)> flush) {
  unsigned bytes = w.word.getIntOrFloatBitWidth() / 8;
  auto eachElement = [&](llvm::function_ref<void(Value)> f) {
    d.loop(d.threadId(), d.i32(w.elements), d.i32(threadsPerBlock), f);
  };
  eachElement([&](Value i) { d.store(d.constant(w.word, 0), d.at(w.shared, i, w.word), bytes); });
  d.barrier();
  Value all = frame.size(extentOf(info, axes.all())), last = d.sub(all, d.i64(1));
  Value threads = d.mul(d.wide(d.gridSize()), threadsPerBlock);
  d.loop(threadOf(d), all, d.mul(threads, ahead), [&](Value first) {
    std::vector<std::pair<BodyEmitter, Value>> points; // what they read is in flight together
    for (int64_t i = 0; i < ahead; ++i) {
      Value number = d.add(first, d.mul(threads, i));
      points.emplace_back(base, d.less(number, all));
      BodyEmitter &point = points.back().first;
      bind(point, axes.all(), d.minU(number, last));
      for (Value v : updates.store.getIndices())
        point.emit(v);
      point.emit(updates.store.getValue());
      if (updates.predicate)
        point.emit(updates.predicate);
    }
    for (auto &[point, exists] : points)
      storeOne(point, exists);
  });
  d.barrier();
  eachElement([&](Value i) {
    Value sum = d.load(w.word, d.at(w.shared, i, w.word), bytes);
    d.when(d.compare(arith::CmpIPredicate::ne, sum, d.constant(w.word, 0)), [&] { flush(d.wide(i), sum); });
  });
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

namespace {

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
  llvm::Expected<ScatterLaunch> privately(Isolated &s, int64_t elements);
  llvm::Expected<ScatterLaunch> inOrder(Isolated &s);
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

/// Sums of integers.
llvm::Expected<ScatterLaunch> ScatterPlanner::privately(Isolated &s, int64_t elements) {
  ScatterLaunch launch{{{plan.constant(g.entries.size()), gridOf(s, {ScatterPhase::Private, {}}, Expr(elements))}}, plan.constant(0)};
  KernelFrame frame(s.info, g.device, "scatter_in_blocks", threadsPerBlock, g.sm, 0, g.dependent());
  Value result = frame.refs[cast<BlockArgument>(s.updates.store.getRef()).getArgNumber()];
  Type word = s.updates.store.getValue().getType();
  PrivateWords words{frame.sharedArray("words", word, elements), word, elements, /*counts=*/false};
  PrivateHooks hooks(s.info, words, result);
  DeviceBuilder &d = frame.d;
  auto flush = [&](Value i, Value sum) { atomicUpdate(d, LLVM::AtomicBinOp::add, d.at(result, i, word), sum); };
  if (llvm::Error e = add(s, "scatter_in_blocks", hooks, frame, [&](ScatterEmitter &e) { e.emitPrivate(words, flush); }))
    return std::move(e);
  return launch;
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

Value ScatterPlanner::gridOf(Isolated &s, const ScatterPhase &phase, const Expr &elements) {
  Expr updates = extentOf(s.info, s.axes.all());
  if (phase.per == ScatterPhase::Update)
    return blocksFor(updates);
  if (phase.per == ScatterPhase::Element)
    return blocksFor(elements);
  DeviceBuilder &h = plan.d;
  Value filled = h.mul(plan.processors(), blocksPerProcessor);
  bool byUpdates = phase.per == ScatterPhase::Range || phase.per == ScatterPhase::Private;
  Value wanted = blocksFor(byUpdates ? Expr::ceildiv(updates, ahead) : elements);
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
    Value thread = threadOf(d);
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
                         *elements.constant(), /*counts=*/true};
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
  Expr serial = extentOf(ordered.info, ordered.axes.serial);
  std::optional<int64_t> many = serial.constant();
  bool takesPhases =
      phases && elements && many.value_or(INT64_MAX) > fewUpdates && all.value_or(0) <= phases->mostUpdates();
  bool mayBeTooMany = takesPhases && !all && phases->mostUpdates() != INT64_MAX;
  bool counted = kind && isAtomic(*kind, element);
  llvm::Expected<ScatterLaunch> launch =
      counted && *kind == Combiner::Add && meets ? planner.privately(updates, *elements->constant())
      : counted                                  ? planner.atomic(updates, *kind)
      : takesPhases                              ? planner.inPhases(updates, *phases, *elements)
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
  plan.set(LATHE_CUDA_ENTRY, launch->steps[0].first);
  plan.set(LATHE_CUDA_GRID, launch->steps[0].second);
  plan.set(LATHE_CUDA_GRID + 1, 1);
  plan.set(LATHE_CUDA_GRID + 2, 1);
  plan.set(LATHE_CUDA_BLOCK, int64_t(threadsPerBlock));
  plan.set(LATHE_CUDA_SCRATCH, launch->scratch);
  for (auto [entry, grid] : llvm::drop_begin(launch->steps))
    plan.follow(entry, grid, plan.constant(threadsPerBlock));
  return true;
}
