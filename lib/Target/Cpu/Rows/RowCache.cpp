//===- RowCache.cpp - Values kept between passes over a row ----------------===//
//
// Softmax reads a row three times: for the maximum, for the sum of exponentials, for the quotients. The exponentials of the
// second pass are kept for the third: where its results come, or else in a scratch row. Loads and cheap arithmetic are recomputed.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::AxisSet;
using lower::BodyEmitter;
using shape::Expr;

llvm::DenseSet<Operation *> RowEmitter::sliceOf(ArrayRef<Goal> goals, bool throughReductions) const {
  llvm::DenseSet<Operation *> slice;
  SmallVector<Operation *> work;
  for (const Goal &g : goals)
    work.push_back(g.op);
  while (!work.empty())
    for (Value v : work.pop_back_val()->getOperands()) {
      Operation *def = v.getDefiningOp();
      if (!def || available.contains(def) || (isa<kernel::ReduceOp>(def) && !throughReductions))
        continue;
      if (slice.insert(def).second)
        work.push_back(def);
    }
  return slice;
}

static bool isHeavy(Operation *op) { return schedule::isFunction(op) || isa<arith::DivFOp>(op); }

unsigned RowEmitter::vectorsPerTrip(const Group &group) const {
  if (schedule.exponentialUnroll >= schedule.unroll)
    return schedule.unroll;
  auto isKept = [&](Operation *op) {
    return llvm::any_of(cached, [&](const Cached &c) { return c.value.getDefiningOp() == op && !llvm::is_contained(keeping, c.value); });
  };
  llvm::DenseSet<Operation *> seen;
  SmallVector<Operation *> work;
  for (const Goal &g : group.goals)
    work.push_back(g.op);
  for (Value v : keeping)
    work.push_back(v.getDefiningOp());
  bool exponentials = false;
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    bool isExponential = isa<math::ExpOp, math::Exp2Op>(op);
    if (schedule::isFunction(op) && !isExponential)
      return schedule.unroll;
    exponentials |= isExponential;
    for (Value v : op->getOperands())
      if (Operation *def = v.getDefiningOp();
          def && !available.contains(def) && !isa<kernel::ReduceOp>(def) && !isKept(def) && seen.insert(def).second)
        work.push_back(def);
  }
  return exponentials ? schedule.exponentialUnroll : schedule.unroll;
}

/// Loads and heavy ops that computing the value again would repeat for every vector, over what is not kept already. What a row has once, as the
/// quotient that its mean is, is none of them.
static std::pair<unsigned, unsigned> costAgain(Operation *op, const llvm::DenseSet<Operation *> &slice, const lower::BodyInfo &info, AxisSet lane) {
  llvm::DenseSet<Operation *> seen{op};
  SmallVector<Operation *> work{op};
  unsigned loads = 0, heavy = 0;
  while (!work.empty()) {
    Operation *o = work.pop_back_val();
    loads += isa<kernel::LoadOp>(o);
    heavy += isHeavy(o);
    for (Value v : o->getOperands())
      if (Operation *def = v.getDefiningOp(); def && slice.contains(def) && (info.axesOf(v) & lane) && seen.insert(def).second)
        work.push_back(def);
  }
  return {loads, heavy};
}

/// Values of this pass that later passes over the same row need as they are and that are dear to compute again.
std::vector<Value> RowEmitter::valuesToKeep(AxisSet bound, const Group &now, ArrayRef<Group> later) {
  AxisSet lane = AxisSet(1) << *schedule.lane;
  std::vector<Goal> laterGoals;
  for (const Group &g : later)
    laterGoals.insert(laterGoals.end(), g.goals.begin(), g.goals.end());
  // What only this pass's own sums need is not needed again.
  llvm::DenseSet<Operation *> here = sliceOf(now.goals, false), before = available;
  for (const Goal &g : now.goals)
    if (isa<kernel::ReduceOp>(g.op))
      available.insert(g.op);
  llvm::DenseSet<Operation *> after = sliceOf(laterGoals, true);
  available = before;
  auto candidate = [&](Operation *op) {
    return here.contains(op) && after.contains(op) && op->getNumResults() == 1 && !isa<kernel::LoadOp>(op) &&
           (info.axesOf(op->getResult(0)) & ~bound) == lane && !op->getResult(0).getType().isInteger(1);
  };
  std::vector<Value> values;
  for (Operation *op : info.ops) {
    if (!candidate(op) ||
        llvm::any_of(cached, [&](const Cached &c) { return c.value == op->getResult(0); }))
      continue;
    bool used = llvm::any_of(op->getUsers(), [&](Operation *user) {
      bool laterGoal = llvm::any_of(laterGoals, [&](const Goal &g) { return g.op == user; });
      return laterGoal || (after.contains(user) && !candidate(user));
    });
    auto [loads, heavy] = costAgain(op, here, info, lane);
    if (used && (heavy || loads > 2))
      values.push_back(op->getResult(0));
  }
  return values;
}

/// Before a loop over another axis: values that vary along the lanes alone, that the loop would compute again in each trip,
/// and that are dear (the unit vector that every row of XSA is projected on). A lane loop of their own fills their rows.
void RowEmitter::keepInvariants(Points &points, AxisSet bound, const Group &group) {
  if (!schedule.lane || schedule.width == 1 || points.size() > 1 || has(bound, *schedule.lane) || has(bound, *group.axis))
    return;
  AxisSet lane = AxisSet(1) << *schedule.lane;
  llvm::DenseSet<Operation *> slice = sliceOf(group.goals, true);
  auto candidate = [&](Operation *op) {
    return slice.contains(op) && op->getNumResults() == 1 && !isa<kernel::LoadOp, kernel::ReduceOp>(op) &&
           (info.axesOf(op->getResult(0)) & ~bound) == lane && !op->getResult(0).getType().isInteger(1) &&
           reachOf(op).empty();
  };
  std::vector<Value> values;
  for (Operation *op : info.ops) {
    if (!candidate(op) || llvm::any_of(cached, [&](const Cached &c) { return c.value == op->getResult(0); }))
      continue;
    bool used = llvm::any_of(op->getUsers(), [&](Operation *user) { return !candidate(user); });
    if (used && costAgain(op, slice, info, lane).second)
      values.push_back(op->getResult(0));
  }
  if (values.empty())
    return;
  std::vector<Value> outerKeeping = keeping;
  keep(values);
  Points persistent;
  RowSchedule mine = schedule;
  schedule.persist = schedule.persistVectors = 0; // rows in scratch memory: inner trips read them from there
  laneLoop(points, bound, Group{{}, schedule.lane}, persistent);
  schedule = mine;
  keeping = outerKeeping;
}

/// The store of the only pass that follows, where its row has room for the value until then: each vector is read before its place gets its result.
/// Scratch memory serves one row after the other and stays in the cache; only a row that does not fit there, or is the only one, is better without it
/// (softmax of 1x128256 0.69 of the time, but of 4096x1024 1.3). Rows of open length find out in a run.
kernel::StoreOp RowEmitter::resultFor(Value value, ArrayRef<Group> later) const {
  int64_t bytes = value.getType().getIntOrFloatBitWidth() / 8, most = f.isa.costs.secondCache;
  if (!isOneRow() && info.extents[*schedule.lane].constant().value_or(INT64_MAX / bytes) * bytes <= most)
    return {};
  if (later.size() != 1 || later[0].axis != schedule.lane || f.kernel->hasAttr("in_place") || f.kernel.getKernelClass() != kernel::KernelClass::Reduction)
    return {};
  for (const Goal &g : later[0].goals) {
    auto store = dyn_cast<kernel::StoreOp>(g.op);
    if (!store || store.getValue().getType() != value.getType() || store.getPredicate() || !store.getIndices().empty() ||
        info.domainOf(store) != info.axesOf(value) || schedule::stepAlong(info, store, *schedule.lane) != 1)
      continue;
    auto sameResult = [&](Operation *op) { return isa<kernel::StoreOp>(op) && cast<kernel::StoreOp>(op).getRef() == store.getRef(); };
    bool taken = llvm::any_of(cached, [&](const Cached &c) { return c.inResult == store; });
    if (!taken && llvm::count_if(info.ops, sameResult) == 1)
      return store;
  }
  return {};
}

/// Finds a row for each, in the result or in scratch memory; the coming lane loop fills it.
void RowEmitter::keep(ArrayRef<Value> values, ArrayRef<Group> later) {
  keeping.assign(values.begin(), values.end());
  for (Value v : values) {
    kernel::StoreOp store = resultFor(v, later);
    bool sometimes = store && !isOneRow() && !info.extents[*schedule.lane].constant();
    cached.push_back({v, scratch, store, sometimes});
    if (store && !sometimes)
      continue;
    int64_t bytes = v.getType().getIntOrFloatBitWidth() / 8;
    Expr row = info.extents[*schedule.lane] * bytes;
    scratch = scratch + Expr::ceildiv(row, 64) * 64;
  }
}

/// Where the point's row begins in the result.
Value RowEmitter::rowOf(BodyEmitter point, kernel::StoreOp store) {
  point.bindAxis(info.axes[*schedule.lane], i64(0));
  return point.addressOf(store);
}

Value RowEmitter::cachePointer(BodyEmitter &point, const Cached &c) {
  if (c.inResult && !c.sometimes)
    return point.addressOf(c.inResult);
  Value bytes = point.emitExpr(c.offset);
  Value row = b.create<LLVM::GEPOp>(loc, f.scratch.getType(), b.getI8Type(), f.scratch, ValueRange{bytes});
  const std::string &lane = info.axes[*schedule.lane];
  if (c.sometimes) // chosen for the row as a whole: the choice of each vector's place would be made again for each
    row = b.create<arith::SelectOp>(loc, isLongOrAlone(point, c.value), rowOf(point, c.inResult), row);
  return b.create<LLVM::GEPOp>(loc, f.scratch.getType(), c.value.getType(), row, ValueRange{point.axisValue(lane)});
}

/// Whether a row of the value is longer than the second-level cache, or all that there is.
Value RowEmitter::isLongOrAlone(BodyEmitter &point, Value value) {
  Expr length = info.extents[*schedule.lane], rows(1);
  for (unsigned a : schedule.itemAxes)
    rows = rows * info.extents[a];
  Value bytes = point.emitExpr(length * Expr(value.getType().getIntOrFloatBitWidth() / 8));
  Value isAlone = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, point.emitExpr(rows), i64(1));
  return b.create<arith::OrIOp>(loc, isAlone, isMore(bytes, i64(f.isa.costs.secondCache)));
}

static Type lanesOf(const BodyEmitter &point, Type element) {
  return point.laneWidth() > 1 ? VectorType::get({point.laneWidth()}, element) : element;
}

void RowEmitter::loadCached(BodyEmitter &point) {
  for (const Cached &c : cached) {
    if (llvm::is_contained(keeping, c.value) || point.boundValue(c.value))
      continue;
    lower::Access access{nullptr, cachePointer(point, c), lanesOf(point, c.value.getType()), point.laneMask()};
    point.bindValue(c.value, f.hooks.load(b, loc, access, {}));
  }
}

void RowEmitter::storeCached(BodyEmitter &point) {
  for (const Cached &c : cached) {
    if (!llvm::is_contained(keeping, c.value))
      continue;
    Value v = point.emitLanes(c.value);
    lower::Access access{nullptr, cachePointer(point, c), v.getType(), point.laneMask()};
    f.hooks.store(b, loc, access, v);
  }
  constexpr unsigned line = 64, longRow = 4096;
  if (keeping.empty() || point.laneWidth() <= 1)
    return;
  Expr length = info.extents[*schedule.lane];
  if (f.isa.vectorBytes == line || length.constant().value_or(0) >= longRow)
    requestResults(point);
  else if (!length.constant())
    requestResults(point, isMore(point.emitExpr(length), i64(longRow - 1)));
  // The next row comes while this one's functions are computed, where the first cache has room for both: processors do not look ahead past the
  // end of a page, and what they find there the first pass would wait for. In shorter rows they have done so long before.
  constexpr int64_t mostOfPage = 3072;
  if (f.isa.vectorBytes == line && !schedule.laneIsParallel && !schedule.itemAxes.empty())
    requestRow(point, 1, mostOfPage, f.isa.costs.firstCache / 2);
}
