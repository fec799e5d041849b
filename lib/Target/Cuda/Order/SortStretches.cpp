//===- SortStretches.cpp - A few best words of rows too few for a device ----===//
//
// One block reads a long row slowly while the others stand idle. So a row is cut into stretches: a block finds the best
// words of each and leaves them in scratch memory, in order. A second launch has a block for each row, which finds the
// best of those. What is in a stretch follows from sizes and device, and no two words are equal: nothing depends on
// which block is done first.
//
//===----------------------------------------------------------------------===//

#include "SortEmitter.h"
#include "lathe/Lower/SortKey.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

constexpr unsigned stretchThreads = 1024;
static_assert(fewBest <= stretchThreads / 2, "few enough for the best ones of threads (SortEmitter::collect)");
/// Words of a stretch, or more.
constexpr int64_t leastStretch = 8192;
/// Rows are cut into no fewer stretches than this: of fewer, a second launch is not worth it.
constexpr int64_t fewestStretches = 4;
/// Scratch memory begins with the number of stretches of a row.
constexpr int64_t headBytes = 128;

/// The words of all stretches, `results` of each: the high parts, behind them the low ones.
SortKept SortEmitter::keptWords(Value stretches, Value results) {
  Value highs = d.byteAt(frame.scratch(), d.i64(headBytes));
  Value all = d.mul(d.mul(frame.size(rowsOf(info, op)), stretches), results);
  return {highs, isWide() ? d.at(highs, all, d.i64Type()) : Value()};
}

void SortEmitter::keep(const Word &w, const SortKept &to, Value at) {
  d.store(w.high, d.at(to.highs, at, d.i64Type()), 8);
  if (isWide())
    d.store(w.low, d.at(to.lows, at, d.i32Type()), 4);
}

void SortEmitter::emitStretch() {
  prepare();
  Value whole = size, results = frame.size(info.extents[rankAxis]), block = d.wide(d.blockId());
  Value stretches = d.div(d.wide(d.gridSize()), frame.size(rowsOf(info, op)));
  d.when(d.both(d.equal(tid, 0), d.equal(block, 0)), [&] { d.store(stretches, frame.scratch(), 8); });
  bindBatch(base, rowAxes, d.div(block, stretches));
  Value length = d.ceilDiv(whole, stretches);
  start = d.minU(d.mul(d.rem(block, stretches), length), whole);
  size = d.minU(length, d.sub(whole, start));
  Value to = d.minU(results, size);
  sortWords(collect(d.i64(0), to));
  SortKept kept = keptWords(stretches, results);
  Value first = d.mul(block, results);
  // A stretch of fewer words leaves some that come after all others.
  d.loop(d.wide(tid), results, d.i64(threads), [&](Value rank) {
    d.branch(
        d.less(rank, to), [&] { keep(load(d.narrow(rank)), kept, d.add(first, rank)); },
        [&] { keep(constant(-1), kept, d.add(first, rank)); });
  });
}

void SortEmitter::emitSurvivors() {
  prepare();
  Value results = frame.size(info.extents[rankAxis]), row = d.wide(d.blockId());
  Value stretches = d.load(d.i64Type(), frame.scratch(), 8);
  size = d.mul(stretches, results);
  Value first = d.mul(row, size);
  SortKept words = keptWords(stretches, results);
  kept = SortKept{d.at(words.highs, first, d.i64Type()), isWide() ? d.at(words.lows, first, d.i32Type()) : Value()};
  bindBatch(base, rowAxes, row);
  sortWords(collect(d.i64(0), results));
  emitResults(d.i64(0), results);
}

static llvm::Error addEntry(Generator &g, kernel::SortOp op, StringRef name, Dependent dependent, void (SortEmitter::*emit)()) {
  KernelFrame frame(g.info, g.device, name, stretchThreads, g.sm, 0, dependent);
  SortEmitter emitter(frame, op, stretchThreads);
  (emitter.*emit)();
  return g.addEntry(frame, name, emitter.error());
}

llvm::Expected<std::optional<LaunchWords>> cuda::addStretches(Generator &g, kernel::SortOp op, Value &useful) {
  kernel::GenericOp kernel = g.info.kernel;
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  Expr length = *kernel.getExtent(op.getAxis()), results = *kernel.getExtent(op.getRankAxis());
  if (length.constant().value_or(INT64_MAX) < fewestStretches * leastStretch || results.constant().value_or(1) > fewBest)
    return std::nullopt;
  Value size = plan.size(length), count = plan.size(results), processors = plan.processors();
  Value rows = plan.size(rowsOf(g.info, op)), some = h.b.create<arith::MaxSIOp>(h.loc, rows, plan.constant(1));
  Value stretches = h.minU(h.div(processors, some), h.div(size, leastStretch));
  useful = h.both(h.less(plan.constant(0), count), h.less(count, plan.constant(fewBest + 1)));
  useful = h.both(useful, h.less(plan.constant(fewestStretches - 1), stretches));
  useful = h.both(useful, h.less(size, plan.constant(INT32_MAX)));
  Value words = h.mul(h.mul(rows, stretches), count);
  LaunchWords launch{plan.constant(g.entries.size()),     h.mul(rows, stretches), plan.constant(stretchThreads),
                     plan.constant(g.entries.size() + 1), rows,                   h.add(h.mul(words, lower::sortKeyBytes(op) > 4 ? 12 : 8), headBytes)};
  if (llvm::Error e = addEntry(g, op, "sort_stretch", g.dependent(), &SortEmitter::emitStretch))
    return std::move(e);
  if (llvm::Error e = addEntry(g, op, "sort_survivors", g.dependent(), &SortEmitter::emitSurvivors))
    return std::move(e);
  return launch;
}
