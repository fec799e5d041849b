//===- RowEmitter.cpp - Scopes of a row program ----------------------------===//

#include "RowEmitter.h"
#include "../Combine.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::AxisSet;
using lower::BodyEmitter;

RowEmitter::RowEmitter(KernelFunction &f, const RowSchedule &schedule)
    : f(f), info(f.info), schedule(schedule), b(f.b), loc(f.loc) {
  collectNeeds();
}

/// needs[op]: reductions that the op's operands reach without passing through another reduction.
void RowEmitter::collectNeeds() {
  for (Operation *op : info.ops) {
    std::set<unsigned> &mine = needs[op];
    for (Value v : op->getOperands()) {
      Operation *def = v.getDefiningOp();
      if (!def)
        continue;
      if (isa<kernel::ReduceOp>(def))
        mine.insert(info.position(def));
      else
        mine.insert(needs[def].begin(), needs[def].end());
    }
  }
}

llvm::Error RowEmitter::run() {
  std::vector<Goal> stores;
  for (Operation *op : info.ops)
    if (isa<kernel::StoreOp>(op))
      stores.push_back({op, info.domainOf(op)});
  BodyEmitter outer(info, b, loc, f.sizes, f.refs, f.hooks);
  // Reductions to a single value: once per call, before the items. Those that do not wait for one another share a loop.
  Points points{outer};
  std::vector<Goal> scalars = goalsOf(points, 0, stores);
  llvm::erase_if(scalars, [](const Goal &g) { return isa<kernel::StoreOp>(g.op); });
  if (!scalars.empty() && !isOneRow()) // whose passes share what they keep
    scope(points, 0, scalars);
  itemsOrRows(points[0], stores);
  if (!outer.error().empty())
    return bug("kernel '{0}': {1}", f.kernel.getName(), outer.error());
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Goals of a scope and their order
//===----------------------------------------------------------------------===//

/// All reductions that the op depends on, but not beyond those that are available.
std::set<unsigned> RowEmitter::reachOf(Operation *op) const {
  std::set<unsigned> reached;
  SmallVector<Operation *> work{op};
  while (!work.empty())
    for (unsigned p : needs.lookup(work.pop_back_val()))
      if (!available.contains(info.ops[p]) && reached.insert(p).second)
        work.push_back(info.ops[p]);
  return reached;
}

/// The given goals and the reductions that they need and that are complete at this scope.
std::vector<Goal> RowEmitter::goalsOf(Points &points, AxisSet bound, ArrayRef<Goal> given) {
  std::vector<Goal> goals(given);
  std::set<unsigned> needed;
  for (const Goal &g : given)
    for (unsigned p : reachOf(g.op))
      needed.insert(p);
  for (unsigned p : needed) {
    auto op = cast<kernel::ReduceOp>(info.ops[p]);
    bool mine = llvm::any_of(given, [&](const Goal &g) { return g.op == op; });
    if (!mine && !(info.axesOf(op.getResult()) & ~bound))
      goals.push_back({op, info.axesOf(op.getAxes())});
  }
  return goals;
}

std::optional<unsigned> RowEmitter::nextAxis(AxisSet remaining) const {
  for (unsigned a : schedule.order)
    if (has(remaining, a))
      return a;
  return std::nullopt;
}

/// Goals of one level do not depend on one another; those with the same next axis share a loop.
std::vector<RowEmitter::Group> RowEmitter::groupsOf(ArrayRef<Goal> goals) {
  std::map<unsigned, const Goal *> byPosition;
  for (const Goal &g : goals)
    byPosition[info.position(g.op)] = &g;
  std::map<unsigned, int> levels;
  std::map<std::pair<int, int>, Group> groups;
  for (auto [position, goal] : byPosition) { // a goal's dependences stand before it
    int level = 0;
    for (unsigned p : reachOf(goal->op))
      if (levels.count(p))
        level = std::max(level, levels[p] + 1);
    levels[position] = level;
    std::optional<unsigned> axis = nextAxis(goal->remaining);
    int rank = axis ? llvm::find(schedule.order, *axis) - schedule.order.begin() : -1;
    Group &group = groups[{level, rank}];
    group.axis = axis;
    group.goals.push_back(*goal);
  }
  std::vector<Group> ordered;
  for (auto &[key, group] : groups)
    ordered.push_back(std::move(group));
  return ordered;
}

//===----------------------------------------------------------------------===//
// One scope
//===----------------------------------------------------------------------===//

void RowEmitter::scope(Points &points, AxisSet bound, std::vector<Goal> given) {
  std::vector<Goal> goals = goalsOf(points, bound, given);
  llvm::SmallDenseSet<Operation *> mine;
  for (const Goal &g : goals)
    if (auto op = dyn_cast<kernel::ReduceOp>(g.op); op && !accumulators.count(op)) {
      start(points, op);
      mine.insert(op);
    }
  std::vector<Group> groups = groupsOf(goals);
  std::vector<Cached> savedCache = cached;
  Points persistent;
  for (size_t i = 0; i < groups.size(); ++i) {
    Group &group = groups[i];
    if (!group.axis) {
      for (const Goal &g : group.goals)
        emitLeaf(points, g);
    } else {
      hoist(points, bound, group.goals);
      for (Goal &g : group.goals)
        g.remaining &= ~(AxisSet(1) << *group.axis);
      Outdated outdated = hideOutdated(bound, *group.axis);
      if (schedule.width > 1 && group.axis == schedule.lane) {
        std::vector<Value> outerKeeping = keeping;
        keeping.clear();
        if (!persists() && !has(bound, *group.axis))
          keep(valuesToKeep(bound, group, ArrayRef(groups).drop_front(i + 1)), ArrayRef(groups).drop_front(i + 1));
        laneLoop(points, bound, group, persistent);
        keeping = outerKeeping;
        outdated.cached = cached;
      } else {
        keepInvariants(points, bound, group);
        axisLoop(points, bound, group);
      }
      available.insert(outdated.reductions.begin(), outdated.reductions.end());
      cached = outdated.cached;
    }
    for (const Goal &g : group.goals)
      if (mine.contains(g.op))
        finish(points, cast<kernel::ReduceOp>(g.op));
  }
  cached = savedCache;
  for (Operation *op : mine)
    available.erase(op);
  if (!bound) // the function's own scope: valid everywhere
    available.insert(mine.begin(), mine.end());
}

/// A loop over an axis that is bound already recomputes a reduction where it is used. Inside, what was computed at the
/// outer point of that axis does not count.
RowEmitter::Outdated RowEmitter::hideOutdated(AxisSet bound, unsigned axis) {
  Outdated outdated{{}, cached};
  if (!has(bound, axis))
    return outdated;
  for (Operation *op : info.ops)
    if (available.contains(op) && has(info.axesOf(op->getResult(0)), axis))
      outdated.reductions.push_back(op);
  for (Operation *op : outdated.reductions)
    available.erase(op);
  if (axis != schedule.lane)
    llvm::erase_if(cached, [&](const Cached &c) { return has(info.axesOf(c.value), axis); });
  return outdated;
}

void RowEmitter::emitLeaf(Points &points, const Goal &goal) {
  auto store = dyn_cast<kernel::StoreOp>(goal.op);
  if (!store) {
    accumulate(points, cast<kernel::ReduceOp>(goal.op));
    return;
  }
  if (schedule.interleaves && points[0].laneWidth() > 1) {
    for (size_t i = 0; i < points.size(); i += schedule.jamFactor)
      storeInterleaved(MutableArrayRef(points).slice(i, schedule.jamFactor), store);
    return;
  }
  bool perLane = schedule.lane && has(info.domainOf(store), *schedule.lane);
  perLane |= schedule.jam && has(info.domainOf(store), *schedule.jam);
  for (BodyEmitter &point : points) {
    point.emitStore(store);
    if (!perLane) // the same element for all points
      break;
  }
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Type RowEmitter::accumulatorType(Type element) {
  bool half = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  return half ? Float32Type::get(element.getContext()) : element;
}

Type RowEmitter::vectorOf(unsigned width, Type element) { return width > 1 ? VectorType::get({width}, element) : element; }

void RowEmitter::start(Points &points, kernel::ReduceOp op) {
  Accumulator acc;
  Type element = accumulatorType(op.getType());
  auto identity = [&](unsigned width) { return identityOf(b, loc, op.getKind(), vectorOf(width, element)); };
  acc.acrossLanes = reducesLane(op);
  if (acc.acrossLanes) {
    acc.parts.assign(schedule.unroll, identity(schedule.width));
    if (!schedule.maskedRest)
      acc.scalar = identity(1);
  } else if (differs(points, op.getResult())) {
    for (BodyEmitter &point : points)
      acc.parts.push_back(identity(point.variesInLanes(op.getResult()) ? point.laneWidth() : 1));
  } else {
    acc.parts.push_back(identity(1));
  }
  accumulators[op] = acc;
}

void RowEmitter::accumulate(Points &points, kernel::ReduceOp op) {
  Accumulator &acc = accumulators[op];
  auto add = [&](Value &into, Value v) {
    Type type = accumulatorType(getElementTypeOrSelf(v.getType()));
    if (auto vector = dyn_cast<VectorType>(v.getType()))
      type = VectorType::get(vector.getShape(), type);
    if (type != v.getType())
      v = f.hooks.convertFloat(b, loc, v, type);
    into = combine(b, loc, op, into, v);
  };
  bool onePoint = !acc.acrossLanes && !differs(points, op.getResult());
  for (auto [i, point] : llvm::enumerate(points)) {
    if (onePoint && i)
      break;
    if (onePoint) {
      add(acc.parts[0], point.emit(op.getValue()));
      continue;
    }
    bool vector = acc.acrossLanes || point.variesInLanes(op.getResult());
    Value v = vector ? point.emitLanes(op.getValue()) : point.emit(op.getValue());
    if (acc.acrossLanes && point.laneWidth() == 1) {
      add(acc.scalar, v);
      continue;
    }
    if (acc.acrossLanes && point.laneMask())
      v = b.create<arith::SelectOp>(loc, point.laneMask(), v, identityOf(b, loc, op.getKind(), v.getType()));
    add(acc.parts[i % acc.parts.size()], v);
  }
}

void RowEmitter::finish(Points &points, kernel::ReduceOp op) {
  Accumulator acc = accumulators[op];
  accumulators.erase(op);
  available.insert(op);
  auto done = [&](Value v) {
    Type type = op.getType();
    if (auto vector = dyn_cast<VectorType>(v.getType()))
      type = VectorType::get(vector.getShape(), type);
    return type == v.getType() ? v : f.hooks.convertFloat(b, loc, v, type);
  };
  if (!acc.acrossLanes) {
    for (auto [i, point] : llvm::enumerate(points))
      point.bindValue(op.getResult(), done(acc.parts[i % acc.parts.size()]));
    return;
  }
  while (acc.parts.size() > 1) {
    SmallVector<Value> halved;
    for (size_t i = 0; i < acc.parts.size(); i += 2)
      halved.push_back(i + 1 < acc.parts.size() ? combine(b, loc, op, acc.parts[i], acc.parts[i + 1])
                                                : acc.parts[i]);
    acc.parts = halved;
  }
  Value v = combineLanes(b, loc, op, acc.parts[0]);
  if (acc.scalar)
    v = combine(b, loc, op, v, acc.scalar);
  for (BodyEmitter &point : points)
    point.bindValue(op.getResult(), done(v));
}
