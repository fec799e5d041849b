//===- RowTemplates.cpp - Ways to run a row program ------------------------===//
//
// Rows that are read in several passes stay in registers where they fit; longer ones are walked in memory, pass by
// pass. Of a row of open length the sizes of a call decide.
//
//===----------------------------------------------------------------------===//

#include "lathe/Lower/BodySlices.h"
#include "lathe/Lower/JoinPieces.h"
#include "lathe/Lower/LaneRuns.h"
#include "lathe/Schedule/Choose.h"
#include "lathe/Schedule/Rows.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::schedule;
using lower::AxisSet;
using lower::BodyInfo;
using shape::Expr;

namespace {
/// What the cost of a row program is made of.
struct RowWork {
  unsigned passes = 0;  ///< over the lane axis
  unsigned weight = 0;  ///< instructions per vector of the lane axis, in all passes
  unsigned again = 0;   ///< loads that later passes repeat
  unsigned gathers = 0; ///< accesses of which every lane moves on its own
  bool stores = false;  ///< results along the lane axis
  int64_t bytes = 0;    ///< moved per point of the lane axis
  Expr rows = Expr(1);  ///< points of all other axes
};
} // namespace

/// Cycles to begin and end a loop over a row, with a vector's lanes combined at its end.
constexpr int64_t passCycles = 8;
/// Of these: to find out that no vector is left over.
constexpr int64_t passEndCycles = 4;
/// Instructions that ask whether lanes read elements side by side.
constexpr unsigned runWeight = 8;

static RowWork workOf(const BodyInfo &info, const RowSchedule &s, const Machine &machine) {
  RowWork w;
  unsigned loads = 0;
  AxisSet lane = AxisSet(1) << *s.lane;
  for (Operation *op : info.ops) {
    bool along = info.domainOf(op) & lane;
    if (auto r = dyn_cast<kernel::ReduceOp>(op); r && info.axesOf(r.getAxes()) & lane) {
      ++w.passes;
      along = true;
    }
    if (!along)
      continue;
    w.weight += weightOf(op);
    loads += isa<kernel::LoadOp>(op);
    w.stores |= isa<kernel::StoreOp>(op);
    if (!isa<kernel::LoadOp, kernel::StoreOp>(op))
      continue;
    w.bytes += std::max(1u, accessedType(op).getIntOrFloatBitWidth() / 8);
    auto load = dyn_cast<kernel::LoadOp>(op);
    ValueRange indices = load ? ValueRange(load.getIndices()) : ValueRange(cast<kernel::StoreOp>(op).getIndices());
    bool indirect = llvm::any_of(indices, [&](Value v) { return bool(info.axesOf(v) & lane); });
    std::optional<int64_t> step = stepAlong(info, op, *s.lane);
    if (load && !load.getPredicate() && !indirect && step && *step > 1 && *step <= std::min<int64_t>(widestStride, s.width))
      w.weight += 2 * unsigned(*step); // whole vectors and shuffles
    else if (load && !indirect && step == -1 && (!load.getPredicate() || masksElements(machine, accessedType(op))))
      w.weight += 1; // a vector that is turned around
    else if (s.interleaves && !load)
      w.weight += unsigned(s.jamFactor) - 1; // shuffles of whole vectors
    else if (load && lower::laneRun(info, op, *s.lane) != lower::LaneRun::None)
      w.weight += runWeight;
    else
      w.gathers += indirect || !step || *step < 0 || *step > 1;
  }
  w.passes = std::max(1u, w.passes + w.stores);
  w.again = (w.passes - 1) * loads;
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (a != *s.lane)
      w.rows = w.rows * info.extents[a];
  return w;
}

/// Masks take a sixteenth more, where they have registers. Where a mask is a vector (AVX2), a store with one takes a dozen cycles.
static Expr masked(const Expr &cost, const Machine &machine, const RowWork &w) {
  constexpr int64_t maskedStore = 12;
  return machine.maskedBytes || !w.stores ? Expr::floordiv(cost * Expr(17), Expr(16)) : cost + w.rows * Expr(maskedStore);
}

static Expr half(const Expr &e) { return Expr::floordiv(e + Expr(1), Expr(2)); }

/// Instructions issue two at a time; a gather takes a lane a cycle.
static Expr costOf(const RowWork &w, const Expr &vectors, int64_t width, bool persistent) {
  int64_t gathers = 2 * int64_t(w.gathers) * width;
  Expr each = half(vectors * Expr(int64_t(w.weight) + (persistent ? 0 : w.again) + gathers));
  return w.rows * (each + Expr(persistent ? passCycles / 2 : passCycles * int64_t(w.passes)));
}

/// No axis has its elements side by side: one point after the other.
static void costOfScalars(const BodyInfo &info, const Machine &machine, Choice &choice, Expr &cost) {
  Expr points(0);
  for (Operation *op : info.ops) {
    Expr n(std::max(1u, weightOf(op)));
    AxisSet domain = info.domainOf(op);
    if (auto r = dyn_cast<kernel::ReduceOp>(op))
      domain |= info.axesOf(r.getAxes());
    for (unsigned a = 0; a < info.axes.size(); ++a)
      if (domain >> a & 1)
        n = n * info.extents[a];
    points = points + n;
  }
  cost = points;
  choice.ideal = Expr::floordiv(points, Expr(2 * int64_t(machine.lanes())));
}

void schedule::proposeRows(const BodyInfo &info, const Machine &machine, std::vector<Candidate> &candidates,
                           Choice &choice) {
  MLIRContext *context = info.kernel->getContext();
  llvm::Expected<RowSchedule> usual = scheduleRows(info, machine, {}, shape::Facts());
  if (!usual) { // nothing was asked for
    llvm::consumeError(usual.takeError());
    return;
  }
  const RowSchedule &s = *usual;
  auto looped = RowsAttr::get(context, -1, -1, -1);
  if (!s.lane) {
    Expr cost(0);
    costOfScalars(info, machine, choice, cost);
    if (!info.axes.empty())
      choice.remarks.push_back("row program: along no axis do its elements lie side by side: scalar code");
    candidates.push_back({{}, looped, cost});
    return;
  }
  RowWork work = workOf(info, s, machine);
  if (work.gathers)
    choice.remarks.push_back("row program: " + std::to_string(work.gathers) + " accesses gather along the lanes");
  const Expr &row = info.extents[*s.lane];
  int64_t width = s.width;
  Expr vectors = Expr::ceildiv(row, Expr(width));
  Expr arithmetic = half(work.rows * vectors * Expr(work.weight)),
       bytes = Expr::floordiv(work.rows * row * Expr(work.bytes), Expr(int64_t(machine.costs.memoryBytes) * 8));
  choice.ideal = Expr::max(arithmetic, bytes);
  // Wide elements take two registers each.
  bool wide = llvm::any_of(info.ops, [](Operation *op) {
    return isa<kernel::LoadOp, kernel::StoreOp>(op) && accessedType(op).getIntOrFloatBitWidth() > 32;
  });
  constexpr unsigned heaviest = 120;
  bool isOpen = !row.constant() && !s.laneIsParallel;
  if (isOpen && s.maskedRest && work.weight <= heaviest)
    for (int64_t v = 1; v <= 8; ++v) {
      if (wide && v > 4)
        break;
      if (v > 2 && (llvm::isPowerOf2_64(v) || !machine.maskedBytes)) // whole vectors alone have no masks
        candidates.push_back({Predicate().add(row, Relation::Equal, Expr(v * width)), RowsAttr::get(context, v, -1, -1),
                              costOf(work, Expr(v), width, true)});
      Predicate when;
      when.add(row, Relation::LessEqual, Expr(v * width));
      if (v > 1)
        when.add(Expr((v - 1) * width), Relation::Less, row);
      candidates.push_back({when, RowsAttr::get(context, v, -1, -1), masked(costOf(work, Expr(v), width, true), machine, work)});
    }
  // Rows of this length, whole, gain as much: with so many registers by what they do not load again, otherwise by loops whose ends are known.
  constexpr int64_t longest = 16;
  bool inRegisters = machine.registers >= 32;
  if (isOpen && s.maskedRest && work.weight <= heaviest && !wide &&
      (work.passes > 1 || (inRegisters && work.weight <= lightestSum)))
    candidates.push_back({Predicate().add(row, Relation::Equal, Expr(longest * width)),
                          inRegisters ? RowsAttr::get(context, longest, -1, -1) : looped, costOf(work, Expr(longest), width, true)});
  // Rows that are a whole number of trips end with these. Eight sums side by side are for such alone: of others the ends take more than they gain
  // (Zen 5: 1,000 rows of 1,000 columns 1.07 of the time, of whole trips 1.00).
  auto proposeWhole = [&](Predicate when, RowsAttr way, int64_t unroll, const Expr &cost) {
    when.add(Expr::mod(row, Expr(width * unroll)), Relation::Equal, Expr(0));
    candidates.push_back({when, way, cost - work.rows * Expr(passEndCycles * int64_t(work.passes))});
  };
  Expr cost = costOf(work, vectors, width, s.persist != 0);
  if (isOpen && work.passes == 1 && work.weight <= lightestSum)
    proposeWhole(Predicate().add(Expr(longLightSum * width), Relation::LessEqual, row), RowsAttr::get(context, -1, lightSumUnroll, -1), lightSumUnroll,
                 Expr::floordiv(cost * Expr(15), Expr(16)));
  if (isOpen && s.unroll > 1)
    proposeWhole({}, looped, s.unroll, cost);
  candidates.push_back({{}, looped, cost});
}

/// Neighbours along an axis of open length share what does not depend on it, the places and predicates of windows, where a call has whole
/// numbers of them. Sums are left to the general way. (Of known lengths the general way has looked for such an axis.)
void schedule::proposeJams(const BodyInfo &info, const Machine &machine, std::vector<Candidate> &candidates) {
  constexpr int64_t together = 4;
  if (kernel::GenericOp(info.kernel).getKernelClass() != kernel::KernelClass::Loop)
    return;
  llvm::Expected<RowSchedule> usual = scheduleRows(info, machine, {}, shape::Facts());
  if (!usual) {
    llvm::consumeError(usual.takeError());
    return;
  }
  if (!usual->lane || !usual->laneIsParallel || usual->jam || usual->interleaves)
    return;
  auto jammed = RowsAttr::get(info.kernel->getContext(), -1, -1, together);
  for (unsigned axis : usual->itemAxes) {
    const Expr &length = info.extents[axis];
    if (length.constant())
      continue;
    Predicate when;
    when.add(Expr::mod(length, Expr(together)), Relation::Equal, Expr(0));
    llvm::Expected<RowSchedule> s = scheduleRows(info, machine, jammed, factsWhere(when));
    if (!s) {
      llvm::consumeError(s.takeError());
      continue;
    }
    if (s->jam != axis)
      continue;
    RowWork work = workOf(info, *usual, machine);
    candidates.push_back({when, jammed, half(costOf(work, Expr::ceildiv(info.extents[*usual->lane], Expr(int64_t(usual->width))), usual->width, false))});
    return;
  }
}

/// Whether what is stored is chosen among what lies side by side along the lane, and other elements: stretches of it are copies.
static bool copies(const BodyInfo &info, unsigned lane) {
  SmallVector<Value> chosen;
  for (Operation *op : info.ops)
    if (auto store = dyn_cast<kernel::StoreOp>(op)) {
      if (store.getPredicate() || !store.getIndices().empty() || stepAlong(info, op, lane) != 1)
        return false;
      chosen.push_back(store.getValue());
    }
  bool isOne = chosen.size() == 1;
  while (isOne && !chosen.empty()) {
    Operation *op = chosen.pop_back_val().getDefiningOp();
    if (auto select = dyn_cast_or_null<arith::SelectOp>(op))
      chosen.append({select.getTrueValue(), select.getFalseValue()});
    else if (auto load = dyn_cast_or_null<kernel::LoadOp>(op); load && load.getIndices().empty() && stepAlong(info, op, lane) == 1)
      return true;
  }
  return false;
}

/// Rows of open length that go from one place to another as they are: a call of memcpy in the loop over short ones would take longer than they do,
/// so that long ones have a way.
void schedule::proposeCopies(const BodyInfo &info, const Machine &machine, std::vector<Candidate> &candidates) {
  if (kernel::GenericOp(info.kernel).getKernelClass() != kernel::KernelClass::Loop || info.ops.size() > lower::largestCutBody)
    return;
  llvm::Expected<RowSchedule> usual = scheduleRows(info, machine, {}, shape::Facts());
  if (!usual) {
    llvm::consumeError(usual.takeError());
    return;
  }
  if (!usual->lane || info.extents[*usual->lane].constant() || !copies(info, *usual->lane))
    return;
  const Expr &row = info.extents[*usual->lane];
  if (int64_t least = leastElementsCopied(info))
    candidates.push_back({Predicate().add(Expr(least), Relation::LessEqual, row), PlainAttr::get(info.kernel->getContext()), Expr(0)});
}

/// The size n of min(axis, n - 1), and the axis.
static std::optional<std::pair<std::string, unsigned>> broadcastIn(const BodyInfo &info, const shape::Atom &a) {
  if (a.kind != shape::Atom::Kind::Min)
    return std::nullopt;
  for (unsigned axis = 0; axis < info.axes.size(); ++axis)
    for (bool first : {true, false}) {
      std::optional<std::string> size = (a.operands[first ? 1 : 0] + Expr(1)).asSymbol();
      if (size && a.operands[first ? 0 : 1] == Expr::symbol(info.axes[axis]) && info.extents[axis].asSymbol())
        return std::pair(*size, axis);
    }
  return std::nullopt;
}

/// Where a run may have one place that stands for all, offsets hold min(i, n - 1): lanes along i gather. Where n is the
/// axis's extent in a call, as it mostly is, they do not; nor where one operand has a single element for each row.
void schedule::proposeBroadcasts(const BodyInfo &info, std::vector<Candidate> &candidates) {
  constexpr unsigned mostOperands = 2;
  std::vector<std::pair<std::string, unsigned>> known;
  for (Operation *op : info.ops)
    for (const Expr::Term &t : info.exprOf(op).terms())
      for (const shape::Atom &a : t.atoms)
        if (auto found = broadcastIn(info, a); found && !llvm::is_contained(llvm::make_first_range(known), found->first))
          known.push_back(*found);
  if (known.empty())
    return;
  auto propose = [&](const std::string &single) {
    Predicate when;
    for (auto &[size, axis] : known)
      when.add(Expr::symbol(size), Relation::Equal, size == single ? Expr(1) : info.extents[axis]);
    // Cheaper than what gathers, at every point: one access is worth a vector.
    candidates.push_back({when, PlainAttr::get(info.kernel->getContext()), Expr(0)});
  };
  propose("");
  unsigned inner = info.axes.size() - 1;
  std::vector<std::string> singles;
  for (auto &[size, axis] : known)
    if (axis == inner && inner > 0)
      singles.push_back(size);
  if (singles.size() <= mostOperands)
    llvm::for_each(singles, propose);
}
