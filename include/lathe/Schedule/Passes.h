//===- Passes.h - How kernels run ------------------------------------------===//
#ifndef LATHE_SCHEDULE_PASSES_H
#define LATHE_SCHEDULE_PASSES_H

#include "lathe/Schedule/Limits.h"
#include "lathe/Schedule/ScheduleDialect.h"
#include "mlir/Pass/Pass.h"

namespace lathe::schedule {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lathe/Schedule/Passes.h.inc"

} // namespace lathe::schedule

#endif // LATHE_SCHEDULE_PASSES_H
