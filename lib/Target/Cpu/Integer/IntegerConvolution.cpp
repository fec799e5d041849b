//===- IntegerConvolution.cpp - CPU code for convolutions of bytes ---------===//

#include "ImageWords.h"
#include "../MatrixUnit.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using shape::Expr;

/// Panels that a thread takes at least: each thread packs its own part of the image.
constexpr int64_t panelsPerPacking = 4;

namespace {
/// Items are (group of channels, image, block of lines, panel), the last fastest.
class ImageEmitter : ImageWords {
public:
  using ImageWords::Steps;
  ImageEmitter(KernelFunction &f, const IntegerShape &shape, std::optional<Steps> steps = {});
  void emit();
  KernelPlan plan() const;
  using IntegerEmitter::error;

private:
  void emitPanel(const BodyEmitter &point, Value batch, Value panelIndex, Value firstRow, Value lines);
  void emitPlacePanel(const BodyEmitter &point, const ColumnPanel &panel, Value panelIndex, Value firstRow, Value lines);
  void emitUnitPanel(const BodyEmitter &point, Value batch, Value panelIndex, Value firstRow, Value lines);
  /// The tallest group of places of a line, halved.
  Value tileHeight() { return v.ceilDiv(v.ceilDiv(rowLength, v.max(epilogue.rowGroups().tilesOf(v, rowLength), v.i(1))), MatrixUnit::tilesOfGroup); }

  std::optional<MatrixUnit> unit; ///< where there are steps
};
} // namespace

ImageEmitter::ImageEmitter(KernelFunction &f, const IntegerShape &shape, std::optional<Steps> steps) : ImageWords(f, shape, steps) {
  if (steps)
    unit.emplace(v);
  else if (inPlaces)
    placeTile.emplace(v, schedule::byteForm(v.target, shape.pairs.has_value()), mostPlaces);
  else if (std::optional<int64_t> known = width().constant())
    tiles.allowHeightsOf(epilogue.rowGroups(), *known);
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
  if (inPlaces)
    return emitPlacePanel(point, panel, panelIndex, firstRow, lines);
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

/// Vectors of places along lines, or from line to line, over what windows at a line's end read beyond it.
void ImageEmitter::emitPlacePanel(const BodyEmitter &point, const ColumnPanel &panel, Value panelIndex, Value firstRow, Value lines) {
  Value parts = v.ceilDiv(rowLength, mostPlaces);
  auto byLine = [&] {
    v.loop(v.i(0), v.mul(lines, parts), 1, [&](Value number) {
      Value line = v.div(number, parts), part = v.mul(v.sub(number, v.mul(line, parts)), mostPlaces), count = v.min(v.sub(rowLength, part), v.i(mostPlaces));
      PlaceWords from{word(f.scratch, v.add(v.mul(line, lineLength), part)), table, {}};
      Value row = v.add(v.add(firstRow, v.mul(line, rowLength)), part);
      emitPlaces(point, panel, panelIndex, {from, row, count, {}, {}, {}, number, v.mul(lines, parts)}, {});
    });
  };
  auto together = [&] {
    PlaceRun run{{f.scratch, table, {}}, firstRow, v.mul(lines, rowLength), lines, rowLength, lineLength, v.i(0), v.i(1)};
    emitPlaces(point, panel, panelIndex, run, {});
  };
  if (width().constant())
    return goesByLine() ? byLine() : together();
  v.ifThen(v.less(v.i(mostPlaces), rowLength), byLine, together);
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
