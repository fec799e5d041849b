//===- GemmSimt.cpp - Contractions on the ordinary cores -------------------===//
//
// Tiles of the product per block, operands through shared memory, the next tile's loads in flight while this one is
// multiplied. Takes operands of any layout: each element's address comes from the kernel's own offset.
//
//===----------------------------------------------------------------------===//

#include "Gemm.h"
#include "TileLoader.h"
#include "lathe/Support/Diagnostics.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using shape::Expr;

namespace {

struct SimtTile {
  const char *name;
  unsigned m, n, k, perThread; ///< a thread computes perThread x perThread, in groups of 4
  unsigned threads() const { return m / perThread * (n / perThread); }
};
constexpr SimtTile tiles[] = {{"gemm_simt_64x64", 64, 64, 16, 4}, {"gemm_simt_128x128", 128, 128, 8, 8}};
/// From this many large tiles on they keep the machine busy.
constexpr int64_t manyTiles = 100;

class SimtGemm {
public:
  SimtGemm(const GemmProblem &p, KernelFrame &frame, const SimtTile &tile)
      : p(p), frame(frame), d(frame.d), info(frame.info), tile(tile), hooks(info),
        base(info, frame.d.b, frame.d.loc, frame.sizes, frame.refs, hooks),
        a(frame, {kernel::ContractOp(p.op).getLhs(), p.shape.lhs, p.shape.rowAxes, p.shape.depthAxes, p.m, p.k, tile.m, tile.k, "a"}),
        b(frame, {kernel::ContractOp(p.op).getRhs(), p.shape.rhs, p.shape.columnAxes, p.shape.depthAxes, p.n, p.k, tile.n, tile.k,
                  "b"}) {}
  void emit();
  const std::string &error() const { return base.error(); }

private:
  void locate();
  Values multiply(ArrayRef<Value> sums);
  Values fragment(TileLoader &o, unsigned tileLines, unsigned k, Value group);
  void storeTile(ArrayRef<Value> sums);

  const GemmProblem &p;
  KernelFrame &frame;
  DeviceBuilder &d;
  const lower::BodyInfo &info;
  SimtTile tile;
  DeviceHooks hooks;
  BodyEmitter base;
  Value tid, m, n, k, m0, n0, tx, ty;
  TileLoader a, b;
};

} // namespace

/// Which tile of which batch is this block's.
void SimtGemm::locate() {
  tid = d.threadId();
  unsigned across = tile.n / tile.perThread;
  tx = d.rem(tid, across);
  ty = d.div(tid, across);
  m = frame.size(p.m);
  n = frame.size(p.n);
  k = frame.size(p.k);
  Value tilesM = d.ceilDiv(m, tile.m), tilesN = d.ceilDiv(n, tile.n);
  Value block = d.wide(d.blockId()), perBatch = d.mul(tilesM, tilesN);
  Value batch = d.div(block, perBatch), rest = d.rem(block, perBatch);
  m0 = d.mul(d.div(rest, tilesN), tile.m);
  n0 = d.mul(d.rem(rest, tilesN), tile.n);
  Values extents;
  for (unsigned axis : p.shape.batchAxes)
    extents.push_back(frame.size(info.extents[axis]));
  for (auto [axis, i] : llvm::zip(p.shape.batchAxes, delinearize(d, batch, extents)))
    base.bindAxis(info.axes[axis], i);
}

/// The thread's lines of one k: groups of 4, a quarter tile apart.
Values SimtGemm::fragment(TileLoader &o, unsigned tileLines, unsigned kk, Value group) {
  Values out;
  for (unsigned at = 0; at < tile.perThread; at += 4) {
    Value v = o.four(d.i32(kk), d.add(d.mul(group, 4), at / 4 * (tileLines / (tile.perThread / 4))));
    for (unsigned i = 0; i < 4; ++i)
      out.push_back(d.extract(v, i));
  }
  return out;
}

Values SimtGemm::multiply(ArrayRef<Value> sums) {
  Values out(sums);
  for (unsigned kk = 0; kk < tile.k; ++kk) {
    Values x = fragment(a, tile.m, kk, ty), y = fragment(b, tile.n, kk, tx);
    for (unsigned i = 0; i < tile.perThread; ++i)
      for (unsigned j = 0; j < tile.perThread; ++j) {
        Value &sum = out[i * tile.perThread + j];
        sum = d.fma(x[i], y[j], sum);
      }
  }
  return out;
}

void SimtGemm::storeTile(ArrayRef<Value> sums) {
  ProductEpilogue epilogue(p.epilogue(), frame, hooks, base);
  unsigned width = epilogue.width(), quarters = tile.perThread / 4;
  for (unsigned i = 0; i < tile.perThread; ++i) {
    Value row = d.add(d.wide(d.add(d.mul(ty, 4), i / 4 * (tile.m / quarters) + i % 4)), m0);
    d.when(d.less(row, m), [&] {
      BodyEmitter point = epilogue.atRow(row);
      for (unsigned j = 0; j < tile.perThread; j += width) {
        Value column = d.add(d.wide(d.add(d.mul(tx, 4), j / 4 * (tile.n / quarters) + j % 4)), n0);
        d.when(d.less(column, n), [&] { epilogue.store(point, column, sums.slice(i * tile.perThread + j, width)); });
      }
    });
  }
}

void SimtGemm::emit() {
  locate();
  a.locate(base, m0);
  b.locate(base, n0);
  unsigned numSums = tile.perThread * tile.perThread;
  Values carried(numSums, d.f32(0));
  Value zero = d.i64(0);
  carried.append(a.load(zero));
  carried.append(b.load(zero));
  Values out = d.loop(zero, k, d.i64(tile.k), carried, [&](Value k0, ValueRange now) {
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
  storeTile(ArrayRef<Value>(out).take_front(numSums));
}

llvm::Expected<bool> cuda::generateSimtGemm(Generator &g) {
  std::optional<GemmProblem> p = gemmProblem(g.info);
  // A depth that may be 0 has nothing to clamp addresses to.
  if (!p || !p->k.constant() || *p->k.constant() < 4)
    return false;
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  auto blocks = [&](const SimtTile &t) {
    return plan.size(p->batch * Expr::ceildiv(p->m, t.m) * Expr::ceildiv(p->n, t.n));
  };
  Value large = blocks(tiles[1]), small = blocks(tiles[0]);
  Value useLarge = h.compare(arith::CmpIPredicate::sge, large, plan.constant(manyTiles));
  plan.set(LATHE_CUDA_ENTRY, h.select(useLarge, plan.constant(1), plan.constant(0)));
  plan.set(LATHE_CUDA_GRID, h.select(useLarge, large, small));
  plan.set(LATHE_CUDA_GRID + 1, 1);
  plan.set(LATHE_CUDA_GRID + 2, 1);
  plan.set(LATHE_CUDA_BLOCK, tiles[0].threads());
  for (const SimtTile &t : tiles) {
    KernelFrame frame(g.info, g.device, t.name, t.threads(), g.sm, 0, g.dependent());
    SimtGemm gemm(*p, frame, t);
    gemm.emit();
    frame.finish();
    g.entries.push_back(t.name);
    if (!gemm.error().empty())
      return bug("kernel '{0}' on a GPU: {1}", kernel::GenericOp(g.info.kernel).getName(), gemm.error());
  }
  return true;
}
