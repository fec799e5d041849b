//===- Scatter.cpp - Updates at computed places on a CPU -------------------===//
//
// The data lie in the result already. Places that write elements of their own (rows that an index selects from, the
// columns of what it selects) are the parallel items; within one, updates are stored one after the other, so that the
// result does not depend on the number of threads. Where there are no such places to share out, every item has a part
// of the data: it reads all indices, lists those that fall into its part, and stores these, by way of queues (ScatterBuckets.h) where that is far.
//
//===----------------------------------------------------------------------===//

#include "../Rows/RowSchedule.h"
#include "ScatterBuckets.h"
#include "../VectorBuilder.h"
#include "lathe/Artifact/Format.h"
#include "lathe/Lower/ScatterUpdates.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::AxisSet;
using lower::BodyEmitter;
using shape::Expr;

/// How far ahead rows of the data are requested.
constexpr int64_t rowsAhead = 24;
/// Updates that are looked through before those of a part are stored: a branch for each would be guessed wrong every other time.
constexpr int64_t listed = 512;

static bool has(AxisSet set, unsigned axis) { return set >> axis & 1; }

namespace {

/// Which axes the items run over, which one vectors run along, and in which order the others nest.
struct ScatterSchedule {
  std::vector<unsigned> items, loops; ///< loops: outermost first, the lane axis is not among them
  std::optional<unsigned> lane;
  std::optional<unsigned> blocked; ///< the last of the loops: an item has `block` of its points
  int64_t block = 128;
  std::optional<lower::SharedIndex> part; ///< whose range the items share
  Expr places = Expr::unknown(); ///< elements that single updates of it may fall on; unknown: no queues
  Expr parts = 1;
};

class ScatterEmitter {
public:
  ScatterEmitter(KernelFunction &f, lower::ScatterUpdates updates, const lower::ScatterAxes &axes,
                 const ScatterSchedule &s)
      : f(f), info(f.info), b(f.b), loc(f.loc), v(f.b, f.loc, f.isa, f.b.getF32Type()), updates(updates), axes(axes), s(s) {}
  llvm::Error run(const KernelPlan &plan);

private:
  void throughQueues(BodyEmitter &outer, const Expr &scratchBytes);
  void emitUpdate(BodyEmitter &point);
  void request(BodyEmitter later, unsigned axis, Value number);
  void emitItem(BodyEmitter &outer, Value item);
  void nest(BodyEmitter &point, size_t depth);
  void nestListed(BodyEmitter &point, size_t depth);
  Value isStored(BodyEmitter &point);
  void ofPart(llvm::function_ref<void()> body);
  void whenStored(BodyEmitter &point, llvm::function_ref<void(BodyEmitter &)> then);
  void laneLoop(BodyEmitter &point);
  /// Neither the indices nor the predicate vary along the loops from this one on.
  bool isDecidedAt(size_t depth) const;

  KernelFunction &f;
  const lower::BodyInfo &info;
  OpBuilder &b;
  Location loc;
  VectorBuilder v;
  lower::ScatterUpdates updates;
  lower::ScatterAxes axes;
  const ScatterSchedule &s;
  Value blockFrom, blockTo;
  Value list; ///< numbers (i32) of a part's updates; null: the part is all there is
  ScatterBuckets *queues = nullptr;
  bool decided = false; ///< the branch around what is emitted now has seen to the predicate
};

} // namespace

//===----------------------------------------------------------------------===//
// The schedule
//===----------------------------------------------------------------------===//

/// The axis along which rows of the result are written that the indices do not tell apart.
static std::optional<unsigned> chooseLane(const lower::BodyInfo &info, lower::ScatterUpdates updates,
                                          const lower::ScatterAxes &axes) {
  for (unsigned a = 0; a < info.axes.size(); ++a) {
    std::optional<Expr::Linear> linear = info.exprOf(updates.store).linearIn(info.axes[a]);
    if (has(axes.own & ~axes.indexed, a) && linear && linear->coefficient.isOne() &&
        info.extents[a].constant().value_or(2) > 1)
      return a;
  }
  return std::nullopt;
}

static ScatterSchedule scheduleUpdates(const lower::BodyInfo &info, lower::ScatterUpdates updates,
                                const lower::ScatterAxes &axes) {
  ScatterSchedule s;
  s.lane = chooseLane(info, updates, axes);
  std::vector<unsigned> own, serial, inner;
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (a != s.lane && has(axes.all(), a))
      (has(axes.serial, a) ? serial : has(axes.indexed, a) ? own : inner).push_back(a);
  // Without vectors, places that are neighbours in memory stay inside, and everything else that is its own goes
  // outside.
  std::optional<unsigned> neighbours;
  if (!s.lane) {
    own.insert(own.end(), inner.begin(), inner.end());
    inner.clear();
    auto isNext = [&](unsigned a) {
      std::optional<Expr::Linear> linear = info.exprOf(updates.store).linearIn(info.axes[a]);
      return linear && linear->coefficient.isOne();
    };
    if (auto next = llvm::find_if(own, isNext); next != own.end()) {
      neighbours = *next;
      own.erase(next);
    }
  }
  s.items = own;
  s.loops = serial;
  s.loops.insert(s.loops.end(), inner.begin(), inner.end());
  if (neighbours)
    s.loops.push_back(*neighbours);
  if (!own.empty())
    return s;
  constexpr int64_t many = 1024, narrow = 32; // few points are shared out evenly by small blocks
  int64_t points = neighbours ? info.extents[*neighbours].constant().value_or(INT64_MAX) : 0;
  if (points < many)
    s.block = narrow;
  if (points >= 2 * s.block) {
    s.blocked = neighbours;
    s.parts = Expr::ceildiv(info.extents[*neighbours], s.block);
  } else {
    s.part = lower::widestIndex(updates);
    s.parts = s.part ? s.part->places : Expr(1);
    bool single = !s.lane && llvm::all_of(s.loops, [&](unsigned a) { return has(axes.indexed, a); });
    if (s.part && single && ScatterBuckets::takes(updates.update.getType()))
      s.places = lower::placesOf(updates, info);
  }
  return s;
}

/// 1 where threads are enough to share out updates of single elements.
static Expr areEnough(const Expr &threads) { return Expr::min(Expr::floordiv(threads, 4), 1); }

/// 1 where several threads are faster that all read all indices. That takes as long as an update of an element that a cache holds: what is stored has to be a row
/// of some length, or far from all caches; and then there have to be enough threads (4 million updates of 16 MB by one thread 18 ms, by two 22).
static Expr paysToShare(const lower::BodyInfo &info, lower::ScatterUpdates updates, const ScatterSchedule &s, const Expr &threads) {
  constexpr int64_t farBytes = 8 << 20, longRow = 64;
  if (s.lane)
    return Expr::min(Expr::floordiv(info.extents[*s.lane], longRow), 1);
  Expr places = lower::placesOf(updates, info);
  int64_t bytes = std::max<int64_t>(1, updates.update.getType().getIntOrFloatBitWidth() / 8);
  Expr isFar = places.isUnknown() ? Expr(1) : Expr::min(Expr::floordiv(places, farBytes / bytes), 1);
  return isFar * areEnough(threads);
}

static void plan(const lower::BodyInfo &info, lower::ScatterUpdates updates, const lower::ScatterAxes &axes,
                 const ScatterSchedule &s, const Expr &threads, KernelPlan &plan) {
  if (!s.places.isUnknown())
    plan.scratchBytes = ScatterBuckets::scratchBytes(s.places, updates.update.getType(), updates.combiner, Expr(1) + (threads - Expr(1)) * areEnough(threads));
  plan.items = s.parts;
  AxisSet shared = 0;
  for (unsigned a : s.items) {
    plan.items = plan.items * info.extents[a];
    shared |= AxisSet(1) << a;
  }
  Expr points(12);
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (has(axes.all() & ~shared, a))
      points = points * (a == s.blocked ? Expr::min(info.extents[a], s.block) : info.extents[a]);
  plan.cost = s.part ? Expr::ceildiv(points, Expr::max(s.parts, 1)) * paysToShare(info, updates, s, threads) : points;
  plan.flags = s.part ? LATHE_PLAN_WHOLE : 0; // each piece reads all indices
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

bool ScatterEmitter::isDecidedAt(size_t depth) const {
  return llvm::all_of(ArrayRef(s.loops).drop_front(depth), [&](unsigned a) { return !has(axes.indexed, a); });
}

/// Whether the update's place is in the data, and in the part, if there are several; null: it always is.
Value ScatterEmitter::isStored(BodyEmitter &point) {
  for (Value v : updates.store.getIndices())
    point.emit(v);
  Value stored = updates.predicate ? point.emit(updates.predicate) : Value();
  auto require = [&](Value c) { stored = stored ? b.create<arith::AndIOp>(loc, stored, c).getResult() : c; };
  if (list) {
    Value at = point.emit(s.part->index);
    require(b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, at, f.begin));
    require(b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, at, f.end));
  }
  return stored;
}

/// A branch: indices outside of the data are rare, and inside it nothing is masked.
void ScatterEmitter::whenStored(BodyEmitter &point, llvm::function_ref<void(BodyEmitter &)> then) {
  Value stored = isStored(point);
  OpBuilder::InsertionGuard guard(b);
  if (stored) {
    auto branch = b.create<scf::IfOp>(loc, stored, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  BodyEmitter inside = point;
  then(inside);
}

void ScatterEmitter::emitUpdate(BodyEmitter &point) {
  if (!queues)
    return point.emitStore(updates.store);
  SmallVector<Value> indices;
  for (Value index : updates.store.getIndices())
    indices.push_back(point.emit(index));
  queues->add(point.emitExpr(info.exprOf(updates.store), indices), point.emit(updates.update));
}

/// Requests the row that the update at `number` of the axis goes to: where they are far apart, each waits for memory.
void ScatterEmitter::request(BodyEmitter later, unsigned axis, Value number) {
  later.bindAxis(info.axes[axis], number);
  later.bindAxis(info.axes[*s.lane], v.i(0));
  SmallVector<Value> indices;
  for (Value index : updates.store.getIndices())
    indices.push_back(later.emit(index));
  Type type = updates.update.getType();
  Value data = f.refs[cast<BlockArgument>(updates.store.getRef()).getArgNumber()], place = later.emitExpr(info.exprOf(updates.store), indices);
  v.prefetch(data, place, type.isInteger(1) ? b.getI8Type() : type);
}

void ScatterEmitter::nest(BodyEmitter &point, size_t depth) {
  if (!decided && isDecidedAt(depth)) {
    decided = true;
    whenStored(point, [&](BodyEmitter &inside) { nest(inside, depth); });
    decided = false;
    return;
  }
  if (depth == s.loops.size()) {
    if (s.lane)
      laneLoop(point);
    else
      emitUpdate(point);
    return;
  }
  if (list && !decided && isDecidedAt(depth + 1))
    return nestListed(point, depth);
  unsigned axis = s.loops[depth];
  bool blocked = s.blocked == axis;
  Value from = blocked ? blockFrom : v.i(0), to = blocked ? blockTo : point.emitExpr(info.extents[axis]);
  v.loop(from, to, 1, [&](Value index) {
    if (s.lane && s.part && s.loops.size() == 1)
      request(point, axis, v.min(v.add(index, rowsAhead), v.sub(to, 1)));
    BodyEmitter inner = point;
    inner.bindAxis(info.axes[axis], index);
    nest(inner, depth + 1);
  });
}

/// The innermost loop that says where updates go: the numbers of those of the part first, which takes no branch, then these alone.
void ScatterEmitter::nestListed(BodyEmitter &point, size_t depth) {
  unsigned axis = s.loops[depth];
  Type i32 = b.getI32Type();
  auto numberOf = [&](Value first, Value k) {
    return v.add(first, b.create<arith::ExtUIOp>(loc, b.getI64Type(), b.create<LLVM::LoadOp>(loc, i32, v.at(list, k, i32), 4)));
  };
  Value size = point.emitExpr(info.extents[axis]);
  v.loop(v.i(0), size, listed, [&](Value first) {
    Value last = v.min(v.add(first, listed), size);
    Value count = v.loop(first, last, 1, {v.i(0)}, [&](Value index, VectorBuilder::Values carried) {
      BodyEmitter inner = point;
      inner.bindAxis(info.axes[axis], index);
      Value mine = isStored(inner);
      b.create<LLVM::StoreOp>(loc, b.create<arith::TruncIOp>(loc, i32, v.sub(index, first)), v.at(list, carried[0], i32), 4);
      return VectorBuilder::Values{v.add(carried[0], b.create<arith::ExtUIOp>(loc, b.getI64Type(), mine))};
    })[0];
    v.loop(v.i(0), count, 1, [&](Value k) {
      if (s.lane && s.loops.size() == 1)
        request(point, axis, numberOf(first, v.min(v.add(k, rowsAhead), v.sub(count, 1))));
      BodyEmitter inner = point;
      inner.bindAxis(info.axes[axis], numberOf(first, k));
      decided = true;
      nest(inner, depth + 1);
      decided = false;
    });
  });
}

/// The body for items that are all places, and for those that are a part of them.
void ScatterEmitter::ofPart(llvm::function_ref<void()> body) {
  if (!s.part)
    return body();
  Value numbers = b.create<LLVM::AllocaOp>(loc, LLVM::LLVMPointerType::get(b.getContext()), b.getI32Type(), v.i(listed), 64);
  Value isAll = b.create<arith::AndIOp>(loc, v.less(f.begin, v.i(1)), v.less(v.sub(f.emitExpr(s.part->places), 1), f.end));
  v.ifThen(isAll, body, [&] {
    list = numbers;
    body();
    list = {};
  });
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

void ScatterEmitter::laneLoop(BodyEmitter &point) {
  int64_t width = f.isa.lanes();
  Value extent = point.emitExpr(info.extents[*s.lane]);
  Value rest = b.create<arith::RemUIOp>(loc, extent, v.i(width));
  Value whole = b.create<arith::SubIOp>(loc, extent, rest);
  auto trips = [&](Value from, Value to, unsigned lanes, bool masked) {
    v.loop(from, to, lanes, [&](Value base) {
      BodyEmitter inner = point;
      inner.bindLane(info.axes[*s.lane], base, lanes, masked ? v.firstLanes(rest) : Value());
      inner.emitStore(updates.store);
    });
  };
  trips(v.i(0), whole, width, false);
  std::optional<int64_t> known = info.extents[*s.lane].constant();
  if (known && *known % width == 0)
    return;
  bool masked = masksRest(info, *s.lane, f.isa);
  trips(whole, extent, masked ? width : 1, masked);
}

//===----------------------------------------------------------------------===//
// Items
//===----------------------------------------------------------------------===//

void ScatterEmitter::emitItem(BodyEmitter &outer, Value item) {
  BodyEmitter point = outer;
  if (s.blocked) {
    Value extent = point.emitExpr(info.extents[*s.blocked]);
    blockFrom = b.create<arith::MulIOp>(loc, item, v.i(s.block));
    blockTo = b.create<arith::MinSIOp>(loc, b.create<arith::AddIOp>(loc, blockFrom, v.i(s.block)), extent);
  }
  bindItem(v, point, info, s.items, item);
  nest(point, 0);
}

void ScatterEmitter::throughQueues(BodyEmitter &outer, const Expr &scratchBytes) {
  Expr count(1);
  for (unsigned a : s.loops)
    count = count * info.extents[a];
  Value places = f.emitExpr(s.places), data = f.refs[cast<BlockArgument>(updates.store.getRef()).getArgNumber()];
  ScatterBuckets buckets(v, data, updates.update.getType(), updates.combiner);
  auto gathered = [&] {
    buckets.begin(f.scratch, f.emitExpr(scratchBytes), places);
    queues = &buckets;
    BodyEmitter point = outer;
    nest(point, 0);
    queues = nullptr;
    buckets.end();
  };
  v.ifThen(buckets.serves(places, f.emitExpr(count)), gathered, [&] { nest(outer, 0); });
}

llvm::Error ScatterEmitter::run(const KernelPlan &plan) {
  BodyEmitter outer(info, b, loc, f.sizes, f.refs, f.hooks);
  if (s.items.empty() && !s.blocked) // the range of items is a range of the data
    ofPart([&] {
      BodyEmitter point = outer;
      s.places.isUnknown() ? nest(point, 0) : throughQueues(point, plan.scratchBytes);
    });
  else
    v.loop(f.begin, f.end, 1, [&](Value item) { emitItem(outer, item); });
  if (!outer.error().empty())
    return bug("kernel '{0}': {1}", f.kernel.getName(), outer.error());
  return llvm::Error::success();
}

llvm::Expected<bool> cpu::emitScatter(KernelFunction &f, KernelPlan &kernelPlan) {
  if (!f.kernel->hasAttr("in_place"))
    return bug("kernel '{0}': a scatter's result does not lie where its data lie", f.kernel.getName());
  OpBuilder copies(f.kernel);
  auto copy = cast<kernel::GenericOp>(copies.clone(*f.kernel));
  auto erase = llvm::make_scope_exit([&] { copy.erase(); });
  lower::ScatterUpdates updates = lower::isolateUpdates(copy);
  lower::BodyInfo info(copy);
  KernelFunction inner{copy, info, f.isa, f.hooks, f.b, f.loc, f.refs, {}, f.begin, f.end, f.scratch};
  for (const std::string &s : info.sizes)
    inner.sizes.push_back(f.sizes[llvm::find(f.info.sizes, s) - f.info.sizes.begin()]);
  lower::ScatterAxes axes = lower::axesOf(updates, info);
  ScatterSchedule s = scheduleUpdates(info, updates, axes);
  Expr threads = f.run.empty() ? Expr(1) : Expr::symbol(runFacts[LATHE_FACT_THREADS]);
  plan(info, updates, axes, s, threads, kernelPlan);
  inner.run = f.run;
  if (llvm::Error e = ScatterEmitter(inner, updates, axes, s).run(kernelPlan))
    return std::move(e);
  return true;
}
