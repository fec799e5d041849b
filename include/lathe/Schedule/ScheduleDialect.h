//===- ScheduleDialect.h - Schedules as attributes -------------------------===//
#ifndef LATHE_SCHEDULE_SCHEDULEDIALECT_H
#define LATHE_SCHEDULE_SCHEDULEDIALECT_H

#include "lathe/Dialect/Kernel/Kernel.h"
#include "lathe/Schedule/Predicate.h"

#include "lathe/Schedule/ScheduleDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "lathe/Schedule/ScheduleAttrs.h.inc"

namespace lathe::schedule {

/// The attribute of a kernel.generic that holds its cases.
constexpr llvm::StringLiteral casesName = "schedule.cases";

/// Whether the attribute says how a kernel runs, and which do.
bool isSchedule(mlir::Attribute a);
constexpr llvm::StringLiteral scheduleKinds = "#schedule.rows, #schedule.tiles, #schedule.winograd, #schedule.threads, #schedule.products, #schedule.attention or #schedule.plain";

/// The condition of a case that was verified.
Predicate conditionOf(CaseAttr c);
CaseAttr makeCase(mlir::MLIRContext *context, const Predicate &when, mlir::Attribute schedule);
/// The kernel's cases; empty where it carries none.
llvm::SmallVector<CaseAttr> casesOf(kernel::GenericOp kernel);

} // namespace lathe::schedule

#endif // LATHE_SCHEDULE_SCHEDULEDIALECT_H
