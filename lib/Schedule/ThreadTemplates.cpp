//===- ThreadTemplates.cpp - Ways to run a row program on a GPU ------------===//
//
// Rows of open length have ways for each range of lengths, so that those that fit stay in registers, and each way is there twice where
// wide accesses want sizes to be multiples of them. Conditions divide the lengths among the ways: no two of them are ever to be compared.
//
//===----------------------------------------------------------------------===//

#include "lathe/Schedule/ThreadRows.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::schedule;
using namespace lathe::lower;
using shape::Expr;

static ThreadsAttr threads(const BodyInfo &info, int64_t row = -1, int64_t persist = -1, int64_t keep = -1) {
  return ThreadsAttr::get(info.kernel->getContext(), row, persist, keep, /*strip=*/-1);
}

/// Multiples as comparisons.
static Predicate comparisonsOf(const Divisibility &known) {
  Predicate p;
  for (const auto &[size, by] : known.conditions())
    p.add(Expr::mod(size, Expr(by)), Relation::Equal, Expr(0));
  return p;
}

Divisibility schedule::divisibilityOf(const BodyInfo &info, const Predicate &when) {
  Divisibility known(info);
  for (const Comparison &c : when.all()) {
    std::vector<Expr::Term> terms = c.left.terms();
    bool remainder = c.relation == Relation::Equal && c.right.isZero() && terms.size() == 1 && terms[0].atoms.size() == 1 &&
                     terms[0].atoms[0].kind == shape::Atom::Kind::Mod;
    if (!remainder)
      continue;
    const shape::Atom &mod = terms[0].atoms[0];
    // 2 * mod(n, 4) is mod(2 * n, 8).
    if (std::optional<int64_t> by = mod.operands[1].constant())
      known.add(mod.operands[0] * Expr(terms[0].coefficient), *by * terms[0].coefficient);
  }
  return known;
}

/// What gives accesses that part of their full width, in all sections.
static Divisibility wideSizes(const BodyInfo &info, ArrayRef<RowSection> sections, unsigned part = 1) {
  Divisibility nothing(info), wide(info);
  for (const RowSection &s : sections) {
    int lane = chooseLane(info, s.roots, s.axes.rows | s.axes.reduced, s.axes.reduced);
    bool reduces = llvm::any_of(s.roots, [](Operation *op) { return isa<kernel::ReduceOp>(op); });
    if (reduces || !leavesRest(info, s.axes.rows, lane, nothing))
      assumeWide(info, lane, wide, part);
  }
  return wide;
}

/// Rows of open length that reductions run along: the ways of rows up to some length, the shortest first. Where a row's number is divided into places
/// along axes it is to be narrow: short rows are the work of a few instructions. `half`: accesses have half of their full width.
static void proposeOpenRows(const BodyInfo &info, const RowSection &section, Predicate when, const Machine *machine, bool half,
                            std::vector<Candidate> &out) {
  const RowTuning &t = rowTuning;
  if (const Expr rows = extentOf(info, section.axes.rows); llvm::popcount(section.axes.rows) > 1 && !rows.constant())
    when.add(rows, Relation::LessEqual, Expr(mostNarrowRows));
  const Expr length = extentOf(info, section.axes.reduced);
  unsigned width = widthOf(info, section, divisibilityOf(info, when));
  int64_t beyond = 0; // longer than the rows of the ways so far
  auto add = [&](Predicate p, int64_t beyond, int64_t most, ThreadsAttr schedule) {
    p.add(Expr(beyond), Relation::Less, length).add(length, Relation::LessEqual, Expr(most));
    out.push_back({p, schedule, Expr::unknown()});
  };
  std::optional<int64_t> kept = mostKept(info, section, divisibilityOf(info, when), machine);
  // A row is one axis: all that is computed along it has its length.
  if (llvm::popcount(section.axes.reduced) == 1) {
    bool wide = width >= t.wideAccess;
    for (auto [unit, chunks] : !wide ? t.openNarrowRows : half ? t.openHalfRows : endsInRows(info, section) ? t.openEndingRows : t.openRows) {
      ThreadsAttr schedule = threads(info, unit, chunks);
      int64_t most = int64_t(unit) * chunks * width;
      if (wide && !half)
        out.push_back({Predicate(when).add(length, Relation::Equal, Expr(most)), schedule, Expr::unknown()});
      add(when, beyond, most, schedule);
      beyond = most;
    }
    if (auto [unit, chunks] = t.longOpenRow; width == 4 && !half && !endsInRows(info, section)) {
      int64_t most = int64_t(unit) * chunks * width;
      const Expr rows = extentOf(info, section.axes.rows);
      Predicate many = when;
      if (kept.value_or(0) >= most && !rows.constant())
        many.add(Expr(t.manyLongRows), Relation::LessEqual, rows);
      if (kept.value_or(0) < most || rows.constant().value_or(t.manyLongRows) >= t.manyLongRows)
        add(many, most / 2, most, threads(info, unit, chunks));
    }
  } else {
    add(when, 0, t.warpElements, threads(info, 32, 0));
    beyond = t.warpElements;
  }
  if (kept.value_or(0) > beyond)
    add(when, 0, *kept, threads(info, -1, -1, 1));
}

/// Rows of open length that lie side by side and are kept: the more threads have one, the longer it may be.
static void proposeOpenColumns(const BodyInfo &info, const RowSection &section, const Predicate &when, const Machine *machine,
                               std::vector<Candidate> &out) {
  Divisibility known = divisibilityOf(info, when);
  const Expr length = extentOf(info, section.axes.reduced);
  ThreadRows s = layLanes(info, section, known);
  if (s.layout != ThreadRows::Columns || length.constant() || !machine)
    return;
  int64_t beyond = 0;
  for (unsigned unit : keptUnits(info, section, s)) {
    std::optional<int64_t> most = mostKept(info, section, known, machine, unit);
    if (most.value_or(0) <= beyond)
      continue;
    Predicate p = when;
    p.add(Expr(beyond), Relation::Less, length).add(length, Relation::LessEqual, Expr(*most));
    out.push_back({p, threads(info, unit, -1, 1), Expr::unknown()});
    beyond = *most;
  }
}

/// Points of several axes, whose number is divided into places along them: the long form of a division takes longer than a narrow access.
static bool isOpenLoop(const BodyInfo &info, ArrayRef<RowSection> sections) {
  return sections.size() == 1 && !sections[0].axes.reduced && llvm::popcount(sections[0].axes.rows) > 1 &&
         !extentOf(info, sections[0].axes.rows).constant();
}

/// Whether some sizes meet the condition: an odd one is no multiple.
static bool mayHold(const Predicate &condition) {
  return llvm::all_of(condition.all(), [](const Comparison &c) {
    shape::Range range = shape::Facts().bounds(c.left - c.right);
    return c.relation != Relation::Equal || (range.min.value_or(0) <= 0 && range.max.value_or(0) >= 0);
  });
}

/// The conditions for wide accesses, the widest first. Lengths of 16 bits that are multiples of four are as frequent as those of eight (images of 28 and 20 pixels), and have accesses of
/// half the width.
static std::vector<Predicate> wideConditions(const BodyInfo &info, ArrayRef<RowSection> sections, bool halves) {
  std::vector<Predicate> out;
  for (unsigned part : {1u, 2u}) {
    Divisibility wide = wideSizes(info, sections, part);
    bool isWide = part == 1 || (halves && sections.size() == 1 && widthOf(info, sections[0], wide) >= rowTuning.wideAccess);
    if (Predicate p = comparisonsOf(wide); isWide && !p.all().empty() && mayHold(p))
      out.push_back(p);
  }
  return out;
}

void schedule::proposeThreads(const BodyInfo &info, const Machine *machine, std::vector<Candidate> &candidates) {
  std::vector<RowSection> sections = rowSections(info);
  std::vector<Predicate> conditions = wideConditions(info, sections, /*halves=*/machine != nullptr);
  conditions.push_back({});
  for (const auto &[i, when] : llvm::enumerate(conditions)) {
    bool half = i > 0 && !when.all().empty(); // behind a wider one
    if (sections.size() == 1 && machine && proposeStrips(info, sections[0], when, candidates))
      continue;
    if (sections.size() == 1 && isOpenRow(info, sections[0]))
      proposeOpenRows(info, sections[0], when, machine, half, candidates);
    if (sections.size() == 1)
      proposeOpenColumns(info, sections[0], when, machine, candidates);
    if (when.all().empty() && isOpenLoop(info, sections))
      candidates.push_back({Predicate().add(extentOf(info, sections[0].axes.rows), Relation::LessEqual, Expr(mostNarrowRows)), threads(info), Expr::unknown()});
    candidates.push_back({when, threads(info), Expr::unknown()});
  }
}

Predicate schedule::needsOfThreads(const BodyInfo &info, ThreadsAttr asked, const Machine &machine) {
  std::vector<RowSection> sections = rowSections(info);
  bool registers = asked.getPersist() > 0 && asked.getRow() > 0;
  if (asked.getStrip() > 0 && sections.size() == 1)
    return needsOfStrips(info, sections[0], {}, asked.getStrip()).value_or(Predicate());
  if ((!registers && asked.getKeep() <= 0) || sections.size() != 1 || extentOf(info, sections[0].axes.reduced).constant() ||
      (registers && !isOpenRow(info, sections[0])))
    return {};
  Divisibility wide = wideSizes(info, sections);
  std::optional<int64_t> most = registers ? asked.getRow() * asked.getPersist() * widthOf(info, sections[0], wide)
                                          : mostKept(info, sections[0], wide, &machine, asked.getRow());
  Predicate needs = comparisonsOf(wide);
  if (most)
    needs.add(extentOf(info, sections[0].axes.reduced), Relation::LessEqual, Expr(*most));
  return needs;
}
