//===- ImageWords.cpp - Images of bytes as words of four channels ----------===//

#include "ImageWords.h"
#include "../MatrixUnit.h"
#include "lathe/Lower/BodySlices.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using shape::Expr;

/// Places of a block: enough to hide the traffic of a panel, few enough for the words of their windows to stay in a cache.
constexpr int64_t blockPlaces = 256;

//===----------------------------------------------------------------------===//
// Where words lie
//===----------------------------------------------------------------------===//

Expr ImageWords::blocks() const {
  Expr lines = Expr::floordiv(Expr(blockPlaces - 1), Expr::max(width(), Expr(1))) + Expr(1);
  if (inPlaces && !goesByLine())
    lines = Expr::floordiv(Expr::max(Expr(mostPlaces) - width(), Expr(0)), Expr::max(lineWords(), Expr(1))) + Expr(1);
  return Expr::ceildiv(height(), lines);
}

Expr ImageWords::lineWords() const {
  return together ? spanOf(x(), width()) * channelWords() : Expr::ceildiv(spanOf(x(), width()), Expr(phases(&x())));
}

/// A vector that is stored, and one that is read, may begin with the last place.
Expr ImageWords::phaseWords() const {
  return lineWords() * (y() ? Expr::ceildiv(spanOf(*y(), linesPerBlock()), Expr(phases(y()))) : Expr(1)) + Expr(int64_t(v.lanes));
}

/// A vector past the last line's end is not the next plane's, nor are the rows that a tile has beyond the last group of places, and places that
/// are packed together. With the channels together a plane has all of them.
Expr ImageWords::planeWords() const {
  int64_t most = std::max<int64_t>(MatrixUnit::tilesOfGroup * x().stride, lieTogether ? 0 : v.lanes);
  Expr beyond = steps ? channelWords() * Expr(most) : Expr(0);
  return phaseWords() * Expr(phases(&x()) * phases(y())) + beyond;
}

Expr ImageWords::imageWords() const {
  Expr n = (together ? Expr(1) : channelWords()) * planeWords();
  for (size_t s = 0; s + 2 < shape.slides.size(); ++s)
    n = n * extentOf(shape.slides[s].tap);
  return n;
}

bool cpu::channelsLieTogether(const lower::BodyInfo &info, const IntegerShape &shape) {
  const std::string &channel = info.axes[shape.channels()];
  bool any = false;
  for (Operation *op : lower::opsBelow(shape.rows)) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    if (!load || !(info.domainOf(op) >> shape.channels() & 1))
      continue;
    std::optional<Expr::Linear> along = info.exprOf(op).linearIn(channel);
    if (!load.getIndices().empty() || !along || !along->coefficient.isOne())
      return false;
    any = true;
  }
  return any;
}

/// Axes that are bound where a line is; channels are where a word is packed, behind the question.
static lower::AxisSet axesOfLines(const IntegerShape &shape) {
  lower::AxisSet bound = shape.product.rows.set() | shape.product.batch.set();
  for (const Slide &s : shape.slides)
    if (s.tap)
      bound |= lower::AxisSet(1) << *s.tap;
  return bound;
}

ImageWords::ImageWords(KernelFunction &f, const IntegerShape &shape, std::optional<Steps> steps)
    : IntegerEmitter(f, shape, steps ? MatrixUnit::groupRows : 0), steps(steps), lieTogether(channelsLieTogether(f.info, shape)),
      together(lieTogether || steps), inPlaces(!together && epilogue.takesPlaces() && x().stride <= mostPhases && fillsLanes()),
      borders(v, f.info, shape.rows, axesOfLines(shape)) {
  findRuns();
  if (steps && !lieTogether)
    square = v.b.create<LLVM::AllocaOp>(v.loc, LLVM::LLVMPointerType::get(v.b.getContext()), v.intVec, v.i(v.lanes), 64);
  lineLength = body.emitExpr(lineWords());
  places = body.emitExpr(spanOf(x(), width()));
  phaseLength = body.emitExpr(phaseWords());
  planeLength = body.emitExpr(planeWords());
  rowLength = v.max(body.emitExpr(width()), v.i(1));
  Value perTap = body.emitExpr(channelWords());
  placeStep = together ? perTap : v.i(1);
  channelStep = together ? v.i(1) : planeLength;
  outerStep = together ? planeLength : v.mul(planeLength, perTap);
  table = word(f.scratch, body.emitExpr(Expr::ceildiv(imageWords() + Expr(int64_t(v.lanes)), Expr(16)) * Expr(16)));
  room = word(table, v.mul(words, 2));
}

/// Whether places fill vectors so well that it is worth having them in the lanes.
bool ImageWords::fillsLanes() {
  inPlaces = true; // what is computed here is of that way
  std::optional<int64_t> words = shape.words().constant(), width = this->width().constant(), lines = linesPerBlock().constant(), pitch = lineWords().constant();
  if (!width || !lines || !pitch)
    return schedule::placesPay(words);
  bool byLine = goesByLine();
  int64_t places = byLine ? *width : *lines * *width, read = byLine ? *width : (*lines - 1) * *pitch + *width;
  return schedule::placesPay(words, places, (read + v.lanes - 1) / v.lanes * v.lanes);
}

Value ImageWords::placeAt(Value place) {
  if (together)
    return v.mul(place, placeStep);
  int64_t steps = phases(&x());
  return v.add(v.mul(v.rem(place, v.i(steps)), phaseLength), v.div(place, steps));
}

Value ImageWords::lineAt(Value line) {
  int64_t steps = phases(y());
  return v.add(v.mul(v.mul(v.rem(line, v.i(steps)), phases(&x())), phaseLength), v.mul(v.div(line, steps), lineLength));
}

bool ImageWords::goesByLine() const {
  std::optional<int64_t> known = width().constant();
  return known && (*known % v.lanes == 0 || *known > mostPlaces);
}

/// The taps of the dimensions outside of lines and planes, and their number.
void ImageWords::forOuterTaps(const BodyEmitter &point, function_ref<void(const BodyEmitter &, Value)> emit) {
  std::function<void(size_t, const BodyEmitter &, Value)> nest = [&](size_t s, const BodyEmitter &at, Value number) {
    if (s + 2 >= shape.slides.size())
      return emit(at, number);
    const Slide &slide = shape.slides[s];
    if (!slide.tap)
      return nest(s + 1, at, number);
    BodyEmitter outside = at;
    Value extent = outside.emitExpr(extentOf(slide.tap));
    v.loop(v.i(0), extent, 1, [&](Value tap) {
      BodyEmitter inner = at;
      inner.bindAxis(f.info.axes[*slide.tap], tap);
      nest(s + 1, inner, v.add(v.mul(number, extent), tap));
    });
  };
  nest(0, point, v.i(0));
}

/// Words of the sum are counted as the filter is packed: taps, then the channels' words.
void ImageWords::fillTable() {
  Value perTap = body.emitExpr(channelWords()), tapsX = body.emitExpr(extentOf(x().tap));
  Value tapsY = body.emitExpr(y() ? extentOf(y()->tap) : Expr(1));
  forOuterTaps(body, [&](const BodyEmitter &, Value outer) {
    v.loop(v.i(0), tapsY, 1, [&](Value ky) {
      v.loop(v.i(0), tapsX, 1, [&](Value kx) {
        Value tap = v.add(v.mul(v.add(v.mul(outer, tapsY), ky), tapsX), kx);
        Value place = v.add(lineAt(v.mul(ky, y() ? y()->dilation : 1)), placeAt(v.mul(kx, x().dilation)));
        v.loop(v.i(0), perTap, 1, [&](Value c) {
          Value offset = v.add(v.add(v.mul(outer, outerStep), v.mul(c, channelStep)), place);
          v.b.create<LLVM::StoreOp>(v.loc, offset, v.at(table, v.add(v.mul(tap, perTap), c), v.b.getI64Type()), 8);
        });
      });
    });
  });
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// Bytes that lie side by side along lines, and whether vectors of them can be shifted into place.
void ImageWords::findRuns() {
  shifts = !v.target.maskedBytes && v.lanes <= sizeof(uint64_t);
  llvm::DenseSet<Operation *> below = lower::opsBelow(shape.rows);
  for (Operation *op : f.info.ops) {
    auto load = below.contains(op) ? dyn_cast<kernel::LoadOp>(op) : kernel::LoadOp();
    if (!load || !load.getType().isInteger(8) || !f.info.exprOf(load).mentions(laneOf(f.info, x())))
      continue;
    shifts &= isRunOfBytes(load);
    runs.push_back(load);
  }
  shifts &= borders.areIntervals() && !runs.empty() && borders.all().size() <= 1;
}

bool ImageWords::isRunOfBytes(kernel::LoadOp load) const {
  std::optional<Expr::Linear> along = f.info.exprOf(load).linearIn(laneOf(f.info, x()));
  return along && along->coefficient.isOne() && load.getIndices().empty() && !load.getFill();
}

/// The words of all channels at the places of a vector, which may be known to lie inside. `from`: bytes are loaded from there on, where all are, and
/// shifted into place.
void ImageWords::packVector(const BodyEmitter &at, const std::string &lane, Value place, Value plane, Value to, Value mask, Value from, bool inside) {
  const ImageBorders *within = inside ? &borders : nullptr;
  Value perTap = body.emitExpr(channelWords());
  if (together)
    return v.loop(v.i(0), perTap, v.lanes, [&](Value first) {
      v.loop(v.i(0), v.i(v.lanes), 1, [&](Value c) {
        Value quads = packer.imageWords(at, v.mul(v.add(first, c), quad), lane, place, mask, from, runs, within);
        v.b.create<LLVM::StoreOp>(v.loc, quads, word(square, v.mul(c, v.lanes)), 64);
      });
      transposeSquare(v.add(v.mul(to, perTap), v.add(first, v.mul(plane, planeLength))));
    });
  v.loop(v.i(0), perTap, 1, [&](Value c) { // innermost: where the image ends is the same for all channels
    Value quads = packer.imageWords(at, v.mul(c, quad), lane, place, mask, from, runs, within);
    storeWords(quads, v.mul(v.add(plane, c), planeLength), to);
  });
}

/// A vector of places of a line, those of a phase side by side.
void ImageWords::storeWords(Value quads, Value plane, Value to) {
  Value at = word(f.scratch, v.add(plane, to));
  if (phases(&x()) == 1) {
    v.b.create<LLVM::StoreOp>(v.loc, quads, at, 4);
    return;
  }
  for (unsigned phase = 0; phase < 2; ++phase) {
    SmallVector<int64_t> mask;
    for (unsigned l = phase; l < v.lanes; l += 2)
      mask.push_back(l);
    v.b.create<LLVM::StoreOp>(v.loc, v.shuffle(quads, quads, mask), word(at, v.mul(phaseLength, phase)), 4);
  }
}

/// The words of as many channels as lanes at a vector of places, place by place.
void ImageWords::transposeSquare(Value to) {
  VectorBuilder::Values lines;
  for (unsigned c = 0; c < v.lanes; ++c)
    lines.push_back(v.b.create<LLVM::LoadOp>(v.loc, v.vec, word(square, v.i(c * v.lanes)), 64));
  for (auto [place, words] : llvm::enumerate(v.transpose(lines)))
    v.b.create<LLVM::StoreOp>(v.loc, words, word(f.scratch, v.add(to, v.mul(placeStep, place))), 4);
}

/// A line's channels, place by place. What lies past the last one meets zeros of the filter, and is written over by the next place.
void ImageWords::packTogether(const BodyEmitter &line, Value outer, Value number) {
  const std::string &lane = f.info.axes[shape.channels()];
  BodyEmitter outside = line;
  Value channels = outside.emitExpr(f.info.extents[shape.channels()]), whole = v.roundDown(channels, v.lanes);
  Value start = v.add(v.mul(outer, outerStep), v.mul(number, lineLength));
  auto vectors = [&](const BodyEmitter &at, Value to) {
    auto one = [&](Value c, Value mask) {
      BodyEmitter here = at;
      here.bindLane(lane, c, v.lanes, mask);
      Value bytes = here.emitLanes(shape.rows);
      if (shape.rowsSigned)
        bytes = withOtherSign(v, bytes);
      v.b.create<LLVM::StoreOp>(v.loc, bytes, v.at(word(f.scratch, to), c, v.b.getI8Type()), 1);
    };
    v.loop(v.i(0), whole, v.lanes, [&](Value c) { one(c, {}); });
    v.ifThen(v.less(whole, channels), [&] { one(whole, v.firstLanes(v.sub(channels, whole))); });
  };
  v.loop(v.i(0), body.emitExpr(spanOf(x(), width())), 1, [&](Value place) {
    BodyEmitter at = line;
    bindPlace(at, x(), place);
    Value to = v.add(start, v.mul(place, placeStep));
    if (!borders.areIntervals() || borders.all().empty())
      return vectors(at, to);
    Value all = borders.isInside(at);
    BodyEmitter inside = at;
    borders.hold(inside);
    v.ifThen(all, [&] { vectors(inside, to); }, [&] { vectors(at, to); });
  });
}

/// Planes of a line of places.
void ImageWords::packLine(const BodyEmitter &at, Value plane, Value line) {
  const std::string &lane = laneOf(f.info, x());
  auto [first, end] = borders.areIntervals() ? borders.insideOf(at, lane, places) : std::pair<Value, Value>();
  v.loop(v.i(0), places, v.lanes, [&, first = first, end = end](Value place) {
    Value to = together ? v.add(v.mul(line, places), place) : v.add(lineAt(line), v.div(place, phases(&x())));
    auto masked = [&](Value from) { packVector(at, lane, place, plane, to, v.firstLanes(v.sub(places, place)), from); };
    if (!borders.areIntervals())
      return masked({});
    auto less = [&](Value a, Value b) { return v.less(a, v.add(b, 1)); };
    Value all = v.b.create<arith::AndIOp>(v.loc, less(first, place), less(v.add(place, v.lanes), end));
    // No lane is outside of the image or of the line.
    v.ifThen(all, [&] { packVector(at, lane, place, plane, to, {}, {}, /*inside=*/true); }, [&] {
      if (!shifts)
        return masked({});
      Value last = v.sub(end, v.lanes);
      v.ifThen(less(first, last), [&] { masked(v.min(v.max(place, first), last)); }, [&] { masked({}); });
    });
  });
}

void ImageWords::packImage(const BodyEmitter &point, Value firstLine, Value lines) {
  Value perTap = body.emitExpr(channelWords()), top = v.mul(firstLine, y() ? y()->stride : 1), height = v.i(1);
  if (y())
    height = v.add(v.mul(v.sub(lines, 1), y()->stride), body.emitExpr(spanOf(*y(), Expr(1))));
  forOuterTaps(point, [&](const BodyEmitter &outer, Value number) {
    v.loop(v.i(0), height, 1, [&](Value line) {
      BodyEmitter at = outer;
      if (y())
        bindPlace(at, *y(), v.add(top, line));
      bindPlace(at, x(), v.i(0));
      lieTogether ? packTogether(at, number, line) : packLine(at, together ? number : v.mul(number, perTap), line);
    });
  });
}
