//===- IntegerConvolution.cpp - CPU code for convolutions of bytes ---------===//

#include "ImageLines.h"
#include "IntegerEmitter.h"
#include "../MatrixUnit.h"
#include "lathe/Lower/BodySlices.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <functional>

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using shape::Expr;

/// Places of a block: enough to hide the traffic of a panel, few enough for the words of their windows to stay in a cache.
constexpr int64_t blockPlaces = 256;
/// Panels that a thread takes at least: each thread packs its own part of the image.
constexpr int64_t panelsPerPacking = 4;

namespace {
/// A block is some lines of one image. The part of the image under its windows lies in scratch as words of four channels, border
/// and all: [outer taps][channels / 4][y][x], or, where channels lie side by side, [outer taps][y][x][channels / 4]. Word w of the sum lies
/// at a fixed distance from where the window starts, which a table holds, and neighbouring places of a line at another.
class ImageEmitter : IntegerEmitter {
public:
  /// For the matrix unit with the words of its steps and the operands' signs; `shape` is unshifted then.
  struct Steps {
    int64_t words;
    bool rowsSigned;
  };
  ImageEmitter(KernelFunction &f, const IntegerShape &shape, std::optional<Steps> steps = {});
  void emit();
  KernelPlan plan() const;
  using IntegerEmitter::error;

private:
  const Slide &x() const { return shape.slides.back(); }
  const Slide *y() const { return shape.slides.size() > 1 ? &shape.slides[shape.slides.size() - 2] : nullptr; }
  Expr extentOf(std::optional<unsigned> axis) const { return axis ? f.info.extents[*axis] : Expr(1); }
  Expr width() const { return extentOf(x().row); }
  Expr height() const { return y() ? extentOf(y()->row) : Expr(1); }
  Expr spanOf(const Slide &s, const Expr &places) const { return cpu::spanOf(f.info, s, places); }
  Expr channelWords() const { return Expr::ceildiv(f.info.extents[shape.channels()], Expr(quad)); }
  Expr blocks() const;
  Expr linesPerBlock() const { return Expr::ceildiv(height(), Expr::max(blocks(), Expr(1))); }
  Expr lineWords() const { return spanOf(x(), width()) * (together ? channelWords() : Expr(1)); }
  /// A vector past the last line's end is not the next plane's, nor are the rows that a tile has beyond the last group of places, and places that
  /// are packed together. With the channels together a plane has all of them.
  Expr planeWords() const {
    int64_t most = std::max<int64_t>(MatrixUnit::tilesOfGroup * x().stride, lieTogether ? 0 : v.lanes);
    Expr beyond = steps ? channelWords() * Expr(most) : Expr(0);
    return lineWords() * (y() ? spanOf(*y(), linesPerBlock()) : Expr(1)) + Expr(int64_t(v.lanes)) + beyond;
  }
  Expr imageWords() const;
  void forOuterTaps(const BodyEmitter &point, llvm::function_ref<void(const BodyEmitter &, Value)> body);
  void fillTable();
  void bindPlace(BodyEmitter &at, const Slide &s, Value place) { cpu::bindPlace(v, f.info, at, s, place); }
  void packImage(const BodyEmitter &point, Value firstLine, Value lines);
  void emitPanel(const BodyEmitter &point, Value batch, Value panelIndex, Value firstRow, Value lines);

  void emitUnitPanel(const BodyEmitter &point, Value batch, Value panelIndex, Value firstRow, Value lines);
  /// The tallest group of places of a line, halved.
  Value tileHeight() { return v.ceilDiv(v.ceilDiv(rowLength, v.max(epilogue.rowGroups().tilesOf(v, rowLength), v.i(1))), MatrixUnit::tilesOfGroup); }
  void packTogether(const BodyEmitter &line, Value outer, Value number);
  void findRuns();
  bool isRunOfBytes(kernel::LoadOp load) const;
  void transposeSquare(Value to);
  void packVector(const BodyEmitter &at, const std::string &lane, Value place, Value plane, Value to, Value mask, Value from = {}, bool inside = false);

  std::optional<Steps> steps;
  std::optional<MatrixUnit> unit; ///< where there are steps
  bool lieTogether; ///< channels, in the image
  bool together;    ///< and in scratch
  ImageBorders borders;
  SmallVector<kernel::LoadOp> runs; ///< bytes side by side along lines
  bool shifts = false; ///< a vector of bytes is a word of the machine, and all that is read has the one border
  Value square; ///< words of as many channels as lanes at a vector of places
  Value table, room, places, lineLength, planeLength, rowLength;
  Value placeStep, channelStep, outerStep; ///< from a place, four channels and an outer tap to the next one, in words
};
} // namespace

Expr ImageEmitter::blocks() const {
  Expr lines = Expr::floordiv(Expr(blockPlaces - 1), Expr::max(width(), Expr(1))) + Expr(1);
  return Expr::ceildiv(height(), lines);
}

Expr ImageEmitter::imageWords() const {
  Expr n = (together ? Expr(1) : channelWords()) * planeWords();
  for (size_t s = 0; s + 2 < shape.slides.size(); ++s)
    n = n * extentOf(shape.slides[s].tap);
  return n;
}

/// All that is read for each channel has them side by side.
static bool channelsLieTogether(const lower::BodyInfo &info, const IntegerShape &shape) {
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

/// Steps end with what lies side by side under a window, a line of its taps or the channels of one. Planes of channels are transposed while they are
/// packed, whole registers of them. Lines of a few places leave most of a tile empty.
std::optional<int64_t> lathe::cpu::stepOfImage(const lower::BodyInfo &info, const IntegerShape &shape) {
  constexpr int64_t fewestPlaces = 4;
  const Slide &x = shape.slides.back();
  std::optional<int64_t> channels = info.extents[shape.channels()].constant(), taps = x.tap ? info.extents[*x.tap].constant() : 1;
  std::optional<int64_t> width = info.extents[*x.row].constant();
  if (!channels || !taps || (width && *width < fewestPlaces))
    return std::nullopt;
  if (!channelsLieTogether(info, shape) && *channels % MatrixUnit::rowBytes)
    return std::nullopt;
  int64_t run = (*channels + quad - 1) / quad * (x.dilation == 1 ? *taps : 1);
  return MatrixUnit::stepOf(run);
}

/// Bytes that lie side by side along lines, and whether vectors of them can be shifted into place.
void ImageEmitter::findRuns() {
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

/// Axes that are bound where a line is; channels are where a word is packed, behind the question.
static lower::AxisSet axesOfLines(const IntegerShape &shape) {
  lower::AxisSet bound = shape.product.rows.set() | shape.product.batch.set();
  for (const Slide &s : shape.slides)
    if (s.tap)
      bound |= lower::AxisSet(1) << *s.tap;
  return bound;
}

bool ImageEmitter::isRunOfBytes(kernel::LoadOp load) const {
  std::optional<Expr::Linear> along = f.info.exprOf(load).linearIn(laneOf(f.info, x()));
  return along && along->coefficient.isOne() && load.getIndices().empty() && !load.getFill();
}

/// The words of all channels at the places of a vector, which may be known to lie inside. `from`: bytes are loaded from there on, where all are, and
/// shifted into place.
void ImageEmitter::packVector(const BodyEmitter &at, const std::string &lane, Value place, Value plane, Value to, Value mask, Value from, bool inside) {
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
    v.b.create<LLVM::StoreOp>(v.loc, quads, word(f.scratch, v.add(v.mul(v.add(plane, c), planeLength), to)), 4);
  });
}

/// The words of as many channels as lanes at a vector of places, place by place.
void ImageEmitter::transposeSquare(Value to) {
  VectorBuilder::Values lines;
  for (unsigned c = 0; c < v.lanes; ++c)
    lines.push_back(v.b.create<LLVM::LoadOp>(v.loc, v.vec, word(square, v.i(c * v.lanes)), 64));
  for (auto [place, words] : llvm::enumerate(v.transpose(lines)))
    v.b.create<LLVM::StoreOp>(v.loc, words, word(f.scratch, v.add(to, v.mul(placeStep, place))), 4);
}

ImageEmitter::ImageEmitter(KernelFunction &f, const IntegerShape &shape, std::optional<Steps> steps)
    : IntegerEmitter(f, shape, steps ? MatrixUnit::groupRows : 0), steps(steps), lieTogether(channelsLieTogether(f.info, shape)),
      together(lieTogether || steps), borders(v, f.info, shape.rows, axesOfLines(shape)) {
  findRuns();
  if (steps && !lieTogether)
    square = v.b.create<LLVM::AllocaOp>(v.loc, LLVM::LLVMPointerType::get(v.b.getContext()), v.intVec, v.i(v.lanes), 64);
  if (steps)
    unit.emplace(v);
  else if (std::optional<int64_t> known = width().constant())
    tiles.allowHeightsOf(epilogue.rowGroups(), *known);
  lineLength = body.emitExpr(lineWords());
  places = body.emitExpr(spanOf(x(), width()));
  planeLength = body.emitExpr(planeWords());
  rowLength = v.max(body.emitExpr(width()), v.i(1));
  Value perTap = body.emitExpr(channelWords());
  placeStep = together ? perTap : v.i(1);
  channelStep = together ? v.i(1) : planeLength;
  outerStep = together ? planeLength : v.mul(planeLength, perTap);
  table = word(f.scratch, body.emitExpr(Expr::ceildiv(imageWords() + Expr(int64_t(v.lanes)), Expr(16)) * Expr(16)));
  room = word(table, v.mul(words, 2));
}

KernelPlan ImageEmitter::plan() const {
  KernelPlan plan;
  Expr outer = shape.product.batch.extent();
  for (unsigned a : shape.product.rows.axes)
    outer = outer * (a == x().row || (y() && a == y()->row) ? Expr(1) : f.info.extents[a]);
  plan.items = outer * blocks() * Expr::min(width(), Expr(1)) * panels();
  plan.cost = Expr(panelColumns / (steps ? 8 : 2)) * shape.words() * linesPerBlock() * width();
  plan.scratchBytes = Expr(quad) * (imageWords() + Expr(int64_t(v.lanes) + 16) + Expr(2) * shape.words() + panelWords());
  plan.granularity = Expr::max(Expr(1), Expr::min(panels(), Expr(panelsPerPacking)));
  return plan;
}

/// The taps of the dimensions outside of lines and planes, and their number.
void ImageEmitter::forOuterTaps(const BodyEmitter &point, function_ref<void(const BodyEmitter &, Value)> emit) {
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
void ImageEmitter::fillTable() {
  Value perTap = body.emitExpr(channelWords()), tapsX = body.emitExpr(extentOf(x().tap));
  Value tapsY = body.emitExpr(y() ? extentOf(y()->tap) : Expr(1));
  forOuterTaps(body, [&](const BodyEmitter &, Value outer) {
    v.loop(v.i(0), tapsY, 1, [&](Value ky) {
      v.loop(v.i(0), tapsX, 1, [&](Value kx) {
        Value tap = v.add(v.mul(v.add(v.mul(outer, tapsY), ky), tapsX), kx);
        Value place = v.add(v.mul(v.mul(ky, y() ? y()->dilation : 1), lineLength), v.mul(v.mul(kx, x().dilation), placeStep));
        v.loop(v.i(0), perTap, 1, [&](Value c) {
          Value offset = v.add(v.add(v.mul(outer, outerStep), v.mul(c, channelStep)), place);
          v.b.create<LLVM::StoreOp>(v.loc, offset, v.at(table, v.add(v.mul(tap, perTap), c), v.b.getI64Type()), 8);
        });
      });
    });
  });
}

/// A line's channels, place by place. What lies past the last one meets zeros of the filter, and is written over by the next place.
void ImageEmitter::packTogether(const BodyEmitter &line, Value outer, Value number) {
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

void ImageEmitter::packImage(const BodyEmitter &point, Value firstLine, Value lines) {
  Value perTap = body.emitExpr(channelWords()), top = v.mul(firstLine, y() ? y()->stride : 1), height = v.i(1);
  if (y())
    height = v.add(v.mul(v.sub(lines, 1), y()->stride), body.emitExpr(spanOf(*y(), Expr(1))));
  forOuterTaps(point, [&](const BodyEmitter &outer, Value number) {
    v.loop(v.i(0), height, 1, [&](Value line) {
      BodyEmitter at = outer;
      if (y())
        bindPlace(at, *y(), v.add(top, line));
      bindPlace(at, x(), v.i(0));
      if (lieTogether)
        return packTogether(at, number, line);
      const std::string &lane = laneOf(f.info, x());
      Value plane = together ? number : v.mul(number, perTap);
      auto [first, end] = borders.areIntervals() ? borders.insideOf(at, lane, places) : std::pair<Value, Value>();
      v.loop(v.i(0), places, v.lanes, [&, first = first, end = end](Value place) {
        Value to = v.add(v.mul(line, places), place);
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
    });
  });
}

/// Items are (group of channels, image, block of lines, panel), the last fastest.
void ImageEmitter::emit() {
  const AxisGroup &rows = shape.product.rows;
  fillTable();
  if (unit)
    unit->configure(tileHeight(), v.i(steps->words));
  AxisGroup outer(f.info, {rows.axes.begin(), rows.axes.end() - (y() ? 2 : 1)});
  Value count = v.max(body.emitExpr(blocks()), v.i(1)), height = body.emitExpr(this->height());
  Value low = v.div(height, count), highBlocks = v.sub(height, v.mul(low, count)), images = v.max(body.emitExpr(outer.extent()), v.i(1));
  v.loop(v.div(f.begin, panelCount), v.ceilDiv(f.end, panelCount), 1, [&](Value group) {
    Value image = v.div(group, count), block = v.sub(group, v.mul(image, count)), start = v.mul(group, panelCount), batch = v.i(0);
    Value firstLine = v.add(v.mul(block, low), v.min(block, highBlocks));
    Value lines = v.select(v.less(block, highBlocks), v.add(low, 1), low);
    BodyEmitter base = body;
    if (!shape.product.batch.empty()) {
      batch = v.div(image, images);
      image = v.sub(image, v.mul(batch, images));
      shape.product.batch.bind(v, base, batch, /*flat=*/false);
    }
    BodyEmitter point = base;
    outer.bind(v, point, image, /*flat=*/false);
    packImage(point, firstLine, lines);
    Value firstRow = v.mul(v.add(v.mul(image, height), firstLine), rowLength);
    v.loop(v.max(v.sub(f.begin, start), v.i(0)), v.min(v.sub(f.end, start), panelCount), 1,
           [&](Value panel) { steps ? emitUnitPanel(base, batch, panel, firstRow, lines) : emitPanel(base, batch, panel, firstRow, lines); });
  });
  if (unit)
    unit->release();
}

void ImageEmitter::emitPanel(const BodyEmitter &point, Value batch, Value panelIndex, Value firstRow, Value lines) {
  ColumnPanel panel = panelAt(point, batch, panelIndex, room);
  Value firstColumn = v.mul(panelIndex, panelColumns);
  const RowGroups &groups = epilogue.rowGroups();
  WordRows at{v.mul(placeStep, x().stride), table};
  Value perLine = groups.tilesOf(v, rowLength), tileCount = v.mul(perLine, lines);
  forWidth(panelIndex, [&](unsigned width) {
    v.loop(v.i(0), lines, 1, [&](Value line) {
      Value lineAt = word(f.scratch, v.mul(v.mul(line, y() ? y()->stride : 1), lineLength));
      groups.each(v, rowLength, [&](const RowGroups::Part &group) {
        Value row = v.add(v.add(firstRow, v.mul(line, rowLength)), group.first);
        epilogue.request(point, row, group.count, firstColumn, width);
        groups.eachTile(v, group, [&](const RowGroups::Part &tile) {
          Value place = v.mul(v.mul(v.add(group.first, tile.first), x().stride), placeStep);
          tiles.emit(panel, word(lineAt, place), at, tile.count, words, epilogue.bufferAt(tile.first), {}, columnStart(),
                     requestOf(panel, v.add(v.mul(line, perLine), tile.number), tileCount, width), width);
        });
        epilogue.emit(point, row, group.count, firstColumn, width);
      });
    });
  });
}

/// A group is a part of a line: a tile's rows lie a window's step apart in the image.
void ImageEmitter::emitUnitPanel(const BodyEmitter &point, Value batch, Value panelIndex, Value firstRow, Value lines) {
  ColumnPanel panel = panelAt(point, batch, panelIndex, room);
  Value firstColumn = v.mul(panelIndex, panelColumns), rowStep = v.mul(placeStep, x().stride), height = tileHeight();
  Value count = v.div(words, steps->words), perLine = epilogue.rowGroups().tilesOf(v, rowLength), groupCount = v.mul(perLine, lines);
  forWidth(panelIndex, [&](unsigned width) {
    v.loop(v.i(0), lines, 1, [&](Value line) {
      Value lineAt = word(f.scratch, v.mul(v.mul(line, y() ? y()->stride : 1), lineLength));
      epilogue.rowGroups().each(v, rowLength, [&](const RowGroups::Part &group) {
        Value row = v.add(v.add(firstRow, v.mul(line, rowLength)), group.first), number = v.add(v.mul(line, perLine), group.number);
        auto rows = [&](unsigned tile, Value step) {
          Value offset = v.b.create<LLVM::LoadOp>(v.loc, v.b.getI64Type(), v.at(table, v.mul(step, steps->words), v.b.getI64Type()), 8);
          return word(lineAt, v.add(offset, v.mul(v.add(group.first, v.mul(height, tile)), rowStep)));
        };
        auto columns = [&](Value step) {
          requestStep(panel, number, groupCount, step, count);
          return word(panel.words, v.mul(step, steps->words * panelColumns));
        };
        epilogue.request(point, row, group.count, firstColumn, width);
        unit->multiply({MatrixUnit::ofBytes(steps->rowsSigned, true), v.mul(rowStep, quad), rows, columns}, count, width, epilogue.buffer(), height);
        epilogue.emit(point, row, group.count, firstColumn, width);
      });
    });
  });
}

llvm::Expected<bool> lathe::cpu::emitIntegerConvolution(KernelFunction &f, const IntegerShape &given, KernelPlan &plan) {
  std::optional<int64_t> words = f.isa.multipliesByteTiles() ? stepOfImage(f.info, given) : std::nullopt;
  IntegerShape shape = words ? given.unshifted() : given;
  ImageEmitter emitter(f, shape, words ? std::optional(ImageEmitter::Steps{*words, given.rowsSigned}) : std::nullopt);
  emitter.emit();
  plan = emitter.plan();
  if (!emitter.error().empty())
    return llvm::createStringError(emitter.error());
  return true;
}
