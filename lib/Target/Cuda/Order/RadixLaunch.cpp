//===- RadixLaunch.cpp - When all blocks of a GPU sort rows together --------===//

#include "RadixEmitter.h"
#include "lathe/Lower/SortKey.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

/// The fewest words of a block.
constexpr int64_t leastWords = 4096;

/// Counters begin at 0; the launch has as many blocks as share a row.
static llvm::Error addBegin(Generator &g) {
  KernelFrame frame(g.info, g.device, "sort_begin", 32, g.sm, 0, g.dependent());
  DeviceBuilder &d = frame.d;
  d.when(d.equal(d.blockId(), 0), [&] {
    d.loop(d.threadId(), d.i32(mostRadixGroups), d.i32(32),
           [&](Value i) { d.store(d.i32(0), d.at(frame.scratch(), d.add(i, firstRadixCounter), d.i32Type()), 4); });
    d.when(d.equal(d.threadId(), 0), [&] { d.store(d.gridSize(), frame.scratch(), 4); });
  });
  return g.addEntry(frame, "sort_begin", "");
}

/// As many words of a tile as a block has room for.
static BlockShape shapeFor(const schedule::Machine &machine, unsigned keyBytes) {
  for (BlockShape s : {BlockShape{1024, 8}, BlockShape{512, 8}})
    if (s.sharedBytes(keyBytes) + int64_t(8 * radixDigits * 4) <= int64_t(machine.gpu.sharedPerBlock))
      return s;
  return {512, 4};
}

llvm::Expected<std::optional<RadixLaunch>> cuda::addRadixSort(Generator &g, kernel::SortOp op, int64_t blockRoom) {
  kernel::GenericOp kernel = g.info.kernel;
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  Expr length = *kernel.getExtent(op.getAxis()), results = *kernel.getExtent(op.getRankAxis());
  if (results.constant().value_or(INT64_MAX) <= fewBest)
    return std::nullopt;
  if (length.constant().value_or(INT64_MAX) <= blockRoom || length.constant().value_or(0) >= INT32_MAX)
    return std::nullopt;
  unsigned keyBytes = lower::sortKeyBytes(op);
  BlockShape shape = shapeFor(g.machine(), keyBytes);
  auto atLeastOne = [&](Value v) { return h.b.create<arith::MaxSIOp>(h.loc, v, plan.constant(1)).getResult(); };
  Value size = plan.size(length), rows = atLeastOne(plan.size(rowsOf(g.info, op))), processors = plan.processors();
  Value parts = h.ceilDiv(plan.size(results), blockRoom);
  Value sharers = h.minU(h.div(processors, h.minU(rows, processors)), atLeastOne(h.ceilDiv(size, leastWords)));
  Value groups = h.minU(h.minU(rows, plan.constant(mostRadixGroups)), h.div(processors, sharers));
  // A block for each part reads its row several times for each; few blocks leave the device idle.
  Value idle = h.both(h.less(h.mul(h.mul(rows, parts), 8), processors), h.less(plan.constant(4 * blockRoom), size));
  // A few best ones are found while a row is read twice.
  idle = h.both(idle, h.less(plan.constant(fewBest), plan.size(results)));
  Value useful = h.both(h.less(size, plan.constant(INT32_MAX)), h.bitOr(idle, h.less(plan.constant(2), parts)));
  Value buffer = h.mul(h.ceilDiv(size, 4), 4 * RadixEmitter::wordBytes(keyBytes));
  Value own = h.add(h.mul(buffer, 2), h.mul(sharers, RadixEmitter::tableBytes()));
  RadixLaunch launch{h.both(useful, h.less(plan.constant(blockRoom), size)),
                     plan.constant(g.entries.size()),
                     sharers,
                     plan.constant(g.entries.size() + 1),
                     h.mul(groups, sharers),
                     h.add(h.mul(own, groups), radixHeadBytes),
                     shape.threads,
                     shape.sharedBytes(keyBytes)};
  if (llvm::Error e = addBegin(g))
    return std::move(e);
  KernelFrame frame(g.info, g.device, "sort_together", shape.threads, g.sm, 0, Dependent::No);
  RadixEmitter emitter(frame, op, shape);
  emitter.emit();
  if (llvm::Error e = g.addEntry(frame, "sort_together", emitter.error()))
    return std::move(e);
  return launch;
}
