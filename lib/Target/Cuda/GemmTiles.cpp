//===- GemmTiles.cpp - Contractions by tiles of any layout -----------------===//

#include "GemmTiles.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

static TileSource sourceOf(const GemmProblem &p, const GemmTile &t, bool left, Value halves) {
  kernel::ContractOp op = p.op;
  if (left)
    return {op.getLhs(), p.shape.lhs, p.shape.rowAxes, p.shape.depthAxes, p.m, p.k, t.m, t.k, "a", halves};
  return {op.getRhs(), p.shape.rhs, p.shape.columnAxes, p.shape.depthAxes, p.n, p.k, t.n, t.k, "b", halves};
}

TiledGemm::TiledGemm(const GemmProblem &p, KernelFrame &frame, const GemmTile &tile, Value halves)
    : EntryEmitter(frame), p(p), a(frame, sourceOf(p, tile, true, halves)),
      b(frame, sourceOf(p, tile, false, halves ? d.add(halves, TileSource::halfBytes(tile.m, tile.k)) : halves)), tile(tile) {}

void TiledGemm::locate() {
  Value tilesM = d.ceilDiv(frame.size(p.m), tile.m), tilesN = d.ceilDiv(frame.size(p.n), tile.n);
  Value block = d.wide(d.blockId()), perBatch = d.mul(tilesM, tilesN);
  Value batch = d.div(block, perBatch), rest = d.rem(block, perBatch);
  m0 = d.mul(d.div(rest, tilesN), tile.m);
  n0 = d.mul(d.rem(rest, tilesN), tile.n);
  bindBatch(base, p.shape.batchAxes, batch);
}

Values TiledGemm::sumOverDepth(unsigned numSums, llvm::function_ref<Values(ArrayRef<Value>)> multiply) {
  a.locate(base, m0);
  b.locate(base, n0);
  Values carried(numSums, d.f32(0));
  Value zero = d.i64(0);
  carried.append(a.load(zero));
  carried.append(b.load(zero));
  Values out = d.loop(zero, frame.size(p.k), d.i64(tile.k), carried, [&](Value k0, ValueRange now) {
    Values state(now);
    ArrayRef<Value> all(state);
    d.barrier();
    a.put(all.slice(numSums, a.count()));
    b.put(all.slice(numSums + a.count()));
    d.barrier();
    Value next = d.add(k0, tile.k);
    Values loadedA = a.load(next), loadedB = b.load(next);
    Values sums = multiply(all.take_front(numSums));
    sums.append(loadedA);
    sums.append(loadedB);
    return sums;
  });
  out.truncate(numSums);
  return out;
}

void cuda::planTiles(PlanFunction &plan, const GemmProblem &p, const TileLaunch &small, const TileLaunch &large,
                     int64_t manyTiles) {
  DeviceBuilder &h = plan.d;
  auto blocks = [&](const GemmTile &t) { return plan.size(p.batch * Expr::ceildiv(p.m, t.m) * Expr::ceildiv(p.n, t.n)); };
  Value ofLarge = blocks(large.tile), ofSmall = blocks(small.tile);
  Value useLarge = h.compare(arith::CmpIPredicate::sge, ofLarge, plan.constant(manyTiles));
  auto choose = [&](int64_t ifLarge, int64_t ifSmall) {
    return h.select(useLarge, plan.constant(ifLarge), plan.constant(ifSmall));
  };
  plan.set(LATHE_CUDA_ENTRY, choose(1, 0));
  plan.set(LATHE_CUDA_GRID, h.select(useLarge, ofLarge, ofSmall));
  plan.set(LATHE_CUDA_GRID + 1, 1);
  plan.set(LATHE_CUDA_GRID + 2, 1);
  plan.set(LATHE_CUDA_BLOCK, choose(large.threads, small.threads));
  if (large.shared || small.shared)
    plan.set(LATHE_CUDA_SHARED, choose(large.shared, small.shared));
}
