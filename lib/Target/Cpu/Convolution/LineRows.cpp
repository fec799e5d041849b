//===- LineRows.cpp - Rows of windows that share lines of an image ----------===//

#include "LineRows.h"
#include "lathe/Lower/BodySlices.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using shape::Expr;

/// Lines of results between what is packed of an image in planes and what is requested of it, and lines of a window where that is worth it.
constexpr int64_t linesAhead = 2, elementsPerLine = 16, mostLinesOfWindow = 5;

/// The axis of the window's lines, of which so many are new in each line of results.
static std::optional<std::pair<unsigned, int64_t>> linesOfWindow(const ContractionShape &product, const Expr &offset, const Expr &line) {
  const lower::BodyInfo &info = *product.rows.info;
  for (unsigned a : product.reduced.axes) {
    std::optional<Expr::Linear> tap = offset.linearIn(info.axes[a]);
    int64_t taps = info.extents[a].constant().value_or(0);
    for (int64_t fresh = 1; tap && fresh < taps && taps <= mostLinesOfWindow; ++fresh)
      if (tap->coefficient * Expr(fresh) == line)
        return std::pair(a, fresh);
  }
  return std::nullopt;
}

void cpu::requestLine(VectorBuilder &v, const ConvolutionShape &shape, const BodyEmitter &point, int64_t rows) {
  auto load = shape.image.getDefiningOp<kernel::LoadOp>();
  if (!load || !load.getIndices().empty() || shape.product.rows.axes.size() < 2)
    return;
  const lower::BodyInfo &info = *shape.product.rows.info;
  const Expr &offset = info.exprOf(load);
  std::optional<Expr::Linear> line = offset.linearIn(info.axes[shape.product.rows.axes.end()[-2]]), pixel = offset.linearIn(info.axes[shape.product.rows.axes.back()]);
  int64_t apart = pixel ? pixel->coefficient.constant().value_or(0) : 0;
  auto window = line ? linesOfWindow(shape.product, offset, line->coefficient) : std::nullopt;
  if (apart < 1 || !window)
    return;
  BodyEmitter at = point;
  const std::string &tap = info.axes[window->first];
  v.ifThen(v.less(v.i(*info.extents[window->first].constant() - window->second - 1), at.axisValue(tap)), [&] {
    Value ahead = v.mul(at.emitExpr(line->coefficient), linesAhead), address = at.addressOf(load);
    for (int64_t x = 0; x < apart * rows; x += elementsPerLine)
      v.prefetch(address, v.add(ahead, x), load.getType());
  });
}

std::optional<LineRows> LineRows::of(const lower::BodyInfo &info, const ConvolutionShape &shape, unsigned lanes) {
  const ContractionShape &product = shape.product;
  std::optional<lower::LineOfWindow> line;
  if (!product.rows.axes.empty() && !product.reduced.axes.empty() && shape.spans.empty())
    line = lower::LineOfWindow::of(info, shape.image, product.rows.axes.back(), product.reduced.set());
  if (!line)
    return std::nullopt;
  LineRows rows;
  rows.info = &info, rows.shape = &shape, rows.line = *line;
  rows.interior = Interior(info, shape.image, line->taps, lower::allAxes(info));
  rows.pitch = Expr::ceildiv(line->length(), Expr(lanes)) * Expr(lanes);
  return rows;
}

/// Lines of scratch from a point of a summed axis to the next; none along the line.
int64_t LineRows::linesOf(size_t level) const {
  const std::vector<unsigned> &axes = shape->product.reduced.axes;
  int64_t apart = axes[level] == line.taps ? 0 : 1;
  for (size_t l = level + 1; l < axes.size(); ++l)
    apart *= axes[l] == line.taps ? 1 : extentOf(axes[l]);
  return apart;
}

void LineRows::pack(VectorBuilder &v, const BodyEmitter &body, Value first, Value from, Value to, Value scratch) {
  BodyEmitter point = body;
  shape->product.rows.bind(v, point, first, /*flat=*/false);
  this->scratch = scratch;
  apart = point.emitExpr(pitch);
  packLines(v, point, 0, from, to, v.i(0));
}

/// The summed axes from `level` on, but for that along the line.
void LineRows::packLines(VectorBuilder &v, const BodyEmitter &point, size_t level, Value from, Value to, Value at) const {
  const std::vector<unsigned> &axes = shape->product.reduced.axes;
  if (level == axes.size())
    return packLine(v, point, at);
  auto next = [&](const BodyEmitter &inner, Value place) {
    Value count = level + 1 < axes.size() ? v.i(extentOf(axes[level + 1])) : Value();
    packLines(v, inner, level + 1, v.i(0), count, place);
  };
  if (axes[level] == line.taps)
    return next(point, at);
  v.loop(from, to, 1, [&](Value x) {
    BodyEmitter inner = point;
    inner.bindAxis(info->axes[axes[level]], x);
    next(inner, v.add(at, v.mul(v.mul(x, linesOf(level)), apart)));
  });
}

/// Vectors of neighbouring elements, as taps of the first row, of which there are as many as the line is long.
void LineRows::packLine(VectorBuilder &v, const BodyEmitter &point, Value at) const {
  auto put = [&](const BodyEmitter &from, Value x, Value mask) {
    BodyEmitter lanes = from;
    lanes.bindLane(info->axes[line.taps], x, v.lanes, mask);
    v.store(lanes.emitLanes(shape->image), scratch, v.add(at, x));
  };
  auto each = [&](const BodyEmitter &from, Value begin, Value end) { v.loop(begin, end, v.lanes, [&](Value x) { put(from, x, {}); }); };
  auto eachInside = [&](const BodyEmitter &from, Value begin, Value end) {
    v.loop(begin, end, v.lanes, [&](Value x) {
      BodyEmitter at = from;
      at.bindAxis(info->axes[line.taps], x);
      requestLine(v, *shape, at, llvm::divideCeil(v.lanes, line.step));
      put(from, x, {});
    });
  };
  BodyEmitter within = point;
  interior.assume(v, within);
  Value length = within.emitExpr(line.length()), whole = v.roundDown(length, v.lanes);
  if (interior.isEverywhere()) {
    eachInside(point, v.i(0), whole);
  } else { // of a line that the image has all but its ends lie inside
    Value first = v.min(v.i(v.lanes), whole), last = v.max(v.sub(whole, v.lanes), first), end = v.sub(last, v.lanes);
    Value inside = v.b.create<arith::AndIOp>(v.loc, interior.holds(v, point, first, v.lanes), interior.holds(v, point, v.max(end, first), v.lanes));
    each(point, v.i(0), first);
    v.ifThen(inside, [&] { eachInside(within, first, last); }, [&] { each(point, first, last); });
    each(point, last, whole);
  }
  std::optional<int64_t> rest = line.length().constant();
  if (!rest || *rest % v.lanes) // behind a line of whole vectors is no room
    v.ifThen(v.less(whole, length), [&] { put(point, whole, v.firstLanes(v.sub(length, whole))); });
}

ContractionTile::Lines LineRows::tileAt(VectorBuilder &v, const BodyEmitter &body, Value scratch, Value row, Value outermost) const {
  ContractionTile::Lines tile;
  BodyEmitter point = body;
  tile.pitch = point.emitExpr(pitch);
  Value start = linesOf(0) ? v.mul(v.mul(outermost, linesOf(0)), tile.pitch) : outermost;
  tile.memory = v.at(scratch, v.add(v.mul(row, line.step), start));
  tile.rowStep = line.step;
  for (auto [level, axis] : llvm::enumerate(shape->product.reduced.axes))
    tile.levels.push_back({extentOf(axis), linesOf(level)});
  return tile;
}
