//===- WindowPanel.cpp - Panels of what windows read, line by line ---------===//

#include "WindowPanel.h"
#include "ContractionPack.h"
#include "../Rows/EdgeCompares.h"
#include "lathe/Lower/BodySlices.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using shape::Expr;

/// Of a window in three dimensions.
constexpr size_t mostCorners = 8;
constexpr int64_t fewestPerCorner = 6;
/// Channels that are packed together, at least and at most.
constexpr int64_t fewestChannels = 4, mostChannels = 32;

namespace {
/// Vectors of a panel's columns: as many from column `q` of the panel on, the first of them at `place` of its line.
struct Run {
  Value q, place;
  unsigned count;
};

class WindowPacker {
public:
  WindowPacker(VectorBuilder &v, const ContractionShape &shape, const WindowLines &lines, const BodyEmitter &base, const BodyEmitter &line,
               Value panel, int64_t cacheBytes)
      : v(v), shape(shape), lines(lines), base(base), line(line), panel(panel), cacheBytes(cacheBytes), lane(lines.columns.axes.back()),
        order(windowOrder(shape)), interior(lines.info, lines.value, lane, allAxes(lines.info)) {}
  void emit(Value first, Value columns);

private:
  void eachVector(Value first, Value columns);
  int64_t channelsTogether() const;
  void onLines(Value column, Value q, unsigned count, Value columns, llvm::function_ref<void()> otherwise);
  void acrossTwo(const BodyEmitter &here, Value length, Value number, Value place, Value q, Value left);
  void acrossLines(Value column, Value q, Value columns);
  void acrossMany(Value column, Value q, Value columns);
  void loops(const BodyEmitter &point, size_t from, size_t to, Value k, llvm::function_ref<void(const BodyEmitter &, Value)> inside) {
    emitWindowLoops(v, shape, order, point, from, to, k, inside);
  }
  void overTaps(const BodyEmitter &point, const Run &run);
  Value holdsAtCorners(const BodyEmitter &point, const Run &run);
  void atTap(const BodyEmitter &tap, const Run &run, Value k);
  void load(const BodyEmitter &tap, const Run &run, Value k);

  VectorBuilder &v;
  const ContractionShape &shape;
  const WindowLines &lines;
  const BodyEmitter &base, &line;
  Value panel;
  int64_t cacheBytes;
  unsigned lane;
  WindowOrder order;
  Interior interior;
};
} // namespace

/// A window reads a plane for each channel, which are as many pages. Some channels are packed for all taps and columns before the next ones: their rows of
/// the panel take half of the first-level cache, where each line is put together, and what they read stays there from tap to tap.
int64_t WindowPacker::channelsTogether() const {
  int64_t taps = 1;
  for (size_t t = 0; t < order.taps; ++t)
    taps *= std::max<int64_t>(1, shape.reduced.info->extents[order.axes[t]].constant().value_or(3));
  int64_t rowBytes = panelColumns * shape.accumulatorBytes;
  return std::clamp(cacheBytes / 2 / (taps * rowBytes), fewestChannels, mostChannels);
}

void WindowPacker::emit(Value first, Value columns) {
  const lower::BodyInfo &info = *shape.reduced.info;
  int64_t together = channelsTogether();
  if (order.taps == 0 || order.taps == order.axes.size() || info.extents[order.axes[order.taps]].constant().value_or(INT64_MAX) <= together)
    return eachVector(first, columns);
  BodyEmitter point = line;
  Value channels = point.emitExpr(info.extents[order.axes[order.taps]]);
  v.loop(v.i(0), channels, together, [&](Value channel) {
    order.begin = channel;
    order.end = v.min(v.add(channel, together), channels);
    eachVector(first, columns);
  });
}

/// All of them where they lie on one line, else one after the other; one that crosses lines gathers.
void WindowPacker::eachVector(Value first, Value columns) {
  unsigned all = panelColumns / v.lanes;
  onLines(first, v.i(0), all, columns, [&] {
    v.loop(v.i(0), v.i(panelColumns), v.lanes, [&](Value q) {
      Value column = v.add(first, q);
      onLines(column, q, 1, columns, [&] { acrossLines(column, q, columns); });
    });
  });
}

void WindowPacker::onLines(Value column, Value q, unsigned count, Value columns, llvm::function_ref<void()> otherwise) {
  BodyEmitter point = line;
  Value length = v.max(point.emitExpr(lines.info.extents[lane]), v.i(1)), number = v.div(column, length);
  Value place = v.sub(column, v.mul(number, length)), beyond = v.i(count * v.lanes - 1);
  Value fits = v.b.create<arith::AndIOp>(v.loc, v.less(v.add(place, beyond), length), v.less(v.add(column, beyond), columns));
  v.ifThen(
      fits,
      [&] {
        AxisGroup outer(lines.info, {lines.columns.axes.begin(), lines.columns.axes.end() - 1});
        outer.bind(v, point, number, /*flat=*/false);
        overTaps(point, {q, place, count});
      },
      otherwise);
}

/// Do the comparisons hold at all taps? What is linear in each tap and holds at the corners of the window does. Nothing where that is not known, or
/// where the taps are hardly more than the corners.
Value WindowPacker::holdsAtCorners(const BodyEmitter &point, const Run &run) {
  SmallVector<BodyEmitter> corners{point};
  int64_t taps = 1;
  for (size_t t = 0; t < order.taps; ++t) {
    const std::string &name = shape.reduced.info->axes[order.axes[t]];
    std::optional<int64_t> extent = shape.reduced.info->extents[order.axes[t]].constant();
    if (!extent || !interior.isLinearIn(name) || corners.size() > mostCorners / 2)
      return {};
    SmallVector<BodyEmitter> ends;
    for (BodyEmitter &corner : corners)
      for (int64_t at : {int64_t(0), *extent - 1}) {
        ends.push_back(corner);
        ends.back().bindAxis(name, v.i(at));
      }
    corners = std::move(ends);
    taps *= *extent;
  }
  if (taps < fewestPerCorner * int64_t(corners.size()))
    return {};
  Value all;
  for (const BodyEmitter &corner : corners) {
    Value one = interior.holds(v, corner, run.place, run.count * v.lanes);
    all = all ? v.b.create<arith::AndIOp>(v.loc, all, one).getResult() : one;
  }
  return all;
}

/// Where the whole window is inside of the image no tap is asked.
void WindowPacker::overTaps(const BodyEmitter &point, const Run &run) {
  auto each = [&] { loops(point, 0, order.taps, v.i(0), [&](const BodyEmitter &tap, Value k) { atTap(tap, run, k); }); };
  Value inside = interior.isEverywhere() ? Value() : holdsAtCorners(point, run);
  if (!inside)
    return each();
  BodyEmitter within = point;
  interior.assume(v, within);
  v.ifThen(inside, [&] { loops(within, 0, order.taps, v.i(0), [&](const BodyEmitter &tap, Value k) { load(tap, run, k); }); }, each);
}

/// The end of a line and the beginning of the next one, each under a mask: no lane asks where it is.
void WindowPacker::acrossTwo(const BodyEmitter &here, Value length, Value number, Value place, Value q, Value left) {
  Value onFirst = v.firstLanes(v.min(v.sub(length, place), left)), all = v.firstLanes(left);
  Value onSecond = v.b.create<arith::XOrIOp>(v.loc, all, onFirst);
  AxisGroup outer(lines.info, {lines.columns.axes.begin(), lines.columns.axes.end() - 1});
  loops(here, 0, order.axes.size(), v.i(0), [&](const BodyEmitter &tap, Value k) {
    auto part = [&](Value line, Value from, Value mask) {
      BodyEmitter at = tap;
      outer.bind(v, at, line, /*flat=*/false);
      at.bindLane(lines.info.axes[lane], from, v.lanes, mask);
      return at.emitLanes(lines.value);
    };
    Value first = part(number, place, onFirst), second = part(v.add(number, 1), v.sub(place, length), onSecond);
    v.store(v.select(onFirst, first, second), panel, v.add(v.mul(k, panelColumns), q));
  });
}

void WindowPacker::acrossLines(Value column, Value q, Value columns) {
  BodyEmitter here = line;
  Value length = v.max(here.emitExpr(lines.info.extents[lane]), v.i(1)), number = v.div(column, length);
  Value place = v.sub(column, v.mul(number, length));
  v.ifThen(
      v.less(v.i(v.lanes - 1), length), [&] { acrossTwo(here, length, number, place, q, v.sub(columns, column)); },
      [&] { acrossMany(column, q, columns); });
}

void WindowPacker::acrossMany(Value column, Value q, Value columns) {
  BodyEmitter point = base;
  point.bindLane(shape.columns.info->axes[shape.columns.carrier()], column, v.lanes, v.firstLanes(v.sub(columns, column)));
  loops(point, 0, order.axes.size(), v.i(0), [&](const BodyEmitter &at, Value k) {
    BodyEmitter lanes = at;
    v.store(lanes.emitLanes(shape.rhsValue), panel, v.add(v.mul(k, panelColumns), q));
  });
}

/// What is left are axes that no predicate asks for.
void WindowPacker::atTap(const BodyEmitter &tap, const Run &run, Value k) {
  if (interior.isEverywhere())
    return load(tap, run, k);
  auto inside = [&] {
    BodyEmitter at = tap;
    interior.assume(v, at);
    load(at, run, k);
  };
  auto singly = [&] {
    v.loop(v.i(0), v.i(run.count * v.lanes), v.lanes,
           [&](Value q) { atTap(tap, {v.add(run.q, q), v.add(run.place, q), 1}, k); });
  };
  v.ifThen(interior.holds(v, tap, run.place, run.count * v.lanes), inside, [&] { run.count > 1 ? singly() : load(tap, run, k); });
}

void WindowPacker::load(const BodyEmitter &tap, const Run &run, Value k) {
  loops(tap, order.taps, order.axes.size(), k, [&](const BodyEmitter &point, Value row) {
    Value to = v.add(v.mul(row, panelColumns), run.q);
    for (unsigned i = 0; i < run.count; ++i) {
      BodyEmitter at = point;
      at.bindLane(lines.info.axes[lane], v.add(run.place, i * v.lanes), v.lanes);
      v.store(at.emitLanes(lines.value), panel, v.add(to, i * v.lanes));
    }
  });
}

void lathe::cpu::emitWindowPanel(VectorBuilder &v, const ContractionShape &shape, const WindowLines &lines, const BodyEmitter &base,
                                 const BodyEmitter &line, Value first, Value columns, Value panel,
                                 int64_t cacheBytes) {
  WindowPacker(v, shape, lines, base, line, panel, cacheBytes).emit(first, columns);
}
