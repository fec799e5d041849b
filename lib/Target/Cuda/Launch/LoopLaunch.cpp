//===- LoopLaunch.cpp - Loops that are one launch ---------------------------===//
//
// All blocks of the launch are on the device at once. A track's blocks go through its iterations together: each adds
// itself to a counter when it is done with a stage, and goes on when all have. A product's columns stay with a block
// for all iterations, and with them its part of a constant operand, in registers: an iteration reads the carried rows,
// and writes a few numbers. What does not depend on the iteration before is read before the wait.
//
// A carried value lies where it is collected, else in two places of the scratch memory by turns.
//
//===----------------------------------------------------------------------===//

#include "GridBarrier.h"
#include "LoopTracks.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using shape::Expr;

namespace {

constexpr unsigned threads = 256, warps = threads / 32;
constexpr int64_t columnsOfBlock = 32; ///< which a block has at least, where there are so many
constexpr unsigned mostColumnsOfWarp = 64;
constexpr unsigned rowsAtOnce = 8;
constexpr unsigned registersForWeights = 128;
constexpr int64_t counterPitch = 128; ///< bytes: counters of two tracks in different lines of the cache
constexpr int64_t manyBlocks = 128,
                  fewBlocks = 16; ///< of a launch: the plan takes what the device has multiprocessors for

/// How a group is dealt out to so many blocks at most.
struct Split {
  Split(std::vector<Track> &tracks, int64_t most);
  std::vector<int64_t> blocks;             ///< per track
  std::vector<std::vector<int64_t>> units; ///< per track and stage: of a block
  int64_t total() const { return std::accumulate(blocks.begin(), blocks.end(), int64_t(0)); }
};

Split::Split(std::vector<Track> &tracks, int64_t most) {
  int64_t each = std::max<int64_t>(1, most / int64_t(tracks.size()));
  for (Track &t : tracks) {
    blocks.push_back(1);
    units.emplace_back();
    for (LoopStage &s : t.stages) {
      int64_t unitsOfBlock = 1;
      if (s.product) {
        unitsOfBlock = std::max<int64_t>(1, columnsOfBlock / int64_t(s.shifts.size()));
        unitsOfBlock = std::max(unitsOfBlock, int64_t(llvm::divideCeil(uint64_t(s.units), uint64_t(each))));
        blocks.back() = std::max(blocks.back(), int64_t(llvm::divideCeil(uint64_t(s.units), uint64_t(unitsOfBlock))));
      } else {
        Expr points(1);
        for (const Expr &e : s.others[0]->info.extents)
          points = points * e;
        int64_t wanted =
            points.constant() ? int64_t(llvm::divideCeil(uint64_t(*points.constant()), uint64_t(threads))) : each;
        blocks.back() = std::max(blocks.back(), std::min(wanted, each));
      }
      units.back().push_back(unitsOfBlock);
    }
  }
}

int64_t bytesOf(Type element) { return std::max(1u, element.getIntOrFloatBitWidth() / 8); }

/// The scratch memory: counters, then for each track what its body's kernels leave.
class Layout {
public:
  Layout(std::vector<Track> &tracks, DeviceBuilder &d, llvm::function_ref<Value(const Expr &)> size)
      : end(d.i64(counterPitch * tracks.size())) {
    for (Track &t : tracks)
      for (auto &k : t.kernels)
        for (Value v : k->op.getResults()) {
          Value bytes = d.mul(size(shape::product(ir::dimsOf(v))), bytesOf(ir::elementOf(v)));
          Value aligned = d.bitAnd(d.add(bytes, 255), -256);
          places[v] = {end, aligned};
          end = d.add(end, d.mul(aligned, 2));
        }
  }
  std::pair<Value, Value> of(Value v) const { return places.lookup(v); } ///< offset and distance of the two places
  Value end;

private:
  llvm::DenseMap<Value, std::pair<Value, Value>> places;
};

/// A track in an entry point.
class TrackEmitter {
public:
  TrackEmitter(Track &t, ArrayRef<int64_t> units, int64_t blocks, KernelFrame &frame, const Layout &layout,
               Value counter, Value block, unsigned firstRef, unsigned firstResult);
  void emit();
  std::string error() const { return failure; }

private:
  /// A product's operands in a block, as its warps take them.
  struct Product {
    unsigned columns, rows, sums, width,
        pieces; ///< of a warp; rows at once; both powers of two; elements of a lane's piece
    int64_t unitsOfBlock;
    Values weights; ///< in registers for all iterations, where there is room
    Values places;  ///< of the warp's columns in memory
  };
  struct Position {
    Value row, column, inside;
    BodyEmitter point;
  };

  void bindPlaces(Value step);
  Value placeAt(Value v, Value step);
  Value initialOrBefore(unsigned carried, Value step);
  BodyEmitter emitterOf(BodyKernel &k, Value step);
  void readAhead(BodyKernel &k, BodyEmitter &point, bool carriedToo);
  bool isFixed(Value operand) const;
  void arrive();
  void await(Value target);

  Product prepare(LoopStage &s, int64_t unitsOfBlock);
  Value columnOf(LoopStage &s, const Product &p, Value index, Value &inside);
  Values elementsAt(BodyKernel &k, const ProductOperand &o, Value buffer, Value start, unsigned piece,
                    const Product &p);
  Position positionOf(LoopStage &s, const Product &p, unsigned i, Value chunk, Value step);
  Values multiply(LoopStage &s, const Product &p, Value chunk, Value step);
  void emitProduct(LoopStage &s, Product &p, Value step, llvm::function_ref<void()> wait);
  void emitBehind(LoopStage &s, const Product &p, Value step, BodyEmitter *ahead);
  void emitPlain(BodyKernel &k, Value step);
  void copyLast();
  std::optional<BodyEmitter> onlyPointBehind(LoopStage &s, const Product &p, Value step, Value &inside);

  Track &t;
  ArrayRef<int64_t> units;
  int64_t blocks;
  KernelFrame &frame;
  DeviceBuilder &d;
  const Layout &layout;
  Value counter, block, tid, lane, warp;
  unsigned firstRef, firstResult;
  std::map<BodyKernel *, std::unique_ptr<DeviceHooks>> hooks;
  llvm::DenseMap<Value, Value> pointers; ///< of the body's values in this iteration
  std::string failure;
};

} // namespace

TrackEmitter::TrackEmitter(Track &t, ArrayRef<int64_t> units, int64_t blocks, KernelFrame &frame, const Layout &layout,
                           Value counter, Value block, unsigned firstRef, unsigned firstResult)
    : t(t), units(units), blocks(blocks), frame(frame), d(frame.d), layout(layout), counter(counter), block(block),
      firstRef(firstRef), firstResult(firstResult) {
  for (auto &k : t.kernels)
    hooks[k.get()] = std::make_unique<DeviceHooks>(k->info);
}

//===----------------------------------------------------------------------===//
// Where values lie
//===----------------------------------------------------------------------===//

/// Whether what the operand holds is the same in all iterations.
bool TrackEmitter::isFixed(Value operand) const {
  auto argument = dyn_cast<BlockArgument>(operand);
  return argument ? argument.getArgNumber() >= t.numCarried() : !operand.getDefiningOp<kernel::GenericOp>();
}

/// Where a kernel leaves a value in an iteration.
Value TrackEmitter::placeAt(Value v, Value step) {
  for (auto [i, r] : llvm::enumerate(t.result().getOperands()))
    if (r == v && i >= t.numCarried()) {
      Value elements = frame.size(shape::product(ir::dimsOf(v)));
      return d.at(frame.refs[firstResult + i], d.mul(step, elements), ir::elementOf(v));
    }
  auto [offset, distance] = layout.of(v);
  return d.byteAt(frame.scratch(), d.add(offset, d.mul(d.bitAnd(step, 1), distance)));
}

Value TrackEmitter::initialOrBefore(unsigned carried, Value step) {
  Value before = placeAt(t.result().getOperand(carried), d.sub(step, d.i64(1)));
  return d.select(d.equal(step, 0), frame.refs[firstRef + carried], before);
}

void TrackEmitter::bindPlaces(Value step) {
  unsigned ref = firstRef, carried = t.numCarried();
  for (BlockArgument a : t.body.getArguments()) {
    pointers[a] = a.getArgNumber() < carried ? initialOrBefore(a.getArgNumber(), step) : frame.refs[ref];
    ++ref;
  }
  for (ir::ConstantOp c : t.constants)
    pointers[c.getResult()] = frame.refs[ref++];
  for (auto &k : t.kernels)
    for (Value v : k->op.getResults())
      pointers[v] = placeAt(v, step);
}

BodyEmitter TrackEmitter::emitterOf(BodyKernel &k, Value step) {
  Values sizes, refs;
  for (const std::string &s : k.info.sizes)
    sizes.push_back(s == t.loop.getCounter() ? step : frame.size(Expr::symbol(s)));
  for (Value v : k.op.getInputs())
    refs.push_back(pointers.lookup(v));
  for (Value v : k.op.getResults())
    refs.push_back(pointers.lookup(v));
  return BodyEmitter(k.info, d.b, d.loc, sizes, refs, *hooks.at(&k));
}

/// Reads what is there before the iteration begins, and with `carriedToo` what is there when it has begun.
void TrackEmitter::readAhead(BodyKernel &k, BodyEmitter &point, bool carriedToo) {
  for (Operation *op : k.info.ops) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    if (!load || load.getPredicate() || !load.getIndices().empty())
      continue;
    Value operand = k.op.getInputs()[cast<BlockArgument>(load.getRef()).getArgNumber()];
    if (isFixed(operand) || (carriedToo && isa<BlockArgument>(operand)))
      (void)point.emit(load.getResult());
  }
}

//===----------------------------------------------------------------------===//
// Waiting for one another
//===----------------------------------------------------------------------===//

void TrackEmitter::arrive() { arriveAtGrid(d, counter); }

void TrackEmitter::await(Value target) { awaitGrid(d, counter, target); }

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The column at an index among the block's: all units of the first shift, then of the next one.
Value TrackEmitter::columnOf(LoopStage &s, const Product &p, Value index, Value &inside) {
  Value shiftIndex = d.div(index, p.unitsOfBlock),
        unit = d.add(d.mul(block, p.unitsOfBlock), d.rem(index, p.unitsOfBlock));
  inside = d.both(d.less(index, d.i32(p.unitsOfBlock * s.shifts.size())), d.less(unit, d.i32(s.units)));
  Value shift = d.i32(s.shifts[0]);
  for (unsigned i = 1; i < s.shifts.size(); ++i)
    shift = d.select(d.equal(shiftIndex, i), d.i32(s.shifts[i]), shift);
  return d.select(inside, d.add(unit, shift), d.i32(s.shifts[0]));
}

/// A lane's elements of a line, from registers' point of view: f32 vectors or scalars, 0 past the end.
Values TrackEmitter::elementsAt(BodyKernel &k, const ProductOperand &o, Value buffer, Value start, unsigned piece,
                                const Product &p) {
  int64_t depth = *k.product->k.constant();
  Expr step = *k.product->shape.stepAlong(o.offset, k.product->shape.depthAxes);
  unsigned bytes = bytesOf(o.type);
  Value at = d.mul(d.add(lane, int64_t(piece) * 32), p.width);
  bool whole = depth % (32 * p.width) == 0;
  Value inside = whole ? Value() : d.less(at, d.i32(depth));
  if (!whole)
    at = d.select(inside, at, d.i32(0));
  Value from = d.add(start, d.mul(d.wide(at), frame.size(step)));
  // A value that is collected begins anywhere where an iteration's part is no multiple.
  auto isMultiple = [&](const Expr &e) { return knownDivisor(e, p.width) == p.width; };
  Value tensor = k.op.getInputs()[cast<BlockArgument>(o.ref).getArgNumber()];
  bool wide = p.width > 1 && step.isOne() && depth % p.width == 0 && isMultiple(shape::product(ir::dimsOf(tensor))) &&
              isMultiple(atZero(k.info, o.offset, k.product->shape.depthAxes));
  Values out;
  if (wide) {
    Value v = d.load(d.vector(p.width, o.type), d.at(buffer, from, o.type), bytes * p.width);
    out.push_back(whole ? v : d.select(inside, v, d.real(v.getType(), 0)));
    return out;
  }
  for (unsigned i = 0; i < p.width; ++i) {
    Value index = d.add(at, i), ok = depth % p.width ? d.less(index, d.i32(depth)) : inside;
    Value offset = d.add(start, d.mul(d.wide(ok ? d.select(ok, index, d.i32(0)) : index), frame.size(step)));
    Value v = d.load(o.type, d.at(buffer, offset, o.type), bytes);
    ok = inside && ok != inside ? d.both(inside, ok) : ok;
    out.push_back(ok ? d.select(ok, v, d.real(o.type, 0)) : v);
  }
  return out;
}

static Values asFloats(DeviceBuilder &d, ArrayRef<Value> loaded, unsigned width) {
  Values out;
  if (loaded.size() == 1 && isa<VectorType>(loaded[0].getType())) {
    Value v = d.convertF(loaded[0], d.f32Type());
    for (unsigned i = 0; i < width; ++i)
      out.push_back(d.extract(v, i));
    return out;
  }
  for (Value v : loaded)
    out.push_back(d.convertF(v, d.f32Type()));
  return out;
}

TrackEmitter::Product TrackEmitter::prepare(LoopStage &s, int64_t unitsOfBlock) {
  BodyKernel &k = *s.product;
  GemmProblem &g = *k.product;
  Product p;
  p.unitsOfBlock = unitsOfBlock;
  p.columns = llvm::PowerOf2Ceil(llvm::divideCeil(uint64_t(unitsOfBlock) * s.shifts.size(), uint64_t(warps)));
  p.rows = llvm::PowerOf2Ceil(std::min<int64_t>(rowsAtOnce, g.m.constant().value_or(rowsAtOnce)));
  while (p.rows > 1 && p.rows * p.columns > 2 * mostColumnsOfWarp)
    p.rows /= 2;
  p.sums = p.rows * p.columns;
  p.width = 16 / std::max(bytesOf(g.lhs.type), bytesOf(g.rhs.type));
  while (p.width > 1 && int64_t(p.width) * 16 >= *g.k.constant()) // a short depth has a piece for each lane
    p.width /= 2;
  p.pieces = llvm::divideCeil(uint64_t(*g.k.constant()), uint64_t(32) * p.width);
  unsigned registers = p.columns * p.pieces * p.width * bytesOf(g.rhs.type) / 4;
  bool held =
      registers <= registersForWeights && isFixed(k.op.getInputs()[cast<BlockArgument>(g.rhs.ref).getArgNumber()]);
  BodyEmitter base = emitterOf(k, d.i64(0));
  for (unsigned j = 0; j < p.columns; ++j) {
    Value inside;
    BodyEmitter point = base;
    point.bindAxis(k.info.axes[g.shape.columnAxes[0]],
                   d.wide(columnOf(s, p, d.add(d.mul(warp, p.columns), j), inside)));
    p.places.push_back(point.emitExpr(atZero(k.info, g.rhs.offset, g.shape.depthAxes)));
  }
  Value buffer = pointers.lookup(k.op.getInputs()[cast<BlockArgument>(g.rhs.ref).getArgNumber()]);
  for (unsigned j = 0; held && j < p.columns; ++j)
    for (unsigned i = 0; i < p.pieces; ++i)
      llvm::append_range(p.weights, elementsAt(k, g.rhs, buffer, p.places[j], i, p));
  return p;
}

/// The lane's own sums over the depth, of rows from `chunk` on.
Values TrackEmitter::multiply(LoopStage &s, const Product &p, Value chunk, Value step) {
  BodyKernel &k = *s.product;
  GemmProblem &g = *k.product;
  BodyEmitter base = emitterOf(k, step);
  auto bufferOf = [&](const ProductOperand &o) {
    return pointers.lookup(k.op.getInputs()[cast<BlockArgument>(o.ref).getArgNumber()]);
  };
  Value last = d.sub(frame.size(g.m), d.i64(1));
  Values sums(p.sums, d.f32(0)), starts;
  for (unsigned r = 0; r < p.rows; ++r) {
    BodyEmitter point = base;
    if (!g.shape.rowAxes.empty())
      point.bindAxis(k.info.axes[g.shape.rowAxes[0]], d.minU(d.add(chunk, r), last));
    starts.push_back(point.emitExpr(atZero(k.info, g.lhs.offset, g.shape.depthAxes)));
  }
  size_t perPiece = p.weights.size() / (p.columns * p.pieces);
  for (unsigned i = 0; i < p.pieces; ++i) {
    std::vector<Values> columns;
    for (unsigned j = 0; j < p.columns; ++j)
      columns.push_back(p.weights.empty()
                            ? elementsAt(k, g.rhs, bufferOf(g.rhs), p.places[j], i, p)
                            : Values(ArrayRef<Value>(p.weights).slice((j * p.pieces + i) * perPiece, perPiece)));
    for (unsigned r = 0; r < p.rows; ++r) {
      Values x = asFloats(d, elementsAt(k, g.lhs, bufferOf(g.lhs), starts[r], i, p), p.width);
      for (unsigned j = 0; j < p.columns; ++j) {
        Values w = asFloats(d, columns[j], p.width);
        for (unsigned e = 0; e < p.width; ++e)
          sums[r * p.columns + j] = d.fma(w[e], x[e], sums[r * p.columns + j]);
      }
    }
  }
  d.addOverLanes(sums, lane);
  return sums;
}

/// Which of the product's elements the lane's sum number i is.
TrackEmitter::Position TrackEmitter::positionOf(LoopStage &s, const Product &p, unsigned i, Value chunk, Value step) {
  BodyKernel &k = *s.product;
  GemmProblem &g = *k.product;
  unsigned spread = p.sums < 32 ? 32 / p.sums : 1, each = std::max(1u, p.sums / 32);
  Value index = d.add(d.mul(d.div(lane, spread), each), i);
  Value row = d.add(chunk, d.wide(d.div(index, p.columns))), inside, rows = frame.size(g.m);
  Value column = columnOf(s, p, d.add(d.mul(warp, p.columns), d.rem(index, p.columns)), inside);
  inside = d.both(inside, d.both(d.less(row, rows), d.equal(d.rem(lane, spread), 0)));
  BodyEmitter point = emitterOf(k, step);
  if (!g.shape.rowAxes.empty())
    point.bindAxis(k.info.axes[g.shape.rowAxes[0]], d.minU(row, d.sub(rows, d.i64(1))));
  point.bindAxis(k.info.axes[g.shape.columnAxes[0]], d.wide(column));
  return {row, column, inside, std::move(point)};
}

/// What stands behind the product, where each thread has one point at most: that point.
std::optional<BodyEmitter> TrackEmitter::onlyPointBehind(LoopStage &s, const Product &p, Value step, Value &inside) {
  std::optional<int64_t> rows = s.product->product->m.constant();
  if (s.others.empty() || !rows || *rows < 1 || *rows * p.unitsOfBlock > threads)
    return std::nullopt;
  BodyKernel &k = *s.others[0];
  Value row = d.div(tid, p.unitsOfBlock), unit = d.add(d.mul(block, p.unitsOfBlock), d.rem(tid, p.unitsOfBlock));
  inside = d.both(d.less(row, d.i32(*rows)), d.less(unit, d.i32(s.units)));
  BodyEmitter point = emitterOf(k, step);
  if (k.info.axes.size() == 2)
    point.bindAxis(k.info.axes[0], d.wide(d.select(inside, row, d.i32(0))));
  point.bindAxis(k.info.axes.back(), d.wide(d.select(inside, unit, d.i32(0))));
  return point;
}

static void storeAll(BodyKernel &k, BodyEmitter &point) {
  for (Operation *op : k.info.ops)
    if (auto store = dyn_cast<kernel::StoreOp>(op))
      point.emitStore(store);
}

/// The kernels behind the product at the block's columns, which all threads of the block have written.
void TrackEmitter::emitBehind(LoopStage &s, const Product &p, Value step, BodyEmitter *ahead) {
  if (s.others.empty() || ahead)
    return;
  BodyKernel &k = *s.others[0];
  Value rows = frame.size(s.product->product->m), count = d.mul(rows, p.unitsOfBlock);
  d.loop(d.wide(tid), count, d.i64(threads), [&](Value i) {
    Value unit = d.add(d.mul(d.wide(block), p.unitsOfBlock), d.rem(i, p.unitsOfBlock));
    d.when(d.less(unit, d.i64(s.units)), [&] {
      BodyEmitter point = emitterOf(k, step);
      if (k.info.axes.size() == 2)
        point.bindAxis(k.info.axes[0], d.div(i, p.unitsOfBlock));
      point.bindAxis(k.info.axes.back(), unit);
      storeAll(k, point);
      failure += point.error();
    });
  });
}

void TrackEmitter::emitProduct(LoopStage &s, Product &p, Value step, llvm::function_ref<void()> wait) {
  BodyKernel &k = *s.product;
  GemmProblem &g = *k.product;
  unsigned each = std::max(1u, p.sums / 32);
  auto positions = [&](Value chunk) {
    SmallVector<Position> out;
    for (unsigned i = 0; i < each; ++i) {
      out.push_back(positionOf(s, p, i, chunk, step));
      readAhead(k, out.back().point, false);
    }
    return out;
  };
  auto finish = [&](ArrayRef<Value> sums, SmallVector<Position> &at) {
    for (unsigned i = 0; i < each; ++i) {
      at[i].point.bindValue(g.result, sums[i]);
      d.when(at[i].inside, [&] { storeAll(k, at[i].point); });
      failure += at[i].point.error();
    }
  };
  Value insideBehind;
  std::optional<BodyEmitter> behind = onlyPointBehind(s, p, step, insideBehind);
  if (behind)
    readAhead(*s.others[0], *behind, false);
  if (g.m.constant() && *g.m.constant() >= 1 && *g.m.constant() <= int64_t(p.rows)) {
    SmallVector<Position> at = positions(d.i64(0));
    wait();
    if (behind)
      readAhead(*s.others[0], *behind, true);
    finish(multiply(s, p, d.i64(0), step), at);
  } else {
    wait();
    d.loop(d.i64(0), frame.size(g.m), d.i64(p.rows), [&](Value chunk) {
      SmallVector<Position> at = positions(chunk);
      finish(multiply(s, p, chunk, step), at);
    });
  }
  if (s.others.empty())
    return;
  d.barrier();
  if (behind) {
    d.when(insideBehind, [&] { storeAll(*s.others[0], *behind); });
    failure += behind->error();
  } else {
    emitBehind(s, p, step, nullptr);
  }
}

//===----------------------------------------------------------------------===//
// Iterations
//===----------------------------------------------------------------------===//

void TrackEmitter::emitPlain(BodyKernel &k, Value step) {
  Value count = d.i64(1);
  Values extents;
  for (const Expr &e : k.info.extents) {
    extents.push_back(frame.size(e));
    count = d.mul(count, extents.back());
  }
  Value first = d.wide(d.add(d.mul(block, threads), tid));
  d.loop(first, count, d.i64(blocks * threads), [&](Value i) {
    BodyEmitter point = emitterOf(k, step);
    for (auto [axis, index] : llvm::zip(k.info.axes, delinearize(d, i, extents)))
      point.bindAxis(axis, index);
    storeAll(k, point);
    failure += point.error();
  });
}

/// The last carried values to where they belong, those that were there at first when there is no iteration.
void TrackEmitter::copyLast() {
  Value steps = frame.size(t.steps());
  Value first = d.wide(d.add(d.mul(block, threads), tid));
  for (unsigned i = 0; i < t.numCarried(); ++i) {
    Value v = t.result().getOperand(i), from = initialOrBefore(i, steps);
    Type element = ir::elementOf(v);
    if (element.isInteger(1))
      element = d.b.getI8Type();
    d.loop(first, frame.size(shape::product(ir::dimsOf(v))), d.i64(blocks * threads), [&](Value at) {
      d.store(d.load(element, d.at(from, at, element), bytesOf(element)),
              d.at(frame.refs[firstResult + i], at, element), bytesOf(element));
    });
  }
}

void TrackEmitter::emit() {
  tid = d.threadId();
  lane = d.bitAnd(tid, 31);
  warp = d.warpUniform(d.shr(tid, 5));
  bindPlaces(d.i64(0)); // what is fixed
  std::vector<Product> products;
  for (auto [s, n] : llvm::zip(t.stages, units))
    products.push_back(s.product ? prepare(s, n) : Product());
  Value perStep = d.i32(blocks * int64_t(t.stages.size())), steps = frame.size(t.steps());
  d.loop(d.i64(0), steps, d.i64(1), [&](Value step) {
    bindPlaces(step);
    Value before = d.mul(d.narrow(step), perStep);
    for (unsigned i = 0; i < t.stages.size(); ++i) {
      LoopStage &s = t.stages[i];
      auto wait = [&] { await(d.add(before, blocks * int64_t(i))); };
      if (s.product) {
        emitProduct(s, products[i], step, wait);
      } else {
        wait();
        emitPlain(*s.others[0], step);
      }
      arrive();
    }
  });
  await(d.mul(d.narrow(steps), perStep));
  copyLast();
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

/// Names all sizes of the group, so that frame and plan know them.
static lower::BodyInfo infoOf(const LoopGroup &group, Track &t) {
  lower::BodyInfo info = t.kernels[0]->info;
  info.sizes = group.sizes;
  return info;
}

static llvm::Error emitGroup(Generator &g, const LoopGroup &group, std::vector<Track> &tracks, const Split &split,
                             StringRef name) {
  KernelFrame frame(g.info, g.device, name, threads, g.sm, 0, Dependent::No,
                    group.operands.size() + group.results.size());
  DeviceBuilder &d = frame.d;
  Layout layout(tracks, d, [&](const Expr &e) { return frame.size(e); });
  Value block = d.blockId();
  std::string error;
  unsigned ref = 0, result = group.operands.size();
  int64_t first = 0;
  for (unsigned i = 0; i < tracks.size(); ++i) {
    Track &t = tracks[i];
    Value own = d.sub(block, d.i32(first)), counter = d.byteAt(frame.scratch(), d.i64(counterPitch * i));
    Value mine = d.compare(arith::CmpIPredicate::ult, own, d.i32(split.blocks[i]));
    d.when(mine, [&] {
      TrackEmitter emitter(t, split.units[i], split.blocks[i], frame, layout, counter, own, ref, result);
      emitter.emit();
      error += emitter.error();
    });
    first += split.blocks[i];
    ref += t.loop->getNumOperands() + t.constants.size();
    result += t.loop->getNumResults();
  }
  return g.addEntry(frame, name, error);
}

/// Counters begin at 0.
static llvm::Error emitClear(Generator &g, const LoopGroup &group, StringRef name) {
  KernelFrame frame(g.info, g.device, name, 32, g.sm, 0, Dependent::No, group.operands.size() + group.results.size());
  DeviceBuilder &d = frame.d;
  d.when(d.less(d.threadId(), d.i32(group.loops.size())),
         [&] { d.store(d.i32(0), d.byteAt(frame.scratch(), d.mul(d.wide(d.threadId()), counterPitch)), 4); });
  return g.addEntry(frame, name, "");
}

llvm::Expected<DeviceCode> cuda::generateLoopCode(const LoopGroup &group, unsigned sm, StringRef planName) {
  std::vector<Track> tracks;
  for (ir::LoopOp loop : group.loops) {
    std::optional<Track> t = trackOf(loop);
    if (!t)
      return bug("loop '{0}' is no single launch", group.name);
    tracks.push_back(std::move(*t));
  }
  loadDialects(*tracks[0].loop->getContext());
  Location loc = UnknownLoc::get(tracks[0].loop->getContext());
  DeviceCode code;
  code.device = ModuleOp::create(loc);
  code.host = ModuleOp::create(loc);
  lower::BodyInfo info = infoOf(group, tracks[0]);
  PlanFunction plan(info, *code.host, planName);
  Generator g{info, *code.device, plan, sm, false, {}};
  Split many(tracks, manyBlocks), few(tracks, fewBlocks);
  if (llvm::Error e = emitClear(g, group, "loop_clear"))
    return std::move(e);
  if (llvm::Error e = emitGroup(g, group, tracks, many, "loop"))
    return std::move(e);
  bool alternative = few.total() < many.total();
  if (alternative)
    if (llvm::Error e = emitGroup(g, group, tracks, few, "loop_few_blocks"))
      return std::move(e);
  DeviceBuilder &h = plan.d;
  plan.set(LATHE_CUDA_ENTRY, 0);
  for (unsigned i = 0; i < 3; ++i)
    plan.set(LATHE_CUDA_GRID + i, 1);
  plan.set(LATHE_CUDA_BLOCK, 32);
  plan.set(LATHE_CUDA_FLAGS, LATHE_CUDA_TOGETHER);
  plan.set(LATHE_CUDA_SCRATCH, Layout(tracks, h, [&](const Expr &e) { return plan.size(e); }).end);
  Value fits =
      alternative ? h.compare(arith::CmpIPredicate::sle, plan.constant(many.total()), plan.processors()) : h.i1(true);
  plan.follow(h.select(fits, plan.constant(1), plan.constant(2)),
              h.select(fits, plan.constant(many.total()), plan.constant(few.total())), plan.constant(threads));
  plan.finish();
  code.entries = g.entries;
  return code;
}
