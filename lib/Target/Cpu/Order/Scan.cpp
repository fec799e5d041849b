//===- Scan.cpp - CPU code for running combinations along an axis ----------===//
//
// Each element is read once and written once. Where lanes run along another axis, every lane is a row of its own and
// carries its running value. Along the axis itself a vector is combined within itself in log2(lanes)
// steps, which do not wait for what comes before; only the carry (ScanCarry.h), one operation per vector, does.
//
//===----------------------------------------------------------------------===//

#include "../Combine.h"
#include "../Rows/RowSchedule.h"
#include "ScanCarry.h"
#include "ScanRows.h"
#include "../VectorBuilder.h"
#include "lathe/Artifact/Format.h"
#include "lathe/Lower/Divisibility.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using lower::BodyInfo;
using shape::Expr;

/// Rows side by side that an item takes at most, fewer where threads would have nothing to do, and vectors of them that carry their running
/// values in registers. Many rows are read and written in long runs through memory, some steps at a time.
constexpr unsigned rowsPerItem = 4096, fewestRows = 512, vectorsTogether = 4, stepsTogether = 4;
/// Fewer than so many do not share out where a step's shares meet in a line of the cache: it goes from one thread to the other at each step, which takes as long as
/// some thousand bytes (500 steps of 700 rows by two threads 70 us, by one 34).
constexpr unsigned fewestApart = 2048;
/// Bytes of a step from which on steps are taken together: of shorter ones several lie in a page, whose lines are then not requested ahead.
constexpr int64_t longRun = 2048;
/// Steps of many rows side by side that f32 carries well enough: what is wider is read from scratch memory beside it, and where memory is what is waited
/// for, each step reaches less far ahead (Sapphire Rapids: 500 steps of 700 rows 1.15 of the time). Some hundred steps are off by 20 to 30 units of
/// their largest sum's last place.
constexpr int64_t fewSteps = 1024;
/// Rows of fewer elements share vectors: of longer ones the last vector, which ends under a mask, is one of several.
constexpr int64_t shortRow = 96;

namespace {
class ScanEmitter {
public:
  ScanEmitter(KernelFunction &f, kernel::ScanOp op);
  llvm::Error run(KernelPlan &plan);

private:
  using Points = SmallVector<BodyEmitter, vectorsTogether>;
  using Values = VectorBuilder::Values;

  /// What there is of each row in scratch memory.
  enum class Running { Local, Base, HandedOn };
  Value runningPlace(Running which, Value c);
  Value loadRunning(Running which, Value c, unsigned width);
  void storeRunning(Value x, Running which, Value c) { f.b.create<LLVM::StoreOp>(f.loc, x, runningPlace(which, c), 1); }

  Expr blocks() const;
  bool sharesEndInLines() const;
  void wideBeyond(int64_t most, llvm::function_ref<void()> body);
  void emitItem(Value item);
  void emitRow(BodyEmitter &row);
  void emitColumns(BodyEmitter &row, Value block);
  void wideSteps(ArrayRef<BodyEmitter> points, Value from, Value c, unsigned width, Value mask);
  void stepsOfAll(const BodyEmitter &row, Value from, Value count, Value first, Value last, unsigned number, unsigned vectors);
  void wideLoop(const BodyEmitter &row, Value from, Value to);
  void columnLoop(const BodyEmitter &row, ArrayRef<Value> firsts, unsigned width, Value mask);
  void fewColumns(const BodyEmitter &row, Value from, Value to);
  void columnsTogether(const BodyEmitter &row, Value from, Value to, unsigned vectors);
  bool endsUnderMask() const { return masked && f.isa.maskedBytes; }
  Value step(BodyEmitter point, Value at, unsigned width, Value mask, Value base, Value carry);
  Value scalars(const BodyEmitter &row, Value from, Value to, Value carry);
  Value shifted(Value x, unsigned by);
  void finish(BodyEmitter &point, Value result);

  KernelFunction &f;
  const BodyInfo &info;
  kernel::ScanOp op;
  VectorBuilder v;
  RowSchedule s;
  unsigned axis;
  ScanCarry carries;
  bool masked = false;
  Value size; ///< of the axis
  BodyEmitter outer;
  std::vector<kernel::StoreOp> stores;
};
} // namespace

ScanEmitter::ScanEmitter(KernelFunction &f, kernel::ScanOp op)
    : f(f), info(f.info), op(op), v(f.b, f.loc, f.isa, f.b.getF32Type()), axis(*info.axisIndex(op.getAxis())),
      carries(v, op), outer(info, f.b, f.loc, f.sizes, f.refs, f.hooks) {
  int best = 0;
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (int score = laneScore(info, a); score > best || (score == best && score && a == axis)) {
      best = score;
      s.lane = a;
    }
  s.width = s.lane ? f.isa.lanes() : 1;
  s.laneIsParallel = s.lane && s.lane != axis;
  masked = s.lane && masksRest(info, *s.lane, f.isa);
  if (s.laneIsParallel)
    s.laneBlock = rowsPerItem;
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (a != axis && a != s.lane)
      s.itemAxes.push_back(a);
  for (Operation *o : info.ops)
    if (auto store = dyn_cast<kernel::StoreOp>(o))
      stores.push_back(store);
}

/// Whether rows' shares, side by side, end where lines of the cache do at each step along the axis.
bool ScanEmitter::sharesEndInLines() const {
  constexpr int64_t line = 64;
  return llvm::all_of(stores, [&](kernel::StoreOp store) {
    std::optional<Expr::Linear> step = info.exprOf(store).linearIn(info.axes[axis]);
    int64_t bytes = store.getValue().getType().getIntOrFloatBitWidth() / 8;
    return step && bytes && lower::Divisibility(info).divisorOf(step->coefficient * Expr(bytes), line) == line;
  });
}

/// Parts that the rows side by side are worked on in.
Expr ScanEmitter::blocks() const {
  const Expr &rows = info.extents[*s.lane];
  Expr threads = f.run.empty() ? Expr(1) : Expr::symbol(runFacts[LATHE_FACT_THREADS]);
  int64_t fewest = sharesEndInLines() ? fewestRows : fewestApart;
  return Expr::max(Expr::ceildiv(rows, rowsPerItem), Expr::min(Expr::ceildiv(rows, fewest), threads));
}

llvm::Error ScanEmitter::run(KernelPlan &plan) {
  planRows(info, s, plan);
  if (s.laneIsParallel) {
    plan.items = blocks();
    for (unsigned a : s.itemAxes)
      plan.items = plan.items * info.extents[a];
    bool handsOn = ScanCarry::widens(op) && info.extents[axis].constant().value_or(INT64_MAX) > fewSteps;
    unsigned bytes = std::max(1u, op.getType().getIntOrFloatBitWidth() / 8) + (handsOn ? 4 + 8 : 0); // a base in f32, what is handed on in f64
    plan.scratchBytes = Expr(rowsPerItem * bytes + 64);
  }
  size = outer.emitExpr(info.extents[axis]);
  auto oneByOne = [&] { v.loop(f.begin, f.end, 1, [&](Value item) { emitItem(item); }); };
  if (s.width > 1 && s.lane == axis && ScanRows::fits(info, op))
    v.ifThen(
        v.less(size, v.i(shortRow)), [&] { ScanRows(info, op, v, outer, s.width, masked).run(f.begin, f.end, size); }, oneByOne);
  else
    oneByOne();
  if (!outer.error().empty())
    return bug("kernel '{0}': {1}", f.kernel.getName(), outer.error());
  return llvm::Error::success();
}

/// What goes on for more than `most` elements hands on what is wide: the length is known, or the call has it.
void ScanEmitter::wideBeyond(int64_t most, llvm::function_ref<void()> body) {
  auto way = [&](bool isWide) {
    carries.widen(isWide);
    body();
  };
  std::optional<int64_t> known = info.extents[axis].constant();
  if (!ScanCarry::widens(op) || known)
    return way(known && *known > most);
  v.ifThen(
      v.less(v.i(most), size), [&] { way(true); }, [&] { way(false); });
}

void ScanEmitter::emitItem(Value item) {
  BodyEmitter row = outer;
  Value block;
  if (s.laneIsParallel)
    block = v.takeLast(item, f.emitExpr(blocks()));
  bindItem(v, row, info, s.itemAxes, item);
  if (s.laneIsParallel)
    emitColumns(row, block);
  else
    wideBeyond(ScanCarry::chunk * s.width, [&] { emitRow(row); });
}

void ScanEmitter::finish(BodyEmitter &point, Value result) {
  point.bindValue(op.getResult(), result);
  for (kernel::StoreOp store : stores)
    point.emitStore(store);
}

//===----------------------------------------------------------------------===//
// Lanes along the axis
//===----------------------------------------------------------------------===//

/// Lanes moved `by` places in the direction of the scan; the identity comes in. Of sums that is -0, not 0: to shift zeros into floats the code
/// generator takes AVX-512's expansions, which take longer on a Zen 5 than all the rest (a running sum in 4.3 of the time).
Value ScanEmitter::shifted(Value x, unsigned by) {
  SmallVector<int64_t> lanes;
  for (unsigned i = 0; i < s.width; ++i)
    if (op.getReverse())
      lanes.push_back(i + by < s.width ? i + by : s.width);
    else
      lanes.push_back(i >= by ? i - by : s.width);
  Value fill = carries.localIdentity(s.width);
  if (isa<FloatType>(op.getType()) && op.getKind() == kernel::Combiner::Add)
    fill = f.b.createOrFold<arith::NegFOp>(f.loc, fill);
  return f.b.create<vector::ShuffleOp>(f.loc, x, fill, lanes);
}

/// `width` elements from `at` on, `carry` before them on top of `base`; the next carry.
Value ScanEmitter::step(BodyEmitter point, Value at, unsigned width, Value mask, Value base, Value carry) {
  if (width == 1) {
    point.bindAxis(info.axes[axis], at);
    Value next = carries.both(carry, point.emit(op.getValue()));
    finish(point, carries.onTop(base, op.getExclusive() ? carry : next));
    return next;
  }
  point.bindLane(info.axes[axis], at, width, mask);
  Value x = point.emitLanes(op.getValue());
  if (mask)
    x = f.b.create<arith::SelectOp>(f.loc, mask, x, carries.localIdentity(width));
  for (unsigned by = 1; by < width; by *= 2)
    x = carries.both(shifted(x, by), x);
  SmallVector<int64_t> last(width, op.getReverse() ? 0 : width - 1);
  Value total = f.b.create<vector::ShuffleOp>(f.loc, x, x, last);
  finish(point, carries.both(carries.onTop(base, carry), op.getExclusive() ? shifted(x, 1) : x));
  return carries.both(carry, total);
}

/// One by one over [from, to), from the end where the scan goes there.
Value ScanEmitter::scalars(const BodyEmitter &row, Value from, Value to, Value carry) {
  return carries.loop(from, to, 1, 1, {carry}, [&](Value i, Values bases, Values carried) {
    Value at = op.getReverse() ? v.sub(v.sub(v.add(from, to), i), 1) : i;
    return Values{step(row, at, 1, {}, bases[0], carried[0])};
  })[0];
}

void ScanEmitter::emitRow(BodyEmitter &row) {
  Value carry = carries.wideIdentity(1);
  if (s.width == 1) {
    scalars(row, v.i(0), size, carry);
    return;
  }
  Value whole = v.roundDown(size, s.width);
  auto rest = [&] {
    if (!masked)
      return scalars(row, whole, size, carry);
    return carries.loop(whole, size, s.width, s.width, {carry}, [&](Value at, Values bases, Values carried) {
      return Values{step(row, at, s.width, v.firstLanes(v.sub(size, at)), bases[0], carried[0])};
    })[0];
  };
  if (op.getReverse())
    carry = rest();
  carry = carries.loop(v.i(0), whole, s.width, s.width, {carry}, [&](Value i, Values bases, Values carried) {
    Value at = op.getReverse() ? v.sub(v.sub(whole, i), s.width) : i;
    return Values{step(row, at, s.width, {}, bases[0], carried[0])};
  })[0];
  if (!op.getReverse())
    rest();
}

//===----------------------------------------------------------------------===//
// Lanes across rows
//===----------------------------------------------------------------------===//

/// Vectors of `width` rows from each of `firsts` on, along the whole axis; the last one under the mask, if there is one.
void ScanEmitter::columnLoop(const BodyEmitter &row, ArrayRef<Value> firsts, unsigned width, Value mask) {
  unsigned count = firsts.size();
  Points columns(count, row);
  for (unsigned i = 0; i < count; ++i)
    columns[i].bindLane(info.axes[*s.lane], firsts[i], width, i + 1 == count ? mask : Value());
  carries.loop(v.i(0), size, 1, width, Values(count, carries.wideIdentity(width)), [&](Value i, Values bases, Values carried) {
    Value at = op.getReverse() ? v.sub(v.sub(size, i), 1) : i;
    for (unsigned c = 0; c < count; ++c) {
      BodyEmitter point = columns[c];
      point.bindAxis(info.axes[axis], at);
      Value x = width > 1 ? point.emitLanes(op.getValue()) : point.emit(op.getValue()), next = carries.both(carried[c], x);
      finish(point, carries.onTop(bases[c], op.getExclusive() ? carried[c] : next));
      carried[c] = next;
    }
    return carried;
  });
}

/// No more rows than `vectors` vectors have, and one vector at least: together, the last vector over the last rows. Those that the one before
/// it has gone through already come to the same results again. Where masks have registers, it takes what is left under one.
void ScanEmitter::columnsTogether(const BodyEmitter &row, Value from, Value to, unsigned vectors) {
  Value count = v.sub(to, from);
  auto together = [&] {
    Values bases;
    for (unsigned i = 0; i + 1 < vectors; ++i)
      bases.push_back(v.add(from, int64_t(i * s.width)));
    int64_t before = int64_t(vectors - 1) * s.width;
    bases.push_back(endsUnderMask() ? v.add(from, before) : v.sub(to, int64_t(s.width)));
    columnLoop(row, bases, s.width, endsUnderMask() ? v.firstLanes(v.sub(count, before)) : Value());
  };
  if (vectors == vectorsTogether)
    return together();
  v.ifThen(
      v.less(v.i(vectors * s.width), count), [&] { columnsTogether(row, from, to, vectors + 1); }, together);
}

/// No more rows than vectorsTogether vectors have.
void ScanEmitter::fewColumns(const BodyEmitter &row, Value from, Value to) {
  Value count = v.sub(to, from), whole = v.add(from, v.roundDown(count, s.width));
  if (endsUnderMask())
    return columnsTogether(row, from, to, 1);
  auto oneByOne = [&] {
    v.loop(from, whole, s.width, [&](Value base) { columnLoop(row, base, s.width, {}); });
    if (masked)
      v.loop(whole, to, s.width, [&](Value base) { columnLoop(row, base, s.width, v.firstLanes(v.sub(to, base))); });
    else
      v.loop(whole, to, 1, [&](Value base) { columnLoop(row, base, 1, {}); });
  };
  if (f.kernel->hasAttr("in_place")) { // no result twice
    Values bases;
    for (unsigned i = 0; i < vectorsTogether; ++i)
      bases.push_back(v.add(from, int64_t(i * s.width)));
    return v.ifThen(
        v.equal(count, v.i(s.width * vectorsTogether)), [&] { columnLoop(row, bases, s.width, {}); }, oneByOne);
  }
  v.ifThen(
      v.less(count, v.i(s.width)), oneByOne, [&] { columnsTogether(row, from, to, 1); });
}

/// Where a row's part is: the bases behind the local values, and what is handed on behind both, which are half as wide.
Value ScanEmitter::runningPlace(Running which, Value c) {
  Type type = which == Running::HandedOn ? carries.wideType() : carries.localType();
  return v.at(f.scratch, which == Running::Local ? c : v.add(c, int64_t(rowsPerItem)), type);
}

Value ScanEmitter::loadRunning(Running which, Value c, unsigned width) {
  Type type = which == Running::HandedOn ? carries.wideType() : carries.localType();
  return f.b.create<LLVM::LoadOp>(f.loc, width > 1 ? Type(VectorType::get({width}, type)) : type, runningPlace(which, c), 1);
}

/// One vector of rows, `points` steps along the axis: its running value is in a register for so long.
void ScanEmitter::wideSteps(ArrayRef<BodyEmitter> points, Value from, Value c, unsigned width, Value mask) {
  Value carry = loadRunning(Running::Local, c, width), base = carries.isWide() ? loadRunning(Running::Base, c, width) : Value();
  for (BodyEmitter point : points) {
    point.bindLane(info.axes[*s.lane], v.add(from, c), width, mask);
    Value next = carries.both(carry, width > 1 ? point.emitLanes(op.getValue()) : point.emit(op.getValue()));
    finish(point, carries.onTop(base, op.getExclusive() ? carry : next));
    carry = next;
  }
  storeRunning(carry, Running::Local, c);
}

/// Steps [first, last) of `count` rows, `number` of them at a time, and so many vectors of rows a trip.
void ScanEmitter::stepsOfAll(const BodyEmitter &row, Value from, Value count, Value first, Value last, unsigned number, unsigned vectors) {
  Value whole = v.roundDown(count, s.width), together = v.roundDown(count, vectors * s.width);
  v.loop(first, last, number, [&](Value begin) {
    Points points(number, row);
    for (auto [k, point] : llvm::enumerate(points)) {
      Value i = v.add(begin, int64_t(k));
      point.bindAxis(info.axes[axis], op.getReverse() ? v.sub(v.sub(size, i), 1) : i);
    }
    v.loop(v.i(0), together, vectors * s.width, [&](Value c) {
      for (unsigned k = 0; k < vectors; ++k)
        wideSteps(points, from, v.add(c, int64_t(k * s.width)), s.width, {});
    });
    v.loop(together, whole, s.width, [&](Value c) { wideSteps(points, from, c, s.width, {}); });
    if (masked)
      v.loop(whole, count, s.width, [&](Value c) { wideSteps(points, from, c, s.width, v.firstLanes(v.sub(count, c))); });
    else
      v.loop(whole, count, 1, [&](Value c) { wideSteps(points, from, c, 1, {}); });
  });
}

/// Many rows side by side go along the axis together, so that memory is passed through in its order; their running
/// values lie in scratch memory, and are handed on there after each chunk of steps.
void ScanEmitter::wideLoop(const BodyEmitter &row, Value from, Value to) {
  Value count = v.sub(to, from);
  Value isLong = v.less(v.i(longRun / std::max(1u, op.getType().getIntOrFloatBitWidth() / 8)), count);
  auto steps = [&](Value first, Value last) {
    Value fours = v.select(isLong, v.add(first, v.roundDown(v.sub(last, first), stepsTogether)), first);
    stepsOfAll(row, from, count, first, fours, stepsTogether, 1);
    stepsOfAll(row, from, count, fours, last, 1, vectorsTogether);
  };
  if (!carries.isWide()) {
    v.loop(v.i(0), count, s.width, [&](Value c) { storeRunning(carries.localIdentity(s.width), Running::Local, c); });
    return steps(v.i(0), size);
  }
  auto handOn = [&](Value c, Value handedOn) {
    storeRunning(handedOn, Running::HandedOn, c);
    storeRunning(carries.baseOf(handedOn, s.width), Running::Base, c);
    storeRunning(carries.localIdentity(s.width), Running::Local, c);
  };
  v.loop(v.i(0), count, s.width, [&](Value c) { handOn(c, carries.wideIdentity(s.width)); });
  v.loop(v.i(0), size, ScanCarry::chunk, [&](Value first) {
    steps(first, v.min(v.add(first, ScanCarry::chunk), size));
    v.loop(v.i(0), count, s.width, [&](Value c) {
      handOn(c, carries.combined(loadRunning(Running::HandedOn, c, s.width), loadRunning(Running::Local, c, s.width)));
    });
  });
}

void ScanEmitter::emitColumns(BodyEmitter &row, Value block) {
  Value extent = row.emitExpr(info.extents[*s.lane]);
  // Blocks of one size, but for the last.
  Value share = v.ceilDiv(extent, f.emitExpr(blocks()));
  share = v.mul(v.ceilDiv(share, int64_t(s.width)), int64_t(s.width));
  Value from = v.min(v.mul(block, share), extent), to = v.min(v.add(from, share), extent), count = v.sub(to, from);
  v.ifThen(
      v.less(v.i(s.width * vectorsTogether), count), [&] { wideBeyond(fewSteps, [&] { wideLoop(row, from, to); }); },
      [&] { wideBeyond(ScanCarry::chunk, [&] { fewColumns(row, from, to); }); });
}

llvm::Error lathe::cpu::emitScan(KernelFunction &f, KernelPlan &plan) {
  for (Operation *o : f.info.ops)
    if (auto scan = dyn_cast<kernel::ScanOp>(o))
      return ScanEmitter(f, scan).run(plan);
  return bug("kernel '{0}' has no scan", f.kernel.getName());
}
