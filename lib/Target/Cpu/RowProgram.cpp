//===- RowProgram.cpp - Kernels of classes loop and reduction --------------===//

#include "RowEmitter.h"
#include "lathe/Support/Diagnostics.h"

using namespace lathe;
using namespace lathe::cpu;

llvm::Error cpu::emitRowProgram(KernelFunction &f, KernelPlan &plan) {
  RowSchedule schedule = scheduleRows(f.info, f.isa);
  planRows(f.info, schedule, plan);
  RowEmitter emitter(f, schedule);
  if (llvm::Error e = emitter.run())
    return e;
  plan.scratchBytes = emitter.scratchBytes();
  return llvm::Error::success();
}
