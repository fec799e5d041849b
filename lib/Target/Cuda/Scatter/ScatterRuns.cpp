//===- ScatterRuns.cpp - Sums of updates in the order of their places ------===//
//
// Where whole rows are added at computed places, a kernel ahead has sorted the numbers of the updates by their places
// (target/Passes: OrderScatters). The list is cut into stretches. A thread has a stretch and a column; it adds up, in
// order, the updates of one element after the other, each a run of the list. The first and the last run of a stretch
// may go on in its neighbours: their sums wait in scratch memory for a second launch, in which the thread of the stretch
// where such a run begins adds up its parts from left to right. Every other run is complete and goes to its element at
// once. So each element is written by one thread, and what is added in which order follows from sizes and device alone.
//
//===----------------------------------------------------------------------===//

#include "ScatterRuns.h"
#include "ScatterEmitter.h"
#include "ScatterPhases.h"
#include "lathe/Lower/ContractionRoles.h"
#include "lathe/Lower/RowLevels.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using shape::Expr;

/// Updates of a thread that are in flight together, and the fewest of a stretch.
constexpr int64_t ahead = 8, leastUpdates = 16;
/// Blocks that a multiprocessor has registers for; a launch is as many as are there at once.
constexpr int64_t blocksOfProcessor = 8;
/// In place of an element: there is none.
constexpr int64_t noElement = -1;

std::optional<unsigned> cuda::orderOperandOf(kernel::GenericOp kernel) {
  auto order = kernel->getAttrOfType<IntegerAttr>("order");
  return order ? std::optional<unsigned>(order.getInt()) : std::nullopt;
}

namespace {

/// A store tells where it would go, and stores nothing.
class ToldHooks : public DeviceHooks {
public:
  using DeviceHooks::DeviceHooks;
  void store(OpBuilder &, Location, const lower::Access &a, Value v) override {
    pointer = a.pointer;
    value = v;
  }
  Value pointer, value;
};

/// A run of a thread, as it stands: its element (i64), what is there, the sum so far, and whether it is the stretch's first run (i1).
struct Run {
  Value element, old, sum, isFirst;
  Values values() const { return {element, old, sum, isFirst}; }
  static Run of(ValueRange v) { return {v[0], v[1], v[2], v[3]}; }
};

class RunEmitter {
public:
  RunEmitter(KernelFrame &frame, const lower::ScatterUpdates &updates, const lower::ScatterAxes &axes, unsigned order)
      : frame(frame), d(frame.d), info(frame.info), updates(updates), axes(axes), order(order), hooks(frame.info),
        base(info, d.b, d.loc, frame.sizes, frame.refs, hooks) {}
  void emitSums();
  void emitJoins();
  std::string error() const { return base.error(); }
  static Type sumType(Type element) { return element.isF64() ? element : Float32Type::get(element.getContext()); }

private:
  struct Update {
    Value element, old, value, counts;
  };
  void prepare();
  Update updateAt(const BodyEmitter &column, Value place, Value end);
  Run add(const Run &run, const Update &u);
  void finish(const Run &run);
  /// Of the stretch: where its first and its last run go, and what they are so far. A stretch of one run has no first one.
  Value elementAt(bool isLast, Value thread) { return d.at(d.byteAt(frame.scratch(), d.mul(threads, isLast ? 8 : 0)), thread, d.i64Type()); }
  Value sumAt(bool isLast, Value thread) {
    Value sums = d.byteAt(frame.scratch(), d.mul(threads, 16));
    return d.at(sums, d.add(thread, isLast ? threads : d.i64(0)), sum);
  }
  Value loadElement(bool isLast, Value thread) { return d.load(d.i64Type(), elementAt(isLast, thread), 8); }
  Value loadSum(bool isLast, Value thread) { return d.load(sum, sumAt(isLast, thread), bytes(sum)); }
  void keep(bool isLast, Value index, Value v);
  Value load(Value index) { return d.load(element, d.at(result, index, element), bytes(element)); }
  void storeSum(Value index, Value old, Value v);
  Value isSame(Value x, Value y) { return d.equal(x, y); }
  Value differs(Value x, Value y) { return d.compare(arith::CmpIPredicate::ne, x, y); }
  static unsigned bytes(Type t) { return t.getIntOrFloatBitWidth() / 8; }

  KernelFrame &frame;
  DeviceBuilder &d;
  const lower::BodyInfo &info;
  lower::ScatterUpdates updates;
  lower::ScatterAxes axes;
  unsigned order;
  ToldHooks hooks;
  BodyEmitter base;
  Type element, sum;
  Value result, threads, thread, columns, stretches; ///< i64
};

} // namespace

void RunEmitter::prepare() {
  element = updates.store.getValue().getType();
  sum = sumType(element);
  result = frame.refs[cast<BlockArgument>(updates.store.getRef()).getArgNumber()];
  threads = d.mul(d.wide(d.gridSize()), scatterThreads);
  thread = scatterThread(d);
  columns = frame.size(extentOf(info, axes.own));
  stretches = d.div(threads, columns);
}

void RunEmitter::storeSum(Value index, Value old, Value v) {
  d.store(d.convertF(d.addF(d.convertF(old, sum), v), element), d.at(result, index, element), bytes(element));
}

void RunEmitter::keep(bool isLast, Value index, Value v) {
  d.store(index, elementAt(isLast, thread), 8);
  d.store(v, sumAt(isLast, thread), bytes(sum));
}

//===----------------------------------------------------------------------===//
// The sums
//===----------------------------------------------------------------------===//

/// The update that stands there in the list; past the end one that does not count. What its element holds is asked for in time: nobody
/// writes it before the run is complete, and where it is several threads' run nobody looks at what was found.
RunEmitter::Update RunEmitter::updateAt(const BodyEmitter &column, Value place, Value end) {
  Value at = d.minU(place, d.sub(end, d.i64(1)));
  BodyEmitter point = column;
  bindAxes(point, frame, lower::axesIn(info, axes.serial), d.load(d.i64Type(), d.at(frame.refs[order], at, d.i64Type()), 8));
  Value counts = d.less(place, end);
  if (updates.predicate)
    counts = d.both(counts, point.emit(updates.predicate));
  point.emitStore(updates.store);
  Value index = indexOfElement(d, hooks.pointer, result, element);
  return {index, load(index), d.convertF(hooks.value, sum), counts};
}

/// A run is done: the first one is kept, the others are complete.
void RunEmitter::finish(const Run &run) {
  d.branch(run.isFirst, [&] { keep(/*isLast=*/false, run.element, run.sum); }, [&] { storeSum(run.element, run.old, run.sum); });
}

Run RunEmitter::add(const Run &run, const Update &u) {
  Value same = isSame(u.element, run.element), exists = differs(run.element, d.i64(noElement));
  Value ends = d.both(d.both(u.counts, exists), d.bitXor(same, d.i1(true)));
  d.when(ends, [&] { finish(run); });
  Value next = d.select(same, d.addF(run.sum, u.value), u.value);
  auto pick = [&](Value x, Value y) { return d.select(u.counts, x, y); };
  return {pick(u.element, run.element), pick(u.old, run.old), pick(next, run.sum), d.both(run.isFirst, d.bitXor(ends, d.i1(true)))};
}

void RunEmitter::emitSums() {
  prepare();
  Value count = frame.size(extentOf(info, axes.serial)), stretch = d.div(thread, columns);
  d.when(d.less(stretch, stretches), [&] {
    BodyEmitter column = base;
    bindAxes(column, frame, lower::axesIn(info, axes.own), d.rem(thread, columns)); // neighbours in a warp read and write neighbours in memory
    Value length = d.ceilDiv(count, stretches), from = d.minU(d.mul(stretch, length), count), to = d.minU(d.add(from, length), count);
    Run none{d.i64(noElement), d.real(element, 0), d.real(sum, 0), d.i1(true)};
    Values end = d.loop(from, to, d.i64(ahead), none.values(), [&](Value first, ValueRange now) {
      SmallVector<Update> some;
      for (int64_t i = 0; i < ahead; ++i)
        some.push_back(updateAt(column, d.add(first, i), to));
      Run run = Run::of(now);
      for (const Update &u : some)
        run = add(run, u);
      return run.values();
    });
    Run last = Run::of(end);
    keep(/*isLast=*/true, last.element, last.sum);
    d.when(last.isFirst, [&] { d.store(d.i64(noElement), elementAt(false, thread), 8); });
  });
}

//===----------------------------------------------------------------------===//
// Runs of several stretches
//===----------------------------------------------------------------------===//

/// A thread for each stretch and column adds the first run, where it begins there, and the last one with what follows of it.
void RunEmitter::emitJoins() {
  prepare();
  Value all = d.mul(stretches, columns), none = d.i64(noElement);
  d.when(d.less(thread, all), [&] {
    Value own = loadElement(true, thread), first = loadElement(false, thread), isOne = isSame(first, none);
    Value hasBefore = d.compare(arith::CmpIPredicate::sge, thread, columns), before = d.sub(thread, d.select(hasBefore, columns, d.i64(0)));
    Value previous = d.select(hasBefore, loadElement(true, before), none);
    d.when(d.both(d.bitXor(isOne, d.i1(true)), differs(first, previous)), [&] { storeSum(first, load(first), loadSum(false, thread)); });
    Value begins = d.bitOr(d.bitXor(isOne, d.i1(true)), differs(own, previous));
    d.when(d.both(begins, differs(own, none)), [&] {
      // Several at once are read, and count up to the first stretch in which the run ends or is not.
      Value step = d.mul(columns, ahead), start = d.add(thread, columns);
      Values done = d.loop(start, all, step, Values{loadSum(true, thread), d.i1(true)}, [&](Value at, ValueRange now) {
        Value total = now[0], goesOn = now[1];
        Values firsts, lasts, firstSums, lastSums, inside;
        for (int64_t i = 0; i < ahead; ++i) {
          Value its = d.add(at, d.mul(columns, i)), there = d.both(goesOn, d.less(its, all)), safe = d.select(there, its, thread);
          inside.push_back(there);
          firsts.push_back(loadElement(false, safe));
          lasts.push_back(loadElement(true, safe));
          firstSums.push_back(loadSum(false, safe));
          lastSums.push_back(loadSum(true, safe));
        }
        for (int64_t i = 0; i < ahead; ++i) {
          Value single = isSame(firsts[i], none), part = d.select(single, lastSums[i], firstSums[i]);
          Value isPart = d.both(d.both(goesOn, inside[i]), isSame(d.select(single, lasts[i], firsts[i]), own));
          total = d.select(isPart, d.addF(total, part), total);
          goesOn = d.both(isPart, single);
        }
        return Values{total, goesOn};
      });
      storeSum(own, load(own), done[0]);
    });
  });
}

static llvm::Error addEntry(Generator &g, const lower::BodyInfo &info, const lower::ScatterUpdates &updates, const lower::ScatterAxes &axes,
                            unsigned order, StringRef name, void (RunEmitter::*emit)()) {
  KernelFrame frame(info, g.device, name, scatterThreads, g.sm, 0, g.dependent());
  frame.fitBlocks(blocksOfProcessor);
  RunEmitter emitter(frame, updates, axes, order);
  (emitter.*emit)();
  return g.addEntry(frame, name, emitter.error());
}

llvm::Expected<RunsLaunch> cuda::addScatterRuns(Generator &g, const lower::BodyInfo &info, lower::ScatterUpdates updates,
                                                const lower::ScatterAxes &axes, unsigned order) {
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  auto atLeastOne = [&](Value v) { return h.b.create<arith::MaxSIOp>(h.loc, v, plan.constant(1)).getResult(); };
  Value columns = plan.size(extentOf(info, axes.own)), count = plan.size(extentOf(info, axes.serial));
  Value filled = h.div(h.mul(plan.processors(), blocksOfProcessor * scatterThreads), atLeastOne(columns));
  Value stretches = atLeastOne(h.minU(filled, h.ceilDiv(count, leastUpdates)));
  Value grid = h.ceilDiv(h.mul(stretches, columns), scatterThreads);
  int64_t bytes = 2 * (8 + RunEmitter::sumType(updates.store.getValue().getType()).getIntOrFloatBitWidth() / 8);
  RunsLaunch launch{plan.constant(g.entries.size()), plan.constant(g.entries.size() + 1), grid, h.mul(grid, scatterThreads * bytes)};
  if (llvm::Error e = addEntry(g, info, updates, axes, order, "scatter_runs", &RunEmitter::emitSums))
    return std::move(e);
  if (llvm::Error e = addEntry(g, info, updates, axes, order, "scatter_join_runs", &RunEmitter::emitJoins))
    return std::move(e);
  return launch;
}
