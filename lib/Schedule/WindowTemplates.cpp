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
/// Of the time in which a filter comes from memory one part in so many is waited for, where products take longer. Sixteen registers are full of sums and
/// leave no slots to ask for what comes next: all of it is waited for (Zen 3: 512 channels of 7x7).
constexpr int64_t seenOf = 8, manyRegisters = 32;
/// Costs that differ by less than this part are equal; then the form with fewer bytes is taken.
constexpr int64_t equalPart = 16;
/// Rows of a tile. Where the first-level cache does not hold them, products take a part of so many more.
constexpr int64_t tileRows = 12, deepPart = 8;
/// A form is taken where it needs at most this share of the cycles that it would take otherwise, since filters and code make artifacts larger.
constexpr int64_t worthParts = 17, worthOf = 20;
constexpr double worth = double(worthParts) / worthOf;
/// Of open sizes a form without the direct one beside it saves at least so much where it saves the least, a margin for its filter's bytes.
constexpr double leastSaved = 0.1;
/// And what it saves there counts so many times, since the smallest sizes, one image, are those of most calls.
constexpr double leastWeight = 2;
/// Bytes that a kernel's second filter may take beside the first: its share, of one that several kernels read, and in all.
constexpr int64_t mostBeside = 4 << 20, mostShared = 16 << 20;
/// And those by which a filter may be larger for what many tiles gain, where few read a part of it.
constexpr int64_t mostLarger = 32 << 20;

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
  return Expr::max(computing + Expr(machine.registers < manyRegisters ? loading : loading / seenOf), Expr(loading));
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

/// Whether a filter that is packed for tiles of `packed` results serves tiles of `results`.
static bool servesBoth(ArrayRef<int64_t> packed, ArrayRef<int64_t> results) {
  return packed.size() == results.size() && llvm::all_of(llvm::zip(packed, results), [](auto p) { return Winograd::serves(std::get<0>(p), std::get<1>(p)); });
}

/// The tiles that serve all that the cases ask for; both forms where one asks for none.
static WindowChoice forcedChoice(ArrayRef<CaseAttr> forced, ArrayRef<std::array<int64_t, 2>> all) {
  WindowChoice choice;
  for (CaseAttr c : forced) {
    auto asked = dyn_cast<WinogradAttr>(c.getSchedule());
    if (!asked)
      choice.both = true;
    else if (!choice.tiles || servesBoth(asked.results(), choice.tiles.results()))
      choice.tiles = asked;
  }
  bool possible = choice.tiles && llvm::is_contained(all, choice.tiles.results()) && llvm::all_of(forced, [&](CaseAttr c) {
    auto asked = dyn_cast<WinogradAttr>(c.getSchedule());
    return !asked || servesBoth(choice.tiles.results(), asked.results());
  });
  return possible ? choice : WindowChoice();
}

WindowChoice schedule::chooseWinograd(const WindowedSum &sum) {
  kernel::GenericOp kernel = sum.info.kernel;
  SmallVector<std::array<int64_t, 2>> all = tilesOf(sum.window);
  if (SmallVector<CaseAttr> forced = casesOf(kernel); !forced.empty())
    return forcedChoice(forced, all);
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
  if (!always.tiles || (sometimes.tiles && rather))
    return sometimes;
  // A filter for larger tiles serves the chosen ones, too: it may be there for what it gains where there are many.
  std::array<int64_t, 2> chosen = always.tiles.results();
  for (const std::array<int64_t, 2> &results : all) {
    double average = savedBy(sum.cost(results, machine), direct, points).second;
    int64_t larger = sum.filterBytes(results) - sum.filterBytes(chosen);
    if (servesBoth(results, chosen) && larger <= mostLarger && average > usually + (1 - worth))
      always.tiles = WinogradAttr::get(kernel.getContext(), results[0], results[1]), usually = average;
  }
  return always;
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
      return tiles ? servesBoth(packed.asArrayRef(), tiles.results()) : load->hasAttr(kernel::winogradFilterName);
    }
  return !tiles;
}

/// Of the smaller tiles that the filter serves those which are best where there is least to do.
static std::optional<std::array<int64_t, 2>> fewerResults(const WindowedSum &sum, ArrayRef<int64_t> packed, const Machine &machine, ArrayRef<Point> points) {
  std::optional<std::array<int64_t, 2>> best;
  int64_t least = INT64_MAX;
  auto isLess = [&](int64_t cost, const std::array<int64_t, 2> &results) {
    int64_t margin = best ? least / equalPart : 0;
    return cost < least - margin || (cost < least + margin && sum.filterBytes(results) < sum.filterBytes(*best));
  };
  for (const std::array<int64_t, 2> &results : tilesOf(sum.window)) {
    if (ArrayRef<int64_t>(results) == packed || !servesBoth(packed, results))
      continue;
    Expr cost = sum.cost(results, machine);
    int64_t mine = INT64_MAX;
    for (const Point &p : points)
      if (std::optional<int64_t> cycles = cost.evaluate(p); cycles && *cycles > 0)
        mine = std::min(mine, *cycles);
    if (mine != INT64_MAX && isLess(mine, results))
      least = mine, best = results;
  }
  return best;
}

void schedule::proposeWinograd(const BodyInfo &info, const Machine &machine, std::vector<Candidate> &candidates, Choice &choice) {
  auto load = llvm::find_if(info.ops, [](Operation *op) { return op->hasAttr(kernel::winogradName); });
  std::optional<WindowedSum> sum = load == info.ops.end() ? std::nullopt : markedSum(info, *load);
  if (!sum)
    return;
  MLIRContext *context = (*load)->getContext();
  ArrayRef<int64_t> packed = (*load)->getAttrOfType<DenseI64ArrayAttr>(kernel::winogradName).asArrayRef();
  Expr cost = sum->cost(packed, machine), direct = sum->cost({1, 1}, machine);
  bool both = (*load)->hasAttr(kernel::winogradFilterName);
  auto propose = [&](ArrayRef<int64_t> results, Predicate when) {
    Expr mine = sum->cost(results, machine);
    if (both)
      when.add(mine * Expr(worthOf), Relation::LessEqual, direct * Expr(worthParts));
    candidates.push_back({when, WinogradAttr::get(context, results[0], results[1]), mine});
  };
  choice.ideal = cost;
  // Small images have the direct form where it is there.
  std::optional<std::array<int64_t, 2>> fewer = both || cost.constant() ? std::nullopt : fewerResults(*sum, packed, machine, choice.points);
  if (fewer)
    propose(*fewer, Predicate().add(sum->cost(*fewer, machine) * Expr(equalPart), Relation::LessEqual, cost * Expr(equalPart - 1)));
  propose(packed, {});
  if (both)
    candidates.push_back({{}, PlainAttr::get(context), direct});
}
