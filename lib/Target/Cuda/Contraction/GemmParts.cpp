//===- GemmParts.cpp - Products that are cut in depth -----------------------===//

#include "GemmParts.h"
#include "GemmTiles.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;

constexpr unsigned sumThreads = 256;
constexpr int64_t header = 16; ///< bytes in front of the sums

namespace {
class PartsSum : public EntryEmitter {
public:
  PartsSum(const GemmProblem &p, KernelFrame &frame) : EntryEmitter(frame), p(p) {}
  void emit();

private:
  void sum(ProductEpilogue &epilogue);
  const GemmProblem &p;
};
} // namespace

Value cuda::partOfSums(KernelFrame &frame, const GemmProblem &p, Value part, Value batch) {
  DeviceBuilder &d = frame.d;
  Value slice = d.add(d.mul(part, frame.size(p.batch)), batch);
  Value at = d.mul(d.mul(slice, frame.size(p.m)), frame.size(p.n));
  return d.at(d.byteAt(frame.scratch(), header), at, p.sumType());
}

Value cuda::bytesOfParts(PlanFunction &plan, const GemmProblem &p, Value parts) {
  DeviceBuilder &h = plan.d;
  return h.add(h.mul(h.mul(plan.size(p.batch * p.m * p.n), parts), 4), header);
}

bool cuda::mayBeCut(const ProductChoice &choice, const GemmProblem &p, const schedule::ProductTile &tile, int64_t longer) {
  constexpr int64_t manyTiles = 256; // on any machine
  bool isLong = p.k.constant().value_or(INT64_MAX) > longer;
  return isLong && p.tiles(tile.rows, tile.columns).constant().value_or(0) < manyTiles && choice.mayCut();
}

DepthCut cuda::planCut(PlanFunction &plan, const ProductChoice &choice, Value tiles, Value steps, Value places, int64_t worthSteps, Value alone) {
  constexpr int64_t leastSteps = 8; // of a part
  DeviceBuilder &h = plan.d;
  Value one = plan.constant(1);
  auto largest = [&](Value x, Value y) { return h.b.create<arith::MaxSIOp>(h.loc, x, y).getResult(); };
  Value parts = largest(one, h.minU(h.div(places, largest(one, tiles)), h.div(steps, leastSteps))), taken = h.ceilDiv(steps, parts);
  Value saved = h.sub(steps, alone ? h.minU(steps, largest(taken, alone)) : taken);
  // Nothing is saved where there is but one part.
  auto saves = [&](int64_t least) { return h.compare(arith::CmpIPredicate::sge, saved, plan.constant(least)); };
  return {parts, choice.inParts(saves(worthSteps), saves(1))};
}

void cuda::tellParts(KernelFrame &frame, Value parts) {
  DeviceBuilder &d = frame.d;
  d.when(d.both(d.equal(d.threadId(), 0), d.equal(d.blockId(), 0)), [&] {
    frame.awaitPrevious(); // it may still be adding up parts of its own
    d.store(d.wide(parts), frame.scratch(), 8);
  });
}

void PartsSum::sum(ProductEpilogue &epilogue) {
  unsigned width = epilogue.width();
  Value rows = frame.size(p.m), columns = frame.size(p.n), across = d.div(columns, width), each = d.mul(rows, across);
  Value index = d.add(d.mul(d.wide(d.blockId()), sumThreads), d.wide(d.threadId())), batches = frame.size(p.batch);
  d.when(d.less(index, d.mul(each, batches)), [&] {
    Value rest = d.rem(index, each), row = d.div(rest, across), column = d.mul(d.rem(rest, across), width);
    bindBatch(base, p.shape.batchAxes, d.div(index, each));
    Value parts = d.load(d.i64Type(), frame.scratch(), 8), sums = d.byteAt(frame.scratch(), header);
    Type type = d.vector(width, p.sumType());
    Value ofPart = d.mul(d.mul(batches, rows), columns), at = d.mul(index, width);
    Value sum = d.loop(d.i64(0), parts, d.i64(1), Values{d.zero(type)}, [&](Value part, ValueRange now) {
      Value x = d.load(type, d.at(sums, d.add(d.mul(part, ofPart), at), p.sumType()), 4 * width);
      return Values{d.sum(now[0], x)};
    })[0];
    Values lanes;
    for (unsigned i = 0; i < width; ++i)
      lanes.push_back(d.extract(sum, i));
    epilogue.store(epilogue.atRow(row), column, lanes);
  });
}

void PartsSum::emit() {
  ProductEpilogue epilogue(p.epilogue(), frame, hooks, base);
  auto all = [&] { sum(epilogue); };
  epilogue.byWidth(all, all);
}

llvm::Error cuda::addPartsSum(Generator &g, const GemmProblem &p, llvm::function_ref<void(KernelFrame &)> prepare) {
  KernelFrame frame(g.info, g.device, "gemm_sum_parts", sumThreads, g.sm, 0, g.dependent());
  prepare(frame);
  PartsSum sum(p, frame);
  sum.emit();
  return g.addEntry(frame, "gemm_sum_parts", sum.error());
}

void cuda::followBySum(PlanFunction &plan, const GemmProblem &p, unsigned entry, Value inParts) {
  DeviceBuilder &h = plan.d;
  Value blocks = h.ceilDiv(plan.size(p.batch * p.m * p.n), sumThreads); // enough for single columns
  plan.follow(plan.constant(entry), h.select(inParts, blocks, plan.constant(0)), plan.constant(sumThreads));
}

llvm::Expected<GemmLaunch> cuda::planParts(Generator &g, const GemmProblem &p, const lower::Divisibility &wide, const GemmLaunch &whole) {
  ProductChoice choice(g);
  bool byWarps = takesWarpGemm(g, p), mayLeaveSums = p.sumType().isF32() || (byWarps && p.sumType().isInteger(32));
  const int64_t fewest = byWarps ? 2048 : 384; // a depth that is less leaves too little to save
  const schedule::ProductTile &smallest = schedule::tilesOf(byWarps ? schedule::ProductUnit::Warps : schedule::ProductUnit::Threads).back();
  if (!mayLeaveSums || !mayBeCut(choice, p, smallest, fewest))
    return whole;
  PartTile t = byWarps ? partOfWarps(g, p, wide) : partOfThreads(g, p, wide);
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  Value tiles = plan.size(p.tiles(t.tile.rows, t.tile.columns)), steps = plan.size(shape::Expr::ceildiv(p.k, t.tile.depth));
  auto [parts, cut] = planCut(plan, choice, tiles, steps, h.mul(plan.processors(), t.blocksTogether), t.worthSteps);
  if (!wide.conditions().empty())
    cut = h.both(cut, plan.holds(wide));
  GemmLaunch ofParts{plan.constant(g.entries.size()), h.mul(tiles, parts), plan.constant(t.threads), plan.constant(t.shared)};
  if (llvm::Error e = t.add(std::string(t.tile.name) + "_parts"))
    return e;
  if (llvm::Error e = addPartsSum(g, p, [](KernelFrame &) {}))
    return e;
  followBySum(plan, p, g.entries.size() - 1, cut);
  plan.set(LATHE_CUDA_SCRATCH, h.select(cut, bytesOfParts(plan, p, parts), plan.constant(0)));
  return chooseLaunch(h, cut, ofParts, whole);
}
