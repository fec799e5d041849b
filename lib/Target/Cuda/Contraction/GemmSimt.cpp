//===- GemmSimt.cpp - Contractions on the ordinary cores -------------------===//
//
// Tiles of the product per block, operands through shared memory, the next tile's loads in flight while this one is
// multiplied. Takes operands of any layout: each element's address comes from the kernel's own offset.
//
//===----------------------------------------------------------------------===//

#include "GemmParts.h"
#include "GemmTiles.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using shape::Expr;

namespace {

/// A thread computes perThread x perThread, in groups of 4.
struct SimtTile : GemmTile {
  explicit SimtTile(const schedule::ProductTile &t) : GemmTile(t), perThread(t.blocks) {}
  unsigned perThread;
  unsigned threads() const { return m / perThread * (n / perThread); }
  /// Both operands' tiles, in shared memory of constant size.
  bool hasRoom(unsigned bytes) const { return stages * (TileLoader::plainBytes(m, k, bytes) + TileLoader::plainBytes(n, k, bytes)) <= most; }
  static constexpr unsigned stages = 2, most = 48 * 1024;
};

class SimtGemm : public TiledGemm {
public:
  SimtGemm(const GemmProblem &p, KernelFrame &frame, const SimtTile &tile) : TiledGemm(p, frame, tile, SimtTile::stages), tile(tile) {}
  void emit(bool inParts = false);

private:
  Values multiply(ArrayRef<Value> sums);
  Values fragment(TileLoader &o, unsigned tileLines, unsigned k, Value group);
  void storeTile(ArrayRef<Value> sums);
  void placeThread();

  SimtTile tile;
  Value m, n, tx, ty;
};

} // namespace

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
        sum = d.multiplyAdd(x[i], y[j], sum);
      }
  }
  return out;
}

/// One row after another, the next one's sums moved to where the first one's are: what follows the product is code of one row, in a
/// loop that is unrolled only where that is short.
void SimtGemm::storeTile(ArrayRef<Value> sums) {
  ProductEpilogue epilogue(p.epilogue(), frame, hooks, base);
  storeInParts(epilogue);
  unsigned width = epilogue.width(), each = tile.perThread, quarters = each / 4;
  d.loop(d.i32(0), d.i32(each), d.i32(1), sums, [&](Value i, ValueRange now) {
    Value place = d.add(d.mul(d.div(i, 4), tile.m / quarters), d.rem(i, 4));
    Value row = d.add(d.wide(d.add(d.mul(ty, 4), place)), m0);
    d.when(d.less(row, m), [&] {
      ProductEpilogue::Row point = epilogue.atRow(row);
      for (unsigned j = 0; j < each; j += width) {
        Value column = d.add(d.wide(d.add(d.mul(tx, 4), j / 4 * (tile.n / quarters) + j % 4)), n0);
        d.when(d.less(column, n), [&] { epilogue.store(point, column, Values(now.slice(j, width))); });
      }
    });
    Values next(now.drop_front(each));
    llvm::append_range(next, now.take_front(each));
    return next;
  });
}

/// A warp is 4 threads by 8. Shared memory serves half a warp's pieces of 16 bytes at once where each lane reads what the lane beside it
/// or the one after that reads: so the lowest bit of a lane tells columns apart, the next one rows.
void SimtGemm::placeThread() {
  Value lane = d.bitAnd(d.threadId(), 31), warp = d.div(d.threadId(), 32);
  auto bit = [&](unsigned from, unsigned to) {
    Value one = d.bitAnd(lane, 1 << from);
    return from > to ? d.div(one, 1 << (from - to)) : d.mul(one, 1 << (to - from));
  };
  unsigned across = tile.n / tile.perThread / 8;
  tx = d.add(d.add(d.add(bit(0, 0), bit(2, 1)), bit(3, 2)), d.mul(d.rem(warp, across), 8));
  ty = d.add(d.add(bit(1, 0), bit(4, 1)), d.mul(d.div(warp, across), 4));
}

void SimtGemm::emit(bool inParts) {
  placeThread();
  m = frame.size(p.m);
  n = frame.size(p.n);
  locate(inParts);
  storeTile(sumOverDepth(tile.perThread * tile.perThread, [&](ArrayRef<Value> sums) { return multiply(sums); }));
}

/// Those that schedules leave, or the first of all where none of these has room.
static std::vector<const schedule::ProductTile *> tilesWithRoom(Generator &g, const GemmProblem &p) {
  auto hasRoom = [&](const schedule::ProductTile &t) { return SimtTile(t).hasRoom(p.sumType().getIntOrFloatBitWidth() / 8); };
  std::vector<const schedule::ProductTile *> tiles = ProductChoice(g).tilesOf(schedule::ProductUnit::Threads);
  llvm::erase_if(tiles, [&](const schedule::ProductTile *t) { return !hasRoom(*t); });
  if (tiles.empty())
    tiles.push_back(llvm::find_if(schedule::tilesOf(schedule::ProductUnit::Threads), hasRoom));
  return tiles;
}

static llvm::Error addEntry(Generator &g, const GemmProblem &p, const lower::Divisibility &known, const SimtTile &t, const std::string &name, bool inParts) {
  KernelFrame frame(g.info, g.device, name, t.threads(), g.sm, 0, g.dependent());
  frame.known = known;
  frame.fitBlocks(2);
  SimtGemm gemm(p, frame, t);
  gemm.emit(inParts);
  return g.addEntry(frame, name, gemm.error());
}

llvm::Expected<GemmLaunch> cuda::addSimtGemm(Generator &g, const GemmProblem &p, const lower::Divisibility &known) {
  std::vector<TileLaunch> launches;
  std::vector<const schedule::ProductTile *> tiles = tilesWithRoom(g, p);
  for (const schedule::ProductTile *t : tiles)
    launches.push_back({*t, SimtTile(*t).threads()});
  GemmLaunch planned = planTiles(g, p, g.entries.size(), launches);
  for (const schedule::ProductTile *t : tiles)
    if (llvm::Error e = addEntry(g, p, known, SimtTile(*t), entryName(g, SimtTile(*t)), /*inParts=*/false))
      return e;
  return planned;
}

//===----------------------------------------------------------------------===//
// Parts of the depth
//===----------------------------------------------------------------------===//

/// The smallest tile is the last one.
static const schedule::ProductTile &partTile() { return schedule::tilesOf(schedule::ProductUnit::Threads).back(); }
/// Steps of the depth that cutting a tile must save to be worth another launch.
constexpr int64_t worthSteps = 16;
constexpr int64_t blocksTogether = 2; ///< on a multiprocessor

llvm::Expected<GemmLaunch> cuda::planParts(Generator &g, const GemmProblem &p, const lower::Divisibility &wide, const GemmLaunch &whole) {
  ProductChoice choice(g);
  SimtTile t(partTile());
  constexpr int64_t fewestSteps = 24; // fewer leave too little to save
  if (!p.sumType().isF32() || takesWarpGemm(g, p) || !mayBeCut(choice, p, partTile(), fewestSteps * t.k))
    return whole;
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  Value tiles = plan.size(p.tiles(t.m, t.n)), steps = plan.size(Expr::ceildiv(p.k, t.k));
  auto [parts, cut] = planCut(plan, choice, tiles, steps, h.mul(plan.processors(), blocksTogether), worthSteps);
  if (!wide.conditions().empty())
    cut = h.both(cut, plan.holds(wide));
  GemmLaunch ofParts{plan.constant(g.entries.size()), h.mul(tiles, parts), plan.constant(t.threads()), plan.constant(0)};
  if (llvm::Error e = addEntry(g, p, wide, t, std::string(t.name) + "_parts", /*inParts=*/true))
    return e;
  if (llvm::Error e = addPartsSum(g, p, [](KernelFrame &) {}))
    return e;
  followBySum(plan, p, g.entries.size() - 1, cut);
  plan.set(LATHE_CUDA_SCRATCH, h.select(cut, bytesOfParts(plan, p, parts), plan.constant(0)));
  return chooseLaunch(h, cut, ofParts, whole);
}
