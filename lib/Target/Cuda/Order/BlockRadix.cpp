//===- BlockRadix.cpp - Rows sorted digit by digit in one block's shared memory ----===//
//
// Of a row that fits, each thread keeps a few words in registers. Digit by digit, from the lowest on, they go to their new places in shared memory
// and come back in the order there (RadixTile.cpp). As in RadixSort.cpp words keep their order, so that equal keys keep that of their
// indices; but nothing leaves the multiprocessor between reading the row and writing the results.
//
//===----------------------------------------------------------------------===//

#include "RadixTile.h"
#include "lathe/Lower/SortKey.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

constexpr unsigned digits = radixDigits, digitBits = 8;

namespace {

class BlockRadixEmitter : public RadixTileEmitter {
public:
  BlockRadixEmitter(KernelFrame &frame, kernel::SortOp op, BlockShape shape) : RadixTileEmitter(frame, op, shape) {}
  void emit();

private:
  Value bitsThatDiffer(ValueRange words);
  Values pass(ValueRange words, Value shift);

  Value size, bits;      ///< bits: in shared memory
  Values places, inside; ///< of the thread's words in the row, and whether there are such
};

} // namespace

/// The bits of keys that are not the same in all words of the row.
Value BlockRadixEmitter::bitsThatDiffer(ValueRange words) {
  Value some = wordOf(words, 0).high, all = some, someAt = bits, allAt = d.at(bits, d.i32(1), d.i64Type());
  for (unsigned i = 1; i < shape.each; ++i) {
    some = d.bitOr(some, wordOf(words, i).high);
    all = d.both(all, wordOf(words, i).high);
  }
  std::tie(some, all) = combineBits(some, all);
  d.when(d.equal(tid, 0), [&] {
    d.store(d.i64(0), someAt, 8);
    d.store(d.i64(-1), allAt, 8);
  });
  d.barrier();
  auto combine = [&](LLVM::AtomicBinOp op, Value at, Value v) { d.b.create<LLVM::AtomicRMWOp>(d.loc, op, at, v, LLVM::AtomicOrdering::monotonic); };
  d.when(d.equal(lane, 0), [&] {
    combine(LLVM::AtomicBinOp::_or, someAt, some);
    combine(LLVM::AtomicBinOp::_and, allAt, all);
  });
  d.barrier();
  return d.bitXor(d.load(d.i64Type(), someAt, 8), d.load(d.i64Type(), allAt, 8));
}

/// The words in the order of a digit.
Values BlockRadixEmitter::pass(ValueRange words, Value shift) {
  order(words, inside, shift);
  d.barrier();
  return collect(places, [&](Value at) { return load(at); });
}

void BlockRadixEmitter::emit() {
  prepare();
  size = d.narrow(frame.size(info.extents[axis]));
  bits = frame.sharedArray("bits", d.i64Type(), 2);
  bindBatch(base, rowAxes, d.wide(d.blockId()));
  Value piece = d.mul(d.ceilDiv(size, 32 * shape.warps()), 32), last = d.sub(size, d.i32(1));
  Value from = d.minU(d.mul(warp, piece), size), to = d.minU(d.add(from, piece), size);
  for (unsigned i = 0; i < shape.each; ++i) {
    Value at = d.add(d.add(from, lane), int64_t(32 * i));
    inside.push_back(d.less(at, to));
    places.push_back(d.minU(at, last));
  }
  Values words = collect(places, [&](Value at) { return wordAt(base, d.wide(at)); });
  Value differ = bitsThatDiffer(words), digitMask = d.i64(digits - 1);
  // A digit that all words share leaves them where they are: small integers have several.
  Values sorted = d.loop(d.i32(0), d.i32(keyBytes), d.i32(1), words, [&](Value number, ValueRange now) {
    Value shift = d.wide(d.add(d.mul(number, digitBits), isWide() ? 0 : 32));
    Value shared = d.equal(d.both(d.b.create<arith::ShRUIOp>(d.loc, differ, shift), digitMask), 0);
    return d.choose(shared, [&] { return Values(now); }, [&] { return pass(now, shift); });
  });
  for (unsigned i = 0; i < shape.each; ++i)
    d.when(inside[i], [&] { store(wordOf(sorted, i), places[i]); });
  d.barrier();
  d.loop(d.wide(tid), frame.size(info.extents[rankAxis]), d.i64(shape.threads), [&](Value rank) { storeResult(base, load(d.narrow(rank)), rank); });
}

/// The blocks that a machine has room for, the smallest first.
static SmallVector<BlockShape> shapesFor(const schedule::Machine &machine, unsigned keyBytes) {
  SmallVector<BlockShape> shapes;
  for (BlockShape s : {BlockShape{256, 4}, BlockShape{256, 8}, BlockShape{512, 8}, BlockShape{1024, 8}, BlockShape{1024, 16}})
    if (s.sharedBytes(keyBytes) <= int64_t(machine.gpu.sharedPerBlock) && (s.each <= 8 || keyBytes <= 4)) // of wide words registers hold eight
      shapes.push_back(s);
  return shapes;
}

/// Rows of fewer words are sorted by exchanges, fewer results are picked from the row.
constexpr int64_t shortest = 512, fewestResults = 128;

llvm::Expected<std::optional<BlockSort>> cuda::addBlockRadix(Generator &g, kernel::SortOp op) {
  kernel::GenericOp kernel = g.info.kernel;
  Expr length = *kernel.getExtent(op.getAxis()), results = *kernel.getExtent(op.getRankAxis());
  unsigned keyBytes = lower::sortKeyBytes(op);
  SmallVector<BlockShape> shapes = shapesFor(g.machine(), keyBytes);
  std::optional<int64_t> known = length.constant();
  if (results.constant().value_or(INT64_MAX) <= fewestResults || known.value_or(INT64_MAX) <= shortest || known.value_or(0) > shapes.back().room())
    return std::nullopt;
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  Value size = plan.size(length), entry, threads, shared;
  auto atMost = [&](int64_t room) { return h.less(size, plan.constant(room + 1)); };
  // From the largest to the smallest, of which the last that fits is taken.
  for (const BlockShape &s : llvm::reverse(shapes)) {
    if (known && (*known > s.room() || (&s != shapes.begin() && *known <= (&s)[-1].room())))
      continue;
    auto orElse = [&](int64_t value, Value otherwise) {
      return otherwise ? h.select(atMost(s.room()), plan.constant(value), otherwise) : plan.constant(value);
    };
    entry = orElse(g.entries.size(), entry);
    threads = orElse(s.threads, threads);
    shared = orElse(s.sharedBytes(keyBytes), shared);
    std::string name = "sort_row_" + std::to_string(s.room());
    KernelFrame frame(g.info, g.device, name, s.threads, g.sm, 0, g.dependent());
    BlockRadixEmitter emitter(frame, op, s);
    emitter.emit();
    if (llvm::Error e = g.addEntry(frame, name, emitter.error()))
      return std::move(e);
  }
  Value fits = h.both(h.less(plan.constant(shortest), size), atMost(shapes.back().room()));
  return BlockSort{h.both(fits, h.less(plan.constant(fewestResults), plan.size(results))), entry, plan.size(rowsOf(g.info, op)), threads, shared, known && results.constant()};
}
