//===- GemmSimt.cpp - Contractions on the ordinary cores -------------------===//
//
// Tiles of the product per block, operands through shared memory, the next tile's loads in flight while this one is
// multiplied. Takes operands of any layout: each element's address comes from the kernel's own offset.
//
//===----------------------------------------------------------------------===//

#include "Gemm.h"
#include "lathe/Support/Diagnostics.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using shape::Expr;

namespace {

struct SimtTile {
  const char *name;
  unsigned m, n, k, perThread; ///< a thread computes perThread x perThread, in groups of 4
  unsigned threads() const { return m / perThread * (n / perThread); }
};
constexpr SimtTile tiles[] = {{"gemm_simt_64x64", 64, 64, 16, 4}, {"gemm_simt_128x128", 128, 128, 8, 8}};
/// From this many large tiles on they keep the machine busy.
constexpr int64_t manyTiles = 100;

/// One operand: how a block brings a tile of `lines` x `tile.k` into shared memory as [k][line].
struct Operand {
  Value buffer;
  Type element;
  Expr offset;
  ArrayRef<unsigned> lineAxes;
  Value lines, first; ///< i64: how many there are, and the tile's first
  unsigned tileLines;
  Value shared;
  bool alongDepth; ///< neighbours in memory are neighbours in k
  unsigned width;  ///< elements of one access
  struct Slot {
    Value line, depth; ///< in the tile, i32
    BodyEmitter point; ///< batch and line axes bound
  };
  std::vector<Slot> slots;
};

class SimtGemm {
public:
  SimtGemm(const GemmProblem &p, KernelFrame &frame, const SimtTile &tile)
      : p(p), frame(frame), d(frame.d), info(frame.info), tile(tile), hooks(info),
        base(info, frame.d.b, frame.d.loc, frame.sizes, frame.refs, hooks) {}
  void emit();
  const std::string &error() const { return base.error(); }

private:
  void locate();
  Operand operand(Value ref, Type element, const Expr &offset, ArrayRef<unsigned> lineAxes, Value lines, Value first,
                  unsigned tileLines, StringRef name);
  Values load(Operand &o, Value k0);
  void put(Operand &o, ArrayRef<Value> values);
  Values multiply(ArrayRef<Value> sums);
  Values fragment(const Operand &o, unsigned k, Value group);
  void storeTile(ArrayRef<Value> sums);
  unsigned pitch(const Operand &o) const { return o.tileLines + 4; }

  const GemmProblem &p;
  KernelFrame &frame;
  DeviceBuilder &d;
  const lower::BodyInfo &info;
  SimtTile tile;
  DeviceHooks hooks;
  BodyEmitter base;
  Value tid, m, n, k, m0, n0, tx, ty;
  Operand a, b;
};

} // namespace

/// Which tile of which batch is this block's.
void SimtGemm::locate() {
  tid = d.threadId();
  unsigned across = tile.n / tile.perThread;
  tx = d.rem(tid, across);
  ty = d.div(tid, across);
  m = frame.size(p.m);
  n = frame.size(p.n);
  k = frame.size(p.k);
  Value tilesM = d.ceilDiv(m, tile.m), tilesN = d.ceilDiv(n, tile.n);
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

Operand SimtGemm::operand(Value ref, Type element, const Expr &offset, ArrayRef<unsigned> lineAxes, Value lines, Value first,
                          unsigned tileLines, StringRef name) {
  auto contiguous = [&](ArrayRef<unsigned> axes) {
    auto linear = axes.empty() ? std::nullopt : offset.linearIn(info.axes[axes.back()]);
    return linear && linear->coefficient.isOne();
  };
  bool alongDepth = !contiguous(lineAxes);
  // A group of neighbours along the innermost axis is one access when its start is always a multiple of its length.
  ArrayRef<unsigned> run = alongDepth ? ArrayRef<unsigned>(p.shape.depthAxes) : lineAxes;
  unsigned width = 1;
  if (contiguous(run))
    width = std::min(knownDivisor(info.extents[run.back()], 4), knownDivisor(offset, 4, info.axes[run.back()]));
  Value buffer = frame.refs[cast<BlockArgument>(ref).getArgNumber()];
  Operand o{buffer, element, offset, lineAxes, lines, first, tileLines, {}, alongDepth, width, {}};
  o.shared = frame.sharedArray(name, d.f32Type(), tile.k * pitch(o));
  unsigned groups = tileLines * tile.k / width, perLine = alongDepth ? tile.k / width : tileLines / width;
  Values extents;
  for (unsigned axis : lineAxes)
    extents.push_back(frame.size(info.extents[axis]));
  for (unsigned at = 0; at < groups; at += tile.threads()) {
    Value i = d.add(tid, at), inRun = d.mul(d.rem(i, perLine), width), across = d.div(i, perLine);
    Value line = alongDepth ? across : inRun, depth = alongDepth ? inRun : across;
    // Lines past the end repeat the last one; nothing of them is stored.
    Value global = d.minU(d.add(first, d.wide(line)), d.sub(lines, d.i64(alongDepth ? 1 : width)));
    BodyEmitter point = base;
    for (auto [axis, v] : llvm::zip(lineAxes, delinearize(d, global, extents)))
      point.bindAxis(info.axes[axis], v);
    o.slots.push_back({line, depth, point});
  }
  return o;
}

/// The thread's part of the operand's tile from k0 (i64) on, as vectors of f32; zero past the end of k.
Values SimtGemm::load(Operand &o, Value k0) {
  Values out, extents;
  for (unsigned axis : p.shape.depthAxes)
    extents.push_back(frame.size(info.extents[axis]));
  bool whole = knownDivisor(p.k, tile.k) == tile.k;
  unsigned bytes = o.element.getIntOrFloatBitWidth() / 8;
  for (Operand::Slot &slot : o.slots) {
    Value depth = d.add(k0, d.wide(slot.depth));
    Value inside = d.less(depth, k);
    depth = d.minU(depth, d.sub(k, d.i64(o.alongDepth ? o.width : 1)));
    BodyEmitter point = slot.point;
    for (auto [axis, v] : llvm::zip(p.shape.depthAxes, delinearize(d, depth, extents)))
      point.bindAxis(info.axes[axis], v);
    Value pointer = d.at(o.buffer, point.emitExpr(o.offset), o.element);
    Value v = d.convertF(d.load(d.vector(o.width, o.element), pointer, bytes * o.width), d.f32Type());
    // Past the last tile the prefetch is never used; within it a rest needs zeros.
    out.push_back(whole ? v : d.select(inside, v, d.real(v.getType(), 0)));
  }
  return out;
}

void SimtGemm::put(Operand &o, ArrayRef<Value> values) {
  for (auto [slot, v] : llvm::zip(o.slots, values)) {
    Value at = d.add(d.mul(slot.depth, pitch(o)), slot.line);
    if (!o.alongDepth) {
      d.store(v, d.at(o.shared, at, d.f32Type()), 4 * o.width);
      continue;
    }
    for (unsigned i = 0; i < o.width; ++i)
      d.store(d.extract(v, i), d.at(o.shared, d.add(at, i * pitch(o)), d.f32Type()), 4);
  }
}

/// The thread's lines of one k: groups of 4, a quarter tile apart.
Values SimtGemm::fragment(const Operand &o, unsigned kk, Value group) {
  Values out;
  Type four = d.vector(4, d.f32Type());
  for (unsigned at = 0; at < tile.perThread; at += 4) {
    Value index = d.add(d.mul(group, 4), kk * pitch(o) + at / 4 * (o.tileLines / (tile.perThread / 4)));
    Value v = d.load(four, d.at(o.shared, index, d.f32Type()), 16);
    for (unsigned i = 0; i < 4; ++i)
      out.push_back(d.extract(v, i));
  }
  return out;
}

Values SimtGemm::multiply(ArrayRef<Value> sums) {
  Values out(sums);
  for (unsigned kk = 0; kk < tile.k; ++kk) {
    Values x = fragment(a, kk, ty), y = fragment(b, kk, tx);
    for (unsigned i = 0; i < tile.perThread; ++i)
      for (unsigned j = 0; j < tile.perThread; ++j) {
        Value &sum = out[i * tile.perThread + j];
        sum = d.fma(x[i], y[j], sum);
      }
  }
  return out;
}

void SimtGemm::storeTile(ArrayRef<Value> sums) {
  GemmEpilogue epilogue(p, frame, hooks, base);
  unsigned width = epilogue.width(), quarters = tile.perThread / 4;
  for (unsigned i = 0; i < tile.perThread; ++i) {
    Value row = d.add(d.wide(d.add(d.mul(ty, 4), i / 4 * (tile.m / quarters) + i % 4)), m0);
    d.when(d.less(row, m), [&] {
      BodyEmitter point = epilogue.atRow(row);
      for (unsigned j = 0; j < tile.perThread; j += width) {
        Value column = d.add(d.wide(d.add(d.mul(tx, 4), j / 4 * (tile.n / quarters) + j % 4)), n0);
        d.when(d.less(column, n), [&] { epilogue.store(point, column, sums.slice(i * tile.perThread + j, width)); });
      }
    });
  }
}

void SimtGemm::emit() {
  locate();
  kernel::ContractOp op = p.op;
  a = operand(op.getLhs(), p.lhsType, p.shape.lhs, p.shape.rowAxes, m, m0, tile.m, "a");
  b = operand(op.getRhs(), p.rhsType, p.shape.rhs, p.shape.columnAxes, n, n0, tile.n, "b");
  unsigned numSums = tile.perThread * tile.perThread;
  Values carried(numSums, d.f32(0));
  Value zero = d.i64(0);
  carried.append(load(a, zero));
  carried.append(load(b, zero));
  Values out = d.loop(zero, k, d.i64(tile.k), carried, [&](Value k0, ValueRange now) {
    Values state(now);
    ArrayRef<Value> all(state);
    d.barrier();
    put(a, all.slice(numSums, a.slots.size()));
    put(b, all.slice(numSums + a.slots.size()));
    d.barrier();
    Value next = d.add(k0, tile.k);
    Values loadedA = load(a, next), loadedB = load(b, next);
    Values sums = multiply(all.take_front(numSums));
    sums.append(loadedA);
    sums.append(loadedB);
    return sums;
  });
  storeTile(ArrayRef<Value>(out).take_front(numSums));
}

llvm::Expected<bool> cuda::generateSimtGemm(Generator &g) {
  std::optional<GemmProblem> p = gemmProblem(g.info);
  // A depth that may be 0 has nothing to clamp addresses to, and few rows or columns leave most of a tile idle.
  auto tiny = [](const Expr &e) { return e.constant() && *e.constant() < 4; };
  if (!p || tiny(p->m) || tiny(p->n) || tiny(p->k) || !p->k.constant())
    return false;
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  auto blocks = [&](const SimtTile &t) {
    return plan.size(p->batch * Expr::ceildiv(p->m, t.m) * Expr::ceildiv(p->n, t.n));
  };
  Value large = blocks(tiles[1]), small = blocks(tiles[0]);
  Value useLarge = h.compare(arith::CmpIPredicate::sge, large, plan.constant(manyTiles));
  plan.set(LATHE_CUDA_ENTRY, h.select(useLarge, plan.constant(1), plan.constant(0)));
  plan.set(LATHE_CUDA_GRID, h.select(useLarge, large, small));
  plan.set(LATHE_CUDA_GRID + 1, 1);
  plan.set(LATHE_CUDA_GRID + 2, 1);
  plan.set(LATHE_CUDA_BLOCK, tiles[0].threads());
  for (const SimtTile &t : tiles) {
    KernelFrame frame(g.info, g.device, t.name, t.threads(), g.sm, 0, g.dependentLaunch);
    SimtGemm gemm(*p, frame, t);
    gemm.emit();
    frame.finish();
    g.entries.push_back(t.name);
    if (!gemm.error().empty())
      return bug("kernel '{0}' on a GPU: {1}", kernel::GenericOp(g.info.kernel).getName(), gemm.error());
  }
  return true;
}
