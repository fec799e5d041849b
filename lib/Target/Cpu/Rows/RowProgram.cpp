//===- RowProgram.cpp - Kernels of classes loop and reduction --------------===//

#include "RowEmitter.h"
#include "lathe/Schedule/ScheduleDialect.h"
#include "lathe/Support/Diagnostics.h"

using namespace lathe;
using namespace lathe::cpu;

llvm::Error cpu::emitRowProgram(KernelFunction &f, KernelPlan &plan) {
  llvm::Expected<RowSchedule> chosen = schedule::scheduleRows(f.info, f.isa, llvm::dyn_cast_or_null<schedule::RowsAttr>(f.schedule), f.facts);
  if (!chosen)
    return userError("kernel '{0}': {1}", f.kernel.getName(), llvm::toString(chosen.takeError()));
  RowSchedule schedule = *chosen;
  planRows(f.info, schedule, plan);
  RowEmitter emitter(f, schedule);
  if (llvm::Error e = emitter.run())
    return e;
  plan.scratchBytes = emitter.scratchBytes();
  return llvm::Error::success();
}
