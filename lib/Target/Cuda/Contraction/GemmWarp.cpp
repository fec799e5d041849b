//===- GemmWarp.cpp - Contractions on tensor cores, warp by warp -----------===//
//
// mma.sync on fragments that ldmatrix brings from shared memory, the next tile's loads in flight while this one is multiplied.
// Serves f16 and bytes on compute capability 7.5, which has no asynchronous copies, and on later ones those layouts that bulk
// copies cannot fetch.
//
//===----------------------------------------------------------------------===//

#include "FragmentEpilogue.h"
#include "GemmParts.h"
#include "GemmTiles.h"
#include "MatrixProduct.h"
#include "../HopperOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;

namespace {

/// A warp multiplies (16 * blocks) x across. Where there are several groups of warps, each takes its part of a step's depth.
struct WarpTile : GemmTile {
  WarpTile(const schedule::ProductTile &t, unsigned bytes)
      : GemmTile(t), blocks(t.blocks), groups(t.sharers), stages(t.stages), across(t.across), bytes(bytes) {}
  unsigned blocks, groups, stages, across;
  unsigned bytes; ///< of an element
  unsigned sums() const { return blocks * sumsOfBlock(); } ///< of a thread
  unsigned sumsOfBlock() const { return across / 2; }
  unsigned ownDepth() const { return k / groups; }         ///< of a step, a group's
  unsigned depthOfProduct() const { return 32 / bytes; }   ///< of an instruction
  unsigned warpsAlongN() const { return n / across; }
  /// A block has a multiprocessor for itself, and registers for the operands of two products beside its sums.
  bool readsAhead() const { return across > 32; }
  unsigned warpsOfGroup() const { return m / (16 * blocks) * warpsAlongN(); }
  unsigned threads() const { return 32 * warpsOfGroup() * groups; }
  /// Tiles in shared memory: from 8.0 on copies are asynchronous and go far ahead.
  unsigned stagesOn(unsigned sm) const { return schedule::gpuOf(sm).gpu.asyncCopies ? stages : 2; }
  unsigned operandBytes(unsigned sm) const {
    return stagesOn(sm) * (TileSource::fragmentBytes(m, k, bytes) + TileSource::fragmentBytes(n, k, bytes));
  }
  /// Where the sums turn: behind what groups leave for one another, else where operands were.
  unsigned epilogueAt(unsigned sm) const { return groups > 1 ? operandBytes(sm) : 0; }
  unsigned sharedBytes(unsigned sm) const {
    return std::max(operandBytes(sm), epilogueAt(sm) + warpsOfGroup() * epilogueBytesPerWarp) + 1024;
  }
};

class WarpGemm : public TiledGemm {
public:
  WarpGemm(const GemmProblem &p, KernelFrame &frame, const WarpTile &tile)
      : WarpGemm(p, frame, tile, frame.d.sharedAddress(frame.dynamicShared())) {}
  void emit(bool inParts = false);

private:
  WarpGemm(const GemmProblem &p, KernelFrame &frame, const WarpTile &tile, Value shared)
      : TiledGemm(p, frame, tile, tile.stagesOn(frame.sm), shared), tile(tile), shared(shared) {}
  Values fragmentsAt(unsigned k);
  void multiplyFragments(MutableArrayRef<Value> sums, ArrayRef<Value> fragments);
  Values multiply(ArrayRef<Value> sums);
  Values multiplyAhead(Value step, MutableArrayRef<Value> sums, ArrayRef<Value> before);
  Values sumCopies(const Values &zeros, llvm::function_ref<Values(ArrayRef<Value>)> multiplyStep) override;
  Values product(ArrayRef<Value> sums, ArrayRef<Value> x, ArrayRef<Value> y) {
    return fragment.isInteger(8) ? productOfBytes(sums, x, y) : multiplyHalves(d, schedule::gpuOf(frame.sm), fragment, sums, x, y);
  }
  Values productOfBytes(ArrayRef<Value> sums, ArrayRef<Value> x, ArrayRef<Value> y);
  void sumGroups(Values sums);
  void storeTile(ArrayRef<Value> sums);

  WarpTile tile;
  Value shared, lane, warp, group, row, column; ///< row and column: the warp's, in the tile
};

} // namespace

/// 16x8 sums and the product of 16x32 and 32x8 bytes: one instruction, or of integers before 8.0 four of 8 rows and half of the depth.
Values WarpGemm::productOfBytes(ArrayRef<Value> sums, ArrayRef<Value> x, ArrayRef<Value> y) {
  llvm::StringRef sum = p.multipliesIntegers() ? "s32" : "f32";
  std::string types = llvm::formatv(".row.col.{0}.{1}.{2}.{0} ", sum, nameOfNumbers(p.lhs.format), nameOfNumbers(p.rhs.format));
  if (p.multipliesFloat8() || schedule::gpuOf(frame.sm).gpu.multiplies("i8", 32)) {
    Values args(x);
    args.append(y.begin(), y.end());
    args.append(sums.begin(), sums.end());
    std::string text = "mma.sync.aligned.m16n8k32" + types + "{$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};";
    llvm::StringRef constraints = p.multipliesIntegers() ? "=r,=r,=r,=r,r,r,r,r,r,r,r,r,r,r" : "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f";
    return d.ptx(text, constraints, args, llvm::SmallVector<Type>(4, p.sumType()), false);
  }
  Values now(sums);
  for (unsigned part = 0; part < 4; ++part) {
    unsigned rows = part % 2, half = part / 2;
    Values args = {x[2 * half + rows], y[half], now[2 * rows], now[2 * rows + 1]};
    std::string text = "mma.sync.aligned.m8n8k16" + types + "{$0, $1}, {$2}, {$3}, {$4, $5};";
    llvm::copy(d.ptx(text, "=r,=r,r,r,r,r", args, llvm::SmallVector<Type>(2, d.i32Type()), false), now.begin() + 2 * rows);
  }
  return now;
}

/// What the warp multiplies at the place k of its depth of a step: the right operand's by 16 columns, then the left one's by 16 rows.
Values WarpGemm::fragmentsAt(unsigned k) {
  Value depth = tile.groups > 1 ? d.add(d.mul(group, tile.ownDepth()), k) : d.i32(k);
  Values out;
  for (unsigned j = 0; j < tile.across; j += 16)
    out.append(b.matrices(lane, d.add(column, j), depth, false));
  for (unsigned i = 0; i < tile.blocks; ++i)
    out.append(a.matrices(lane, d.add(row, 16 * i), depth, true));
  return out;
}

/// Sums by blocks of 16 rows, then of 8 columns.
void WarpGemm::multiplyFragments(MutableArrayRef<Value> sums, ArrayRef<Value> fragments) {
  ArrayRef<Value> y = fragments.take_front(tile.across / 4), x = fragments.drop_front(tile.across / 4);
  for (unsigned i = 0; i < tile.blocks; ++i)
    for (unsigned j = 0; j < tile.across / 8; ++j) {
      MutableArrayRef<Value> sum = sums.slice(i * tile.sumsOfBlock() + 4 * j, 4);
      llvm::copy(product(sum, x.slice(4 * i, 4), y.slice(4 * (j / 2) + 2 * (j % 2), 2)), sum.begin());
    }
}

Values WarpGemm::multiply(ArrayRef<Value> sums) {
  Values out(sums);
  for (unsigned k = 0; k < tile.ownDepth(); k += tile.depthOfProduct())
    multiplyFragments(out, fragmentsAt(k));
  return out;
}

/// The products of a step but the last ones, whose fragments it returns; before them those of the step before. Warps meet with products at
/// hand, so that those which wait for shared memory have something to do.
Values WarpGemm::multiplyAhead(Value step, MutableArrayRef<Value> sums, ArrayRef<Value> before) {
  meetStep();
  useStep(step);
  Values now = fragmentsAt(0);
  if (!before.empty())
    multiplyFragments(sums, before);
  copyTile(a, d.add(step, stages - 1));
  a.use(stageOf(step));
  for (unsigned k = tile.depthOfProduct(); k < tile.ownDepth(); k += tile.depthOfProduct()) {
    Values next = fragmentsAt(k);
    if (k == tile.depthOfProduct()) { // copies are spread out between matrix loads
      copyTile(b, d.add(step, stages - 1));
      endCopies();
      b.use(stageOf(step));
    }
    multiplyFragments(sums, now);
    now = next;
  }
  return now;
}

Values WarpGemm::sumCopies(const Values &zeros, llvm::function_ref<Values(ArrayRef<Value>)> multiplyStep) {
  if (!tile.readsAhead())
    return TiledGemm::sumCopies(zeros, multiplyStep);
  auto [first, end] = startCopies();
  Values carried = zeros;
  carried.append(multiplyAhead(first, carried, {}));
  Values out = d.loop(d.add(first, d.i64(1)), end, d.i64(1), carried, [&](Value step, ValueRange all) {
    Values sums(all.take_front(tile.sums()));
    sums.append(multiplyAhead(step, sums, Values(all.drop_front(tile.sums()))));
    return sums;
  });
  Values sums(ArrayRef<Value>(out).take_front(tile.sums()));
  multiplyFragments(sums, ArrayRef<Value>(out).drop_front(tile.sums()));
  return sums;
}

void WarpGemm::storeTile(ArrayRef<Value> sums) {
  ProductEpilogue epilogue(p.epilogue(), frame, hooks, base);
  storeInParts(epilogue);
  Value buffers = d.add(shared, tile.epilogueAt(frame.sm));
  Value buffer = d.add(buffers, d.mul(warp, epilogueBytesPerWarp));
  Value m = d.narrow(frame.size(p.m)), n = d.narrow(frame.size(p.n));
  Value firstRow = d.add(d.narrow(m0), row), firstColumn = d.add(d.narrow(n0), column);
  for (unsigned i = 0; i < tile.blocks; ++i)
    storeFragmentRows(frame, epilogue, {buffer, lane, d.add(firstRow, 16 * i), m, firstColumn, n, a.interleaves(), b.interleaves()},
                      sums.slice(i * tile.sumsOfBlock(), tile.sumsOfBlock()));
}

/// The first group adds up what the others have, through the memory of the operands, in the groups' order. That memory is free when all warps have
/// multiplied the last step, and what was copied ahead of them is there.
void WarpGemm::sumGroups(Values sums) {
  if (isPipelined())
    d.ptx("cp.async.wait_all;");
  d.barrier();
  if (tile.groups == 1)
    return storeTile(sums);
  Value buffer = d.b.create<LLVM::IntToPtrOp>(d.loc, d.pointer(Shared), shared);
  auto place = [&](Value ofGroup, unsigned i) {
    Value of = d.add(d.mul(ofGroup, tile.warpsOfGroup()), warp);
    return d.at(buffer, d.add(d.mul(d.add(d.mul(of, sums.size()), i), 32), lane), p.sumType());
  };
  d.when(d.less(d.i32(0), group), [&] {
    for (unsigned i = 0; i < sums.size(); ++i)
      d.store(sums[i], place(d.sub(group, d.i32(1)), i), 4);
  });
  d.barrier();
  d.when(d.equal(group, 0), [&] {
    for (unsigned g = 0; g + 1 < tile.groups; ++g)
      for (unsigned i = 0; i < sums.size(); ++i)
        sums[i] = d.sum(sums[i], d.load(p.sumType(), place(d.i32(g), i), 4));
    storeTile(sums);
  });
}

void WarpGemm::emit(bool inParts) {
  Value tid = d.threadId();
  lane = d.bitAnd(tid, 31);
  Value index = d.warpUniform(d.shr(tid, 5));
  warp = d.rem(index, tile.warpsOfGroup());
  group = d.div(index, tile.warpsOfGroup());
  row = d.mul(d.div(warp, tile.warpsAlongN()), 16 * tile.blocks);
  column = d.mul(d.rem(warp, tile.warpsAlongN()), tile.across);
  locate(inParts);
  sumGroups(sumOverDepth(tile.sums(), [&](ArrayRef<Value> sums) { return multiply(sums); }));
}

bool cuda::takesWarpGemm(const Generator &g, const GemmProblem &p) {
  if (p.multipliesBytes()) // the instructions have 16 of the depth or 32, filled up with zeros
    return p.k.constant().value_or(16) >= 8;
  return p.lhs.type == p.rhs.type && multipliesHalves(g.machine(), p.lhs.type) && p.k.constant().value_or(8) >= 8;
}

/// A step is as many bytes of depth whatever the elements are: tiles say how many halves.
static schedule::ProductTile ofElements(schedule::ProductTile t, unsigned bytes) {
  t.depth = t.depth * 2 / bytes;
  return t;
}

namespace {
/// Which tiles a product is made in.
struct TilesMade {
  const GemmProblem &p;
  const schedule::Machine &machine;
  unsigned bytes; ///< of an element
  bool pipelined;

  std::vector<const schedule::ProductTile *> of(const ProductChoice &choice) const;

private:
  bool hasRoom(const schedule::ProductTile &t) const {
    return pipelined && WarpTile(ofElements(t, bytes), bytes).sharedBytes(machine.gpu.capability) <= machine.gpu.sharedPerBlock;
  }
  bool isMade(const schedule::ProductTile &t) const;
};
} // namespace

/// The tile that several groups share stands in for the one of its size where copies run far ahead, and it has room. One that has a
/// multiprocessor for itself is for products that have enough of them.
bool TilesMade::isMade(const schedule::ProductTile &t) const {
  constexpr int64_t fewTiles = 16;
  if (WarpTile(t, bytes).readsAhead())
    return hasRoom(t) && p.tiles(t.rows, t.columns).constant().value_or(fewTiles) >= fewTiles;
  auto sizedAlike = [&](const schedule::ProductTile &o) { return o.sharers != t.sharers && o.rows == t.rows && o.columns == t.columns; };
  const schedule::ProductTile *other = llvm::find_if(schedule::tilesOf(schedule::ProductUnit::Warps), sizedAlike);
  if (other == schedule::tilesOf(schedule::ProductUnit::Warps).end())
    return true;
  return hasRoom(t.sharers > 1 ? t : *other) == (t.sharers > 1);
}

/// Those that schedules leave; all where none of these is made.
std::vector<const schedule::ProductTile *> TilesMade::of(const ProductChoice &choice) const {
  std::vector<const schedule::ProductTile *> out = choice.tilesOf(schedule::ProductUnit::Warps);
  llvm::erase_if(out, [&](const schedule::ProductTile *t) { return !isMade(*t); });
  if (out.empty())
    for (const schedule::ProductTile &t : schedule::tilesOf(schedule::ProductUnit::Warps))
      if (isMade(t))
        out.push_back(&t);
  return out;
}

/// Whether copies bring both operands, by their layouts alone.
static bool copiesTiles(Generator &g, const GemmProblem &p, const lower::Divisibility &known, const WarpTile &t) {
  OwningOpRef<ModuleOp> trial = ModuleOp::create(g.device.getLoc());
  KernelFrame frame(g.info, *trial, t.name, t.threads(), g.sm, 0, g.dependent());
  frame.known = known;
  bool copies = WarpGemm(p, frame, t).isPipelined();
  frame.finish();
  return copies;
}

/// Those that schedules leave, for a machine and how the operands lie.
static std::vector<const schedule::ProductTile *> tilesMade(Generator &g, const GemmProblem &p, const lower::Divisibility &known, bool &pipelined) {
  unsigned bytes = fragmentType(p, g.sm).getIntOrFloatBitWidth() / 8;
  pipelined = copiesTiles(g, p, known, WarpTile(ofElements(schedule::tilesOf(schedule::ProductUnit::Warps).front(), bytes), bytes));
  return TilesMade{p, g.machine(), bytes, pipelined}.of(ProductChoice(g));
}

static llvm::Error addEntry(Generator &g, const GemmProblem &p, const lower::Divisibility &known, const WarpTile &t, const std::string &name, bool pipelined,
                            bool inParts) {
  KernelFrame frame(g.info, g.device, name, t.threads(), g.sm, 0, g.dependent());
  frame.known = known;
  WarpGemm gemm(p, frame, t);
  if (pipelined && t.groups == 1)
    frame.fitBlocks(t.readsAhead() ? 1 : 2);
  gemm.emit(inParts);
  return g.addEntry(frame, name, gemm.error());
}

/// The smallest tile is the last one, which several groups may share.
PartTile cuda::partOfWarps(Generator &g, const GemmProblem &p, const lower::Divisibility &known) {
  constexpr int64_t worthDepth = 1024;
  bool pipelined;
  unsigned bytes = fragmentType(p, g.sm).getIntOrFloatBitWidth() / 8;
  std::vector<const schedule::ProductTile *> tiles = tilesMade(g, p, known, pipelined);
  schedule::ProductTile tile = ofElements(*tiles.back(), bytes);
  WarpTile t(tile, bytes);
  int64_t worthSteps = std::max<int64_t>(1, worthDepth / t.k);
  return {tile, t.threads(), t.sharedBytes(g.sm), worthSteps, t.groups > 1 ? 1 : 2,
          [=, &g, &p](const std::string &name) { return addEntry(g, p, known, t, name, pipelined, /*inParts=*/true); }};
}

llvm::Expected<GemmLaunch> cuda::addWarpGemm(Generator &g, const GemmProblem &p, const lower::Divisibility &known) {
  std::vector<TileLaunch> launches;
  unsigned first = g.entries.size(), bytes = fragmentType(p, g.sm).getIntOrFloatBitWidth() / 8;
  bool pipelined;
  for (const schedule::ProductTile *of : tilesMade(g, p, known, pipelined)) {
    WarpTile t(ofElements(*of, bytes), bytes);
    if (llvm::Error e = addEntry(g, p, known, t, entryName(g, t), pipelined, /*inParts=*/false))
      return e;
    launches.push_back({ofElements(*of, bytes), t.threads(), t.sharedBytes(g.sm)});
  }
  return planTiles(g, p, first, launches);
}
