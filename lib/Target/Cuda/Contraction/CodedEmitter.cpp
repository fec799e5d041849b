//===- CodedEmitter.cpp - Device code of products with codes ------------------===//

#include "CodedEmitter.h"
#include "MatrixProduct.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

CodedEmitter::CodedEmitter(const CodedProblem &p, const schedule::CodedTile &tile, KernelFrame &frame)
    : EntryEmitter(frame), p(p), tile(tile), weights(p, frame, d.bitAnd(d.threadId(), 31)), fragments(d, halfOf(p.lhsType()), p.bits),
      epilogue(p.epilogue(), frame, hooks, base), quad(weights.ofColumns()), inQuad(weights.ofDepth()),
      lhs(frame.refs[cast<BlockArgument>(kernel::LoadOp(p.product.lhs).getRef()).getArgNumber()]) {}

unsigned CodedEmitter::sharedBytes(const schedule::CodedTile &tile) { return tile.warps() * tile.rows * pitch * 4 + 1024; }

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Which panel and which part of the depth are the warp's. Blocks that share a panel are neighbours.
void CodedEmitter::locate() {
  Value warp = d.warpUniform(d.shr(d.threadId(), 5)), block = d.blockId();
  ofPanels = d.rem(warp, tile.panels);
  number = d.div(warp, tile.panels);
  rows = frame.size(p.rows);
  Value rowTiles = d.narrow(d.ceilDiv(rows, tile.rows));
  firstRow = d.wide(d.mul(d.rem(block, rowTiles), tile.rows));
  firstPanel = d.mul(d.div(block, rowTiles), tile.panels);
  panel = weights.at(d.wide(d.minU(d.add(firstPanel, ofPanels), d.i32(p.panels - 1))));
}

/// What memory has of so many groups, from one (i32) on: their words, then scales and zero points of their blocks, as there are any.
Values CodedEmitter::loadAhead(Value group, unsigned count) {
  Values out;
  for (unsigned i = 0; i < count; ++i)
    out.push_back(weights.words(*panel, d.add(group, i)));
  for (unsigned i = 0; i < count; i += groupsOfBlock())
    for (unsigned b = 0; b < blocksOfGroup(); ++b) {
      auto [scale, zero] = weights.blockAt(*panel, d.add(d.mul(d.add(group, i), p.groupDepth()), b * p.block));
      Type four = d.vector(lines, d.f32Type());
      if (scale)
        out.push_back(scale);
      if (!p.isCentered())
        out.push_back(d.subF(zero ? zero : d.zero(four), d.real(four, p.middle())));
    }
  return out;
}

CodedEmitter::OfBlock CodedEmitter::takeBlock(ArrayRef<Value> &loaded) const {
  OfBlock of;
  for (auto [there, value] : {std::pair(bool(p.scale), &of.scale), std::pair(!p.isCentered(), &of.zero)})
    if (there) {
      *value = loaded.front();
      loaded = loaded.drop_front();
    }
  return of;
}

/// Where the elements begin that the thread multiplies: of one of the eight rows from `ofTile` on; past the last one those of the last one.
Value CodedEmitter::rowStart(unsigned ofTile) {
  Value row = d.minU(d.add(firstRow, d.wide(d.add(quad, ofTile))), d.sub(rows, d.i64(1)));
  lower::BodyEmitter point = base;
  bindAxes(point, frame, p.rowAxes, row);
  return d.add(point.emitExpr(p.lhsStart(info)), d.wide(d.mul(inQuad, p.perWord())));
}

/// A thread's elements of eight rows at a group, as many as a word has codes. `own`: null, or whether they count.
SmallVector<Values> CodedEmitter::loadElements(unsigned ofTile, Value group, Value own) {
  unsigned count = p.perWord();
  Type element = p.lhsType(), whole = d.vector(count, element);
  Value at = d.add(rowStarts[ofTile / 8], d.mul(d.wide(group), p.groupDepth()));
  unsigned bytes = element.getIntOrFloatBitWidth() / 8, width = std::min(count, 16 / bytes);
  if (frame.known.divisorOf(p.lhsStart(info), width) != int64_t(width))
    width = 1;
  Value out = d.zero(whole);
  for (unsigned i = 0; i < count; i += width) {
    Value piece = d.load(d.vector(width, element), d.at(lhs, d.add(at, i), element), bytes * width);
    if (width == count)
      out = piece;
    for (unsigned e = 0; width < count && e < width; ++e)
      out = d.insert(out, d.extract(piece, e), i + e);
  }
  return fragments.elements(own ? d.select(own, out, d.zero(whole)) : out);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Adds the products of a group: 32 columns as two times 16, of which the thread has two each.
void CodedEmitter::multiplyGroup(Value group, Value word, Value own, Products &products) {
  const schedule::Machine &machine = schedule::gpuOf(frame.sm);
  Type half = halfOf(p.lhsType());
  SmallVector<Values> codes;
  for (unsigned i = 0; i < lines; ++i)
    codes.push_back(fragments.codes(d.extract(word, i)));
  for (unsigned r = 0; r < tile.rows / 8; ++r)
    for (const Values &x : loadElements(8 * r, group, own))
      for (unsigned k = 0; k < x.size(); k += 2) {
        Values *sums = &products[3 * r];
        Value right[] = {x[k], x[k + 1]};
        for (unsigned i = 0; i < 2; ++i) {
          const Values &near = codes[2 * i], &far = codes[2 * i + 1];
          sums[i] = multiplyHalves(d, machine, half, sums[i], {near[k], far[k], near[k + 1], far[k + 1]}, right);
        }
        if (!p.isCentered())
          sums[2] = multiplyHalves(d, machine, half, sums[2], Values(4, fragments.one()), right);
      }
}

/// sum + scale * (sum of x * (code - middle) - (zero - middle) * sum of x), of the sums by rows, then by the thread's columns.
Values CodedEmitter::scaled(const OfBlock &of, const Products &products, Values sums) {
  for (unsigned r = 0; r < tile.rows / 8; ++r)
    for (unsigned row = 0; row < 2; ++row)
      for (unsigned i = 0; i < lines; ++i) {
        Value product = products[3 * r + i / 2][2 * (i % 2) + row], &sum = sums[(2 * r + row) * lines + i];
        if (of.zero)
          product = d.subF(product, d.mulF(d.extract(of.zero, i), products[3 * r + 2][row]));
        sum = of.scale ? d.fma(d.extract(of.scale, i), product, sum) : d.addF(sum, product);
      }
  return sums;
}

/// Adds the products of some groups, a block of codes after the other.
Values CodedEmitter::multiply(Value group, unsigned count, ArrayRef<Value> loaded, Values sums) {
  Products zeros(3 * (tile.rows / 8), Values(4, d.f32(0)));
  ArrayRef<Value> words = loaded.take_front(count), ofBlocks = loaded.drop_front(count);
  for (unsigned first = 0; first < count; first += groupsOfBlock())
    for (unsigned b = 0; b < blocksOfGroup(); ++b) {
      Value start = d.add(group, first), own = blocksOfGroup() > 1 ? d.equal(d.shr(inQuad, 1), b) : Value();
      Products products = zeros;
      for (auto [i, word] : llvm::enumerate(words.drop_front(first).take_front(groupsOfBlock())))
        multiplyGroup(d.add(start, i), word, own, products);
      sums = scaled(takeBlock(ofBlocks), products, std::move(sums));
    }
  return sums;
}

/// Warps take the depth by turns, `ahead` groups at a time; what memory has of the next ones is on its way meanwhile.
Values CodedEmitter::sumOverDepth() {
  unsigned ahead = tile.ahead;
  int64_t groups = p.depth / p.groupDepth(), whole = groups / ahead;
  unsigned count = tile.rows / 8 * 2 * lines, left = groups % ahead;
  Values carried(count, d.f32(0));
  if (whole)
    carried.append(loadAhead(d.mul(d.minU(number, d.i32(whole - 1)), ahead), ahead));
  frame.awaitPrevious();
  for (unsigned r = 0; r < tile.rows; r += 8)
    rowStarts.push_back(rowStart(r));
  if (whole)
    carried = d.loop(number, d.i32(whole), d.i32(tile.depthWarps), carried, [&](Value step, ValueRange now) {
      Values state(now), loaded(now.drop_front(count));
      Value next = d.minU(d.add(step, tile.depthWarps), d.i32(whole - 1));
      Values following = loadAhead(d.mul(next, ahead), ahead);
      d.keepAhead();
      state.truncate(count);
      Values out = multiply(d.mul(step, ahead), ahead, loaded, std::move(state));
      out.append(following);
      return out;
    });
  carried.truncate(count);
  if (!left)
    return carried;
  Value rest = d.i32(whole * ahead);
  return d.choose(d.equal(number, whole % tile.depthWarps), [&] { return multiply(rest, left, loadAhead(rest, left), carried); },
                  [&] { return carried; });
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Value CodedEmitter::placeOf(Value number, Value ofPanels, Value row, Value column) {
  Value of = d.add(d.mul(d.add(d.mul(number, tile.panels), ofPanels), tile.rows), row);
  return d.at(sumsAt, d.add(d.mul(of, pitch), column), d.f32Type());
}

void CodedEmitter::meet(ArrayRef<Value> sums) {
  Type four = d.vector(lines, d.f32Type());
  for (unsigned r = 0; r < tile.rows / 8; ++r)
    for (unsigned row = 0; row < 2; ++row) {
      Value own = d.zero(four);
      for (unsigned i = 0; i < lines; ++i)
        own = d.insert(own, sums[(2 * r + row) * lines + i], i);
      Value at = d.add(d.mul(inQuad, 2), 8 * r + row);
      d.store(own, placeOf(number, ofPanels, at, d.mul(quad, lines)), 16);
    }
  d.barrier();
}

/// The sums of all parts of the depth at four columns of a row.
void CodedEmitter::store(Value item) {
  constexpr unsigned quads = CodedProblem::panelColumns / lines;
  Value column = d.mul(d.rem(item, quads), lines), row = d.rem(d.div(item, quads), tile.rows), of = d.div(item, quads * tile.rows);
  Value sum = d.zero(d.vector(lines, d.f32Type()));
  for (unsigned w = 0; w < tile.depthWarps; ++w)
    sum = d.addF(sum, d.load(sum.getType(), placeOf(d.i32(w), of, row, column), 16));
  Value m = d.add(firstRow, d.wide(row)), ownPanel = d.add(firstPanel, of);
  d.when(d.both(d.less(m, rows), d.less(ownPanel, d.i32(p.panels))), [&] {
    Value n = d.wide(d.add(d.mul(ownPanel, p.panelColumns), column));
    for (unsigned i = 0, width = epilogue.width(); i < lines; i += width) {
      Values values;
      for (unsigned l = 0; l < width; ++l)
        values.push_back(d.extract(sum, i + l));
      epilogue.store(epilogue.atRow(m), d.add(n, i), values);
    }
  });
}

void CodedEmitter::emit() {
  locate();
  sumsAt = frame.dynamicShared();
  meet(sumOverDepth());
  d.loop(d.threadId(), d.i32(tile.panels * tile.rows * CodedProblem::panelColumns / lines), d.i32(tile.threads()), [&](Value item) { store(item); });
}
