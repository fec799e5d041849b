//===- CopyEmitter.cpp - Device code of copies in front of a product --------===//

#include "CopyEmitter.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using shape::Expr;

constexpr int64_t piecesOfWarp = 256;                    ///< of a line
constexpr int64_t turnedLines = 128, turnedDepths = 32; ///< of a warp that turns bytes: four lines of a lane

static int64_t elementBytes(const OperandMap &map) { return map.spec.element.getIntOrFloatBitWidth() / 8; }
static int64_t elementsOfPiece(const OperandMap &map) { return pieceBytes / elementBytes(map); }
Expr cuda::piecesOf(const OperandMap &map) { return Expr::ceildiv(map.spec.dims[0], elementsOfPiece(map)); }
Expr cuda::linesOf(const OperandMap &map) {
  Expr lines(1);
  for (const Expr &e : llvm::drop_begin(map.spec.dims))
    lines = lines * e;
  return lines;
}
/// A warp's share: of one line.
static Expr unitsOfLine(const OperandMap &map) { return Expr::ceildiv(piecesOf(map), piecesOfWarp); }
Expr cuda::unitsOf(const OperandMap &map) {
  if (!map.isTurned)
    return linesOf(map) * unitsOfLine(map);
  Expr batches(1);
  for (const Expr &e : llvm::drop_begin(map.spec.dims, 2))
    batches = batches * e;
  return batches * Expr::ceildiv(map.spec.dims[0], turnedDepths) * Expr::ceildiv(map.spec.dims[1], turnedLines);
}

/// Where in the operand a line of the copy begins.
Value CopyEmitter::startOf(const OperandMap &map, const ProductOperand &o, ArrayRef<unsigned> inner, ArrayRef<unsigned> outer, Value line) {
  std::vector<unsigned> axes;
  for (unsigned i : llvm::reverse(map.batchAxes))
    axes.push_back(bulk.p.shape.batchAxes[i]);
  llvm::append_range(axes, outer);
  BodyEmitter point = base;
  bindAxes(point, frame, axes, line);
  for (unsigned axis : bulk.p.shape.batchAxes) // the others make no difference
    if (!llvm::is_contained(axes, axis))
      point.bindAxis(info.axes[axis], d.i64(0));
  return point.emitExpr(atZero(info, o.offset, inner));
}

/// Behind the line's end nobody looks: its last elements stand there again.
Value CopyEmitter::piece(const ProductOperand &o, Value start, Value first, Value length, unsigned elements, unsigned width) {
  Value buffer = frame.refs[cast<BlockArgument>(o.ref).getArgNumber()], out = d.real(d.vector(elements, o.type), 0);
  Values read;
  for (unsigned i = 0; i < elements; i += width) {
    Value at = d.add(start, d.minU(d.add(first, i), d.sub(length, d.i64(width))));
    read.push_back(d.load(d.vector(width, o.type), d.at(buffer, at, o.type), width * o.type.getIntOrFloatBitWidth() / 8));
  }
  for (unsigned i = 0; i < elements; ++i)
    out = d.insert(out, width == 1 ? read[i] : d.extract(read[i / width], i % width), i);
  return out;
}

void CopyEmitter::copy(const OperandMap &map, const ProductOperand &o, ArrayRef<unsigned> lineAxes, Value unit, Value at) {
  ArrayRef<unsigned> depthAxes = bulk.p.shape.depthAxes, inner = map.byColumns ? lineAxes : depthAxes;
  ArrayRef<unsigned> outer = map.byColumns ? depthAxes : lineAxes;
  unsigned elements = elementsOfPiece(map);
  unsigned width = std::min(frame.known.divisorOf(atZero(info, o.offset, inner), elements), frame.known.divisorOf(map.spec.dims[0], elements));
  Value each = frame.size(unitsOfLine(map)), line = d.div(unit, each), lane = d.wide(d.bitAnd(d.threadId(), 31));
  Value pieces = frame.size(piecesOf(map)), from = d.mul(d.rem(unit, each), piecesOfWarp);
  Value to = d.minU(d.add(from, piecesOfWarp), pieces), length = frame.size(map.spec.dims[0]);
  Value start = startOf(map, o, inner, outer, line), copied = d.byteAt(frame.scratch(), at);
  d.loop(d.add(from, lane), to, d.i64(32), [&](Value i) {
    Value place = d.byteAt(copied, d.mul(d.add(d.mul(line, pieces), i), pieceBytes));
    d.store(piece(o, start, d.mul(i, elements), length, elements, width), place, pieceBytes);
  });
}

/// Four lines at each of a unit's depths. Behind the last line or depth nobody looks: they stand there again.
Values CopyEmitter::words(const OperandMap &map, const ProductOperand &o, ArrayRef<unsigned> lineAxes, Value batch, Value line, Value depth) {
  std::vector<unsigned> inner(lineAxes);
  llvm::append_range(inner, bulk.p.shape.depthAxes);
  Expr step = *bulk.p.shape.stepAlong(o.offset, bulk.p.shape.depthAxes);
  auto isMultiple = [&](const Expr &e) { return frame.known.divisorOf(e, 4) == 4; };
  unsigned width = isMultiple(step) && isMultiple(map.spec.dims[1]) && isMultiple(atZero(info, o.offset, inner)) ? 4 : 1;
  Value start = startOf(map, o, inner, {}, batch), buffer = frame.refs[cast<BlockArgument>(o.ref).getArgNumber()];
  Value depths = frame.size(map.spec.dims[0]), lines = frame.size(map.spec.dims[1]), across = frame.size(step);
  Values out;
  for (unsigned k = 0; k < turnedDepths; ++k) {
    Value row = d.add(start, d.mul(d.minU(d.add(depth, k), d.sub(depths, d.i64(1))), across));
    if (width == 4) {
      out.push_back(d.load(d.i32Type(), d.at(buffer, d.add(row, line), o.type), 4));
      continue;
    }
    Value word = d.zero(d.vector(4, o.type));
    for (unsigned i = 0; i < 4; ++i)
      word = d.insert(word, d.load(o.type, d.at(buffer, d.add(row, d.minU(d.add(line, i), d.sub(lines, d.i64(1)))), o.type), 1), i);
    out.push_back(d.bitcast(word, d.i32Type()));
  }
  return out;
}

void CopyEmitter::storeTurned(const OperandMap &map, ArrayRef<Value> words, Value place, Value line, Value depth) {
  SmallVector<Values> lines(4);
  for (unsigned k = 0; k < words.size(); k += 4)
    for (auto [own, word] : llvm::zip(lines, d.turnBytes(words.slice(k, 4))))
      own.push_back(word);
  Value stride = frame.size(piecesOf(map) * Expr(pieceBytes)), depths = frame.size(map.spec.dims[0]);
  for (unsigned i = 0; i < 4; ++i)
    for (unsigned k = 0; k < turnedDepths; k += pieceBytes) {
      Value at = d.add(depth, k), inside = d.both(d.less(d.add(line, i), frame.size(map.spec.dims[1])), d.less(at, depths));
      Value piece = d.zero(d.vector(4, d.i32Type()));
      for (unsigned w = 0; w < 4; ++w)
        piece = d.insert(piece, lines[i][k / 4 + w], w);
      d.when(inside, [&] { d.store(piece, d.byteAt(place, d.add(d.mul(d.i64(i), stride), at)), pieceBytes); });
    }
}

/// Neighbouring warps read neighbouring lines.
void CopyEmitter::copyTurned(const OperandMap &map, const ProductOperand &o, ArrayRef<unsigned> lineAxes, Value unit, Value at) {
  Value groups = frame.size(Expr::ceildiv(map.spec.dims[1], turnedLines)), chunks = frame.size(Expr::ceildiv(map.spec.dims[0], turnedDepths));
  Value rest = d.div(unit, groups), batch = d.div(rest, chunks), depth = d.mul(d.rem(rest, chunks), turnedDepths);
  Value line = d.add(d.mul(d.rem(unit, groups), turnedLines), d.mul(d.wide(d.bitAnd(d.threadId(), 31)), 4)), lines = frame.size(map.spec.dims[1]);
  d.when(d.less(line, lines), [&] {
    Value stride = frame.size(piecesOf(map) * Expr(pieceBytes)), first = d.add(d.mul(batch, lines), line);
    Value place = d.byteAt(d.byteAt(frame.scratch(), at), d.mul(first, stride));
    storeTurned(map, words(map, o, lineAxes, batch, line, depth), place, line, depth);
  });
}
