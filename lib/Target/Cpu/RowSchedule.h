//===- RowSchedule.h - How a row program runs through its axes -------------===//
#ifndef LATHE_TARGET_CPU_ROWSCHEDULE_H
#define LATHE_TARGET_CPU_ROWSCHEDULE_H

#include "Isa.h"
#include "KernelEmitters.h"
#include "VectorBuilder.h"
#include "lathe/Lower/BodyEmitter.h"
#include "lathe/Lower/BodyInfo.h"

namespace lathe::cpu {

/// The decisions of one row program. Axes are numbers of BodyInfo::axes.
struct RowSchedule {
  /// Axes that the parallel items run over (without the lane axis), outermost first.
  std::vector<unsigned> itemAxes;
  /// The axis that vector lanes run along; nothing: scalar code.
  std::optional<unsigned> lane;
  /// The lane axis is free of reductions: items also split it, into blocks of this many elements (0: not split).
  bool laneIsParallel = false;
  int64_t laneBlock = 0;
  /// All axes in the order in which loops nest.
  std::vector<unsigned> order;
  unsigned width = 1;      ///< lanes
  unsigned unroll = 1;     ///< vectors per trip of the main loop
  bool maskedRest = false; ///< the rest of a row runs under a mask, not as scalar code
  /// Vertical reductions: an item works on this many neighbours along this axis at once, so that what is loaded along the
  /// lanes serves all of them. Divides the axis's extent.
  std::optional<unsigned> jam;
  int64_t jamFactor = 1;
  /// Whole rows stay in registers: the row's static length, else 0.
  int64_t persist = 0;
};

RowSchedule scheduleRows(const lower::BodyInfo &info, const Isa &isa);

/// Binds the axes that an item has by its number, the last of them counting fastest.
void bindItem(VectorBuilder &v, lower::BodyEmitter &point, const lower::BodyInfo &info, llvm::ArrayRef<unsigned> axes,
              mlir::Value item);
/// How well accesses move along an axis: contiguous ones count for it, gathers against it. Small strides are no gathers where nothing
/// is reduced.
int laneScore(const lower::BodyInfo &info, unsigned axis, bool reduces = true);
/// Whether what is left of a row behind whole vectors runs under a mask, not as scalar code.
bool masksRest(const lower::BodyInfo &info, unsigned lane, const Isa &isa);

/// Instructions of one point of an op, roughly.
unsigned weightOf(mlir::Operation *op);

/// Items and the cost of one, for the plan.
void planRows(const lower::BodyInfo &info, const RowSchedule &schedule, KernelPlan &plan);

/// Number of blocks that the lane axis is split into; 1 when it is not.
shape::Expr laneBlocks(const lower::BodyInfo &info, const RowSchedule &schedule);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_ROWSCHEDULE_H
