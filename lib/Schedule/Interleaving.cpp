//===- Interleaving.cpp - Results of which two axes are one run --------------===//
//
// A transposed convolution, an image whose channels go last, pairs that are stacked: the axis along which results lie side by side is short,
// and the next one goes on behind it. Along the short one most lanes of a vector lie idle, along the long one its elements are apart. So
// lanes run along the long axis, for all places of the short one at once, and the vectors are interleaved before they are stored.
//
//===----------------------------------------------------------------------===//

#include "lathe/Lower/BodySlices.h"
#include "lathe/Schedule/Rows.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::schedule;
using lower::AxisSet;
using lower::BodyInfo;

/// Elements that loads lie apart at most: as many vectors are read for each that is used.
constexpr int64_t widestLoad = 4;

/// Whether lanes along the axis read vectors. What a condition on the place alone leaves out is known where the place is.
static bool readsVectors(const BodyInfo &info, kernel::LoadOp load, unsigned axis, unsigned inner) {
  std::optional<int64_t> step = stepAlong(info, load, axis);
  for (Value index : load.getIndices())
    if (info.axesOf(index) >> axis & 1)
      return false;
  bool isPartial = load.getPredicate() && info.axesOf(load.getPredicate()) != AxisSet(1) << inner;
  return step && *step >= 0 && *step <= (isPartial ? 1 : widestLoad);
}

static bool interleaves(const BodyInfo &info, unsigned lane, unsigned inner, int64_t places) {
  AxisSet both = AxisSet(1) << lane | AxisSet(1) << inner;
  return llvm::all_of(info.ops, [&](Operation *op) {
    if (auto load = dyn_cast<kernel::LoadOp>(op))
      return readsVectors(info, load, lane, inner);
    if (auto sum = dyn_cast<kernel::ReduceOp>(op))
      return bool(info.axesOf(sum.getResult()) & both);
    auto store = dyn_cast<kernel::StoreOp>(op);
    return !store || (!store.getPredicate() && store.getIndices().empty() && stepAlong(info, op, inner) == 1 && stepAlong(info, op, lane) == places);
  });
}

std::optional<Interleaving> schedule::interleavingOf(const BodyInfo &info, const Machine &machine) {
  unsigned weight = 0;
  for (Operation *op : info.ops)
    weight += weightOf(op);
  if (weight > heaviestJammed)
    return std::nullopt;
  AxisSet parallel = parallelAxes(info);
  int64_t lanes = machine.lanes();
  for (unsigned inner = 0; inner < info.axes.size(); ++inner) {
    int64_t places = info.extents[inner].constant().value_or(0);
    if (!(parallel >> inner & 1) || places < 2 || places > std::min(widestStride, lanes))
      continue;
    for (unsigned lane = 0; lane < info.axes.size(); ++lane)
      if (lane != inner && parallel >> lane & 1 && info.extents[lane].constant().value_or(lanes) >= lanes / 2 &&
          interleaves(info, lane, inner, places))
        return Interleaving{lane, inner, places};
  }
  return std::nullopt;
}
