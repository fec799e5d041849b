//===- WindowTemplates.cpp - Ways to compute sums over windows --------------===//
//
// Tiles of 4x4 results take a quarter of the products, tiles of 2x2 four ninths. Against that stand the transforms of images and
// products, which many channels share, results of tiles that lie outside of the image, and filters of 4 or 16/9 times the bytes, which
// come from memory where a model has many.
//
//===----------------------------------------------------------------------===//

#include "lathe/Dialect/Kernel/Winograd.h"
#include "lathe/Lower/BodySlices.h"
#include "lathe/Schedule/Windows.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::schedule;
using kernel::Winograd;
using kernel::winogradTaps;
using lower::BodyInfo;
using shape::Expr;

/// Cycles for a vector at a place of a tile: of images, of products. And of rows that the direct form packs, for a vector.
constexpr int64_t imageCycles = 3, resultCycles = 3, packCycles = 2;
/// A form is taken where it needs at most this share of the direct one's cycles.
constexpr double worth = 0.9;

Expr WindowedSum::tiles(ArrayRef<int64_t> results) const {
  Expr count(1);
  for (unsigned a : window.outer)
    count = count * info.extents[a];
  for (auto [dim, along] : llvm::zip(window.dims, results.take_back(window.dims.size())))
    count = count * Expr::ceildiv(info.extents[dim.place], Expr(along));
  return count;
}

Expr WindowedSum::cost(ArrayRef<int64_t> results, const Machine &machine) const {
  int64_t places = 1, lanes = machine.lanes(), depth = taps;
  for (int64_t along : results) {
    places *= Winograd(along).places();
    depth /= along > 1 ? winogradTaps : 1;
  }
  int64_t used = (columns + lanes - 1) / lanes * lanes, perTile = places * depth * used / machine.peak();
  if (places > 1)
    perTile += places * (imageCycles * ((depth + lanes - 1) / lanes) + resultCycles * (used / lanes));
  else
    perTile += packCycles * ((depth + lanes - 1) / lanes);
  int64_t bytes = 4 * places * depth * columns, loading = bytes / machine.costs.memoryBytes;
  Expr computing = tiles(results) * Expr(perTile);
  // Filters that the second-level cache does not hold are waited for where there is not enough to compute with them.
  if (bytes > int64_t(machine.costs.secondCache) / 2)
    computing = Expr::max(computing, Expr(loading)) + Expr(loading / 4);
  return computing;
}

/// Each with each, but none at all.
static SmallVector<std::array<int64_t, 2>> tilesOf(const lower::SlidingWindow &window) {
  auto along = [&](size_t fromLast) {
    bool slides = window.dims.size() > fromLast && window.dims[window.dims.size() - 1 - fromLast].taps;
    return slides ? SmallVector<int64_t>{4, 2, 1} : SmallVector<int64_t>{1};
  };
  SmallVector<std::array<int64_t, 2>> all;
  for (int64_t high : along(1))
    for (int64_t wide : along(0))
      if (high * wide > 1)
        all.push_back({high, wide});
  return all;
}

/// Of the machines that the code may be for that one which loses first by larger filters: with the most products in a cycle.
static const Machine &referenceMachine() {
  const Machine *most = nullptr;
  for (const Machine &m : machines())
    if (!m.isGpu() && (!most || m.peak() > most->peak()))
      most = &m;
  return *most;
}

static std::optional<int64_t> costAt(const Expr &cost, const Point &sizes) { return cost.evaluate(sizes); }

WinogradAttr schedule::chooseWinograd(const WindowedSum &sum) {
  kernel::GenericOp kernel = sum.info.kernel;
  SmallVector<std::array<int64_t, 2>> all = tilesOf(sum.window);
  if (SmallVector<CaseAttr> forced = casesOf(kernel); !forced.empty()) {
    auto asked = dyn_cast<WinogradAttr>(forced.back().getSchedule());
    auto results = asked ? std::array<int64_t, 2>{std::abs(asked.getHigh()), std::abs(asked.getWide())} : std::array<int64_t, 2>{};
    return llvm::is_contained(all, results) ? asked : WinogradAttr();
  }
  const Machine &machine = referenceMachine();
  std::vector<Point> points = pointsOf(kernel.getSizeSymbols(), hintsOf(kernel));
  Expr direct = sum.cost({1, 1}, machine);
  WinogradAttr best;
  double least = 0;
  for (const std::array<int64_t, 2> &results : all) {
    Expr cost = sum.cost(results, machine);
    double total = 0;
    bool wins = !points.empty();
    for (const Point &p : points) {
      std::optional<int64_t> mine = costAt(cost, p), usual = costAt(direct, p);
      wins &= mine && usual && double(*mine) <= worth * double(*usual);
      total += mine && usual && *usual > 0 ? double(*mine) / double(*usual) : 0;
    }
    if (!wins || (best && total >= least))
      continue;
    best = WinogradAttr::get(kernel.getContext(), results[0], results[1]);
    least = total;
  }
  return best;
}

void schedule::proposeWinograd(const BodyInfo &info, const Machine &machine, std::vector<Candidate> &candidates, Choice &choice) {
  for (Operation *op : info.ops) {
    auto packed = op->getAttrOfType<DenseI64ArrayAttr>(kernel::winogradName);
    kernel::ReduceOp sum = packed ? lower::onlySum(info) : kernel::ReduceOp();
    auto product = sum ? sum.getValue().getDefiningOp<arith::MulFOp>() : arith::MulFOp();
    if (!product)
      continue;
    Value image = product.getLhs().getDefiningOp() == op ? product.getRhs() : product.getLhs();
    lower::AxisSet reduced = info.axesOf(sum.getAxes()), filter = info.axesOf(op->getResult(0));
    lower::AxisSet rows = lower::allAxes(info) & ~(filter | reduced);
    std::optional<lower::SlidingWindow> window = lower::SlidingWindow::of(info, image, rows, reduced, winogradTaps);
    if (!window)
      continue;
    WindowedSum s{info, *window, 1, 1};
    for (unsigned a = 0; a < info.axes.size(); ++a)
      if (filter >> a & 1)
        (reduced >> a & 1 ? s.taps : s.columns) *= info.extents[a].constant().value_or(1);
    ArrayRef<int64_t> results = packed.asArrayRef();
    choice.ideal = s.cost(results, machine);
    candidates.push_back({{}, WinogradAttr::get(op->getContext(), results[0], results[1]), choice.ideal});
    return;
  }
}
