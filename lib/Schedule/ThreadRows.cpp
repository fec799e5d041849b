//===- ThreadRows.cpp - How a row program is laid on a GPU's threads -------===//

#include "lathe/Schedule/ThreadRows.h"
#include "lathe/Support/Diagnostics.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::schedule;
using namespace lathe::lower;
using shape::Expr;

const RowTuning schedule::rowTuning;

/// Calls f(op, element type) for every access of the body, those of a score region included.
static void forEachAccess(const BodyInfo &info, llvm::function_ref<void(Operation *, Type)> f) {
  for (Operation *op : info.ops) {
    if (auto load = dyn_cast<kernel::LoadOp>(op))
      f(op, load.getRef().getType().getElementType());
    if (auto store = dyn_cast<kernel::StoreOp>(op))
      f(op, store.getRef().getType().getElementType());
  }
}

/// The axes along which an access moves, be it through its indices.
static AxisSet axesOfAccess(const BodyInfo &info, Operation *op) {
  AxisSet axes = info.axesOf(info.exprOf(op));
  auto add = [&](ValueRange indices) {
    for (Value v : indices)
      axes |= info.axesOf(v);
  };
  if (auto load = dyn_cast<kernel::LoadOp>(op))
    add(load.getIndices());
  if (auto store = dyn_cast<kernel::StoreOp>(op))
    add(store.getIndices());
  return axes;
}

/// How many points read the same element; an open axis counts as a long one.
static int64_t readersOf(const BodyInfo &info, Operation *op, AxisSet among) {
  constexpr int64_t open = 64, most = int64_t(1) << 40;
  AxisSet others = among & ~axesOfAccess(info, op);
  int64_t readers = 1;
  for (unsigned i = 0; i < info.axes.size(); ++i)
    if (contains(others, i))
      readers = std::min(most, readers * std::max<int64_t>(1, std::min(most >> 20, info.extents[i].constant().value_or(open))));
  return readers;
}

/// Loads of which each element is read by many more points than another load's: tables of places and of weights. They come from a cache
/// along whichever axis threads lie side by side.
static llvm::SmallPtrSet<Operation *, 4> tablesOf(const BodyInfo &info, AxisSet among) {
  constexpr int64_t manyTimes = 16;
  SmallVector<std::pair<Operation *, int64_t>> loads;
  forEachAccess(info, [&](Operation *op, Type) {
    if (isa<kernel::LoadOp>(op))
      loads.push_back({op, readersOf(info, op, among)});
  });
  llvm::SmallPtrSet<Operation *, 4> tables;
  if (loads.empty())
    return tables;
  int64_t least = llvm::min_element(loads, llvm::less_second())->second;
  for (auto [op, readers] : loads)
    if (readers / manyTimes >= least)
      tables.insert(op);
  return tables;
}

int schedule::chooseLane(const BodyInfo &info, ArrayRef<Operation *> roots, AxisSet among, AxisSet reduced) {
  // What it costs where an access does not run along the lanes: most where it is made for each point of a sum.
  constexpr int few = 1, usual = 4, many = 64;
  constexpr int64_t shortest = 8; // a window's side is no lane
  std::vector<int> score(info.axes.size());
  auto tables = tablesOf(info, among);
  forEachAccess(info, [&](Operation *op, Type) {
    int weight = tables.contains(op) ? few : (isa<kernel::StoreOp>(op) ? 2 : 1) * (axesOfAccess(info, op) & reduced ? many : usual);
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

unsigned schedule::chooseWidth(const BodyInfo &info, int lane, const Divisibility &known) {
  return lane < 0 ? 1 : known.divisorOf(info.extents[lane], fullWidth(info, lane, [](Operation *) {}));
}

/// Whether a point's values come of loads and arithmetic alone.
static bool isPlain(const BodyInfo &info) {
  return llvm::none_of(info.ops, [](Operation *op) {
    return op->getNumRegions() || llvm::any_of(op->getResults(), [](Value v) { return lower::isRootValue(v); });
  });
}

bool schedule::leavesRest(const BodyInfo &info, AxisSet rows, int lane, const Divisibility &known) {
  if (lane < 0 || rows != AxisSet(1) << lane || !isPlain(info))
    return false;
  SmallVector<Operation *> accesses;
  unsigned width = fullWidth(info, lane, [&](Operation *op) { accesses.push_back(op); });
  return width > 1 && llvm::all_of(accesses, [&](Operation *op) {
           return known.divisorOf(info.exprOf(op), width, info.axes[lane]) == width;
         });
}

void schedule::assumeWide(const BodyInfo &info, int lane, Divisibility &known, unsigned part) {
  if (lane < 0)
    return;
  SmallVector<Operation *> accesses;
  unsigned width = fullWidth(info, lane, [&](Operation *op) { accesses.push_back(op); }) / part;
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

static ThreadRows byLanes(ThreadRows s, unsigned unit) {
  s.unit = unit;
  return s;
}

static ThreadRows byBlock(ThreadRows s, unsigned threads) {
  s.layout = ThreadRows::Block;
  s.unit = s.threads = threads;
  return s;
}

static bool reduces(const RowSection &section) {
  return llvm::any_of(section.roots, [](Operation *op) { return isa<kernel::ReduceOp>(op); });
}

/// Whether rows have wide accesses.
static bool isWide(const ThreadRows &s) { return s.width >= rowTuning.wideAccess; }

/// Accesses of a thread that may stay in registers.
static unsigned persistentAccesses(const ThreadRows &s) {
  return std::max(rowTuning.persistentChunks, rowTuning.persistentValues / s.width);
}

/// A row of constant length: by part of a warp, a warp or a block, its values in registers if there is room.
static ThreadRows alongRow(const ThreadRows &s, int64_t length, const Expr &rows, const std::optional<ThreadRows> &kept,
                            bool endsInRows) {
  const RowTuning &t = rowTuning;
  auto chunks = [&](unsigned unit) { return (length / s.width + unit - 1) / unit; };
  unsigned most = persistentAccesses(s);
  bool ofWarp = length <= int64_t(t.warpElements), small = chunks(t.blockThreads / 2) <= most / 2;
  unsigned threads = small ? t.blockThreads / 2 : t.blockThreads;
  if (s.lane < 0 && length <= int64_t(t.serialReduction) && rows.constant().value_or(t.manyRows) >= t.manyRows) {
    ThreadRows row = byLanes(s, 1); // a window's side: neighbouring rows read what lies side by side, or nearly so
    row.persistent = true;
    return row;
  }
  unsigned each = isWide(s) || s.lane < 0 ? 1 : t.narrowAccesses;
  unsigned lanes = endsInRows && isWide(s) && length <= int64_t(s.width) * t.fewEnding * t.fewAccesses ? t.fewEnding : 32;
  ThreadRows row = ofWarp ? byLanes(s, powerUpTo(length / s.width / each, lanes)) : byBlock(s, threads);
  if (ofWarp && endsInRows)
    row.threads = t.endingThreads;
  row.persistent = length > 0 && chunks(row.unit) <= most;
  return !row.persistent && kept && length <= kept->most ? *kept : row;
}

/// How many points a thread of a loop takes: narrow accesses of one alone are too few to keep the memory busy.
static unsigned pointsOf(const BodyInfo &info, const ThreadRows &s, AxisSet rows) {
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
static ThreadRows ofLoop(const BodyInfo &info, ThreadRows s, AxisSet rows, const Divisibility &known) {
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

ThreadRows schedule::layLanes(const BodyInfo &info, const RowSection &section, const Divisibility &known) {
  RowAxes axes = section.axes;
  ThreadRows s;
  s.threads = rowTuning.threads;
  s.lane = chooseLane(info, section.roots, axes.rows | axes.reduced, axes.reduced);
  s.width = chooseWidth(info, s.lane, known);
  // The thread that computes an attention sums scores one by one: its vectors run along the values' columns alone.
  for (Operation *op : info.ops)
    if (auto attention = dyn_cast<kernel::AttentionOp>(op); attention && s.lane >= 0 && info.axes[s.lane] != attention.getValueAxis())
      s.width = 1;
  if (!reduces(section))
    return ofLoop(info, s, axes.rows, known);
  if (contains(axes.rows, s.lane)) {
    std::optional<int64_t> length = extentOf(info, axes.reduced).constant();
    if (!length || *length >= int64_t(rowTuning.columnMinimum)) {
      s.layout = ThreadRows::Columns;
      s.unit = rowTuning.columnSplit;
      s.threads = 32 * s.unit;
    }
  }
  return s;
}

namespace {
/// Lengths of rows.
struct RowBounds {
  int64_t beyond = -1, most = INT64_MAX; ///< longer than the one, at most the other
  bool exact = false;                    ///< always the other
};
} // namespace

/// What a condition says of the length of rows.
static RowBounds boundsOf(const Predicate &when, const Expr &length) {
  RowBounds out;
  for (const Comparison &c : when.all()) {
    std::optional<int64_t> left = c.left.constant(), right = c.right.constant();
    int64_t less = c.relation == Relation::Less;
    if (c.left == length && right)
      out.most = std::min(out.most, *right - less);
    if (c.right == length && left && c.relation != Relation::Equal)
      out.beyond = std::max(out.beyond, *left - 1 + less);
    out.exact |= c.relation == Relation::Equal && c.left == length && right;
  }
  return out;
}

/// Rows of open length that stay in registers, with tests where a row may end before its room does.
static llvm::Expected<ThreadRows> persistent(const ThreadRows &s, unsigned unit, unsigned chunks, const RowBounds &bounds) {
  ThreadRows row = unit <= 32 ? byLanes(s, unit) : byBlock(s, unit);
  row.persistent = true;
  row.chunks = chunks;
  row.most = int64_t(unit) * chunks * s.width;
  if (bounds.most > row.most)
    return userError("rows of open length stay in registers of {0} threads only where they are at most {1} long", unit, row.most);
  row.exact = bounds.exact && bounds.most == row.most;
  row.full = row.exact ? chunks : std::min<int64_t>(chunks, bounds.beyond / (int64_t(unit) * s.width));
  return row;
}

/// Accesses of a thread stay in registers where rows of a known length have no more.
static llvm::Expected<ThreadRows> asAsked(ThreadRows row, int64_t length, ThreadsAttr asked) {
  if (asked.getRow() > 0)
    row = asked.getRow() <= 32 ? byLanes(row, asked.getRow()) : byBlock(row, asked.getRow());
  int64_t accesses = llvm::divideCeil(length / row.width, row.unit);
  if (asked.getPersist() > 0 && accesses > asked.getPersist())
    return userError("a row has {0} accesses for each thread, and {1} are to stay in registers", accesses, asked.getPersist());
  row.kept = false;
  row.persistent = asked.getPersist() < 0 ? accesses <= int64_t(persistentAccesses(row)) : asked.getPersist() > 0;
  row.persistent &= length > 0;
  return row;
}

unsigned schedule::widthOf(const BodyInfo &info, const RowSection &section, const Divisibility &known) {
  return layLanes(info, section, known).width;
}

bool schedule::isOpenRow(const BodyInfo &info, const RowSection &section) {
  return reduces(section) && !contains(section.axes.rows, layLanes(info, section, Divisibility(info)).lane) &&
         !extentOf(info, section.axes.reduced).constant();
}

bool schedule::endsInRows(const BodyInfo &info, const RowSection &section) {
  return llvm::none_of(section.roots, [&](Operation *op) { return isa<kernel::StoreOp>(op) && info.domainOf(op) & section.axes.reduced; });
}

static llvm::Expected<ThreadRows> layAsAsked(const BodyInfo &info, const RowSection &section, const Predicate &when, ThreadsAttr asked,
                                             const Machine *machine) {
  RowAxes axes = section.axes;
  ThreadRows s = layLanes(info, section, divisibilityOf(info, when));
  if (asked.getStrip() != 0 && asked.getRow() < 0 && asked.getPersist() < 0 && asked.getKeep() < 0)
    if (std::optional<ThreadRows> strips = stripRows(info, section, s, when, asked.getStrip(), machine))
      return *strips;
  if (asked.getStrip() > 0)
    return userError("a thread takes neighbours along a line only where windows overlap or computed places have elements side by side, of operands that are not empty and of which places fit into 32 bits");
  if (!reduces(section))
    return s;
  const Expr all = extentOf(info, axes.reduced);
  RowBounds bounds = boundsOf(when, all);
  std::optional<int64_t> length = all.constant();
  std::optional<ThreadRows> kept = keptRows(info, section, s, machine, length, asked.getRow());
  if (asked.getKeep() > 0) {
    if (kept && length.value_or(bounds.most) <= kept->most)
      return *kept;
    return userError("rows are kept in shared memory only where passes read again what lies along them, at most {0} long", kept ? kept->most : 0);
  }
  if (contains(axes.rows, s.lane))
    return length && kept && asked.getKeep() < 0 && asked.getRow() <= 0 ? *kept : s;
  if (length && asked.getRow() <= 0 && asked.getPersist() < 0) {
    return alongRow(s, *length, extentOf(info, axes.rows), asked.getKeep() == 0 ? std::nullopt : kept, endsInRows(info, section));
  }
  if (length)
    return asAsked(s, *length, asked);
  unsigned unit = asked.getRow() > 0 ? asked.getRow() : rowTuning.blockThreads;
  if (asked.getPersist() > 0)
    return persistent(s, unit, asked.getPersist(), bounds);
  return unit <= 32 ? byLanes(s, unit) : byBlock(s, unit);
}

llvm::Expected<ThreadRows> schedule::layRows(const BodyInfo &info, const RowSection &section, const Predicate &when, ThreadsAttr asked,
                                             const Machine *machine) {
  llvm::Expected<ThreadRows> out = layAsAsked(info, section, when, asked, machine);
  const Expr rows = extentOf(info, section.axes.rows);
  if (out)
    out->narrow = rows.constant().value_or(boundsOf(when, rows).most) <= mostNarrowRows;
  return out;
}

std::optional<ThreadRows> schedule::shareRows(const BodyInfo &info, const RowSection &section, const Divisibility &known, unsigned columns) {
  RowAxes axes = section.axes;
  // Every reduction's result is one value for a row; a row is walked, not kept.
  for (Operation *op : info.ops) {
    auto r = dyn_cast<kernel::ReduceOp>(op);
    if (isa<kernel::ContractOp, kernel::AttentionOp>(op) || (r && info.axesOf(r.getResult()) & ~axes.rows))
      return std::nullopt;
  }
  if (!axes.reduced)
    return std::nullopt;
  ThreadRows s;
  s.lane = chooseLane(info, section.roots, axes.rows | axes.reduced, axes.reduced);
  s.width = chooseWidth(info, s.lane, known);
  s.together = true;
  if (!contains(axes.rows, s.lane))
    return byBlock(s, rowTuning.sharedThreads);
  s.layout = ThreadRows::Columns;
  s.threads = rowTuning.sharedThreads;
  s.columns = columns;
  if (std::optional<int64_t> rows = extentOf(info, axes.rows).constant())
    while (s.columns > 1 && int64_t(s.columns / 2 * s.width) >= *rows)
      s.columns /= 2;
  s.unit = s.threads / s.columns;
  return s;
}
