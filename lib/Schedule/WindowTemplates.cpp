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
/// Of the time in which a filter comes from memory one part in so many is waited for, where products take longer.
constexpr int64_t seenOf = 8;
/// Rows of a tile. Where the first-level cache does not hold them, products take a part of so many more.
constexpr int64_t tileRows = 12, deepPart = 8;
/// A form is taken where it needs at most this share of the direct one's cycles, since its filters make artifacts larger.
constexpr int64_t worthParts = 17, worthOf = 20;
constexpr double worth = double(worthParts) / worthOf;
/// Of open sizes a form without the direct one beside it saves at least so much where it saves the least, a margin for its filter's bytes.
constexpr double leastSaved = 0.1;
/// And what it saves there counts so many times, since the smallest sizes, one image, are those of most calls.
constexpr double leastWeight = 2;
/// Bytes that a kernel's second filter may take beside the first: its share, of one that several kernels read, and in all.
constexpr int64_t mostBeside = 4 << 20, mostShared = 16 << 20;

Expr WindowedSum::tiles(ArrayRef<int64_t> results) const {
  Expr count(1);
  for (unsigned a : window.outer)
    count = count * info.extents[a];
  for (auto [dim, along] : llvm::zip(window.dims, results.take_back(window.dims.size())))
    count = count * Expr::ceildiv(info.extents[dim.place], Expr(along));
  return count;
}

static int64_t placesOf(ArrayRef<int64_t> results) {
  int64_t places = 1;
  for (int64_t along : results)
    places *= Winograd(along).places();
  return places;
}

/// What is summed over at each place.
static int64_t depthOf(ArrayRef<int64_t> results, int64_t taps) {
  for (int64_t along : results)
    taps /= along > 1 ? winogradTaps : 1;
  return taps;
}

int64_t WindowedSum::filterBytes(ArrayRef<int64_t> results) const {
  return int64_t(sizeof(float)) * placesOf(results) * depthOf(results, taps) * columns;
}

Expr WindowedSum::cost(ArrayRef<int64_t> results, const Machine &machine) const {
  int64_t places = placesOf(results), lanes = machine.lanes(), depth = depthOf(results, taps);
  int64_t used = (columns + lanes - 1) / lanes * lanes, perTile = places * depth * used / machine.peak();
  if (tileRows * depth * int64_t(sizeof(float)) > int64_t(machine.costs.firstCache))
    perTile += perTile / deepPart;
  if (places > 1)
    perTile += places * (imageCycles * ((depth + lanes - 1) / lanes) + resultCycles * (used / lanes));
  else
    perTile += packCycles * ((depth + lanes - 1) / lanes);
  Expr computing = tiles(results) * Expr(perTile);
  // Filters that the second-level cache does not hold arrive while products are made, most of them unseen, and no faster than memory gives them.
  int64_t bytes = filterBytes(results), loading = bytes / machine.costs.memoryBytes;
  if (bytes <= int64_t(machine.costs.secondCache) / 2)
    return computing;
  return Expr::max(computing + Expr(loading / seenOf), Expr(loading));
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

/// The sizes that are expected, and the smallest that there may be, where larger filters cost the most.
static std::vector<Point> pointsFor(kernel::GenericOp kernel) {
  std::vector<std::string> sizes = kernel.getSizeSymbols();
  std::vector<SizeHints> hints = hintsOf(kernel);
  std::vector<Point> points = pointsOf(sizes, hints);
  Point smallest;
  for (auto [size, hint] : llvm::zip(sizes, hints))
    smallest[size] = std::max<int64_t>(hint.min, 1);
  points.push_back(smallest);
  return points;
}

/// What it saves of the direct form's cycles: where that is least, and on average where the direct form does what it does better.
static std::pair<double, double> savedBy(const Expr &cost, const Expr &direct, ArrayRef<Point> points) {
  double least = 1, sum = 0, count = 0;
  for (const Point &p : points) {
    std::optional<int64_t> mine = cost.evaluate(p), usual = direct.evaluate(p);
    if (!mine || !usual || *usual <= 0 || *mine < 0)
      continue; // no image of these sizes
    double saved = 1 - double(*mine) / double(*usual);
    least = std::min(least, saved);
    sum += std::max(saved, 0.0);
    ++count;
  }
  return count ? std::pair(least, sum / count) : std::pair(0.0, 0.0);
}

WindowChoice schedule::chooseWinograd(const WindowedSum &sum) {
  kernel::GenericOp kernel = sum.info.kernel;
  SmallVector<std::array<int64_t, 2>> all = tilesOf(sum.window);
  if (SmallVector<CaseAttr> forced = casesOf(kernel); !forced.empty()) {
    auto asked = dyn_cast<WinogradAttr>(forced.front().getSchedule());
    auto results = asked ? std::array<int64_t, 2>{std::abs(asked.getHigh()), std::abs(asked.getWide())} : std::array<int64_t, 2>{};
    return llvm::is_contained(all, results) ? WindowChoice{asked, forced.size() > 1} : WindowChoice();
  }
  const Machine &machine = referenceMachine();
  std::vector<Point> points = pointsFor(kernel);
  Expr direct = sum.cost({1, 1}, machine);
  WindowChoice always, sometimes;
  double mostAlways = 0, mostSometimes = 1 - worth, usually = 0;
  int64_t bytes = 0;
  for (const std::array<int64_t, 2> &results : all) {
    auto [least, average] = savedBy(sum.cost(results, machine), direct, points);
    auto tiles = WinogradAttr::get(kernel.getContext(), results[0], results[1]);
    double both = leastWeight * least + average;
    if (least > leastSaved && average > 1 - worth && both > mostAlways)
      always = {tiles, false}, mostAlways = both, usually = average;
    if (average > mostSometimes && sum.filterBytes(results) <= std::min(mostShared, sum.readers * mostBeside))
      sometimes = {tiles, true}, mostSometimes = average, bytes = sum.filterBytes(results);
  }
  // A filter that is not large may be there twice for what large images gain.
  bool rather = bytes <= mostBeside && mostSometimes > usually + (1 - worth);
  return always.tiles && !(sometimes.tiles && rather) ? always : sometimes;
}

/// The sum that a marked load is a factor of, in numbers.
static std::optional<WindowedSum> markedSum(const BodyInfo &info, Operation *load) {
  kernel::ReduceOp sum = lower::onlySum(info);
  auto product = sum ? sum.getValue().getDefiningOp<arith::MulFOp>() : arith::MulFOp();
  if (!product)
    return std::nullopt;
  Value image = product.getLhs().getDefiningOp() == load ? product.getRhs() : product.getLhs();
  lower::AxisSet reduced = info.axesOf(sum.getAxes()), filter = info.axesOf(load->getResult(0));
  lower::AxisSet rows = lower::allAxes(info) & ~(filter | reduced);
  std::optional<lower::SlidingWindow> window = lower::SlidingWindow::of(info, image, rows, reduced, winogradTaps);
  if (!window)
    return std::nullopt;
  WindowedSum s{info, *window, 1, 1};
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (filter >> a & 1)
      (reduced >> a & 1 ? s.taps : s.columns) *= info.extents[a].constant().value_or(1);
  return s;
}

bool schedule::isPackedFor(kernel::GenericOp kernel, Attribute schedule) {
  auto tiles = dyn_cast<WinogradAttr>(schedule);
  for (auto load : kernel.getBody().front().getOps<kernel::LoadOp>())
    if (auto packed = load->getAttrOfType<DenseI64ArrayAttr>(kernel::winogradName)) {
      int64_t asked[] = {tiles ? std::abs(tiles.getHigh()) : 0, tiles ? std::abs(tiles.getWide()) : 0};
      return tiles ? packed.asArrayRef() == ArrayRef(asked) : load->hasAttr(kernel::winogradFilterName);
    }
  return !tiles;
}

void schedule::proposeWinograd(const BodyInfo &info, const Machine &machine, std::vector<Candidate> &candidates, Choice &choice) {
  for (Operation *op : info.ops) {
    auto packed = op->getAttrOfType<DenseI64ArrayAttr>(kernel::winogradName);
    std::optional<WindowedSum> sum = packed ? markedSum(info, op) : std::nullopt;
    if (!sum)
      continue;
    ArrayRef<int64_t> results = packed.asArrayRef();
    auto tiles = WinogradAttr::get(op->getContext(), results[0], results[1]);
    Expr cost = sum->cost(results, machine);
    choice.ideal = cost;
    if (!op->hasAttr(kernel::winogradFilterName))
      return candidates.push_back({{}, tiles, cost});
    Expr direct = sum->cost({1, 1}, machine);
    Predicate when = Predicate().add(cost * Expr(worthOf), Relation::LessEqual, direct * Expr(worthParts));
    candidates.push_back({when, tiles, cost});
    candidates.push_back({{}, PlainAttr::get(op->getContext()), direct});
    return;
  }
}
