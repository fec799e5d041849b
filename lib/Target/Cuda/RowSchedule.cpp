//===- RowSchedule.cpp - How a row program is laid on threads --------------===//

#include "RowSchedule.h"
#include "DeviceHooks.h"
#include "RowLevels.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyInfo;
using shape::Expr;

const RowTuning cuda::rowTuning;

Expr cuda::extentOf(const BodyInfo &info, AxisSet axes) {
  Expr e(1);
  for (unsigned i = 0; i < info.axes.size(); ++i)
    if (contains(axes, i))
      e = e * info.extents[i];
  return e;
}

/// Calls f(op, element type) for every access of the body, those of a score region included.
static void forEachAccess(const BodyInfo &info, llvm::function_ref<void(Operation *, Type)> f) {
  for (Operation *op : info.ops) {
    if (auto load = dyn_cast<kernel::LoadOp>(op))
      f(op, load.getRef().getType().getElementType());
    if (auto store = dyn_cast<kernel::StoreOp>(op))
      f(op, store.getRef().getType().getElementType());
  }
}

int cuda::chooseLane(const BodyInfo &info, ArrayRef<Operation *> roots, AxisSet among, AxisSet reduced) {
  constexpr int many = 16;
  constexpr int64_t shortest = 8; // a window's side is no lane
  std::vector<int> score(info.axes.size());
  forEachAccess(info, [&](Operation *op, Type) {
    int weight = (isa<kernel::StoreOp>(op) ? 2 : 1) * (info.axesOf(info.exprOf(op)) & reduced ? many : 1);
    // Places of a window overlap: along the result's axis their elements lie side by side, too.
    bool slides = false;
    for (unsigned i = 0; i < info.axes.size(); ++i)
      if (auto linear = info.exprOf(op).linearIn(info.axes[i]); linear && !contains(reduced, i))
        slides |= linear->coefficient.isOne();
    for (unsigned i = 0; i < info.axes.size(); ++i)
      if (auto linear = info.exprOf(op).linearIn(info.axes[i]);
          linear && !linear->coefficient.isZero() && !(slides && contains(reduced, i)))
        score[i] += (linear->coefficient.isOne() ? 2 : -1) * weight;
  });
  for (unsigned i = 0; i < info.axes.size(); ++i)
    if (contains(reduced, i) && info.extents[i].constant().value_or(shortest) < shortest)
      score[i] = 0;
  int best = -1;
  for (unsigned i = 0; i < info.axes.size(); ++i)
    if (contains(among, i) && score[i] > 0 && !info.extents[i].isOne() && (best < 0 || score[i] >= score[best]))
      best = i;
  return best;
}

/// The elements that 16 bytes hold of the widest type among accesses along the axis, at most 8.
static unsigned fullWidth(const BodyInfo &info, int lane, llvm::function_ref<void(Operation *)> along) {
  unsigned bits = 8;
  forEachAccess(info, [&](Operation *op, Type element) {
    auto linear = info.exprOf(op).linearIn(info.axes[lane]);
    if (!linear || !linear->coefficient.isOne())
      return;
    bits = std::max(bits, element.getIntOrFloatBitWidth());
    along(op);
  });
  return std::min(8u, 128 / bits);
}

unsigned cuda::chooseWidth(const BodyInfo &info, int lane, const Divisibility &known) {
  return lane < 0 ? 1 : known.divisorOf(info.extents[lane], fullWidth(info, lane, [](Operation *) {}));
}

/// Whether a point's values come of loads and arithmetic alone.
static bool isPlain(const BodyInfo &info) {
  return llvm::none_of(info.ops, [](Operation *op) {
    return op->getNumRegions() || llvm::any_of(op->getResults(), [](Value v) { return lower::isRootValue(v); });
  });
}

bool cuda::leavesRest(const BodyInfo &info, AxisSet rows, int lane, const Divisibility &known) {
  if (lane < 0 || rows != AxisSet(1) << lane || !isPlain(info))
    return false;
  SmallVector<Operation *> accesses;
  unsigned width = fullWidth(info, lane, [&](Operation *op) { accesses.push_back(op); });
  return width > 1 && llvm::all_of(accesses, [&](Operation *op) {
           return known.divisorOf(info.exprOf(op), width, info.axes[lane]) == width;
         });
}

void cuda::assumeWide(const BodyInfo &info, int lane, Divisibility &known) {
  if (lane < 0)
    return;
  SmallVector<Operation *> accesses;
  unsigned width = fullWidth(info, lane, [&](Operation *op) { accesses.push_back(op); });
  if (!known.assume(info.extents[lane], width))
    return;
  for (Operation *op : accesses)
    known.assume(info.exprOf(op), width, info.axes[lane]);
}

static unsigned powerUpTo(int64_t n, unsigned limit) {
  unsigned p = 1;
  while (p < limit && p * 2 <= n)
    p *= 2;
  return p;
}

static RowSchedule byLanes(RowSchedule s, unsigned unit) {
  s.unit = unit;
  return s;
}

static RowSchedule byBlock(RowSchedule s, unsigned threads) {
  s.layout = RowSchedule::Block;
  s.unit = s.threads = threads;
  return s;
}

/// Rows that are kept in shared memory by one block, or by several where the machine has clusters. Nothing where no pass reads what another one
/// has read, or where not even eight accesses of a thread would fit.
static std::optional<RowSchedule> keptRows(const BodyInfo &info, const RowSchedule &s, RowAxes axes, ArrayRef<Operation *> roots,
                                           const schedule::Machine *machine) {
  const RowTuning &t = rowTuning;
  SmallVector<kernel::LoadOp> loads = readAgain(info, axes, roots);
  if (!machine || loads.empty() || (s.lane >= 0 && !contains(axes.reduced, s.lane)))
    return std::nullopt;
  RowSchedule row = byBlock(s, t.keptThreads);
  row.kept = true;
  row.clusters = machine->gpu.clusters;
  for (kernel::LoadOp load : loads)
    row.keptBytes += bytesOfAccess(load, s.width);
  unsigned bytes = std::min(t.keptBlockBytes, machine->gpu.sharedPerBlock / 2);
  row.chunks = bytes / (row.threads * row.keptBytes) / t.keptAhead * t.keptAhead;
  row.most = row.room(row.clusters ? t.mostOfCluster : 1);
  return row.chunks ? std::optional(row) : std::nullopt;
}

/// A row of constant length: by part of a warp, a warp or a block, its values in registers if there is room.
static RowSchedule alongRow(const RowSchedule &s, int64_t length, const Expr &rows, const std::optional<RowSchedule> &kept,
                            bool endsInRows) {
  const RowTuning &t = rowTuning;
  auto chunks = [&](unsigned unit) { return (length / s.width + unit - 1) / unit; };
  bool ofWarp = length <= int64_t(t.warpElements), small = chunks(t.blockThreads / 2) <= t.persistentChunks / 2;
  unsigned threads = small ? t.blockThreads / 2 : t.blockThreads;
  if (s.lane < 0 && length <= int64_t(t.serialReduction) && rows.constant().value_or(t.manyRows) >= t.manyRows) {
    RowSchedule row = byLanes(s, 1); // a window's side: neighbouring rows read what lies side by side, or nearly so
    row.persistent = true;
    return row;
  }
  RowSchedule row = ofWarp ? byLanes(s, powerUpTo(length / s.width, 32)) : byBlock(s, threads);
  if (ofWarp && endsInRows)
    row.threads = t.endingThreads;
  row.persistent = length > 0 && chunks(row.unit) <= t.persistentChunks;
  return !row.persistent && kept && length <= kept->most ? *kept : row;
}

/// How many points a thread of a loop takes: narrow accesses of one alone are too few to keep the memory busy.
static unsigned pointsOf(const BodyInfo &info, const RowSchedule &s, AxisSet rows) {
  const RowTuning &t = rowTuning;
  if (info.ops.size() > t.mostOpsOfPoint || !isPlain(info))
    return 1;
  unsigned bytes = 1;
  forEachAccess(info, [&](Operation *, Type element) { bytes = std::max(bytes, element.getIntOrFloatBitWidth() / 8); });
  unsigned points = std::max(1u, t.bytesInFlight / (bytes * s.width));
  std::optional<int64_t> count = extentOf(info, rows).constant();
  while (points > 1 && count && *count / s.width < t.manyRows * points)
    points /= 2;
  return std::min(points, 8u);
}

/// A loop: a thread takes one access of its widest operand, or as many narrow ones as come to the same.
static RowSchedule ofLoop(const BodyInfo &info, RowSchedule s, AxisSet rows, const Divisibility &known) {
  if (!contains(rows, s.lane))
    s.width = 1;
  unsigned full = s.lane < 0 ? 1 : fullWidth(info, s.lane, [](Operation *) {});
  if (s.width < full && leavesRest(info, rows, s.lane, known)) {
    s.width = full;
    s.rest = true;
  }
  s.points = s.rest ? 1 : pointsOf(info, s, rows);
  return s;
}

/// Rows of open length. Their values stay in registers where accesses are wide (and a row is one axis, so that all that is
/// computed along it has its length), with tests where a row may end before its room does; else short ones go to a warp, long ones to a block.
static void alongOpenRows(SmallVector<RowSchedule> &out, const RowSchedule &s, AxisSet reduced,
                          const std::optional<RowSchedule> &kept) {
  const RowTuning &t = rowTuning;
  if (s.width >= 4 && llvm::popcount(reduced) == 1) {
    for (auto [unit, chunks] : t.openRows) {
      RowSchedule row = unit <= 32 ? byLanes(s, unit) : byBlock(s, unit);
      row.persistent = true;
      row.chunks = chunks;
      row.most = int64_t(unit) * chunks * s.width;
      // Shorter rows are an earlier schedule's.
      row.full = (out.empty() ? 0 : out.back().most) / (int64_t(unit) * s.width);
      RowSchedule whole = row;
      whole.exact = true;
      whole.full = chunks;
      out.push_back(whole);
      out.push_back(row);
    }
  } else {
    out.push_back(byLanes(s, 32));
    out.back().most = t.warpElements;
  }
  if (kept)
    out.push_back(*kept);
  out.push_back(byBlock(s, t.blockThreads));
}

SmallVector<RowSchedule> cuda::chooseRowSchedules(const BodyInfo &info, RowAxes axes, ArrayRef<Operation *> roots,
                                                  const Divisibility &known, const schedule::Machine *machine) {
  RowSchedule s;
  s.threads = rowTuning.threads;
  s.lane = chooseLane(info, roots, axes.rows | axes.reduced, axes.reduced);
  s.width = chooseWidth(info, s.lane, known);
  // The thread that computes an attention sums scores one by one: its vectors run along the values' columns alone.
  for (Operation *op : info.ops)
    if (auto attention = dyn_cast<kernel::AttentionOp>(op); attention && s.lane >= 0 && info.axes[s.lane] != attention.getValueAxis())
      s.width = 1;
  SmallVector<RowSchedule> out;
  bool shared = llvm::any_of(roots, [](Operation *op) { return isa<kernel::ReduceOp>(op); });
  if (!shared)
    return {ofLoop(info, s, axes.rows, known)};
  if (contains(axes.rows, s.lane)) {
    std::optional<int64_t> length = extentOf(info, axes.reduced).constant();
    if (!length || *length >= int64_t(rowTuning.columnMinimum)) {
      s.layout = RowSchedule::Columns;
      s.unit = rowTuning.columnSplit;
      s.threads = 32 * s.unit;
    }
    return {s};
  }
  bool endsInRows = llvm::none_of(roots, [&](Operation *op) { return isa<kernel::StoreOp>(op) && info.domainOf(op) & axes.reduced; });
  std::optional<RowSchedule> kept = keptRows(info, s, axes, roots, machine);
  if (std::optional<int64_t> length = extentOf(info, axes.reduced).constant())
    return {alongRow(s, *length, extentOf(info, axes.rows), kept, endsInRows)};
  alongOpenRows(out, s, axes.reduced, kept);
  return out;
}

std::optional<RowSchedule> cuda::chooseSharedSchedule(const BodyInfo &info, RowAxes axes, ArrayRef<Operation *> roots,
                                                      const Divisibility &known) {
  // Every reduction's result is one value for a row; a row is walked, not kept.
  for (Operation *op : info.ops) {
    auto r = dyn_cast<kernel::ReduceOp>(op);
    if (isa<kernel::ContractOp, kernel::AttentionOp>(op) || (r && info.axesOf(r.getResult()) & ~axes.rows))
      return std::nullopt;
  }
  if (!axes.reduced)
    return std::nullopt;
  RowSchedule s;
  s.lane = chooseLane(info, roots, axes.rows | axes.reduced, axes.reduced);
  s.width = chooseWidth(info, s.lane, known);
  s.together = true;
  if (!contains(axes.rows, s.lane))
    return byBlock(s, rowTuning.sharedThreads);
  s.layout = RowSchedule::Columns;
  s.threads = rowTuning.sharedThreads;
  if (std::optional<int64_t> rows = extentOf(info, axes.rows).constant())
    while (s.columns > 1 && int64_t(s.columns / 2 * s.width) >= *rows)
      s.columns /= 2;
  s.unit = s.threads / s.columns;
  return s;
}
