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

/// A thread computes rows x columns, both in groups of 4.
struct SimtTile : GemmTile {
  explicit SimtTile(const schedule::ProductTile &t) : GemmTile(t), rows(t.blocks), columns(t.rows * t.columns / (threads() * t.blocks)) {}
  unsigned rows, columns;
  unsigned results() const { return rows * columns; }
  /// Of 4 operands each.
  unsigned operands() const { return rows + columns; }
  unsigned pieces() const { return operands() / 4; }
  unsigned columnPieces() const { return columns / 4; }
  static constexpr unsigned threads() { return 256; }
  /// As many as have registers for their sums and operands.
  unsigned blocksTogether() const { return results() > 64 ? 1 : 2; }
  /// Both operands' tiles, in shared memory of constant size.
  bool hasRoom(unsigned bytes) const { return stages * (TileLoader::plainBytes(m, k, bytes) + TileLoader::plainBytes(n, k, bytes)) <= most; }
  static constexpr unsigned stages = 2, most = 48 * 1024;
};

class SimtGemm : public TiledGemm {
public:
  SimtGemm(const GemmProblem &p, KernelFrame &frame, const SimtTile &tile) : TiledGemm(p, frame, tile, SimtTile::stages), tile(tile) {}
  void emit(bool inParts = false);

private:
  Values multiply(ArrayRef<Value> operandsAndSums, llvm::function_ref<void()> toFollowing, llvm::function_ref<void(unsigned)> ahead);
  void copyBeside(Value step, unsigned k);
  void multiplyOnce(MutableArrayRef<Value> sums, Values &now, llvm::function_ref<void()> toNext, std::optional<unsigned> next);
  void multiplyQuad(MutableArrayRef<Value> sums, ArrayRef<Value> now, unsigned quad);
  void read(unsigned piece, unsigned k, MutableArrayRef<Value> operands);
  Values sumCopies(const Values &zeros, llvm::function_ref<Values(ArrayRef<Value>)> multiply) override;
  Values multiplyTile(ArrayRef<Value> sums);
  Values operands(unsigned k);
  void storeTile(ArrayRef<Value> sums);
  void placeThread();

  SimtTile tile;
  Value m, n, tx, ty;
};

} // namespace

/// The piece of 4 of the thread's lines of one k: those of its columns, then those of its rows; both are spread over the tile.
void SimtGemm::read(unsigned i, unsigned kk, MutableArrayRef<Value> operands) {
  unsigned ofColumns = tile.columnPieces();
  auto from = [&](TileLoader &o, unsigned tileLines, unsigned pieces, unsigned at, Value group) {
    return o.four(d.i32(kk), d.add(d.mul(group, 4), at * (tileLines / pieces)));
  };
  Value four = i < ofColumns ? from(b, tile.n, ofColumns, i, tx) : from(a, tile.m, tile.rows / 4, i - ofColumns, ty);
  for (unsigned j = 0; j < 4; ++j) // apart: loads of vectors that a loop carries are sunk to where these are used
    operands[4 * i + j] = d.extract(four, j);
}

Values SimtGemm::operands(unsigned kk) {
  Values out(tile.operands());
  for (unsigned i = 0; i < tile.pieces(); ++i)
    read(i, kk, out);
  return out;
}

void SimtGemm::multiplyQuad(MutableArrayRef<Value> sums, ArrayRef<Value> now, unsigned quad) {
  for (unsigned i = 0; i < 4; ++i)
    for (unsigned j = 0; j < tile.columns; ++j) {
      Value &sum = sums[(quad * 4 + i) * tile.columns + j];
      sum = d.multiplyAdd(now[tile.columns + quad * 4 + i], now[j], sum);
    }
}

/// The products of one k, in place. The next one's rows are read into the registers of those that are done with, its columns beside the ones in use.
/// `toNext` is called before the first of them is read.
void SimtGemm::multiplyOnce(MutableArrayRef<Value> sums, Values &now, llvm::function_ref<void()> toNext, std::optional<unsigned> next) {
  unsigned quads = tile.rows / 4, done = quads > 1 ? 1 : 0; // quads of rows, and how many are done with when reading begins
  Values following = now;
  auto readPiece = [&](unsigned i) {
    if (next)
      read(i, *next, following);
  };
  for (unsigned quad = 0; quad < quads; ++quad) {
    if (quad == done) {
      toNext();
      for (unsigned i = 0; i < tile.columnPieces(); ++i)
        readPiece(i);
    }
    if (quad >= done)
      readPiece(tile.columnPieces() + quad - done);
    multiplyQuad(sums, now, quad);
  }
  if (done)
    readPiece(tile.pieces() - 1);
  now = following;
}

/// The products of a step, whose first operands are read, before the sums. Of the step behind it as many are read and returned, if it is told how to get there.
/// `ahead` is called before what is multiplied behind a k is read.
Values SimtGemm::multiply(ArrayRef<Value> operandsAndSums, llvm::function_ref<void()> toFollowing, llvm::function_ref<void(unsigned)> ahead) {
  Values now(operandsAndSums.take_front(tile.operands())), sums(operandsAndSums.drop_front(tile.operands()));
  for (unsigned kk = 0; kk + 1 < tile.k; ++kk)
    multiplyOnce(sums, now, [&] { ahead(kk); }, kk + 1);
  multiplyOnce(sums, now, toFollowing ? toFollowing : [] {}, toFollowing ? std::optional(0u) : std::nullopt);
  now.append(sums);
  return now;
}

Values SimtGemm::multiplyTile(ArrayRef<Value> sums) {
  Values all = operands(0);
  all.append(sums.begin(), sums.end());
  return Values(ArrayRef<Value>(multiply(all, {}, [](unsigned) {})).drop_front(tile.operands()));
}

/// Of the step that is copied while another one is multiplied, what is copied beside the products of k: one operand's tile after the other. All at once at the
/// beginning of a step they hold back its own operands (4096 x 4096 x 4096 on an H200: 2,850 us at once, 2,781 so, 2,812 a product later, 3,035 far apart).
void SimtGemm::copyBeside(Value step, unsigned k) {
  constexpr unsigned first = 1, second = 2;
  if (k == first)
    copyTile(a, step);
  if (k == second) {
    copyTile(b, step);
    endCopies();
  }
}

/// Threads meet before the last products of a step, so that what waits for shared memory has those to do.
Values SimtGemm::sumCopies(const Values &zeros, llvm::function_ref<Values(ArrayRef<Value>)>) {
  auto [first, end] = startCopies();
  meetStep();
  useStep(first);
  Values carried = operands(0);
  carried.append(zeros);
  Values out = d.loop(first, end, d.i64(1), carried, [&](Value step, ValueRange all) {
    useStep(step);
    auto toFollowing = [&] {
      meetStep();
      useStep(d.add(step, 1));
    };
    return multiply(Values(all), toFollowing, [&](unsigned k) {
      copyBeside(d.add(step, stages - 1), k);
      useStep(step);
    });
  });
  return Values(ArrayRef<Value>(out).drop_front(tile.operands()));
}

/// One row after another, the next one's sums moved to where the first one's are: what follows the product is code of one row, in a
/// loop that is unrolled only where that is short.
void SimtGemm::storeTile(ArrayRef<Value> sums) {
  ProductEpilogue epilogue(p.epilogue(), frame, hooks, base);
  storeInParts(epilogue);
  unsigned width = epilogue.width(), each = tile.columns;
  auto apart = [](unsigned tileLines, unsigned lines) { return tileLines / (lines / 4); };
  d.loop(d.i32(0), d.i32(tile.rows), d.i32(1), sums, [&](Value i, ValueRange now) {
    Value place = d.add(d.mul(d.div(i, 4), apart(tile.m, tile.rows)), d.rem(i, 4));
    Value row = d.add(d.wide(d.add(d.mul(ty, 4), place)), m0);
    d.when(d.less(row, m), [&] {
      ProductEpilogue::Row point = epilogue.atRow(row);
      for (unsigned j = 0; j < each; j += width) {
        Value column = d.add(d.wide(d.add(d.mul(tx, 4), j / 4 * apart(tile.n, each) + j % 4)), n0);
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
  unsigned across = tile.n / tile.columns / 8;
  tx = d.add(d.add(d.add(bit(0, 0), bit(2, 1)), bit(3, 2)), d.mul(d.rem(warp, across), 8));
  ty = d.add(d.add(bit(1, 0), bit(4, 1)), d.mul(d.div(warp, across), 4));
}

void SimtGemm::emit(bool inParts) {
  placeThread();
  m = frame.size(p.m);
  n = frame.size(p.n);
  locate(inParts);
  storeTile(sumOverDepth(tile.results(), [&](ArrayRef<Value> sums) { return multiplyTile(sums); }));
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
  frame.fitBlocks(t.blocksTogether());
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
PartTile cuda::partOfThreads(Generator &g, const GemmProblem &p, const lower::Divisibility &known) {
  const schedule::ProductTile &tile = schedule::tilesOf(schedule::ProductUnit::Threads).back();
  SimtTile t(tile);
  return {tile, t.threads(), 0, /*worthSteps=*/16, /*blocksTogether=*/2, [=, &g, &p](const std::string &name) { return addEntry(g, p, known, t, name, /*inParts=*/true); }};
}
