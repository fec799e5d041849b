//===- RowLoop.cpp - Loops of several points a thread, or with a rest --------===//
//
// Where accesses cannot be wide, a thread takes several points: it computes what it stores at all of them before it
// stores at the first, so that their reads are in flight together. A loop along one axis whose length is no multiple of
// the width has wide accesses as far as they go; behind them, a thread takes an element.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;

void RowEmitter::emitLoop() {
  struct Point {
    BodyEmitter emitter;
    Value ok;
    Values values;
  };
  // Numbers that fit in 32 bits are divided into places along the axes without the long form of a division.
  auto sized = [&](Value v) { return s.narrow ? v : d.wide(v); };
  auto whole = [&](Value v) { return s.narrow ? d.wide(v) : v; };
  Value first = d.add(d.mul(sized(d.blockId()), int64_t(s.threads) * s.points), sized(d.threadId()));
  Value count = frame.size(extentOf(info, axes.rows));
  if (lower::contains(axes.rows, s.lane))
    count = d.div(count, s.width);
  if (s.narrow)
    count = d.narrow(count);
  Value last = d.sub(count, s.narrow ? d.i32(1) : d.i64(1));
  std::vector<Point> points;
  for (unsigned i = 0; i < s.points; ++i) {
    // Points past the end read what the last one reads.
    Value row = d.add(first, int64_t(i) * s.threads), ok = d.less(whole(row), whole(count));
    points.push_back({base, ok, {}});
    bindFlattened(points.back().emitter, frame, s, axes.rows, whole(d.minU(row, last)));
  }
  for (Point &p : points)
    for (Operation *root : roots)
      p.values.push_back(p.emitter.emit(cast<kernel::StoreOp>(root).getValue()));
  for (Point &p : points)
    d.when(p.ok, [&] {
      for (auto [root, v] : llvm::zip(roots, p.values))
        p.emitter.emitStoreOf(cast<kernel::StoreOp>(root), v);
    });
}

void RowEmitter::emitRest() {
  Value thread = d.add(d.mul(d.wide(d.blockId()), s.threads), d.wide(d.threadId()));
  Value count = frame.size(info.extents[s.lane]), whole = d.div(count, s.width);
  Value behind = d.add(d.mul(whole, s.width), d.sub(thread, whole));
  auto emitAt = [&](Value from, unsigned width) {
    BodyEmitter point = base;
    point.bindLane(info.axes[s.lane], from, width);
    for (Operation *root : roots)
      point.emitStore(cast<kernel::StoreOp>(root));
  };
  d.branch(d.less(thread, whole), [&] { emitAt(d.mul(thread, s.width), s.width); },
           [&] { d.when(d.less(behind, count), [&] { emitAt(behind, 1); }); });
}
