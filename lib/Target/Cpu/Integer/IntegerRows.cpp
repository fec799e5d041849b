//===- IntegerRows.cpp - Operands of integer products in words -------------===//

#include "ImageLines.h"
#include "IntegerRows.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using shape::Expr;

/// 128 in each byte: what makes a signed byte unsigned, and the other way round.
constexpr int32_t flips = int32_t(0x80808080);

static Value splat(VectorBuilder &v, Value like, int32_t bits) {
  auto type = dyn_cast<VectorType>(like.getType());
  TypedAttr a = v.b.getI32IntegerAttr(bits);
  return v.b.create<arith::ConstantOp>(v.loc, type ? TypedAttr(DenseElementsAttr::get(type, Attribute(a))) : a);
}

Value cpu::withOtherSign(VectorBuilder &v, Value bytes) {
  auto type = dyn_cast<VectorType>(bytes.getType());
  TypedAttr flip = v.b.getI8IntegerAttr(-128);
  if (type)
    flip = DenseElementsAttr::get(type, Attribute(flip));
  return v.b.create<arith::XOrIOp>(v.loc, bytes, v.b.create<arith::ConstantOp>(v.loc, flip).getResult());
}

/// Low and high halves of numbers that are twice as wide.
static Value joinHalves(VectorBuilder &v, Value low, Value high, int width) {
  auto shaped = dyn_cast<VectorType>(low.getType());
  Type element = v.b.getIntegerType(width), wide = shaped ? Type(VectorType::get(shaped.getShape(), element)) : element;
  TypedAttr half = v.b.getIntegerAttr(element, width / 2);
  Value shift = v.b.create<arith::ConstantOp>(v.loc, shaped ? TypedAttr(DenseElementsAttr::get(cast<VectorType>(wide), Attribute(half))) : half);
  Value above = v.b.create<arith::ShLIOp>(v.loc, v.b.create<arith::ExtUIOp>(v.loc, wide, high), shift);
  return v.b.create<arith::OrIOp>(v.loc, v.b.create<arith::ExtUIOp>(v.loc, wide, low), above);
}

/// Bytes 0 .. 3 of each word from four vectors of bytes (or four bytes), by halves: these are half as wide.
Value WordPacker::join(ArrayRef<Value> bytes, bool flip) {
  Value low = joinHalves(v, bytes[0], bytes[1], 16), high = joinHalves(v, bytes[2], bytes[3], 16);
  Value words = joinHalves(v, low, high, 32);
  return flip ? v.b.create<arith::XOrIOp>(v.loc, words, splat(v, words, flips)).getResult() : words;
}

void WordPacker::store(Value words, Value to, Value at) {
  v.b.create<LLVM::StoreOp>(v.loc, words, v.at(to, at, v.b.getI32Type()), 4);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void WordPacker::forWords(const BodyEmitter &point, function_ref<void(const BodyEmitter &, Value, Value)> body) {
  const AxisGroup &reduced = shape.product.reduced;
  std::function<void(size_t, const BodyEmitter &, Value)> nest = [&](size_t level, const BodyEmitter &at, Value outer) {
    BodyEmitter here = at;
    Value extent = here.emitExpr(info.extents[reduced.axes[level]]);
    if (level + 1 < reduced.axes.size())
      return v.loop(v.i(0), extent, 1, [&](Value x) {
        BodyEmitter inner = at;
        inner.bindAxis(info.axes[reduced.axes[level]], x);
        nest(level + 1, inner, v.add(v.mul(outer, extent), x));
      });
    Value perRun = v.ceilDiv(extent, quad);
    v.loop(v.i(0), perRun, 1, [&](Value w) { body(at, v.add(v.mul(outer, perRun), w), w); });
  };
  nest(0, point, v.i(0));
}

bool WordPacker::rowsAreRuns() const {
  auto load = shape.rows.getDefiningOp<kernel::LoadOp>();
  const AxisGroup &reduced = shape.product.reduced;
  if (!load || load.getPredicate() || !load.getIndices().empty())
    return false;
  std::optional<Expr> step = reduced.strideOf(info.exprOf(load));
  std::optional<int64_t> last = info.extents[shape.channels()].constant();
  return step && step->isOne() && (reduced.axes.size() == 1 || (last && *last % quad == 0));
}

void WordPacker::rows(const BodyEmitter &point, Value first, Value count, const TiledWords &to, Value room, int64_t pitch) {
  if (rowsAreRuns())
    copyRuns(point, first, count, to);
  else
    evaluateRows(point, first, count, to, room, pitch);
}

WordPacker::Runs WordPacker::runs(const BodyEmitter &point) {
  const Expr &offset = info.exprOf(shape.rows.getDefiningOp<kernel::LoadOp>());
  bool flat = shape.product.rows.strideOf(offset).has_value();
  BodyEmitter origin = point;
  shape.product.reduced.bind(v, origin, v.i(0), /*flat=*/true);
  Value length = origin.emitExpr(shape.product.reduced.extent());
  return {rowsRef, length, [this, &offset, flat, origin](Value row) {
            BodyEmitter at = origin;
            shape.product.rows.bind(v, at, row, flat);
            return at.emitExpr(offset);
          }};
}

/// A vector of words of as many rows as it has lanes, transposed in registers.
void WordPacker::copyRuns(const BodyEmitter &point, Value first, Value count, const TiledWords &to) {
  int64_t bytes = quad * v.lanes;
  Runs runs = this->runs(point);
  Value depth = runs.length, whole = v.roundDown(depth, bytes), last = v.sub(count, 1);
  auto vectorOfBytes = VectorType::get(bytes, v.b.getI8Type());
  auto vectorOfRows = [&](const TiledWords::Part &tile, Value row) {
    Values starts;
    for (unsigned l = 0; l < v.lanes; ++l)
      starts.push_back(runs.startOf(v.add(first, v.min(v.add(v.add(tile.first, row), l), last))));
    auto block = [&](Value k) {
      Values rows;
      for (Value start : starts) {
        Value p = v.at(rowsRef, v.add(start, k), v.b.getI8Type());
        rows.push_back(v.b.create<vector::BitCastOp>(v.loc, v.vec, v.b.create<LLVM::LoadOp>(v.loc, vectorOfBytes, p, 1).getResult()));
      }
      rows = v.transpose(rows);
      Value number = v.div(k, quad);
      for (unsigned q = 0; q < v.lanes; ++q) {
        Value words = v.b.create<arith::BitcastOp>(v.loc, v.intVec, rows[q]);
        if (shape.rowsSigned)
          words = v.b.create<arith::XOrIOp>(v.loc, words, splat(v, words, flips));
        to.store(words, tile, v.add(number, q), row);
      }
    };
    v.loop(v.i(0), whole, bytes, block);
    auto put = [&](Value bits, Value word, unsigned lane) { to.store(bits, tile, word, v.add(row, lane)); };
    v.ifThen(v.less(whole, depth), [&] { runsTail(starts, whole, depth, put); });
  };
  to.eachTile(count, [&](const TiledWords::Part &tile) {
    to.eachVector(tile, [&](Value row) { vectorOfRows(tile, row); });
  });
}

/// What is left of the runs, word by word; bytes past the end are zero.
void WordPacker::runsTail(ArrayRef<Value> starts, Value whole, Value depth, function_ref<void(Value, Value, unsigned)> put) {
  Type i8 = v.b.getI8Type(), i32 = v.b.getI32Type();
  Value words = v.ceilDiv(depth, quad), full = v.div(depth, quad), last = v.sub(depth, 1);
  auto one = [&](Value word, unsigned l, Value start, bool partial) {
    Value k = v.mul(word, quad), bits;
    if (!partial) {
      bits = v.b.create<LLVM::LoadOp>(v.loc, i32, v.at(rowsRef, v.add(start, k), i8), 1);
      if (shape.rowsSigned)
        bits = v.b.create<arith::XOrIOp>(v.loc, bits, splat(v, bits, flips));
    } else {
      Value zero = v.b.create<arith::ConstantOp>(v.loc, v.b.getI8IntegerAttr(0));
      Values bytes;
      for (int64_t j = 0; j < quad; ++j) {
        Value at = v.add(k, j);
        Value byte = v.b.create<LLVM::LoadOp>(v.loc, i8, v.at(rowsRef, v.add(start, v.min(at, last)), i8), 1);
        if (shape.rowsSigned)
          byte = withOtherSign(v, byte);
        bytes.push_back(v.select(v.less(at, depth), byte, zero));
      }
      bits = join(bytes, false);
    }
    put(bits, word, l);
  };
  auto all = [&](Value word, bool partial) { // rows past the tile's end first: they lie where other rows' words do
    for (unsigned l = starts.size(); l-- > 0;)
      one(word, l, starts[l], partial);
  };
  v.loop(v.div(whole, quad), full, 1, [&](Value word) { all(word, false); });
  v.loop(full, words, 1, [&](Value word) { all(word, true); });
}

/// Stores the words from the last multiple of `lines` to `last`.
void WordPacker::storeLines(const TiledWords &to, Value count, Value room, int64_t pitch, Value last) {
  Value from = v.roundDown(last, lines), ready = v.add(v.sub(last, from), 1);
  to.eachTile(count, [&](const TiledWords::Part &tile) {
    to.eachVector(tile, [&](Value row) {
      Value source = v.at(room, v.add(tile.first, row), v.b.getI32Type());
      v.loop(v.i(0), ready, 1, [&](Value line) {
        Value at = v.at(source, v.mul(line, pitch), v.b.getI32Type());
        to.store(v.b.create<LLVM::LoadOp>(v.loc, v.intVec, at, 4), tile, v.add(from, line), row);
      });
    });
  });
}

/// Word `word` of a run of the sum, of one row or with the innermost rows in the lanes.
Value WordPacker::rowWord(const BodyEmitter &at, Value word, Value extent, bool lanes, Value laneFrom, Value mask) {
  Values bytes;
  for (int64_t j = 0; j < quad; ++j) {
    BodyEmitter here = at;
    Value k = v.add(v.mul(word, quad), j);
    here.bindAxis(lastAxis(), v.min(k, v.sub(extent, 1)));
    if (lanes)
      here.bindLane(info.axes[shape.product.rows.carrier()], laneFrom, v.lanes, mask);
    Value byte = lanes ? here.emitLanes(shape.rows) : here.emit(shape.rows);
    if (shape.rowsSigned)
      byte = withOtherSign(v, byte);
    Value none = v.b.create<arith::ConstantOp>(v.loc, v.b.getZeroAttr(byte.getType()));
    bytes.push_back(v.select(v.less(k, extent), byte, none));
  }
  return join(bytes, false);
}

void WordPacker::evaluateRows(const BodyEmitter &point, Value first, Value count, const TiledWords &to, Value room, int64_t pitch) {
  if (!shape.product.rows.empty())
    return evaluate(point, first, count, to.wordsOfRow(), lines, room, pitch, [&](Value last) { storeLines(to, count, room, pitch, last); });
  BodyEmitter outside = point;
  Value extent = outside.emitExpr(info.extents[shape.channels()]);
  forWords(point, [&](const BodyEmitter &at, Value index, Value word) {
    to.store(rowWord(at, word, extent, false, {}, {}), {v.i(0), v.i(0), v.i(1)}, index, v.i(0));
  });
}

/// Whatever the first factor is.
void WordPacker::evaluate(const BodyEmitter &point, Value first, Value count, Value words, int64_t lines, Value room, int64_t pitch,
                          function_ref<void(Value)> take) {
  const AxisGroup &rows = shape.product.rows;
  BodyEmitter outside = point;
  Value extent = outside.emitExpr(info.extents[shape.channels()]);
  unsigned carrier = rows.carrier();
  Value length = v.max(outside.emitExpr(info.extents[carrier]), v.i(1)), end = v.add(first, count);
  AxisGroup outer(info, {rows.axes.begin(), llvm::find(rows.axes, carrier)});
  Value last = v.sub(words, 1);
  forWords(point, [&](const BodyEmitter &at, Value index, Value word) {
    Value line = v.at(room, v.mul(v.sub(index, v.roundDown(index, lines)), pitch), v.b.getI32Type());
    v.loop(v.div(first, length), v.ceilDiv(end, length), 1, [&](Value run) {
      Value start = v.mul(run, length), from = v.max(v.sub(first, start), v.i(0)), until = v.min(v.sub(end, start), length);
      BodyEmitter here = at;
      for (unsigned a : rows.axes)
        here.bindAxis(info.axes[a], v.i(0)); // those of one point behind the carrier
      outer.bind(v, here, run, /*flat=*/false);
      auto vector = [&](Value x, Value mask) {
        store(rowWord(here, word, extent, true, x, mask), line, v.sub(v.add(start, x), first));
      };
      auto partly = [&](Value x) { vector(x, v.firstLanes(v.sub(until, x))); };
      if (v.target.maskedBytes)
        return v.loop(from, until, v.lanes, partly);
      Value wholeEnd = v.add(from, v.roundDown(v.sub(until, from), v.lanes));
      v.loop(from, wholeEnd, v.lanes, [&](Value x) { vector(x, {}); });
      v.ifThen(v.less(wholeEnd, until), [&] { partly(wholeEnd); });
    });
    Value full = v.less(v.i(lines - 2), v.sub(index, v.roundDown(index, lines)));
    v.ifThen(v.b.create<arith::OrIOp>(v.loc, full, v.less(last, v.add(index, 1))), [&] { take(index); });
  });
}

/// A vector of bytes, each of which is the one so many places behind it, or before it where that is negative.
Value WordPacker::shiftedBytes(Value pointer, Value places) {
  Type whole = v.b.getIntegerType(8 * v.lanes);
  Value bits = v.b.create<LLVM::LoadOp>(v.loc, whole, pointer, 1);
  auto by = [&](Value count) {
    return v.b.createOrFold<arith::TruncIOp>(v.loc, whole, v.mul(v.min(v.max(count, v.i(0)), v.i(v.lanes - 1)), 8));
  };
  bits = v.b.create<arith::ShLIOp>(v.loc, bits, by(v.sub(v.i(0), places)));
  bits = v.b.create<arith::ShRUIOp>(v.loc, bits, by(places));
  return v.b.create<LLVM::BitcastOp>(v.loc, VectorType::get(v.lanes, v.b.getI8Type()), bits);
}

Value WordPacker::imageWords(const BodyEmitter &at, Value channel, const std::string &lane, Value place, Value mask, Value from,
                             ArrayRef<kernel::LoadOp> runs, const ImageBorders *inside) {
  BodyEmitter outside = at;
  Value last = v.sub(outside.emitExpr(info.extents[shape.channels()]), 1);
  Values bytes;
  for (int64_t j = 0; j < quad; ++j) { // channels past the last meet zeros of the filter
    BodyEmitter here = at;
    here.bindAxis(lastAxis(), v.min(v.add(channel, j), last));
    BodyEmitter start = here;
    here.bindLane(lane, place, v.lanes, mask);
    if (inside)
      inside->hold(here);
    if (from) {
      start.bindAxis(lane, from);
      for (kernel::LoadOp load : runs)
        here.bindValue(load.getResult(), shiftedBytes(start.addressOf(load), v.sub(place, from)));
    }
    bytes.push_back(here.emitLanes(shape.rows));
  }
  return join(bytes, shape.rowsSigned);
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

void WordPacker::columns(const BodyEmitter &point, Value first, Value to) {
  const AxisGroup &group = shape.product.columns;
  const Expr &offset = shape.product.rhs;
  Type i8 = v.b.getI8Type();
  std::optional<Expr> step = group.strideOf(offset);
  BodyEmitter outside = point;
  Value extent = outside.emitExpr(info.extents[shape.channels()]), columns = outside.emitExpr(group.extent()), last = v.sub(columns, 1);
  auto startOf = [&](const BodyEmitter &at, Value word, int64_t j, Value column) {
    BodyEmitter here = at;
    here.bindAxis(lastAxis(), v.min(v.add(v.mul(word, quad), j), v.sub(extent, 1)));
    group.bind(v, here, column, step.has_value());
    return here.emitExpr(offset);
  };
  auto inside = [&](Value word, int64_t j) { return v.less(v.add(v.mul(word, quad), j), extent); };
  auto wordsOf = [&](bool vectors, const BodyEmitter &at, Value word, Value column) {
    Type type = vectors ? Type(VectorType::get(v.lanes, i8)) : i8;
    Values bytes;
    for (int64_t j = 0; j < quad; ++j) {
      Value byte = v.b.create<LLVM::LoadOp>(v.loc, type, v.at(columnsRef, startOf(at, word, j, column), i8), 1);
      if (!shape.columnsSigned)
        byte = withOtherSign(v, byte);
      bytes.push_back(v.select(inside(word, j), byte, v.b.create<arith::ConstantOp>(v.loc, v.b.getZeroAttr(type))));
    }
    return join(bytes, false);
  };
  auto pack = [&](bool vectors) {
    forWords(point, [&](const BodyEmitter &at, Value index, Value word) {
      v.loop(v.i(0), v.i(panelColumns), vectors ? v.lanes : 1, [&](Value q) {
        Value column = vectors ? v.add(first, q) : v.min(v.add(first, q), last);
        store(wordsOf(vectors, at, word, column), to, v.add(v.mul(index, panelColumns), q));
      });
    });
  };
  if (!step || !step->isOne())
    return pack(false);
  v.ifThen(v.less(v.add(first, panelColumns - 1), columns), [&] { pack(true); }, [&] { pack(false); });
}
