//===- RowProgram.cpp - Loop and reduction kernels on a GPU ----------------===//

#include "RowProgram.h"
#include "RowEmitter.h"
#include "RowStrips.h"
#include "RowsTogether.h"
#include "lathe/Lower/ExpandMath.h"
#include "lathe/Schedule/ThreadRows.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

static Expr blocksFor(const lower::BodyInfo &info, const lower::RowSection &section, const schedule::ThreadRows &s) {
  Expr rows = extentOf(info, section.axes.rows);
  if (s.strip)
    rows = extentOf(info, section.axes.rows & ~(AxisSet(1) << s.strip.axis)) * stripsAlong(info, s.strip);
  if (lower::contains(section.axes.rows, s.lane))
    rows = Expr::floordiv(rows, s.width);
  if (s.rest)
    rows = rows + Expr(s.width - 1);
  return Expr::ceildiv(rows, s.layout == schedule::ThreadRows::Columns ? s.columns : s.rowsPerBlock() * s.points);
}

namespace {
/// One way to run all sections: the rows of each, where the condition holds, which says what divides sizes.
struct RowOption {
  SmallVector<schedule::ThreadRows> schedules;
  schedule::Predicate when;
  lower::Divisibility known;
  schedule::ThreadsAttr schedule;
};
} // namespace

/// The ways that were chosen for the kernel, or those that templates propose. The first one whose condition holds is taken; the last one has
/// none. Those of a part of a launch are always the templates': schedules are of whole launches.
static std::vector<schedule::Candidate> waysOf(const lower::BodyInfo &info, const schedule::Machine *machine) {
  std::vector<schedule::Candidate> ways;
  SmallVector<schedule::CaseAttr> cases = schedule::casesOf(kernel::GenericOp(info.kernel));
  if (machine && llvm::any_of(cases, [](schedule::CaseAttr c) { return isa<schedule::ThreadsAttr>(c.getSchedule()); }))
    for (schedule::CaseAttr c : cases)
      ways.push_back({schedule::conditionOf(c), c.getSchedule(), Expr::unknown()});
  if (ways.empty())
    schedule::proposeThreads(info, machine, ways);
  return ways;
}

static llvm::Expected<std::vector<RowOption>> optionsOf(const lower::BodyInfo &info, ArrayRef<lower::RowSection> sections,
                                                        const schedule::Machine *machine) {
  std::vector<RowOption> out;
  for (const schedule::Candidate &way : waysOf(info, machine)) {
    auto asked = dyn_cast<schedule::ThreadsAttr>(way.schedule);
    if (!asked)
      asked = schedule::ThreadsAttr::get(info.kernel->getContext(), -1, -1, -1, -1);
    RowOption option{{}, way.when, schedule::divisibilityOf(info, way.when), asked};
    for (const lower::RowSection &section : sections) {
      llvm::Expected<schedule::ThreadRows> rows = schedule::layRows(info, section, way.when, asked, sections.size() == 1 ? machine : nullptr);
      if (!rows)
        return rows.takeError();
      option.schedules.push_back(*rows);
    }
    out.push_back(std::move(option));
  }
  return out;
}

/// Returns what the emitter says, nothing when all went well.
static std::string emitSection(KernelFrame &frame, const schedule::ThreadRows &s, const lower::RowSection &section) {
  auto emit = [](auto &&emitter) {
    emitter.emit();
    return emitter.error();
  };
  return s.strip ? emit(StripEmitter(frame, s, section.axes, section.roots)) : emit(RowEmitter(frame, s, section.axes, section.roots));
}

/// Several sections take turns in the grid's second dimension.
static llvm::Error emitEntry(Generator &g, StringRef name, ArrayRef<lower::RowSection> sections, const RowOption &option) {
  ArrayRef<schedule::ThreadRows> schedules = option.schedules;
  unsigned threads = schedules.front().threads;
  KernelFrame frame(g.info, g.device, name, threads, g.sm, 0, g.dependent());
  frame.known = option.known;
  frame.assume(option.when);
  if (sections.size() == 1 && schedules.front().narrow) // no axis of rows is longer than all of them together
    for (unsigned axis = 0; axis < g.info.axes.size(); ++axis)
      if (lower::contains(sections[0].axes.rows, axis))
        frame.narrow(g.info.extents[axis]);
  if (schedules.front().kept)
    frame.fitBlocks(schedule::keptBlocks(schedules.front(), g.machine()));
  DeviceBuilder &d = frame.d;
  std::string error;
  for (unsigned i = 0; i < sections.size(); ++i) {
    auto body = [&] {
      std::string why = emitSection(frame, schedules[i], sections[i]);
      if (error.empty())
        error = why;
    };
    if (sections.size() == 1) {
      body();
      continue;
    }
    Value mine = d.equal(d.blockIdY(), i);
    Value count = frame.size(blocksFor(g.info, sections[i], schedules[i]));
    d.when(d.both(mine, d.less(d.wide(d.blockId()), count)), body);
  }
  return g.addEntry(frame, name, error);
}

static std::string nameOf(const Generator &g, const RowOption &option) {
  static const char *names[] = {"rows_by_lanes", "rows_by_block", "rows_by_columns"};
  std::string name = option.schedules[0].kept ? "rows_kept" : option.schedules[0].strip ? "row_strips" : names[option.schedules[0].layout];
  return llvm::is_contained(g.entries, name) ? name + "_" + std::to_string(g.entries.size()) : name;
}

//===----------------------------------------------------------------------===//
// Rows that several blocks share
//===----------------------------------------------------------------------===//

Value cuda::sharersOf(KernelFrame &frame) {
  DeviceBuilder &d = frame.d;
  return d.load(d.i32Type(), d.at(frame.scratch(), d.i64(1), d.i32Type()), 4);
}

/// Elements of a row that are worth a block of their own, and so many times as many are worth waiting for other blocks: one block alone goes through
/// fewer in less than what two launches and the waits take. Where it does so once, with wide accesses, it goes through twice as many (65,536 of
/// 4 bytes on an H200: 2.2 us, together 3.5).
constexpr int64_t leastShare = 8192, leastSharers = 8, leastWideSharers = 16;
/// Blocks of a multiprocessor that wait for one another with all others. Every GPU has room for their threads and registers.
constexpr unsigned sharedPerProcessor = 2;

namespace {
/// Words of a plan for rows that blocks share.
struct SharedLaunch {
  Value useful, begin, rows, sharers, grid, scratch;
};
} // namespace

/// A launch of as many blocks as share a row says so, and sets the counter to 0.
static llvm::Error addBegin(Generator &g) {
  KernelFrame frame(g.info, g.device, "rows_begin", 32, g.sm, 0, g.dependent());
  DeviceBuilder &d = frame.d;
  d.when(d.both(d.equal(d.threadId(), 0), d.equal(d.blockId(), 0)), [&] {
    d.store(d.i32(0), frame.scratch(), 4);
    d.store(d.gridSize(), d.at(frame.scratch(), d.i64(1), d.i32Type()), 4);
  });
  return g.addEntry(frame, "rows_begin", "");
}

/// Few rows and long ones, for sizes that are what `known` says, laid like `s`. Nothing where rows are known to be many or short.
static llvm::Expected<std::optional<SharedLaunch>> addShared(Generator &g, const lower::RowSection &section, const lower::Divisibility &known,
                                                             const schedule::ThreadRows &s, StringRef name) {
  const lower::BodyInfo &info = g.info;
  Expr length = extentOf(info, section.axes.reduced), groups = blocksFor(info, section, s);
  constexpr int64_t mostGroups = 256; // more than half of the multiprocessors that devices have
  int64_t each = std::max<int64_t>(1, leastShare / sharedValues(s));
  bool once = s.layout == schedule::ThreadRows::Block && s.width >= schedule::rowTuning.wideAccess && schedule::endsInRows(info, section);
  int64_t least = each * (once ? leastWideSharers : leastSharers);
  if (length.constant().value_or(INT64_MAX) < least || groups.constant().value_or(0) > mostGroups)
    return std::nullopt;
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  Value rows = plan.size(groups), size = plan.size(length), processors = plan.processors();
  Value some = h.b.create<arith::MaxSIOp>(h.loc, rows, plan.constant(1));
  Value resident = h.mul(processors, int64_t(sharedPerProcessor));
  Value sharers = h.minU(h.div(resident, h.minU(some, resident)), h.ceilDiv(size, each));
  Value useful = h.both(h.less(h.mul(rows, 2), h.add(processors, 1)), h.less(plan.constant(0), rows));
  useful = h.both(useful, h.less(plan.constant(1), sharers));
  useful = h.both(useful, h.less(plan.constant(least - 1), size));
  int64_t reductions = llvm::count_if(info.ops, [](Operation *op) { return isa<kernel::ReduceOp>(op); });
  Value grid = h.mul(rows, sharers), scratch = h.add(h.mul(grid, 8 * sharedValues(s) * reductions), sharedHeadBytes);
  SharedLaunch launch{useful, {}, plan.constant(g.entries.size()), sharers, grid, scratch};
  KernelFrame frame(info, g.device, name, s.threads, g.sm, 0, Dependent::No);
  frame.known = known;
  frame.fitBlocks(sharedPerProcessor);
  RowEmitter emitter(frame, s, section.axes, section.roots);
  emitter.emit();
  if (llvm::Error e = g.addEntry(frame, name, emitter.error()))
    return std::move(e);
  return launch;
}

/// The other launch where the condition holds.
static void preferWhere(Generator &g, Value holds, const SharedLaunch &other, SharedLaunch &launch) {
  for (Value SharedLaunch::*word : {&SharedLaunch::useful, &SharedLaunch::rows, &SharedLaunch::sharers, &SharedLaunch::grid, &SharedLaunch::scratch})
    launch.*word = g.plan.d.select(holds, other.*word, launch.*word);
}

/// Open sizes that are multiples of wide accesses have a form with those.
static llvm::Error addWide(Generator &g, const lower::RowSection &section, const schedule::ThreadRows &narrow, SharedLaunch &launch) {
  lower::Divisibility wide(g.info);
  schedule::assumeWide(g.info, narrow.lane, wide);
  std::optional<schedule::ThreadRows> s = schedule::shareRows(g.info, section, wide);
  if (wide.conditions().empty() || !s || s->width == narrow.width)
    return llvm::Error::success();
  llvm::Expected<std::optional<SharedLaunch>> launched = addShared(g, section, wide, *s, "rows_together_wide");
  if (!launched || !*launched)
    return launched.takeError();
  preferWhere(g, g.plan.holds(wide), **launched, launch);
  return llvm::Error::success();
}

/// An open number of rows side by side may be small: then a warp takes fewer of them, and more of their length.
static llvm::Error addFewColumns(Generator &g, const lower::RowSection &section, const lower::Divisibility &known, SharedLaunch &launch) {
  constexpr unsigned columns = 4, most = 8; // up to twice as many rows: a warp that takes all would be idle for the most part
  std::optional<schedule::ThreadRows> s = schedule::shareRows(g.info, section, known, columns);
  Expr rows = extentOf(g.info, section.axes.rows);
  if (!s || s->layout != schedule::ThreadRows::Columns || rows.constant())
    return llvm::Error::success();
  llvm::Expected<std::optional<SharedLaunch>> few = addShared(g, section, known, *s, "rows_together_few");
  if (!few || !*few)
    return few.takeError();
  DeviceBuilder &h = g.plan.d;
  preferWhere(g, h.less(g.plan.size(rows), g.plan.constant(int64_t(most) * s->width + 1)), **few, launch);
  return llvm::Error::success();
}

static llvm::Expected<std::optional<SharedLaunch>> addSharedWays(Generator &g) {
  std::vector<lower::RowSection> sections = rowSections(g.info);
  lower::Divisibility known(g.info);
  std::optional<schedule::ThreadRows> s = sections.size() == 1 ? schedule::shareRows(g.info, sections[0], known) : std::nullopt;
  if (!s)
    return std::nullopt;
  llvm::Expected<std::optional<SharedLaunch>> launch = addShared(g, sections[0], known, *s, "rows_together");
  if (!launch || !*launch)
    return launch;
  if (llvm::Error e = addWide(g, sections[0], *s, **launch))
    return std::move(e);
  if (llvm::Error e = addFewColumns(g, sections[0], known, **launch))
    return std::move(e);
  (*launch)->begin = g.plan.constant(g.entries.size());
  if (llvm::Error e = addBegin(g))
    return std::move(e);
  return launch;
}

llvm::Error cuda::shareFewRows(Generator &g) {
  if (!g.mayShare)
    return llvm::Error::success();
  llvm::Expected<std::optional<SharedLaunch>> launch = addSharedWays(g);
  if (!launch)
    return launch.takeError();
  if (!*launch)
    return llvm::Error::success();
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  SharedLaunch l = **launch;
  l.useful = h.both(l.useful, g.mayShare);
  if (llvm::is_contained(g.entries, "rows_kept")) {
    // Rows that are kept by half of the device need no help.
    Value shared = plan.word(LATHE_CUDA_SHARED), few = h.less(h.mul(plan.word(LATHE_CUDA_GRID), plan.constant(2)), plan.processors());
    l.useful = h.both(l.useful, h.bitOr(h.equal(shared, 0), few));
    plan.set(LATHE_CUDA_CLUSTER, h.select(l.useful, plan.constant(1), plan.word(LATHE_CUDA_CLUSTER)));
    plan.set(LATHE_CUDA_SHARED, h.select(l.useful, plan.constant(0), shared));
  }
  plan.set(LATHE_CUDA_FLAGS, h.bitOr(plan.word(LATHE_CUDA_FLAGS), plan.constant(LATHE_CUDA_TOGETHER)));
  plan.set(LATHE_CUDA_ENTRY, h.select(l.useful, l.begin, plan.word(LATHE_CUDA_ENTRY)));
  plan.set(LATHE_CUDA_GRID, h.select(l.useful, l.sharers, plan.word(LATHE_CUDA_GRID)));
  plan.set(LATHE_CUDA_BLOCK, h.select(l.useful, plan.constant(32), plan.word(LATHE_CUDA_BLOCK)));
  plan.set(LATHE_CUDA_SCRATCH, h.select(l.useful, l.scratch, plan.constant(0)));
  g.ways.insert(g.ways.begin(), {{}, "rows are long, and too few for the processors", schedule::PlainAttr::get(g.info.kernel->getContext()), "rows_together"});
  plan.follow(l.rows, h.select(l.useful, l.grid, plan.constant(0)), plan.constant(schedule::rowTuning.sharedThreads));
  return llvm::Error::success();
}

/// Blocks of a cluster and bytes of each for rows that are kept: as many as have room, and more where rows are too few for the device.
static std::pair<Value, Value> planKept(PlanFunction &plan, const lower::BodyInfo &info, const schedule::ThreadRows &s, const lower::RowSection &section,
                                        Value rows) {
  DeviceBuilder &h = plan.d;
  const Expr length = extentOf(info, section.axes.reduced);
  // For the alignment of shared memory, and columns' words of each reduction for the other blocks.
  bool columns = s.layout == schedule::ThreadRows::Columns;
  int64_t reductions = llvm::count_if(section.roots, [](Operation *op) { return isa<kernel::ReduceOp>(op); });
  int64_t besides = 1024 + (columns ? 8 * sharedValues(s) * reductions : 0);
  Value size = plan.size(length), blocks = plan.constant(1);
  Value accesses = h.ceilDiv(size, columns ? 1 : s.width);
  for (unsigned more = 2; s.clusters && more <= schedule::rowTuning.mostOfCluster; more *= 2) {
    Value needed = h.less(plan.constant(s.room(more / 2)), size);
    Value spare = h.less(h.mul(rows, more), h.add(plan.processors(), 1));
    spare = h.both(spare, h.less(plan.constant(int64_t(more) * s.unit * s.ahead - 1), accesses));
    blocks = h.select(h.bitOr(needed, spare), plan.constant(more), blocks);
  }
  Value rounds = h.ceilDiv(accesses, h.mul(blocks, int64_t(s.unit) * s.ahead));
  return {blocks, h.add(h.mul(rounds, int64_t(s.ahead) * s.threads * s.keptBytes), besides)};
}

/// Clusters of so many blocks for so many rows.
static Value inTurn(PlanFunction &plan, const schedule::ThreadRows &s, const schedule::Machine &machine, Value rows, Value of) {
  DeviceBuilder &h = plan.d;
  Value blocks = h.mul(plan.processors(), int64_t(schedule::keptBlocks(s, machine)));
  Value atOnce = h.b.create<arith::MaxSIOp>(h.loc, h.div(blocks, of), plan.constant(1));
  return h.select(h.less(h.mul(atOnce, schedule::mostTurns), rows), rows, h.minU(rows, atOnce));
}

/// exp(x - m) where m is the largest x is at most 1, and 1 at one of them.
static void markExponentials(const lower::BodyInfo &info) {
  for (Operation *op : info.ops) {
    auto difference = isa<math::ExpOp>(op) ? op->getOperand(0).getDefiningOp<arith::SubFOp>() : arith::SubFOp();
    auto largest = difference ? difference.getRhs().getDefiningOp<kernel::ReduceOp>() : kernel::ReduceOp();
    if (largest && largest.getKind() == kernel::Combiner::Max && largest.getValue() == difference.getLhs())
      op->setAttr(lower::expUpToOneName, UnitAttr::get(op->getContext()));
  }
}

llvm::Error cuda::generateRowProgram(Generator &g) {
  const lower::BodyInfo &info = g.info;
  markExponentials(info);
  std::vector<lower::RowSection> sections = rowSections(info);
  llvm::Expected<std::vector<RowOption>> ways = optionsOf(info, sections, &g.machine());
  if (!ways)
    return ways.takeError();
  std::vector<RowOption> &options = *ways;
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  auto blocks = [&](const RowOption &option) {
    Value most;
    for (unsigned i = 0; i < sections.size(); ++i) {
      Value n = plan.size(blocksFor(info, sections[i], option.schedules[i]));
      most = most ? h.b.create<arith::MaxSIOp>(h.loc, most, n) : n;
    }
    return most;
  };
  Value entry, grid, threads, cluster, shared;
  // Where a schedule says how many threads share a row, no more do.
  auto mayShare = [](const RowOption &option) { return option.schedule.getRow() <= 0 || option.schedules[0].kept; };
  for (unsigned i = options.size(); i-- > 0;) {
    const schedule::ThreadRows &s = options[i].schedules[0];
    Value rows = blocks(options[i]), room = plan.constant(0), of = plan.constant(1);
    if (s.kept)
      std::tie(of, room) = planKept(plan, info, s, sections[0], rows);
    if (s.kept && schedule::takesTurns(s, g.machine(), extentOf(info, sections[0].axes.rows), extentOf(info, sections[0].axes.reduced)))
      rows = inTurn(plan, s, g.machine(), rows, of);
    Value own[] = {plan.constant(i), h.mul(rows, of), plan.constant(s.threads), of, room};
    Value ok = entry ? plan.holds(options[i].when) : Value();
    unsigned word = 0;
    for (Value *v : {&entry, &grid, &threads, &cluster, &shared}) {
      *v = ok ? h.select(ok, own[word], *v) : own[word];
      ++word;
    }
    Value derived = h.i1(mayShare(options[i]));
    g.mayShare = ok ? h.select(ok, derived, g.mayShare) : derived;
  }
  if (llvm::none_of(options, mayShare))
    g.mayShare = {};
  plan.set(LATHE_CUDA_ENTRY, entry);
  plan.set(LATHE_CUDA_GRID, grid);
  plan.set(LATHE_CUDA_GRID + 1, sections.size());
  plan.set(LATHE_CUDA_GRID + 2, 1);
  plan.set(LATHE_CUDA_BLOCK, threads);
  if (llvm::any_of(options, [](const RowOption &o) { return o.schedules[0].kept; })) {
    plan.set(LATHE_CUDA_CLUSTER, cluster);
    plan.set(LATHE_CUDA_SHARED, shared);
  }
  for (const RowOption &option : options) {
    std::string name = nameOf(g, option);
    if (llvm::Error e = emitEntry(g, name, sections, option))
      return e;
    g.ways.push_back({option.when, "", option.schedule, name});
  }
  g.rowProgram = true;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// A part of a launch
//===----------------------------------------------------------------------===//

bool cuda::mayBePart(const lower::BodyInfo &info) { return rowSections(info).size() == 1; }

/// Of rows of open length no more than the general way: what shares a launch is small.
static std::vector<RowOption> partOptions(const lower::BodyInfo &info, ArrayRef<lower::RowSection> sections) {
  std::vector<RowOption> out;
  llvm::Expected<std::vector<RowOption>> all = optionsOf(info, sections, /*machine=*/nullptr);
  if (!all) { // what templates propose is right
    llvm::consumeError(all.takeError());
    return out;
  }
  for (RowOption &option : *all) {
    schedule::ThreadRows &s = option.schedules[0];
    if (option.schedule.getRow() > 0 || option.schedule.getStrip() > 0) // for rows of some lengths, or sizes, alone
      continue;
    if (s.layout == schedule::ThreadRows::Block)
      s.unit = partThreads;
    if (s.layout != schedule::ThreadRows::Columns)
      s.threads = partThreads;
    out.push_back(std::move(option));
  }
  return out;
}

static Value holds(DeviceBuilder &d, const lower::Divisibility &known, llvm::function_ref<Value(const Expr &)> size) {
  Value all = d.i1(true);
  for (const auto &[e, by] : known.conditions())
    all = d.both(all, d.equal(d.rem(size(e), by), 0));
  return all;
}

Value cuda::blocksOfPart(DeviceBuilder &d, const lower::BodyInfo &info, llvm::function_ref<Value(const Expr &)> size) {
  std::vector<lower::RowSection> sections = rowSections(info);
  std::vector<RowOption> options = partOptions(info, sections);
  Value blocks;
  for (RowOption &option : llvm::reverse(options)) {
    Value own = size(blocksFor(info, sections[0], option.schedules[0]));
    blocks = blocks ? d.select(holds(d, option.known, size), own, blocks) : own;
  }
  return blocks;
}

std::string cuda::emitPart(KernelFrame &outer, const lower::BodyInfo &info, const Values &refs, StringRef name,
                           Value firstBlock) {
  std::vector<lower::RowSection> sections = rowSections(info);
  std::vector<RowOption> options = partOptions(info, sections);
  std::string error;
  std::function<void(KernelFrame &, size_t)> emitFrom = [&](KernelFrame &around, size_t i) {
    KernelFrame frame(around, info, refs, (name + "_" + Twine(i)).str(), firstBlock);
    auto emit = [&] {
      KernelFrame own(frame, info, refs, (name + "_" + Twine(i)).str(), firstBlock);
      own.known = options[i].known;
      error += emitSection(own, options[i].schedules[0], sections[0]);
    };
    if (i + 1 == options.size())
      return emit();
    auto size = [&](const Expr &e) { return frame.size(e); };
    frame.d.branch(holds(frame.d, options[i].known, size), emit, [&] { emitFrom(frame, i + 1); });
  };
  emitFrom(outer, 0);
  return error;
}
