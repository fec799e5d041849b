//===- FewLines.cpp - Which products are of few rows or few columns ---------===//

#include "FewLinesEmitter.h"
#include "ProductChoice.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

constexpr unsigned threads = FewLinesEmitter::threads;
constexpr int64_t leastDepth = 128; ///< of a block
constexpr int64_t blocksPerProcessor = 4;

/// On tensor cores more lines cost nothing; on the ordinary cores a tile of few lines is mostly empty.
static int64_t mostLines(const Generator &g, const GemmProblem &p) { return takesWarpGemm(g, p) ? 4 : 16; }

/// As many lines as entry points are there for: those that there are, or where that is open all up to the most. Sizes
/// that no wide access can read make do with one.
static SmallVector<unsigned> countsOf(const FewLines &f, int64_t most, bool anySize) {
  SmallVector<unsigned> out;
  std::optional<int64_t> fixed = f.count().constant();
  for (unsigned n : {1u, 4u, 8u, 16u})
    if (n <= most && (fixed ? *fixed <= n : !anySize || n == most)) {
      out.push_back(n);
      if (fixed)
        break;
    }
  return out;
}

/// Which lines may be few, where both are open.
enum class FewSide { Rows, Columns };

static std::optional<FewLines> problemOf(const Generator &g, bool mayAssume, FewSide side = FewSide::Rows) {
  std::optional<GemmProblem> p = gemmProblem(g.info);
  if (!p || p->sumType().isF64() || !p->lhs.isDirect() || !p->rhs.isDirect() || namesTile(g.info))
    return std::nullopt;
  int64_t most = mostLines(g, *p), many = most + 1;
  int64_t rows = p->m.constant().value_or(0), columns = p->n.constant().value_or(many);
  bool fewAreRows = rows <= most && rows <= columns;
  bool bothOpen = !p->m.constant() && !p->n.constant();
  if ((!fewAreRows && columns > most) || (side == FewSide::Columns && !bothOpen))
    return std::nullopt;
  fewAreRows &= side == FewSide::Rows;
  FewLines f{*p, fewAreRows, false, 1, lower::Divisibility(g.info)};
  const Expr &offset = f.wide().offset;
  std::optional<Expr> step = p->shape.stepAlong(offset, p->shape.depthAxes);
  if (!step || !p->shape.stepAlong(f.few().offset, p->shape.depthAxes) || f.lines().constant().value_or(many) <= most)
    return std::nullopt;
  f.byDepth = step->isOne();
  ArrayRef<unsigned> run = f.byDepth ? ArrayRef<unsigned>(p->shape.depthAxes) : f.wideAxes();
  std::optional<Expr> length = runAlong(g.info, offset, run);
  if (!length)
    return std::nullopt;
  int64_t full = 128 / f.wide().type.getIntOrFloatBitWidth();
  Expr start = startOf(g.info, offset, run);
  if (mayAssume && f.known.assume(*length, full))
    f.known.assume(start, full);
  f.width = std::min(f.known.divisorOf(*length, full), f.known.divisorOf(start, full));
  // The few lines' own pieces are as wide, or else taken apart.
  if (f.byDepth && mayAssume)
    f.known.assume(startOf(g.info, f.few().offset, p->shape.depthAxes), f.width);
  return f;
}

bool cuda::alwaysFewLines(const Generator &g) {
  std::optional<FewLines> f = problemOf(g, true);
  return f && f->count().constant();
}

static llvm::Error addEntry(Generator &g, const FewLines &f, unsigned few, std::string name,
                            llvm::function_ref<void(FewLinesEmitter &)> emit) {
  KernelFrame frame(g.info, g.device, name, threads, g.sm, 0, g.dependent());
  frame.known = f.known;
  frame.fitBlocks(2);
  FewLinesEmitter emitter(f, few, frame);
  emit(emitter);
  return g.addEntry(frame, name, emitter.error());
}

/// The entry point for up to `few` lines; `other` is the one that turns them in front of it or adds up behind it, as it is for any
/// number.
static llvm::Expected<LaunchWords> addEntries(Generator &g, const FewLines &f, unsigned few, Value other, StringRef suffix) {
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  Value entry = plan.constant(g.entries.size()), block = plan.constant(threads), none = plan.constant(0);
  Expr each = Expr::ceildiv(f.lines(), FewLinesEmitter::linesOfBlock(f, few));
  Value blocks = plan.size(f.p.batch * each * Expr::min(Expr(1), f.count()));
  std::string name = (f.byDepth ? "few_lines_by_depth_" : "few_lines_") + std::to_string(few) + suffix.str();
  if (llvm::Error e = addEntry(g, f, few, name, [&](FewLinesEmitter &e) { f.byDepth ? e.emitByDepth() : e.emitByLines(); }))
    return std::move(e);
  if (f.isTurned()) {
    Value elements = plan.size(f.p.batch * f.count() * f.p.k);
    // Without depth there is nothing to turn, but there are results.
    Value grid = h.b.create<arith::MaxSIOp>(h.loc, h.ceilDiv(elements, threads), h.minU(blocks, plan.constant(1)));
    return LaunchWords{other, grid, block, entry, blocks, h.mul(elements, f.p.multipliesBytes() ? 1 : 4)};
  }
  if (f.byDepth)
    return LaunchWords{entry, blocks, block, entry, none, none};
  Value one = plan.constant(1), wanted = h.mul(plan.processors(), blocksPerProcessor);
  auto largest = [&](Value x, Value y) { return h.b.create<arith::MaxSIOp>(h.loc, x, y).getResult(); };
  Value most = largest(one, h.div(plan.size(f.p.k), leastDepth));
  Value parts = h.minU(h.ceilDiv(wanted, largest(one, blocks)), most), cut = h.less(one, parts);
  Value results = plan.size(f.p.batch * f.lines() * f.count());
  Value bytes = h.add(h.mul(h.mul(results, parts), 4), FewLinesEmitter::scratchHeader);
  return LaunchWords{entry,
                     h.mul(blocks, parts),
                     block,
                     other,
                     h.select(cut, h.ceilDiv(results, threads), none),
                     h.select(cut, bytes, none)};
}

/// The entry points for as many lines as there may be; `most` lines at most.
static llvm::Expected<LaunchWords> addCounts(Generator &g, const FewLines &f, int64_t most, bool anySize,
                                             StringRef suffix) {
  std::optional<LaunchWords> launch;
  SmallVector<unsigned> counts = countsOf(f, most, anySize);
  Value other = g.plan.constant(g.entries.size());
  if (f.isTurned() || !f.byDepth) {
    StringRef name = f.byDepth ? "few_lines_turn" : "few_lines_sum";
    if (llvm::Error e = addEntry(g, f, counts.back(), (name + suffix).str(),
                                 [&](FewLinesEmitter &e) { f.byDepth ? e.emitTurn() : e.emitSum(); }))
      return std::move(e);
  }
  for (unsigned few : llvm::reverse(counts)) {
    llvm::Expected<LaunchWords> own = addEntries(g, f, few, other, suffix);
    if (!own)
      return own.takeError();
    Value fits = g.plan.d.compare(arith::CmpIPredicate::sle, g.plan.size(f.count()), g.plan.constant(few));
    launch = launch ? own->orElse(g.plan.d, fits, *launch) : *own;
  }
  return *launch;
}

static llvm::Expected<bool> addSide(Generator &g, FewSide side) {
  std::optional<FewLines> f = problemOf(g, /*mayAssume=*/true, side);
  if (!f)
    return false;
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  int64_t most = mostLines(g, f->p);
  std::string suffix = side == FewSide::Columns ? "_columns" : "";
  bool always = f->count().constant().has_value();
  Value taken = always ? h.i1(true) : h.compare(arith::CmpIPredicate::sle, plan.size(f->count()), plan.constant(most));
  llvm::Expected<LaunchWords> launch = addCounts(g, *f, most, side == FewSide::Columns, suffix);
  if (launch && !f->known.conditions().empty()) {
    LaunchWords ofWide = *launch;
    Value wide = plan.holds(f->known);
    std::optional<FewLines> any = problemOf(g, /*mayAssume=*/false, side);
    if (any && any->byDepth == f->byDepth) {
      launch = addCounts(g, *any, most, /*anySize=*/true, suffix + "_any");
      if (launch)
        launch = ofWide.orElse(h, wide, *launch);
    }
  }
  if (!launch)
    return launch.takeError();
  auto set = [&](unsigned word, Value v) { plan.set(word, always ? v : h.select(taken, v, plan.word(word))); };
  Value none = plan.constant(0);
  set(LATHE_CUDA_ENTRY, launch->entry);
  set(LATHE_CUDA_GRID, launch->grid);
  for (unsigned word : {LATHE_CUDA_GRID + 1, LATHE_CUDA_GRID + 2})
    plan.set(word, 1);
  set(LATHE_CUDA_BLOCK, launch->block);
  set(LATHE_CUDA_SHARED, none);
  set(LATHE_CUDA_PERSISTENT, none);
  set(LATHE_CUDA_MAPS, none);
  set(LATHE_CUDA_SCRATCH, launch->scratch);
  plan.dropFollowing(taken);
  plan.follow(launch->next, h.select(taken, launch->nextGrid, none), launch->block);
  return true;
}

llvm::Expected<bool> cuda::generateFewLines(Generator &g) {
  llvm::Expected<bool> rows = addSide(g, FewSide::Rows);
  if (!rows)
    return rows;
  llvm::Expected<bool> columns = addSide(g, FewSide::Columns);
  if (!columns)
    return columns;
  return *rows || *columns;
}
