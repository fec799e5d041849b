//===- Strips.cpp - Neighbours along a line whose windows overlap ----------===//

#include "lathe/Schedule/Strips.h"
#include "lathe/Lower/DetachKernel.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::schedule;
using namespace lathe::lower;
using shape::Expr;

/// Products of all lanes and points that may be written out.
constexpr int64_t mostWritten = 1024, usuallyWritten = 512;
constexpr unsigned mostPoints = 8, mostValues = 32;
constexpr size_t mostOps = 2048; ///< of a body, for all points

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
    if (contains(section.axes.reduced, axis) && info.extents[axis].constant().value_or(longestWindow + 1) > longestWindow)
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
  for (Operation *op : info.ops)
    if (auto load = dyn_cast<kernel::LoadOp>(op); load && !load.getIndices().empty() && !reads.runOf(load))
      cost += operations * ofAccess;
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
    bool gathers = int(axis) != lane && gathersAlong(info, axis), alone = gathers || int(axis) == lane || !contains(section.axes.rows, lane);
    Strips strips{info, section, known, axis, alone ? -1 : lane, alone ? 1 : width};
    bool overlaps = false;
    for (unsigned points = mostPoints; points >= (section.axes.reduced ? 1 : 2); --points) {
      Strip strip = stripAlong(info, section, axis, points, strips.width);
      if (!strip)
        continue;
      StripReads reads(info, strip, known, strips.lane, strips.width);
      overlaps |= gathers || reads.readAgain() != 0;
      if (!overlaps) // nor do fewer points
        break;
      if (asked > 0 ? points != asked : !strips.fits(points))
        continue;
      double cost = strips.costOfAll(strip, reads);
      if ((points == 1 || gathers || reads.readAgain()) && (!best || cost < least))
        best = strip, least = cost;
    }
  }
  return best;
}

Predicate schedule::needsOfStrip(const BodyInfo &info, unsigned axis) {
  kernel::GenericOp kernel = info.kernel;
  bool gathers = gathersAlong(info, axis);
  Predicate needs;
  std::set<unsigned> seen;
  for (Operation *op : info.ops) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    unsigned operand = load && (gathers || load.getIndices().empty()) ? cast<BlockArgument>(load.getRef()).getArgNumber() : kernel.getInputs().size();
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
