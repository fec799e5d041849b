//===- ScheduleReport.h - How kernels run, for those who read about it -----===//
#ifndef LATHE_LIB_PIPELINE_SCHEDULEREPORT_H
#define LATHE_LIB_PIPELINE_SCHEDULEREPORT_H

#include "lathe/Pipeline/Compile.h"
#include "lathe/Target/Backend.h"
#include "llvm/Support/JSON.h"

namespace lathe::pipeline {

/// What `lathe inspect` prints of a kernel: each way it runs in, when, what that is expected to cost, and remarks. Variants of which the
/// same is said share a line.
std::vector<std::string> linesOf(const target::CompiledKernel &kernel);

/// The same for --report: into the entries of the target's kernels, which have the modules' order.
void addSchedules(llvm::json::Value &report, llvm::ArrayRef<mlir::ModuleOp> modules, const target::TargetCode &code);

/// Tells the observer, in one line, of kernels that are expected below a tenth of the machine's peak.
void adviseOfSlowKernels(llvm::ArrayRef<kernel::GenericOp> kernels, llvm::ArrayRef<target::CompiledKernel> compiled,
                         const CompileOptions &options);

} // namespace lathe::pipeline

#endif // LATHE_LIB_PIPELINE_SCHEDULEREPORT_H
