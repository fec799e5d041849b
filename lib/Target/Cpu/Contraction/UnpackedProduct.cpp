//===- UnpackedProduct.cpp - Products with weights of a few bits -----------===//

#include "UnpackedProduct.h"
#include "Contraction.h"
#include "ContractionEpilogue.h"
#include "ContractionPack.h"
#include "ContractionTile.h"
#include "lathe/Lower/BodySlices.h"
#include "lathe/Lower/CodedProduct.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::AxisSet;
using lower::BodyEmitter;
using lower::BodyInfo;
using shape::Expr;
using Values = VectorBuilder::Values;

/// Rows that multiply what is unpacked in registers.
constexpr int64_t mostDirectRows = 4;
/// Sums that registers hold beside what is being unpacked, and those in flight that hide the latency of a multiply-add.
constexpr unsigned mostSums = 8;
/// Tiles that a thread takes at least where it unpacks their panel.
constexpr int64_t tilesPerPanel = 8;
/// Codes of a word, at most.
constexpr int64_t mostCodes = 8;

//===----------------------------------------------------------------------===//
// Which kernels
//===----------------------------------------------------------------------===//

namespace {
/// The second factor.
struct Weights {
  Value value;       ///< without the scale
  Value scale;       ///< the same for all points of the sum but those of its outermost axis; null for none
  Value code, word; ///< all that `value` depends on: a code of 4 bits, the low ones of a word; null for something else
};

struct UnpackedShape {
  ContractionShape product;
  Weights weights;
};
} // namespace

static std::optional<lower::CodedProduct> productIn(const BodyInfo &info) {
  kernel::ReduceOp sum = lower::onlySum(info);
  std::optional<lower::CodedProduct> p = sum ? lower::codedProduct(sum) : std::nullopt;
  return p && p->lhs.getType().isF32() ? p : std::nullopt;
}

/// The access steps through the axis by one, or not at all where it is a load.
static bool isRun(const BodyInfo &info, Operation *op, const std::string &axis) {
  std::optional<Expr::Linear> l = info.exprOf(op).linearIn(axis);
  return l && (l->coefficient.isOne() || (!isa<kernel::StoreOp>(op) && l->coefficient.isZero()));
}

/// Are codes, which are the low bits of words, all that the value is computed from?
static bool isFunctionOf(Value v, Value code) {
  if (v == code)
    return true;
  Operation *op = v.getDefiningOp();
  return op && !isa<kernel::LoadOp, kernel::IndexOp>(op) && llvm::all_of(op->getOperands(), [&](Value x) { return isFunctionOf(x, code); });
}

static Weights weightsOf(Value rhs, const BodyInfo &info, const AxisGroup &reduced) {
  Weights w{rhs, {}, {}, {}};
  AxisSet inner = 0;
  for (unsigned a : llvm::drop_begin(reduced.axes))
    inner |= AxisSet(1) << a;
  if (auto mul = rhs.getDefiningOp<arith::MulFOp>(); mul && reduced.axes.size() > 1)
    for (unsigned side : {0, 1})
      if (!w.scale && !(info.axesOf(mul->getOperand(side)) & inner)) {
        w.scale = mul->getOperand(side);
        w.value = mul->getOperand(1 - side);
      }
  for (Operation *op : lower::opsBelow(w.value))
    if (auto mask = dyn_cast<arith::AndIOp>(op); mask && getConstantIntValue(mask.getRhs()) == 15 && mask.getType().isInteger(32))
      if (isFunctionOf(w.value, mask)) {
        w.code = mask;
        w.word = mask.getLhs();
      }
  return w;
}

/// Columns are an axis of one panel, which fills the lanes.
static std::optional<UnpackedShape> shapeOf(const BodyInfo &info) {
  std::optional<lower::CodedProduct> p = info.axes.size() < 63 ? productIn(info) : std::nullopt;
  if (!p)
    return std::nullopt;
  AxisSet summed = info.axesOf(p->sum.getAxes()), left = info.axesOf(p->lhs.getResult()), right = info.axesOf(p->rhs);
  if ((left & right) != summed || (left | right) != allAxes(info) || !summed)
    return std::nullopt;
  std::optional<unsigned> column;
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if ((right & ~summed) >> a & 1 && info.extents[a] == Expr(int64_t(panelColumns)))
      if (llvm::all_of(info.ops, [&](Operation *op) { return !isa<kernel::LoadOp, kernel::StoreOp>(op) || isRun(info, op, info.axes[a]); }))
        column = a;
  if (!column)
    return std::nullopt;
  ContractionShape s;
  s.lhsRef = p->lhs.getRef();
  s.result = p->sum.getResult();
  s.rhsValue = p->rhs;
  s.lhs = info.exprOf(p->lhs);
  s.lhsType = p->lhs.getType();
  s.accumulator = cast<FloatType>(p->sum.getType());
  s.rows = AxisGroup::of(info, left & ~summed);
  s.columns = AxisGroup(info, {*column});
  s.batch = AxisGroup::of(info, right & ~summed & ~(AxisSet(1) << *column));
  s.reduced = AxisGroup::of(info, summed);
  s.findFlatGroups(info);
  std::optional<int64_t> codes = info.extents[s.reduced.axes.back()].constant();
  if (!codes || *codes > mostCodes)
    return std::nullopt;
  return UnpackedShape{s, weightsOf(p->rhs, info, s.reduced)};
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

namespace {
class UnpackedEmitter {
public:
  UnpackedEmitter(KernelFunction &f, const UnpackedShape &shape);
  void emit();
  KernelPlan plan() const;
  const std::string &error() const { return body.error(); }

private:
  void emitPanel(Value group, Value tileFrom, Value tileTo);
  void emitTiles(const BodyEmitter &point, Value tileFrom, Value tileTo);
  void emitDirect(const BodyEmitter &point);
  void emitRows(const BodyEmitter &point, unsigned rows);
  void unpackPanel(const BodyEmitter &point);
  using Each = llvm::function_ref<Values(const BodyEmitter &point, Value k, Values state)>;
  Values overWords(size_t level, const BodyEmitter &point, Value k, Values state, Each each);
  Value weightsAt(const BodyEmitter &word, int64_t code, Value column);
  Value scaleAt(const BodyEmitter &block, Value column);
  BodyEmitter laneAt(const BodyEmitter &point, Value column);
  Values addWord(const BodyEmitter &word, ArrayRef<BodyEmitter> starts, Value column, unsigned vectors, Values sums);
  Values folded(Values sums, unsigned live);
  void requestWords(const BodyEmitter &word, Value column, unsigned vectors);

  KernelFunction &f;
  const ContractionShape &shape;
  const Weights &weights;
  VectorBuilder v;
  BodyEmitter body;
  ContractionTile tiles;
  ContractionEpilogue epilogue;
  Value lhs, rows, depth, rowTiles;
  std::optional<int64_t> known; ///< rows
};
} // namespace

UnpackedEmitter::UnpackedEmitter(KernelFunction &f, const UnpackedShape &unpacked)
    : f(f), shape(unpacked.product), weights(unpacked.weights), v(f.b, f.loc, f.isa, shape.accumulator), body(f.info, f.b, f.loc, f.sizes, f.refs, f.hooks),
      tiles(v, shape, shape.accumulator, f.refs[cast<BlockArgument>(shape.lhsRef).getArgNumber()]),
      epilogue(v, shape, f.info, body, tiles.maxRows()), lhs(f.refs[cast<BlockArgument>(shape.lhsRef).getArgNumber()]) {
  rows = body.emitExpr(shape.rows.extent());
  depth = body.emitExpr(shape.reduced.extent());
  rowTiles = v.ceilDiv(rows, tiles.maxRows());
  known = shape.rows.extent().constant();
  if (known)
    tiles.allowHeightsOf(*known);
}

KernelPlan UnpackedEmitter::plan() const {
  KernelPlan plan;
  Expr rowCount = shape.rows.extent(), tileCount = Expr::ceildiv(rowCount, tiles.maxRows());
  plan.items = shape.batch.extent() * tileCount;
  plan.granularity = Expr::max(Expr(1), Expr::min(tileCount, Expr(tilesPerPanel)));
  plan.scratchBytes = panelElements(v, shape) * int64_t(shape.accumulatorBytes);
  plan.cost = Expr(2 * panelColumns) * shape.reduced.extent() * Expr::ceildiv(rowCount, Expr::max(tileCount, Expr(1)));
  return plan;
}

/// Items are (panel, tile of rows), the last fastest.
void UnpackedEmitter::emit() {
  Value perGroup = v.max(rowTiles, v.i(1));
  v.loop(v.div(f.begin, perGroup), v.ceilDiv(f.end, perGroup), 1, [&](Value group) {
    Value start = v.mul(group, perGroup);
    emitPanel(group, v.max(v.sub(f.begin, start), v.i(0)), v.min(v.sub(f.end, start), rowTiles));
  });
}

void UnpackedEmitter::emitPanel(Value group, Value tileFrom, Value tileTo) {
  BodyEmitter point = body;
  shape.batch.bind(v, point, group, shape.batchFlat);
  if (known)
    return *known <= mostDirectRows ? emitDirect(point) : emitTiles(point, tileFrom, tileTo);
  v.ifThen(v.less(rows, v.i(mostDirectRows + 1)), [&] { emitDirect(point); }, [&] { emitTiles(point, tileFrom, tileTo); });
}

/// The rows are split exactly: the first tiles have one row more than the rest.
void UnpackedEmitter::emitTiles(const BodyEmitter &point, Value tileFrom, Value tileTo) {
  unpackPanel(point);
  Value high = v.ceilDiv(rows, v.max(rowTiles, v.i(1))), low = v.sub(high, 1), highTiles = v.sub(rows, v.mul(rowTiles, low));
  v.loop(tileFrom, tileTo, 1, [&](Value tile) {
    Value row = v.add(v.mul(tile, low), v.min(tile, highTiles)), count = v.select(v.less(tile, highTiles), high, low);
    epilogue.request(point, row, count, v.i(0));
    tiles.emit(point, f.scratch, row, count, depth, epilogue.buffer());
    epilogue.emit(point, row, count, v.i(0));
  });
}

/// All rows at once, one to mostDirectRows of them.
void UnpackedEmitter::emitDirect(const BodyEmitter &point) {
  if (known)
    return *known ? emitRows(point, *known) : void();
  SmallVector<int64_t> cases;
  for (int64_t r = 1; r <= mostDirectRows; ++r)
    cases.push_back(r);
  v.choose(rows, cases, [&](int64_t r) { emitRows(point, r); });
}

/// The sums of several sets, added up.
Values UnpackedEmitter::folded(Values sums, unsigned live) {
  for (unsigned count = sums.size() / live; live > 1; live /= 2)
    for (unsigned k = 0; k < count * live / 2; ++k)
      sums[k] = v.addf(sums[k], sums[k + count * live / 2]);
  return sums;
}

/// Weights without a scale are summed for each point of the outermost axis, and these sums times the scales.
void UnpackedEmitter::emitRows(const BodyEmitter &point, unsigned count) {
  unsigned vectors = panelColumns / v.lanes, sets = 1;
  while (vectors > 1 && vectors * count > mostSums)
    vectors /= 2;
  while (count * vectors * sets < mostSums)
    sets *= 2;
  unsigned perSet = count * vectors;
  auto starts = [&](const BodyEmitter &at) {
    SmallVector<BodyEmitter> r;
    for (unsigned row = 0; row < count; ++row) {
      r.push_back(at);
      shape.rows.bind(v, r.back(), v.i(row), shape.rows.strideOf(shape.lhs).has_value());
    }
    return r;
  };
  v.loop(v.i(0), v.i(panelColumns), vectors * v.lanes, [&](Value column) {
    auto words = [&](size_t level, const BodyEmitter &at, Values state) {
      return overWords(level, at, v.i(0), std::move(state), [&](const BodyEmitter &word, Value, Values s) {
        requestWords(word, column, vectors);
        return addWord(word, starts(word), column, vectors, std::move(s));
      });
    };
    Values sums;
    if (!weights.scale) {
      sums = folded(words(0, point, Values(perSet * sets, v.f(0))), sets);
    } else {
      const BodyInfo &info = *shape.reduced.info;
      unsigned outermost = shape.reduced.axes.front();
      BodyEmitter outside = point;
      sums = v.loop(v.i(0), outside.emitExpr(info.extents[outermost]), 1, Values(perSet, v.f(0)), [&](Value x, Values state) {
        BodyEmitter block = point;
        block.bindAxis(info.axes[outermost], x);
        Values mine = folded(words(1, block, Values(perSet * sets, v.f(0))), sets);
        for (unsigned q = 0; q < vectors; ++q) {
          Value scale = scaleAt(block, v.add(column, q * v.lanes));
          for (unsigned r = 0; r < count; ++r)
            state[r * vectors + q] = v.fma(scale, mine[r * vectors + q], state[r * vectors + q]);
        }
        return state;
      });
    }
    for (unsigned r = 0; r < count; ++r)
      for (unsigned q = 0; q < vectors; ++q)
        v.store(sums[r * vectors + q], epilogue.buffer(), v.add(column, r * panelColumns + q * v.lanes));
  });
  epilogue.emit(point, v.i(0), v.i(count), v.i(0));
}

/// All weights of a panel, in the order of the sum.
void UnpackedEmitter::unpackPanel(const BodyEmitter &point) {
  int64_t codes = *shape.reduced.info->extents[shape.reduced.axes.back()].constant();
  overWords(0, point, v.i(0), {}, [&](const BodyEmitter &word, Value k, Values) {
    for (int64_t x = 0; x < codes; ++x)
      for (unsigned q = 0; q < panelColumns; q += v.lanes) {
        Value w = weightsAt(word, x, v.i(q));
        if (weights.scale)
          w = v.mulf(w, scaleAt(word, v.i(q)));
        v.store(w, f.scratch, v.add(v.mul(v.add(v.mul(k, codes), x), panelColumns), q));
      }
    return Values();
  });
}

/// Loops over the reduced axes from `level` on, but for the last one, the codes of a word. `k` counts words.
Values UnpackedEmitter::overWords(size_t level, const BodyEmitter &point, Value k, Values state, Each each) {
  const AxisGroup &reduced = shape.reduced;
  if (level + 1 == reduced.axes.size())
    return each(point, k, std::move(state));
  BodyEmitter outside = point;
  Value extent = outside.emitExpr(reduced.info->extents[reduced.axes[level]]);
  return v.loop(v.i(0), extent, 1, state, [&](Value x, Values s) {
    BodyEmitter at = point;
    at.bindAxis(reduced.info->axes[reduced.axes[level]], x);
    return overWords(level + 1, at, v.add(v.mul(k, extent), x), std::move(s), each);
  });
}

BodyEmitter UnpackedEmitter::laneAt(const BodyEmitter &point, Value column) {
  BodyEmitter at = point;
  at.bindLane(shape.reduced.info->axes[shape.columns.carrier()], column, v.lanes);
  return at;
}

Value UnpackedEmitter::scaleAt(const BodyEmitter &block, Value column) { return laneAt(block, column).emitLanes(weights.scale); }

/// A code of 4 bits chooses among as many numbers as a vector of AVX-512 has lanes.
Value UnpackedEmitter::weightsAt(const BodyEmitter &word, int64_t code, Value column) {
  BodyEmitter at = laneAt(word, column);
  at.bindAxis(shape.reduced.info->axes[shape.reduced.axes.back()], v.i(code));
  if (!weights.code || v.lanes != 16 || v.target.arch != "x86_64")
    return at.emitLanes(weights.value);
  Value words = at.emitLanes(weights.word);
  SmallVector<int32_t> all;
  for (int32_t c = 0; c < 16; ++c)
    all.push_back(c);
  BodyEmitter table = at;
  table.bindValue(weights.code, v.b.create<arith::ConstantOp>(v.loc, v.b.getI32VectorAttr(all)));
  return v.b.create<LLVM::CallIntrinsicOp>(v.loc, v.vec, v.b.getStringAttr("llvm.x86.avx512.permvar.sf.512"),
                                           ValueRange{table.emitLanes(weights.value), words})
      .getResult(0);
}

/// Asks for the words that come some steps later. Unpacking one fills a processor's window with instructions before it meets the loads that would wait
/// for memory, and what it looks ahead by itself along a single stream comes too late.
void UnpackedEmitter::requestWords(const BodyEmitter &word, Value column, unsigned vectors) {
  constexpr int64_t bytesAhead = 2048, line = 64;
  for (Operation *op : lower::opsBelow(weights.value)) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    if (!load || !load.getType().isInteger(32))
      continue;
    BodyEmitter at = laneAt(word, column);
    at.bindAxis(shape.reduced.info->axes[shape.reduced.axes.back()], v.i(0));
    Value place = at.addressOf(load);
    for (int64_t byte = 0; byte < int64_t(vectors) * v.lanes * 4; byte += line)
      v.prefetch(place, v.i(bytesAhead + byte), v.b.getI8Type());
  }
}

Values UnpackedEmitter::addWord(const BodyEmitter &word, ArrayRef<BodyEmitter> starts, Value column, unsigned vectors, Values sums) {
  const BodyInfo &info = *shape.reduced.info;
  unsigned last = shape.reduced.axes.back(), perSet = starts.size() * vectors, sets = sums.size() / perSet;
  for (int64_t x = 0, count = *info.extents[last].constant(); x < count; ++x) {
    Values columns;
    for (unsigned q = 0; q < vectors; ++q)
      columns.push_back(weightsAt(word, x, v.add(column, q * v.lanes)));
    for (auto [r, start] : llvm::enumerate(starts)) {
      BodyEmitter at = start;
      at.bindAxis(info.axes[last], v.i(x));
      Value spread = v.splat(v.loadScalar(v.at(lhs, at.emitExpr(shape.lhs), shape.lhsType), v.i(0), shape.lhsType));
      for (unsigned q = 0; q < vectors; ++q) {
        Value &sum = sums[(x % sets) * perSet + r * vectors + q];
        sum = v.fma(spread, columns[q], sum);
      }
    }
  }
  return sums;
}

llvm::Expected<bool> lathe::cpu::emitUnpackedProduct(KernelFunction &f, KernelPlan &plan) {
  std::optional<UnpackedShape> shape = shapeOf(f.info);
  if (!shape)
    return false;
  UnpackedEmitter emitter(f, *shape);
  emitter.emit();
  plan = emitter.plan();
  if (!emitter.error().empty())
    return llvm::createStringError(emitter.error());
  return true;
}
