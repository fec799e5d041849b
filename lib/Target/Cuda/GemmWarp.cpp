//===- GemmWarp.cpp - Contractions on tensor cores, warp by warp -----------===//
//
// mma.sync on fragments that ldmatrix brings from shared memory, the next tile's loads in flight while this one is multiplied.
// Serves f16 on compute capability 7.5, which has no asynchronous copies, and on later ones those layouts that bulk copies
// cannot fetch.
//
//===----------------------------------------------------------------------===//

#include "FragmentEpilogue.h"
#include "Gemm.h"
#include "TileLoader.h"
#include "lathe/Support/Diagnostics.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using shape::Expr;

namespace {

/// A warp multiplies (16 * blocks) x 32.
struct WarpTile {
  const char *name;
  unsigned m, n, blocks;
  unsigned warpsAlongN() const { return n / 32; }
  unsigned warps() const { return m / (16 * blocks) * warpsAlongN(); }
};
constexpr WarpTile tiles[] = {{"gemm_mma_64x64", 64, 64, 2}, {"gemm_mma_128x128", 128, 128, 4}};
constexpr unsigned tileDepth = 32;
/// From this many large tiles on they keep the machine busy.
constexpr int64_t manyTiles = 80;

class WarpGemm {
public:
  WarpGemm(const GemmProblem &p, KernelFrame &frame, const WarpTile &tile)
      : p(p), frame(frame), d(frame.d), info(frame.info), tile(tile), hooks(info),
        base(info, frame.d.b, frame.d.loc, frame.sizes, frame.refs, hooks),
        shared(d.b.create<LLVM::PtrToIntOp>(d.loc, d.i32Type(), frame.dynamicShared())), a(frame, left()), b(frame, right()) {}
  void emit();
  const std::string &error() const { return base.error(); }
  static unsigned sharedBytes(const WarpTile &t) {
    return TileSource::halfBytes(t.m, tileDepth) + TileSource::halfBytes(t.n, tileDepth) + t.warps() * epilogueBytesPerWarp + 1024;
  }

private:
  TileSource left() {
    return {kernel::ContractOp(p.op).getLhs(), p.shape.lhs, p.shape.rowAxes, p.shape.depthAxes, p.m, p.k, tile.m, tileDepth, "a",
            shared};
  }
  TileSource right() {
    return {kernel::ContractOp(p.op).getRhs(), p.shape.rhs, p.shape.columnAxes, p.shape.depthAxes, p.n, p.k, tile.n, tileDepth, "b",
            d.add(shared, TileSource::halfBytes(tile.m, tileDepth))};
  }
  void locate();
  Values multiply(ArrayRef<Value> sums);
  Values product(ArrayRef<Value> sums, Value a0, Value a1, Value b);
  void storeTile(ArrayRef<Value> sums);

  const GemmProblem &p;
  KernelFrame &frame;
  DeviceBuilder &d;
  const lower::BodyInfo &info;
  WarpTile tile;
  DeviceHooks hooks;
  BodyEmitter base;
  Value shared, lane, warp, row, column, m0, n0; ///< row and column: the warp's, in the tile
  TileLoader a, b;
};

} // namespace

/// Which tile of which batch is this block's, and which part of it this warp's.
void WarpGemm::locate() {
  Value tid = d.threadId();
  lane = d.bitAnd(tid, 31);
  warp = d.warpUniform(d.shr(tid, 5));
  row = d.mul(d.div(warp, tile.warpsAlongN()), 16 * tile.blocks);
  column = d.mul(d.rem(warp, tile.warpsAlongN()), 32);
  Value tilesM = d.ceilDiv(frame.size(p.m), tile.m), tilesN = d.ceilDiv(frame.size(p.n), tile.n);
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

/// 16x8 sums, four of a thread, and the product of 16x8 and 8x8 halves.
Values WarpGemm::product(ArrayRef<Value> sums, Value a0, Value a1, Value b) {
  std::string type = p.lhsType.isBF16() ? "bf16" : "f16";
  std::string text = "mma.sync.aligned.m16n8k8.row.col.f32." + type + "." + type +
                     ".f32 {$0, $1, $2, $3}, {$4, $5}, {$6}, {$7, $8, $9, $10};";
  Values args = {a0, a1, b};
  args.append(sums.begin(), sums.end());
  return d.ptx(text, "=f,=f,=f,=f,r,r,r,f,f,f,f", args, llvm::SmallVector<Type>(4, d.f32Type()), false);
}

/// Sums by blocks of 16 rows, then of 8 columns.
Values WarpGemm::multiply(ArrayRef<Value> sums) {
  Values out(sums);
  for (unsigned k = 0; k < tileDepth; k += 16) {
    SmallVector<Values> y;
    for (unsigned j = 0; j < 32; j += 16)
      y.push_back(b.matrices(lane, d.add(column, j), d.i32(k), false));
    for (unsigned i = 0; i < tile.blocks; ++i) {
      Values x = a.matrices(lane, d.add(row, 16 * i), d.i32(k), true);
      for (unsigned j = 0; j < 4; ++j)
        for (unsigned half = 0; half < 2; ++half) {
          unsigned at = (4 * i + j) * 4;
          Values now = product(ArrayRef<Value>(out).slice(at, 4), x[2 * half], x[2 * half + 1], y[j / 2][2 * (j % 2) + half]);
          llvm::copy(now, out.begin() + at);
        }
    }
  }
  return out;
}

void WarpGemm::storeTile(ArrayRef<Value> sums) {
  ProductEpilogue epilogue(p.epilogue(), frame, hooks, base);
  Value buffers = d.add(shared, TileSource::halfBytes(tile.m, tileDepth) + TileSource::halfBytes(tile.n, tileDepth));
  Value buffer = d.add(buffers, d.mul(warp, epilogueBytesPerWarp));
  Value m = d.narrow(frame.size(p.m)), n = d.narrow(frame.size(p.n));
  Value firstRow = d.add(d.narrow(m0), row), firstColumn = d.add(d.narrow(n0), column);
  for (unsigned i = 0; i < tile.blocks; ++i)
    storeFragmentRows(frame, epilogue, {buffer, lane, d.add(firstRow, 16 * i), m, firstColumn, n}, sums.slice(16 * i, 16));
}

void WarpGemm::emit() {
  locate();
  a.locate(base, m0);
  b.locate(base, n0);
  unsigned numSums = 16 * tile.blocks;
  Values carried(numSums, d.f32(0));
  Value zero = d.i64(0);
  carried.append(a.load(zero));
  carried.append(b.load(zero));
  Values out = d.loop(zero, frame.size(p.k), d.i64(tileDepth), carried, [&](Value k0, ValueRange now) {
    Values state(now);
    ArrayRef<Value> all(state);
    d.barrier();
    a.put(all.slice(numSums, a.count()));
    b.put(all.slice(numSums + a.count()));
    d.barrier();
    Value next = d.add(k0, tileDepth);
    Values loadedA = a.load(next), loadedB = b.load(next);
    Values sums = multiply(all.take_front(numSums));
    sums.append(loadedA);
    sums.append(loadedB);
    return sums;
  });
  storeTile(ArrayRef<Value>(out).take_front(numSums));
}

llvm::Expected<bool> cuda::generateWarpGemm(Generator &g) {
  std::optional<GemmProblem> p = gemmProblem(g.info);
  bool fits = p && p->lhsType == p->rhsType && (p->lhsType.isF16() || (p->lhsType.isBF16() && g.sm >= 80));
  // A depth that may be 0 has nothing to clamp addresses to.
  if (!fits || !p->k.constant() || *p->k.constant() < 8)
    return false;
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  auto blocks = [&](const WarpTile &t) {
    return plan.size(p->batch * Expr::ceildiv(p->m, t.m) * Expr::ceildiv(p->n, t.n));
  };
  Value large = blocks(tiles[1]), small = blocks(tiles[0]);
  Value useLarge = h.compare(arith::CmpIPredicate::sge, large, plan.constant(manyTiles));
  auto choose = [&](int64_t ofLarge, int64_t ofSmall) {
    return h.select(useLarge, plan.constant(ofLarge), plan.constant(ofSmall));
  };
  plan.set(LATHE_CUDA_ENTRY, choose(1, 0));
  plan.set(LATHE_CUDA_GRID, h.select(useLarge, large, small));
  plan.set(LATHE_CUDA_GRID + 1, 1);
  plan.set(LATHE_CUDA_GRID + 2, 1);
  plan.set(LATHE_CUDA_BLOCK, choose(32 * tiles[1].warps(), 32 * tiles[0].warps()));
  plan.set(LATHE_CUDA_SHARED, choose(WarpGemm::sharedBytes(tiles[1]), WarpGemm::sharedBytes(tiles[0])));
  for (const WarpTile &t : tiles) {
    KernelFrame frame(g.info, g.device, t.name, 32 * t.warps(), g.sm, 0, g.dependent());
    WarpGemm gemm(*p, frame, t);
    gemm.emit();
    frame.finish();
    g.entries.push_back(t.name);
    if (!gemm.error().empty())
      return bug("kernel '{0}' on a GPU: {1}", kernel::GenericOp(g.info.kernel).getName(), gemm.error());
  }
  return true;
}
