//===- Permutation.cpp - Loops whose operands run along another axis -------===//
//
// Where a result is contiguous along one axis and what it is made of along another, vectors along either would gather
// or scatter the other side. Square tiles of a vector's width do neither: operands are loaded along their own axis,
// transposed in registers, and everything else runs along the result's. A tile reads and writes whole vectors; bands of
// tiles keep few pages in use. A value that is stored in both ways is computed along the operands' axis, stored, and transposed.
//
//===----------------------------------------------------------------------===//

#include "RowSchedule.h"
#include "../VectorBuilder.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::AxisSet;
using lower::BodyEmitter;
using lower::BodyInfo;
using shape::Expr;

namespace {

struct Permutation {
  unsigned across = 0, along = 0;    ///< the axis that is contiguous in the operands, and the results'
  SmallVector<kernel::LoadOp> loads; ///< contiguous across
  SmallVector<kernel::StoreOp> stores;       ///< contiguous along
  SmallVector<kernel::StoreOp> storesAcross; ///< of what is computed across
  SmallVector<Value> moved;                  ///< computed across and transposed: the loads, or what is stored in both ways
  std::vector<unsigned> outer;
};

/// An item's part of either axis. Items count along first, so that the pages of the rows that they write stay in use;
/// each of the rows that are read is another page, of which much is taken while it is.
constexpr int64_t elementsAcross = 256, elementsAlong = 256;
/// Rows of results that lie a multiple of so many bytes apart share few places of a cache, where their unfinished lines drive one another
/// out: fewer rows then, and tiles along until a line is whole come before the next tile across.
constexpr int64_t crowdedBytes = 512, crowdedAcross = 128, lineBytes = 64;
/// Beyond this the body is copied too often for what the tile saves.
constexpr unsigned largestBody = 40;

class PermutationEmitter {
public:
  PermutationEmitter(KernelFunction &f, const Permutation &p)
      : f(f), info(f.info), b(f.b), loc(f.loc), v(f.b, f.loc, f.isa, f.b.getF32Type()), p(p), width(tileWidth(f, p, v.lanes)) {}
  llvm::Error run(KernelPlan &plan);

private:
  static int64_t tileWidth(const KernelFunction &f, const Permutation &p, int64_t lanes);
  void emitItem(BodyEmitter &outer, Value item);
  /// Places [from, to) across, [start, end) along.
  struct Block {
    Value from, to, start, end;
  };
  void tile(BodyEmitter &point, Value across, Value along, int64_t width);
  void tiles(BodyEmitter &point, const Block &block, int64_t width);
  void narrowTiles(BodyEmitter &point, const Block &block, int64_t width);
  void single(BodyEmitter &point, const Block &block);
  void emitStores(BodyEmitter &at) const {
    for (auto *some : {&p.storesAcross, &p.stores})
      for (kernel::StoreOp store : *some)
        at.emitStore(store);
  }
  void strip(BodyEmitter &point, Value from, Value to, Value start, Value end);
  int64_t elementBytes() const;
  Expr spread() const;
  Expr itemAcross() const { return Expr(crowdedAcross) + spread() * Expr(elementsAcross - crowdedAcross); }
  Expr blocksAcross() const { return Expr::ceildiv(info.extents[p.across], itemAcross()); }
  Expr blocksAlong() const { return Expr::ceildiv(info.extents[p.along], elementsAlong); }
  Value add(Value x, Value y) { return b.create<arith::AddIOp>(loc, x, y, arith::IntegerOverflowFlags::nsw); }

  KernelFunction &f;
  const BodyInfo &info;
  OpBuilder &b;
  Location loc;
  VectorBuilder v;
  Permutation p;
  int64_t width;
};

} // namespace

//===----------------------------------------------------------------------===//
// What is a permutation
//===----------------------------------------------------------------------===//

/// How far an access moves along an axis: 0, 1, -1 for any other distance; nothing where the axis is inside of
/// something else.
static std::optional<int> stepAlong(const BodyInfo &info, Operation *op, unsigned axis) {
  std::optional<Expr::Linear> linear = info.exprOf(op).linearIn(info.axes[axis]);
  if (!linear)
    return std::nullopt;
  return linear->coefficient.isZero() ? 0 : linear->coefficient.isOne() ? 1 : -1;
}

static bool isLong(const BodyInfo &info, unsigned axis) {
  return info.extents[axis].constant().value_or(INT64_MAX) >= 4;
}

/// The axis along which all results are contiguous.
static std::optional<unsigned> resultAxis(const BodyInfo &info, ArrayRef<kernel::StoreOp> stores) {
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (llvm::all_of(stores, [&](kernel::StoreOp s) { return stepAlong(info, s, a) == 1; }))
      return a;
  return std::nullopt;
}

/// Loads that are contiguous along `across` and jump along `along`, or move there in some other way (an enlarged image: at floordiv(i, 2)).
static SmallVector<kernel::LoadOp> loadsAcross(const BodyInfo &info, unsigned across, unsigned along) {
  SmallVector<kernel::LoadOp> out;
  for (Operation *op : info.ops)
    if (auto load = dyn_cast<kernel::LoadOp>(op)) {
      AxisSet indexed = 0;
      for (Value v : load.getIndices())
        indexed |= info.axesOf(v);
      bool direct = !(indexed >> across & 1) && !(indexed >> along & 1);
      if (direct && stepAlong(info, load, across) == 1 && stepAlong(info, load, along).value_or(-1) == -1)
        out.push_back(load);
    }
  return out;
}

/// Results of which some are contiguous along one axis, and the others along the axis that the operands are: no operand is contiguous along the first.
static bool matchBothWays(const BodyInfo &info, ArrayRef<kernel::StoreOp> stores, Permutation &p) {
  auto isBothWays = [&](unsigned along, unsigned across) {
    if (along == across || !isLong(info, along) || !isLong(info, across))
      return false;
    p = {across, along, loadsAcross(info, across, along), {}, {}, {}, {}};
    for (kernel::StoreOp store : stores) {
      bool turned = stepAlong(info, store, along) == 1;
      if (!turned && (stepAlong(info, store, across) != 1 || stepAlong(info, store, along) != -1))
        return false;
      (turned ? p.stores : p.storesAcross).push_back(store);
    }
    return !p.loads.empty() && !p.stores.empty() && llvm::all_of(info.ops, [&](Operation *op) {
      return !isa<kernel::LoadOp>(op) || stepAlong(info, op, along) != 1;
    });
  };
  for (unsigned along = 0; along < info.axes.size(); ++along)
    for (unsigned across = 0; across < info.axes.size(); ++across)
      if (isBothWays(along, across))
        return true;
  return false;
}

/// Whether all but the turned operands are vectors along the axis, or one element.
static bool areVectors(const BodyInfo &info, const Permutation &p, unsigned axis) {
  return llvm::all_of(info.ops, [&](Operation *op) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    return !load || llvm::is_contained(p.loads, load) || stepAlong(info, op, axis).value_or(-1) >= 0;
  });
}

/// What tiles transpose: values that are stored in both ways, or that nothing else is in the way of computing across, where it would be along; else the
/// operands.
static SmallVector<Value> valuesMoved(const BodyInfo &info, const Permutation &p) {
  constexpr unsigned mostLoads = 2;
  bool across = p.storesAcross.empty() && areVectors(info, p, p.across) && (p.loads.size() > mostLoads || !areVectors(info, p, p.along));
  auto isStoredAcross = [&](kernel::StoreOp store) {
    return llvm::any_of(p.storesAcross, [&](kernel::StoreOp other) { return other.getValue() == store.getValue(); });
  };
  llvm::SetVector<Value> moved;
  if (across || llvm::all_of(p.stores, isStoredAcross))
    for (kernel::StoreOp store : p.stores)
      moved.insert(store.getValue());
  else
    for (kernel::LoadOp load : p.loads)
      moved.insert(load.getResult());
  return moved.takeVector();
}

static std::optional<Permutation> matchPermutation(const BodyInfo &info) {
  constexpr unsigned mostMoved = 2;
  Permutation p;
  unsigned size = 0;
  SmallVector<kernel::StoreOp> stores;
  AxisSet all = (AxisSet(1) << info.axes.size()) - 1;
  for (Operation *op : info.ops) {
    if (isa<kernel::ReduceOp, kernel::ContractOp, kernel::AttentionOp>(op))
      return std::nullopt;
    size += op->getName().getDialectNamespace() == "math" ? 8 : 1;
    if (auto store = dyn_cast<kernel::StoreOp>(op)) {
      if (info.domainOf(store) != all || !store.getIndices().empty() || store.getPredicate())
        return std::nullopt;
      stores.push_back(store);
    }
  }
  std::optional<unsigned> along = resultAxis(info, stores);
  if (size > largestBody || (along && !isLong(info, *along)) || (!along && !matchBothWays(info, stores, p)))
    return std::nullopt;
  unsigned best = 0; // what has elements for more axes is read more often
  for (unsigned a = 0; along && a < info.axes.size(); ++a) {
    SmallVector<kernel::LoadOp> loads = a != *along && isLong(info, a) ? loadsAcross(info, a, *along) : SmallVector<kernel::LoadOp>();
    unsigned reads = 0;
    for (kernel::LoadOp load : loads)
      reads += 1u << std::min(llvm::popcount(info.domainOf(load)), 16);
    if (reads > best)
      p = {a, *along, loads, stores, {}, {}, {}};
    best = std::max(best, reads);
  }
  p.moved = valuesMoved(info, p);
  if (p.loads.empty() || p.moved.size() > mostMoved)
    return std::nullopt;
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (a != p.along && a != p.across)
      p.outer.push_back(a);
  return p;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Bytes that only move fill half a register of 32 bytes in tiles of sixteen, in as many steps for each as wider elements need.
static bool movesBytes(const BodyInfo &info) {
  auto isByte = [](Type type) { return type.isInteger(8) || type.isInteger(1); };
  return llvm::all_of(info.ops, [&](Operation *op) {
    auto store = dyn_cast<kernel::StoreOp>(op);
    return store ? isByte(store.getValue().getType()) : isa<kernel::LoadOp>(op) && isByte(op->getResult(0).getType());
  });
}

/// A last tile that ends where the block does does some elements again, and is faster than gathers.
static bool overlaps(const KernelFunction &f) { return !f.kernel->hasAttr("in_place"); }

/// Axes of fewer elements than a vector has take smaller tiles, of which none may be left over along the result where they do not overlap:
/// what is gathers.
int64_t PermutationEmitter::tileWidth(const KernelFunction &f, const Permutation &p, int64_t lanes) {
  constexpr int64_t smallest = 4, bytes = 16;
  lanes = movesBytes(f.info) ? std::max(lanes, bytes) : lanes;
  int64_t width = lanes, across = f.info.extents[p.across].constant().value_or(lanes), along = f.info.extents[p.along].constant().value_or(lanes);
  while (width > smallest && (across < width || along < width))
    width /= 2;
  return overlaps(f) || along >= lanes || along % width == 0 ? width : lanes;
}

/// Of the widest result.
int64_t PermutationEmitter::elementBytes() const {
  int64_t bytes = 1;
  for (kernel::StoreOp store : p.stores)
    bytes = std::max(bytes, int64_t(store.getValue().getType().getIntOrFloatBitWidth() / 8));
  return bytes;
}

/// 1 where the rows that are written do not crowd, 0 where they do.
Expr PermutationEmitter::spread() const {
  Expr apart = info.exprOf(p.stores[0]).linearIn(info.axes[p.across])->coefficient;
  return Expr::min(Expr::mod(apart, crowdedBytes / elementBytes()), 1);
}

void PermutationEmitter::tile(BodyEmitter &point, Value across, Value along, int64_t width) {
  SmallVector<SmallVector<Value>> rows(p.moved.size()), columns;
  for (int64_t i = 0; i < width; ++i) {
    BodyEmitter row = point;
    row.bindAxis(info.axes[p.along], add(along, v.i(i)));
    row.bindLane(info.axes[p.across], across, width);
    for (auto [moved, values] : llvm::zip(p.moved, rows))
      values.push_back(row.emitLanes(moved));
    for (kernel::StoreOp store : p.storesAcross)
      row.emitStore(store);
  }
  for (SmallVector<Value> &values : rows)
    columns.push_back(movedAsIntegers(b, loc, values, [&](VectorBuilder::Values r) { return v.transpose(std::move(r)); }));
  for (int64_t i = 0; i < width; ++i) {
    BodyEmitter column = point;
    column.bindAxis(info.axes[p.across], add(across, v.i(i)));
    column.bindLane(info.axes[p.along], along, width);
    for (auto [moved, values] : llvm::zip(p.moved, columns))
      column.bindValue(moved, values[i]);
    for (kernel::StoreOp store : p.stores)
      column.emitStore(store);
  }
}

//===----------------------------------------------------------------------===//
// What does not fill a tile
//===----------------------------------------------------------------------===//

/// Places [from, to) across, [start, end) along, by gathers.
void PermutationEmitter::strip(BodyEmitter &point, Value from, Value to, Value start, Value end) {
  bool masked = masksRest(info, p.along, f.isa);
  int64_t lanes = v.lanes;
  v.loop(from, to, 1, [&](Value across) {
    v.loop(start, end, masked ? lanes : 1, [&](Value along) {
      BodyEmitter inner = point;
      inner.bindAxis(info.axes[p.across], across);
      inner.bindLane(info.axes[p.along], along, masked ? lanes : 1,
                     masked ? v.firstLanes(b.create<arith::SubIOp>(loc, end, along)) : Value());
      emitStores(inner);
    });
  });
}

/// Does it move elements and do little else? Its body may be copied for tiles of several widths.
static bool movesMostly(const BodyInfo &info) {
  constexpr int64_t most = 8;
  int64_t computed = 0;
  for (Operation *op : info.ops) {
    bool isMath = op->getName().getDialectNamespace() == "math"; // an approximation, of many operations
    computed += isMath ? most + 1 : !isa<kernel::LoadOp, kernel::StoreOp>(op) && !op->hasTrait<OpTrait::ConstantLike>();
  }
  return computed <= most;
}

/// What a side shorter than the narrowest tile leaves. Few places along are moved one by one, since lanes that gather fewer than four take
/// several times as long; few across leave whole vectors along.
void PermutationEmitter::single(BodyEmitter &point, const Block &block) {
  auto oneByOne = [&] {
    v.loop(block.start, block.end, 1, [&](Value along) {
      v.loop(block.from, block.to, 1, [&](Value across) {
        BodyEmitter one = point;
        one.bindAxis(info.axes[p.across], across);
        one.bindAxis(info.axes[p.along], along);
        emitStores(one);
      });
    });
  };
  v.ifThen(
      v.less(v.sub(block.end, block.start), v.sub(block.to, block.from)), oneByOne,
      [&] { strip(point, block.from, block.to, block.start, block.end); });
}

//===----------------------------------------------------------------------===//
// Items
//===----------------------------------------------------------------------===//

void PermutationEmitter::tiles(BodyEmitter &point, const Block &block, int64_t width) {
  auto whole = [&](Value first, Value last) -> Value {
    Value rest = b.create<arith::RemUIOp>(loc, b.create<arith::SubIOp>(loc, last, first), v.i(width));
    return b.create<arith::SubIOp>(loc, last, rest);
  };
  auto [from, to, start, end] = block;
  Value tilesTo = whole(from, to), tilesEnd = whole(start, end);
  if (overlaps(f)) {
    auto holdsOne = [&](Value first, Value last) { return v.less(v.i(width - 1), b.create<arith::SubIOp>(loc, last, first)); };
    Value holdOne = b.create<arith::AndIOp>(loc, holdsOne(from, to), holdsOne(start, end));
    tilesTo = v.select(holdOne, to, tilesTo);
    tilesEnd = v.select(holdOne, end, tilesEnd);
  }
  Value lastAcross = v.sub(to, width), lastAlong = v.sub(end, width);
  auto tilesAcross = [&](Value along, int64_t count) {
    v.loop(block.from, tilesTo, width, [&](Value across) {
      Value first = v.min(across, lastAcross);
      for (int64_t k = 0; k < count; ++k)
        tile(point, first, count > 1 ? add(along, v.i(k * width)) : v.min(along, lastAlong), width);
    });
  };
  Value rest = start;
  if (int64_t count = lineBytes / elementBytes() / width; count > 1 && spread().constant() != 1) {
    Value lines = add(start, v.roundDown(b.create<arith::SubIOp>(loc, end, start), count * width));
    rest = v.select(v.equal(point.emitExpr(spread()), v.i(0)), lines, start);
    v.loop(start, rest, count * width, [&](Value along) { tilesAcross(along, count); });
  }
  v.loop(rest, tilesEnd, width, [&](Value along) { tilesAcross(along, 1); });
  strip(point, from, tilesTo, tilesEnd, end);
  strip(point, tilesTo, to, start, end);
}

/// An axis of open length may be shorter than a tile: narrower ones, as far as they fit.
void PermutationEmitter::narrowTiles(BodyEmitter &point, const Block &block, int64_t width) {
  constexpr int64_t narrowest = 4;
  bool known = info.extents[p.across].constant() && info.extents[p.along].constant();
  if (known || !overlaps(f) || !movesMostly(info))
    return tiles(point, block, width);
  Value least = v.min(v.sub(block.to, block.from), v.sub(block.end, block.start));
  v.ifThen(
      v.less(least, v.i(width)), [&] { width > narrowest ? narrowTiles(point, block, width / 2) : single(point, block); },
      [&] { tiles(point, block, width); });
}

void PermutationEmitter::emitItem(BodyEmitter &outer, Value item) {
  BodyEmitter point = outer;
  auto times = [&](Value x, Value y) -> Value { return b.create<arith::MulIOp>(loc, x, y, arith::IntegerOverflowFlags::nsw); };
  Value most = outer.emitExpr(itemAcross());
  Value start = times(v.takeLast(item, outer.emitExpr(blocksAlong())), v.i(elementsAlong));
  Value from = times(v.takeLast(item, outer.emitExpr(blocksAcross())), most);
  bindItem(v, point, info, p.outer, item);
  Value to = v.min(add(from, most), outer.emitExpr(info.extents[p.across]));
  Value end = v.min(add(start, v.i(elementsAlong)), outer.emitExpr(info.extents[p.along]));
  narrowTiles(point, {from, to, start, end}, width);
}

llvm::Error PermutationEmitter::run(KernelPlan &plan) {
  plan.items = blocksAcross() * blocksAlong();
  for (unsigned a : p.outer)
    plan.items = plan.items * info.extents[a];
  int64_t accesses = llvm::count_if(info.ops, [](Operation *op) { return isa<kernel::LoadOp, kernel::StoreOp>(op); });
  plan.cost = Expr::min(info.extents[p.across], itemAcross()) * Expr::min(info.extents[p.along], elementsAlong) *
              Expr(accesses);
  BodyEmitter outer(info, b, loc, f.sizes, f.refs, f.hooks);
  v.loop(f.begin, f.end, 1, [&](Value item) { emitItem(outer, item); });
  if (!outer.error().empty())
    return bug("kernel '{0}': {1}", f.kernel.getName(), outer.error());
  return llvm::Error::success();
}

llvm::Expected<bool> cpu::emitPermutation(KernelFunction &f, KernelPlan &plan) {
  std::optional<Permutation> p = matchPermutation(f.info);
  if (!p || schedule::interleavingOf(f.info, f.isa)) // of a few elements a row, vectors are interleaved
    return false;
  if (llvm::Error e = PermutationEmitter(f, *p).run(plan))
    return std::move(e);
  return true;
}
