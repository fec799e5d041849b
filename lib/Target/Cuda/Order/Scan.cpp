//===- Scan.cpp - Running combinations along an axis on a GPU --------------===//
//
// Where accesses run along another axis, a thread takes a row of its own and neighbours read neighbouring elements.
// Along the axis itself a warp or a block takes a row, piece by piece: a thread combines a few elements, warps combine
// theirs by shuffles, the warps of a block through shared memory, and the total of a piece is carried to the next one.
//
// Rows too few to fill the machine are cut into chunks: one launch combines each chunk, the next one begins each with
// what all chunks before it come to. Who combines what depends on sizes and the device alone, so every run gives the
// same bits.
//
//===----------------------------------------------------------------------===//

#include "../Combine.h"
#include "../Rows/RowProgram.h"
#include "lathe/Schedule/ThreadRows.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using lower::BodyInfo;
using shape::Expr;

constexpr unsigned threads = 256, warps = threads / 32;
/// Threads of a block of columns that are cut into chunks, and elements whose loads are in flight together.
constexpr unsigned columnThreads = 64, ahead = 8;
/// A chunk is a multiple of so many elements, for each column or each lane of a block's access.
constexpr int64_t leastColumnChunk = 32, leastRowPieces = 4;
/// Blocks that a multiprocessor wants of rows, threads that it wants of columns, and chunks that each of them may read
/// back.
constexpr int64_t blocksPerProcessor = 4, threadsPerProcessor = 1024, mostColumnChunks = 128;

namespace {

/// What all ways of running a scan know of it.
struct ScanProblem {
  kernel::ScanOp op;
  unsigned axis;
  int lane;                      ///< the axis along which accesses run
  unsigned width;                ///< elements of one access along the scanned axis
  SmallVector<unsigned> rowAxes; ///< all other axes; the lane axis, where it is among them, last
  Expr rows, size;
  bool byColumns() const { return lane >= 0 && lane != int(axis); }
  int64_t leastChunk() const { return byColumns() ? leastColumnChunk : leastRowPieces * threads * width; }
  int64_t bytes() const { return std::max(1u, kernel::ScanOp(op).getType().getIntOrFloatBitWidth() / 8); }
};

/// What a launch does of a scan: all, each chunk's total, or each chunk from what is before it on.
enum class Part { Whole, Totals, Chunks };

class ScanEmitter : public EntryEmitter {
public:
  ScanEmitter(KernelFrame &frame, const ScanProblem &p) : EntryEmitter(frame), p(p), op(p.op) {}
  void emitColumns(Part part);
  /// `unit`: threads per row, a warp or the block.
  void emitRows(unsigned unit, Part part);

private:
  Value identity() { return identityOf(d, op.getKind(), op.getType()); }
  Value combined(Value x, Value y) { return combine(d, op.getKind(), x, y); }
  void store(BodyEmitter &point);
  Value total(Value row, Value chunk);
  void findChunk(Value index, Value groups);
  Value alongColumn(Value from, Value to, Value carry, bool stores);
  Value beforeColumn(Value row);
  Value before(Value &total, Value carry, Value turn, unsigned unit);
  Value beforeChunk(Value row);
  Value totalOfRow(Value from, Value to);
  SmallVector<Value> elementsAt(Value at, Value inside, BodyEmitter &point, Value &lanes);
  Value placeOf(Value first, unsigned unit, Value &inside);
  Values piece(Value first, Value turn, Value carry, unsigned unit);
  unsigned place(unsigned i) const { return kernel::ScanOp(op).getReverse() ? p.width - 1 - i : i; }

  const ScanProblem &p;
  kernel::ScanOp op;
  Value size, tid, rowOk, totals;
  Value chunks, chunk, group, from, to; ///< of this block: [from, to) in the direction of the scan
};

} // namespace

void ScanEmitter::store(BodyEmitter &point) {
  for (Operation *o : info.ops)
    if (auto s = dyn_cast<kernel::StoreOp>(o))
      point.emitStore(s);
}

/// Where a chunk's total lies: those of neighbouring columns side by side, and those of a row.
Value ScanEmitter::total(Value row, Value chunk) {
  Value index = p.byColumns() ? d.add(d.mul(chunk, frame.size(p.rows)), row) : d.add(d.mul(row, chunks), chunk);
  return d.at(frame.scratch(), index, op.getType());
}

/// The launch has `groups` blocks for each chunk.
void ScanEmitter::findChunk(Value block, Value groups) {
  chunks = d.div(d.wide(d.gridSize()), groups);
  chunk = d.rem(block, chunks);
  group = d.div(block, chunks);
  Value length = d.mul(d.ceilDiv(d.ceilDiv(size, chunks), p.leastChunk()), p.leastChunk());
  from = d.minU(d.mul(chunk, length), size);
  to = d.minU(d.add(from, length), size);
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// Elements [from, to) of the thread's column, some loads ahead of what is combined; what they come to with the carry.
Value ScanEmitter::alongColumn(Value from, Value to, Value carry, bool stores) {
  Value last = d.sub(to, d.i64(1));
  return d.loop(from, to, d.i64(ahead), Values{carry}, [&](Value first, ValueRange carried) {
    SmallVector<BodyEmitter> points;
    Values elements, inside;
    for (unsigned i = 0; i < ahead; ++i) {
      Value at = d.add(first, i);
      inside.push_back(d.less(at, to));
      at = d.minU(at, last);
      points.push_back(base);
      points.back().bindAxis(info.axes[p.axis], op.getReverse() ? d.sub(d.sub(size, at), d.i64(1)) : at);
      elements.push_back(points.back().emit(op.getValue()));
    }
    Value now = carried[0];
    for (unsigned i = 0; i < ahead; ++i) {
      Value next = combined(now, elements[i]);
      if (stores) {
        points[i].bindValue(op.getResult(), op.getExclusive() ? now : next);
        d.when(inside[i], [&] {
          BodyEmitter point = points[i];
          store(point);
        });
      }
      now = d.select(inside[i], next, now);
    }
    return Values{now};
  })[0];
}

/// What all chunks before this one come to, in a column.
Value ScanEmitter::beforeColumn(Value row) {
  return d.loop(d.i64(0), chunk, d.i64(ahead), Values{identity()}, [&](Value first, ValueRange carried) {
    Values loaded;
    for (unsigned i = 0; i < ahead; ++i)
      loaded.push_back(d.load(op.getType(), total(row, d.minU(d.add(first, i), d.sub(chunk, d.i64(1)))), p.bytes()));
    Value now = carried[0];
    for (unsigned i = 0; i < ahead; ++i)
      now = d.select(d.less(d.add(first, i), chunk), combined(now, loaded[i]), now);
    return Values{now};
  })[0];
}

void ScanEmitter::emitColumns(Part part) {
  size = frame.size(p.size);
  Value block = d.wide(d.blockId()), rows = frame.size(p.rows);
  if (part == Part::Whole) {
    group = block;
    from = d.i64(0);
    to = size;
  } else {
    findChunk(block, d.ceilDiv(rows, frame.threads));
  }
  Value row = d.add(d.mul(group, frame.threads), d.wide(d.threadId()));
  d.when(d.less(row, rows), [&] {
    bindBatch(base, p.rowAxes, row);
    Value carry = part == Part::Chunks ? beforeColumn(row) : identity();
    Value all = alongColumn(from, to, carry, part != Part::Totals);
    if (part == Part::Totals)
      d.store(all, total(row, chunk), p.bytes());
  });
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// What stands before a thread's elements, given their total; `total` becomes that of the whole piece with the carry.
Value ScanEmitter::before(Value &total, Value carry, Value turn, unsigned unit) {
  Value lane = d.bitAnd(tid, 31), upTo = d.combineUpTo(total, lane, [&](Value before, Value x) { return combined(before, x); });
  Value inWarp = d.select(d.equal(lane, 0), identity(), d.shuffleUp(upTo, 1));
  Type element = op.getType();
  unsigned bytes = std::max(1u, element.getIntOrFloatBitWidth() / 8);
  // Two sets of slots, so that a piece does not wait for the readers of the one before it.
  Value slots = d.at(totals, d.mul(turn, warps), element), warp = d.div(tid, 32);
  d.when(d.equal(lane, 31), [&] { d.store(upTo, d.at(slots, warp, element), bytes); });
  if (unit == threads)
    d.barrier();
  else
    d.ptx("bar.warp.sync 0xffffffff;");
  Value start = carry;
  total = carry;
  if (unit == 32) {
    total = combined(carry, d.load(element, d.at(slots, warp, element), bytes));
    return combined(start, inWarp);
  }
  for (unsigned w = 0; w < warps; ++w) {
    total = combined(total, d.load(element, d.at(slots, d.i32(w), element), bytes));
    if (w + 1 < warps)
      start = d.select(d.less(d.i32(w), warp), total, start);
  }
  return combined(start, inWarp);
}

/// Where the thread's elements of a piece begin in memory, of the `unit` threads that share it.
Value ScanEmitter::placeOf(Value first, unsigned unit, Value &inside) {
  Value inUnit = unit == threads ? tid : d.bitAnd(tid, 31);
  Value at = d.add(first, d.wide(d.mul(inUnit, p.width)));
  inside = d.less(at, to);
  at = d.select(inside, at, d.i64(0));
  return op.getReverse() ? d.sub(d.sub(size, at), d.i64(p.width)) : at;
}

/// The thread's elements in the direction of the scan; those outside change nothing. `lanes`: as they lie in memory.
SmallVector<Value> ScanEmitter::elementsAt(Value at, Value inside, BodyEmitter &point, Value &lanes) {
  point.bindLane(info.axes[p.axis], at, p.width);
  lanes = point.emitLanes(op.getValue());
  SmallVector<Value> out;
  for (unsigned i = 0; i < p.width; ++i)
    out.push_back(d.select(inside, p.width > 1 ? d.extract(lanes, place(i)) : lanes, identity()));
  return out;
}

/// Elements [first, first + unit * width) in the direction of the scan; the next carry.
Values ScanEmitter::piece(Value first, Value turn, Value carry, unsigned unit) {
  BodyEmitter point = base;
  Value inside, x, at = placeOf(first, unit, inside);
  SmallVector<Value> upTo = elementsAt(at, inside, point, x);
  for (unsigned i = 1; i < p.width; ++i)
    upTo[i] = combined(upTo[i - 1], upTo[i]);
  Value total = upTo.back(), start = before(total, carry, turn, unit), out = x;
  for (unsigned i = 0; i < p.width; ++i) {
    Value v = !op.getExclusive() ? combined(start, upTo[i]) : i ? combined(start, upTo[i - 1]) : start;
    out = p.width > 1 ? d.insert(out, v, place(i)) : v;
  }
  point.bindValue(op.getResult(), out);
  d.when(rowOk ? d.both(inside, rowOk) : inside, [&] {
    BodyEmitter stored = point;
    store(stored);
  });
  return {total, d.bitXor(turn, 1)};
}

/// The thread's part of what all chunks before this one come to.
Value ScanEmitter::beforeChunk(Value row) {
  return d.loop(d.wide(tid), chunk, d.i64(threads), Values{identity()}, [&](Value i, ValueRange carried) {
    return Values{combined(carried[0], d.load(op.getType(), total(row, i), p.bytes()))};
  })[0];
}

/// The thread's part of what the elements [from, to) come to.
Value ScanEmitter::totalOfRow(Value from, Value to) {
  return d.loop(from, to, d.i64(int64_t(threads) * p.width), Values{identity()}, [&](Value first, ValueRange carried) {
    BodyEmitter point = base;
    Value inside, lanes, at = placeOf(first, threads, inside), now = carried[0];
    for (Value x : elementsAt(at, inside, point, lanes))
      now = combined(now, x);
    return Values{now};
  })[0];
}

void ScanEmitter::emitRows(unsigned unit, Part part) {
  tid = d.threadId();
  size = to = frame.size(p.size);
  from = d.i64(0);
  totals = frame.sharedArray("totals", op.getType(), 2 * warps);
  Value rows = frame.size(p.rows), row = d.wide(d.blockId());
  if (part != Part::Whole) {
    findChunk(row, rows);
    row = group;
  } else if (unit < threads) {
    row = d.add(d.mul(row, threads / unit), d.wide(d.div(tid, unit)));
    rowOk = d.less(row, rows);
    row = d.minU(row, d.sub(rows, d.i64(1))); // threads past the end go along, so that shuffles find everybody
  }
  bindBatch(base, p.rowAxes, row);
  hooks.setLane(info.axes[p.axis], p.width);
  Value carry = identity(), turn = d.i32(0);
  if (part == Part::Totals) {
    Value all = totalOfRow(from, to);
    before(all, carry, turn, threads);
    d.when(d.equal(tid, 0), [&] { d.store(all, total(row, chunk), p.bytes()); });
    return;
  }
  if (part == Part::Chunks) {
    Value all = beforeChunk(row);
    before(all, carry, turn, threads);
    carry = all;
    turn = d.i32(1);
  }
  d.loop(from, to, d.i64(int64_t(unit) * p.width), Values{carry, turn},
         [&](Value first, ValueRange carried) { return piece(first, carried[1], carried[0], unit); });
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

static ScanProblem problemOf(kernel::ScanOp op, const BodyInfo &info, const lower::Divisibility &known) {
  ScanProblem p{op, *info.axisIndex(op.getAxis()), -1, 1, {}, Expr(1), Expr(0)};
  lower::AxisSet all = (lower::AxisSet(1) << info.axes.size()) - 1;
  p.lane = schedule::chooseLane(info, {}, all);
  p.size = info.extents[p.axis];
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (a != p.axis) {
      p.rows = p.rows * info.extents[a];
      if (int(a) != p.lane)
        p.rowAxes.push_back(a);
    }
  if (p.byColumns())
    p.rowAxes.push_back(p.lane);
  else if (p.lane >= 0)
    p.width = schedule::chooseWidth(info, p.lane, known);
  return p;
}

namespace {

/// Adds the entry points for sizes that are what `known` says, and plans their launches.
class ScanPlanner {
public:
  ScanPlanner(Generator &g, kernel::ScanOp op, const lower::Divisibility &known)
      : g(g), plan(g.plan), h(plan.d), known(known), p(problemOf(op, g.info, known)) {}
  llvm::Expected<LaunchWords> columns();
  llvm::Expected<LaunchWords> rows();
  bool byColumns() const { return p.byColumns(); }

private:
  llvm::Error add(StringRef name, unsigned threads, llvm::function_ref<void(ScanEmitter &)> emit);
  LaunchWords whole(Value grid);
  LaunchWords inChunks(Value wanted, Expr groups, unsigned threads, Value &several);
  bool mayBeCut() const { return p.size.constant().value_or(INT64_MAX) > p.leastChunk(); }

  Generator &g;
  PlanFunction &plan;
  DeviceBuilder &h;
  lower::Divisibility known;
  ScanProblem p;
};

} // namespace

llvm::Error ScanPlanner::add(StringRef base, unsigned threads, llvm::function_ref<void(ScanEmitter &)> emit) {
  std::string name = base.str();
  if (llvm::is_contained(g.entries, name))
    name += "_any";
  KernelFrame frame(g.info, g.device, name, threads, g.sm, 0, g.dependent());
  frame.known = known;
  ScanEmitter emitter(frame, p);
  emit(emitter);
  return g.addEntry(frame, name, emitter.error());
}

/// The entry point that is added next takes all rows.
LaunchWords ScanPlanner::whole(Value grid) {
  Value none = plan.constant(0);
  return {plan.constant(g.entries.size()), grid, plan.constant(threads), none, none, none};
}

/// The entry points that are added next take rows in chunks: as many as are `wanted`, but none that is too short to be
/// one.
LaunchWords ScanPlanner::inChunks(Value wanted, Expr groups, unsigned threads, Value &several) {
  int64_t least = p.leastChunk();
  Value one = plan.constant(1), size = plan.size(p.size), rows = plan.size(p.rows);
  auto atLeastOne = [&](Value v) { return h.b.create<arith::MaxSIOp>(h.loc, v, one).getResult(); };
  Value length = h.mul(h.ceilDiv(h.ceilDiv(size, atLeastOne(wanted)), least), least);
  Value chunks = h.ceilDiv(size, atLeastOne(length));
  several = h.both(h.less(one, chunks), h.less(plan.constant(0), rows));
  Value grid = h.mul(plan.size(groups), chunks), entry = plan.constant(g.entries.size());
  return {entry, grid, plan.constant(threads), h.add(entry, 1), grid, h.mul(h.mul(rows, chunks), p.bytes())};
}

llvm::Expected<LaunchWords> ScanPlanner::columns() {
  LaunchWords launch = whole(plan.size(Expr::ceildiv(p.rows, threads)));
  if (llvm::Error e = add("scan_by_columns", threads, [](ScanEmitter &e) { e.emitColumns(Part::Whole); }))
    return std::move(e);
  if (!mayBeCut())
    return launch;
  Value rows = plan.size(Expr::max(Expr(1), p.rows)), several;
  Value wanted =
      h.minU(h.ceilDiv(h.mul(plan.processors(), threadsPerProcessor), rows), plan.constant(mostColumnChunks));
  LaunchWords cut = inChunks(wanted, Expr::ceildiv(p.rows, columnThreads), columnThreads, several);
  for (auto [name, part] :
       {std::pair("scan_columns_totals", Part::Totals), std::pair("scan_columns_chunks", Part::Chunks)})
    if (llvm::Error e = add(name, columnThreads, [part = part](ScanEmitter &e) { e.emitColumns(part); }))
      return std::move(e);
  return cut.orElse(h, several, launch);
}

/// Short rows take a warp each, long ones a block or, where these are few, several blocks; the plan chooses where sizes
/// are open.
llvm::Expected<LaunchWords> ScanPlanner::rows() {
  std::optional<int64_t> size = p.size.constant();
  std::optional<LaunchWords> launch;
  Value isShort = h.compare(arith::CmpIPredicate::sle, plan.size(p.size), plan.constant(schedule::rowTuning.warpElements));
  if (!size || *size > int64_t(schedule::rowTuning.warpElements)) {
    launch = whole(plan.size(p.rows));
    if (llvm::Error e = add("scan_by_blocks", threads, [](ScanEmitter &e) { e.emitRows(threads, Part::Whole); }))
      return std::move(e);
  }
  if (mayBeCut()) {
    Value several, rows = plan.size(Expr::max(Expr(1), p.rows));
    LaunchWords cut = inChunks(h.ceilDiv(h.mul(plan.processors(), blocksPerProcessor), rows), p.rows, threads, several);
    for (auto [name, part] : {std::pair("scan_rows_totals", Part::Totals), std::pair("scan_rows_chunks", Part::Chunks)})
      if (llvm::Error e = add(name, threads, [part = part](ScanEmitter &e) { e.emitRows(threads, part); }))
        return std::move(e);
    launch = cut.orElse(h, several, *launch);
  }
  if (!size || *size <= int64_t(schedule::rowTuning.warpElements)) {
    LaunchWords byWarps = whole(plan.size(Expr::ceildiv(p.rows, warps)));
    if (llvm::Error e = add("scan_by_warps", threads, [](ScanEmitter &e) { e.emitRows(32, Part::Whole); }))
      return std::move(e);
    launch = launch ? byWarps.orElse(h, isShort, *launch) : byWarps;
  }
  return *launch;
}

llvm::Expected<bool> cuda::generateScan(Generator &g) {
  kernel::GenericOp kernel = g.info.kernel;
  auto scans = kernel.getBody().front().getOps<kernel::ScanOp>();
  if (scans.empty())
    return false;
  kernel::ScanOp op = *scans.begin();
  PlanFunction &plan = g.plan;
  lower::Divisibility nothing(g.info), wide(g.info);
  auto add = [&](const lower::Divisibility &known) {
    ScanPlanner planner(g, op, known);
    return planner.byColumns() ? planner.columns() : planner.rows();
  };
  ScanPlanner any(g, op, nothing);
  if (!any.byColumns())
    schedule::assumeWide(g.info, schedule::chooseLane(g.info, {}, (lower::AxisSet(1) << g.info.axes.size()) - 1), wide);
  llvm::Expected<LaunchWords> launch = add(wide);
  if (launch && !wide.conditions().empty()) {
    LaunchWords ofWide = *launch;
    launch = add(nothing);
    if (launch)
      launch = ofWide.orElse(plan.d, plan.holds(wide), *launch);
  }
  if (!launch)
    return launch.takeError();
  plan.launch(launch->entry, launch->grid, launch->block);
  plan.set(LATHE_CUDA_SCRATCH, launch->scratch);
  plan.follow(launch->next, launch->nextGrid, launch->block);
  return true;
}
