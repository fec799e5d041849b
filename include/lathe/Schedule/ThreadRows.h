//===- ThreadRows.h - How a row program is laid on a GPU's threads ---------===//
//
// Rows are the points of the axes that no reduction removes. A unit of threads works on a row: one thread, a part of a warp,
// a warp, a block, or (columns) the threads with the same position in each warp of a block, when neighbouring rows lie
// side by side in memory.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_SCHEDULE_THREADROWS_H
#define LATHE_SCHEDULE_THREADROWS_H

#include "lathe/Lower/Divisibility.h"
#include "lathe/Lower/RowLevels.h"
#include "lathe/Schedule/Choose.h"
#include "lathe/Schedule/Strips.h"

namespace lathe::schedule {

using lower::AxisSet;

struct ThreadRows {
  enum Layout { Lanes, Block, Columns };
  Layout layout = Lanes;
  unsigned unit = 1;     ///< threads per row
  unsigned threads = 256;
  unsigned width = 1;    ///< lanes of one access
  int lane = -1;         ///< the axis along which accesses are wide
  bool persistent = false; ///< a row's values stay in registers between passes
  unsigned chunks = 0;     ///< accesses of a thread that a persistent row of open length has room for
  unsigned full = 0;       ///< so many of them are never past a row's end
  int64_t most = 0;        ///< elements that a row may have, at least one of them; 0: any number
  bool exact = false;      ///< a row has just as many: no access needs a test
  unsigned columns = 32;   ///< neighbouring rows that a warp of the columns layout takes
  bool kept = false;       ///< what passes of a row read again, each thread keeps in shared memory
  unsigned keptBytes = 0;  ///< for each access of a thread
  unsigned ahead = 1;      ///< of kept rows: so many accesses a thread reads before it looks at the first
  bool clusters = false;   ///< blocks of a cluster may share a row, as many as the launch says
  bool together = false;   ///< several blocks share what else a block takes, and wait for one another
  bool rest = false;       ///< of a loop along one axis: what is left behind the last wide access takes a thread an element
  bool narrow = false;     ///< rows are at most `mostNarrowRows`: their numbers are integers of 32 bits, whose divisions have no long form
  Strip strip;             ///< neighbours along a line that a thread computes together
  unsigned points = 1;     ///< of a loop: rows of a thread, as far apart as a block has threads, whose reads are in flight together
  unsigned rowsPerBlock() const { return threads / unit; }
  /// Elements of a row for which so many blocks have room.
  int64_t room(unsigned blocks) const { return int64_t(blocks) * chunks * (layout == Columns ? unit : threads * width); }
};

/// What all row numbers, and those a block's threads compute past the last one, fit in 32 bits below.
constexpr int64_t mostNarrowRows = INT32_MAX;

/// Kernels' tuning parameters, in one place.
struct RowTuning {
  unsigned warpElements = 1024;   ///< rows up to this long take a warp, longer ones a block
  unsigned threads = 256;         ///< per block of independent rows
  unsigned endingThreads = 512;   ///< per block of rows that leave a value each
  unsigned stripThreads = 128;    ///< per block of strips, which keep many values in registers
  unsigned blockThreads = 256;    ///< per block that shares a row
  unsigned persistentChunks = 8;  ///< accesses per thread that may stay in registers, or of narrow ones
  unsigned persistentValues = 32; ///< as many as have so many values
  unsigned columnSplit = 8;       ///< threads that share a row of the columns layout
  unsigned columnMinimum = 64;    ///< from this many reduced points on
  unsigned sharedThreads = 512;   ///< per block of those that share rows
  unsigned bytesInFlight = 16;    ///< which a thread of a loop reads of its widest operand before it stores
  unsigned mostOpsOfPoint = 64;   ///< of a body that a thread goes through for several points
  unsigned serialReduction = 64;  ///< many rows up to this long, none of whose elements lie side by side, take a thread
  int64_t manyRows = 1 << 17;     ///< fill the device with a thread for each
  /// Persistent rows of open length: threads and accesses of each.
  std::vector<std::pair<unsigned, unsigned>> openRows = {{2, 1},  {8, 1},   {8, 2},   {32, 1},  {32, 2},
                                                         {32, 4}, {128, 2}, {128, 4}, {256, 4}, {256, 8}};
  /// Of those that end in a value each: a warp's sum needs no barrier, and short rows are summed by few threads, each with several accesses on the way at
  /// once, so that the threads have less to put together (131,072 rows of 128 floats on an H200: 0.8 of the time).
  std::vector<std::pair<unsigned, unsigned>> openEndingRows = {{2, 1},  {8, 1},  {8, 2},   {8, 4},   {32, 2},
                                                               {32, 4}, {32, 8}, {128, 4}, {256, 4}, {256, 8}};
  unsigned fewEnding = 8; ///< threads of such a row,
  unsigned fewAccesses = 4; ///< which have at most so many accesses each
  /// Of those whose length allows of no wide access.
  std::vector<std::pair<unsigned, unsigned>> openNarrowRows = {{2, 4},   {4, 4},   {8, 4},   {8, 8},    {32, 8},
                                                               {32, 16}, {32, 32}, {256, 8}, {256, 16}, {256, 32}};
  /// Of those whose length allows of accesses half as wide as elements of 16 bits could have.
  std::vector<std::pair<unsigned, unsigned>> openHalfRows = {{8, 2}, {32, 1}, {32, 3}, {32, 8}, {256, 4}, {256, 8}};
  unsigned wideAccess = 4;     ///< elements of an access that is not narrow
  unsigned narrowAccesses = 4; ///< which a thread of a warp has at least, so that rows side by side share what combining takes
  /// Long rows of 32 bits that stay in registers though shared memory would hold them, too: from half of their room on registers are faster (softmax of 20,480 to 32,768
  /// columns on an H200: 0.92 to 0.95 of the time), below they are not.
  std::pair<unsigned, unsigned> longOpenRow = {512, 16};
  int64_t manyLongRows = 33; ///< so many of them: of fewer, each is kept by several blocks, which takes 0.86 of the time for four of them
  unsigned keptThreads = 512;       ///< per block of those that keep rows in shared memory,
  unsigned keptBlockBytes = 65536;  ///< which may take so much of it,
  unsigned keptAheadBytes = 32;     ///< and whose threads read so many bytes before they look at the first, in no fewer than
  unsigned leastAhead = 2, mostAhead = 4; ///< the one and no more than the other number of accesses
  /// Of rows whose threads read nothing else of the same length, by blocks of a cluster: fewer threads, which read more of it ahead. The parameters of a layer norm would
  /// take these registers, and more threads wait for them at once (H200: softmax of 256 rows of 262,144 bf16 79 -> 75 us, norm of 256 groups of 256 KB 21.3 -> 19.8,
  /// layer norm of 1,024 rows of 65,536 76 -> 86).
  unsigned aloneThreads = 256;
  unsigned mostOfCluster = 8;       ///< blocks; more are not portable
  unsigned leastBytesBeside = 64;   ///< which accesses of rows side by side take of memory together: it moves no fewer at once
};
extern const RowTuning rowTuning;

/// The axis that most accesses run along with stride 1, or -1. Accesses along `reduced` are many for each other one.
int chooseLane(const lower::BodyInfo &info, llvm::ArrayRef<mlir::Operation *> roots, AxisSet among, AxisSet reduced = 0);
/// The widest access (in lanes) along the axis: as many as 16 bytes hold and the extent is a multiple of.
unsigned chooseWidth(const lower::BodyInfo &info, int lane, const lower::Divisibility &known);
/// What gives the accesses along the axis their full width, or a part of it (2: half).
void assumeWide(const lower::BodyInfo &info, int lane, lower::Divisibility &known, unsigned part = 1);
/// The rows of a section as the schedule wants them, under its condition. `machine`: null for what any part of a launch can be. An error says what of
/// the schedule is not proven to be right there.
llvm::Expected<ThreadRows> layRows(const lower::BodyInfo &info, const lower::RowSection &section, const Predicate &when, ThreadsAttr asked,
                                   const Machine *machine);

/// What divides sizes where the condition holds.
lower::Divisibility divisibilityOf(const lower::BodyInfo &info, const Predicate &when);

/// Lanes of an access along the section's lane axis.
unsigned widthOf(const lower::BodyInfo &info, const lower::RowSection &section, const lower::Divisibility &known);
/// Whether reductions run along rows of open length.
bool isOpenRow(const lower::BodyInfo &info, const lower::RowSection &section);
/// Whether all that rows leave is a value each.
bool endsInRows(const lower::BodyInfo &info, const lower::RowSection &section);
/// What follows from the section alone: lanes, and all of a loop, or of rows that lie side by side.
ThreadRows layLanes(const lower::BodyInfo &info, const lower::RowSection &section, const lower::Divisibility &known);
/// Rows of this length, or of any, that are kept in shared memory, laid from `s` on; nothing where no pass reads what another one has read, or where
/// there is no room. `unit`: the threads of a row of those that lie side by side, or 0 for what the length wants.
std::optional<ThreadRows> keptRows(const lower::BodyInfo &info, const lower::RowSection &section, const ThreadRows &s, const Machine *machine,
                                   std::optional<int64_t> length, int64_t unit);
/// Threads of a row that may be kept beside others, fewest first.
std::vector<unsigned> keptUnits(const lower::BodyInfo &info, const lower::RowSection &section, const ThreadRows &s);
/// How long rows may be that are kept in shared memory; nothing where none are.
std::optional<int64_t> mostKept(const lower::BodyInfo &info, const lower::RowSection &section, const lower::Divisibility &known,
                                const Machine *machine, int64_t unit = 0);

/// The ways of a row program, in the order in which they are asked; the last one has no condition.
void proposeThreads(const lower::BodyInfo &info, const Machine *machine, std::vector<Candidate> &candidates);

/// Blocks of rows in shared memory for which a multiprocessor is to have registers: as many as its shared memory and its threads have room for.
unsigned keptBlocks(const ThreadRows &s, const Machine &machine);

/// Where rows are up to so many times as many as run at once, only those blocks do that run at once: each asks for its next row while it stores the one before.
/// More of them overlap by themselves (H200, bf16: 256 rows of 65,536 0.89 of the time, 1,024 of them 1.01, 4,096 of 32,768 1.08).
constexpr int64_t mostTurns = 3;
/// Whether blocks of so many rows of so many elements, kept in shared memory, may have several in turn.
bool takesTurns(const ThreadRows &s, const Machine &machine, const shape::Expr &rows, const shape::Expr &length);

/// What has to hold of sizes for rows that stay in registers, or in shared memory, to have room.
Predicate needsOfThreads(const lower::BodyInfo &info, ThreadsAttr asked, const Machine &machine);

/// Rows that blocks share, several a row: for rows too few to fill the device. Nothing where there is no reduction to share. `columns`: of those
/// that lie side by side a warp takes no more.
std::optional<ThreadRows> shareRows(const lower::BodyInfo &info, const lower::RowSection &section, const lower::Divisibility &known,
                                    unsigned columns = 32);

/// Rows as strips, laid from `s` on; nothing where windows do not overlap, or where that is not proven to be right. `asked`: points of a strip, or
/// negative for as many as take the least time.
std::optional<ThreadRows> stripRows(const lower::BodyInfo &info, const lower::RowSection &section, const ThreadRows &s, const Predicate &when,
                                    int64_t asked, const Machine *machine);
/// What has to hold of open sizes for strips of so many points; nothing where there are no such strips.
std::optional<Predicate> needsOfStrips(const lower::BodyInfo &info, const lower::RowSection &section, const Predicate &when, int64_t asked);

/// Windows of open sizes: strips where there are enough of them to fill a device, else single points whose windows are written out. True where all other
/// sizes of the condition are served as well without it.
bool proposeStrips(const lower::BodyInfo &info, const lower::RowSection &section, const Predicate &when, std::vector<Candidate> &out);

/// Whether a loop's rows are one axis, along which all that lies side by side begins at a multiple of the full width: then
/// the extent need not be one.
bool leavesRest(const lower::BodyInfo &info, AxisSet rows, int lane, const lower::Divisibility &known);

} // namespace lathe::schedule

#endif // LATHE_SCHEDULE_THREADROWS_H
