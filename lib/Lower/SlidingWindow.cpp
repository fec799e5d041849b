//===- SlidingWindow.cpp - Images that a window slides over -----------------===//

#include "lathe/Lower/SlidingWindow.h"
#include "lathe/Lower/BodySlices.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::lower;
using shape::Expr;

std::optional<unsigned> lower::tapsAlong(const BodyInfo &info, Value image, unsigned place, AxisSet reduced, int64_t taps) {
  llvm::DenseSet<Operation *> ops = opsBelow(image);
  auto slides = [&](unsigned tap) {
    const std::string &at = info.axes[place], &by = info.axes[tap];
    std::map<std::string, Expr> sum{{at, Expr::symbol(at) - Expr::symbol(by)}}; // the axis is the sum from here on
    bool mentioned = false;
    for (Operation *op : ops) {
      if (!isa<kernel::LoadOp, kernel::IndexOp>(op))
        continue;
      const Expr &e = info.exprOf(op);
      mentioned |= e.mentions(by);
      if (e.substitute(sum).mentions(by))
        return false;
    }
    return mentioned;
  };
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if ((reduced >> a & 1) && info.extents[a].constant() == std::optional<int64_t>(taps) && slides(a))
      return a;
  return std::nullopt;
}

/// Elements from a window to the next one, at most: of lines of which windows leave out more, more is copied than used.
constexpr int64_t widestStep = 8;
/// Of a block: as many as fill a vector, and a part of the second-level cache.
constexpr int64_t fewestPlaces = 16, mostElements = 32 << 10;

std::optional<int64_t> lower::stepsOf(const BodyInfo &info, const llvm::DenseSet<Operation *> &ops, const std::string &first, const std::string &second) {
  std::optional<int64_t> steps;
  for (Operation *op : ops) {
    if (!isa<kernel::LoadOp, kernel::IndexOp>(op) || !(info.exprOf(op).mentions(first) || info.exprOf(op).mentions(second)))
      continue;
    std::optional<Expr::Linear> one = info.exprOf(op).linearIn(first), other = info.exprOf(op).linearIn(second);
    bool both = one && other && !other->coefficient.isZero();
    std::optional<Expr> times = both ? Expr::divideExactly(one->coefficient, other->coefficient) : std::nullopt;
    std::optional<int64_t> known = times ? times->constant() : std::nullopt;
    if (!known || (steps && *steps != *known))
      return std::nullopt;
    steps = known;
  }
  return steps;
}

std::optional<LineOfWindow> LineOfWindow::of(const BodyInfo &info, Value image, unsigned place, AxisSet reduced) {
  llvm::DenseSet<Operation *> ops = opsBelow(image);
  bool indirect = llvm::any_of(ops, [](Operation *op) {
    auto index = dyn_cast<kernel::IndexOp>(op);
    return index && !index.getIndices().empty();
  });
  for (unsigned a = 0; !indirect && a < info.axes.size(); ++a) {
    if (!(reduced >> a & 1) || !liesTogether(info, image, a))
      continue;
    LineOfWindow line{a, stepsOf(info, ops, info.axes[place], info.axes[a]).value_or(0), info.extents[a].constant().value_or(0)};
    if (line.step >= 1 && line.step <= widestStep && line.tapsInLine >= std::max<int64_t>(line.step, 2) && line.chooseBlock(info, place, reduced))
      return line;
  }
  return std::nullopt;
}

bool LineOfWindow::chooseBlock(const BodyInfo &info, unsigned place, AxisSet reduced) {
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if ((reduced >> a & 1) && a != taps)
      lines *= info.extents[a].constant().value_or(mostElements);
  places = info.extents[place];
  std::optional<int64_t> all = places.constant();
  if (!all)
    return lines < mostElements;
  for (int64_t parts = 1; *all / parts >= fewestPlaces; ++parts) {
    places = Expr(*all / parts);
    if (*all % parts == 0 && lines * *length().constant() <= mostElements)
      return true;
  }
  return false;
}

bool lower::liesTogether(const BodyInfo &info, Value image, unsigned axis) {
  return llvm::all_of(opsBelow(image), [&](Operation *op) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    std::optional<Expr::Linear> linear = load ? info.exprOf(op).linearIn(info.axes[axis]) : std::nullopt;
    return !load || (load.getIndices().empty() && linear && (linear->coefficient.isOne() || linear->coefficient.isZero()));
  });
}

/// Lanes run along the last one.
static void orderDepth(const BodyInfo &info, std::vector<unsigned> &depth) {
  llvm::stable_sort(depth, [&](unsigned x, unsigned y) { return *info.extents[x].constant() < *info.extents[y].constant(); });
}

std::optional<SlidingWindow> SlidingWindow::of(const BodyInfo &info, Value image, AxisSet rows, AxisSet reduced, int64_t taps) {
  SlidingWindow w;
  for (unsigned a = 0; a < info.axes.size(); ++a) {
    if ((reduced >> a & 1) && !info.extents[a].constant())
      return std::nullopt;
    if (rows >> a & 1)
      w.outer.push_back(a);
  }
  bool any = false;
  for (unsigned d = 0; d < 2 && !w.outer.empty(); ++d) {
    std::optional<unsigned> tap = tapsAlong(info, image, w.outer.back(), reduced, taps);
    w.dims.insert(w.dims.begin(), {w.outer.back(), tap});
    w.outer.pop_back();
    if (tap)
      reduced &= ~(AxisSet(1) << *tap);
    any |= tap.has_value();
  }
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (reduced >> a & 1)
      w.depth.push_back(a);
  if (!any || w.depth.empty())
    return std::nullopt;
  orderDepth(info, w.depth);
  return w;
}

std::optional<SlidingWindow> SlidingWindow::inTiles(const BodyInfo &info, ArrayRef<int64_t> results) const {
  SlidingWindow w = *this;
  if (results.size() < dims.size() || (results.size() > dims.size() && results[0] != 1))
    return std::nullopt;
  for (auto [dim, count] : llvm::zip(w.dims, results.take_back(dims.size()))) {
    if (count > 1 && !dim.taps)
      return std::nullopt;
    if (count > 1 || !dim.taps)
      continue;
    w.depth.push_back(*dim.taps);
    dim.taps.reset();
  }
  llvm::sort(w.depth);
  orderDepth(info, w.depth);
  return w;
}

int64_t SlidingWindow::depthOf(const BodyInfo &info) const {
  int64_t product = 1;
  for (unsigned a : depth)
    product *= *info.extents[a].constant();
  return product;
}
