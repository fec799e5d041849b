//===- RowSchedule.cpp - How a row program is laid on threads --------------===//

#include "RowSchedule.h"
#include "DeviceHooks.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyInfo;
using shape::Expr;

const RowTuning cuda::rowTuning;

Expr cuda::extentOf(const BodyInfo &info, AxisSet axes) {
  Expr e(1);
  for (unsigned i = 0; i < info.axes.size(); ++i)
    if (contains(axes, i))
      e = e * info.extents[i];
  return e;
}

/// Calls f(op, element type) for every access of the body, those of a score region included.
static void forEachAccess(const BodyInfo &info, llvm::function_ref<void(Operation *, Type)> f) {
  for (Operation *op : info.ops) {
    if (auto load = dyn_cast<kernel::LoadOp>(op))
      f(op, load.getRef().getType().getElementType());
    if (auto store = dyn_cast<kernel::StoreOp>(op))
      f(op, store.getRef().getType().getElementType());
  }
}

int cuda::chooseLane(const BodyInfo &info, ArrayRef<Operation *> roots, AxisSet among) {
  std::vector<int> score(info.axes.size());
  forEachAccess(info, [&](Operation *op, Type) {
    for (unsigned i = 0; i < info.axes.size(); ++i)
      if (auto linear = info.exprOf(op).linearIn(info.axes[i]); linear && !linear->coefficient.isZero())
        score[i] += (linear->coefficient.isOne() ? 2 : -1) * (isa<kernel::StoreOp>(op) ? 2 : 1);
  });
  int best = -1;
  for (unsigned i = 0; i < info.axes.size(); ++i)
    if (contains(among, i) && score[i] > 0 && !info.extents[i].isOne() && (best < 0 || score[i] >= score[best]))
      best = i;
  return best;
}

unsigned cuda::chooseWidth(const BodyInfo &info, int lane) {
  if (lane < 0)
    return 1;
  unsigned bits = 8;
  forEachAccess(info, [&](Operation *op, Type element) {
    auto linear = info.exprOf(op).linearIn(info.axes[lane]);
    if (linear && linear->coefficient.isOne())
      bits = std::max(bits, element.getIntOrFloatBitWidth());
  });
  return knownDivisor(info.extents[lane], std::min(8u, 128 / bits));
}

static unsigned powerUpTo(int64_t n, unsigned limit) {
  unsigned p = 1;
  while (p < limit && p * 2 <= n)
    p *= 2;
  return p;
}

/// Rows whose elements lie along the lane axis: part of a warp, a warp or a block, by their length.
static void alongRows(SmallVector<RowSchedule> &out, const BodyInfo &info, RowSchedule s, AxisSet reduced) {
  std::optional<int64_t> length = extentOf(info, reduced).constant();
  const RowTuning &t = rowTuning;
  auto chunks = [&](unsigned unit) { return (*length / s.width + unit - 1) / unit; };
  if (!length || *length <= int64_t(t.warpElements)) {
    RowSchedule warp = s;
    warp.unit = length ? powerUpTo(*length / s.width, 32) : 32;
    warp.persistent = length && *length > 0 && chunks(warp.unit) <= t.persistentChunks;
    out.push_back(warp);
  }
  if (!length || *length > int64_t(t.warpElements)) {
    RowSchedule block = s;
    block.layout = RowSchedule::Block;
    block.unit = block.threads = t.blockThreads;
    if (length && chunks(t.blockThreads / 2) <= t.persistentChunks / 2)
      block.unit = block.threads = t.blockThreads / 2;
    block.persistent = length && chunks(block.unit) <= t.persistentChunks;
    out.push_back(block);
  }
}

SmallVector<RowSchedule> cuda::chooseRowSchedules(const BodyInfo &info, RowAxes axes, ArrayRef<Operation *> roots) {
  RowSchedule s;
  s.threads = rowTuning.threads;
  s.lane = chooseLane(info, roots, axes.rows | axes.reduced);
  s.width = chooseWidth(info, s.lane);
  SmallVector<RowSchedule> out;
  bool shared = llvm::any_of(roots, [](Operation *op) { return isa<kernel::ReduceOp>(op); });
  if (!shared) {
    if (!contains(axes.rows, s.lane))
      s.width = 1;
    return {s};
  }
  if (contains(axes.rows, s.lane)) {
    std::optional<int64_t> length = extentOf(info, axes.reduced).constant();
    if (!length || *length >= int64_t(rowTuning.columnMinimum)) {
      s.layout = RowSchedule::Columns;
      s.unit = rowTuning.columnSplit;
      s.threads = 32 * s.unit;
    }
    return {s};
  }
  alongRows(out, info, s, axes.reduced);
  return out;
}
