//===- TransformSteps.cpp - How a block transforms its rows ----------------===//

#include "TransformSteps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"
#include <array>
#include <numeric>

using namespace lathe;
using namespace lathe::cuda;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {
/// Searches all ways of writing a number as a product of factors that do not grow.
struct Factoring {
  int64_t largest;
  std::vector<int64_t> now = {}, best = {};
  static int64_t sum(const std::vector<int64_t> &v) { return std::accumulate(v.begin(), v.end(), int64_t(0)); }
  void search(int64_t rest, int64_t most) {
    if (!best.empty() && now.size() >= best.size() + (rest == 1))
      return;
    if (rest == 1) {
      if (best.empty() || now.size() < best.size() || sum(now) < sum(best))
        best = now;
      return;
    }
    for (int64_t f = std::min(rest, most); f > 1; --f) {
      if (rest % f)
        continue;
      now.push_back(f);
      search(rest / f, f);
      now.pop_back();
    }
  }
};
} // namespace

std::vector<int64_t> cuda::radicesOf(int64_t n, int64_t largest) {
  if (n == 1)
    return {1};
  Factoring f{largest};
  f.search(n, largest);
  if (f.best.empty()) // it has a prime that is larger, which is a factor of its own
    f = Factoring{kernel::largestPrime}, f.search(n, kernel::largestPrime);
  return f.best;
}

SmallVector<int64_t> cuda::takenBy(const TransformStep &step, int64_t length, int64_t unit) {
  SmallVector<int64_t> out;
  if (step.kind == StepKind::Fold)
    return {unit, (length - unit) % length};
  if (step.kind == StepKind::Unfold)
    return {unit, length - unit};
  for (int64_t i = 0; i < step.radix; ++i)
    out.push_back(unit + i * (length / step.radix));
  return out;
}

SmallVector<int64_t> cuda::madeBy(const TransformStep &step, int64_t length, int64_t unit) {
  if (step.kind == StepKind::Fold || step.kind == StepKind::Unfold)
    return {unit, length - unit};
  SmallVector<int64_t> out;
  int64_t k = unit % step.found;
  for (int64_t i = 0; i < step.radix; ++i)
    out.push_back((unit - k) * step.radix + k + i * step.found);
  return out;
}

/// So many numbers side by side are a sector of memory, or more.
static int64_t runOf(const TransformShape &shape) { return std::max<int64_t>(1, 32 / (2 * shape.bytes)); }

static std::vector<TransformStep> stepsOf(const TransformShape &shape) {
  int64_t n = shape.complexLength(), found = 1, run = runOf(shape);
  bool unfolds = shape.folds() && shape.kind == kernel::TransformKind::C2R, folds = shape.folds() && !unfolds;
  int64_t pairs = n / 2 + 1;
  std::vector<int64_t> radices = radicesOf(n, shape.bytes > 4 ? 8 : 16);
  std::vector<TransformStep> steps;
  auto isScattered = [&](int64_t radix, bool across) { return !across && n / radix < run && n > 1; };
  if (unfolds)
    steps.push_back({StepKind::Unfold, pairs, 2});
  else if (isScattered(radices.front(), shape.loadsAcross))
    steps.push_back({StepKind::Copy, n});
  for (int64_t radix : radices) {
    steps.push_back({StepKind::Butterfly, n / radix, radix, found});
    found *= radix;
  }
  if (folds)
    steps.push_back({StepKind::Fold, pairs, 2});
  else if (isScattered(radices.back(), shape.storesAcross) || (steps.size() == 1 && shape.loadsAcross != shape.storesAcross))
    steps.push_back({StepKind::Copy, n});
  for (TransformStep &step : steps)
    step.across = shape.loadsAcross && shape.storesAcross;
  steps.front().across = shape.loadsAcross;
  steps.back().across = shape.storesAcross;
  return steps;
}

//===----------------------------------------------------------------------===//
// Rows and threads of a block
//===----------------------------------------------------------------------===//

int64_t TransformPlan::held() const {
  return steps.front().kind == StepKind::Unfold ? length + 1 : length;
}

/// Slots of registers that all threads go through, for one number.
static double costOf(const TransformPlan &p) {
  double slots = 0;
  for (size_t s = 0; s < p.steps.size(); ++s)
    slots += double(p.turnsOf(s) * p.threads * p.steps[s].radix);
  return slots / double(p.rows * p.length * int64_t(p.steps.size()));
}

static bool fitsRegisters(const TransformPlan &p, int64_t most) {
  for (size_t s = 0; s < p.steps.size(); ++s) {
    int64_t turns = p.turnsOf(s), radix = p.steps[s].radix;
    if (turns > 1 && turns * radix > most + (p.steps[s].kind == StepKind::Butterfly ? 0 : radix))
      return false;
  }
  return true;
}

/// The number of threads that wastes least, of those that the registers allow; the fewest of them.
static void chooseThreads(TransformPlan &p, int64_t most) {
  constexpr int64_t mostThreads = 1024;
  TransformPlan best = p;
  best.threads = 0;
  for (p.threads = 32; p.threads <= mostThreads; p.threads += 32)
    if (fitsRegisters(p, most) && (!best.threads || costOf(p) < costOf(best) * 0.98))
      best = p;
  p.threads = best.threads ? best.threads : mostThreads;
}

/// Whole sectors of neighbouring rows where accesses run across, else as many rows as give a block some warps.
static void chooseRows(TransformPlan &p, const TransformShape &shape) {
  int64_t most = 64 / shape.bytes, room = std::max<int64_t>(1, kernel::longestTransform(8 * shape.bytes) / p.length);
  bool across = shape.loadsAcross || shape.storesAcross;
  constexpr int64_t mostRows = 256;
  room = std::min(room, mostRows);
  int64_t together = shape.kind == kernel::TransformKind::C2C ? 2 * shape.bytes : shape.bytes; // of a row
  int64_t usual = std::max<int64_t>(1, (across ? 256 : 128) * most / p.length), least = across ? 64 / together : 1;
  int64_t from = std::min(std::max(usual, least), room), to = across ? from : std::min(2 * from, room);
  if (across)
    from = to = int64_t(1) << llvm::Log2_64(from);
  if (shape.rows)
    from = std::max<int64_t>(1, std::min(from, *shape.rows)), to = std::max(from, std::min(to, *shape.rows));
  TransformPlan best;
  for (p.rows = from; p.rows <= to; ++p.rows) {
    chooseThreads(p, most);
    if (best.steps.empty() || costOf(p) < costOf(best) * 0.98)
      best = p;
  }
  p = best;
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

namespace {
/// A unit of a thread: its row and its number in the row.
struct UnitOf {
  int64_t row, unit;
};
} // namespace

/// The thread's unit in one of its turns; the last unit stands for those behind it.
static UnitOf unitOf(const TransformPlan &p, size_t step, int64_t thread, int64_t turn) {
  const TransformStep &s = p.steps[step];
  int64_t at = std::min(thread + turn * p.threads, p.unitsOf(step) - 1);
  return s.across ? UnitOf{at % p.rows, at / p.rows} : UnitOf{at / s.units, at % s.units};
}

constexpr int64_t nobody = -1, several = -2;

/// Of each place the warp that takes its number in a step, or puts it there.
static std::vector<int64_t> warpsAt(const TransformPlan &p, size_t step, bool made) {
  std::vector<int64_t> warps(p.rows * p.held(), nobody);
  for (int64_t thread = 0; thread < p.threads; ++thread)
    for (int64_t turn = 0; turn < p.turnsOf(step); ++turn) {
      UnitOf u = unitOf(p, step, thread, turn);
      for (int64_t position : made ? madeBy(p.steps[step], p.length, u.unit) : takenBy(p.steps[step], p.length, u.unit)) {
        int64_t &warp = warps[u.row * p.held() + position];
        warp = warp == nobody || warp == thread / 32 ? thread / 32 : several;
      }
    }
  return warps;
}

static bool agree(const std::vector<int64_t> &x, const std::vector<int64_t> &y) {
  for (auto [a, b] : llvm::zip(x, y))
    if (a != nobody && b != nobody && (a != b || a == several))
      return false;
  return true;
}

bool TransformPlan::staysInWarp(size_t step) const { return agree(warpsAt(*this, step - 1, true), warpsAt(*this, step, false)); }
bool TransformPlan::overwritesOwn(size_t step) const { return agree(warpsAt(*this, step, false), warpsAt(*this, step, true)); }

/// How often the banks are asked by an access of a warp's threads to these places: 32 banks of four bytes, wider numbers in halves.
static int64_t turnsOfBanks(std::vector<int64_t> places, unsigned bytes) {
  int64_t group = bytes > 4 ? 16 : 32, total = 0;
  for (auto first = places.begin(); first < places.end(); first += group) {
    std::array<int64_t, 32> asked{};
    std::sort(first, first + group);
    for (auto end = std::unique(first, first + group), at = first; at != end; ++at)
      ++asked[*at % group];
    total += *std::max_element(asked.begin(), asked.end());
  }
  return total;
}

/// The same, of all accesses between the steps, of the first warps.
static int64_t conflictsOf(const TransformPlan &p, unsigned bytes) {
  constexpr int64_t sample = 3;
  int64_t total = 0;
  auto add = [&](size_t step, bool made) {
    for (int64_t warp = 0; warp < std::min(sample, p.threads / 32); ++warp)
      for (int64_t turn = 0; turn < p.turnsOf(step); ++turn) {
        std::vector<std::vector<int64_t>> places;
        for (int64_t lane = 0; lane < 32; ++lane) {
          UnitOf u = unitOf(p, step, 32 * warp + lane, turn);
          auto positions = made ? madeBy(p.steps[step], p.length, u.unit) : takenBy(p.steps[step], p.length, u.unit);
          places.resize(positions.size());
          for (size_t i = 0; i < positions.size(); ++i)
            places[i].push_back(p.layout.placeOf(u.row, positions[i]));
        }
        for (std::vector<int64_t> &access : places)
          total += turnsOfBanks(std::move(access), bytes);
      }
  };
  for (size_t step = 1; step < p.steps.size(); ++step) {
    add(step - 1, /*made=*/true);
    add(step, /*made=*/false);
  }
  return total;
}

/// A block has so much shared memory without asking for more.
constexpr int64_t staticBytes = 48 << 10;

/// The gaps that cost the least accesses, and of those the least room.
static void chooseLayout(TransformPlan &p, const TransformShape &shape) {
  std::optional<std::pair<int64_t, int64_t>> least;
  SharedLayout best;
  for (int64_t gap : {0, 32, 16, 8})
    for (int64_t more = 0; more < 32; ++more) {
      p.layout = {0, gap};
      p.layout.rowStride = p.layout.placeOf(0, p.held() - 1) + 1 + more;
      if (more && (p.rows == 1 || p.places() * shape.bytes > staticBytes))
        break;
      std::pair<int64_t, int64_t> cost{conflictsOf(p, shape.bytes), p.layout.rowStride};
      if (!least || cost < *least) {
        least = cost;
        best = p.layout;
      }
    }
  p.layout = best;
}

TransformPlan cuda::planTransform(const TransformShape &shape, const schedule::Machine &machine) {
  TransformPlan p;
  p.length = shape.complexLength();
  p.steps = stepsOf(shape);
  chooseRows(p, shape);
  chooseLayout(p, shape);
  // Both planes where as many blocks fit on a processor as its threads would be.
  constexpr int64_t residentThreads = 1024;
  int64_t both = 2 * p.places() * shape.bytes, share = int64_t(machine.gpu.shared) * p.threads / residentThreads;
  p.planes = both <= std::min(staticBytes, share) ? 2 : 1;
  return p;
}
