//===- Choose.h - Which ways a kernel runs in, and when --------------------===//
//
// Templates propose ways to run a kernel, each with the sizes that it is for and what it is expected to cost there. They are compared
// at the sizes that are expected, and few are kept: see docs/Rationale/Schedules.md.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_SCHEDULE_CHOOSE_H
#define LATHE_SCHEDULE_CHOOSE_H

#include "lathe/Lower/BodyInfo.h"
#include "lathe/Schedule/Hints.h"
#include "lathe/Schedule/Limits.h"
#include "lathe/Schedule/Machine.h"
#include "lathe/Schedule/ScheduleDialect.h"

namespace lathe::schedule {

class Tuning;

/// One way to run a kernel.
struct Candidate {
  Predicate when;           ///< where it may be chosen; always, for a general one
  mlir::Attribute schedule; ///< RowsAttr, TilesAttr, ThreadsAttr, ..
  shape::Expr cost;         ///< cycles of one core, about; unknown where nobody reckons
};

/// What was chosen for a kernel on a machine.
struct Choice {
  std::vector<Candidate> cases;     ///< in the order in which they are asked; the last one is general
  std::vector<std::string> remarks; ///< what no fast template takes, and why
  std::vector<Point> points;        ///< the sizes that they were compared at
  shape::Expr ideal;                ///< cycles that the machine would take at its peak; unknown where nobody reckons
  bool tuned = false;               ///< by a tuning file, or by cases that the kernel came with

  mlir::ArrayAttr asCases(mlir::MLIRContext *context) const;
  /// The case that serves the sizes.
  const Candidate &at(const Point &sizes) const;
  /// The share of the machine's peak that is expected, at the point with the most work; nothing where nobody reckons.
  std::optional<double> efficiency() const;
};

struct ChooseOptions {
  unsigned mostSchedules = usualSchedules; ///< of one kernel
  const Tuning *tuning = nullptr;
};

/// What a tuning file knows a kernel by: its text, and its sizes in the order of s000, s001, ..
struct TuningName {
  llvm::StringRef text;
  llvm::ArrayRef<std::string> sizes;
};

Choice choose(kernel::GenericOp kernel, llvm::ArrayRef<SizeHints> hints, const Machine &machine, const ChooseOptions &options,
              const TuningName &name = {});

/// What has to hold of sizes for the schedule to be right.
Predicate needsOf(kernel::GenericOp kernel, mlir::Attribute schedule, const Machine &machine);

/// What is known where the condition holds.
shape::Facts factsWhere(const Predicate &condition);

/// What tiles do with a contraction. Its emitter and its template go by this one answer.
enum class Tiling {
  Multiply,   ///< all of it
  LeaveRows,  ///< nothing would be used twice: one row, one column, or one product a point; a row of products is faster
  OtherTypes, ///< types that they do not multiply
};
/// Whether an operand of the contraction is packed, which tiles alone can read.
bool isPacked(kernel::GenericOp kernel);
Tiling tilingOf(const lower::BodyInfo &info, kernel::ContractOp op);

// Templates: candidates of a class, the general one last, and remarks.
void proposeRows(const lower::BodyInfo &info, const Machine &machine, std::vector<Candidate> &candidates, Choice &choice);
void proposeTiles(kernel::GenericOp kernel, const Machine &machine, std::vector<Candidate> &candidates, Choice &choice);
void proposeBroadcasts(const lower::BodyInfo &info, std::vector<Candidate> &candidates);
/// Ways for rows of a few elements.
void proposeShortAxes(const lower::BodyInfo &info, const Machine &machine, std::vector<Candidate> &candidates);
/// Rows of open length that turn out as one element: lanes run along another axis. Behind the ways in which nothing is repeated, where all is one row.
void proposeSingles(const lower::BodyInfo &info, std::vector<Candidate> &candidates);
/// A way for sequences, which are sorted or scanned, that lie side by side in a number of them that turns out as one: it is read from end to end.
void proposeContiguous(const lower::BodyInfo &info, std::vector<Candidate> &candidates);
/// A way for rows that are copied as they are and are long.
void proposeCopies(const lower::BodyInfo &info, const Machine &machine, std::vector<Candidate> &candidates);
/// Ways for whole numbers of neighbours along an axis of open length, which share work.
void proposeJams(const lower::BodyInfo &info, const Machine &machine, std::vector<Candidate> &candidates);

} // namespace lathe::schedule

#endif // LATHE_SCHEDULE_CHOOSE_H
