//===- GemmHopper.cpp - Contractions on sm_90a's tensor cores --------------===//

#include "GemmHopper.h"
#include "GemmParts.h"
#include "../HopperOps.h"
#include "../Rows/Cluster.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using shape::Expr;

constexpr unsigned groupRows = 8; ///< tiles of rows that are walked together
constexpr unsigned producerRegisters = 40, consumerRegisters = 232;
constexpr unsigned stagesTogether = 4; ///< whose sums are added up
constexpr unsigned mostSums = 192; ///< that a consumer's threads have room for, where they have them more than once

//===----------------------------------------------------------------------===//
// Common ground
//===----------------------------------------------------------------------===//

void HopperGemm::prepare() {
  shared = d.sharedAddress(frame.dynamicShared());
  barriers = d.add(shared, tile.stages * (aBytes + bBytes) + 8 * epilogueBytesPerWarp);
  tid = d.threadId();
  warp = d.warpUniform(d.shr(tid, 5));
  lane = d.bitAnd(tid, 31);
  group = d.shr(warp, 2);
  mine = d.sub(group, d.i32(1)); // of the consumers: 0 or 1
  m = d.narrow(frame.size(p.m));
  n = d.narrow(frame.size(p.n));
  if (tile.mayCluster(mapB.byColumns ? linesOfChunk : 1)) {
    together = clusterSize(d);
    rank = rankInCluster(d);
  }
  tilesM = d.ceilDiv(m, together ? d.mul(together, tile.rows) : d.i32(tile.rows)); // where blocks are together, of all of them
  tilesN = d.ceilDiv(n, tile.columns);
  perBatch = d.mul(tilesM, tilesN);
  total = d.mul(perBatch, d.narrow(frame.size(p.batch)));
  depthTiles = d.narrow(frame.size(stepsOf(p, mapA, mapB, depth)));
  Value ofA = linesOfCopy(d, mapA, d.i32(tile.rows), m), ofB = linesOfCopy(d, mapB, ownColumns(), n);
  Value lines = d.add(ofA, together ? d.mul(ofB, together) : ofB);
  stageBytes = d.mul(lines, 128);
  first = together ? d.div(d.blockId(), together) : d.blockId();
  step = together ? d.div(d.gridSize(), together) : d.gridSize();
  if (tile.inParts) {
    Value parts = d.div(step, total);
    ofPart = total;
    depthTiles = d.ceilDiv(depthTiles, parts);
    total = step;
    tellParts(frame, parts);
  }
  d.when(d.equal(tid, 0), [&] {
    for (unsigned s = 0; s < tile.stages; ++s) {
      initBarrier(d, fullBarrier(d.i32(s)), d.i32(1));
      Value releases = d.i32(tile.isShared() ? 8 : 4);
      initBarrier(d, emptyBarrier(d.i32(s)), together ? d.mul(releases, together) : releases);
    }
    fenceBarrierInit(d);
    prefetchMap(d, frame.maps[0]);
    prefetchMap(d, frame.maps[1]);
  });
  together ? clusterBarrier(d) : d.barrier();
}

/// The right operand's columns that this block brings.
Value HopperGemm::ownColumns() { return together ? d.div(d.i32(tile.brought), together) : d.i32(tile.brought); }

HopperGemm::Tile HopperGemm::tileAt(Value t) {
  Value part = tile.inParts ? d.div(t, ofPart) : Value();
  if (part)
    t = d.rem(t, ofPart);
  bool isSingle = p.batch.isOne();
  Value batch = isSingle ? d.i32(0) : d.div(t, perBatch), rest = isSingle ? t : d.rem(t, perBatch);
  // A line of tiles has one order. What is left out here are divisions before each tile's first copy.
  auto isOneTile = [](const Expr &size, unsigned of) { return size.constant() && *size.constant() <= int64_t(of); };
  auto rowOf = [&](Value tm) { return d.mul(together ? d.add(d.mul(tm, together), rank) : tm, tile.rows); };
  if (isOneTile(p.n, tile.columns))
    return {batch, rowOf(rest), d.i32(0), part};
  if (isOneTile(p.m, tile.rows))
    return {batch, d.i32(0), d.mul(rest, tile.columns), part};
  Value inGroup = d.mul(tilesN, groupRows), g = d.div(rest, inGroup), within = d.rem(rest, inGroup);
  Value firstRow = d.mul(g, groupRows);
  Value rows = d.minU(d.sub(tilesM, firstRow), d.i32(groupRows));
  Value tm = d.add(firstRow, d.rem(within, rows)), tn = d.div(within, rows);
  return {batch, rowOf(tm), d.mul(tn, tile.columns), part};
}

HopperGemm::Position HopperGemm::next(Position at) {
  Value s = d.add(at.stage, 1), wrap = d.equal(s, tile.stages);
  return {d.select(wrap, d.i32(0), s), d.select(wrap, d.bitXor(at.phase, 1), at.phase)};
}

//===----------------------------------------------------------------------===//
// Producer
//===----------------------------------------------------------------------===//

/// The stage must be free. Its barrier learns how much comes with the first part, that of the right operand.
void HopperGemm::loadStage(const Tile &t, Value k, Position at, Operand what) {
  Value full = fullBarrier(at.stage);
  if (what & Right)
    arriveExpecting(d, full, stageBytes);
  // Past the end of the depth copies bring zeros.
  Value step = t.part ? d.add(d.mul(t.part, depthTiles), k) : k;
  Value a = d.add(shared, d.mul(at.stage, aBytes + bBytes)), k0 = depthAt(d, mapA, mapB, step, depth);
  Values batchIndex, extents;
  for (unsigned axis : p.shape.batchAxes)
    extents.push_back(d.narrow(frame.size(info.extents[axis])));
  batchIndex = delinearize(d, t.batch, extents);
  auto at3 = [&](const OperandMap &map, Value x, Value y) {
    Values c = {x, y};
    for (unsigned i : map.batchAxes)
      c.push_back(batchIndex[i]);
    return c;
  };
  auto load = [&](const OperandMap &map, unsigned index, Value to, Value line, unsigned lines, Value blocks = {}) {
    for (unsigned c = 0; map.byColumns && c < lines; c += linesOfChunk)
      loadTile(d, d.add(to, c * 128), frame.maps[index], at3(map, d.add(line, c), k0), full, blocks);
    if (map.byColumns)
      return;
    if (!map.window)
      return loadTile(d, to, frame.maps[index], at3(map, k0, line), full, blocks);
    Value inside = t.part ? d.less(step, d.narrow(frame.size(stepsOf(p, mapA, mapB, depth)))) : Value();
    WindowPlace at = placeOf(frame, p, *map.window, line, step, inside);
    loadWindow(d, to, frame.maps[index], at.coordinates, at.offsets, full, blocks);
  };
  if (what & Left)
    load(mapA, 0, a, t.m, tile.rows);
  if (!(what & Right))
    return;
  Value b = d.add(a, aBytes);
  auto alone = [&] { load(mapB, 1, b, t.n, tile.brought); };
  if (!together)
    return alone();
  auto shared = [&] {
    unsigned columns = tile.brought / tile.cluster;
    Value own = d.mul(rank, columns);
    load(mapB, 1, d.add(b, d.mul(own, 128)), d.add(t.n, own), columns, d.i32((1 << tile.cluster) - 1));
  };
  d.branch(d.less(d.i32(1), together), shared, alone);
}

/// The first tile's stages, as many as there are: weights come while the kernel ahead still runs. Gives the position behind.
HopperGemm::Position HopperGemm::loadAhead() {
  Value count = d.minU(depthTiles, d.i32(tile.stages)), last = d.select(d.less(first, total), count, d.i32(0));
  Tile at = tileAt(first);
  auto load = [&](Operand what) {
    d.loop(d.i32(0), last, d.i32(1), [&](Value k) { loadStage(at, k, {k, d.i32(1)}, what); });
  };
  load(Right);
  frame.awaitPrevious();
  load(Left);
  Value wrap = d.equal(last, tile.stages);
  return {d.select(wrap, d.i32(0), last), d.select(wrap, d.i32(0), d.i32(1))};
}

void HopperGemm::produce() {
  setRegisters(d, producerRegisters, false);
  d.when(d.equal(warp, 0), [&] {
    d.when(d.electOne(), [&] {
      Values start = {d.i32(0), d.i32(1)};
      if (weights) {
        Position behind = loadAhead();
        start = {behind.stage, behind.phase};
      } else {
        frame.awaitPrevious();
      }
      Value ahead = d.minU(depthTiles, d.i32(weights ? tile.stages : 0));
      d.loop(first, total, step, start, [&](Value t, ValueRange outer) {
        Tile at = tileAt(t);
        Value from = d.select(d.equal(t, first), ahead, d.i32(0));
        return d.loop(from, depthTiles, d.i32(1), outer, [&](Value k, ValueRange now) {
          Position pos{now[0], now[1]};
          waitFor(d, emptyBarrier(pos.stage), pos.phase);
          loadStage(at, k, pos, Both);
          pos = next(pos);
          return Values{pos.stage, pos.phase};
        });
      });
    });
  });
}

//===----------------------------------------------------------------------===//
// Consumers
//===----------------------------------------------------------------------===//

static Values flatten(ArrayRef<Values> parts) {
  Values out;
  for (const Values &p : parts)
    out.append(p);
  return out;
}

static SmallVector<Values> split(ValueRange flat, unsigned parts) {
  SmallVector<Values> out;
  unsigned each = flat.size() / parts;
  for (unsigned i = 0; i < parts; ++i)
    out.push_back(Values(flat.slice(i * each, each)));
  return out;
}

void HopperGemm::multiplyStage(Position at, SmallVector<Values> &sums) {
  waitFor(d, fullBarrier(at.stage), at.phase);
  Value a = d.add(shared, d.mul(at.stage, aBytes + bBytes));
  Value own = tile.isShared() ? d.add(a, d.mul(mine, tile.blocks * 64 * 128)) : a;
  auto describe = [&](const OperandMap &map, Value at) { return describeTile(d, at, map.byColumns ? depth * 128 : 16); };
  Value left = describe(mapA, own), right = describe(mapB, d.add(a, aBytes));
  auto numbers = [](const ProductOperand &o) { return o.format ? o.format : o.type; };
  Wgmma product{tile.columns, numbers(p.lhs), numbers(p.rhs), mapB.byColumns, mapA.byColumns};
  // Where lines lie side by side, a product's 16 of the depth are so many lines of 128 bytes.
  auto along = [](const OperandMap &map, unsigned kk) { return kk * (map.byColumns ? 16 * 128 : 32); };
  fenceProducts(d);
  for (unsigned kk = 0; kk < 4; ++kk)
    for (unsigned i = 0; i < tile.blocks; ++i)
      sums[i] = multiplyShared(d, product, sums[i], moveTile(d, left, along(mapA, kk) + i * 64 * 128),
                               moveTile(d, right, along(mapB, kk)));
  commitProducts(d);
}

/// A stage's own sums, under way.
Values HopperGemm::startStage(Position at) {
  SmallVector<Values> sums(1);
  multiplyStage(at, sums);
  return sums[0];
}

/// Adds a stage's sums when they are done, but for so many stages that were started after it.
void HopperGemm::addStage(Values &sums, const Values &started, unsigned pending, Value stage) {
  Values done = waitProducts(d, pending, started);
  release(stage);
  for (auto [sum, more] : llvm::zip(sums, done))
    sum = d.addF(sum, more);
}

/// Of all blocks that are together: each brings something to all of them.
void HopperGemm::release(Value stage) {
  if (together)
    return d.when(d.less(lane, together), [&] { arriveAt(d, emptyBarrier(stage), lane); });
  d.when(d.equal(lane, 0), [&] { arrive(d, emptyBarrier(stage)); });
}

/// Sums of the whole depth from a position on. The instruction keeps sums of floats of 8 bits with some 14 digits, so those of a stage begin anew and
/// are added up in f32 (as in DeepSeek-V3, 2024). Of `together` stages the next one's products are under way while one is added up; none are from
/// there to the next ones, as ptxas would have them wait for one another.
Values HopperGemm::addStages(Position from, unsigned together) {
  auto add = [&](ValueRange now, unsigned count) {
    Position pos{now[0], now[1]};
    Values sums(now.drop_front(2)), started = startStage(pos);
    for (unsigned i = 1; i < count; ++i) {
      Value stage = pos.stage;
      pos = next(pos);
      Values later = startStage(pos);
      addStage(sums, started, 1, stage);
      started = later;
    }
    addStage(sums, started, 0, pos.stage);
    pos = next(pos);
    Values yields = {pos.stage, pos.phase};
    yields.append(sums);
    return yields;
  };
  Values now = {from.stage, from.phase};
  now.append(tile.columns / 2, d.zero(p.sumType()));
  if (together > 1)
    now = d.loop(d.i32(0), d.div(depthTiles, together), d.i32(1), now, [&](Value, ValueRange carried) { return add(carried, together); });
  Value rest = together > 1 ? d.rem(depthTiles, together) : depthTiles;
  now = d.loop(d.i32(0), rest, d.i32(1), now, [&](Value, ValueRange carried) { return add(carried, 1); });
  return Values(ArrayRef<Value>(now).drop_front(2));
}

/// `counted` stages were filled before this tile. Gives where the last stage was, which is not free yet, and sums (finish).
Values HopperGemm::multiplyTile(Value counted) {
  Position pos{d.rem(counted, tile.stages), d.bitAnd(d.div(counted, tile.stages), 1)};
  if (p.multipliesFloat8())
    return addStages(pos, 3 * tile.columns / 2 <= mostSums ? stagesTogether : 1);
  SmallVector<Values> sums(tile.blocks, Values(tile.columns / 2, d.zero(p.sumType())));
  // The first stage stands before the loop, so that in it there always is an older one to release.
  multiplyStage(pos, sums);
  Position second = next(pos);
  Values carried = {second.stage, second.phase, pos.stage};
  carried.append(flatten(sums));
  return d.loop(d.i32(1), depthTiles, d.i32(1), carried, [&](Value, ValueRange now) {
    Position pos{now[0], now[1]};
    SmallVector<Values> inner = split(now.drop_front(3), tile.blocks);
    multiplyStage(pos, inner);
    waitProducts(d, 1);
    release(now[2]);
    Position following = next(pos);
    Values yields = {following.stage, following.phase, pos.stage};
    yields.append(flatten(inner));
    return yields;
  });
}

/// The sums of what multiplyTile gave, whose last stage is free then.
SmallVector<Values> HopperGemm::finish(Values multiplied) {
  if (p.multipliesFloat8())
    return split(multiplied, tile.blocks);
  SmallVector<Values> sums = split(waitProducts(d, 0, ArrayRef<Value>(multiplied).drop_front(3)), tile.blocks);
  release(multiplied[2]);
  return sums;
}

void HopperGemm::consume() {
  setRegisters(d, consumerRegisters, true);
  frame.awaitPrevious(); // the epilogue reads and writes
  bool turns = !tile.isShared();
  // Whoever's turn it is waits at a barrier of its own; the other arrives there after its products.
  Value myTurn = d.add(mine, 1), othersTurn = d.sub(d.i32(2), mine);
  if (turns)
    d.when(d.equal(mine, 1), [&] { arriveNamed(d, d.i32(1), 256); });
  Value start = turns ? d.add(first, d.mul(mine, step)) : first, stride = turns ? d.mul(step, 2) : step;
  if (!turns && p.multipliesFloat8()) { // the second one is behind, so that their epilogues do not meet
    constexpr int64_t behind = 3;
    Value ahead = d.minU(d.i32(behind), d.sub(depthTiles, d.i32(1)));
    d.when(d.both(d.equal(mine, 1), d.less(first, total)), [&] { waitFor(d, fullBarrier(ahead), d.i32(0)); });
  }
  // Stages that were filled before this tile: the other's tiles count too.
  Values counted = {turns ? d.mul(mine, depthTiles) : d.i32(0)};
  d.loop(start, total, stride, counted, [&](Value t, ValueRange outer) {
    Tile at = tileAt(t);
    if (turns)
      d.barrier(myTurn, 256);
    Values multiplied = multiplyTile(outer[0]);
    if (turns)
      arriveNamed(d, othersTurn, 256);
    storeTile(at, finish(multiplied));
    return Values{d.add(outer[0], turns ? d.mul(depthTiles, 2) : depthTiles)};
  });
}

void HopperGemm::storeTile(const Tile &t, ArrayRef<Values> sums) {
  BodyEmitter point = base;
  bindBatch(point, p.shape.batchAxes, d.wide(t.batch));
  ProductEpilogue epilogue(p.epilogue(), frame, hooks, point);
  if (t.part) {
    epilogue.storeParts(partOfSums(frame, p, d.wide(t.part), d.wide(t.batch)), frame.size(p.n));
  }
  Value buffers = d.add(shared, tile.stages * (aBytes + bBytes));
  Value buffer = d.add(buffers, d.mul(d.sub(warp, d.i32(4)), epilogueBytesPerWarp));
  Value warpRow = d.add(t.m, d.mul(d.bitAnd(warp, 3), 16));
  if (tile.isShared())
    warpRow = d.add(warpRow, d.mul(mine, 64 * tile.blocks));
  for (unsigned block = 0; block < tile.blocks; ++block)
    storeFragmentRows(frame, epilogue, {buffer, lane, d.add(warpRow, 64 * block), m, t.n, n}, sums[block]);
}

void HopperGemm::emit() {
  prepare();
  d.branch(d.equal(group, 0), [&] { produce(); }, [&] { consume(); });
  if (together) // others may still copy to this block, or arrive
    clusterBarrier(d);
}
