//===- Scan.cpp - Running combinations along an axis on a GPU --------------===//
//
// Where accesses run along another axis, a thread takes a row of its own and neighbours read neighbouring elements.
// Along the axis itself a warp or a block takes a row, piece by piece: a thread combines a few elements, warps combine
// theirs by shuffles, the warps of a block through shared memory, and the total of a piece is carried to the next one.
//
//===----------------------------------------------------------------------===//

#include "Combine.h"
#include "RowProgram.h"
#include "RowSchedule.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using lower::BodyInfo;
using shape::Expr;

constexpr unsigned threads = 256, warps = threads / 32;

namespace {

/// What all ways of running a scan know of it.
struct ScanProblem {
  kernel::ScanOp op;
  unsigned axis;
  int lane;                      ///< the axis along which accesses run
  unsigned width;                ///< elements of one access along the scanned axis
  SmallVector<unsigned> rowAxes; ///< all other axes; the lane axis, where it is among them, last
  Expr rows, size;
};

class ScanEmitter : public EntryEmitter {
public:
  ScanEmitter(KernelFrame &frame, const ScanProblem &p) : EntryEmitter(frame), p(p), op(p.op) {}
  void emitColumns();
  /// `unit`: threads per row, a warp or the block.
  void emitRows(unsigned unit);

private:
  Value combined(Value x, Value y) { return combine(d, op.getKind(), x, y); }
  Value identity() { return identityOf(d, op.getKind(), op.getType()); }
  void store(BodyEmitter &point);
  Values piece(Value row, Value first, Value turn, Value carry, unsigned unit);
  Value before(Value &total, Value carry, Value turn, unsigned unit);

  const ScanProblem &p;
  kernel::ScanOp op;
  Value size, tid, rowOk, totals;
};

} // namespace

void ScanEmitter::store(BodyEmitter &point) {
  for (Operation *o : info.ops)
    if (auto s = dyn_cast<kernel::StoreOp>(o))
      point.emitStore(s);
}

void ScanEmitter::emitColumns() {
  Value row = d.add(d.mul(d.wide(d.blockId()), threads), d.wide(d.threadId()));
  size = frame.size(p.size);
  d.when(d.less(row, frame.size(p.rows)), [&] {
    bindBatch(base, p.rowAxes, row);
    d.loop(d.i64(0), size, d.i64(1), Values{identity()}, [&](Value i, ValueRange carried) {
      BodyEmitter point = base;
      point.bindAxis(info.axes[p.axis], op.getReverse() ? d.sub(d.sub(size, i), d.i64(1)) : i);
      Value next = combined(carried[0], point.emit(op.getValue()));
      point.bindValue(op.getResult(), op.getExclusive() ? Value(carried[0]) : next);
      store(point);
      return Values{next};
    });
  });
}

/// What stands before a thread's elements, given their total; `total` becomes that of the whole piece with the carry.
Value ScanEmitter::before(Value &total, Value carry, Value turn, unsigned unit) {
  Value lane = d.bitAnd(tid, 31), upTo = total;
  for (unsigned by = 1; by < 32; by *= 2) {
    Value other = d.shuffleUp(upTo, by);
    upTo = d.select(d.less(lane, d.i32(by)), upTo, combined(other, upTo));
  }
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

/// Elements [first, first + unit * width) in the direction of the scan; the next carry.
Values ScanEmitter::piece(Value row, Value first, Value turn, Value carry, unsigned unit) {
  Value inUnit = unit == threads ? tid : d.bitAnd(tid, 31);
  Value at = d.add(first, d.wide(d.mul(inUnit, p.width))), inside = d.less(at, size);
  at = d.select(inside, at, d.i64(0));
  if (op.getReverse())
    at = d.sub(d.sub(size, at), d.i64(p.width));
  BodyEmitter point = base;
  point.bindLane(info.axes[p.axis], at, p.width);
  Value x = point.emitLanes(op.getValue());
  auto place = [&](unsigned i) { return op.getReverse() ? p.width - 1 - i : i; };
  auto element = [&](unsigned i) { return p.width > 1 ? d.extract(x, place(i)) : x; };
  Values upTo{d.select(inside, element(0), identity())};
  for (unsigned i = 1; i < p.width; ++i)
    upTo.push_back(combined(upTo.back(), d.select(inside, element(i), identity())));
  Value total = upTo.back(), start = before(total, carry, turn, unit), out = x;
  for (unsigned i = 0; i < p.width; ++i) {
    Value v = !op.getExclusive() ? combined(start, upTo[i]) : i ? combined(start, upTo[i - 1]) : start;
    out = p.width > 1 ? d.insert(out, v, place(i)) : v;
  }
  point.bindValue(op.getResult(), out);
  d.when(d.both(inside, rowOk), [&] {
    BodyEmitter stored = point;
    store(stored);
  });
  return {total, d.bitXor(turn, 1)};
}

void ScanEmitter::emitRows(unsigned unit) {
  tid = d.threadId();
  size = frame.size(p.size);
  totals = frame.sharedArray("totals", op.getType(), 2 * warps);
  Value rows = frame.size(p.rows), row = d.wide(d.blockId());
  if (unit < threads)
    row = d.add(d.mul(row, threads / unit), d.wide(d.div(tid, unit)));
  rowOk = d.less(row, rows);
  row = d.minU(row, d.sub(rows, d.i64(1))); // threads past the end go along, so that shuffles find everybody
  bindBatch(base, p.rowAxes, row);
  hooks.setLane(info.axes[p.axis], p.width);
  d.loop(d.i64(0), size, d.i64(int64_t(unit) * p.width), Values{identity(), d.i32(0)},
         [&](Value first, ValueRange carried) { return piece(row, first, carried[1], carried[0], unit); });
}

static ScanProblem problemOf(kernel::ScanOp op, const BodyInfo &info) {
  ScanProblem p{op, *info.axisIndex(op.getAxis()), -1, 1, {}, Expr(1), Expr(0)};
  AxisSet all = (AxisSet(1) << info.axes.size()) - 1;
  p.lane = chooseLane(info, {}, all);
  p.size = info.extents[p.axis];
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (a != p.axis) {
      p.rows = p.rows * info.extents[a];
      if (int(a) != p.lane)
        p.rowAxes.push_back(a);
    }
  if (p.lane >= 0 && p.lane != int(p.axis))
    p.rowAxes.push_back(p.lane);
  else if (p.lane >= 0)
    p.width = chooseWidth(info, p.lane, Divisibility(info));
  return p;
}

llvm::Expected<bool> cuda::generateScan(Generator &g) {
  kernel::GenericOp kernel = g.info.kernel;
  auto scans = kernel.getBody().front().getOps<kernel::ScanOp>();
  if (scans.empty())
    return false;
  ScanProblem p = problemOf(*scans.begin(), g.info);
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  plan.set(LATHE_CUDA_GRID + 1, 1);
  plan.set(LATHE_CUDA_GRID + 2, 1);
  plan.set(LATHE_CUDA_BLOCK, threads);
  auto add = [&](StringRef name, llvm::function_ref<void(ScanEmitter &)> emit) {
    KernelFrame frame(g.info, g.device, name, threads, g.sm, 0, g.dependent());
    ScanEmitter emitter(frame, p);
    emit(emitter);
    return g.addEntry(frame, name, emitter.error());
  };
  if (p.lane >= 0 && p.lane != int(p.axis)) {
    plan.set(LATHE_CUDA_GRID, plan.size(Expr::ceildiv(p.rows, threads)));
    if (llvm::Error e = add("scan_by_columns", [](ScanEmitter &e) { e.emitColumns(); }))
      return std::move(e);
    return true;
  }
  // Short rows take a warp each, where the length is open the plan chooses.
  std::optional<int64_t> size = p.size.constant();
  Value isLong = h.compare(arith::CmpIPredicate::sgt, plan.size(p.size), plan.constant(rowTuning.warpElements));
  Value byWarps = plan.size(Expr::ceildiv(p.rows, warps)), byBlocks = plan.size(p.rows);
  plan.set(LATHE_CUDA_GRID, h.select(isLong, byBlocks, byWarps));
  if (!size)
    plan.set(LATHE_CUDA_ENTRY, h.wide(h.b.create<arith::ExtUIOp>(h.loc, h.i32Type(), isLong)));
  if (!size || *size <= int64_t(rowTuning.warpElements))
    if (llvm::Error e = add("scan_by_warps", [](ScanEmitter &e) { e.emitRows(32); }))
      return std::move(e);
  if (!size || *size > int64_t(rowTuning.warpElements))
    if (llvm::Error e = add("scan_by_blocks", [](ScanEmitter &e) { e.emitRows(threads); }))
      return std::move(e);
  return true;
}
