//===- RowSchedule.cpp - How a row program runs through its axes -----------===//

#include "RowSchedule.h"
#include "lathe/Lower/BodySlices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::AxisSet;
using lower::BodyInfo;
using shape::Expr;

static bool has(AxisSet set, unsigned axis) { return set >> axis & 1; }

static bool isAccess(Operation *op) { return isa<kernel::LoadOp, kernel::StoreOp>(op); }

static Type accessedType(Operation *op) {
  if (auto load = dyn_cast<kernel::LoadOp>(op))
    return load.getResult().getType();
  return cast<kernel::StoreOp>(op).getValue().getType();
}

bool cpu::masksRest(const BodyInfo &info, unsigned lane, const Isa &isa) {
  bool bytes = llvm::any_of(info.ops, [&](Operation *op) {
    return isAccess(op) && has(info.domainOf(op), lane) && accessedType(op).getIntOrFloatBitWidth() < 32;
  });
  return isa.maskedMemory && (isa.maskedBytes || !bytes);
}

/// Axes at which the indirect indices of an access vary: such an access is a gather along them.
static AxisSet indirectAxes(Operation *op, const BodyInfo &info) {
  AxisSet set = 0;
  auto indices = isa<kernel::LoadOp>(op) ? cast<kernel::LoadOp>(op).getIndices() : cast<kernel::StoreOp>(op).getIndices();
  for (Value v : indices)
    set |= info.axesOf(v);
  return set;
}

/// Axes that every store has and no reduction loses: each of their points is a piece of work on its own.
static AxisSet parallelAxes(const BodyInfo &info) {
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

void cpu::bindItem(VectorBuilder &v, lower::BodyEmitter &point, const BodyInfo &info, ArrayRef<unsigned> axes, Value item) {
  for (unsigned a : llvm::reverse(axes))
    point.bindAxis(info.axes[a], v.takeLast(item, point.emitExpr(info.extents[a])));
}

/// Accesses in more axes run more often and count more.
int cpu::laneScore(const BodyInfo &info, unsigned axis, bool reduces) {
  std::optional<int64_t> extent = info.extents[axis].constant();
  if (extent && *extent < 2)
    return 0;
  int score = 0;
  for (Operation *op : info.ops) {
    if (!isAccess(op))
      continue;
    int weight = 1 << std::min(6, llvm::popcount(info.domainOf(op)));
    if (isa<kernel::StoreOp>(op))
      weight += weight / 2;
    if (!has(info.domainOf(op), axis))
      continue;
    std::optional<Expr::Linear> linear = info.exprOf(op).linearIn(info.axes[axis]);
    if (has(indirectAxes(op, info), axis) || !linear)
      score -= weight;
    else if (linear->coefficient.isOne())
      score += 2 * weight;
    else if (int64_t step = linear->coefficient.constant().value_or(0); !reduces && isa<kernel::LoadOp>(op) && step > 1 && step <= 4)
      score += weight / 2; // whole vectors, of which a shuffle takes some lanes
    else if (!linear->coefficient.isZero())
      score -= weight;
  }
  return extent && *extent < 4 ? std::min(score, 1) : score; // nearly all lanes of a vector would lie idle
}

static std::optional<unsigned> chooseLane(const BodyInfo &info) {
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
  return best;
}

/// Loop order: parallel axes first, and a reduction's own axes before those that it reduces where that is possible for all;
/// otherwise the kernel's order. The lane axis goes innermost among its equals.
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
  std::vector<unsigned> order;
  AxisSet done = 0;
  while (order.size() < n) {
    std::optional<unsigned> pick;
    for (unsigned a = 0; a < n; ++a)
      if (!has(done, a) && !(before[a] & ~done & ~(AxisSet(1) << a)) && (!pick || pick == lane))
        pick = a;
    if (!pick) // contradicting reductions: some are recomputed, in whatever order
      for (unsigned a = 0; a < n && !pick; ++a)
        if (!has(done, a))
          pick = a;
    order.push_back(*pick);
    done |= AxisSet(1) << *pick;
  }
  return order;
}

/// The parallel axis and the number of its points to work on together: loads that run along the lanes and not along this
/// axis are shared by all (the input of a convolution by output channels).
static void chooseJam(const BodyInfo &info, const Isa &isa, RowSchedule &s) {
  int best = 0;
  for (Operation *op : info.ops)
    if (auto r = dyn_cast<kernel::ReduceOp>(op); r && has(info.axesOf(r.getAxes()), *s.lane))
      return;
  for (unsigned axis : s.itemAxes) {
    std::optional<int64_t> extent = info.extents[axis].constant();
    if (!extent)
      continue;
    int64_t factor = isa.registers >= 32 ? 8 : 4;
    while (factor > 1 && *extent % factor)
      --factor;
    int shared = 0;
    for (Operation *op : info.ops) {
      AxisSet domain = info.domainOf(op);
      if (llvm::isa<kernel::LoadOp>(op) && llvm::popcount(domain) > 1 && has(domain, *s.lane) && !has(domain, axis))
        ++shared;
    }
    if (factor > 1 && shared > best) {
      best = shared;
      s.jam = axis;
      s.jamFactor = factor;
    }
  }
  if (s.jam)
    s.unroll = std::min(s.unroll, 2u);
}

unsigned cpu::weightOf(Operation *op) {
  if (isa<arith::ConstantOp>(op))
    return 0;
  if (op->getName().getDialectNamespace() == "math")
    return isa<math::SqrtOp, math::AbsFOp, math::FloorOp, math::CeilOp>(op) ? 2 : 16;
  return isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>(op) ? 4 : 1;
}

/// Rows of windows in which not even one whole vector fits are left to shorter ones: what is predicated gathers.
static unsigned widthFor(const BodyInfo &info, unsigned lane, unsigned width) {
  std::optional<int64_t> extent = info.extents[lane].constant();
  auto predicated = llvm::count_if(info.ops, [](Operation *op) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    return load && load.getPredicate();
  });
  while (extent && predicated > 1 && width > 4 && int64_t(width) >= *extent)
    width /= 2;
  return width;
}

RowSchedule cpu::scheduleRows(const BodyInfo &info, const Isa &isa) {
  RowSchedule s;
  AxisSet parallel = parallelAxes(info);
  s.lane = chooseLane(info);
  s.laneIsParallel = s.lane && has(parallel, *s.lane);
  s.order = loopOrder(info, parallel, s.lane);
  for (unsigned a : s.order)
    if (has(parallel, a) && a != s.lane)
      s.itemAxes.push_back(a);
  if (!s.lane)
    return s;
  s.width = isa.lanes();
  unsigned weight = 0;
  bool reduces = false, wide = false;
  for (Operation *op : info.ops) {
    weight += weightOf(op);
    reduces |= llvm::isa<kernel::ReduceOp>(op);
    wide |= isAccess(op) && has(info.domainOf(op), *s.lane) && accessedType(op).getIntOrFloatBitWidth() > 32;
  }
  if (s.laneIsParallel && !reduces)
    s.width = widthFor(info, *s.lane, s.width);
  s.unroll = weight <= 48 ? 4 : weight <= 120 ? 2 : 1;
  s.maskedRest = masksRest(info, *s.lane, isa);
  std::optional<int64_t> extent = info.extents[*s.lane].constant();
  if (extent)
    s.unroll = std::clamp<int64_t>(*extent / s.width, 1, s.unroll);
  constexpr unsigned heaviestJammed = 240; // a long body has enough to do at one point
  if (s.laneIsParallel && reduces && weight <= heaviestJammed)
    chooseJam(info, isa, s);
  if (s.laneIsParallel) {
    int64_t block = reduces ? int64_t(s.width) * s.unroll : 4096;
    s.laneBlock = extent && *extent <= block ? 0 : block;
  } else if (extent && *extent > 0 && *extent <= (wide ? 4 : 8) * int64_t(s.width) && weight <= 120) {
    s.persist = *extent;
  }
  return s;
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

Expr cpu::laneBlocks(const BodyInfo &info, const RowSchedule &s) {
  return s.laneBlock ? Expr::ceildiv(info.extents[*s.lane], s.laneBlock) : Expr(1);
}

void cpu::planRows(const BodyInfo &info, const RowSchedule &s, KernelPlan &plan) {
  AxisSet items = 0;
  plan.items = laneBlocks(info, s);
  for (unsigned a : s.itemAxes) {
    plan.items = plan.items * (a == s.jam ? Expr(*info.extents[a].constant() / s.jamFactor) : info.extents[a]);
    items |= AxisSet(1) << a;
  }
  // Ops with the same axes inside an item run equally often.
  std::map<AxisSet, int64_t> quarters;
  for (Operation *op : info.ops) {
    AxisSet domain = info.domainOf(op);
    if (auto r = dyn_cast<kernel::ReduceOp>(op))
      domain |= info.axesOf(r.getAxes());
    int64_t bytes = isAccess(op) ? std::max(1u, accessedType(op).getIntOrFloatBitWidth() / 8) : 0;
    quarters[domain & ~items] += bytes ? bytes : 4 * int64_t(weightOf(op));
  }
  plan.cost = 0;
  for (auto [axes, weight] : quarters) {
    Expr points = (weight + 3) / 4 * s.jamFactor;
    for (unsigned a = 0; a < info.axes.size(); ++a)
      if (has(axes, a))
        points = points * (s.laneBlock && a == *s.lane ? Expr::min(info.extents[a], s.laneBlock) : info.extents[a]);
    plan.cost = plan.cost + points;
  }
}
