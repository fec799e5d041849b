//===- GemmTiles.cpp - Contractions by tiles of any layout -----------------===//

#include "GemmParts.h"
#include "GemmTiles.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

Type cuda::fragmentType(const GemmProblem &p, unsigned sm) {
  bool widens = p.multipliesFloat8() && !schedule::gpuOf(sm).gpu.multiplies("f8", 32);
  return widens ? Float16Type::get(p.lhs.type.getContext()) : p.lhs.type;
}

static TileSource sourceOf(const GemmProblem &p, const GemmTile &t, bool left, Value fragments, unsigned stages, Type fragment) {
  const ProductOperand &o = left ? p.lhs : p.rhs;
  return {o.ref, o.offset,  left ? p.shape.rowAxes : p.shape.columnAxes, p.shape.depthAxes,
          left ? p.m : p.n, p.k, left ? t.m : t.n, t.k, left ? "a" : "b", fragments, o.value, o.predicate, o.format, o.fill, stages, p.sumType(), fragment};
}

/// Where the right operand's tiles begin, behind the left one's.
static Value behind(DeviceBuilder &d, const GemmTile &t, Value fragments, unsigned stages, Type fragment) {
  return fragments ? d.add(fragments, stages * TileSource::fragmentBytes(t.m, t.k, fragment.getIntOrFloatBitWidth() / 8)) : fragments;
}

TiledGemm::TiledGemm(const GemmProblem &p, KernelFrame &frame, const GemmTile &tile, unsigned stages, Value fragments)
    : EntryEmitter(frame), p(p), fragment(fragmentType(p, frame.sm)), a(frame, sourceOf(p, tile, true, fragments, stages, fragment)),
      b(frame, sourceOf(p, tile, false, behind(d, tile, fragments, stages, fragment), stages, fragment)), stages(stages), tile(tile) {}

void TiledGemm::locate(bool inParts) {
  Value tilesM = d.ceilDiv(frame.size(p.m), tile.m), tilesN = d.ceilDiv(frame.size(p.n), tile.n);
  Value block = d.wide(d.blockId()), perBatch = d.mul(tilesM, tilesN);
  if (inParts) {
    Value all = d.mul(perBatch, frame.size(p.batch));
    part = d.div(block, all);
    block = d.rem(block, all);
    parts = d.div(d.wide(d.gridSize()), all);
    tellParts(frame, d.narrow(parts));
  }
  batch = d.div(block, perBatch);
  Value rest = d.rem(block, perBatch);
  m0 = d.mul(d.div(rest, tilesN), tile.m);
  n0 = d.mul(d.rem(rest, tilesN), tile.n);
  bindBatch(base, p.shape.batchAxes, batch);
}

void TiledGemm::storeInParts(ProductEpilogue &epilogue) {
  if (part)
    epilogue.storeParts(partOfSums(frame, p, part, batch), frame.size(p.n));
}

std::pair<Value, Value> TiledGemm::depths() {
  Value end = frame.size(p.k);
  if (!part)
    return {d.i64(0), end};
  Value each = d.mul(d.ceilDiv(d.ceilDiv(end, tile.k), parts), tile.k), from = d.mul(part, each);
  Value to = d.add(from, each);
  return {from, d.select(d.less(to, end), to, end)};
}

Values TiledGemm::sumOverDepth(unsigned numSums, llvm::function_ref<Values(ArrayRef<Value>)> multiply) {
  Values zeros(numSums, d.zero(p.sumType()));
  if (auto k = p.k.constant(); k && *k > 0)
    return sumTiles(zeros, multiply);
  // A depth of 0 has nothing to clamp addresses to.
  return d.choose(d.equal(frame.size(p.k), 0), [&] { return zeros; }, [&] { return sumTiles(zeros, multiply); });
}

Values TiledGemm::sumTiles(const Values &zeros, llvm::function_ref<Values(ArrayRef<Value>)> multiply) {
  size_t numSums = zeros.size();
  for (TileLoader *o : {&a, &b})
    if (isPipelined())
      o->expectCopies();
  a.locate(base, m0);
  b.locate(base, n0);
  if (isPipelined())
    return sumCopies(zeros, multiply);
  Values carried = zeros;
  auto [from, to] = depths();
  carried.append(a.load(from));
  carried.append(b.load(from));
  Values out = d.loop(from, to, d.i64(tile.k), carried, [&](Value k0, ValueRange now) {
    Values state(now);
    ArrayRef<Value> all(state);
    // Two tiles take turns: everybody is past the barrier before last, and so done with this one.
    Value stage = d.bitAnd(d.narrow(d.div(k0, tile.k)), 1);
    a.use(stage);
    b.use(stage);
    a.put(all.slice(numSums, a.count()));
    b.put(all.slice(numSums + a.count()));
    d.barrier();
    Value next = d.add(k0, tile.k);
    Values loadedA = a.load(next), loadedB = b.load(next);
    d.keepAhead();
    Values sums = multiply(all.take_front(numSums));
    sums.append(loadedA);
    sums.append(loadedB);
    return sums;
  });
  out.truncate(numSums);
  return out;
}

Value TiledGemm::stageOf(Value step) { return d.rem(d.narrow(step), stages); }

void TiledGemm::useStep(Value step) {
  Value stage = stageOf(step);
  a.use(stage);
  b.use(stage);
}

void TiledGemm::copyTile(TileLoader &o, Value step) {
  o.use(stageOf(step));
  o.copy(d.mul(step, tile.k));
}

void TiledGemm::endCopies() { d.ptx("cp.async.commit_group;"); }

void TiledGemm::copyStep(Value step) {
  copyTile(a, step);
  copyTile(b, step);
  endCopies();
}

void TiledGemm::meetStep() {
  d.ptx("cp.async.wait_group " + std::to_string(stages - 2) + ";");
  d.barrier();
}

std::pair<Value, Value> TiledGemm::startCopies() {
  auto [from, to] = depths();
  Value first = d.div(from, tile.k);
  for (unsigned i = 0; i + 1 < stages; ++i)
    copyStep(d.add(first, d.i64(i)));
  return {first, d.ceilDiv(to, tile.k)};
}

Values TiledGemm::sumCopies(const Values &zeros, llvm::function_ref<Values(ArrayRef<Value>)> multiply) {
  auto [first, end] = startCopies();
  return d.loop(first, end, d.i64(1), zeros, [&](Value step, ValueRange sums) {
    meetStep();
    copyStep(d.add(step, stages - 1));
    useStep(step);
    return multiply(Values(sums));
  });
}

GemmLaunch cuda::planTiles(Generator &g, const GemmProblem &p, unsigned first, ArrayRef<TileLaunch> tiles) {
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  ProductChoice choice(g);
  GemmLaunch best;
  Value least, processors = plan.processors();
  for (auto [i, t] : llvm::enumerate(tiles)) {
    Value blocks = plan.size(p.tiles(t.tile.rows, t.tile.columns));
    GemmLaunch launch{plan.constant(first + i), blocks, plan.constant(t.threads), plan.constant(t.shared)};
    Value depth = h.mul(plan.size(Expr::ceildiv(p.k, t.tile.depth)), t.tile.depth);
    Value cost = choice.costOf(t.tile, h.mul(h.mul(h.ceilDiv(blocks, processors), depth), schedule::costOf(t.tile)));
    Value better = least ? h.less(cost, least) : h.i1(true);
    best = least ? chooseLaunch(h, better, launch, best) : launch;
    least = least ? h.select(better, cost, least) : cost;
  }
  return best;
}

GemmLaunch cuda::chooseLaunch(DeviceBuilder &h, Value condition, const GemmLaunch &x, const GemmLaunch &y) {
  auto pick = [&](Value a, Value b) { return h.select(condition, a, b); };
  return {pick(x.entry, y.entry), pick(x.grid, y.grid), pick(x.block, y.block), pick(x.shared, y.shared)};
}

std::string cuda::entryName(const Generator &g, const GemmTile &tile) {
  std::string name = tile.name;
  return llvm::is_contained(g.entries, name) ? name + "_any" : name;
}

//===----------------------------------------------------------------------===//
// Which kernels it takes
//===----------------------------------------------------------------------===//

llvm::Expected<GemmLaunch> cuda::addTiledGemm(Generator &g, const GemmProblem &p, const lower::Divisibility &known) {
  return takesWarpGemm(g, p) ? addWarpGemm(g, p, known) : addSimtGemm(g, p, known);
}

/// What gives the operands' elements and the results' wide accesses.
static lower::Divisibility wideSizes(const GemmProblem &p) {
  const lower::BodyInfo &info = p.shape.info;
  lower::Divisibility known(info);
  auto wide = [&](const Expr &offset, ArrayRef<unsigned> axes, Type type) {
    std::optional<Expr> run = axes.empty() ? std::nullopt : runAlong(info, offset, axes);
    int64_t width = 128 / type.getIntOrFloatBitWidth();
    return run && known.assume(*run, width) && known.assume(startOf(info, offset, axes), width);
  };
  auto operand = [&](const ProductOperand &o, ArrayRef<unsigned> lines) {
    if (o.isDirect() && !wide(o.offset, lines, o.type))
      wide(o.offset, p.shape.depthAxes, o.type);
  };
  operand(p.lhs, p.shape.rowAxes);
  operand(p.rhs, p.shape.columnAxes);
  return known;
}

llvm::Expected<bool> cuda::generateTiledGemm(Generator &g) {
  std::optional<GemmProblem> p = gemmProblem(g.info);
  // Nothing is gained where a tile would be mostly empty.
  if (!p || p->k.constant().value_or(8) < 4)
    return false;
  lower::Divisibility wide = wideSizes(*p);
  llvm::Expected<GemmLaunch> launch = addTiledGemm(g, *p, wide);
  if (launch && !wide.conditions().empty()) {
    GemmLaunch ofWide = *launch;
    launch = addTiledGemm(g, *p, lower::Divisibility(g.info));
    if (launch)
      launch = chooseLaunch(g.plan.d, g.plan.holds(wide), ofWide, *launch);
  }
  if (launch)
    launch = planParts(g, *p, wide, *launch);
  if (!launch)
    return launch.takeError();
  setLaunch(g.plan, *launch);
  g.computes = g.plan.d.i1(true);
  g.product = true;
  return true;
}

void cuda::setLaunch(PlanFunction &plan, const GemmLaunch &launch) {
  plan.launch(launch.entry, launch.grid, launch.block);
  plan.set(LATHE_CUDA_SHARED, launch.shared);
}
