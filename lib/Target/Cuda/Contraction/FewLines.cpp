//===- FewLines.cpp - Products of few rows or few columns -------------------===//
//
// What takes time is the wide operand's way from memory. Every thread reads it in pieces of 16 bytes, several in
// flight, and multiplies each with what all few lines have there. Where its elements lie side by side in depth, the
// warps of a block take parts of the depth of the same lines; where lines lie side by side, threads take neighbouring
// lines, warps and blocks parts of the depth. Few lines that would have to be gathered are turned by a launch of their
// own. Sums meet in shared memory and, between blocks, in a second launch, always in the same order. Bytes are multiplied four depths at
// a time, in words.
//
//===----------------------------------------------------------------------===//

#include "FewLines.h"
#include "ProductChoice.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using shape::Expr;

namespace {

constexpr unsigned threads = 256, warps = threads / 32;
constexpr unsigned linesOfWarp = 4;     ///< whose pieces a warp has in flight
constexpr unsigned depthsAhead = 4;     ///< pieces that a thread has in flight where lines lie side by side
constexpr unsigned mostSums = 8192;     ///< of a block in shared memory, where lines lie side by side
constexpr unsigned mostForAllWarps = 4; ///< few lines up to which all of a block's warps take the same lines
constexpr int64_t leastDepth = 128;     ///< of a block
constexpr int64_t blocksPerProcessor = 4;
constexpr int64_t scratchHeader = 16; ///< bytes in front of the sums: into how many parts the depth is cut

class FewLinesEmitter : public EntryEmitter {
public:
  /// `few`: lines that there are sums for.
  FewLinesEmitter(const FewLines &f, unsigned few, KernelFrame &frame)
      : EntryEmitter(frame), f(f), few(few), epilogue(f.p.epilogue(), frame, hooks, base) {}
  void emitByDepth();
  void emitByLines();
  /// The second launch: adds up the parts of the depth.
  void emitSum();
  /// The first launch, where the few lines lie side by side and the wide operand's depths: they come to the scratch
  /// memory as f32, or as the bytes that they are, with their depths side by side.
  void emitTurn();
  /// How many groups of a block's warps take lines of their own.
  static unsigned groupsOf(const FewLines &f, unsigned few) {
    unsigned groups = few <= mostForAllWarps ? 1 : 4;
    while (groups < warps && 32 * f.width * (warps / groups) > f.p.k.constant().value_or(INT64_MAX))
      groups *= 2; // warps past the end of a short depth would have nothing to do
    return groups;
  }
  static unsigned linesOfBlock(const FewLines &f, unsigned few) {
    return f.byDepth ? linesOfWarp * groupsOf(f, few) : 32 * f.width;
  }

private:
  struct Line {
    Value start;         ///< of the elements along the depth (i64)
    bool turned = false; ///< they lie in the scratch memory
  };
  Type sumType() const { return f.p.sumType(); }
  Type turnedType() { return f.p.multipliesBytes() ? f.few().type : d.f32Type(); }
  void prepare(Value block, unsigned perBlock);
  Line fewLineAt(Value m);
  Line lineOf(const ProductOperand &o, ArrayRef<unsigned> axes, Value index);
  Value read(const ProductOperand &o, const Line &line, Value depth, unsigned width, Type as);
  Value elements(const ProductOperand &o, const Line &line, Value depth, unsigned width);
  Value multiplyAdd(Value wide, Value few, Value sum);
  Values multiplyWords(Value from, ArrayRef<Value> loaded, ValueRange sums);
  Values multiplyAt(ArrayRef<Value> depths, Value inside, ValueRange sums);
  Values multiplyLines(Value from, unsigned ahead, ValueRange sums);
  void meet(Value array, ValueRange sums, unsigned each, unsigned meeting);
  void finishAt(Value line, Value m, Value sum);
  void finishPart(Value line, Value m, Value sum);
  Value partialAt(Value part, Value m, Value line);

  const FewLines &f;
  unsigned few;
  ProductEpilogue epilogue;
  Value tid, lane, warp, lines, count, depth, batch, batches, first, parts, part;
  SmallVector<Line> wide, narrow;
};

} // namespace

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
  Values extents;
  for (unsigned a : axes)
    extents.push_back(frame.size(info.extents[a]));
  for (auto [axis, i] : llvm::zip(axes, delinearize(d, index, extents)))
    point.bindAxis(info.axes[axis], i);
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
    return d.convert(loadVector(d, turnedType(), width, d.at(frame.scratch(), d.add(line.start, at), turnedType())), as, o.isUnsigned);
  Value buffer = frame.refs[cast<BlockArgument>(o.ref).getArgNumber()];
  Expr step = *f.p.shape.stepAlong(o.offset, f.p.shape.depthAxes);
  Value start = d.add(line.start, d.mul(at, frame.size(step)));
  unsigned bytes = o.type.getIntOrFloatBitWidth() / 8;
  auto isMultiple = [&](const Expr &e) { return frame.known.divisorOf(e, width) == width; };
  bool wholly =
      width == 1 || (step.isOne() && isMultiple(startOf(info, o.offset, f.p.shape.depthAxes)) && isMultiple(f.p.k));
  if (wholly)
    return d.convert(loadVector(d, o.type, width, d.at(buffer, start, o.type)), as, o.isUnsigned);
  Value out = d.zero(d.vector(width, as));
  for (unsigned i = 0; i < width; ++i) {
    Value x = d.load(o.type, d.at(buffer, d.add(start, d.mul(d.i64(i), frame.size(step))), o.type), bytes);
    out = d.insert(out, d.convert(x, as, o.isUnsigned), i);
  }
  return out;
}

/// The same as they are multiplied: as f32; of bytes words of four, or i32.
Value FewLinesEmitter::elements(const ProductOperand &o, const Line &line, Value at, unsigned width) {
  Value v = read(o, line, at, width, f.dotsWords() ? o.type : sumType());
  return f.dotsWords() ? d.bitcast(v, d.vector(width / 4, d.i32Type())) : v;
}

Value FewLinesEmitter::multiplyAdd(Value wide, Value few, Value sum) {
  return f.dotsWords() ? d.dotBytes(wide, few, sum, f.wide().isUnsigned, f.few().isUnsigned) : d.multiplyAdd(wide, few, sum);
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
  for (auto [n, at] : llvm::enumerate(depths))
    for (unsigned m = 0; m < few; ++m) {
      Value x = load(f.few(), narrow[m], at);
      for (unsigned i = 0; i < wide.size(); ++i)
        for (unsigned e = 0; e < f.width / (f.dotsWords() ? 4 : 1); ++e) {
          Value &sum = out[i * few + m];
          sum = multiplyAdd(elementOf(d, loaded[n * wide.size() + i], e), elementOf(d, x, e), sum);
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
  bool inWords = f.p.multipliesBytes() && ahead == 4 && f.width % 4 == 0;
  Value buffer = frame.refs[cast<BlockArgument>(o.ref).getArgNumber()];
  Value step = frame.size(*f.p.shape.stepAlong(o.offset, f.p.shape.depthAxes));
  for (unsigned n = 0; n < ahead; ++n) {
    Value pointer = d.at(buffer, d.add(wide[0].start, d.mul(d.add(from, n), step)), o.type);
    Value v = loadVector(d, o.type, f.width, pointer);
    loaded.push_back(inWords ? v : d.convert(v, sumType(), o.isUnsigned));
  }
  if (inWords)
    return multiplyWords(from, loaded, sums);
  for (unsigned m = 0; m < few; ++m) {
    Value x = elements(f.few(), narrow[m], from, ahead);
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
      sum = d.dotBytes(lines[e], x, sum, f.wide().isUnsigned, f.few().isUnsigned);
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

//===----------------------------------------------------------------------===//
// Which kernels it takes
//===----------------------------------------------------------------------===//

/// On tensor cores more lines cost nothing; on the ordinary cores a tile of few lines is mostly empty.
static int64_t mostLines(const Generator &g, const GemmProblem &p) { return takesWarpGemm(g, p) ? 4 : 16; }

/// As many lines as entry points are there for: those that there are, or where that is open all up to the most. Sizes
/// that no wide access can read make do with one.
static SmallVector<unsigned> countsOf(const FewLines &f, int64_t most, bool anySize) {
  SmallVector<unsigned> out;
  std::optional<int64_t> fixed = f.count().constant();
  for (unsigned n : {1u, 4u, 8u, 16u})
    if (n <= most && (fixed ? *fixed <= n : !anySize || n == most)) {
      out.push_back(n);
      if (fixed)
        break;
    }
  return out;
}

/// Which lines may be few, where both are open.
enum class FewSide { Rows, Columns };

static std::optional<FewLines> problemOf(const Generator &g, bool mayAssume, FewSide side = FewSide::Rows) {
  std::optional<GemmProblem> p = gemmProblem(g.info);
  if (!p || p->sumType().isF64() || !p->lhs.isDirect() || !p->rhs.isDirect() || namesTile(g.info))
    return std::nullopt;
  int64_t most = mostLines(g, *p), many = most + 1;
  int64_t rows = p->m.constant().value_or(0), columns = p->n.constant().value_or(many);
  bool fewAreRows = rows <= most && rows <= columns;
  bool bothOpen = !p->m.constant() && !p->n.constant();
  if ((!fewAreRows && columns > most) || (side == FewSide::Columns && !bothOpen))
    return std::nullopt;
  fewAreRows &= side == FewSide::Rows;
  FewLines f{*p, fewAreRows, false, 1, lower::Divisibility(g.info)};
  const Expr &offset = f.wide().offset;
  std::optional<Expr> step = p->shape.stepAlong(offset, p->shape.depthAxes);
  if (!step || !p->shape.stepAlong(f.few().offset, p->shape.depthAxes) || f.lines().constant().value_or(many) <= most)
    return std::nullopt;
  f.byDepth = step->isOne();
  ArrayRef<unsigned> run = f.byDepth ? ArrayRef<unsigned>(p->shape.depthAxes) : f.wideAxes();
  std::optional<Expr> length = runAlong(g.info, offset, run);
  if (!length)
    return std::nullopt;
  int64_t full = 128 / f.wide().type.getIntOrFloatBitWidth();
  Expr start = startOf(g.info, offset, run);
  if (mayAssume && f.known.assume(*length, full))
    f.known.assume(start, full);
  f.width = std::min(f.known.divisorOf(*length, full), f.known.divisorOf(start, full));
  // The few lines' own pieces are as wide, or else taken apart.
  if (f.byDepth && mayAssume)
    f.known.assume(startOf(g.info, f.few().offset, p->shape.depthAxes), f.width);
  return f;
}

bool cuda::alwaysFewLines(const Generator &g) {
  std::optional<FewLines> f = problemOf(g, true);
  return f && f->count().constant();
}

static llvm::Error addEntry(Generator &g, const FewLines &f, unsigned few, std::string name,
                            llvm::function_ref<void(FewLinesEmitter &)> emit) {
  KernelFrame frame(g.info, g.device, name, threads, g.sm, 0, g.dependent());
  frame.known = f.known;
  frame.fitBlocks(2);
  FewLinesEmitter emitter(f, few, frame);
  emit(emitter);
  return g.addEntry(frame, name, emitter.error());
}

/// The entry point for up to `few` lines; `other` is the one that turns them in front of it or adds up behind it, as it is for any
/// number.
static llvm::Expected<LaunchWords> addEntries(Generator &g, const FewLines &f, unsigned few, Value other, StringRef suffix) {
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  Value entry = plan.constant(g.entries.size()), block = plan.constant(threads), none = plan.constant(0);
  Expr each = Expr::ceildiv(f.lines(), FewLinesEmitter::linesOfBlock(f, few));
  Value blocks = plan.size(f.p.batch * each * Expr::min(Expr(1), f.count()));
  std::string name = (f.byDepth ? "few_lines_by_depth_" : "few_lines_") + std::to_string(few) + suffix.str();
  if (llvm::Error e = addEntry(g, f, few, name, [&](FewLinesEmitter &e) { f.byDepth ? e.emitByDepth() : e.emitByLines(); }))
    return std::move(e);
  if (f.isTurned()) {
    Value elements = plan.size(f.p.batch * f.count() * f.p.k);
    // Without depth there is nothing to turn, but there are results.
    Value grid = h.b.create<arith::MaxSIOp>(h.loc, h.ceilDiv(elements, threads), h.minU(blocks, plan.constant(1)));
    return LaunchWords{other, grid, block, entry, blocks, h.mul(elements, f.p.multipliesBytes() ? 1 : 4)};
  }
  if (f.byDepth)
    return LaunchWords{entry, blocks, block, entry, none, none};
  Value one = plan.constant(1), wanted = h.mul(plan.processors(), blocksPerProcessor);
  auto largest = [&](Value x, Value y) { return h.b.create<arith::MaxSIOp>(h.loc, x, y).getResult(); };
  Value most = largest(one, h.div(plan.size(f.p.k), leastDepth));
  Value parts = h.minU(h.ceilDiv(wanted, largest(one, blocks)), most), cut = h.less(one, parts);
  Value results = plan.size(f.p.batch * f.lines() * f.count());
  Value bytes = h.add(h.mul(h.mul(results, parts), 4), scratchHeader);
  return LaunchWords{entry,
                     h.mul(blocks, parts),
                     block,
                     other,
                     h.select(cut, h.ceilDiv(results, threads), none),
                     h.select(cut, bytes, none)};
}

/// The entry points for as many lines as there may be; `most` lines at most.
static llvm::Expected<LaunchWords> addCounts(Generator &g, const FewLines &f, int64_t most, bool anySize,
                                             StringRef suffix) {
  std::optional<LaunchWords> launch;
  SmallVector<unsigned> counts = countsOf(f, most, anySize);
  Value other = g.plan.constant(g.entries.size());
  if (f.isTurned() || !f.byDepth) {
    StringRef name = f.byDepth ? "few_lines_turn" : "few_lines_sum";
    if (llvm::Error e = addEntry(g, f, counts.back(), (name + suffix).str(),
                                 [&](FewLinesEmitter &e) { f.byDepth ? e.emitTurn() : e.emitSum(); }))
      return std::move(e);
  }
  for (unsigned few : llvm::reverse(counts)) {
    llvm::Expected<LaunchWords> own = addEntries(g, f, few, other, suffix);
    if (!own)
      return own.takeError();
    Value fits = g.plan.d.compare(arith::CmpIPredicate::sle, g.plan.size(f.count()), g.plan.constant(few));
    launch = launch ? own->orElse(g.plan.d, fits, *launch) : *own;
  }
  return *launch;
}

static llvm::Expected<bool> addSide(Generator &g, FewSide side) {
  std::optional<FewLines> f = problemOf(g, /*mayAssume=*/true, side);
  if (!f)
    return false;
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  int64_t most = mostLines(g, f->p);
  std::string suffix = side == FewSide::Columns ? "_columns" : "";
  bool always = f->count().constant().has_value();
  Value taken = always ? h.i1(true) : h.compare(arith::CmpIPredicate::sle, plan.size(f->count()), plan.constant(most));
  llvm::Expected<LaunchWords> launch = addCounts(g, *f, most, side == FewSide::Columns, suffix);
  if (launch && !f->known.conditions().empty()) {
    LaunchWords ofWide = *launch;
    Value wide = plan.holds(f->known);
    std::optional<FewLines> any = problemOf(g, /*mayAssume=*/false, side);
    if (any && any->byDepth == f->byDepth) {
      launch = addCounts(g, *any, most, /*anySize=*/true, suffix + "_any");
      if (launch)
        launch = ofWide.orElse(h, wide, *launch);
    }
  }
  if (!launch)
    return launch.takeError();
  auto set = [&](unsigned word, Value v) { plan.set(word, always ? v : h.select(taken, v, plan.word(word))); };
  Value none = plan.constant(0);
  set(LATHE_CUDA_ENTRY, launch->entry);
  set(LATHE_CUDA_GRID, launch->grid);
  for (unsigned word : {LATHE_CUDA_GRID + 1, LATHE_CUDA_GRID + 2})
    plan.set(word, 1);
  set(LATHE_CUDA_BLOCK, launch->block);
  set(LATHE_CUDA_SHARED, none);
  set(LATHE_CUDA_PERSISTENT, none);
  set(LATHE_CUDA_MAPS, none);
  set(LATHE_CUDA_SCRATCH, launch->scratch);
  plan.dropFollowing(taken);
  plan.follow(launch->next, h.select(taken, launch->nextGrid, none), launch->block);
  return true;
}

llvm::Expected<bool> cuda::generateFewLines(Generator &g) {
  llvm::Expected<bool> rows = addSide(g, FewSide::Rows);
  if (!rows)
    return rows;
  llvm::Expected<bool> columns = addSide(g, FewSide::Columns);
  if (!columns)
    return columns;
  return *rows || *columns;
}
