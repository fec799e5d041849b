//===- KeptRows.cpp - Rows that wait in a GPU's shared memory --------------===//
//
// What passes of a row read again comes from memory once. A row's elements lie side by side, then a block, or several of a cluster, have it; or
// neighbouring rows do, then a block has as many of them as make accesses of whole sectors, and as much of their length as it has room for.
//
//===----------------------------------------------------------------------===//

#include "lathe/Schedule/ThreadRows.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::schedule;
using namespace lathe::lower;

/// So much as all blocks keep: threads, what their accesses take, and how many they have room for in so many bytes.
static ThreadRows keeping(ThreadRows s, ArrayRef<kernel::LoadOp> loads) {
  const RowTuning &t = rowTuning;
  s.kept = true;
  s.threads = t.keptThreads;
  s.ahead = t.mostAhead;
  for (kernel::LoadOp load : loads) {
    unsigned bytes = bytesOfAccess(load, s.width);
    s.keptBytes += bytes;
    s.ahead = std::min(s.ahead, std::max(t.leastAhead, t.keptAheadBytes / bytes));
  }
  return s;
}

/// Accesses of a thread that so many bytes have room for.
static unsigned chunksIn(unsigned bytes, const ThreadRows &s) { return bytes / (s.threads * s.keptBytes) / s.ahead * s.ahead; }

/// What a block may keep so that at least two fit on a multiprocessor.
static unsigned usualBytes(const Machine &machine) { return std::min(rowTuning.keptBlockBytes, machine.gpu.sharedPerBlock / 2); }

/// Whether passes read nothing along the lanes but the one load that is kept, by accesses that come to shared memory by themselves.
static bool isReadAlone(const BodyInfo &info, const ThreadRows &s, ArrayRef<kernel::LoadOp> kept) {
  return kept.size() == 1 && s.keptBytes >= 4 && llvm::none_of(info.ops, [&](Operation *op) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    return load && !llvm::is_contained(kept, load) && contains(info.axesOf(load.getResult()), s.lane);
  });
}

/// One row by a block, or by several where the machine has clusters.
static ThreadRows alongBlocks(ThreadRows row, const Machine &machine) {
  row.layout = ThreadRows::Block;
  row.unit = row.threads;
  row.clusters = machine.gpu.clusters;
  row.chunks = chunksIn(usualBytes(machine), row);
  row.most = row.room(row.clusters ? rowTuning.mostOfCluster : 1);
  return row;
}

/// The same where it is all that is read: next rows' addresses take the registers of more accesses.
static ThreadRows alongBlocksAlone(ThreadRows row, const BodyInfo &info, const RowSection &section, const Machine &machine) {
  row.threads = rowTuning.aloneThreads;
  row.ahead = rowTuning.mostAhead;
  ThreadRows few = alongBlocks(row, machine);
  if (takesTurns(few, machine, extentOf(info, section.axes.rows), extentOf(info, section.axes.reduced)))
    return few;
  row.ahead = std::max(row.ahead, row.width);
  return alongBlocks(row, machine);
}

/// Neighbouring rows, each by so many threads of a block, or of several. Without clusters, as few rows as fill a sector may take the whole of a
/// multiprocessor where they are too long for two blocks.
static ThreadRows besideOneAnother(ThreadRows row, unsigned unit, bool narrowest, const Machine &machine) {
  constexpr unsigned besides = 16 << 10; // for sums, and the alignment of the rest
  row.unit = unit;
  row.columns = row.threads / unit;
  row.clusters = machine.gpu.clusters;
  bool whole = narrowest && !row.clusters;
  row.chunks = chunksIn(whole ? machine.gpu.sharedPerBlock - besides : usualBytes(machine), row);
  row.most = row.room(narrowest && row.clusters ? rowTuning.mostOfCluster : 1);
  return row;
}

/// Whether rows are searched for a place: its index of 64 bits, for each column of an access, takes longer than reading again.
static bool isSearched(const RowSection &section) {
  return llvm::any_of(section.roots, [](Operation *op) { return isa<kernel::ReduceOp>(op) && op->getResult(0).getType().isInteger(64); });
}

std::vector<unsigned> schedule::keptUnits(const BodyInfo &info, const RowSection &section, const ThreadRows &s) {
  SmallVector<kernel::LoadOp> loads = readAgain(info, section.axes, section.roots);
  std::vector<unsigned> out;
  if (loads.empty() || isSearched(section))
    return out;
  unsigned bytes = bytesOfAccess(loads.front(), s.width);
  for (unsigned columns = 32; columns && columns * bytes >= rowTuning.leastBytesBeside; columns /= 2)
    out.push_back(rowTuning.keptThreads / columns);
  return out;
}

std::optional<ThreadRows> schedule::keptRows(const BodyInfo &info, const RowSection &section, const ThreadRows &s, const Machine *machine,
                                             std::optional<int64_t> length, int64_t unit) {
  SmallVector<kernel::LoadOp> loads = readAgain(info, section.axes, section.roots);
  if (!machine || loads.empty())
    return std::nullopt;
  ThreadRows row = keeping(s, loads);
  if (s.lane < 0 || contains(section.axes.reduced, s.lane)) {
    bool alone = machine->gpu.clusters && isReadAlone(info, row, loads);
    row = alone ? alongBlocksAlone(row, info, section, *machine) : alongBlocks(row, *machine);
    return row.chunks ? std::optional(row) : std::nullopt;
  }
  std::vector<unsigned> units = keptUnits(info, section, s);
  for (unsigned own : units) {
    ThreadRows columns = besideOneAnother(row, own, own == units.back(), *machine);
    bool fits = unit > 0 ? own == unit : length.value_or(INT64_MAX) <= columns.most;
    if (s.layout == ThreadRows::Columns && columns.chunks && fits)
      return columns;
  }
  return std::nullopt;
}

unsigned schedule::keptBlocks(const ThreadRows &s, const Machine &machine) {
  unsigned bytes = s.threads * s.chunks * s.keptBytes + 1024;
  return std::max(1u, std::min(machine.gpu.threads / s.threads, machine.gpu.shared / bytes));
}

bool schedule::takesTurns(const ThreadRows &s, const Machine &machine, const shape::Expr &rows, const shape::Expr &length) {
  constexpr int64_t mostProcessors = 192; // that devices have
  if (s.layout != ThreadRows::Block || !machine.gpu.asyncCopies)
    return false;
  int64_t blocks = 1;
  while (s.clusters && s.room(blocks) < length.constant().value_or(0))
    blocks *= 2;
  return rows.constant().value_or(0) * blocks <= mostTurns * keptBlocks(s, machine) * mostProcessors;
}

std::optional<int64_t> schedule::mostKept(const BodyInfo &info, const RowSection &section, const Divisibility &known, const Machine *machine,
                                          int64_t unit) {
  std::optional<ThreadRows> kept = keptRows(info, section, layLanes(info, section, known), machine, std::nullopt, unit);
  return kept ? std::optional(kept->most) : std::nullopt;
}
