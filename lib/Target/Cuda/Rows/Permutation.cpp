//===- Permutation.cpp - Elements read in another order than written --------===//
//
// Neighbours in what a loop writes are far apart in what it reads, and the other way round. A block takes a tile of
// both axes: its threads read it with neighbours along the axis of the reads, put it into shared memory, and go through
// it again along the axis of the writes, where the loop's other operands are read and its results are computed as
// anywhere else.
//
//===----------------------------------------------------------------------===//

#include "Permutation.h"
#include "RowProgram.h"
#include "lathe/Schedule/ThreadRows.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::AxisSet;
using lower::BodyEmitter;
using lower::BodyInfo;
using shape::Expr;

constexpr unsigned threads = 256;
/// Operands that have a tile in shared memory, and the fewest places of an axis that a tile is worth: of one that is known to be short a tile is as
/// wide as it is, and so much longer.
constexpr size_t mostTurned = 2;
constexpr int64_t leastExtent = 16, leastKnown = 4;

namespace {

/// Loads of which neighbours lie along `read`, while neighbours of what is stored lie along `written`.
struct Turn {
  int read = -1, written = -1;
  SmallVector<kernel::LoadOp> loads;
  SmallVector<unsigned> others; ///< axes: the tiles of each of their points are alike
  int64_t readEdge = 64, writtenEdge = 64; ///< of a tile, powers of two

  int64_t edgeOf(int axis) const { return axis == read ? readEdge : writtenEdge; }
};

class TurnEmitter : public EntryEmitter {
public:
  TurnEmitter(KernelFrame &frame, const Turn &turn)
      : EntryEmitter(frame), t(turn), readWidth(schedule::chooseWidth(info, t.read, frame.known)),
        writtenWidth(schedule::chooseWidth(info, t.written, frame.known)) {}
  void emit();

private:
  struct Spot {
    Value along, across, inside; ///< i64 in the tile, along the accesses and across them; i1
  };
  Spot spotAt(unsigned pass, unsigned width, int along, int across, Value alongStart, Value acrossStart, bool clamped);
  void readTile(kernel::LoadOp load, Value tile);
  void writeTile(ArrayRef<Value> tiles);
  unsigned passes(unsigned width) const { return t.readEdge * t.writtenEdge / (threads * width); }
  Value placeIn(Value tile, Type element, Value across, Value along);

  Turn t;
  unsigned readWidth, writtenWidth;
  Value readStart, writtenStart; ///< of the block's tile
};

} // namespace

static unsigned bytesOf(Type element) { return std::max(1u, element.getIntOrFloatBitWidth() / 8); }
/// A word more than a row has, so that a column's elements lie in different banks.
static int64_t pitchOf(int64_t edge, Type element) { return edge * bytesOf(element) + std::max(4u, bytesOf(element)); }

//===----------------------------------------------------------------------===//
// A tile
//===----------------------------------------------------------------------===//

/// Clamped, all places are inside, and those past the end are those at the end.
TurnEmitter::Spot TurnEmitter::spotAt(unsigned pass, unsigned width, int along, int across, Value alongStart,
                                      Value acrossStart, bool clamped) {
  unsigned perLine = t.edgeOf(along) / width;
  bool several = perLine > threads; // passes in a line
  Value number = several ? d.add(d.threadId(), int64_t(pass * threads)) : d.threadId();
  Value a = d.wide(d.mul(d.rem(number, perLine), width));
  Value c = d.wide(several ? d.div(number, perLine) : d.add(d.div(number, perLine), int64_t(pass * (threads / perLine))));
  Value alongEnd = frame.size(info.extents[along]), acrossEnd = frame.size(info.extents[across]);
  Value inside = d.both(d.less(d.add(alongStart, a), alongEnd), d.less(d.add(acrossStart, c), acrossEnd));
  if (!clamped)
    return {a, c, inside};
  return {d.minU(d.add(alongStart, a), d.sub(alongEnd, d.i64(width))),
          d.minU(d.add(acrossStart, c), d.sub(acrossEnd, d.i64(1))), inside};
}

/// Rows of the tile run along the reads.
Value TurnEmitter::placeIn(Value tile, Type element, Value across, Value along) {
  Value bytes = d.add(d.mul(across, pitchOf(t.readEdge, element)), d.mul(along, bytesOf(element)));
  return d.byteAt(tile, d.narrow(bytes));
}

void TurnEmitter::readTile(kernel::LoadOp load, Value tile) {
  Type element = load.getResult().getType();
  hooks.setLane(info.axes[t.read], readWidth);
  Values read;
  for (unsigned pass = 0; pass < passes(readWidth); ++pass) {
    Spot at = spotAt(pass, readWidth, t.read, t.written, readStart, writtenStart, true);
    BodyEmitter point = base;
    point.bindLane(info.axes[t.read], at.along, readWidth);
    point.bindAxis(info.axes[t.written], at.across);
    read.push_back(point.emitLanes(load.getResult()));
  }
  for (unsigned pass = 0; pass < passes(readWidth); ++pass) {
    Spot at = spotAt(pass, readWidth, t.read, t.written, readStart, writtenStart, false);
    Value to = placeIn(tile, element, at.across, at.along);
    unsigned bytes = bytesOf(element), words = readWidth * bytes / 4;
    if (bytes > 4 || !words || readWidth == 1) {
      for (unsigned i = 0; i < readWidth; ++i)
        d.store(readWidth > 1 ? d.extract(read[pass], i) : read[pass], d.byteAt(to, int64_t(i * bytes)), bytes);
      continue;
    }
    Value asWords = d.bitcast(read[pass], d.vector(words, d.i32Type())); // rows begin at multiples of 4 bytes alone
    for (unsigned i = 0; i < words; ++i)
      d.store(words > 1 ? d.extract(asWords, i) : asWords, d.byteAt(to, int64_t(4 * i)), 4);
  }
}

void TurnEmitter::writeTile(ArrayRef<Value> tiles) {
  hooks.setLane(info.axes[t.written], writtenWidth);
  for (unsigned pass = 0; pass < passes(writtenWidth); ++pass) {
    Spot at = spotAt(pass, writtenWidth, t.written, t.read, writtenStart, readStart, false);
    d.when(at.inside, [&] {
      BodyEmitter point = base;
      point.bindLane(info.axes[t.written], d.add(writtenStart, at.along), writtenWidth);
      point.bindAxis(info.axes[t.read], d.add(readStart, at.across));
      for (auto [load, tile] : llvm::zip(t.loads, tiles)) {
        Type element = load.getResult().getType();
        Values lanes;
        for (unsigned i = 0; i < writtenWidth; ++i)
          lanes.push_back(
              d.load(element, placeIn(tile, element, d.add(at.along, int64_t(i)), at.across), bytesOf(element)));
        Value all = lanes[0];
        if (writtenWidth > 1) {
          all = d.splat(lanes[0], writtenWidth);
          for (unsigned i = 1; i < writtenWidth; ++i)
            all = d.insert(all, lanes[i], i);
        }
        point.bindValue(load.getResult(), all);
      }
      for (Operation *op : info.ops)
        if (auto store = dyn_cast<kernel::StoreOp>(op))
          point.emitStore(store);
    });
  }
}

void TurnEmitter::emit() {
  auto tilesOf = [&](int axis) { return d.ceilDiv(frame.size(info.extents[axis]), t.edgeOf(axis)); };
  Value block = d.wide(d.blockId()), across = tilesOf(t.written), along = tilesOf(t.read);
  writtenStart = d.mul(d.rem(block, across), t.writtenEdge);
  block = d.div(block, across);
  readStart = d.mul(d.rem(block, along), t.readEdge);
  bindBatch(base, t.others, d.div(block, along));
  Values tiles;
  for (kernel::LoadOp load : t.loads) {
    Type element = load.getResult().getType();
    std::string name = "tile" + std::to_string(tiles.size());
    tiles.push_back(frame.sharedArray(name, d.b.getI8Type(), t.writtenEdge * pitchOf(t.readEdge, element)));
    readTile(load, tiles.back());
  }
  d.barrier();
  writeTile(tiles);
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// The axis along which the load's neighbours lie while those of `written` are far apart; -1: none.
static int readAxisOf(const BodyInfo &info, kernel::LoadOp load, int written) {
  if (!load.getIndices().empty() || load.getResult().getType().isInteger(1))
    return -1;
  auto stride = info.exprOf(load).linearIn(info.axes[written]);
  if (!stride || stride->coefficient.isZero() ||
      std::abs(stride->coefficient.constant().value_or(leastExtent)) < leastKnown)
    return -1;
  for (unsigned i = 0; i < info.axes.size(); ++i) {
    auto linear = info.exprOf(load).linearIn(info.axes[i]);
    if (int(i) != written && linear && linear->coefficient.isOne() &&
        info.extents[i].constant().value_or(leastExtent) >= leastKnown)
      return i;
  }
  return -1;
}

static std::optional<Turn> turnOf(const BodyInfo &info) {
  std::optional<AxisSet> domain;
  for (Operation *op : info.ops) {
    if (isa<kernel::ReduceOp, kernel::ContractOp, kernel::AttentionOp>(op))
      return std::nullopt;
    if (!isa<kernel::StoreOp>(op))
      continue;
    if (domain && *domain != info.domainOf(op))
      return std::nullopt;
    domain = info.domainOf(op);
  }
  if (!domain || *domain != (AxisSet(1) << info.axes.size()) - 1)
    return std::nullopt;
  Turn t;
  t.written = schedule::chooseLane(info, {}, *domain);
  if (t.written < 0 || info.extents[t.written].constant().value_or(leastExtent) < leastExtent)
    return std::nullopt;
  for (Operation *op : info.ops) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    int axis = load ? readAxisOf(info, load, t.written) : -1;
    if (axis < 0 || (t.read >= 0 && t.read != axis) || t.loads.size() == mostTurned)
      continue;
    t.read = axis;
    t.loads.push_back(load);
    if (load.getResult().getType().getIntOrFloatBitWidth() > 32)
      t.readEdge = t.writtenEdge = 32;
  }
  if (t.read < 0)
    return std::nullopt;
  if (std::optional<int64_t> extent = info.extents[t.read].constant())
    for (; t.readEdge / 2 >= *extent; t.readEdge /= 2)
      t.writtenEdge *= 2;
  for (Operation *op : info.ops) // neighbours of all that is written lie along the one axis
    if (auto store = dyn_cast<kernel::StoreOp>(op)) {
      auto linear = info.exprOf(op).linearIn(info.axes[t.written]);
      if (!store.getIndices().empty() || !linear || !linear->coefficient.isOne())
        return std::nullopt;
    }
  for (unsigned i = 0; i < info.axes.size(); ++i)
    if (int(i) != t.read && int(i) != t.written)
      t.others.push_back(i);
  return t;
}

static llvm::Error addEntry(Generator &g, StringRef name, const Turn &t, const lower::Divisibility &known) {
  KernelFrame frame(g.info, g.device, name, threads, g.sm, 0, g.dependent());
  frame.known = known;
  TurnEmitter emitter(frame, t);
  emitter.emit();
  return g.addEntry(frame, name, emitter.error());
}

llvm::Expected<bool> cuda::generatePermutation(Generator &g) {
  kernel::GenericOp kernel = g.info.kernel;
  std::optional<Turn> t = kernel.getKernelClass() == kernel::KernelClass::Loop ? turnOf(g.info) : std::nullopt;
  if (!t)
    return false;
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  const Expr &read = g.info.extents[t->read], &written = g.info.extents[t->written];
  Expr blocks = Expr::ceildiv(read, Expr(t->readEdge)) * Expr::ceildiv(written, Expr(t->writtenEdge));
  for (unsigned axis : t->others)
    blocks = blocks * g.info.extents[axis];
  Value entry, grid = plan.size(blocks), block = plan.constant(threads);
  if (!read.constant() || !written.constant()) { // axes may turn out to be short
    if (llvm::Error e = generateRowProgram(g))
      return std::move(e);
    schedule::Predicate bothLong;
    for (const Expr *e : {&read, &written})
      if (!e->constant())
        bothLong.add(Expr(leastExtent), schedule::Relation::LessEqual, *e);
    Value both = plan.holds(bothLong);
    entry = h.select(both, plan.constant(g.entries.size()), plan.word(LATHE_CUDA_ENTRY));
    grid = h.select(both, grid, plan.word(LATHE_CUDA_GRID));
    block = h.select(both, block, plan.word(LATHE_CUDA_BLOCK));
    g.ways.insert(g.ways.begin(), {bothLong, "", schedule::PlainAttr::get(g.info.kernel->getContext()), "permutation"});
  } else {
    entry = plan.constant(g.entries.size());
  }
  lower::Divisibility nothing(g.info), wide(g.info);
  schedule::assumeWide(g.info, t->written, wide);
  schedule::assumeWide(g.info, t->read, wide);
  if (!wide.conditions().empty()) { // the next entry point is that of any sizes
    Value first = plan.constant(g.entries.size()), any = plan.constant(g.entries.size() + 1);
    entry = h.select(h.both(h.equal(entry, first), h.equal(plan.holds(wide), 0)), any, entry);
    if (llvm::Error e = addEntry(g, "permutation", *t, wide))
      return std::move(e);
  }
  if (llvm::Error e = addEntry(g, wide.conditions().empty() ? "permutation" : "permutation_any", *t, nothing))
    return std::move(e);
  plan.launch(entry, grid, block);
  return true;
}
