//===- RowSchedule.h - How a row program runs through its axes -------------===//
#ifndef LATHE_TARGET_CPU_ROWSCHEDULE_H
#define LATHE_TARGET_CPU_ROWSCHEDULE_H

#include "../Isa.h"
#include "../KernelEmitters.h"
#include "../VectorBuilder.h"
#include "lathe/Lower/BodyEmitter.h"
#include "lathe/Lower/BodyInfo.h"
#include "lathe/Schedule/Rows.h"

namespace lathe::cpu {

using schedule::laneScore;
using schedule::masksRest;
using schedule::RowSchedule;
using schedule::weightOf;

/// Binds the axes that an item has by its number, the last of them counting fastest.
void bindItem(VectorBuilder &v, lower::BodyEmitter &point, const lower::BodyInfo &info, llvm::ArrayRef<unsigned> axes,
              mlir::Value item);

/// Items and the cost of one, for the plan.
void planRows(const lower::BodyInfo &info, const RowSchedule &schedule, KernelPlan &plan);

/// Number of blocks that the lane axis is split into; 1 when it is not.
shape::Expr laneBlocks(const lower::BodyInfo &info, const RowSchedule &schedule);

/// Number of groups of neighbours along a jammed axis; of any other, its points.
shape::Expr jammedExtent(const lower::BodyInfo &info, const RowSchedule &schedule, unsigned axis);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_ROWSCHEDULE_H
