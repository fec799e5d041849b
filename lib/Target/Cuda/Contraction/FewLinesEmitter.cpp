//===- FewLinesEmitter.cpp - Device code of products of few lines -----------===//

#include "FewLinesEmitter.h"
#include "../Float8.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using shape::Expr;

constexpr unsigned depthsAhead = 4; ///< pieces that a thread has in flight where lines lie side by side
constexpr unsigned mostSums = 8192; ///< of a block in shared memory, where lines lie side by side

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Which lines of which batch are this block's.
void FewLinesEmitter::prepare(Value block, unsigned perBlock) {
  tid = d.threadId();
  lane = d.bitAnd(tid, 31);
  warp = d.warpUniform(d.shr(tid, 5));
  lines = frame.size(f.lines());
  count = frame.size(f.count());
  depth = frame.size(f.p.k);
  batches = frame.size(f.p.batch);
  Value perBatch = d.ceilDiv(lines, perBlock);
  batch = d.div(block, perBatch);
  first = d.mul(d.rem(block, perBatch), perBlock);
  bindBatch(base, f.p.shape.batchAxes, batch);
  for (unsigned m = 0; m < few; ++m)
    narrow.push_back(fewLineAt(d.minU(d.i64(m), d.sub(count, d.i64(1)))));
}

FewLinesEmitter::Line FewLinesEmitter::fewLineAt(Value m) {
  if (!f.isTurned())
    return lineOf(f.few(), f.fewAxes(), m);
  return {d.mul(d.add(d.mul(batch, count), m), depth), true};
}

FewLinesEmitter::Line FewLinesEmitter::lineOf(const ProductOperand &o, ArrayRef<unsigned> axes, Value index) {
  BodyEmitter point = base;
  bindAxes(point, frame, axes, index);
  return {point.emitExpr(atZero(info, o.offset, f.p.shape.depthAxes))};
}

/// A vector of bytes is loaded as words where it is some.
static Value loadVector(DeviceBuilder &d, Type element, unsigned width, Value pointer) {
  unsigned bytes = element.getIntOrFloatBitWidth() / 8, alignment = std::min(16u, bytes * width);
  if (bytes > 1 || width % 4)
    return d.load(d.vector(width, element), pointer, alignment);
  return d.bitcast(d.load(d.vector(width / 4, d.i32Type()), pointer, alignment), d.vector(width, element));
}

/// `width` elements from a depth on, as numbers of a type: one access where they lie side by side at a multiple of its size.
Value FewLinesEmitter::read(const ProductOperand &o, const Line &line, Value at, unsigned width, Type as) {
  if (line.turned)
    return asNumbers(d, loadVector(d, turnedType(), width, d.at(frame.scratch(), d.add(line.start, at), turnedType())), as, o.format);
  Value buffer = frame.refs[cast<BlockArgument>(o.ref).getArgNumber()];
  Expr step = *f.p.shape.stepAlong(o.offset, f.p.shape.depthAxes);
  Value start = d.add(line.start, d.mul(at, frame.size(step)));
  unsigned bytes = o.type.getIntOrFloatBitWidth() / 8;
  auto isMultiple = [&](const Expr &e) { return frame.known.divisorOf(e, width) == width; };
  bool wholly =
      width == 1 || (step.isOne() && isMultiple(startOf(info, o.offset, f.p.shape.depthAxes)) && isMultiple(f.p.k));
  if (wholly)
    return asNumbers(d, loadVector(d, o.type, width, d.at(buffer, start, o.type)), as, o.format);
  Value out = d.zero(d.vector(width, as));
  for (unsigned i = 0; i < width; ++i) {
    Value x = d.load(o.type, d.at(buffer, d.add(start, d.mul(d.i64(i), frame.size(step))), o.type), bytes);
    out = d.insert(out, asNumbers(d, x, as, o.format), i);
  }
  return out;
}

/// The same as they are multiplied: as f32; of integers words of four, or i32. Floats of 8 bits stay so on their way, in a quarter of the
/// registers (numbersOf).
Value FewLinesEmitter::elements(const ProductOperand &o, const Line &line, Value at, unsigned width) {
  Value v = read(o, line, at, width, f.dotsWords() || f.p.multipliesFloat8() ? o.type : sumType());
  return f.dotsWords() ? d.bitcast(v, d.vector(width / 4, d.i32Type())) : v;
}

Value FewLinesEmitter::numbersOf(const ProductOperand &o, Value loaded) {
  return f.p.multipliesFloat8() ? asNumbers(d, loaded, sumType(), o.format) : loaded;
}

Value FewLinesEmitter::dotWords(Value wide, Value few, Value sum) {
  return d.dotBytes(wide, few, sum, f.wide().format.isUnsignedInteger(), f.few().format.isUnsignedInteger());
}

Value FewLinesEmitter::multiplyAdd(Value wide, Value few, Value sum) {
  return f.dotsWords() ? dotWords(wide, few, sum) : d.multiplyAdd(wide, few, sum);
}

static Value elementOf(DeviceBuilder &d, Value v, unsigned i) {
  return isa<VectorType>(v.getType()) ? d.extract(v, i) : v;
}

//===----------------------------------------------------------------------===//
// Elements side by side in depth
//===----------------------------------------------------------------------===//

/// Adds the products of all of the warp's lines at some depths; `inside`: null, or whether they are before the end.
Values FewLinesEmitter::multiplyAt(ArrayRef<Value> depths, Value inside, ValueRange sums) {
  Values out(sums), loaded;
  auto load = [&](const ProductOperand &o, const Line &line, Value at) {
    Value v = elements(o, line, at, f.width);
    return inside ? d.select(inside, v, d.zero(v.getType())) : v;
  };
  for (Value at : depths)
    for (const Line &line : wide)
      loaded.push_back(load(f.wide(), line, at));
  for (auto [n, at] : llvm::enumerate(depths)) {
    Values here;
    for (unsigned i = 0; i < wide.size(); ++i)
      here.push_back(numbersOf(f.wide(), loaded[n * wide.size() + i]));
    for (unsigned m = 0; m < few; ++m) {
      Value x = numbersOf(f.few(), load(f.few(), narrow[m], at));
      for (unsigned i = 0; i < wide.size(); ++i)
        for (unsigned e = 0; e < f.width / (f.dotsWords() ? 4 : 1); ++e) {
          Value &sum = out[i * few + m];
          sum = multiplyAdd(elementOf(d, here[i], e), elementOf(d, x, e), sum);
        }
    }
  }
  return out;
}

void FewLinesEmitter::emitByDepth() {
  unsigned groups = groupsOf(f, few), inDepth = warps / groups, perBlock = linesOfBlock(f, few);
  prepare(d.wide(d.blockId()), perBlock);
  Value group = d.rem(warp, groups), number = d.div(warp, groups), last = d.sub(lines, d.i64(1));
  for (unsigned i = 0; i < linesOfWarp; ++i) {
    Value line = d.add(first, d.wide(d.add(d.mul(group, linesOfWarp), i)));
    wide.push_back(lineOf(f.wide(), f.wideAxes(), d.minU(line, last)));
  }
  unsigned ahead = few <= mostForAllWarps ? 2 : 1;
  int64_t step = int64_t(32) * f.width * inDepth;
  Value own = d.wide(d.mul(d.add(d.mul(number, 32), lane), f.width)), end = d.sub(depth, d.rem(depth, step * ahead));
  Values sums(linesOfWarp * few, d.zero(sumType()));
  sums = d.loop(d.i64(0), end, d.i64(step * ahead), sums, [&](Value from, ValueRange now) {
    Values depths;
    for (unsigned i = 0; i < ahead; ++i)
      depths.push_back(d.add(d.add(from, own), i * step));
    return multiplyAt(depths, {}, now);
  });
  sums = d.loop(end, depth, d.i64(step), sums, [&](Value from, ValueRange now) {
    Value at = d.add(from, own), inside = d.less(at, depth);
    return multiplyAt(d.select(inside, at, d.i64(0)), inside, now);
  });
  Value array = frame.sharedArray("sums", sumType(), inDepth * perBlock * few);
  d.addOverLanes(sums, lane);
  unsigned left = sums.size(), lanesOfOne = 32 * left / (linesOfWarp * few);
  d.when(d.equal(d.rem(lane, lanesOfOne), 0), [&] {
    Value at = d.mul(d.add(d.mul(number, perBlock), d.mul(group, linesOfWarp)), few);
    at = d.add(at, d.mul(d.div(lane, lanesOfOne), left));
    for (unsigned i = 0; i < left; ++i)
      d.store(sums[i], d.at(array, d.add(at, i), sumType()), 4);
  });
  d.barrier();
  d.loop(tid, d.i32(perBlock * few), d.i32(threads), [&](Value i) {
    Value sum = d.zero(sumType());
    for (unsigned w = 0; w < inDepth; ++w)
      sum = d.sum(sum, d.load(sumType(), d.at(array, d.add(i, w * perBlock * few), sumType()), 4));
    finishAt(d.add(first, d.wide(d.div(i, few))), d.wide(d.rem(i, few)), sum);
  });
}

//===----------------------------------------------------------------------===//
// Lines side by side
//===----------------------------------------------------------------------===//

/// Adds the products of the thread's lines at `ahead` depths that lie side by side: one access reads what a few line has there.
Values FewLinesEmitter::multiplyLines(Value from, unsigned ahead, ValueRange sums) {
  Values out(sums), loaded;
  const ProductOperand &o = f.wide();
  bool inWords = f.p.multipliesIntegers() && ahead == 4 && f.width % 4 == 0;
  Value buffer = frame.refs[cast<BlockArgument>(o.ref).getArgNumber()];
  Value step = frame.size(*f.p.shape.stepAlong(o.offset, f.p.shape.depthAxes));
  for (unsigned n = 0; n < ahead; ++n) {
    Value pointer = d.at(buffer, d.add(wide[0].start, d.mul(d.add(from, n), step)), o.type);
    Value v = loadVector(d, o.type, f.width, pointer);
    loaded.push_back(inWords ? v : asNumbers(d, v, sumType(), o.format));
  }
  if (inWords)
    return multiplyWords(from, loaded, sums);
  for (unsigned m = 0; m < few; ++m) {
    Value x = numbersOf(f.few(), elements(f.few(), narrow[m], from, ahead));
    for (unsigned n = 0; n < ahead; ++n)
      for (unsigned e = 0; e < f.width; ++e) {
        Value &sum = out[m * f.width + e];
        sum = d.multiplyAdd(elementOf(d, loaded[n], e), elementOf(d, x, n), sum);
      }
  }
  return out;
}

/// The same of bytes at four depths: what four lines have there is turned, so that one instruction multiplies a line's.
Values FewLinesEmitter::multiplyWords(Value from, ArrayRef<Value> loaded, ValueRange sums) {
  Values out(sums), words;
  for (Value v : loaded)
    words.push_back(d.bitcast(v, d.vector(f.width / 4, d.i32Type())));
  Values lines;
  for (unsigned w = 0; w < f.width / 4; ++w) {
    Values four;
    for (Value v : words)
      four.push_back(elementOf(d, v, w));
    lines.append(d.turnBytes(four));
  }
  for (unsigned m = 0; m < few; ++m) {
    Value x = d.bitcast(read(f.few(), narrow[m], from, 4, f.few().type), d.i32Type());
    for (unsigned e = 0; e < f.width; ++e) {
      Value &sum = out[m * f.width + e];
      sum = dotWords(lines[e], x, sum);
    }
  }
  return out;
}

/// Brings the sums of a block's warps to shared memory, `each` a warp: the first `meeting` of them lay theirs down, the others add
/// theirs on top, as many at a time. What follows is one loop over so many parts, whatever the number of lines.
void FewLinesEmitter::meet(Value array, ValueRange sums, unsigned each, unsigned meeting) {
  unsigned perBlock = 32 * f.width, alignment = std::min(16u, 4 * f.width);
  Type type = d.vector(f.width, sumType());
  Value start = d.add(d.mul(d.rem(warp, meeting), each), d.mul(lane, f.width)), turn = d.div(warp, meeting);
  auto layDown = [&](bool onTop) {
    for (unsigned m = 0; m < few; ++m) {
      Value place = d.at(array, d.add(start, m * perBlock), sumType()), own = sums[m * f.width];
      if (f.width > 1)
        own = d.zero(type);
      for (unsigned e = 0; f.width > 1 && e < f.width; ++e)
        own = d.insert(own, sums[m * f.width + e], e);
      d.store(onTop ? d.sum(d.load(type, place, alignment), own) : own, place, alignment);
    }
  };
  d.when(d.equal(turn, 0), [&] { layDown(/*onTop=*/false); });
  d.barrier();
  d.loop(d.i32(1), d.i32(warps / meeting), d.i32(1), [&](Value now) {
    d.when(d.equal(turn, now), [&] { layDown(/*onTop=*/true); });
    d.barrier();
  });
}

void FewLinesEmitter::emitByLines() {
  unsigned perBlock = linesOfBlock(f, few);
  Value all = d.mul(d.ceilDiv(frame.size(f.lines()), perBlock), frame.size(f.p.batch)), block = d.wide(d.blockId());
  parts = d.div(d.wide(d.gridSize()), all);
  part = d.div(block, all);
  prepare(d.rem(block, all), perBlock);
  constexpr int64_t step = warps * depthsAhead;
  Value size = d.mul(d.ceilDiv(d.ceilDiv(depth, parts), step), step);
  Value from = d.minU(d.mul(part, size), depth), to = d.minU(d.add(from, size), depth);
  Value own = d.add(first, d.wide(d.mul(lane, f.width)));
  wide = {lineOf(f.wide(), f.wideAxes(), d.minU(own, d.sub(lines, d.i64(f.width))))};
  Value number = d.wide(warp), end = d.add(from, d.sub(d.sub(to, from), d.rem(d.sub(to, from), step)));
  Values sums(f.width * few, d.zero(sumType()));
  sums = d.loop(from, end, d.i64(step), sums, [&](Value k, ValueRange now) {
    return multiplyLines(d.add(k, d.mul(number, depthsAhead)), depthsAhead, now);
  });
  sums = d.loop(d.add(end, number), to, d.i64(warps), sums,
                [&](Value k, ValueRange now) { return multiplyLines(k, 1, now); });
  unsigned each = perBlock * few, meeting = warps / 2;
  while (meeting * each > mostSums)
    meeting /= 2;
  Value array = frame.sharedArray("sums", sumType(), meeting * each);
  meet(array, sums, each, meeting);
  d.loop(tid, d.i32(each), d.i32(threads), [&](Value i) {
    Value sum = d.zero(sumType());
    for (unsigned w = 0; w < meeting; ++w)
      sum = d.sum(sum, d.load(sumType(), d.at(array, d.add(i, w * each), sumType()), 4));
    finishPart(d.add(first, d.wide(d.rem(i, perBlock))), d.wide(d.div(i, perBlock)), sum);
  });
  d.when(d.both(d.equal(tid, 0), d.equal(d.blockId(), 0)),
         [&] { d.when(d.less(d.i64(1), parts), [&] { d.store(parts, frame.scratch(), 8); }); });
}

/// The result, or the sum of a part of the depth.
void FewLinesEmitter::finishPart(Value line, Value m, Value sum) {
  d.branch(
      d.equal(parts, 1), [&] { finishAt(line, m, sum); },
      [&] { d.when(d.both(d.less(line, lines), d.less(m, count)), [&] { d.store(sum, partialAt(part, m, line), 4); }); });
}

Value FewLinesEmitter::partialAt(Value part, Value m, Value line) {
  Value row = d.add(d.mul(d.add(d.mul(part, batches), batch), count), m);
  return d.at(d.byteAt(frame.scratch(), scratchHeader), d.add(d.mul(row, lines), line), sumType());
}

void FewLinesEmitter::emitSum() {
  lines = frame.size(f.lines());
  count = frame.size(f.count());
  batches = frame.size(f.p.batch);
  Value index = d.add(d.mul(d.wide(d.blockId()), threads), d.wide(d.threadId())), each = d.mul(lines, count);
  d.when(d.less(index, d.mul(each, batches)), [&] {
    batch = d.div(index, each);
    bindBatch(base, f.p.shape.batchAxes, batch);
    Value rest = d.rem(index, each), line = d.rem(rest, lines), m = d.div(rest, lines);
    Value all = d.load(d.i64Type(), frame.scratch(), 8);
    Values sum = d.loop(d.i64(0), all, d.i64(1), Values{d.zero(sumType())}, [&](Value i, ValueRange now) {
      return Values{d.sum(now[0], d.load(sumType(), partialAt(i, m, line), 4))};
    });
    finishAt(line, m, sum[0]);
  });
}

void FewLinesEmitter::emitTurn() {
  count = frame.size(f.count());
  depth = frame.size(f.p.k);
  Value index = d.add(d.mul(d.wide(d.blockId()), threads), d.wide(d.threadId())), each = d.mul(count, depth);
  d.when(d.less(index, d.mul(each, frame.size(f.p.batch))), [&] {
    bindBatch(base, f.p.shape.batchAxes, d.div(index, each));
    // Neighbouring threads read neighbouring lines.
    Value rest = d.rem(index, each), m = d.rem(rest, count), at = d.div(rest, count);
    Value x = read(f.few(), lineOf(f.few(), f.fewAxes(), m), at, 1, turnedType());
    Value to = d.add(d.mul(d.add(d.mul(d.div(index, each), count), m), depth), at);
    d.store(x, d.at(frame.scratch(), to, turnedType()), turnedType().getIntOrFloatBitWidth() / 8);
  });
}

/// The product's element at one of the few lines and one of the others, where there are so many.
void FewLinesEmitter::finishAt(Value line, Value m, Value sum) {
  d.when(d.both(d.less(line, lines), d.less(m, count)),
         [&] { epilogue.store(epilogue.atRow(f.fewAreRows ? m : line), f.fewAreRows ? line : m, sum); });
}
