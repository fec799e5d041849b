//===- IntegerConvolution.cpp - CPU code for convolutions of bytes ---------===//

#include "IntegerEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
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
/// and all: [outer taps][channels / 4][y][x]. Word w of the sum lies at a fixed distance from where the window starts, which a
/// table holds; the places of a line are `stride` words apart.
class ImageEmitter : IntegerEmitter {
public:
  ImageEmitter(KernelFunction &f, const IntegerShape &shape);
  void emit();
  KernelPlan plan() const;
  using IntegerEmitter::error;

private:
  const Slide &x() const { return shape.slides.back(); }
  const Slide *y() const { return shape.slides.size() > 1 ? &shape.slides[shape.slides.size() - 2] : nullptr; }
  Expr extentOf(std::optional<unsigned> axis) const { return axis ? f.info.extents[*axis] : Expr(1); }
  Expr width() const { return extentOf(x().row); }
  Expr height() const { return y() ? extentOf(y()->row) : Expr(1); }
  Expr spanOf(const Slide &s, const Expr &places) const;
  Expr channelWords() const { return Expr::ceildiv(f.info.extents[shape.channels()], Expr(quad)); }
  Expr blocks() const;
  Expr linesPerBlock() const { return Expr::ceildiv(height(), Expr::max(blocks(), Expr(1))); }
  Expr lineWords() const { return spanOf(x(), width()); }
  /// A vector past the last line's end is not the next plane's.
  Expr planeWords() const { return lineWords() * (y() ? spanOf(*y(), linesPerBlock()) : Expr(1)) + Expr(int64_t(v.lanes)); }
  Expr imageWords() const;
  void forOuterTaps(const BodyEmitter &point, llvm::function_ref<void(const BodyEmitter &, Value)> body);
  void fillTable();
  void bindPlace(BodyEmitter &at, const Slide &s, Value place);
  void packImage(const BodyEmitter &point, Value firstLine, Value lines);
  void emitPanel(const BodyEmitter &point, Value panelIndex, Value firstRow, Value lines);

  void findBorders();

  SmallVector<Value> borders; ///< predicates of what is read of the image
  bool intervals = true;      ///< each holds between any two places at which it does
  Value table, room, lineLength, planeLength, rowLength;
};
} // namespace

/// Elements that windows at `places` places in a row reach over.
Expr ImageEmitter::spanOf(const Slide &s, const Expr &places) const {
  return Expr::max((places - Expr(1)) * Expr(s.stride) + (extentOf(s.tap) - Expr(1)) * Expr(s.dilation) + Expr(1), Expr(0));
}

Expr ImageEmitter::blocks() const {
  Expr lines = Expr::floordiv(Expr(blockPlaces - 1), Expr::max(width(), Expr(1))) + Expr(1);
  return Expr::ceildiv(height(), lines);
}

Expr ImageEmitter::imageWords() const {
  Expr n = channelWords() * planeWords();
  for (size_t s = 0; s + 2 < shape.slides.size(); ++s)
    n = n * extentOf(shape.slides[s].tap);
  return n;
}

/// True for comparisons of indices and what holds where all of some do: on a line they hold along an interval.
static bool holdsAlongInterval(Value v, unsigned depth = 0) {
  if (auto both = v.getDefiningOp<arith::AndIOp>())
    return depth < 16 && holdsAlongInterval(both.getLhs(), depth + 1) && holdsAlongInterval(both.getRhs(), depth + 1);
  using P = arith::CmpIPredicate;
  auto compare = v.getDefiningOp<arith::CmpIOp>();
  auto isIndex = [](Value x) {
    auto index = x.getDefiningOp<kernel::IndexOp>();
    return x.getDefiningOp<arith::ConstantOp>() || (index && index.getIndices().empty());
  };
  return compare && llvm::is_contained({P::slt, P::sle, P::sgt, P::sge}, compare.getPredicate()) && isIndex(compare.getLhs()) &&
         isIndex(compare.getRhs());
}

/// The indices are linear in the lanes: IntegerShape has seen to that for what rows and taps they mention.
void ImageEmitter::findBorders() {
  SmallVector<Value> work{shape.rows};
  lower::AxisSet bound = 0; // channels are bound where a word is packed, behind the question
  for (unsigned a : shape.product.rows.axes)
    bound |= lower::AxisSet(1) << a;
  for (const Slide &s : shape.slides)
    if (s.tap)
      bound |= lower::AxisSet(1) << *s.tap;
  llvm::DenseSet<Operation *> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    work.append(op->operand_begin(), op->operand_end());
    auto load = dyn_cast<kernel::LoadOp>(op);
    if (Value border = load ? load.getPredicate() : Value(); border && !llvm::is_contained(borders, border)) {
      borders.push_back(border);
      intervals &= holdsAlongInterval(border) && !(f.info.axesOf(border) & ~bound);
    }
  }
}

ImageEmitter::ImageEmitter(KernelFunction &f, const IntegerShape &shape) : IntegerEmitter(f, shape) {
  findBorders();
  if (std::optional<int64_t> known = width().constant())
    tiles.allowHeightsOf(*known);
  lineLength = body.emitExpr(lineWords());
  planeLength = body.emitExpr(planeWords());
  rowLength = v.max(body.emitExpr(width()), v.i(1));
  table = word(f.scratch, body.emitExpr(Expr::ceildiv(imageWords() + Expr(int64_t(v.lanes)), Expr(16)) * Expr(16)));
  room = word(table, v.mul(words, 2));
}

KernelPlan ImageEmitter::plan() const {
  KernelPlan plan;
  Expr outer(1);
  for (unsigned a : shape.product.rows.axes)
    outer = outer * (a == x().row || (y() && a == y()->row) ? Expr(1) : f.info.extents[a]);
  plan.items = outer * blocks() * Expr::min(width(), Expr(1)) * panels();
  plan.cost = Expr(panelColumns / 2) * shape.words() * linesPerBlock() * width();
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
        Value place = v.add(v.mul(v.mul(ky, y() ? y()->dilation : 1), lineLength), v.mul(kx, x().dilation));
        v.loop(v.i(0), perTap, 1, [&](Value c) {
          Value offset = v.add(v.mul(v.add(v.mul(outer, perTap), c), planeLength), place);
          v.b.create<LLVM::StoreOp>(v.loc, offset, v.at(table, v.add(v.mul(tap, perTap), c), v.b.getI64Type()), 8);
        });
      });
    });
  });
}

/// The axes of a dimension, so that the image is read at `place`, counted from the first window's start.
void ImageEmitter::bindPlace(BodyEmitter &at, const Slide &s, Value place) {
  bool byTap = s.tap && s.dilation == 1;
  at.bindAxis(f.info.axes[*s.row], byTap ? v.i(0) : place);
  if (s.tap)
    at.bindAxis(f.info.axes[*s.tap], byTap ? place : v.i(0));
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
      unsigned lane = x().tap && x().dilation == 1 ? *x().tap : *x().row;
      v.loop(v.i(0), lineLength, v.lanes, [&](Value place) {
        Value left = v.sub(lineLength, place), to = v.add(v.mul(line, lineLength), place);
        auto words = [&](const BodyEmitter &from, Value mask) {
          v.loop(v.i(0), perTap, 1, [&](Value c) { // innermost: where the image ends is the same for all channels
            Value quads = packer.imageWords(from, v.mul(c, quad), f.info.axes[lane], place, mask);
            Value plane = v.mul(v.add(v.mul(number, perTap), c), planeLength);
            v.b.create<LLVM::StoreOp>(v.loc, quads, word(f.scratch, v.add(plane, to)), 4);
          });
        };
        if (!intervals)
          return words(at, v.firstLanes(left));
        BodyEmitter inside = at; // no lane is outside of the image or of the line
        Value all = v.less(v.i(v.lanes - 1), left), yes = v.b.create<arith::ConstantOp>(v.loc, v.b.getBoolAttr(true));
        for (Value border : borders) {
          for (unsigned end : {0u, v.lanes - 1}) {
            BodyEmitter point = at;
            point.bindAxis(f.info.axes[lane], v.add(place, end));
            all = v.b.create<arith::AndIOp>(v.loc, all, point.emit(border));
          }
          inside.bindValue(border, yes);
        }
        v.ifThen(all, [&] { words(inside, {}); }, [&] { words(at, v.firstLanes(left)); });
      });
    });
  });
}

/// Items are (image, block of lines, panel), the last fastest.
void ImageEmitter::emit() {
  const AxisGroup &rows = shape.product.rows;
  fillTable();
  AxisGroup outer(f.info, {rows.axes.begin(), rows.axes.end() - (y() ? 2 : 1)});
  Value count = v.max(body.emitExpr(blocks()), v.i(1)), height = body.emitExpr(this->height());
  Value low = v.div(height, count), highBlocks = v.sub(height, v.mul(low, count));
  v.loop(v.div(f.begin, panelCount), v.ceilDiv(f.end, panelCount), 1, [&](Value group) {
    Value image = v.div(group, count), block = v.sub(group, v.mul(image, count)), start = v.mul(group, panelCount);
    Value firstLine = v.add(v.mul(block, low), v.min(block, highBlocks));
    Value lines = v.select(v.less(block, highBlocks), v.add(low, 1), low);
    BodyEmitter point = body;
    outer.bind(v, point, image, /*flat=*/false);
    packImage(point, firstLine, lines);
    Value firstRow = v.mul(v.add(v.mul(image, height), firstLine), rowLength);
    v.loop(v.max(v.sub(f.begin, start), v.i(0)), v.min(v.sub(f.end, start), panelCount), 1,
           [&](Value panel) { emitPanel(body, panel, firstRow, lines); });
  });
}

void ImageEmitter::emitPanel(const BodyEmitter &point, Value panelIndex, Value firstRow, Value lines) {
  ColumnPanel panel = panelAt(point, panelIndex, room);
  Value firstColumn = v.mul(panelIndex, panelColumns);
  Value tileCount = v.ceilDiv(rowLength, tiles.maxRows());
  Value high = v.ceilDiv(rowLength, tileCount), low = v.sub(high, 1), highTiles = v.sub(rowLength, v.mul(tileCount, low));
  WordRows at{v.i(x().stride), {}, table};
  forWidth(panelIndex, [&](unsigned width) {
    v.loop(v.i(0), lines, 1, [&](Value line) {
      Value lineAt = word(f.scratch, v.mul(v.mul(line, y() ? y()->stride : 1), lineLength));
      v.loop(v.i(0), tileCount, 1, [&](Value tile) {
        Value place = v.add(v.mul(tile, low), v.min(tile, highTiles)), row = v.add(v.add(firstRow, v.mul(line, rowLength)), place);
        Value rows = v.select(v.less(tile, highTiles), high, low);
        epilogue.request(point, row, rows, firstColumn, width);
        tiles.emit(panel, word(lineAt, v.mul(place, x().stride)), at, rows, words, epilogue.buffer(), {}, columnStart(), true, width);
        epilogue.emit(point, row, rows, firstColumn, width);
      });
    });
  });
}

llvm::Expected<bool> lathe::cpu::emitIntegerConvolution(KernelFunction &f, const IntegerShape &shape, KernelPlan &plan) {
  ImageEmitter emitter(f, shape);
  emitter.emit();
  plan = emitter.plan();
  if (!emitter.error().empty())
    return llvm::createStringError(emitter.error());
  return true;
}
