//===- Choose.cpp - Which ways a kernel runs in, and when ------------------===//

#include "lathe/Schedule/Choose.h"
#include "lathe/Lower/CollapseAxes.h"
#include "lathe/Lower/DetachKernel.h"
#include "lathe/Lower/NarrowIndices.h"
#include "lathe/Lower/SizeTests.h"
#include "lathe/Lower/PlainKernel.h"
#include "lathe/Lower/SplitAxes.h"
#include "lathe/Schedule/AttentionTiles.h"
#include "lathe/Schedule/DeviceCosts.h"
#include "lathe/Schedule/Rows.h"
#include "lathe/Schedule/ThreadRows.h"
#include "lathe/Schedule/Tuning.h"
#include "lathe/Schedule/Windows.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OwningOpRef.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::schedule;
using kernel::KernelClass;
using lower::BodyInfo;
using shape::Expr;

ArrayAttr Choice::asCases(MLIRContext *context) const {
  SmallVector<Attribute> out;
  for (const Candidate &c : cases)
    out.push_back(makeCase(context, c.when, c.schedule));
  return ArrayAttr::get(context, out);
}

const Candidate &Choice::at(const Point &sizes) const {
  for (const Candidate &c : cases)
    if (c.when.holds(sizes))
      return c;
  return cases.back();
}

std::optional<double> Choice::efficiency() const {
  constexpr int64_t fewestCycles = 100000; // below, it does not matter
  std::optional<double> share;
  int64_t most = -1;
  for (const Point &p : points) {
    std::optional<int64_t> best = ideal.evaluate(p), expected = at(p).cost.evaluate(p);
    if (!best || !expected || *best <= most || *expected < fewestCycles)
      continue;
    most = *best;
    share = double(*best) / double(*expected);
  }
  return share;
}

static void learn(shape::Facts &facts, const Comparison &c) {
  if (c.relation != Relation::Equal) {
    facts.addLessEqual(c.relation == Relation::Less ? c.left + Expr(1) : c.left, c.right);
    return;
  }
  std::vector<Expr::Term> terms = c.left.terms();
  bool remainder = c.right.isZero() && terms.size() == 1 && terms[0].coefficient == 1 && terms[0].atoms.size() == 1 &&
                   terms[0].atoms[0].kind == shape::Atom::Kind::Mod;
  if (remainder)
    facts.addDivides(terms[0].atoms[0].operands[1], terms[0].atoms[0].operands[0]);
  else
    facts.addEquality(c.left, c.right);
}

/// What one comparison says may write the terms of an earlier one in another way (16 < n - min(n, 8) makes the minimum 8): they are
/// said once more.
shape::Facts schedule::factsWhere(const Predicate &condition) {
  shape::Facts facts;
  for (int round = 0; round < 2; ++round)
    for (const Comparison &c : condition.all())
      learn(facts, c);
  return facts;
}

namespace {
/// The kernel as row programs see it: plain reductions, axes collapsed.
struct RowForm {
  OwningOpRef<kernel::GenericOp> kernel;
  std::unique_ptr<BodyInfo> info;

  explicit RowForm(kernel::GenericOp original) {
    OpBuilder copies(original.getContext());
    kernel = cast<kernel::GenericOp>(copies.clone(*original.getOperation()));
    if (!lower::makePlain(*kernel))
      return;
    lower::arrangeAxes(*kernel);
    info = std::make_unique<BodyInfo>(*kernel);
  }
};
} // namespace

namespace {
/// The kernel as row programs of GPUs see it.
struct ThreadForm {
  OwningOpRef<kernel::GenericOp> kernel;
  BodyInfo info;

  explicit ThreadForm(kernel::GenericOp original) : kernel(collapsed(original)), info(*kernel) {}

private:
  static OwningOpRef<kernel::GenericOp> collapsed(kernel::GenericOp original) {
    OpBuilder copies(original.getContext());
    OwningOpRef<kernel::GenericOp> copy = cast<kernel::GenericOp>(copies.clone(*original.getOperation()));
    lower::collapseAxes(*copy);
    lower::collapseProductAxes(*copy);
    return copy;
  }
};
} // namespace

static bool isRowClass(KernelClass c) { return c == KernelClass::Loop || c == KernelClass::Reduction; }

Predicate schedule::needsOf(kernel::GenericOp kernel, Attribute schedule, const Machine &machine) {
  Predicate needs;
  if (auto threads = dyn_cast<ThreadsAttr>(schedule))
    return needsOfThreads(ThreadForm(kernel).info, threads, machine);
  auto rows = dyn_cast<RowsAttr>(schedule);
  if (!rows || rows.getPersist() <= 0)
    return needs;
  RowForm form(kernel);
  if (!form.info)
    return needs;
  llvm::Expected<RowSchedule> s = scheduleRows(*form.info, machine, {}, shape::Facts());
  if (!s) {
    llvm::consumeError(s.takeError());
    return needs;
  }
  if (s->lane && !form.info->extents[*s->lane].constant())
    needs.add(form.info->extents[*s->lane], Relation::LessEqual, Expr(rows.getPersist() * int64_t(s->width)));
  return needs;
}

/// All sections as the candidate lays them on threads; nothing where one cannot be laid so.
static std::optional<std::vector<ThreadRows>> laidOnThreads(const BodyInfo &info, ArrayRef<lower::RowSection> sections, const Candidate &c,
                                                            const Machine &machine) {
  std::vector<ThreadRows> laid;
  for (const lower::RowSection &section : sections) {
    llvm::Expected<ThreadRows> rows = layRows(info, section, c.when, cast<ThreadsAttr>(c.schedule), sections.size() == 1 ? &machine : nullptr);
    if (!rows) {
      llvm::consumeError(rows.takeError());
      return std::nullopt;
    }
    laid.push_back(*rows);
  }
  return laid;
}

/// Whether the schedule still is one where the condition's equalities have been put in: axes that they make adjacent become one, and
/// a row may be longer than the condition says.
static bool fits(kernel::GenericOp kernel, const Candidate &c, const Machine &machine) {
  if (isa<ThreadsAttr>(c.schedule)) {
    ThreadForm form(kernel);
    return laidOnThreads(form.info, lower::rowSections(form.info), c, machine).has_value();
  }
  auto rows = dyn_cast<RowsAttr>(c.schedule);
  std::map<std::string, Expr> known = c.when.equalities();
  if (!rows || rows.getPersist() <= 0 || known.empty())
    return true;
  OpBuilder copies(kernel.getContext());
  OwningOpRef<kernel::GenericOp> there = cast<kernel::GenericOp>(copies.clone(*kernel.getOperation()));
  lower::substituteSizes(*there, known);
  RowForm form(*there);
  if (!form.info)
    return true;
  llvm::Expected<RowSchedule> schedule = scheduleRows(*form.info, machine, rows, factsWhere(c.when));
  bool holds = bool(schedule);
  llvm::consumeError(schedule.takeError());
  return holds;
}

/// Keeps those that are the best at some point, by enough to be worth their code, and the general one.
static void keepBest(std::vector<Candidate> candidates, const ChooseOptions &options, Choice &choice) {
  constexpr double worth = 0.97;
  Candidate general = candidates.back();
  candidates.pop_back();
  std::vector<unsigned> wins(candidates.size(), 0);
  for (const Point &p : choice.points) {
    std::optional<int64_t> usual = general.cost.evaluate(p);
    int best = -1;
    double least = usual ? worth * double(*usual) : 0;
    for (auto [i, c] : llvm::enumerate(candidates)) {
      std::optional<int64_t> cost = c.when.holds(p) ? c.cost.evaluate(p) : std::nullopt;
      if (cost && double(*cost) < least) {
        best = int(i);
        least = double(*cost);
      }
    }
    if (best >= 0)
      ++wins[best];
  }
  // The most useful ones, in the order of the templates, which put the most special first.
  std::vector<unsigned> order(candidates.size());
  for (unsigned i = 0; i < order.size(); ++i)
    order[i] = i;
  llvm::sort(order, [&](unsigned a, unsigned b) { return std::pair(wins[b], a) < std::pair(wins[a], b); });
  order.resize(std::min<size_t>(order.size(), options.mostSchedules ? options.mostSchedules - 1 : 0));
  llvm::sort(order);
  for (unsigned i : order)
    if (wins[i])
      choice.cases.push_back(candidates[i]);
  choice.cases.push_back(general);
}

/// What a tuning file says takes the place of what templates say; where it says nothing of other sizes, the general way
/// remains.
static void applyTuning(kernel::GenericOp kernel, const Machine &machine, const ChooseOptions &options,
                        const TuningName &name, Choice &choice) {
  std::vector<Candidate> tuned;
  std::optional<Candidate> general;
  for (const TuningEntry &e : options.tuning->find(name.text, machine.name)) {
    choice.tuned = true;
    if (isa<ThreadsAttr, ProductsAttr>(e.schedule) ? !machine.isGpu() : machine.isGpu() && !isa<PlainAttr, AttentionAttr>(e.schedule)) {
      llvm::raw_string_ostream(choice.remarks.emplace_back("tuning: not taken, not for such a machine: ")) << e.schedule;
      continue;
    }
    bool rows = isa<RowsAttr>(e.schedule) && isPacked(kernel);
    if (rows || !isPackedFor(kernel, e.schedule)) {
      std::string remark = rows ? "tuning: not taken, an operand is packed for tiles: " : "tuning: not taken, the filter is not packed for it: ";
      llvm::raw_string_ostream(remark) << e.schedule;
      choice.remarks.push_back(remark);
      continue;
    }
    Candidate c{e.conditionFor(name.sizes), e.schedule, Expr::unknown()};
    Predicate needs = needsOf(kernel, e.schedule, machine);
    for (const Comparison &needed : needs.all())
      c.when.add(needed.left, needed.relation, needed.right);
    if (!fits(kernel, c, machine)) {
      llvm::raw_string_ostream(choice.remarks.emplace_back("tuning: not taken, rows are longer than the condition says: ")) << e.schedule;
      continue;
    }
    if (c.when.always())
      general = c;
    else
      tuned.push_back(c);
  }
  if (!choice.tuned)
    return;
  if (general)
    choice.cases = {*general};
  choice.cases.insert(choice.cases.begin(), tuned.begin(), tuned.end());
}

/// Whether the condition may hold of sizes in their ranges, as far as its comparisons of one size with a number say.
static bool mayHold(const Predicate &when, ArrayRef<std::string> sizes, ArrayRef<SizeHints> hints) {
  using Range = std::pair<int64_t, int64_t>;
  auto rangeOf = [&](const Expr &e) -> Range {
    if (std::optional<int64_t> c = e.constant())
      return {*c, *c};
    for (auto [size, hint] : llvm::zip_equal(sizes, hints))
      if (e == Expr::symbol(size))
        return {hint.min, hint.max.value_or(INT64_MAX)};
    return {INT64_MIN, INT64_MAX};
  };
  return llvm::all_of(when.all(), [&](const Comparison &c) {
    Range left = rangeOf(c.left), right = rangeOf(c.right);
    if (c.relation == Relation::Equal)
      return left.first <= right.second && right.first <= left.second;
    return c.relation == Relation::Less ? left.first < right.second : left.first <= right.second;
  });
}

/// What the ways of a row program are expected to take, and one that remembers all it reads.
static void reckonThreads(const BodyInfo &info, const Machine &machine, Choice &choice) {
  std::vector<lower::RowSection> sections = lower::rowSections(info);
  for (Candidate &c : choice.cases)
    if (std::optional<std::vector<ThreadRows>> laid = laidOnThreads(info, sections, c, machine))
      c.cost = costOfRows(info, sections, *laid, machine);
  choice.ideal = costOfRows(info, {}, {}, machine);
}

/// On a GPU conditions divide the sizes among the ways: none is compared with another one.
static void chooseThreads(kernel::GenericOp kernel, ArrayRef<SizeHints> hints, const Machine &machine, Choice &choice) {
  if (kernel.getKernelClass() == KernelClass::Contraction) {
    choice.cases.push_back({{}, ProductsAttr::get(kernel.getContext(), -1, -1, -1), costOfProducts(BodyInfo(kernel), machine)});
    return;
  }
  auto keepPossible = [&] {
    std::vector<std::string> sizes = kernel.getSizeSymbols();
    llvm::erase_if(choice.cases, [&](const Candidate &c) { return !mayHold(c.when, sizes, hints); });
  };
  if (kernel.getKernelClass() == KernelClass::Attention) {
    proposeAttention(BodyInfo(kernel), machine, choice.cases, choice);
    keepPossible();
  }
  if (isRowClass(kernel.getKernelClass())) {
    ThreadForm form(kernel);
    proposeThreads(form.info, &machine, choice.cases);
    keepPossible();
    reckonThreads(form.info, machine, choice);
  }
  if (choice.cases.empty())
    choice.cases.push_back({{}, PlainAttr::get(kernel.getContext()), Expr::unknown()});
}

/// The general way again, for rows of which places fit into 32 bits.
static void proposeNarrow(kernel::GenericOp kernel, std::vector<Candidate> &candidates) {
  Candidate narrow = candidates.back();
  for (const Expr &length : lower::lengthsToNarrow(kernel))
    narrow.when.add(length, Relation::LessEqual, Expr(lower::mostNarrow));
  if (narrow.when.always())
    return;
  narrow.cost = Expr::floordiv(narrow.cost * Expr(3), Expr(4));
  candidates.insert(candidates.end() - 1, narrow);
}

/// The general way again, for sizes of which a search in rows of any length has no more than 8 steps, 12, and so on.
static void proposeShortSearches(kernel::GenericOp kernel, std::vector<Candidate> &candidates) {
  llvm::SmallVector<Expr> sizes = lower::testedSizes(kernel);
  if (sizes.empty())
    return;
  constexpr int64_t all = 40;
  for (int64_t steps : {8, 12, 16, 24}) {
    Candidate way = candidates.back();
    for (const Expr &size : sizes)
      way.when.add(size, Relation::LessEqual, Expr((int64_t(1) << steps) - 1));
    way.cost = Expr::floordiv(way.cost * Expr(steps), Expr(all));
    candidates.insert(candidates.end() - 1, way);
  }
}

Choice schedule::choose(kernel::GenericOp kernel, ArrayRef<SizeHints> hints, const Machine &machine,
                        const ChooseOptions &options, const TuningName &name) {
  Choice choice;
  choice.ideal = Expr::unknown();
  std::vector<Candidate> candidates;
  KernelClass c = kernel.getKernelClass();
  choice.points = pointsOf(kernel.getSizeSymbols(), hints);
  if (machine.isGpu()) {
    chooseThreads(kernel, hints, machine, choice);
    if (options.tuning)
      applyTuning(kernel, machine, options, name, choice);
    return choice;
  }
  if (c == KernelClass::Contraction)
    proposeTiles(kernel, machine, candidates, choice);
  if (c == KernelClass::Attention)
    proposeAttention(BodyInfo(kernel), machine, candidates, choice);
  if (c == KernelClass::Reduction)
    proposeWinograd(BodyInfo(kernel), machine, candidates, choice);
  if (c == KernelClass::Sort || c == KernelClass::Scan)
    proposeContiguous(BodyInfo(kernel), candidates);
  // A contraction that tiles do not multiply runs as a sum of products.
  if ((isRowClass(c) || c == KernelClass::Contraction) && candidates.empty())
    if (RowForm form(kernel); form.info) {
      proposeShortAxes(*form.info, machine, candidates);
      proposeBroadcasts(*form.info, candidates);
      proposeSingles(*form.info, candidates);
      proposeJams(*form.info, machine, candidates);
      proposeCopies(*form.info, machine, candidates);
      proposeRows(*form.info, machine, candidates, choice);
      proposeNarrow(kernel, candidates);
      proposeShortSearches(kernel, candidates);
      llvm::erase_if(candidates, [&](const Candidate &candidate) { return !fits(kernel, candidate, machine); });
    }
  if (candidates.empty())
    candidates.push_back({{}, PlainAttr::get(kernel.getContext()), Expr::unknown()});
  if (candidates.size() == 1)
    choice.cases = candidates;
  else
    keepBest(std::move(candidates), options, choice);
  if (options.tuning)
    applyTuning(kernel, machine, options, name, choice);
  return choice;
}
