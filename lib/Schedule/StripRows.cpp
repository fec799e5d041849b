//===- StripRows.cpp - Rows of which a thread takes a strip ----------------===//

#include "lathe/Schedule/ThreadRows.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::schedule;
using namespace lathe::lower;
using shape::Expr;

/// The strip's own axis has no lanes: its elements are put together from what all points read. Nor have places of a window, nor strips of elements at computed
/// places, which are another one in each lane.
static std::pair<int, unsigned> lanesBeside(const BodyInfo &info, const RowSection &section, const Strip &strip, const ThreadRows &s) {
  return s.lane == int(strip.axis) || !contains(section.axes.rows, s.lane) || gathersAlong(info, strip.axis) ? std::pair(-1, 1u) : std::pair(s.lane, s.width);
}

std::optional<Predicate> schedule::needsOfStrips(const BodyInfo &info, const RowSection &section, const Predicate &when, int64_t asked) {
  Divisibility known = divisibilityOf(info, when);
  ThreadRows s = layLanes(info, section, known);
  Strip strip = chooseStrip(info, section, known, s.lane, s.width, asked);
  return strip ? needsOfStrip(info, strip.axis).unknown() : std::nullopt;
}

/// Whether the condition says all that is needed.
static bool says(const Predicate &when, const Predicate &needs) {
  return llvm::all_of(needs.all(), [&](const Comparison &needed) {
    return llvm::any_of(when.all(), [&](const Comparison &c) {
      return c.left == needed.left && c.right == needed.right && c.relation == needed.relation;
    });
  });
}

std::optional<ThreadRows> schedule::stripRows(const BodyInfo &info, const RowSection &section, const ThreadRows &s, const Predicate &when,
                                              int64_t asked, const Machine *machine) {
  std::optional<Predicate> needs = needsOfStrips(info, section, when, asked);
  if (!needs || !says(when, *needs))
    return std::nullopt;
  ThreadRows row;
  row.strip = chooseStrip(info, section, divisibilityOf(info, when), s.lane, s.width, asked);
  std::tie(row.lane, row.width) = lanesBeside(info, section, row.strip, s);
  // What shares a launch has its number of threads.
  row.threads = machine ? rowTuning.stripThreads : rowTuning.threads;
  return row;
}

bool schedule::proposeStrips(const BodyInfo &info, const RowSection &section, const Predicate &when, std::vector<Candidate> &out) {
  Divisibility known = divisibilityOf(info, when);
  ThreadRows s = layLanes(info, section, known);
  Strip best = chooseStrip(info, section, known, s.lane, s.width, -1);
  const Expr rows = extentOf(info, section.axes.rows);
  // Single points along their own line have no wide accesses: under no condition they do as well.
  bool alone = best && best.points > 1 && int(best.axis) == s.lane && !when.always();
  for (int64_t points = best.points; points; points = points > 1 && section.axes.reduced && !alone ? 1 : 0) {
    std::optional<Predicate> needs = needsOfStrips(info, section, when, points);
    if (!needs || needs->always()) // sizes are known: the general way is of strips
      return false;
    Predicate p = when;
    for (const Comparison &c : needs->all())
      p.add(c.left, c.relation, c.right);
    if (points > 1)
      p.add(Expr(points * lanesBeside(info, section, best, s).second * stripThreadsOfDevice), Relation::LessEqual, rows);
    out.push_back({p, ThreadsAttr::get(info.kernel->getContext(), -1, -1, -1, points), Expr::unknown()});
  }
  return alone;
}
