//===- AttentionBlock.cpp - One block of queries ---------------------------===//

#include "Attention.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <cfloat>
#include <cmath>

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using shape::Expr;
using Values = VectorBuilder::Values;

/// To whole vectors.
static Expr padded(const Expr &elements, unsigned lanes) { return Expr::ceildiv(elements, Expr(lanes)) * Expr(lanes); }

AttentionScratch::AttentionScratch(const AttentionShape &s, const AttentionTile &t, unsigned lanes) {
  int64_t queries = t.queryVectors * lanes;
  scores = t.keyRows * queries; // the last tile of a block may begin before it
  maximum = scores + t.keyBlock * queries;
  total = maximum + queries;
  rescale = total + queries;
  masks = rescale + queries;
  packedQ = masks + int64_t(s.byKey.size()) * (t.keyBlock + lanes) * queries;
  sums = Expr(packedQ) + padded(s.depth, lanes) * Expr(queries);
  end = sums + padded(s.values, lanes) * Expr(queries);
}

namespace {
class BlockEmitter {
public:
  BlockEmitter(KernelFunction &f, VectorBuilder &v, const AttentionShape &shape, const AttentionTile &tile,
               const BodyEmitter &point, const AttentionLanes &lanes);
  void emit();

private:
  Value refOf(Value ref) { return f.refs[cast<BlockArgument>(ref).getArgNumber()]; }
  Value scratchAt(Value row, int64_t offset) { return v.add(v.mul(row, queries), offset); }
  Value offsetAt(const Expr &e, StringRef axis, Value index, StringRef inner);
  SmallVector<Value> queryRows(unsigned vector, const Expr &e, StringRef inner, Value innerIndex);
  void alongRow(Value count, function_ref<void(Value, Value)> body);

  void packQueries();
  void clearState();
  std::pair<Value, Value> keyRange();
  void emitKeyBlock(Value from, Value count, Value whole);
  Values scoreTiles(Value from, Value count, unsigned rows, Values maxima);
  Values rawScores(Value from, Value count, Value whole, Values maxima);
  void transposeMasks(Value from, Value count);
  Values modifyScores(Value from, Value count, Values maxima);
  Value modifiedAt(unsigned vector, Value row, Value key, Value score);
  Values exponentials(Value count, Values maxima);
  void addProducts(Value from, Value count);
  void addProductsOf(Value from, Value count, unsigned rows, unsigned vectors);
  void productTile(Value from, Value count, Value column, unsigned rows, unsigned vectors, Value mask);
  void writeResult();

  KernelFunction &f;
  VectorBuilder &v;
  const AttentionShape &shape;
  const AttentionTile &tile;
  const BodyEmitter &point;
  const AttentionLanes &lanes;
  Value first, valid, scratch;
  Value depth, values; ///< elements of a head
  Value sums, width;   ///< where the sums begin in scratch, and the length of a row of them
  int64_t queries;
  AttentionScratch at;
  SmallVector<BodyEmitter> lanePoints; // per vector of queries
};
} // namespace

BlockEmitter::BlockEmitter(KernelFunction &f, VectorBuilder &v, const AttentionShape &shape, const AttentionTile &tile,
                           const BodyEmitter &point, const AttentionLanes &lanes)
    : f(f), v(v), shape(shape), tile(tile), point(point), lanes(lanes), first(lanes.first), scratch(f.scratch),
      queries(tile.queryVectors * v.lanes), at(shape, tile, v.lanes) {
  valid = tile.masked ? v.min(v.sub(lanes.end, first), v.i(queries)) : v.i(queries);
  BodyEmitter sizes = point;
  depth = sizes.emitExpr(shape.depth);
  values = sizes.emitExpr(shape.values);
  sums = sizes.emitExpr(at.sums);
  width = sizes.emitExpr(padded(shape.values, v.lanes));
  for (unsigned h = 0; h < tile.queryVectors; ++h) {
    BodyEmitter inLanes = point;
    Value start = v.add(first, int64_t(h * v.lanes));
    inLanes.bindLane(lanes.axis, start, v.lanes, tile.masked ? v.firstLanes(v.sub(lanes.end, start)) : Value());
    if (!shape.scale)
      for (Value q : shape.perQuery)
        inLanes.emit(q);
    lanePoints.push_back(inLanes);
  }
}

/// The offset with `axis` at `index` and `inner` at zero.
Value BlockEmitter::offsetAt(const Expr &e, StringRef axis, Value index, StringRef inner) {
  BodyEmitter p = point;
  p.bindAxis(axis, index);
  p.bindAxis(inner, v.i(0));
  return p.emitExpr(e);
}

/// Offsets of the rows of one vector of queries; rows past the last query repeat it.
SmallVector<Value> BlockEmitter::queryRows(unsigned vector, const Expr &e, StringRef inner, Value innerIndex) {
  SmallVector<Value> rows;
  for (unsigned r = 0; r < v.lanes; ++r) {
    Value q = v.add(first, int64_t(vector * v.lanes + r));
    if (tile.masked)
      q = v.min(q, v.sub(lanes.end, 1));
    BodyEmitter p = point;
    p.bindAxis(lanes.axis, q);
    p.bindAxis(inner, innerIndex);
    rows.push_back(p.emitExpr(e));
  }
  return rows;
}

/// body(position, mask) for vectors over 0 .. count - 1; only the last has a mask.
void BlockEmitter::alongRow(Value count, function_ref<void(Value, Value)> body) {
  Value whole = v.roundDown(count, v.lanes);
  v.loop(v.i(0), whole, v.lanes, [&](Value i) { body(i, {}); });
  std::optional<int64_t> known = getConstantIntValue(count);
  if (known && *known % v.lanes == 0)
    return;
  v.ifThen(v.less(whole, count), [&] {
    body(whole, known ? v.firstLanes(unsigned(*known % v.lanes)) : v.firstLanes(v.sub(count, whole)));
  });
}

/// Queries side by side: [depth][queries], with the scale (and log2 e, for base-2 exponentials) folded in where the region
/// is nothing but a scale.
void BlockEmitter::packQueries() {
  Value from = refOf(shape.qRef);
  BodyEmitter sizes = point;
  Value stride = sizes.emitExpr(shape.queryStride);
  Value factor = shape.scale ? v.f(*shape.scale * log2e) : Value();
  for (unsigned h = 0; h < tile.queryVectors; ++h) {
    SmallVector<Value> rows = queryRows(h, shape.q, shape.depthAxis, v.i(0));
    int64_t to = at.packedQ + h * v.lanes;
    if (shape.queryStride.isOne()) {
      alongRow(depth, [&](Value d, Value mask) {
        Values block;
        for (Value r : rows) {
          Value x = v.loadConverted(from, v.add(r, d), shape.qType, mask);
          block.push_back(factor ? v.mulf(x, factor) : x);
        }
        block = v.transpose(block);
        for (unsigned l = 0; l < v.lanes; ++l)
          v.store(block[l], scratch, scratchAt(d, to + l * queries));
      });
      continue;
    }
    v.loop(v.i(0), depth, 1, [&](Value d) {
      for (unsigned r = 0; r < v.lanes; ++r) {
        Value x = v.loadScalar(from, v.add(rows[r], v.mul(d, stride)), shape.qType);
        v.storeScalar(x, scratch, scratchAt(d, to + r));
      }
      if (factor)
        v.store(v.mulf(v.load(scratch, scratchAt(d, to)), factor), scratch, scratchAt(d, to));
    });
  }
}

void BlockEmitter::clearState() {
  for (unsigned h = 0; h < tile.queryVectors; ++h) {
    v.store(v.f(-FLT_MAX), scratch, v.i(at.maximum + h * v.lanes));
    v.store(v.f(0), scratch, v.i(at.total + h * v.lanes));
  }
  v.loop(sums, v.add(sums, v.mul(width, queries)), v.lanes, [&](Value i) { v.store(v.f(0), scratch, i); });
}

/// Keys outside count for no query of the block.
std::pair<Value, Value> BlockEmitter::keyRange() {
  BodyEmitter low = point, high = point;
  low.bindAxis(lanes.axis, first);
  high.bindAxis(lanes.axis, v.sub(v.add(first, valid), 1));
  Value from = v.i(0), to = high.emitExpr(shape.keys);
  auto known = [&](const Expr &e) { return lanes.axis == shape.queryAxis || !e.mentions(lanes.axis); };
  for (const Expr &e : shape.lower)
    if (known(e))
      from = v.max(from, low.emitExpr(e));
  for (const Expr &e : shape.upper)
    if (known(e))
      to = v.min(to, high.emitExpr(e));
  return {from, to};
}

void BlockEmitter::emit() {
  packQueries();
  clearState();
  auto [from, to] = keyRange();
  Value whole = v.less(v.i(tile.keyRows - 1), to);
  v.loop(from, to, tile.keyBlock, [&, to = to](Value k) {
    emitKeyBlock(k, v.min(v.sub(to, k), v.i(tile.keyBlock)), whole);
  });
  writeResult();
}

/// `whole`: there are enough keys before the block's end for a full tile.
void BlockEmitter::emitKeyBlock(Value from, Value count, Value whole) {
  Values before, maxima;
  for (unsigned h = 0; h < tile.queryVectors; ++h)
    before.push_back(v.load(scratch, v.i(at.maximum + h * v.lanes)));
  maxima = rawScores(from, count, whole, before);
  if (!shape.scale)
    maxima = modifyScores(from, count, maxima);
  for (unsigned h = 0; h < tile.queryVectors; ++h) {
    Value change = v.subf(before[h], maxima[h]);
    Value rescale = v.exp2(shape.scale ? change : v.mulf(change, v.f(log2e)));
    int64_t lane = h * v.lanes;
    v.store(rescale, scratch, v.i(at.rescale + lane));
    v.store(maxima[h], scratch, v.i(at.maximum + lane));
    v.store(v.mulf(v.load(scratch, v.i(at.total + lane)), rescale), scratch, v.i(at.total + lane));
  }
  Values totals = exponentials(count, maxima);
  for (unsigned h = 0; h < tile.queryVectors; ++h)
    v.store(totals[h], scratch, v.i(at.total + h * v.lanes));
  addProducts(from, count);
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Tiles of `rows` keys by all queries. The last one is moved back to end with the block: scores computed twice are equal.
Values BlockEmitter::scoreTiles(Value from, Value count, unsigned rows, Values maxima) {
  Value keys = refOf(shape.kRef);
  Expr::Linear linear = *shape.k.linearIn(shape.keyAxis);
  std::optional<int64_t> known = linear.coefficient.constant();
  BodyEmitter p = point;
  Value step = p.emitExpr(linear.coefficient), depthStride = p.emitExpr(shape.keyStride);
  unsigned vectors = tile.queryVectors;
  return v.loop(v.i(0), count, rows, maxima, [&](Value t, Values state) {
    Value row = v.min(t, v.sub(count, rows));
    Value start = offsetAt(shape.k, shape.keyAxis, v.add(from, row), shape.depthAxis);
    SmallVector<Value> starts{start};
    for (unsigned r = 1; r < rows && !known; ++r)
      starts.push_back(v.add(start, v.mul(step, r)));
    Values products(rows * vectors, v.f(0));
    products = v.unrolled(v.i(0), depth, 4, products, [&](Value d, unsigned u, Values acc) {
      Values q;
      for (unsigned h = 0; h < vectors; ++h)
        q.push_back(v.load(v.at(scratch, scratchAt(d, 0)), v.i(at.packedQ + u * queries + h * v.lanes)));
      for (unsigned r = 0; r < rows; ++r) {
        Value base = v.at(keys, v.add(starts[known ? 0 : r], v.mul(d, depthStride)), shape.kType);
        Value x = v.splat(v.loadScalar(base, v.add(v.mul(depthStride, u), known ? *known * r : 0), shape.kType));
        for (unsigned h = 0; h < vectors; ++h)
          acc[r * vectors + h] = v.fma(x, q[h], acc[r * vectors + h]);
      }
      return acc;
    });
    for (unsigned r = 0; r < rows; ++r)
      for (unsigned h = 0; h < vectors; ++h) {
        Value s = products[r * vectors + h];
        v.store(s, scratch, scratchAt(row, at.scores + r * queries + h * v.lanes));
        if (shape.scale)
          state[h] = v.maxOr(s, state[h]);
      }
    return state;
  });
}

Values BlockEmitter::rawScores(Value from, Value count, Value whole, Values maxima) {
  return v.ifValues(
      whole, [&] { return scoreTiles(from, count, tile.keyRows, maxima); },
      [&] { return scoreTiles(from, count, 1, maxima); });
}

static Type laneBits(OpBuilder &b, Type t) { return t.isF32() ? t : b.getI32Type(); }

/// Masks and biases that lie query by query are turned to lie key by key, as the scores do.
void BlockEmitter::transposeMasks(Value from, Value count) {
  OpBuilder &b = v.b;
  for (auto [index, l] : llvm::enumerate(shape.byKey)) {
    kernel::LoadOp load = l;
    Type memory = load.getType().isInteger(1) ? b.getI8Type() : load.getType();
    auto raw = VectorType::get(v.lanes, memory), bits = VectorType::get(v.lanes, laneBits(b, memory));
    Value buffer = refOf(load.getRef());
    int64_t to = at.masks + int64_t(index) * (tile.keyBlock + v.lanes) * queries;
    unsigned bytes = memory.getIntOrFloatBitWidth() / 8;
    for (unsigned h = 0; h < tile.queryVectors; ++h) {
      SmallVector<Value> rows = queryRows(h, f.info.exprOf(load), shape.keyAxis, from);
      alongRow(count, [&](Value k, Value mask) {
        Values block;
        for (Value r : rows) {
          Value p = v.at(buffer, v.add(r, k), memory), x;
          Value zero = b.create<arith::ConstantOp>(v.loc, b.getZeroAttr(raw));
          if (mask)
            x = b.create<LLVM::MaskedLoadOp>(v.loc, raw, p, mask, ValueRange{zero}, bytes);
          else
            x = b.create<LLVM::LoadOp>(v.loc, raw, p, bytes);
          block.push_back(raw == bits || memory.isInteger(32) ? x : b.create<arith::ExtUIOp>(v.loc, bits, x));
        }
        block = v.transpose(block);
        for (unsigned r = 0; r < v.lanes; ++r)
          v.store(block[r], scratch, scratchAt(k, to + r * queries + h * v.lanes));
      });
    }
  }
}

Value BlockEmitter::modifiedAt(unsigned vector, Value row, Value key, Value score) {
  OpBuilder &b = v.b;
  BodyEmitter p = lanePoints[vector];
  p.bindAxis(shape.keyAxis, key);
  p.bindValue(shape.score, score);
  for (auto [index, l] : llvm::enumerate(shape.byKey)) {
    kernel::LoadOp load = l;
    Type type = load.getType();
    auto bits = VectorType::get(v.lanes, laneBits(b, type));
    int64_t from = at.masks + int64_t(index) * (tile.keyBlock + v.lanes) * queries + vector * v.lanes;
    Value x = b.create<LLVM::LoadOp>(v.loc, bits, v.at(scratch, scratchAt(row, from)), 4);
    Value zero = b.create<arith::ConstantOp>(v.loc, b.getZeroAttr(bits));
    if (type.isInteger(1))
      x = b.create<arith::CmpIOp>(v.loc, arith::CmpIPredicate::ne, x, zero);
    else if (type.isInteger(8))
      x = b.create<arith::TruncIOp>(v.loc, VectorType::get(v.lanes, type), x);
    p.bindValue(load.getResult(), x);
  }
  return p.emitLanes(shape.modified);
}

Values BlockEmitter::modifyScores(Value from, Value count, Values maxima) {
  transposeMasks(from, count);
  return v.loop(v.i(0), count, 1, maxima, [&](Value row, Values state) {
    for (unsigned h = 0; h < tile.queryVectors; ++h) {
      Value place = scratchAt(row, at.scores + h * v.lanes);
      Value s = modifiedAt(h, row, v.add(from, row), v.load(scratch, place));
      v.store(s, scratch, place);
      state[h] = v.maxOr(s, state[h]);
    }
    return state;
  });
}

Values BlockEmitter::exponentials(Value count, Values maxima) {
  Values totals;
  for (unsigned h = 0; h < tile.queryVectors; ++h)
    totals.push_back(v.load(scratch, v.i(at.total + h * v.lanes)));
  return v.loop(v.i(0), count, 1, totals, [&](Value row, Values state) {
    for (unsigned h = 0; h < tile.queryVectors; ++h) {
      Value place = scratchAt(row, at.scores + h * v.lanes);
      Value t = v.subf(v.load(scratch, place), maxima[h]);
      Value p = v.exp2(shape.scale ? t : v.mulf(t, v.f(log2e)));
      v.store(p, scratch, place);
      state[h] = v.addf(state[h], p);
    }
    return state;
  });
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// One or two queries alone take several columns at once instead of several rows.
void BlockEmitter::addProducts(Value from, Value count) {
  if (!tile.masked)
    return addProductsOf(from, count, tile.valueRows, tile.valueVectors);
  v.ifThen(
      v.less(valid, v.i(3)), [&] { addProductsOf(from, count, 1, 4); },
      [&] { addProductsOf(from, count, tile.valueRows, tile.valueVectors); });
}

void BlockEmitter::addProductsOf(Value from, Value count, unsigned rows, unsigned vectors) {
  int64_t group = vectors * v.lanes;
  Value grouped = v.roundDown(values, group), whole = v.roundDown(values, v.lanes);
  v.loop(v.i(0), grouped, group, [&](Value column) { productTile(from, count, column, rows, vectors, {}); });
  v.loop(grouped, whole, v.lanes, [&](Value column) { productTile(from, count, column, rows, 1, {}); });
  v.ifThen(v.less(whole, values), [&] { productTile(from, count, whole, rows, 1, v.firstLanes(v.sub(values, whole))); });
}

/// sums[query][column ..] = sums * rescale[query] + sum over keys of probability * value.
void BlockEmitter::productTile(Value from, Value count, Value column, unsigned rows, unsigned vectors, Value mask) {
  Value valuesRef = refOf(shape.vRef);
  Expr::Linear linear = *shape.v.linearIn(shape.keyAxis);
  BodyEmitter p = point;
  Value step = p.emitExpr(linear.coefficient);
  Value start = v.add(offsetAt(shape.v, shape.keyAxis, from, shape.valueAxis), column);
  v.loop(v.i(0), valid, rows, [&](Value q) {
    Value place = v.add(v.add(v.mul(q, width), column), sums);
    Values acc;
    for (unsigned r = 0; r < rows; ++r) {
      Value rescale = v.broadcast(scratch, v.add(q, at.rescale + r));
      for (unsigned c = 0; c < vectors; ++c)
        acc.push_back(v.mulf(v.load(scratch, v.add(v.add(place, v.mul(width, r)), c * v.lanes)), rescale));
    }
    acc = v.unrolled(v.i(0), count, 4, acc, [&](Value k, unsigned u, Values acc) {
      Values columns;
      Value row = v.add(start, v.mul(v.add(k, u), step));
      for (unsigned c = 0; c < vectors; ++c)
        columns.push_back(v.loadConverted(valuesRef, v.add(row, c * v.lanes), shape.vType, mask));
      Value probabilities = v.at(scratch, v.add(scratchAt(k, at.scores), q));
      for (unsigned r = 0; r < rows; ++r) {
        Value x = v.broadcast(probabilities, v.i(u * queries + r));
        for (unsigned c = 0; c < vectors; ++c)
          acc[r * vectors + c] = v.fma(x, columns[c], acc[r * vectors + c]);
      }
      return acc;
    });
    for (unsigned r = 0; r < rows; ++r)
      for (unsigned c = 0; c < vectors; ++c)
        v.store(acc[r * vectors + c], scratch, v.add(v.add(place, v.mul(width, r)), c * v.lanes));
  });
}

/// Divides by the sum of the probabilities and runs the kernel's epilogue with the value columns in the lanes. A row
/// without any key has sum 0: 0/0 is the NaN that the definition asks for.
void BlockEmitter::writeResult() {
  v.loop(v.i(0), valid, 1, [&](Value q) {
    Value total = v.broadcast(scratch, v.add(q, at.total));
    Value inverse = v.divf(v.f(1), total);
    if (shape.zeroMasked) {
      Value none = v.b.create<arith::CmpFOp>(v.loc, arith::CmpFPredicate::OEQ, total, v.f(0));
      inverse = v.b.create<arith::SelectOp>(v.loc, none, v.f(0), inverse);
    }
    BodyEmitter row = point;
    row.bindAxis(lanes.axis, v.add(first, q));
    alongRow(values, [&](Value e, Value mask) {
      BodyEmitter p = row;
      p.bindLane(shape.valueAxis, e, v.lanes, mask);
      Value x = v.load(scratch, v.add(v.add(v.mul(q, width), e), sums));
      p.bindValue(shape.result, v.mulf(x, inverse));
      for (Operation *o : f.info.ops)
        if (auto s = dyn_cast<kernel::StoreOp>(o))
          p.emitStore(s);
    });
  });
}

void lathe::cpu::emitAttentionBlock(KernelFunction &f, VectorBuilder &v, const AttentionShape &shape,
                                    const AttentionTile &tile, const BodyEmitter &point, const AttentionLanes &lanes) {
  BlockEmitter(f, v, shape, tile, point, lanes).emit();
}
