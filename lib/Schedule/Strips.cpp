//===- Strips.cpp - Neighbours along a line whose windows overlap ----------===//

#include "lathe/Schedule/Strips.h"
#include "lathe/Lower/DetachKernel.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::schedule;
using namespace lathe::lower;
using shape::Expr;

/// Places along an axis of a window that may be written out, and products of all lanes and points that may.
constexpr int64_t mostTaps = 64, mostWritten = 1024, usuallyWritten = 512;
constexpr unsigned mostPoints = 8, mostValues = 32;
constexpr size_t mostOps = 2048; ///< of a body, for all points

//===----------------------------------------------------------------------===//
// Distances
//===----------------------------------------------------------------------===//

std::pair<Expr, int64_t> schedule::splitConstant(const Expr &e) {
  for (const Expr::Term &t : e.terms())
    if (t.atoms.empty())
      return {e - Expr(t.coefficient), t.coefficient};
  return {e, 0};
}

Expr schedule::stripsAlong(const BodyInfo &info, const Strip &strip) { return Expr::ceildiv(info.extents[strip.axis], Expr(int64_t(strip.points))); }

Expr schedule::offsetInStrip(const BodyInfo &info, Operation *access, const Strip &strip) {
  std::map<std::string, Expr> at = {{info.axes[strip.axis], Expr::symbol(info.axes[strip.axis]) * Expr(int64_t(strip.points))}};
  for (unsigned axis = 0; axis < info.axes.size(); ++axis)
    if (contains(strip.written, axis))
      at.insert({info.axes[axis], Expr(0)});
  return info.exprOf(access).substitute(at);
}

std::vector<SmallVector<int64_t>> schedule::tapsOf(const BodyInfo &info, const Strip &strip) {
  std::vector<SmallVector<int64_t>> all = {SmallVector<int64_t>(info.axes.size(), 0)};
  for (unsigned axis = info.axes.size(); axis-- > 0;) {
    if (!contains(strip.written, axis))
      continue;
    std::vector<SmallVector<int64_t>> outer;
    for (int64_t i = 0, n = *info.extents[axis].constant(); i < n; ++i)
      for (SmallVector<int64_t> taps : all) {
        taps[axis] = i;
        outer.push_back(std::move(taps));
      }
    all = std::move(outer);
  }
  return all;
}

/// How far an access goes from one place along the axis to the next; nothing where that is no number.
static std::optional<int64_t> stepAlong(const BodyInfo &info, const Expr &offset, unsigned axis) {
  std::optional<Expr::Linear> linear = offset.linearIn(info.axes[axis]);
  return linear ? linear->coefficient.constant() : std::nullopt;
}

StripReads::StripReads(const BodyInfo &info, const Strip &strip, const Divisibility &known, int lane, unsigned width)
    : info(info), strip(strip), known(known), lane(lane), width(width) {
  for (Operation *op : info.ops)
    if (auto load = dyn_cast<kernel::LoadOp>(op))
      add(load);
  for (StripRun &run : runs) {
    for (const std::set<int64_t> &own : run.ofPoint) {
      again += own.size();
      run.places.insert(own.begin(), own.end());
    }
    again -= run.places.size();
  }
}

void StripReads::add(kernel::LoadOp load) {
  kernel::GenericOp kernel = info.kernel;
  const Expr &offset = info.exprOf(load);
  unsigned operand = cast<BlockArgument>(load.getRef()).getArgNumber();
  if (!load.getIndices().empty() || load.getType().isInteger(1) || offset.isUnknown() || operand >= kernel.getInputs().size())
    return;
  Distances d{0, 0, 0, std::vector<int64_t>(info.axes.size())};
  for (unsigned axis = 0; axis < info.axes.size(); ++axis) {
    if (axis != strip.axis && !contains(strip.written, axis))
      continue;
    std::optional<int64_t> step = stepAlong(info, offset, axis);
    if (!step)
      return;
    (axis == strip.axis ? d.apart : d.steps[axis]) = *step;
  }
  auto [base, first] = splitConstant(offsetInStrip(info, load, strip));
  d.first = first;
  if (info.axesOf(base) >> lane & 1 && lane >= 0 && width > 1) {
    // Lanes lie side by side, and where all of them begin at a multiple of their number.
    bool whole = stepAlong(info, offset, lane) == 1 && known.divisorOf(offset, width, info.axes[lane]) == width &&
                 known.divisorOf(elementsOf(info.kernel, operand), width) == width;
    if (!whole || llvm::any_of(d.steps, [&](int64_t s) { return s % width != 0; }) || d.apart % width)
      return;
  }
  auto same = llvm::find_if(runs, [&](const StripRun &r) { return r.operand == operand && r.base == base; });
  if (same == runs.end())
    same = runs.insert(same, StripRun{operand, base, {}, {}, false});
  same->guarded |= bool(load.getPredicate());
  d.run = same - runs.begin();
  loads.try_emplace(load, d);
  same->ofPoint.resize(d.apart ? strip.points : 1);
  for (const SmallVector<int64_t> &taps : tapsOf(info, strip))
    for (auto [point, own] : llvm::enumerate(same->ofPoint))
      own.insert(placeOf(load, point, taps));
}

std::optional<unsigned> StripReads::runOf(Operation *load) const {
  auto it = loads.find(load);
  return it == loads.end() ? std::nullopt : std::optional(it->second.run);
}

int64_t StripReads::placeOf(Operation *load, unsigned point, ArrayRef<int64_t> taps) const {
  const Distances &d = loads.find(load)->second;
  int64_t at = d.first + d.apart * point;
  for (auto [step, tap] : llvm::zip_equal(d.steps, taps))
    at += step * tap;
  return at;
}

std::vector<StripPiece> StripReads::piecesOf(const StripRun &run) const {
  std::vector<StripPiece> out;
  if (lane >= 0 && width > 1) {
    for (int64_t place : run.places)
      out.push_back({place, info.axesOf(run.base) >> lane & 1 ? width : 1});
    return out;
  }
  kernel::GenericOp kernel = info.kernel;
  unsigned bits = cast<kernel::RefType>(kernel.getBody().getArgument(run.operand).getType()).getElementType().getIntOrFloatBitWidth();
  int64_t widest = known.divisorOf(elementsOf(info.kernel, run.operand), known.divisorOf(run.base, std::max(1u, 128 / bits)));
  for (auto it = run.places.begin(); it != run.places.end();) {
    // Those within one access of full width; of these a narrower one may hold all.
    int64_t begin = llvm::divideFloorSigned(*it, widest) * widest, first = *it, last = first;
    for (; it != run.places.end() && *it < begin + widest; ++it)
      last = *it;
    int64_t width = 1;
    while (llvm::divideFloorSigned(first, width) != llvm::divideFloorSigned(last, width))
      width *= 2;
    out.push_back({llvm::divideFloorSigned(first, width) * width, unsigned(width)});
  }
  return out;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// Whether every reduction is of a window: over known axes, a value for each row; and nothing else has a loop of its own.
static bool isWindowed(const BodyInfo &info, const RowSection &section) {
  for (Operation *op : info.ops) {
    if (op->getNumRegions() || (isa<kernel::StoreOp>(op) && info.domainOf(op) & ~section.axes.rows))
      return false;
    bool isRoot = llvm::any_of(op->getResults(), [](Value v) { return lower::isRootValue(v); });
    if (isRoot && !isRowReduction(info, section.axes, op))
      return false;
  }
  for (unsigned axis = 0; axis < info.axes.size(); ++axis)
    if (contains(section.axes.reduced, axis) && info.extents[axis].constant().value_or(mostTaps + 1) > mostTaps)
      return false;
  return section.axes.rows != 0;
}

/// Whether a step along the window finds what another point of the strip reads, in some load.
static bool slidesAlong(const BodyInfo &info, unsigned place, unsigned taps) {
  return llvm::any_of(info.ops, [&](Operation *op) {
    if (!isa<kernel::LoadOp>(op))
      return false;
    std::optional<int64_t> apart = stepAlong(info, info.exprOf(op), place), step = stepAlong(info, info.exprOf(op), taps);
    if (!apart || !step || !*apart || !*step)
      return false;
    for (int64_t point = 1; point < mostPoints; ++point)
      if (*apart * point % *step == 0 && std::abs(*apart * point / *step) < *info.extents[taps].constant())
        return true;
    return false;
  });
}

/// Whether all accesses go on by a number from one place to the next.
static bool hasSteps(const BodyInfo &info, unsigned axis) {
  return llvm::all_of(info.ops, [&](Operation *op) { return !isa<kernel::LoadOp>(op) || stepAlong(info, info.exprOf(op), axis); });
}

static int64_t countOf(const BodyInfo &info, AxisSet axes) { return extentOf(info, axes).constant().value_or(INT64_MAX); }

/// A strip of so many points along the axis, with what may be written out of the window; none where that is too much.
static Strip stripAlong(const BodyInfo &info, const RowSection &section, unsigned axis, unsigned points, unsigned width) {
  Strip strip{axis, points, 0};
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (contains(section.axes.reduced, a) && slidesAlong(info, axis, a))
      strip.written |= AxisSet(1) << a;
  int64_t each = int64_t(points) * width;
  if (countOf(info, strip.written) * each > mostWritten)
    return {};
  for (unsigned a = info.axes.size(); a-- > 0;)
    if (AxisSet more = strip.written | AxisSet(1) << a;
        contains(section.axes.reduced, a) && hasSteps(info, a) && countOf(info, more) * each <= usuallyWritten)
      strip.written = more;
  return strip;
}

/// Instructions of a thread, roughly: an access and its place, a conversion or a choice for each element, an operation for each place of each window.
static int64_t costOf(const BodyInfo &info, const RowSection &section, const Strip &strip, const StripReads &reads, unsigned width) {
  constexpr int64_t ofAccess = 4, ofThread = 24, ofPoint = 2;
  int64_t cost = 0, operations = countOf(info, strip.written) * strip.points * width;
  int64_t trips = countOf(info, section.axes.reduced & ~strip.written);
  for (const StripRun &run : reads.all())
    for (const StripPiece &piece : reads.piecesOf(run))
      cost += ofAccess + (run.guarded ? 2 : 1) * piece.width;
  return trips * (cost + operations) + ofThread + ofPoint * strip.points * width;
}

/// Whether an operand is read more than once at a point, so that neighbours may find the same.
static bool readsOften(const BodyInfo &info) {
  llvm::DenseSet<Value> read;
  return llvm::any_of(info.ops, [&](Operation *op) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    return isa<kernel::ReduceOp>(op) || (load && !read.insert(load.getRef()).second);
  });
}

namespace {
/// Strips along one axis, and what they are expected to take.
struct Strips {
  const BodyInfo &info;
  const RowSection &section;
  const Divisibility &known;
  unsigned axis;
  int lane; ///< beside the strip's axis, or -1
  unsigned width;

  bool fits(unsigned points) const {
    std::optional<int64_t> extent = info.extents[axis].constant();
    return points * width <= mostValues && points * info.ops.size() <= mostOps && (extent ? points <= *extent : llvm::isPowerOf2_32(points));
  }
  /// Instructions of all threads, of no fewer than fill a device.
  double costOfAll(const Strip &strip, const StripReads &reads) const {
    constexpr double device = stripThreadsOfDevice;
    std::optional<int64_t> extent = info.extents[axis].constant(), others = extentOf(info, section.axes.rows & ~(AxisSet(1) << axis)).constant();
    double along = extent ? double(llvm::divideCeil(*extent, strip.points)) : device / strip.points;
    return double(costOf(info, section, strip, reads, width)) * std::max(along * double(others.value_or(stripThreadsOfDevice)) / width, device);
  }
};
} // namespace

Strip schedule::chooseStrip(const BodyInfo &info, const RowSection &section, const Divisibility &known, int lane, unsigned width, int64_t asked) {
  Strip best;
  double least = 0;
  if (!readsOften(info) || !isWindowed(info, section))
    return best;
  // Of two axes along which strips take as long the inner one is taken.
  for (unsigned axis = info.axes.size(); axis-- > 0;) {
    if (!contains(section.axes.rows, axis))
      continue;
    bool isLane = int(axis) == lane;
    Strips strips{info, section, known, axis, isLane ? -1 : lane, isLane ? 1 : width};
    bool overlaps = false;
    for (unsigned points = mostPoints; points >= (section.axes.reduced ? 1 : 2); --points) {
      Strip strip = stripAlong(info, section, axis, points, strips.width);
      if (!strip)
        continue;
      StripReads reads(info, strip, known, strips.lane, strips.width);
      overlaps |= reads.readAgain() != 0;
      if (!overlaps) // nor do fewer points
        break;
      if (asked > 0 ? points != asked : !strips.fits(points))
        continue;
      double cost = strips.costOfAll(strip, reads);
      if ((points == 1 || reads.readAgain()) && (!best || cost < least))
        best = strip, least = cost;
    }
  }
  return best;
}

Predicate schedule::needsOfStrip(const BodyInfo &info) {
  kernel::GenericOp kernel = info.kernel;
  Predicate needs;
  std::set<unsigned> seen;
  for (Operation *op : info.ops) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    unsigned operand = load && load.getIndices().empty() ? cast<BlockArgument>(load.getRef()).getArgNumber() : kernel.getInputs().size();
    if (operand >= kernel.getInputs().size() || !seen.insert(operand).second)
      continue;
    Expr count = elementsOf(kernel, operand);
    bool counts = !count.isUnknown() && llvm::all_of(count.symbols(), [&](const std::string &s) { return llvm::is_contained(info.sizes, s); });
    if (!counts) // nothing that code could ask for
      needs.add(Expr(0), Relation::Less, Expr(0));
    needs.add(Expr(0), Relation::Less, count).add(count, Relation::LessEqual, Expr(INT32_MAX));
  }
  return needs;
}
