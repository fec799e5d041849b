//===- DepthwiseBytes.cpp - CPU code for depthwise convolutions of bytes ---===//
//
// A channel by itself has no neighbours to multiply four at a time but the taps of a line: lane i of a vector of words has the
// four bytes that the window of place i begins with, which a vector of the image's line becomes by two shuffles. Four products
// and their sum are one instruction then where the processor has it; lines of windows of other lengths are filled up with
// zeros of the filter. Several lines of results share the words of the lines that they read.
//
// An item is a block of lines of one channel. The lines under its windows are copied first, border and all, so that
// nothing is masked but the ends of results. Of short lines, two lie in one vector.
//
//===----------------------------------------------------------------------===//

#include "ByteLines.h"
#include "ImageLines.h"
#include "IntegerRows.h"
#include "ByteDots.h"
#include "../KernelEmitters.h"
#include "lathe/Lower/BodySlices.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <functional>

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using shape::Expr;
using Values = VectorBuilder::Values;

/// Results of an item: enough beside a copy's border, few enough for their lines to stay in the first cache.
constexpr int64_t blockPlaces = 4096;

namespace {
class ByteLinesEmitter {
public:
  ByteLinesEmitter(KernelFunction &f, const ByteLines &shape);
  bool serves() const { return borders.areIntervals(); }
  void emit();
  KernelPlan plan() const;
  const std::string &error() const { return body.error(); }

private:
  Expr extentOf(std::optional<unsigned> axis) const { return axis ? f.info.extents[*axis] : Expr(1); }
  int64_t tapsOf(const Slide *s) const { return s ? *extentOf(s->tap).constant() : 1; }
  int64_t groups() const { return (tapsOf(&shape.x()) + quad - 1) / quad; } ///< of taps, in a line
  bool isColumnApart() const;
  int64_t groupsOfLine() const { return groups() - isColumnApart(); }
  Expr width() const { return extentOf(shape.x().row); }
  Expr height() const { return shape.y() ? extentOf(shape.y()->row) : Expr(1); }
  Expr places() const { return spanOf(f.info, shape.x(), width()); }
  Expr blocks() const { return Expr::ceildiv(height(), Expr::floordiv(Expr(blockPlaces - 1), Expr::max(width(), Expr(1))) + Expr(1)); }
  Expr linesPerBlock() const { return Expr::ceildiv(height(), Expr::max(blocks(), Expr(1))); }
  Expr linesUnder(const Expr &lines) const { return shape.y() ? spanOf(f.info, *shape.y(), lines) : lines; }
  /// Bytes that the last words reach past what windows read.
  int64_t beyond() const { return v.target.vectorBytes + quad * groups() * shape.x().dilation; }
  /// Bytes of a line in scratch.
  Expr pitch() const {
    constexpr int64_t unit = 64;
    return Expr::ceildiv(places() + Expr(beyond()), Expr(unit)) * Expr(unit);
  }
  bool isFlat() const;
  int64_t chooseLines() const;
  int64_t vectorsTogether() const;
  Value byteAt(Value line, Value place) { return v.at(f.scratch, v.add(v.mul(line, pitchBytes), place), v.b.getI8Type()); }
  void copyLines(const BodyEmitter &point, Value firstLine, Value lines);
  void copyLine(const BodyEmitter &at, Value line);
  void copyByte(const BodyEmitter &at, Value line, Value place);
  void copyBytes(const BodyEmitter &at, Value line, Value place, unsigned count, Value mask, std::optional<bool> inside = {});
  void copyMasked(const BodyEmitter &at, Value line, Value places);
  void copyBetween(const BodyEmitter &at, Value line, Value places);
  struct Tap {
    int64_t y, x;
  };
  Value wordOfTaps(const BodyEmitter &point, ArrayRef<std::optional<Tap>> taps, Value &all);
  void readFilter(const BodyEmitter &point);
  void addColumn(Value top, Value place, MutableArrayRef<Value> sums);
  /// An item's lines of results.
  struct Block {
    BodyEmitter point; ///< all other axes are bound
    Value firstLine, lines;
  };
  int64_t byteOfLane(int64_t lane) const;
  bool findBytes(SmallVectorImpl<int64_t> &spread, SmallVectorImpl<int64_t> &taps) const;
  Value wordsOf(Value line, Value place, int64_t group);
  void emitLines(const Block &block, Value inBlock, int64_t count);
  void emitVectors(const Block &block, Value inBlock, int64_t count, Value place, Value mask);
  void storeVector(const Block &block, Value line, Value place, Value mask, Value sum);
  void store(Value bytes, Value to) { v.b.create<LLVM::StoreOp>(v.loc, bytes, to, 1); }

  KernelFunction &f;
  const ByteLines &shape;
  VectorBuilder v;
  BodyEmitter body;
  ImageBorders borders;
  int64_t linesOfVector = 1;
  Value pitchBytes, widthValue;
  Value start; ///< what sums begin with
  Values filter;       ///< words of taps, splat, line by line
  Values columnFilter; ///< of a column apart, four lines in a word
};
} // namespace

ByteLinesEmitter::ByteLinesEmitter(KernelFunction &f, const ByteLines &shape)
    : f(f), shape(shape), v(f.b, f.loc, f.isa, cast<FloatType>(f.b.getF32Type())),
      body(f.info, f.b, f.loc, f.sizes, f.refs, f.hooks), borders(v, f.info, shape.image, shape.axes()) {
  linesOfVector = chooseLines();
}

KernelPlan ByteLinesEmitter::plan() const {
  KernelPlan plan;
  Expr outer(1);
  for (unsigned a = 0; a < f.info.axes.size(); ++a)
    if (shape.outer >> a & 1)
      outer = outer * f.info.extents[a];
  plan.items = outer * blocks() * Expr::min(width(), Expr(1));
  plan.scratchBytes = pitch() * linesUnder(linesPerBlock() + Expr(linesOfVector - 1)) + Expr(beyond());
  plan.cost = Expr(tapsOf(shape.y()) * groups() + 4) * linesPerBlock() * width();
  return plan;
}

/// Whether what is stored, and read behind the sum, steps through the lines of a result as through one.
bool ByteLinesEmitter::isFlat() const {
  AxisGroup rows(f.info, {*shape.y()->row, *shape.x().row});
  llvm::DenseSet<Operation *> before = lower::opsBelow(shape.image);
  before.insert(shape.weight.getDefiningOp());
  return llvm::all_of(f.info.ops, [&](Operation *op) {
    return !isa<kernel::LoadOp, kernel::StoreOp, kernel::IndexOp>(op) || before.contains(op) || rows.strideOf(f.info.exprOf(op));
  });
}

/// Lines of results of a vector: two where they fit. (More would be read from lines whose copies are on their way to memory still, which processors
/// wait for.)
int64_t ByteLinesEmitter::chooseLines() const {
  std::optional<int64_t> length = width().constant();
  if (!shape.y() || !length || *length < 1 || 2 * *length > v.lanes || !isFlat())
    return 1;
  ByteLinesEmitter two(*this);
  two.linesOfVector = 2;
  SmallVector<int64_t> spread, taps;
  return two.findBytes(spread, taps) ? 2 : 1;
}

/// Vectors of lines that share words: as many as registers hold beside the filter, without a rest where lines are known. Of large windows fewer, so that
/// there is not too much code.
int64_t ByteLinesEmitter::vectorsTogether() const {
  constexpr int64_t fewest = 4, most = 8, mostProducts = 512;
  if (fewest * groups() * tapsOf(shape.y()) > mostProducts)
    return 2;
  std::optional<int64_t> lines = linesPerBlock().constant();
  if (!lines)
    return fewest;
  int64_t vectors = (*lines + linesOfVector - 1) / linesOfVector;
  for (int64_t n = v.target.registers >= 32 ? most : fewest; n >= fewest; --n)
    if (vectors % n == 0)
      return n;
  return std::clamp<int64_t>(vectors, 1, fewest);
}

//===----------------------------------------------------------------------===//
// The image
//===----------------------------------------------------------------------===//

void ByteLinesEmitter::copyByte(const BodyEmitter &at, Value line, Value place) {
  BodyEmitter here = at;
  here.bindAxis(laneOf(f.info, shape.x()), place);
  Value byte = here.emit(shape.image);
  store(shape.imageSigned ? withOtherSign(v, byte) : byte, byteAt(line, place));
}

void ByteLinesEmitter::copyBytes(const BodyEmitter &at, Value line, Value place, unsigned count, Value mask, std::optional<bool> inside) {
  BodyEmitter here = at;
  here.bindLane(laneOf(f.info, shape.x()), place, count, mask);
  if (inside)
    borders.hold(here, *inside);
  Value bytes = here.emitLanes(shape.image);
  store(shape.imageSigned ? withOtherSign(v, bytes) : bytes, byteAt(line, place));
}

/// Registers of bytes, whose ends tell whether all of them lie inside.
void ByteLinesEmitter::copyMasked(const BodyEmitter &at, Value line, Value places) {
  unsigned count = v.target.vectorBytes;
  auto isInside = [&](Value place) { return borders.isInside(at, laneOf(f.info, shape.x()), place); };
  v.loop(v.i(0), places, count, [&](Value place) {
    Value last = v.add(place, count - 1), all = v.b.create<arith::AndIOp>(v.loc, isInside(place), isInside(last));
    all = v.b.create<arith::AndIOp>(v.loc, all, v.less(last, places));
    v.ifThen(all, [&] { copyBytes(at, line, place, count, {}, true); },
             [&] { copyBytes(at, line, place, count, v.firstLanes(v.sub(places, place), count)); });
  });
}

/// Where a masked byte is a branch: what lies outside goes in vectors that reach over their ends, where other bytes follow or none are, and what is
/// between in whole vectors, the last of which overlaps the one before.
void ByteLinesEmitter::copyBetween(const BodyEmitter &at, Value line, Value places) {
  auto [first, end] = borders.insideOf(at, laneOf(f.info, shape.x()), places);
  auto bytes = [&](Value from, Value to) { v.loop(from, to, 1, [&](Value place) { copyByte(at, line, place); }); };
  auto outside = [&](Value from, Value to) {
    if (borders.all().size() != 1)
      return bytes(from, to);
    v.loop(from, to, v.lanes, [&](Value place) { copyBytes(at, line, place, v.lanes, {}, false); });
  };
  outside(v.i(0), first);
  Value from = first, last = end;
  auto vectors = [&](unsigned count) {
    v.loop(from, last, count, [&](Value place) { copyBytes(at, line, v.min(place, v.sub(last, count)), count, {}, true); });
  };
  // The widest that the bytes fill, down to a word.
  std::function<void(unsigned)> copy = [&](unsigned many) {
    if (many < quad)
      return bytes(from, last);
    v.ifThen(v.less(v.sub(last, from), v.i(many)), [&] { copy(many > v.lanes ? v.lanes : many / 2); }, [&] { vectors(many); });
  };
  copy(v.target.vectorBytes);
  outside(end, places);
}

void ByteLinesEmitter::copyLine(const BodyEmitter &at, Value line) {
  Value all = body.emitExpr(places());
  v.target.maskedBytes ? copyMasked(at, line, all) : copyBetween(at, line, all);
}

void ByteLinesEmitter::copyLines(const BodyEmitter &point, Value firstLine, Value lines) {
  const Slide *y = shape.y();
  Value top = v.mul(firstLine, y ? y->stride : 1), count = lines;
  if (y)
    count = v.add(v.mul(v.sub(lines, 1), y->stride), (tapsOf(y) - 1) * y->dilation + 1);
  v.loop(v.i(0), count, 1, [&](Value line) {
    BodyEmitter at = point;
    if (y)
      bindPlace(v, f.info, at, *y, v.add(top, line));
    bindPlace(v, f.info, at, shape.x(), v.i(0));
    copyLine(at, line);
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Four taps in a word (i32), 0 where there is none: `all` becomes the sum of them, too.
Value ByteLinesEmitter::wordOfTaps(const BodyEmitter &point, ArrayRef<std::optional<Tap>> taps, Value &all) {
  Type i32 = v.b.getI32Type();
  auto number = [&](int64_t x) { return v.b.create<arith::ConstantOp>(v.loc, v.b.getI32IntegerAttr(x)).getResult(); };
  Value word = number(0);
  for (auto [j, tap] : llvm::enumerate(taps)) {
    if (!tap)
      continue;
    BodyEmitter at = point;
    if (shape.y() && shape.y()->tap)
      at.bindAxis(f.info.axes[*shape.y()->tap], v.i(tap->y));
    if (shape.x().tap)
      at.bindAxis(f.info.axes[*shape.x().tap], v.i(tap->x));
    Value byte = at.emit(shape.weight);
    all = v.b.create<arith::AddIOp>(v.loc, all, v.b.create<arith::ExtSIOp>(v.loc, i32, byte));
    Value bits = v.b.create<arith::ShLIOp>(v.loc, v.b.create<arith::ExtUIOp>(v.loc, i32, byte), number(8 * j));
    word = v.b.createOrFold<arith::OrIOp>(v.loc, word, bits);
  }
  return word;
}

/// Taps past the last one of a line are 0. What is taken off signed bytes of the image, so that they have no signs, is 128 times all taps.
void ByteLinesEmitter::readFilter(const BodyEmitter &point) {
  Value all = v.b.create<arith::ConstantOp>(v.loc, v.b.getI32IntegerAttr(0));
  auto splat = [&](ArrayRef<std::optional<Tap>> taps) { return v.b.create<vector::SplatOp>(v.loc, wordOfTaps(point, taps, all), v.intVec).getResult(); };
  int64_t rows = tapsOf(shape.y()), columns = tapsOf(&shape.x());
  filter.clear();
  for (int64_t ky = 0; ky < rows; ++ky)
    for (int64_t group = 0; group < groupsOfLine(); ++group) {
      SmallVector<std::optional<Tap>> taps(quad);
      for (int64_t j = 0; j < quad && group * quad + j < columns; ++j)
        taps[j] = Tap{ky, group * quad + j};
      filter.push_back(splat(taps));
    }
  columnFilter.clear();
  for (int64_t first = 0; isColumnApart() && first < rows; first += quad) {
    int64_t last = std::min(first + quad, rows) - 1;
    SmallVector<std::optional<Tap>> taps(quad);
    for (int64_t ky = first; ky <= last; ++ky)
      taps[quad - 1 - (last - ky)] = Tap{ky, columns - 1};
    columnFilter.push_back(splat(taps));
  }
  start = v.intSplat(0);
  if (shape.imageSigned) {
    Value shift = v.b.create<arith::ConstantOp>(v.loc, v.b.getI32IntegerAttr(-128));
    start = v.b.create<vector::SplatOp>(v.loc, v.b.create<arith::MulIOp>(v.loc, all, shift), v.intVec);
  }
}

/// Where a lane's first tap lies, from that of the first lane on, the registers of two lines taken as one behind the other.
int64_t ByteLinesEmitter::byteOfLane(int64_t lane) const {
  if (linesOfVector == 1)
    return lane * shape.x().stride;
  int64_t length = *width().constant(), last = std::min(lane, 2 * length - 1);
  return last / length * v.target.vectorBytes + last % length * shape.x().stride;
}

/// Two shuffles make words of taps of a register of bytes, or of two: each lane of 128 bits gets the words of memory that its four results are in, then each word its
/// four taps. False where there are more of these.
bool ByteLinesEmitter::findBytes(SmallVectorImpl<int64_t> &spread, SmallVectorImpl<int64_t> &taps) const {
  spread.clear();
  taps.clear();
  for (int64_t first = 0; first < v.lanes; first += quad) {
    SmallVector<int64_t> words;
    for (int64_t i = 0; i < quad; ++i)
      for (int64_t t = 0; t < quad; ++t) {
        int64_t byte = byteOfLane(first + i) + t * shape.x().dilation, at = llvm::find(words, byte / quad) - words.begin();
        if (at == int64_t(words.size()))
          words.push_back(byte / quad);
        taps.push_back(first / quad * laneBytes + at * quad + byte % quad);
      }
    if (words.size() > quad)
      return false;
    words.resize(quad, words.back());
    spread.append(words);
  }
  return true;
}

/// Of a group of taps, the words for the results of a vector.
Value ByteLinesEmitter::wordsOf(Value line, Value place, int64_t group) {
  Value at = v.add(v.mul(place, shape.x().stride), group * quad * shape.x().dilation);
  auto bytesOf = [&](Value of) { return v.b.create<LLVM::LoadOp>(v.loc, v.intVec, byteAt(of, at), 1).getResult(); };
  SmallVector<int64_t> spread, taps;
  findBytes(spread, taps);
  Value words = bytesOf(line);
  words = v.shuffle(words, linesOfVector > 1 ? bytesOf(v.add(line, shape.y()->stride)) : words, spread);
  Value bytes = v.b.create<vector::BitCastOp>(v.loc, VectorType::get(quad * v.lanes, v.b.getI8Type()), words);
  return v.b.create<vector::BitCastOp>(v.loc, v.intVec, v.shuffle(bytes, bytes, taps));
}

/// Whether the last taps of lines, one of each beyond whole words (5x5), are products of their own: words of four lines below one another, in
/// which the next line moves up the others. Where four products are no instruction, each of them costs one.
bool ByteLinesEmitter::isColumnApart() const {
  const Slide &x = shape.x(), *y = shape.y();
  return schedule::byteForm(v.target, false) == schedule::ByteForm::Dots && tapsOf(&x) % quad == 1 && tapsOf(&x) > quad && tapsOf(y) > 1 && y->stride == 1 &&
         y->dilation == 1 && x.stride == 1 && linesOfVector == 1;
}

void ByteLinesEmitter::addColumn(Value top, Value place, MutableArrayRef<Value> sums) {
  int64_t taps = tapsOf(shape.y()), count = sums.size();
  Value column = v.add(place, (tapsOf(&shape.x()) - 1) * shape.x().dilation), words = v.intSplat(0);
  auto bytes = VectorType::get(v.lanes, v.b.getI8Type());
  for (int64_t line = 0; line < count + taps - 1; ++line) {
    Value next = v.b.create<LLVM::LoadOp>(v.loc, bytes, byteAt(v.add(top, line), column), 1);
    next = v.b.create<arith::ShLIOp>(v.loc, v.b.create<arith::ExtUIOp>(v.loc, v.intVec, next), v.intSplat(8 * (quad - 1)));
    words = v.b.create<arith::OrIOp>(v.loc, v.b.create<arith::ShRUIOp>(v.loc, words, v.intSplat(8)), next);
    for (auto [part, weights] : llvm::enumerate(columnFilter)) {
      int64_t last = std::min<int64_t>((part + 1) * quad, taps) - 1, r = line - last;
      if (r >= 0 && r < count)
        sums[r] = dotBytes(v, sums[r], words, weights);
    }
  }
}

/// `count` vectors of results, one below the other, at a vector of places or of whole lines.
void ByteLinesEmitter::emitVectors(const Block &block, Value inBlock, int64_t count, Value place, Value mask) {
  const Slide *y = shape.y();
  int64_t stride = y ? y->stride : 1, dilation = y ? y->dilation : 1, taps = tapsOf(y), step = linesOfVector * stride;
  Values sums(count, start);
  Value top = v.mul(inBlock, stride);
  for (int64_t line = 0; line <= (count - 1) * step + (taps - 1) * dilation; ++line)
    for (int64_t group = 0; group < groupsOfLine(); ++group) {
      Value words;
      for (int64_t r = 0; r < count; ++r) {
        int64_t below = line - r * step;
        if (below < 0 || below % dilation || below / dilation >= taps)
          continue;
        words = words ? words : wordsOf(v.add(top, line), place, group);
        sums[r] = dotBytes(v, sums[r], words, filter[below / dilation * groupsOfLine() + group], tapsOf(&shape.x()) - group * quad);
      }
    }
  if (isColumnApart())
    addColumn(top, place, sums);
  for (auto [r, sum] : llvm::enumerate(sums))
    storeVector(block, v.add(inBlock, int64_t(r) * linesOfVector), place, mask, sum);
}

void ByteLinesEmitter::storeVector(const Block &block, Value line, Value place, Value mask, Value sum) {
  BodyEmitter at = block.point;
  Value number = v.add(block.firstLine, line);
  if (linesOfVector > 1) {
    Value left = v.min(v.sub(block.lines, line), v.i(linesOfVector));
    at.bindAxis(f.info.axes[*shape.y()->row], v.i(0));
    at.bindLane(f.info.axes[*shape.x().row], v.mul(number, widthValue), v.lanes, v.firstLanes(v.mul(left, widthValue)));
  } else {
    if (shape.y())
      at.bindAxis(f.info.axes[*shape.y()->row], number);
    at.bindLane(f.info.axes[*shape.x().row], place, v.lanes, mask);
  }
  at.bindValue(shape.result, sum);
  for (Operation *op : f.info.ops)
    if (auto s = dyn_cast<kernel::StoreOp>(op))
      at.emitStore(s);
}

void ByteLinesEmitter::emitLines(const Block &block, Value inBlock, int64_t count) {
  if (linesOfVector > 1)
    return emitVectors(block, inBlock, count, v.i(0), {});
  Value whole = v.roundDown(widthValue, v.lanes);
  v.loop(v.i(0), whole, v.lanes, [&](Value place) { emitVectors(block, inBlock, count, place, {}); });
  v.ifThen(v.less(whole, widthValue), [&] { emitVectors(block, inBlock, count, whole, v.firstLanes(v.sub(widthValue, whole))); });
}

void ByteLinesEmitter::emit() {
  pitchBytes = body.emitExpr(pitch());
  widthValue = body.emitExpr(width());
  AxisGroup outer = AxisGroup::of(f.info, shape.outer);
  Value count = v.max(body.emitExpr(blocks()), v.i(1)), height = body.emitExpr(this->height()), each = body.emitExpr(linesPerBlock());
  v.loop(f.begin, f.end, 1, [&](Value item) {
    Value channel = v.div(item, count), firstLine = v.mul(v.sub(item, v.mul(channel, count)), each);
    Block block{body, firstLine, v.min(each, v.max(v.sub(height, firstLine), v.i(0)))};
    if (!outer.empty())
      outer.bind(v, block.point, channel, /*flat=*/false);
    copyLines(block.point, firstLine, block.lines);
    readFilter(block.point);
    int64_t together = vectorsTogether();
    Value vectors = v.ceilDiv(block.lines, linesOfVector), whole = v.mul(v.div(vectors, together), together);
    auto lines = [&](Value vector) { return v.mul(vector, linesOfVector); };
    v.loop(v.i(0), whole, together, [&](Value vector) { emitLines(block, lines(vector), together); });
    if (together > 1)
      v.loop(whole, vectors, 1, [&](Value vector) { emitLines(block, lines(vector), 1); });
  });
}

llvm::Expected<bool> lathe::cpu::emitDepthwiseBytes(KernelFunction &f, KernelPlan &plan) {
  std::optional<ByteLines> shape = ByteLines::of(f.info);
  if (!shape)
    return false;
  ByteLinesEmitter emitter(f, *shape);
  if (!emitter.serves())
    return false;
  emitter.emit();
  plan = emitter.plan();
  if (!emitter.error().empty())
    return llvm::createStringError(emitter.error());
  return true;
}
