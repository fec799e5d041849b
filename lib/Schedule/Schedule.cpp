//===- Schedule.cpp - Write down how each kernel runs on a machine ---------===//

#include "lathe/Schedule/Choose.h"
#include "lathe/Schedule/Passes.h"

namespace lathe::schedule {
#define GEN_PASS_DEF_SCHEDULE
#include "lathe/Schedule/Passes.h.inc"
} // namespace lathe::schedule

using namespace mlir;
using namespace lathe;

namespace {
struct SchedulePass : schedule::impl::ScheduleBase<SchedulePass> {
  using ScheduleBase::ScheduleBase;
  void runOnOperation() override {
    const schedule::Machine *row = nullptr;
    for (const schedule::Machine &m : schedule::machines())
      if (m.name == machine)
        row = &m;
    if (!row) {
      getOperation()->emitError("no machine '") << machine << "' in the table of machines";
      return signalPassFailure();
    }
    schedule::ChooseOptions options;
    options.mostSchedules = most;
    getOperation()->walk([&](kernel::GenericOp kernel) {
      if (schedule::casesOf(kernel).empty())
        kernel->setAttr(schedule::casesName,
                        schedule::choose(kernel, schedule::hintsOf(kernel), *row, options).asCases(&getContext()));
    });
  }
};
} // namespace
