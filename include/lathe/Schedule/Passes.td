//===- Passes.td - How kernels run ----------------------------*- tablegen -*-===//
#ifndef LATHE_SCHEDULE_PASSES
#define LATHE_SCHEDULE_PASSES

include "mlir/Pass/PassBase.td"

def Schedule : Pass<"lathe-schedule"> {
  let summary = "Write down how each kernel runs on a machine";
  let description = [{
    For each kernel that carries no `schedule.cases`: the ways that the templates propose for the machine, compared at the sizes
    that are expected (`hints` of the module's symbols; where there are none, powers of two in their ranges), and the conditions
    under which each serves. The CPU target asks the same for each of its variants; this pass shows the answer.

    Before:
    ```mlir
    kernel.generic reduction @softmax axes(i0 = "m", i1 = "n") ...
    ```
    After, with machine=avx512:
    ```mlir
    kernel.generic reduction @softmax axes(i0 = "m", i1 = "n") ... attributes {schedule.cases = [
        #schedule.case<"n <= 32", #schedule.rows<persist = 2>>, ..., #schedule.case<#schedule.rows<>>]}
    ```
  }];
  let options = [Option<"machine", "machine", "std::string", "\"avx512\"", "A row of the table of machines">,
                 Option<"most", "most", "unsigned", "::lathe::schedule::usualSchedules", "Schedules of one kernel">];
  let dependentDialects = ["::lathe::schedule::ScheduleDialect"];
}

#endif // LATHE_SCHEDULE_PASSES
