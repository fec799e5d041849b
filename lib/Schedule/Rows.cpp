//===- Rows.cpp - How a row program runs through its axes ------------------===//

#include "lathe/Schedule/Rows.h"
#include "lathe/Lower/LaneRuns.h"
#include "lathe/Lower/BodySlices.h"
#include "lathe/Lower/ContractionRoles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::schedule;
using lower::AxisSet;
using lower::BodyInfo;
using shape::Expr;

static bool has(AxisSet set, unsigned axis) { return set >> axis & 1; }

static bool isAccess(Operation *op) { return isa<kernel::LoadOp, kernel::StoreOp>(op); }

Type schedule::accessedType(Operation *op) {
  if (auto load = dyn_cast<kernel::LoadOp>(op))
    return load.getResult().getType();
  return cast<kernel::StoreOp>(op).getValue().getType();
}

int64_t schedule::leastElementsCopied(const BodyInfo &info) {
  int64_t bytes = 0;
  if (info.kernel->hasAttr("updated")) // at any place next: it is to stay in a cache (100,000 sums into as many numbers: 1.13 of the time)
    return 0;
  for (Operation *op : info.ops)
    if (isa<kernel::StoreOp>(op))
      bytes = std::max<int64_t>(bytes, accessedType(op).getIntOrFloatBitWidth() / 8);
  return bytes ? leastCopied / bytes : 0;
}

bool schedule::masksRest(const BodyInfo &info, unsigned lane, const Machine &machine) {
  bool bytes = llvm::any_of(info.ops, [&](Operation *op) {
    return isAccess(op) && has(info.domainOf(op), lane) && accessedType(op).getIntOrFloatBitWidth() < 32;
  });
  return machine.maskedMemory && (machine.maskedBytes || !bytes);
}

/// Axes at which the indirect indices of an access vary: such an access is a gather along them.
static AxisSet indirectAxes(Operation *op, const BodyInfo &info) {
  AxisSet set = 0;
  auto indices =
      isa<kernel::LoadOp>(op) ? cast<kernel::LoadOp>(op).getIndices() : cast<kernel::StoreOp>(op).getIndices();
  for (Value v : indices)
    set |= info.axesOf(v);
  return set;
}

AxisSet schedule::parallelAxes(const BodyInfo &info) {
  AxisSet all = lower::allAxes(info), set = all;
  for (Operation *op : info.ops) {
    if (isa<kernel::StoreOp>(op))
      set &= info.domainOf(op);
    if (auto r = dyn_cast<kernel::ReduceOp>(op)) {
      set &= ~info.axesOf(r.getAxes());
      // A reduction to one value is made once per call; any other belongs to its items.
      if (AxisSet axes = info.axesOf(r.getResult()))
        set &= axes;
    }
  }
  return set;
}

/// How often an access runs beside others, about. Beside sums, of which a few numbers are stored for all that is read, an axis of some length counts four times
/// as many powers of two as a short one.
static int runsOf(const BodyInfo &info, Operation *op, bool besideSums) {
  constexpr int64_t someLength = 16;
  constexpr int shortAxis = 1, most = 20;
  int longAxis = besideSums ? 4 : shortAxis, powers = 0;
  for (unsigned axis : lower::axesIn(info, info.domainOf(op)))
    powers += info.extents[axis].constant().value_or(someLength) >= someLength ? longAxis : shortAxis;
  return 1 << std::min(powers, most);
}

/// Accesses that run more often count more.
int schedule::laneScore(const BodyInfo &info, unsigned axis, bool reduces) {
  std::optional<int64_t> extent = info.extents[axis].constant();
  if (extent && *extent < 2)
    return 0;
  bool besideSums = llvm::any_of(info.ops, [](Operation *op) { return isa<kernel::ReduceOp>(op); });
  int score = 0;
  for (Operation *op : info.ops) {
    if (!isAccess(op))
      continue;
    int weight = runsOf(info, op, besideSums);
    if (isa<kernel::StoreOp>(op))
      weight += weight / 2;
    if (!has(info.domainOf(op), axis))
      continue;
    std::optional<Expr::Linear> linear = info.exprOf(op).linearIn(info.axes[axis]);
    if (lower::laneRun(info, op, axis) != lower::LaneRun::None)
      score += weight; // vectors where they can
    else if (has(indirectAxes(op, info), axis) || !linear)
      score -= weight;
    else if (linear->coefficient.isOne())
      score += 2 * weight;
    else if (int64_t step = linear->coefficient.constant().value_or(0);
             isa<kernel::LoadOp>(op) && (step == -1 || (!reduces && step > 1 && step <= 4)))
      score += weight / 2; // whole vectors, of which a shuffle takes some lanes
    else if (!linear->coefficient.isZero())
      score -= weight;
  }
  return extent && *extent < 4 ? std::min(score, 1) : score; // nearly all lanes of a vector would lie idle
}

/// Rows of a few elements, reduced as vectors, leave most lanes idle and are combined across them. Where the rows lie one behind the other, a
/// vector takes one element of each of as many rows instead.
static std::optional<unsigned> laneAcrossRows(const BodyInfo &info, unsigned row, AxisSet parallel, const Machine &machine) {
  std::optional<int64_t> length = info.extents[row].constant();
  if (has(parallel, row) || !length || *length > std::min<int64_t>(widestStride, machine.lanes()))
    return std::nullopt;
  auto runsAlong = [&](unsigned axis) {
    constexpr int64_t fewest = 64;
    if (!has(parallel, axis) || info.extents[axis].constant().value_or(fewest) < fewest)
      return false;
    return llvm::all_of(info.ops, [&](Operation *op) {
      if (!isAccess(op) || !has(info.domainOf(op), axis))
        return true;
      std::optional<int64_t> step = stepAlong(info, op, axis);
      bool predicated = isa<kernel::LoadOp>(op) && cast<kernel::LoadOp>(op).getPredicate();
      return step && *step >= 0 && *step <= widestStride && !has(indirectAxes(op, info), axis) && !predicated;
    });
  };
  for (unsigned axis = info.axes.size(); axis-- > 0;)
    if (runsAlong(axis))
      return axis;
  return std::nullopt;
}

/// Where nearly every access gathers (a binary search), lanes gain nothing by them and still compute side by side, if what is stored lies so.
static std::optional<unsigned> laneOfGathers(const BodyInfo &info, AxisSet parallel, const Machine &machine) {
  unsigned gathers = 0, weight = 0;
  for (Operation *op : info.ops)
    (isa<kernel::LoadOp>(op) ? gathers : weight) += isa<kernel::LoadOp>(op) ? 1 : weightOf(op);
  if (weight < 4 * gathers)
    return std::nullopt;
  for (unsigned axis = info.axes.size(); axis-- > 0;) {
    int64_t extent = info.extents[axis].constant().value_or(machine.lanes());
    bool sideBySide = llvm::all_of(info.ops, [&](Operation *op) {
      if (!isa<kernel::StoreOp>(op))
        return true;
      std::optional<Expr::Linear> linear = info.exprOf(op).linearIn(info.axes[axis]);
      return linear && linear->coefficient.isOne() && !has(indirectAxes(op, info), axis);
    });
    if (has(parallel, axis) && sideBySide && extent >= int64_t(machine.lanes()))
      return axis;
  }
  return std::nullopt;
}

static std::optional<unsigned> chooseLane(const BodyInfo &info, AxisSet parallel, const Machine &machine) {
  std::optional<unsigned> best;
  int bestScore = 0;
  bool reduces = llvm::any_of(info.ops, [](Operation *op) { return isa<kernel::ReduceOp>(op); });
  for (unsigned axis = 0; axis < info.axes.size(); ++axis) {
    int score = laneScore(info, axis, reduces);
    if (score > 0 && score >= bestScore) {
      best = axis;
      bestScore = score;
    }
  }
  if (!best)
    best = laneOfGathers(info, parallel, machine);
  std::optional<unsigned> across = best ? laneAcrossRows(info, *best, parallel, machine) : std::nullopt;
  return across ? across : best;
}

/// The parallel axes as the result's elements lie, outermost first; those of the kernel's own order where it is no whole tensor that is stored. Threads have ranges of
/// items: along an inner axis of the result they would meet in a line of the cache in each of its rows (an enlargement that computes one column of all images after the
/// other: 195 us by one thread, 430 by two).
static std::vector<unsigned> orderOfResult(const BodyInfo &info, AxisSet parallel) {
  std::vector<unsigned> own, order;
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (has(parallel, a))
      own.push_back(a);
  auto store = llvm::find_if(info.ops, [](Operation *op) { return isa<kernel::StoreOp>(op); });
  if (store == info.ops.end())
    return own;
  Expr step(1);
  while (order.size() < own.size()) {
    auto next = llvm::find_if(own, [&](unsigned a) {
      std::optional<Expr::Linear> linear = info.exprOf(*store).linearIn(info.axes[a]);
      return !llvm::is_contained(order, a) && linear && linear->coefficient == step;
    });
    if (next == own.end())
      return own;
    order.insert(order.begin(), *next);
    step = step * info.extents[*next];
  }
  return order;
}

/// Loop order: parallel axes first, and a reduction's own axes before those that it reduces where that is possible for
/// all; otherwise the order of the result, or the kernel's. The lane axis goes innermost among its equals.
static std::vector<unsigned> loopOrder(const BodyInfo &info, AxisSet parallel, std::optional<unsigned> lane) {
  unsigned n = info.axes.size();
  std::vector<AxisSet> before(n, 0);
  for (Operation *op : info.ops)
    if (auto r = dyn_cast<kernel::ReduceOp>(op))
      for (unsigned a = 0; a < n; ++a)
        if (has(info.axesOf(r.getAxes()), a))
          before[a] |= info.axesOf(r.getResult());
  for (unsigned a = 0; a < n; ++a)
    if (!has(parallel, a))
      before[a] |= parallel;
  std::vector<unsigned> order, wanted = orderOfResult(info, parallel);
  for (unsigned a = 0; a < n; ++a)
    if (!has(parallel, a))
      wanted.push_back(a);
  AxisSet done = 0;
  while (order.size() < n) {
    std::optional<unsigned> pick;
    for (unsigned a : wanted)
      if (!has(done, a) && !(before[a] & ~done & ~(AxisSet(1) << a)) && (!pick || pick == lane))
        pick = a;
    if (!pick) // contradicting reductions: some are recomputed, in whatever order
      for (unsigned a : wanted)
        if (!pick && !has(done, a))
          pick = a;
    order.push_back(*pick);
    done |= AxisSet(1) << *pick;
  }
  return order;
}

/// How many points of the axis are worked on together: `asked`, else what divides a known extent; 1: no more than one.
static int64_t jamFactorOf(const BodyInfo &info, unsigned axis, int64_t asked, int64_t most, const shape::Facts &facts) {
  std::optional<int64_t> extent = info.extents[axis].constant();
  int64_t factor = asked > 0 ? asked : most;
  if (extent)
    while (factor > 1 && *extent % factor)
      --factor;
  else if (asked <= 1 || !facts.provablyDivides(Expr(asked), info.extents[axis]))
    return 1;
  return factor;
}

/// What points that differ in this axis share: loads that run along the lanes and not along the axis, which are the input of a convolution by
/// output channels.
static int sharedLoads(const BodyInfo &info, unsigned lane, unsigned axis) {
  return llvm::count_if(info.ops, [&](Operation *op) {
    AxisSet domain = info.domainOf(op);
    return isa<kernel::LoadOp>(op) && llvm::popcount(domain) > 1 && has(domain, lane) && !has(domain, axis);
  });
}

/// The same of a kernel that reduces nothing: places and weights of a sampled image are the same in all its channels. Nothing where what the
/// points have of their own is more, so that sharing gains little.
static int sharedWork(const BodyInfo &info, unsigned lane, unsigned axis) {
  constexpr int least = 16;
  int shared = 0, own = 0;
  for (Operation *op : info.ops)
    if (has(info.domainOf(op), lane))
      (has(info.domainOf(op), axis) ? own : shared) += weightOf(op) + (isAccess(op) ? 1 : 0);
  return shared >= least && 2 * shared >= own ? shared : 0;
}

/// The parallel axis and the number of its points to work on together.
static void chooseJam(const BodyInfo &info, const Machine &machine, int64_t asked, bool reduces, const shape::Facts &facts,
                      RowSchedule &s) {
  int best = 0;
  for (Operation *op : info.ops)
    if (auto r = dyn_cast<kernel::ReduceOp>(op); r && has(info.axesOf(r.getAxes()), *s.lane))
      return;
  int64_t most = machine.registers >= 32 && (reduces || asked > 0) ? 8 : 4;
  for (unsigned axis : s.itemAxes) {
    int64_t factor = jamFactorOf(info, axis, asked, most, facts);
    int shared = reduces ? sharedLoads(info, *s.lane, axis) : sharedWork(info, *s.lane, axis);
    if (factor > 1 && shared > best) {
      best = shared;
      s.jam = axis;
      s.jamFactor = factor;
    }
  }
  if (s.jam)
    s.unroll = std::min(s.unroll, reduces ? 2u : 1u);
}

/// All places of the short axis together.
static void interleave(const Interleaving &i, bool reduces, RowSchedule &s) {
  s.interleaves = true;
  s.jam = i.inner;
  s.jamFactor = i.places;
  s.unroll = std::min(s.unroll, reduces ? 2u : 1u);
}

std::optional<int64_t> schedule::stepAlong(const BodyInfo &info, Operation *access, unsigned axis) {
  std::optional<Expr::Linear> linear = info.exprOf(access).linearIn(info.axes[axis]);
  return linear ? linear->coefficient.constant() : std::nullopt;
}

bool schedule::isFunction(Operation *op) {
  return op->getName().getDialectNamespace() == "math" && !isa<math::SqrtOp, math::AbsFOp, math::FloorOp, math::CeilOp, math::FmaOp>(op);
}

unsigned schedule::weightOf(Operation *op) {
  if (isa<arith::ConstantOp>(op))
    return 0;
  if (op->getName().getDialectNamespace() == "math")
    return isFunction(op) ? 16 : 2;
  return isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>(op) ? 4 : 1;
}

/// Machines that mask bytes have registers for masks. Where a mask is a vector (AVX2), its part for each of a stride's vectors costs more than
/// ends that gather: twice the time of a pool with stride 2.
bool schedule::masksElements(const Machine &machine, Type type) {
  return machine.maskedMemory && machine.maskedBytes && type.getIntOrFloatBitWidth() >= 8;
}

bool schedule::readsWithGaps(const BodyInfo &info, unsigned lane, const Machine &machine) {
  return llvm::any_of(info.ops, [&](Operation *op) {
    if (!isa<kernel::LoadOp>(op) || !has(info.domainOf(op), lane))
      return false;
    std::optional<int64_t> step = stepAlong(info, op, lane);
    int64_t widest = masksElements(machine, accessedType(op)) && !has(indirectAxes(op, info), lane) ? widestMaskedStride : 1;
    bool isBackwards = step == -1 && widest > 1; // a vector that is turned around
    return !isBackwards && (!step || *step < 0 || *step > widest);
  });
}

/// Lanes of bytes or halves where nothing along the lane is wider: what they are for f32 leaves most of a register empty.
static unsigned narrowLanes(const BodyInfo &info, unsigned lane, const Machine &machine) {
  unsigned widest = 8;
  for (Operation *op : info.ops) {
    if (!has(info.domainOf(op), lane))
      continue;
    bool isPlace = isa<kernel::IndexOp>(op) && llvm::all_of(op->getUsers(), [](Operation *user) { return isa<arith::CmpIOp>(user); });
    Type type = isAccess(op) ? accessedType(op) : op->getResult(0).getType();
    // Numbers become halves through f32, which exponentials of halves are computed in: twice the lanes took 1.44 of the time (Zen 5).
    bool isWide = isa<arith::SIToFPOp, arith::UIToFPOp>(op) || (isa<math::ExpOp, math::Exp2Op>(op) && machine.registers >= 32);
    if (!isPlace)
      widest = std::max(widest, isWide ? 32 : type.getIntOrFloatBitWidth());
  }
  return machine.vectorBytes * 8 / std::min(widest, 32u);
}

/// Whether what lies along the lanes lies side by side, and needs no shuffles: of bytes these stay within sixteen.
static bool needsNoShuffles(const BodyInfo &info, unsigned lane, const Machine &machine) {
  return !interleavingOf(info, machine) && llvm::all_of(info.ops, [&](Operation *op) {
    if (!isAccess(op) || !has(info.domainOf(op), lane))
      return true;
    std::optional<int64_t> step = stepAlong(info, op, lane);
    return step && (*step == 0 || *step == 1);
  });
}

/// Rows of windows in which not even one whole vector fits are left to shorter ones, where what is predicated gathers.
static unsigned widthFor(const BodyInfo &info, unsigned lane, unsigned width, const Machine &machine) {
  bool isLoop = kernel::GenericOp(info.kernel).getKernelClass() == kernel::KernelClass::Loop;
  if (isLoop && (!machine.maskedBytes || needsNoShuffles(info, lane, machine)))
    width = narrowLanes(info, lane, machine);
  std::optional<int64_t> extent = info.extents[lane].constant();
  // A gather takes as long however many of its lanes are used.
  bool gathers = llvm::any_of(info.ops, [&](Operation *op) { return isa<kernel::LoadOp>(op) && has(indirectAxes(op, info), lane); });
  auto narrowFrom = [&](int64_t lanes) {
    while (width > 4 && int64_t(width) >= lanes)
      width /= 2;
  };
  if (extent && gathers)
    narrowFrom(2 * *extent);
  if (masksRest(info, lane, machine) && !readsWithGaps(info, lane, machine))
    return width;
  auto predicated = llvm::count_if(info.ops, [](Operation *op) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    return load && load.getPredicate();
  });
  if (extent && predicated > 1)
    narrowFrom(*extent);
  return width;
}

/// What a row program's lane loop works on.
struct LaneWork {
  unsigned weight = 0, inSums = 0; ///< of a vector; of what is done for each element of a sum
  bool reduces = false, wide = false;
};

static LaneWork workOf(const BodyInfo &info, unsigned lane) {
  LaneWork w;
  AxisSet sequential = ~parallelAxes(info);
  for (Operation *op : info.ops) {
    // What is the same in all lanes is no vector: the more of them go together, the less often it is computed.
    if (!has(info.domainOf(op), lane) && !isa<kernel::ReduceOp>(op))
      continue;
    w.weight += weightOf(op);
    if (isa<kernel::ReduceOp>(op) || info.domainOf(op) & sequential)
      w.inSums += weightOf(op);
    w.reduces |= isa<kernel::ReduceOp>(op);
    w.wide |= isAccess(op) && has(info.domainOf(op), lane) && accessedType(op).getIntOrFloatBitWidth() > 32;
  }
  return w;
}

/// Rows of many registers' worth of values are walked in memory.
constexpr unsigned heaviestPersistent = 120;

/// Rows that stay in registers.
static llvm::Error choosePersistence(const BodyInfo &info, const LaneWork &work, RowsAttr asked,
                                     const shape::Facts &facts, RowSchedule &s) {
  const Expr &row = info.extents[*s.lane];
  std::optional<int64_t> extent = row.constant();
  int64_t vectors = asked ? asked.getPersist() : -1, most = vectors < 0 ? (work.wide ? 4 : 8) : vectors,
          width = s.width;
  if (extent && vectors > 0 && *extent > vectors * width)
    return llvm::createStringError("persist = " + std::to_string(vectors) + ": rows have " + row.str() +
                                   " elements, more than " + std::to_string(vectors) + " vectors of " +
                                   std::to_string(width));
  if (extent && *extent > 0 && *extent <= most * width && (vectors > 0 || work.weight <= heaviestPersistent))
    s.persist = *extent;
  if (extent || vectors <= 0)
    return llvm::Error::success();
  if (!s.maskedRest)
    return llvm::createStringError(
        "persist: rows of open length end under masks, which the machine has not for these types");
  if (!facts.provablyLessEqual(row, Expr(vectors * width)))
    return llvm::createStringError("persist = " + std::to_string(vectors) + ": the condition does not say that " +
                                   row.str() + " <= " + std::to_string(vectors * width));
  s.persistVectors = vectors;
  while (s.fullVectors < vectors && facts.provablyLessEqual(Expr((s.fullVectors + 1) * width), row))
    ++s.fullVectors;
  return llvm::Error::success();
}

/// Rows of one vector are little beside what an item begins with: those along the innermost axis are one item where enough others remain for
/// threads.
static void joinShortRows(const BodyInfo &info, const LaneWork &work, RowSchedule &s) {
  constexpr int64_t fewestItems = 16;
  int64_t length = info.extents[*s.lane].constant().value_or(INT64_MAX), items = 1;
  if (!s.laneIsParallel || work.reduces || s.jam || length > int64_t(s.width) || s.itemAxes.size() < 2)
    return;
  for (unsigned a : ArrayRef(s.itemAxes).drop_back())
    items *= info.extents[a].constant().value_or(1);
  if (items >= fewestItems)
    s.itemAxes.pop_back();
}

llvm::Expected<RowSchedule> schedule::scheduleRows(const BodyInfo &info, const Machine &machine, RowsAttr asked,
                                                   const shape::Facts &facts) {
  RowSchedule s;
  AxisSet parallel = parallelAxes(info);
  std::optional<Interleaving> interleaving = interleavingOf(info, machine);
  s.lane = interleaving ? interleaving->lane : chooseLane(info, parallel, machine);
  s.laneIsParallel = s.lane && has(parallel, *s.lane);
  s.order = loopOrder(info, parallel, s.lane);
  for (unsigned a : s.order)
    if (has(parallel, a) && a != s.lane)
      s.itemAxes.push_back(a);
  if (!s.lane)
    return s;
  s.width = machine.lanes();
  LaneWork work = workOf(info, *s.lane);
  if (s.laneIsParallel && !work.reduces)
    s.width = widthFor(info, *s.lane, s.width, machine);
  s.unroll = work.weight <= 48 ? 4 : work.weight <= 120 ? 2 : 1;
  // Down the columns of a matrix each row is another page: what is read of it should be worth that.
  if (s.laneIsParallel && work.reduces && s.unroll == 4 && work.inSums <= lightestSum)
    s.unroll = lightSumUnroll;
  s.maskedRest = masksRest(info, *s.lane, machine);
  std::optional<int64_t> extent = info.extents[*s.lane].constant();
  if (!s.laneIsParallel && work.reduces && work.weight <= lightestSum && extent.value_or(0) >= longLightSum * s.width)
    s.unroll = lightSumUnroll;
  if (extent)
    s.unroll = std::clamp<int64_t>(*extent / s.width, 1, s.unroll);
  // An exponential has a dozen constants. Among sixteen registers one vector finds place beside them; of two, values are stored away in each
  // trip. Longer functions want several all the same: their steps wait for one another. Behind a sum for each lane the constants are none of
  // what the sum's loop holds, which wants several vectors for each factor that it spreads.
  bool behindSums = s.laneIsParallel && work.reduces;
  s.exponentialUnroll = machine.registers < 32 && !behindSums ? 1 : s.unroll;
  if (asked && asked.getUnroll() > 0)
    s.unroll = s.exponentialUnroll = asked.getUnroll();
  s.wholeTrips = !extent && !s.laneIsParallel && facts.provablyDivides(Expr(int64_t(s.width) * s.unroll), info.extents[*s.lane]);
  int64_t jam = asked ? asked.getJam() : -1;
  if (interleaving)
    interleave(*interleaving, work.reduces, s);
  else if (s.laneIsParallel && work.weight <= heaviestJammed && jam != 1)
    chooseJam(info, machine, jam, work.reduces, facts, s);
  if (s.laneIsParallel) {
    // A short sum at the places of a short axis is little beside what an item begins with.
    constexpr int64_t tripsTogether = 4;
    int64_t block = work.reduces ? int64_t(s.width) * s.unroll * (interleaving ? tripsTogether : 1) : 4096;
    s.laneBlock = extent && *extent <= block ? 0 : block;
    joinShortRows(info, work, s);
  } else if (llvm::Error e = choosePersistence(info, work, asked, facts, s)) {
    return std::move(e);
  }
  return s;
}
