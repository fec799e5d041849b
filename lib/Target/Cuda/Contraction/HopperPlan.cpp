//===- HopperPlan.cpp - Which contractions groups of warps multiply, and how -----===//

#include "CodedCopy.h"
#include "GemmHopper.h"
#include "GemmParts.h"
#include "GemmTiles.h"
#include "lathe/Dialect/Kernel/Precision.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

/// The smallest one: where tiles are too few, parts of the depth make them more.
static HopperTile partTile() { return HopperTile(schedule::tilesOf(schedule::ProductUnit::Groups).front(), /*inParts=*/true); }
/// Steps of the depth that cutting a tile must save to be worth another launch.
constexpr int64_t worthSteps = 28;
/// Half of the processors read as fast as memory gives.
constexpr int64_t readersOfProcessors = 2;
constexpr unsigned threads = HopperGemm::threads;
constexpr int64_t linesOfChunk = HopperGemm::linesOfChunk;

HopperTile HopperTile::fitted(int64_t n, int64_t chunk) const {
  constexpr int64_t ofProduct = 16; // columns that an instruction for any numbers goes up in
  auto up = [](int64_t x, int64_t to) { return (x + to - 1) / to * to; };
  int64_t count = std::max<int64_t>(1, (n + columns - 1) / columns), least = up((n + count - 1) / count, ofProduct);
  HopperTile t = *this;
  if (least < 1 || least >= columns)
    return t;
  t.columns = least;
  t.brought = up(least, chunk);
  t.isFitted = true;
  return t;
}

//===----------------------------------------------------------------------===//
// Which kernels it takes
//===----------------------------------------------------------------------===//

static bool usesTensorCores(const GemmProblem &p) {
  if (p.lhs.type != p.rhs.type)
    return false;
  if (p.multipliesBytes() || p.lhs.type.isBF16() || p.lhs.type.isF16())
    return true;
  return p.lhs.type.isF32() && kernel::multipliesAsTf32(p.shape.info.kernel);
}

namespace {
struct BulkLaunch {
  GemmLaunch launch;
  Value inParts = {}; ///< null: never
  Value scratch = {}; ///< of the parts
  Value cost = {};    ///< reckoned clocks
  Value cluster = {}; ///< blocks of a cluster
};
} // namespace

/// How many blocks are a cluster (i64): as many as divide the rows of tiles, where the launch is the product's own.
static Value clusterOf(PlanFunction &plan, const BulkProblem &bulk, const HopperTile &t) {
  DeviceBuilder &h = plan.d;
  Value one = plan.constant(1);
  int64_t most = t.cluster;
  if (!t.mayCluster(bulk.b.byColumns ? linesOfChunk : 1) || bulk.codes)
    return one;
  Value rows = plan.size(Expr::ceildiv(bulk.p.m, t.rows));
  return h.select(h.equal(h.rem(rows, most), 0), plan.constant(most), one);
}

namespace {
struct TileChoice {
  GemmLaunch launch;
  Value rows, columns, cost, cluster;
};
} // namespace

/// The tile with the least time for the longest walk; `steps` are those of the depth.
static TileChoice chooseTile(Generator &g, const BulkProblem &bulk, ArrayRef<HopperTile> tiles, Value steps) {
  ProductChoice choice(g);
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  auto of = [&](unsigned i) {
    const HopperTile &t = tiles[i];
    Value grid = plan.size(bulk.p.tiles(t.rows, t.columns)), ofTile = h.add(h.mul(steps, schedule::costOf(t)), schedule::costOfResults(t));
    Value cost = choice.costOf(t, h.mul(h.ceilDiv(grid, plan.processors()), ofTile));
    Value entry = plan.constant(g.entries.size() + i), shared = plan.constant(HopperGemm::sharedBytes(t));
    GemmLaunch launch{entry, grid, plan.constant(threads), shared};
    return TileChoice{launch, plan.constant(t.rows), plan.constant(t.brought), cost, clusterOf(plan, bulk, t)};
  };
  TileChoice best = of(0);
  for (unsigned i = 1; i < tiles.size(); ++i) {
    TileChoice next = of(i);
    Value better = h.compare(arith::CmpIPredicate::sle, next.cost, best.cost);
    best = {chooseLaunch(h, better, next.launch, best.launch), h.select(better, next.rows, best.rows),
            h.select(better, next.columns, best.columns), h.select(better, next.cost, best.cost), h.select(better, next.cluster, best.cluster)};
  }
  return best;
}

/// Sets those words of the plan, too, that no other launch reads.
static BulkLaunch planBulk(Generator &g, BulkProblem &bulk, ArrayRef<HopperTile> tiles) {
  ProductChoice choice(g);
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  const GemmProblem &p = bulk.p;
  int64_t depth = 128 / (p.lhs.type.getIntOrFloatBitWidth() / 8);
  Value steps = plan.size(stepsOf(p, bulk.a, bulk.b, depth));
  TileChoice best = chooseTile(g, bulk, tiles, steps);
  BulkLaunch out;
  out.cost = best.cost;
  if (const HopperTile part = partTile(); mayBeCut(choice, p, part, worthSteps * depth)) {
    Value few = plan.size(p.tiles(part.rows, part.columns));
    Value alone = h.ceilDiv(h.mul(steps, h.mul(few, readersOfProcessors)), plan.processors()); // what the memory takes
    auto [parts, cut] = planCut(plan, choice, few, steps, plan.processors(), worthSteps, alone);
    out.inParts = cut;
    out.scratch = bytesOfParts(plan, p, parts);
    Value walks = h.ceilDiv(h.mul(few, parts), plan.processors()), ofPart = h.mul(h.ceilDiv(steps, parts), schedule::costOf(part));
    out.cost = h.select(cut, h.add(h.mul(walks, ofPart), worthSteps * schedule::costOf(part)), out.cost);
    Value entry = plan.constant(g.entries.size() + tiles.size()), shared = plan.constant(HopperGemm::sharedBytes(part));
    best.launch = chooseLaunch(h, cut, {entry, h.mul(few, parts), plan.constant(threads), shared}, best.launch);
    best.rows = h.select(cut, plan.constant(part.rows), best.rows);
    best.columns = h.select(cut, plan.constant(part.columns), best.columns);
    best.cluster = h.select(cut, plan.constant(1), best.cluster);
  }
  AlignedCopies copies(bulk);
  if (copies.mayBe()) // launches that follow others have no clusters
    best.cluster = h.select(copies.lie(plan), best.cluster, plan.constant(1));
  auto addMap = [&](OperandMap &map, unsigned index, Value tileLines, const Expr &extent) {
    Value lines = linesOfCopy(h, map, tileLines, plan.size(extent));
    map.spec.box = {map.byColumns ? linesOfChunk : depth, map.byColumns ? depth : 0};
    map.spec.box.resize(map.spec.dims.size(), 1);
    plan.addMap(map.spec);
    if (!map.byColumns)
      plan.set(LATHE_CUDA_MAP0 + index * LATHE_CUDA_MAP_WORDS + LATHE_CUDA_MAP_BOX + 1, lines);
  };
  addMap(bulk.a, 0, best.rows, p.m);
  addMap(bulk.b, 1, h.div(best.columns, best.cluster), p.n);
  copies.setMaps(plan);
  out.launch = best.launch;
  out.cluster = best.cluster;
  return out;
}

/// Where codes are unpacked (i1), the launch at `entry` comes first, and the product's follows.
static void unpackAhead(PlanFunction &plan, const CodedProblem &codes, unsigned entry, Value unpacked, const GemmLaunch &product) {
  DeviceBuilder &h = plan.d;
  Value none = plan.constant(0), grid = h.select(h.equal(product.grid, 0), none, plan.constant(CodedCopy::blocksOf(codes)));
  GemmLaunch first{plan.constant(entry), grid, plan.constant(CodedCopy::threads), none};
  GemmLaunch otherwise{plan.word(LATHE_CUDA_ENTRY), plan.word(LATHE_CUDA_GRID), plan.word(LATHE_CUDA_BLOCK), plan.word(LATHE_CUDA_SHARED)};
  setLaunch(plan, chooseLaunch(h, unpacked, first, otherwise));
  plan.follow(product.entry, h.select(unpacked, h.minU(product.grid, plan.processors()), none), product.block, product.shared);
}

/// The words that launches around the product's need, where bulk copies are chosen (i1).
static void planAround(Generator &g, const BulkProblem &bulk, const BulkLaunch &launch, Value fits) {
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  AlignedCopies copies(bulk);
  unsigned last = g.entries.size() - 1;
  Value none = plan.constant(0), walks = fits, scratch = none;
  if (bulk.codes) {
    walks = h.i1(false);
    scratch = h.select(fits, plan.constant(CodedCopy::bytesOf(*bulk.codes)), none);
    unpackAhead(plan, *bulk.codes, launch.inParts ? last - 1 : last, fits, launch.launch);
  } else if (copies.mayBe()) {
    Value lie = copies.lie(plan), copied = h.both(fits, h.bitXor(lie, h.i1(true)));
    walks = h.both(fits, lie); // what follows a copy is as large as the machine
    scratch = h.select(copied, copies.bytes(h, [&](const Expr &e) { return plan.size(e); }), none);
    copies.launchAhead(plan, launch.inParts ? last - 1 : last, copied, launch.launch);
  }
  if (launch.inParts) {
    Value cut = h.both(fits, launch.inParts);
    walks = h.both(walks, h.bitXor(launch.inParts, h.i1(true)));
    scratch = h.add(scratch, h.select(cut, launch.scratch, none));
    followBySum(plan, bulk.p, last, cut);
  }
  plan.set(LATHE_CUDA_SCRATCH, scratch);
  plan.set(LATHE_CUDA_PERSISTENT, h.wide(walks));
  plan.set(LATHE_CUDA_CLUSTER, h.select(walks, launch.cluster, none));
}

/// Where open sizes decide, entry points of tiles of any layout stand beside those with bulk copies.
static llvm::Error planEither(Generator &g, const BulkProblem &bulk, const GemmProblem &p, BulkLaunch ofBulk) {
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  AlignedCopies copies(bulk);
  Value hasTiles = ProductChoice(g).hasTiles(schedule::ProductUnit::Groups);
  if ((!copies.mayBe() || copies.alwaysPay()) && p.k.constant() && !hasTiles) {
    setLaunch(plan, ofBulk.launch);
    planAround(g, bulk, ofBulk, h.i1(true));
    return llvm::Error::success();
  }
  // A depth of 0 has no stage to wait for.
  Value fits = h.less(plan.constant(0), plan.size(p.k));
  if (copies.mayBe())
    fits = h.both(fits, h.bitOr(copies.lie(plan), copies.pay(plan)));
  if (hasTiles)
    fits = h.both(fits, hasTiles);
  setLaunch(plan, ofBulk.launch);
  planAround(g, bulk, ofBulk, fits);
  llvm::Expected<GemmLaunch> other = addTiledGemm(g, p, lower::Divisibility(g.info));
  if (!other)
    return other.takeError();
  auto word = [&](unsigned at) { return plan.word(at); };
  GemmLaunch ahead{word(LATHE_CUDA_ENTRY), word(LATHE_CUDA_GRID), word(LATHE_CUDA_BLOCK), word(LATHE_CUDA_SHARED)};
  setLaunch(plan, chooseLaunch(h, fits, ahead, *other));
  g.computes = h.bitXor(fits, h.i1(true));
  plan.set(LATHE_CUDA_MAPS, h.mul(h.wide(fits), 2));
  return llvm::Error::success();
}

/// Those of some tiles that serve the problem. Where the right operand lies by columns, it comes in whole chunks; rows are multiples of a chunk. The
/// largest ones are for products that have enough of them, and have no room for what sums of floats of 8 bits have besides.
static std::vector<HopperTile> tilesOf(const BulkProblem &bulk, ArrayRef<const schedule::ProductTile *> tiles) {
  constexpr int64_t manyTiles = 128;
  bool isNamed = namesTile(bulk.p.shape.info); // a schedule's tile is as it says
  std::vector<HopperTile> out;
  auto mayFill = [&](const schedule::ProductTile &t) {
    return bulk.p.n.constant().value_or(t.columns) >= t.columns && bulk.p.tiles(t.rows, t.columns).constant().value_or(manyTiles) >= manyTiles;
  };
  for (const schedule::ProductTile *t : tiles) {
    bool isLarge = t->columns > 192;
    if ((bulk.b.byColumns && t->columns % linesOfChunk) || (isLarge && (!mayFill(*t) || bulk.p.multipliesFloat8())))
      continue;
    HopperTile tile = bulk.p.multipliesFloat8() ? HopperTile::ofFewSums(*t) : HopperTile(*t);
    if (std::optional<int64_t> n = bulk.p.n.constant(); n && !isNamed)
      tile = tile.fitted(*n, bulk.b.byColumns ? linesOfChunk : 1);
    bool known = llvm::any_of(out, [&](const HopperTile &o) {
      return std::tie(o.rows, o.columns, o.blocks, o.sharers) == std::tie(tile.rows, tile.columns, tile.blocks, tile.sharers);
    });
    if (!known)
      out.push_back(tile);
  }
  return out;
}

llvm::Expected<bool> cuda::generateHopperGemm(Generator &g) {
  std::optional<GemmProblem> p = g.multipliesByGroups() ? gemmProblem(g.info) : std::nullopt;
  if (!p || !usesTensorCores(*p) || p->k.constant().value_or(16) < 16)
    return false;
  std::optional<BulkProblem> bulk = bulkProblem(*p);
  if (!bulk)
    return false;
  AlignedCopies copies(*bulk);
  if (copies.mayBe() && !copies.alwaysPay().value_or(true))
    return false;
  std::vector<HopperTile> tiles = tilesOf(*bulk, ProductChoice(g).tilesOf(schedule::ProductUnit::Groups));
  if (tiles.empty()) // a schedule leaves no tile that chunks make up
    return false;
  BulkLaunch launch = planBulk(g, *bulk, tiles);
  if (launch.inParts)
    tiles.push_back(partTile());
  bool weights = !AlignedCopies::mayCopy(bulk->b) && kernel::GenericOp(g.info.kernel).isConstant(cast<BlockArgument>(bulk->p.rhs.ref));
  for (const HopperTile &t : tiles) {
    KernelFrame frame(g.info, g.device, t.entry(), threads, g.sm, 2, g.dependent(/*later=*/true));
    if (t.inParts)
      copies.skipIn(frame);
    HopperGemm gemm(*bulk, frame, t, weights);
    gemm.emit();
    if (llvm::Error e = g.addEntry(frame, t.entry(), gemm.error()))
      return e;
  }
  if (copies.mayBe())
    if (llvm::Error e = copies.addEntry(g))
      return e;
  if (launch.inParts)
    if (llvm::Error e = addPartsSum(g, bulk->p, [&](KernelFrame &frame) { copies.skipIn(frame); }))
      return e;
  if (llvm::Error e = planEither(g, *bulk, *p, launch))
    return e;
  g.product = true;
  return true;
}

/// Fewer leave most of a tile empty.
constexpr int64_t fewestRows = 32;

llvm::Expected<bool> cuda::addCodedGroups(Generator &g, const CodedProblem &codes, const GemmLaunch &ofWarps, Value costOfWarps) {
  bool halves = codes.lhsType().getIntOrFloatBitWidth() == 16;
  bool many = codes.rows.constant().value_or(fewestRows) >= fewestRows;
  std::optional<BulkProblem> bulk = halves && many && g.multipliesByGroups() ? bulkProblem(g.info, codes) : std::nullopt;
  if (!bulk)
    return false;
  PlanFunction &plan = g.plan;
  std::vector<const schedule::ProductTile *> all;
  for (const schedule::ProductTile &t : schedule::tilesOf(schedule::ProductUnit::Groups))
    all.push_back(&t);
  std::vector<HopperTile> tiles = tilesOf(*bulk, all);
  BulkLaunch launch = planBulk(g, *bulk, tiles);
  if (launch.inParts)
    tiles.push_back(partTile());
  auto behindWeights = [&](KernelFrame &frame) { frame.skipScratch(frame.d.i64(CodedCopy::bytesOf(codes))); };
  for (const HopperTile &t : tiles) {
    KernelFrame frame(g.info, g.device, t.entry(), threads, g.sm, 2, g.dependent(/*later=*/true));
    if (t.inParts)
      behindWeights(frame);
    HopperGemm gemm(*bulk, frame, t, /*weights=*/false);
    gemm.emit();
    if (llvm::Error e = g.addEntry(frame, t.entry(), gemm.error()))
      return std::move(e);
  }
  KernelFrame frame(g.info, g.device, "gemm_unpack", CodedCopy::threads, g.sm, 0, g.dependent());
  CodedCopy copy(codes, frame);
  copy.emit();
  if (llvm::Error e = g.addEntry(frame, "gemm_unpack", copy.error()))
    return std::move(e);
  if (launch.inParts)
    if (llvm::Error e = addPartsSum(g, bulk->p, behindWeights))
      return std::move(e);
  Value unpacking = plan.d.div(plan.constant(schedule::costOfUnpacking(CodedCopy::bytesOf(codes))), plan.processors());
  Value cost = plan.d.add(plan.d.add(launch.cost, unpacking), plan.constant(schedule::costOfLaunch)), fits = plan.d.less(cost, costOfWarps);
  setLaunch(plan, ofWarps);
  planAround(g, *bulk, launch, fits);
  plan.set(LATHE_CUDA_MAPS, plan.d.mul(plan.d.wide(fits), 2));
  return true;
}
