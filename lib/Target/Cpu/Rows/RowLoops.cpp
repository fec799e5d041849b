//===- RowLoops.cpp - Loops of a row program -------------------------------===//

#include "../BuildModule.h"
#include "../Combine.h"
#include "RowEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/SaveAndRestore.h"
#include <numeric>

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::AxisSet;
using lower::BodyEmitter;
using shape::Expr;

//===----------------------------------------------------------------------===//
// Building blocks
//===----------------------------------------------------------------------===//

/// A loop that carries the accumulators of the goals' reductions.
Operation *RowEmitter::forLoop(Value from, Value to, int64_t step, ArrayRef<Goal> goals,
                               llvm::function_ref<void(Value)> body) {
  SmallVector<Value *> carried;
  auto collect = [&] {
    carried.clear();
    for (const Goal &g : goals) {
      auto it = accumulators.find(g.op);
      if (it == accumulators.end())
        continue;
      for (Value &v : it->second.parts)
        carried.push_back(&v);
      if (it->second.scalar)
        carried.push_back(&it->second.scalar);
    }
  };
  collect();
  SmallVector<Value> init;
  for (Value *v : carried)
    init.push_back(*v);
  auto loop = b.create<scf::ForOp>(loc, from, to, i64(step), init);
  for (auto [i, v] : llvm::enumerate(carried))
    *v = loop.getRegionIterArg(i);
  {
    OpBuilder::InsertionGuard guard(b);
    Block *block = loop.getBody();
    if (!block->empty() && isa<scf::YieldOp>(block->back()))
      block->back().erase();
    b.setInsertionPointToEnd(block);
    body(loop.getInductionVar());
    collect(); // the map may have moved
    SmallVector<Value> next;
    for (Value *v : carried)
      next.push_back(*v);
    b.create<scf::YieldOp>(loc, next);
  }
  for (auto [i, v] : llvm::enumerate(carried))
    *v = loop.getResult(i);
  return loop;
}

/// Computes, before a loop, what the goals need and what is the same in all its trips.
void RowEmitter::hoist(Points &points, AxisSet bound, ArrayRef<Goal> goals) {
  llvm::DenseSet<Operation *> slice = sliceOf(goals, /*throughReductions=*/true);
  for (Operation *op : info.ops) {
    if (!slice.contains(op) || op->getNumResults() != 1 || isa<kernel::ReduceOp>(op) ||
        op->hasTrait<OpTrait::ConstantLike>() || info.axesOf(op->getResult(0)) & ~bound)
      continue;
    if (!reachOf(op).empty()) // a reduction is missing
      continue;
    Value v = points[0].emit(op->getResult(0));
    for (BodyEmitter &point : llvm::drop_begin(points))
      if (differs(points, op->getResult(0)))
        point.emit(op->getResult(0));
      else
        point.bindValue(op->getResult(0), v);
  }
}

//===----------------------------------------------------------------------===//
// Parallel items
//===----------------------------------------------------------------------===//

/// The indices of item `begin`, outermost first.
SmallVector<Value> RowEmitter::firstItem(BodyEmitter &outer, ArrayRef<Value> extents) {
  SmallVector<Value> indices(extents.size());
  Value left = f.begin;
  for (size_t i = extents.size(); i-- > 1;) {
    Value extent = b.create<arith::MaxSIOp>(loc, extents[i], i64(1));
    indices[i] = b.create<arith::RemUIOp>(loc, left, extent);
    left = b.create<arith::DivUIOp>(loc, left, extent);
  }
  if (!indices.empty())
    indices[0] = left;
  return indices;
}

/// for item in [begin, end): the indices count along, without divisions.
void RowEmitter::itemLoop(BodyEmitter &outer, std::vector<Goal> goals) {
  SmallVector<Value> extents;
  AxisSet bound = schedule.itemSet();
  for (unsigned a : schedule.itemAxes)
    extents.push_back(outer.emitExpr(jammedExtent(info, schedule, a)));
  if (schedule.laneBlock)
    extents.push_back(outer.emitExpr(laneBlocks(info, schedule)));
  Points points{outer};
  hoist(points, 0, goals);
  auto loop = b.create<scf::ForOp>(loc, f.begin, f.end, i64(1), firstItem(outer, extents));
  OpBuilder::InsertionGuard guard(b);
  Block *block = loop.getBody();
  if (!block->empty() && isa<scf::YieldOp>(block->back()))
    block->back().erase();
  b.setInsertionPointToEnd(block);
  SmallVector<Value> next(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
  points.append(schedule.jamFactor - 1, points[0]);
  for (auto [a, index] : llvm::zip(schedule.itemAxes, next)) {
    bool jammed = a == schedule.jam, whole = jammed && info.extents[a].constant() == schedule.jamFactor;
    Value first = jammed && !whole ? b.create<arith::MulIOp>(loc, index, i64(schedule.jamFactor)).getResult() : index;
    for (auto [i, point] : llvm::enumerate(points))
      point.bindAxis(info.axes[a], whole ? i64(i) : jammed ? b.create<arith::AddIOp>(loc, first, i64(i)).getResult() : first);
  }
  if (schedule.laneIsParallel) {
    Value extent = points[0].emitExpr(info.extents[*schedule.lane]);
    blockFrom = i64(0);
    blockTo = extent;
    if (schedule.laneBlock) {
      blockFrom = b.create<arith::MulIOp>(loc, next.back(), i64(schedule.laneBlock), arith::IntegerOverflowFlags::nsw);
      Value end = b.create<arith::AddIOp>(loc, blockFrom, i64(schedule.laneBlock), arith::IntegerOverflowFlags::nsw);
      blockTo = b.create<arith::MinSIOp>(loc, end, extent);
    }
  }
  for (Goal &g : goals)
    g.remaining &= ~bound;
  scope(points, bound, goals);
  // The carry is a number: of conditions that are combined LLVM sets bytes, whose registers then wait for what they held before, a row's result (Zen 5: rows of 56
  // whose maxima are stored took eight times as long).
  Value carry = i64(1);
  for (size_t i = next.size(); i-- > 0;) {
    next[i] = b.create<arith::AddIOp>(loc, next[i], carry);
    if (!i)
      break;
    Value wraps = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, next[i], extents[i]);
    next[i] = b.create<arith::SelectOp>(loc, wraps, i64(0), next[i]);
    carry = b.create<arith::ExtUIOp>(loc, b.getI64Type(), wraps);
  }
  b.create<scf::YieldOp>(loc, next);
}

//===----------------------------------------------------------------------===//
// Loops inside an item
//===----------------------------------------------------------------------===//

static AxisSet remainingOf(ArrayRef<Goal> goals) {
  AxisSet set = 0;
  for (const Goal &g : goals)
    set |= g.remaining;
  return set;
}

void RowEmitter::axisLoop(Points &points, AxisSet bound, const Group &group) {
  std::vector<Value> conditions = schedule.width > 1 ? caseConditions(bound, group) : std::vector<Value>();
  cases(points, conditions, [&](Points &inside) { tripsOf(inside, bound, group); });
}

void RowEmitter::tripsOf(Points &points, AxisSet bound, const Group &group) {
  unsigned axis = *group.axis;
  auto at = [&](Value index) {
    Points inner(points);
    for (BodyEmitter &point : inner)
      point.bindAxis(info.axes[axis], index);
    scope(inner, bound | AxisSet(1) << axis, group.goals);
  };
  // Short loops are written out: a filter's taps have constant indices then, and their masks are loop-invariant.
  // Inner ones first.
  auto isShort = [&](unsigned a) { return info.extents[a].constant().value_or(INT64_MAX) <= schedule::widestStride; };
  int64_t inside = unrolled * points.size();
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (has(remainingOf(group.goals), a) && isShort(a))
      inside *= *info.extents[a].constant();
  // What is written out costs compile time by its length, worse than linearly: long bodies (cubic sampling) stay in loops.
  constexpr int64_t mostPoints = 160, mostInstructions = 4096;
  int64_t weight = 0;
  for (Operation *op : info.ops)
    weight += has(info.domainOf(op), axis) ? weightOf(op) : 0;
  std::optional<int64_t> trips = info.extents[axis].constant();
  if (isShort(axis) && *trips * inside <= std::min(mostPoints, mostInstructions / std::max<int64_t>(1, weight))) {
    unrolled *= *trips;
    for (int64_t i = 0; i < *trips; ++i)
      at(i64(i));
    unrolled /= std::max<int64_t>(1, *trips);
    return;
  }
  Value extent = points[0].emitExpr(info.extents[axis]);
  std::vector<Operation *> sums = sumsInBlocks(group);
  if (sums.empty()) {
    forLoop(i64(0), extent, 1, group.goals, at);
    return;
  }
  forLoop(i64(0), extent, sumBlock, group.goals, [&](Value base) {
    Value end = b.create<arith::AddIOp>(loc, base, i64(sumBlock), arith::IntegerOverflowFlags::nsw);
    blockOfSums(sums, [&] { forLoop(base, b.create<arith::MinSIOp>(loc, end, extent), 1, group.goals, at); });
  });
}

//===----------------------------------------------------------------------===//
// Sums in blocks
//===----------------------------------------------------------------------===//

/// The sums of floats that run along this axis last and may be long. One running sum of n terms is off by up to n/2 roundings;
/// blocks of B, added up, by B/2 + n/(2B) (Higham, Accuracy and Stability of Numerical Algorithms, 4.2). Sums across lanes
/// have short parts already.
std::vector<Operation *> RowEmitter::sumsInBlocks(const Group &group) const {
  std::vector<Operation *> sums;
  std::optional<int64_t> trips = info.extents[*group.axis].constant();
  for (const Goal &g : group.goals) {
    auto sum = dyn_cast<kernel::ReduceOp>(g.op);
    auto running = accumulators.find(g.op);
    if (!sum || running == accumulators.end() || !addsFloats(sum))
      continue;
    bool longInside = llvm::any_of(llvm::seq<unsigned>(0, info.axes.size()), [&](unsigned a) {
      return has(g.remaining, a) && info.extents[a].constant().value_or(sumBlock) >= shortSum;
    });
    // A loop around this one carries the sum along.
    bool carried = isa<BlockArgument>(running->second.parts[0]);
    if (!longInside && (carried ? trips.value_or(sumBlock) >= shortSum : isLongSum(sum, trips.value_or(2 * sumBlock))))
      sums.push_back(g.op);
  }
  return sums;
}

/// Runs the body with the sums at zero, and adds what it gives to what they were.
void RowEmitter::blockOfSums(ArrayRef<Operation *> sums, llvm::function_ref<void()> body) {
  std::vector<SmallVector<Value>> before;
  for (Operation *op : sums) {
    SmallVector<Value> &parts = accumulators[op].parts;
    before.push_back(parts);
    for (Value &v : parts)
      v = identityOf(b, loc, kernel::Combiner::Add, v.getType());
  }
  body();
  for (auto [op, was] : llvm::zip(sums, before))
    for (auto [i, v] : llvm::enumerate(accumulators[op].parts))
      v = combine(b, loc, kernel::Combiner::Add, was[i], v);
}

Value RowEmitter::laneMask(Value left) {
  SmallVector<int32_t> steps(schedule.width);
  std::iota(steps.begin(), steps.end(), 0);
  Value lanes = b.create<arith::ConstantOp>(loc, b.getI32VectorAttr(steps));
  Value count = b.create<arith::TruncIOp>(loc, b.getI32Type(), left);
  Value counts = b.create<vector::SplatOp>(loc, lanes.getType(), count);
  return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, lanes, counts);
}

/// What neighbours of a kernel without reductions have in common is computed at the first of them.
void RowEmitter::shareAmongJammed(MutableArrayRef<BodyEmitter> neighbours, const Group &group) {
  if (neighbours.size() < 2 || f.kernel.getKernelClass() != kernel::KernelClass::Loop)
    return;
  llvm::DenseSet<Operation *> slice = sliceOf(group.goals, /*throughReductions=*/false);
  for (Operation *op : info.ops) {
    if (!slice.contains(op) || op->getNumResults() != 1 || has(info.axesOf(op->getResult(0)), *schedule.jam))
      continue;
    Value v = neighbours[0].emit(op->getResult(0));
    for (BodyEmitter &point : neighbours.drop_front())
      point.bindValue(op->getResult(0), v);
  }
}

/// `count` vectors of `width` lanes from `base` on, for each outer point, emitted together.
void RowEmitter::lanePoints(Points &outer, AxisSet bound, const Group &group, Value base, unsigned count,
                            unsigned width, Value mask) {
  Points points;
  for (unsigned i = 0; i < count; ++i) {
    Value first =
        i ? b.create<arith::AddIOp>(loc, base, i64(i * width), arith::IntegerOverflowFlags::nsw).getResult() : base;
    for (BodyEmitter &point : outer) {
      points.push_back(point);
      points.back().bindLane(info.axes[*schedule.lane], first, width, mask);
      loadCached(points.back());
    }
    shareAmongJammed(MutableArrayRef(points).take_back(outer.size()), group);
  }
  if (underPredicates)
    for (BodyEmitter &point : points)
      requestPredicated(point);
  if (asking)
    requestShared(points);
  scope(points, bound | AxisSet(1) << *schedule.lane, group.goals);
  for (BodyEmitter &point : points)
    storeCached(point);
}

/// Trips of count * width elements over [from, to), masked by `limit` when there is one. Sums have as many parts as are added at a time.
void RowEmitter::laneTrips(Points &outer, AxisSet bound, const Group &group, Value from, Value to, unsigned count,
                           unsigned width, Value limit) {
  Operation *loop = forLoop(from, to, int64_t(count) * width, group.goals, [&](Value base) {
    Value mask = limit ? laneMask(b.create<arith::SubIOp>(loc, limit, base)) : Value();
    lanePoints(outer, bound, group, base, count, width, mask);
  });
  bool knowsMasks = limit && info.extents[*schedule.lane].constant(); // of the few trips that a known row leaves over, once they are written out
  if (width > 1 && loop->getNumResults() && !knowsMasks)
    keepAsWritten(loop);
}

Value RowEmitter::isAtMost(Value x, int64_t y) { return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sle, x, i64(y)); }

/// One of two bodies, or one or none. What they leave are stores alone.
void RowEmitter::either(Value condition, llvm::function_ref<void()> body, llvm::function_ref<void()> otherwise) {
  auto branch = b.create<scf::IfOp>(loc, condition, /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
  if (!otherwise)
    return;
  b.setInsertionPointToStart(branch.elseBlock());
  otherwise();
}

/// The largest multiple of the step that fits, from `from` on.
Value RowEmitter::roundedEnd(Value from, Value to, int64_t step) {
  Value size = b.create<arith::SubIOp>(loc, to, from);
  Value rest = b.create<arith::RemUIOp>(loc, size, i64(step));
  return b.create<arith::SubIOp>(loc, to, rest);
}

void RowEmitter::laneLoop(Points &points, AxisSet bound, const Group &group, Points &persistent) {
  unsigned axis = *schedule.lane;
  // Inside a lane loop, a second one recomputes what is the same in all lanes: once.
  Points outer(points.begin(), has(bound, axis) ? points.begin() + 1 : points.end());
  if (persists() && !has(bound, axis))
    return persistentLanes(outer[0], bound, group, persistent);
  cases(outer, caseConditions(bound, group), [&](Points &inside) { rowOf(inside, bound, group); });
}

/// The vectors of a row, and what they leave over.
void RowEmitter::rowOf(Points &outer, AxisSet bound, const Group &group) {
  unsigned axis = *schedule.lane;
  bool whole = !schedule.laneIsParallel || has(bound, axis);
  Value from = whole ? i64(0) : blockFrom, to = whole ? outer[0].emitExpr(info.extents[axis]) : blockTo;
  if (f.kernel.getKernelClass() == kernel::KernelClass::Loop && !has(bound, axis)) {
    std::vector<EdgeCompare> edges = rowEdges(bound);
    std::optional<SmallVector<Expr>> changes = changesOf(edges);
    bool masksAreVectors = edges.empty() && !f.isa.maskedBytes;
    if (changes && (!schedule.maskedRest || masksAreVectors || excludeEachOther(edges)))
      return maskedOrStretches(outer, bound, group, edges, *changes, from, to);
    if (worthPeeling(edges))
      return maskedOrEdged(outer, bound, group, edges, from, to);
  }
  from = copyLong(outer, group, from, to, schedule.laneBlock ? std::optional(schedule.laneBlock) : std::nullopt);
  llvm::SaveAndRestore<bool> ahead(underPredicates, true);
  int64_t width = schedule.width, vectors = vectorsPerTrip(group), trip = width * vectors;
  // A block is a whole number of trips, so a static extent tells what is left in either case.
  std::optional<int64_t> extent = info.extents[axis].constant();
  bool leavesNothing = extent ? *extent % trip == 0 : schedule.wholeTrips && width * schedule.unroll % trip == 0;
  if (!extent || *extent >= trip) {
    Value end = leavesNothing ? to : roundedEnd(from, to, trip);
    Value asked = requestedFrom(outer[0], from, end);
    longTrips(outer, bound, group, from, asked, vectors);
    if (llvm::SaveAndRestore<bool> ask(asking, true); asked != end)
      laneTrips(outer, bound, group, asked, end, vectors, width, {});
    from = end;
  }
  int64_t left = leavesNothing ? 0 : extent ? *extent % trip : trip - 1;
  bool masked = schedule.maskedRest && left % width;
  // What walks down columns does so once for each trip: the rest in as few as there are ones in its number of vectors. Elsewhere vector by
  // vector, where a mask is a vector as well; where it has registers of its own, single vectors take no longer with one, and two at a time
  // wait less for one another.
  bool downColumns = schedule.laneIsParallel && llvm::any_of(info.ops, [](Operation *op) { return isa<kernel::ReduceOp>(op); });
  bool inPairs = !downColumns && masked && f.isa.maskedBytes;
  for (int64_t count = downColumns || inPairs ? vectors / 2 : 1, least = inPairs ? 2 : 1; count >= least; count /= 2) {
    int64_t step = count * width;
    if (left < step)
      continue;
    Value end = extent && left % step == 0 ? to : roundedEnd(from, to, step);
    laneTrips(outer, bound, group, from, end, count, width, {});
    from = end;
    left = extent ? left % step : step - 1;
  }
  if (left % width)
    laneTrips(outer, bound, group, from, to, 1, masked ? width : 1, masked ? to : Value());
}

/// The vectors of a short row of known length.
void RowEmitter::addRowOf(BodyEmitter &outer, Points &persistent, int64_t length) {
  int64_t width = schedule.width, vectors = length / width, left = length % width;
  auto add = [&](int64_t base, unsigned lanes, Value mask) {
    persistent.push_back(outer);
    persistent.back().bindLane(info.axes[*schedule.lane], i64(base), lanes, mask);
  };
  for (int64_t i = 0; i < vectors; ++i)
    add(i * width, width, {});
  if (left && schedule.maskedRest)
    add(vectors * width, width, laneMask(i64(left)));
  else
    for (int64_t i = 0; i < left; ++i)
      add(vectors * width + i, 1, {});
}

/// Of one of open length: the vectors that need not be whole have masks, which may be empty.
void RowEmitter::addOpenRow(BodyEmitter &outer, Points &persistent) {
  Value length = outer.emitExpr(info.extents[*schedule.lane]);
  for (int64_t i = 0; i < schedule.persistVectors; ++i) {
    Value base = i64(i * schedule.width);
    Value left = i < schedule.fullVectors ? Value() : b.create<arith::SubIOp>(loc, length, base).getResult();
    persistent.push_back(outer);
    persistent.back().bindLane(info.axes[*schedule.lane], base, schedule.width, left ? laneMask(left) : Value());
    if (!f.isa.maskedBytes)
      persistent.back().setLanesLeft(left);
  }
}

/// A short row: straight-line code, values stay in registers from pass to pass.
void RowEmitter::persistentLanes(BodyEmitter &outer, AxisSet bound, const Group &group, Points &persistent) {
  bool isFirst = persistent.empty(); // what later passes read is there
  if (persistent.empty() && schedule.persist)
    addRowOf(outer, persistent, schedule.persist);
  else if (persistent.empty())
    addOpenRow(outer, persistent);
  for (BodyEmitter &point : persistent)
    point.adopt(outer);
  if (isFirst)
    requestAhead(persistent);
  for (BodyEmitter &point : persistent)
    loadCached(point);
  scope(persistent, bound | AxisSet(1) << *schedule.lane, group.goals);
}
